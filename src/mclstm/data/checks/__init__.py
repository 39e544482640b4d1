"""What can be wrong with data: tables, series, units, attributes."""
