"""Hamiltonian neural networks against MC-LSTM, on a pendulum without friction."""
