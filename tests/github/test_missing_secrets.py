"""A missing secret is noticed before anything runs, and said in one sentence."""

from __future__ import annotations

import pytest

from repeat_eval.github.secrets import missing_secrets, missing_sentence, variables_of_http
from repeat_eval.targets.environment import looks_secret


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (
            {"url": "https://x.example", "headers": {"authorization": "Bearer ${API_KEY}", "x": "${A}${B}"}},
            "API_KEY A B",
        ),
        ({"url": "https://x.example/${TENANT}", "headers": None}, "TENANT"),
        ("https://x.example/${TENANT}", "TENANT"),
        ({"url": 3, "headers": {"a": 1}, "json": {"text": "${NOT_A_VARIABLE_HERE}"}}, ""),
        ({"headers": ["${A}"]}, ""),
        (None, ""),
    ],
)
def test_an_http_target_needs_the_variables_of_its_address_and_headers(target: object, names: str) -> None:
    assert variables_of_http(target) == set(names.split())


def test_what_is_needed_and_not_there_is_missing() -> None:
    environ = {"API_KEY": "abc", "BLANK": " \n"}
    assert missing_secrets(["API_KEY", "BLANK", "NONE"], environ, looks_secret=looks_secret) == ("BLANK", "NONE")


def test_a_key_that_was_handed_over_empty_is_missing() -> None:
    environ = {
        "OPENAI_API_KEY": "",
        "LANG": "",
        "INPUT_TOKEN": "",
        "GITHUB_TOKEN": "",
        "ACTIONS_X_TOKEN": "",
        "PWD": "",
    }
    assert missing_secrets([], environ, looks_secret=looks_secret) == ("OPENAI_API_KEY",)


def test_nothing_is_missing_where_everything_is_there() -> None:
    assert missing_secrets(["API_KEY"], {"API_KEY": "x"}, looks_secret=looks_secret) == ()


def test_the_sentence_says_why() -> None:
    assert missing_sentence(["OPENAI_API_KEY"], "fork") == (
        "this pull request comes from a fork, so GitHub gives it no OPENAI_API_KEY"
    )
    assert "add it to the repository's Dependabot secrets" in missing_sentence(["A_KEY"], "dependabot")
    assert "A_KEY, B_KEY are not set or empty; check the secrets" in missing_sentence(["A_KEY", "B_KEY"], None)
    assert "and 3 more" in missing_sentence([f"KEY_{number}" for number in range(8)], None)
