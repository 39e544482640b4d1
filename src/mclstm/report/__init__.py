"""Numbers become what people look at: figures and tables."""
