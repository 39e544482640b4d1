"""Tables and figures of README and docs, written from results/."""
