"""Figures, not tests: what repeat-eval costs in time and memory. `python -m benchmarks` measures and prints a table."""
