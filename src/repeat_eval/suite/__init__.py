"""Suites: what the user asks for, loaded with positions and all faults at once."""
