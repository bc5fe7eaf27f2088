"""Settings of all tests: Hypothesis measures no time, because machines that test are busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeat-eval", deadline=None)
settings.load_profile("repeat-eval")
