"""The terminal's entry: options in, reports and an exit code out."""
