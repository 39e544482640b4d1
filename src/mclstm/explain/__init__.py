"""Where the mass went: balances over years, and what the stores stand for."""
