"""The pytest plugin: tests that are marked run N times, and their gate decides. `plugin` is what pytest loads."""
