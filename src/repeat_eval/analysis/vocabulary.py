"""The words of verdicts and their sources, each a closed set: what a report may say, and nothing else."""

from __future__ import annotations

from typing import Literal

Gate = Literal["wilson", "strict", "none"]
CaseVerdict = Literal["pass", "within-noise", "fail", "incomplete", "skipped"]
SuiteVerdict = Literal["pass", "fail", "incomplete"]
Rating = Literal["high", "moderate", "low", "unreliable"]
ReasonGate = Literal[
    "case",
    "suite-threshold",
    "min-stability",
    "max-failing-cases",
    "min-reliability",
    "max-error-rate",
    "evidence",
    "suite-regression",
    "case-regression",
    "error-regression",
    "non-inferiority",
    "removed-cases",
    "no-base",
]
ComparisonVerdict = Literal["regressed", "improved", "mixed", "no detectable change", "not comparable"]
CaseChange = Literal[
    "regressed", "improved", "newly broken", "fixed", "newly flaky", "newly stable", "unchanged", "not judged"
]
Level = Literal["strong", "significant", "marginal", "noise"]
BaseSource = Literal["side-by-side", "file", "stored"]
Interval = tuple[float, float]
