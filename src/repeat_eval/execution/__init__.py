"""Execution: the scheduler of repeats, its budgets and its progress."""
