"""A small stateful GitHub REST server for tests; every request and answer is judged by GitHub's own description."""
