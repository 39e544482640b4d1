"""Backend `native`: C++ as one library, built for AVX2 and AVX-512, called through a plain C interface."""
