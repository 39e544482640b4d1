"""The paper, rerun: one module an experiment, each with a command that remakes its results."""
