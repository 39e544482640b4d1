"""A trained model in operation: packed to be given away, and run on new data."""
