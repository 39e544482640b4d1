"""The checks behind `mclstm check`, which every reading of data runs too."""
