"""Options and ini settings of the plugin, and how they join with marks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MARK = "repeat_eval"
MARK_HELP = (
    "repeat_eval(repeats=10, threshold=0.8, gate='wilson'): run the test `repeats` times, each with fresh fixtures; it "
    "passes when its pass rate reaches the threshold by the gate (wilson, strict or none)."
)
GATES = ("wilson", "strict", "none")
MAX_REPEATS = 10_000
MAX_SEED = 2**53
_KEYS = ("repeats", "threshold", "gate")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of one test: how many trials, which pass rate (as written), and the gate that judges it.

    `count_as_failed` holds the error kinds that count as failures; it is the same for all tests of a session.
    """

    repeats: int = 10
    threshold: str = "0.8"
    gate: str = "wilson"
    count_as_failed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Options:
    """The plugin's settings for a session.

    Attributes:
        repeats: --repeat-eval: every test is repeated so often, marked or not; None: only marked tests are.
        defaults: what holds for marked tests whose mark says nothing.
        sources: for each of repeats, threshold, gate, count_as_failed and seed where its value comes from: `option`,
            `suite` (an ini file) or `default`.
        seed: seed of the session; each trial gets its own, made from it.
        out: folder for run file and reports; None writes nothing.
    """

    repeats: int | None
    defaults: Asked
    sources: dict[str, Any]
    seed: int
    out: Path | None


def add_options(parser: pytest.Parser) -> None:
    """Declare options and ini settings."""
    group = parser.getgroup("repeat-eval", "repeated tests, judged by their pass rate (repeat-eval)")
    text = "run every test N times, marked with repeat_eval or not, and judge its pass rate"
    group.addoption("--repeat-eval", metavar="N", default=None, help=text)
    text = "pass rate that a test must reach where its mark says none (default 0.8)"
    group.addoption("--repeat-eval-threshold", metavar="RATE", default=None, help=text)
    text = "how a test is judged where its mark says nothing: wilson, strict or none (default wilson)"
    group.addoption("--repeat-eval-gate", metavar="GATE", default=None, help=text)
    text = "kinds of errors that count as failures, such as crash,timeout (default none)"
    group.addoption("--repeat-eval-count-as-failed", metavar="KINDS", default=None, help=text)
    text = "seed from which each trial's own is made (default 0)"
    group.addoption("--repeat-eval-seed", metavar="N", default=None, help=text)
    text = "write run.jsonl, report.json and the other reports of the repeated tests into this folder"
    group.addoption("--repeat-eval-out", metavar="DIR", default=None, help=text)
    parser.addini("repeat_eval_repeats", "trials of a test whose mark names no number (default 10)", default="")
    parser.addini("repeat_eval_threshold", "as --repeat-eval-threshold", default="")
    parser.addini("repeat_eval_gate", "as --repeat-eval-gate", default="")
    parser.addini("repeat_eval_count_as_failed", "as --repeat-eval-count-as-failed", default="")
    parser.addini("repeat_eval_seed", "as --repeat-eval-seed", default="")


def read_options(config: pytest.Config) -> Options:
    """The settings of a session.

    Raises:
        pytest.UsageError: with everything that is wrong with them.
    """
    problems: list[str] = []
    sources: dict[str, str] = {}

    def chosen(name: str, option: str | None) -> Any:
        given = None if option is None else config.getoption(f"--{option}")
        written = config.getini(f"repeat_eval_{name}")
        sources[name] = "option" if given is not None else "suite" if written else "default"
        value = given if given is not None else written or None
        place = f"--{option}" if given is not None else f"repeat_eval_{name}"
        return None if value is None else _checked(name, value, place, problems)

    always = config.getoption("--repeat-eval")
    if always is not None:
        always = _checked("repeats", always, "--repeat-eval", problems)
    found = {
        "repeats": chosen("repeats", None),
        "threshold": chosen("threshold", "repeat-eval-threshold"),
        "gate": chosen("gate", "repeat-eval-gate"),
        "count_as_failed": chosen("count_as_failed", "repeat-eval-count-as-failed"),
    }
    seed = chosen("seed", "repeat-eval-seed")
    if problems:
        raise pytest.UsageError("\n".join(problems))
    if always is not None:
        found["repeats"], sources["repeats"] = always, "option"
    defaults = Asked(**{name: value for name, value in found.items() if value is not None})
    out = config.getoption("--repeat-eval-out")
    return Options(always, defaults, sources, seed or 0, None if out is None else config.invocation_params.dir / out)


def asked_of(item: pytest.Item, options: Options) -> Asked:
    """What is asked of a test: by option, by its marks (the closest that says something), by the defaults.

    Raises:
        ValueError: with everything that is wrong with its marks.
    """
    problems: list[str] = []
    said: dict[str, Any] = {}
    for mark in item.iter_markers(MARK):
        values = dict(mark.kwargs)
        if mark.args:
            values.setdefault("repeats", mark.args[0])
        if len(mark.args) > 1 or (mark.args and "repeats" in mark.kwargs):
            problems.append(f"repeat_eval takes one number without a name, repeats; found {mark.args!r}")
        for name, value in values.items():
            if name not in _KEYS:
                problems.append(f"repeat_eval has no {name!r}; it takes {', '.join(_KEYS)}")
            else:
                said.setdefault(name, _checked(name, value, f"repeat_eval: {name}", problems))
    if problems:
        raise ValueError("\n".join(dict.fromkeys(problems)))
    if options.repeats is not None:
        said["repeats"] = options.repeats
    defaults = options.defaults
    said = {name: said.get(name, getattr(defaults, name)) for name in _KEYS}
    return Asked(**said, count_as_failed=defaults.count_as_failed)


def _checked(name: str, value: Any, place: str, problems: list[str]) -> Any:
    """The value of a setting; what is wrong with it goes to `problems`."""
    if name == "threshold":
        # Imported where used: sessions without repeated tests need none of it.
        from repeat_eval.records.thresholds import parse_threshold

        text = str(value)
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError(f"must be a rate from 0 to 1, for instance 0.8; found {value!r}")
            parse_threshold(text)
        except ValueError as error:
            problems.append(f"{place}: {error}")
        return text
    if name == "count_as_failed":
        from repeat_eval.records.trial import ERROR_KINDS

        kinds = frozenset(value.replace(",", " ").split())
        if unknown := sorted(kinds.difference(ERROR_KINDS)):
            problems.append(f"{place} takes {', '.join(ERROR_KINDS)}, with commas between; found {unknown[0]!r}")
        return kinds
    if name == "gate":
        if value not in GATES:
            problems.append(f"{place} must be one of {', '.join(GATES)}; found {value!r}")
        return value
    least, most = (1, MAX_REPEATS) if name == "repeats" else (0, MAX_SEED)
    number = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,16}", value.strip()):
        number = int(value)
    if number is None or not least <= number <= most:
        problems.append(f"{place} must be a whole number from {least} to {most}; found {value!r}")
    return number
