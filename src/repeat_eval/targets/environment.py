"""What the user's code gets to see of the environment, and what nobody gets to see of it in a report.

Children never see the step's inputs, the runner's own services, GitHub's token or its command files; everything else
passes, so that the step's own API keys work. Values of variables that look like secrets are scrubbed from texts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repeat_eval.targets.base import Call

MIN_SECRET_CHARACTERS = 8
"""Shorter values are too common as ordinary text to be searched for."""

_DROPPED_PREFIXES = ("INPUT_", "ACTIONS_")
_TOKEN_NAMES = frozenset({"GITHUB_TOKEN", "GH_TOKEN"})
_COMMAND_FILES = frozenset({"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"})
_SECRET_WORD = re.compile(
    r"KEYS?|APIKEY|TOKENS?|SECRETS?|CREDENTIALS?|PASSWORDS?|PASSWD|PASSPHRASE|PWD|PAT|BEARER|AUTHORIZATION"
)
_WORD = re.compile(r"[A-Z0-9]+")
_MIN_LINE_CHARACTERS = 16
_CUT = "…"


def _is_dropped(name: str) -> bool:
    return name.startswith(_DROPPED_PREFIXES) or name in _TOKEN_NAMES or name in _COMMAND_FILES


def _tokens(environ: Mapping[str, str]) -> Iterator[str]:
    """The values that no child may hold under any name, and the form in which git is handed them."""
    for name, value in environ.items():
        if (name in _TOKEN_NAMES or (name.startswith(_DROPPED_PREFIXES) and "TOKEN" in name)) and (
            len(value) >= MIN_SECRET_CHARACTERS
        ):
            yield value
            yield base64.b64encode(f"x-access-token:{value}".encode("utf-8", "surrogateescape")).decode()


def child_environment(base: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a process that runs the user's code.

    Args:
        base: the environment to start from, usually `os.environ`.
        extra: variables to set on top; they are ours and pass as they are.

    Returns:
        `base` without `INPUT_*`, `ACTIONS_*`, `GITHUB_TOKEN`, `GH_TOKEN`, the paths of GitHub's command files and any
        variable whose value contains a token (of at least 8 characters) that was dropped; with `extra`.
    """
    tokens = tuple(_tokens(base))
    kept = {
        name: value
        for name, value in base.items()
        if not _is_dropped(name) and not (tokens and any(token in value for token in tokens))
    }
    kept.update(extra or {})
    return kept


def trial_variables(call: Call) -> dict[str, str]:
    """The variables that tell a process which trial it is."""
    return {
        "REPEAT_EVAL_TRIAL_CASE": call.case,
        "REPEAT_EVAL_TRIAL_REPETITION": str(call.repetition),
        "REPEAT_EVAL_TRIAL_REPEATS": str(call.repeats),
        "REPEAT_EVAL_TRIAL_SEED": str(call.seed),
    }


def looks_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret: `OPENAI_API_KEY` does, `KEYBOARD` does not.

    The words that say so count only as whole words between underscores or other signs, in any case of letters.
    `PWD` alone is the working directory; `DB_PWD` is a password.
    """
    words = _WORD.findall(name.upper())
    return words not in (["PWD"], ["OLDPWD"]) and any(map(_SECRET_WORD.fullmatch, words))


class Scrubber:
    """Replaces the values of secret-looking variables in texts by `***`.

    Values shorter than 8 characters are left alone. Of a value with several lines (a private key), long lines are
    replaced by themselves too, since a text may show only some of them. So is the beginning of a value where a text was
    cut off in its middle, which "…" shows.
    """

    __slots__ = ("_pattern", "_values")

    def __init__(self, environ: Mapping[str, str]) -> None:
        values: set[str] = set()
        for name, value in environ.items():
            stripped = value.strip()
            if len(stripped) >= MIN_SECRET_CHARACTERS and looks_secret(name):
                values.add(stripped)
                lines = (line.strip() for line in stripped.splitlines())
                values.update(line for line in lines if len(line) >= _MIN_LINE_CHARACTERS)
        # Longest first: a secret that begins like another one must not leave its end behind.
        self._values = sorted(values, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(re.escape, self._values))) if self._values else None

    def scrub(self, text: str) -> str:
        """The text with every secret value replaced; the very same object when there is nothing to do."""
        if self._pattern is None:
            return text
        text = self._pattern.sub("***", text)
        return self._without_beginnings(text) if _CUT in text else text

    def _without_beginnings(self, text: str) -> str:
        for value in self._values:
            begin = text.find(value[:MIN_SECRET_CHARACTERS])
            while begin >= 0:
                end = text.find(_CUT, begin)
                if end >= 0 and value.startswith(text[begin:end]):
                    text = f"{text[:begin]}***{text[end:]}"
                begin = text.find(value[:MIN_SECRET_CHARACTERS], begin + 1)
        return text
