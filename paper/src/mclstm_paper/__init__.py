"""The paper rerun: one folder per experiment, and what all of them share."""
