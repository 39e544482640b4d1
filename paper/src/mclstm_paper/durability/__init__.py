"""Long runs and killed runs: what they leave behind."""
