"""Backend `native`: one C++ file, built for AVX2 and AVX-512, called through a plain C interface."""
