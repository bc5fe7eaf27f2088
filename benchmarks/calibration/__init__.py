"""How often do the comparison and its gate raise a false alarm, and how much do they see? Simulated, beside peers."""
