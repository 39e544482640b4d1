"""What the paper's appendix proves, measured and drawn."""
