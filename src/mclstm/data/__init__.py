"""From files to a checked series (`read.py`) and on to windows (`windows.py`, which alone needs torch)."""
