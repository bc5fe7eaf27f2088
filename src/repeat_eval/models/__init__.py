"""Calls of language models: what is asked, what came back, and who answers (a provider, a script, a cassette)."""
