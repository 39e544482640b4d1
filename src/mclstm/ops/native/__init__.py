"""Backend `native`: a C++ library, built for AVX2 and AVX-512 and called through a plain C interface."""
