"""Where the mass went: balances per year, annual cycles, and cells that hold snow."""
