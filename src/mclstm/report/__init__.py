"""Numbers become figures, tables and pages: of one run here, of several models in `comparison`."""
