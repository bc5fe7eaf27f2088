"""Targets: what is evaluated, behind one protocol; retry and rate limit wrap any of them."""
