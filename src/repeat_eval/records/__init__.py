"""Records: the trial, the run and their files."""
