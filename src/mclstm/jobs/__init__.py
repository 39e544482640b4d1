"""Lists of jobs that checkpoint, resume and are kept when finished, through any executor."""
