"""From a user's file to a checked series, and from that to tensors: only `windows.py` needs torch."""
