"""GitHub: events, workflow commands, and everything that is published there. Renders nothing and computes nothing."""
