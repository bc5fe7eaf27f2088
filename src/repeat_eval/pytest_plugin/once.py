"""Inside a trial of repeat-eval's own runner each test runs once; what it records goes into pytest's JUnit file."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from repeat_eval.pytest_plugin.usage import taking_usage


class Once:
    """Writes what a test records as properties of its testcase, where the runner reads them."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Take what is recorded while the test runs."""
        with taking_usage() as usage:
            try:
                return (yield)
            finally:
                known = {"score": usage.score, "cost": usage.cost}
                known |= {f"tokens_{key}": number for key, number in usage.tokens.items()}
                item.user_properties += [(name, value) for name, value in known.items() if value is not None]
