"""Names for promptfoo's tests, prompts and providers, which have none that is surely theirs alone.

A name holds as little as tells the cases of a file apart: what all have in common, such as the one model, may change
between two revisions, and the cases are still the same.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Test:
    """All that tells one test from another. `variables` are sorted; `assertions` are JSON; absent is empty."""

    description: str
    id: str
    variables: tuple[tuple[str, str], ...]
    assertions: str

    @property
    def title(self) -> str:
        """The shortest name: description, else id, else variables."""
        return self.description or self.id or self.values or "test without description and variables"

    @property
    def values(self) -> str:
        """The variables as text."""
        return ", ".join(f"{key}={value}" for key, value in self.variables)


@dataclass(frozen=True, slots=True)
class Column:
    """What a test was run with. `prompt` is the prompt's id; `index` is the place of both in the file."""

    provider: str
    label: str
    prompt: str
    index: int


def name_tests(tests: Iterable[Test]) -> dict[Test, str]:
    """A name for each test: its title, and of id, variables and assertions what it takes to tell equal titles apart."""
    by_title: dict[str, list[Test]] = defaultdict(list)
    for test in dict.fromkeys(tests):
        by_title[test.title].append(test)
    names: dict[Test, str] = {}
    for same in by_title.values():
        names.update(_names(same))
    return names


def _names(same: list[Test]) -> dict[Test, str]:
    levels: list[Callable[[Test], tuple[str, ...]]] = [
        lambda test: (test.title,),
        lambda test: (test.title, test.id),
        lambda test: (test.title, test.values),
        lambda test: (test.title, test.id, test.values),
        lambda test: (test.title, test.id, test.values, f"assertions {_short(test.assertions)}"),
    ]
    for level in levels:
        names = {test: " | ".join(dict.fromkeys(part for part in level(test) if part)) for test in same}
        if len(set(names.values())) == len(same):
            return names
    return {test: f"{test.title} | {_short(repr(test))}" for test in same}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def name_columns(columns: Iterable[Column], warnings: list[str]) -> tuple[dict[Column, str], str | None]:
    """A name for each combination of prompt and provider; empty where the file has one only.

    Returns:
        The names, and what all have in common, which is in no name.
    """
    distinct = list(dict.fromkeys(columns))
    providers = {column.provider for column in distinct}
    prompts = {(column.label, column.prompt) for column in distinct}
    labels = [label for label, _ in prompts]
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for column in distinct:
        places[column.provider, column.label, column.prompt].append(column.index)
    names = {}
    for column in distinct:
        parts = []
        if len(prompts) > 1:
            parts.append(column.label or "prompt")
            if labels.count(column.label) > 1:
                parts.append(f"prompt {column.prompt[:8]}")
        if len(providers) > 1:
            parts.append(column.provider or "provider")
        same = sorted(places[column.provider, column.label, column.prompt])
        if len(same) > 1:
            parts.append(f"#{same.index(column.index) + 1}")
        names[column] = " | ".join(parts)
    if any(len(same) > 1 for same in places.values()):
        warnings.append("several providers have one id and label and are told apart by their order; labels would do")
    common = [next(iter(providers))] if len(providers) == 1 else []
    common += [labels[0]] if len(prompts) == 1 else []
    return names, " | ".join(part for part in common if part) or None
