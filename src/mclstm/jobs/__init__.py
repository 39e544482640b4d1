"""Lists of jobs that save checkpoints, resume, and run only once, through any executor."""
