"""What the reader of a report must know besides the verdict: weak settings, suspicious evidence. Each said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from repeat_eval.analysis.report import CaseReport, Totals
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.records.trial import Trial
from repeat_eval.statistics import gates

FEW_REPEATS = 5
LONG_OUTPUT = 40
IDENTICAL_SHARE = 0.9
REPLAYED = "responses were replayed from recordings: the code under test did not run, only the checks did"


def settings_warnings(plans: Sequence[tuple[int, str, str]], rules: Rules) -> list[str]:
    """Warnings about settings that are weak rather than wrong.

    Args:
        plans: (repeats, threshold as written, gate) of each case.
        rules: the rules of the suite.
    """
    warnings = []
    few = [repeats for repeats, _, _ in plans if repeats < FEW_REPEATS]
    if few and max(few) > 1:
        whose = "" if len(few) == len(plans) else f" in {len(few)} of {len(plans)} cases"
        warnings.append(f"repeats < {FEW_REPEATS}: wide interval{whose}; it shows flakiness but proves little")
    if few and max(few) == 1:
        warnings.append("1 repeat says what happened once: no flakiness, no pass^k and no stability can be seen")
    distinct = {(repeats, text) for repeats, text, gate in plans if gate == "wilson"}
    blind = {(repeats, text) for repeats, text in distinct if _blind(repeats, text)}
    for repeats, text in sorted(blind)[:3]:
        warnings.append(
            f"the wilson gate cannot fail at threshold {text} with {repeats} repeats: even 0 passes survive"
        )
    if any(gate == "wilson" and exact(text) == 1 for _, text, gate in plans):
        warnings.append("at threshold 1 the wilson gate is as strict as the strict one: a single miss fails a case")
    for repeats, text in sorted(pair for pair in distinct if _merciless(*pair))[:3]:
        warnings.append(
            f"at threshold {text} with {repeats} repeats a single miss fails a case, as with the strict gate; more "
            "repeats leave room for one"
        )
    if rules.gate == "none" and rules.suite_threshold is None:
        warnings.append("gate none: cases are reported, not gated")
    return warnings


def _blind(repeats: int, threshold: str) -> bool:
    value = exact(threshold)
    return value > 0 and gates.never_fails(repeats, value, "wilson")


def _merciless(repeats: int, threshold: str) -> bool:
    """Whether a threshold just under 1 is as strict as 1 with so many repeats."""
    value = exact(threshold)
    return repeats > 1 and value < 1 and gates.any_miss_fails(repeats, value, "wilson")


def evidence_warnings(cases: Sequence[CaseReport], totals: Totals, rules: Rules) -> list[str]:
    """Warnings about what the trials show."""
    warnings = []
    standing = [case for case in cases if case.errors + case.missing and case.verdict not in ("incomplete", "skipped")]
    if standing:
        count = sum(case.errors + case.missing for case in standing)
        warnings.append(
            f"{count} trials of {len(standing)} cases gave no verdict; they could not turn it: "
            + ", ".join(case.id for case in standing[:3])
            + ("…" if len(standing) > 3 else "")
        )
    skipped = [case.id for case in cases if case.verdict == "skipped"]
    if skipped:
        warnings.append(f"{len(skipped)} cases were skipped and are left out: " + ", ".join(skipped[:3]))
    retried = sum(case.retried for case in cases)
    if retried:
        warnings.append(f"{retried} trials took more than one attempt (retries of errors are no sample)")
    bimodal = [case.id for case in cases if case.score is not None and case.score.bimodal]
    if bimodal:
        warnings.append(
            f"scores of {', '.join(bimodal[:3])} cluster at both ends (bimodal): the grader may read the case two ways"
        )
    failing = totals.failing
    if failing and failing <= rules.max_failing_cases:
        warnings.append(f"{failing} cases fail, as max_failing_cases allows")
    return warnings


def fresh_from_cache(sides: Iterable[tuple[str, Sequence[Trial]]]) -> list[str]:
    """A line for each side whose fresh trials were answered by a cache: then they are not new ones.

    Args:
        sides: the name of a side and its fresh trials.
    """
    cached = [(name, sum(trial.cached is True for trial in trials), len(trials)) for name, trials in sides]
    return [
        f"second look: {count} of {asked} fresh trials of {name} were answered by a cache or a recording; what was "
        "seen before confirms nothing"
        for name, count, asked in cached
        if count
    ]


def identical_outputs(trials_by_case: Mapping[str, Sequence[Trial]]) -> str | None:
    """A line when long outputs of a model or HTTP target are nearly all identical, which smells of a cache."""
    suspicious = []
    for case, trials in trials_by_case.items():
        hashes = [
            trial.output_sha256 for trial in trials if trial.output_sha256 and len(trial.output or "") > LONG_OUTPUT
        ]
        if len(hashes) >= FEW_REPEATS and Counter(hashes).most_common(1)[0][1] >= IDENTICAL_SHARE * len(hashes):
            suspicious.append(case)
    if not suspicious:
        return None
    return (
        f"long answers of {len(suspicious)} cases are byte for byte the same in nearly every trial "
        f"(first: {suspicious[0]}): they may come from a cache, and then they are one trial"
    )
