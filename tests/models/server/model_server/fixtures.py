"""The fixture `model_server`: a conftest.py imports it after putting this package's folder on the path."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .web import ModelServer, running


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A provider on loopback; a request that a provider would refuse as malformed fails the test."""
    with running() as server:
        yield server
    assert server.violations == []
