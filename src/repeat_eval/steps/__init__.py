"""Steps: what terminal, Python API and GitHub Action do alike, put together from the rooms below."""
