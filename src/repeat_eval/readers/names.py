"""What equal and numbered test names within one file mean: repetitions, retries, or a question to the user.

Some plugins that repeat tests put the repetition into the name; some that retry them list every try under one name, and
the tries that failed may look as if they had passed. So equal names are never counted as passes on their own word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from operator import eq
from pathlib import Path

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import MAX_PROBLEMS, FoundTrial, ReadError, ReadOptions, identity

_REPEAT = re.compile(r"(?P<mark>[\[-])(?P<index>[1-9][0-9]{0,5})-(?P<of>[1-9][0-9]{0,5})\]\Z")
_REPEAT_LONGEST = 16
_FLAKEFINDER = re.compile(r"(?P<head>[^\[]*\[)(?P<index>0|[1-9][0-9]{0,5})(?:-(?P<rest>.*))?\]", re.DOTALL)
_PROMPTFOO = re.compile(r"(?P<head>.*?::)test [1-9][0-9]*: (?P<rest>.+)", re.DOTALL)
_MAX_LISTED = 5
_TEARDOWN = "failed on teardown with"


@dataclass(frozen=True, slots=True)
class NamedTrials:
    """Trials whose case and repetition are settled, and what there is to say about it."""

    trials: list[FoundTrial]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A name that may carry a repetition: the name without it, and the repetition counted from 1."""

    case: str
    index: int
    of: int = 0


def name_trials(
    trials: list[FoundTrial], suites: list[str], options: ReadOptions, *, writer: str, path: Path
) -> NamedTrials:
    """Settle case and repetition of the testcases of one file.

    Args:
        trials: one a testcase, in the order of the file. suites: the name of each one's suite.
        options: what equal names mean. writer: the name of the file's root. path: for messages.

    Raises:
        ReadError: equal names, and the user said that they are an error.
    """
    warnings: list[str] = []
    if options.repetition_suffixes and trials:
        by_promptfoo = writer == "promptfoo"
        trials = _promptfoo(trials, warnings) if by_promptfoo else _plugins(trials, options, warnings)
    if _all_differ(trials):
        return NamedTrials(trials, warnings)
    trials = _apart_by_suite(trials, suites)
    return NamedTrials(_settle(trials, options, warnings, path), warnings)


def number_by_plugin(trials: list[FoundTrial], options: ReadOptions, warnings: list[str]) -> list[FoundTrial]:
    """Take the repetitions out of names that a repeating plugin of pytest has numbered; say so in `warnings`."""
    return _plugins(trials, options, warnings) if options.repetition_suffixes and trials else trials


def _all_differ(trials: list[FoundTrial]) -> bool:
    if all(trial.repetition is None for trial in trials):
        # Neighbours in order take a fifth of a set's memory, which is the most that reading a large file takes.
        cases = sorted(trial.case for trial in trials)
        return not any(map(eq, cases, islice(cases, 1, None)))
    return len({(trial.case, trial.repetition) for trial in trials}) == len(trials)


def _plugins(trials: list[FoundTrial], options: ReadOptions, warnings: list[str]) -> list[FoundTrial]:
    for plugin, find in (("pytest-repeat", _by_repeat), ("pytest-flakefinder", _by_flakefinder)):
        numbered = find([trial.case for trial in trials], options.duplicates == "repeats")
        if numbered:
            warnings.append(
                f"the numbers in {len(numbered)} names of testcases are read as repetitions: {plugin} writes them so"
            )
            return [
                msgspec.structs.replace(trial, case=found.case, repetition=found.index)
                if (found := numbered.get(trial.case))
                else trial
                for trial in trials
            ]
    return trials


def _parse(names: Iterable[str], parse: Callable[[str], _Numbered | None]) -> dict[str, _Numbered]:
    return {name: numbered for name in names if name.endswith("]") and (numbered := parse(name)) is not None}


def _groups(parsed: dict[str, _Numbered]) -> dict[tuple[str, int], set[int]]:
    groups: dict[tuple[str, int], set[int]] = defaultdict(set)
    for numbered in parsed.values():
        groups[numbered.case, numbered.of].add(numbered.index)
    return groups


def _by_repeat(names: list[str], told: bool) -> dict[str, _Numbered]:
    """Names that end as pytest-repeat makes them end: `[i-N]` or `[parameters-i-N]`, counted from 1.

    Two parameters that are numbers look the same. So all of 1..N must be there for some test, and either every name of
    the file ends so or N is 3 or more; unless the user has said that equal tests are repeats.
    """

    def parse(name: str) -> _Numbered | None:
        match = _REPEAT.search(name, max(0, len(name) - _REPEAT_LONGEST))
        if match is None or (match["mark"] == "-" and "[" not in name[: match.start()]):
            return None
        index, of = int(match["index"]), int(match["of"])
        if index > of or of < 2:
            return None
        return _Numbered(name[: match.start()] + ("]" if match["mark"] == "-" else ""), index, of)

    parsed = _parse(names, parse)
    if not parsed:
        return {}
    complete = {of for (_, of), indices in _groups(parsed).items() if len(indices) == of}
    if len(complete) == 1 and len(parsed) == len(set(names)):
        accepted = complete
    else:
        accepted = {of for of in complete if of >= 3 or told}
    plain = set(names) - parsed.keys()
    return {name: found for name, found in parsed.items() if found.of in accepted and found.case not in plain}


def _by_flakefinder(names: list[str], told: bool) -> dict[str, _Numbered]:
    """Names as pytest-flakefinder makes them: `[i]` or `[i-parameters]`, counted from 0, for every test of the file.

    A test with one numeric parameter looks the same. So every name must be numbered, and at least two functions and
    half of the tests must have the same complete set of numbers; unless the user has said that equal tests are repeats.
    """

    def parse(name: str) -> _Numbered | None:
        match = _FLAKEFINDER.fullmatch(name)
        if match is None:
            return None
        head, rest = match["head"], match["rest"]
        case = head.removesuffix("[") if rest is None else f"{head}{rest}]"
        return _Numbered(case, int(match["index"]) + 1)

    parsed = _parse(names, parse)
    if not parsed or len(parsed) != len(set(names)):
        return {}
    groups = _groups(parsed)
    runs = max(max(indices) for indices in groups.values())
    complete = [case for (case, _), indices in groups.items() if len(indices) == runs]
    if runs < 2 or 2 * len(complete) < len(groups):
        return {}
    return parsed if told or len({case.partition("[")[0] for case in complete}) >= 2 else {}


def _promptfoo(trials: list[FoundTrial], warnings: list[str]) -> list[FoundTrial]:
    """promptfoo numbers its tests (`test N: description`), and gives each repetition a number of its own."""
    stripped: list[str] = []
    for trial in trials:
        match = _PROMPTFOO.fullmatch(trial.case)
        if match is None:
            warnings.append(
                "promptfoo numbers tests without a description, repetitions too; descriptions tell them apart"
            )
            return trials
        stripped.append(f"{match['head']}{match['rest']}")
    sizes: dict[str, int] = defaultdict(int)
    for case in stripped:
        sizes[case] += 1
    if len(set(sizes.values())) > 1:
        warnings.append(
            "promptfoo's tests have descriptions that are not unique, so its numbers are kept as part of their names"
        )
        return trials
    repeated = len(sizes) < len(trials)
    seen: dict[str, int] = defaultdict(int)
    result = []
    for trial, case in zip(trials, stripped, strict=True):
        seen[case] += 1
        result.append(msgspec.structs.replace(trial, case=case, repetition=seen[case] if repeated else None))
    if repeated:
        warnings.append("promptfoo's tests of one description are read as repetitions")
    return result


def _apart_by_suite(trials: list[FoundTrial], suites: list[str]) -> list[FoundTrial]:
    """Equal names in suites of different names are different cases: their suite becomes part of the name."""
    homes: dict[str, set[str]] = defaultdict(set)
    aligned = len(trials) == len(suites)
    if not aligned:
        return trials
    for trial, suite in zip(trials, suites, strict=True):
        homes[trial.case].add(suite)
    return [
        msgspec.structs.replace(trial, case=identity(f"{suite}::{trial.case}"))
        if len(homes[trial.case]) > 1 and suite
        else trial
        for trial, suite in zip(trials, suites, strict=True)
    ]


def _settle(trials: list[FoundTrial], options: ReadOptions, warnings: list[str], path: Path) -> list[FoundTrial]:
    groups: dict[tuple[str, int | None], list[FoundTrial]] = {}
    for trial in trials:
        groups.setdefault((trial.case, trial.repetition), []).append(trial)
    for key, group in groups.items():
        if len(group) > 1:
            groups[key] = _join_teardown(group)
    equal = [key for key, group in groups.items() if len(group) > 1]
    if not equal:
        return [group[0] for group in groups.values()]
    names = ", ".join(case for case, _ in equal[:_MAX_LISTED]) + (", …" if len(equal) > _MAX_LISTED else "")
    if options.duplicates == "error":
        problems = [
            Problem(f"{len(groups[key])} testcases have the name {key[0]}", file=str(path))
            for key in equal[:MAX_PROBLEMS]
        ]
        raise ReadError(problems)
    if options.duplicates == "repeats" and all(repetition is None for _, repetition in equal):
        return _as_repeats(trials, groups)
    unclear = 0
    result: list[FoundTrial] = []
    for group in groups.values():
        if len(group) == 1:
            result.append(group[0])
            continue
        trial = _as_retries(group, sure=options.duplicates == "retries")
        unclear += trial.outcome == "error" and trial.error_kind == "harness"
        result.append(trial)
    if unclear:
        warnings.append(
            f"{unclear} of {len(equal)} names that several testcases have show no failed try, so they may be reruns "
            f"whose failures were lost, or repeats: --duplicates repeats or --duplicates retries says which ({names})"
        )
    else:
        warnings.append(f"{len(equal)} names have several testcases and count once each, by the last one ({names})")
    return result


def _join_teardown(group: list[FoundTrial]) -> list[FoundTrial]:
    """pytest lists a test that failed, and then met an error on teardown, twice; it is one trial, and it failed."""
    joined: list[FoundTrial] = []
    for trial in group:
        after_failure = bool(joined) and joined[-1].outcome == "failed" and trial.outcome == "error"
        if not (after_failure and (trial.message or "").startswith(_TEARDOWN)):
            joined.append(trial)
    return joined


def _as_retries(group: list[FoundTrial], *, sure: bool) -> FoundTrial:
    last = group[-1]
    tries = sum(trial.attempts or 1 for trial in group)
    if sure or any(trial.outcome in ("failed", "error") for trial in group):
        return msgspec.structs.replace(last, attempts=tries)
    if all(trial.outcome == "skipped" for trial in group):
        return last
    return FoundTrial(
        case=last.case,
        repetition=last.repetition,
        outcome="error",
        error_kind="harness",
        message=(
            f"{len(group)} testcases have this name and none shows a failure: they may be reruns whose failures were "
            "lost, or repeats; --duplicates repeats (or retries) says which"
        ),
        attempts=tries,
        started=last.started,
    )


def _as_repeats(trials: list[FoundTrial], groups: dict[tuple[str, int | None], list[FoundTrial]]) -> list[FoundTrial]:
    kept = {id(trial) for group in groups.values() for trial in group}
    seen: dict[str, int] = defaultdict(int)
    result = []
    for trial in trials:
        if id(trial) not in kept:
            continue
        if trial.repetition is None:
            seen[trial.case] += 1
            trial = msgspec.structs.replace(trial, repetition=seen[trial.case])  # noqa: PLW2901
        result.append(trial)
    return result
