"""The search for better settings: trials by validation score, proposed by Optuna, run as jobs."""
