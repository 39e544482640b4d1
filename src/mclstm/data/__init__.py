"""From a user's file to a checked series; nothing in here needs torch."""
