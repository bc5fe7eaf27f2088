"""The verdict of one case, from its counts of trials, with the sentence that explains it."""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec

from repeat_eval.analysis.report import CaseVerdict, Gate
from repeat_eval.analysis.rules import exact
from repeat_eval.statistics import gates


class Counts(msgspec.Struct, frozen=True):
    """Trials of a case by what became of them."""

    passed: int
    failed: int
    errors: int
    skipped: int
    missing: int

    @property
    def verdicts(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    @property
    def unknown(self) -> int:
        """Trials that could have passed or failed and did neither."""
        return self.errors + self.missing + self.skipped

    @property
    def lacking(self) -> str:
        """The trials without a verdict, in words."""
        parts = [
            f"{self.errors} error{'s' if self.errors != 1 else ''}" if self.errors else "",
            f"{self.missing} missing" if self.missing else "",
            f"{self.skipped} skipped" if self.skipped else "",
        ]
        return ", ".join(part for part in parts if part)


@lru_cache(maxsize=1 << 14)
def judge(counts: Counts, written: str, gate: Gate) -> tuple[CaseVerdict, str]:
    """The verdict with the sentence that explains it.

    Trials without a verdict count once as all passed and once as all failed; only when the gate says the same both
    times does the verdict stand.

    Args:
        counts: the case's trials by what became of them.
        written: the threshold as written.
        gate: the rule.
    """
    threshold, passed, verdicts, unknown = exact(written), counts.passed, counts.verdicts, counts.unknown
    if counts.skipped and not (verdicts or counts.errors or counts.missing):
        return "skipped", "all trials were skipped"
    if verdicts == 0:
        return "incomplete", f"no trial gave a verdict: {counts.lacking}" if unknown else "no trial was done"
    asked = verdicts + unknown
    if 2 * verdicts < asked:
        return "incomplete", f"only {verdicts} of {asked} trials gave a verdict: {counts.lacking}"
    if unknown and gate != "none":
        worst = gates.gate_verdict(passed, asked, threshold, gate) != "fail"
        best = gates.gate_verdict(passed + unknown, asked, threshold, gate) != "fail"
        if worst != best:
            return "incomplete", f"{passed}/{verdicts} passed, but {counts.lacking} could turn the verdict at {written}"
    verdict = gates.gate_verdict(passed, verdicts, threshold, gate)
    return verdict, _explained(verdict, counts, written, gate)


def _explained(verdict: str, counts: Counts, written: str, gate: Gate) -> str:
    verdicts, observed = counts.verdicts, f"{counts.passed}/{counts.verdicts}"
    if gate == "none":
        return f"{observed} passed; not gated"
    if verdict == "pass":
        return f"{observed} reaches {written}"
    if verdict == "within-noise":
        wanted = math.ceil(exact(written) * verdicts)
        return f"{observed} is below {written} ({wanted} of {verdicts}), but within noise: the interval reaches it"
    needs = gates.gate_min_passes(verdicts, exact(written), gate)
    return f"{observed} is below {written}, needs {needs} of {verdicts}"
