"""Recorded responses, kept per case and repetition: recording them, replaying them, and looking after their files."""
