from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from repeat_eval.action.reasons import missing_secret


def job(**environ: str) -> Any:
    inputs = SimpleNamespace(cassette_mode=None, target=None)
    return SimpleNamespace(environ=environ, context=SimpleNamespace(restricted=None), inputs=inputs)


@pytest.mark.parametrize("name", ["key", "token"])
def test_an_empty_input_handed_over_under_its_plain_name_is_no_missing_secret(name: str) -> None:
    assert missing_secret(job(**{name: ""}), None) is None


def test_an_empty_variable_of_the_steps_is_one() -> None:
    assert "API_KEY" in str(missing_secret(job(key="", API_KEY=""), None))
