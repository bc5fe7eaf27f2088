"""The rules that decide verdicts: thresholds as written and as exact fractions, gates, allowances."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

import msgspec

from repeat_eval.analysis.report import Gate
from repeat_eval.records.thresholds import parse_threshold

FailOn = Literal["regression", "suite-regression", "case-regression", "none"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is judged. Rates keep the text that the user wrote; compare with `parse_threshold`.

    Attributes:
        threshold, gate: hold for cases that do not say otherwise.
        suite_threshold: mean pass rate that the suite must reach; None for no such gate. Judged by `gate`.
        min_stability: share of cases that must be stable.
        max_failing_cases: how many cases may fail.
        max_error_rate: share of trials that may be errors before the suite is incomplete.
        min_reliability: pass-to-3 that every case must reach, judged by `gate`.
        count_as_failed: error kinds that count as failures.
        fail_on: which regression against base fails the gate. alpha: its one-sided false-alarm budget, as written.
        min_effect: points that a regression must have at least. margin: points for the non-inferiority gate, None when
            it is not required. no_base: what a missing base means. removed_cases: what cases mean that only base has;
            None: a warning for a suite, incomplete for a repeated command and for results of other tools.
        extra_looks: further looks at one commit that a part of alpha is kept back for; see `spent_alpha`.
        gate_stored: whether a stored base may fail the gate; otherwise what it shows is said and does not.
    """

    threshold: str = "0.8"
    gate: Gate = "wilson"
    suite_threshold: str | None = None
    min_stability: str | None = None
    max_failing_cases: int = 0
    max_error_rate: str = "0.1"
    min_reliability: str | None = None
    count_as_failed: frozenset[str] = frozenset()
    fail_on: FailOn = "regression"
    alpha: str = "0.05"
    min_effect: float | None = None
    require: Literal["non-inferior"] | None = None
    margin: float | None = None
    no_base: Literal["pass", "incomplete"] = "pass"
    removed_cases: Literal["warn", "incomplete"] | None = None
    gate_stored: bool = False
    extra_looks: int = 0

    @property
    def spent_alpha(self) -> Fraction:
        """The part of alpha that one run spends by itself; the rest is kept back for further looks."""
        if not self.extra_looks:
            return exact(self.alpha)
        # Imported where used: a run that nobody looks at again starts quicker without it.
        from repeat_eval.statistics.further_looks import alpha_shares

        return exact(self.alpha) * alpha_shares(self.extra_looks)[0]

    @property
    def spent_alpha_text(self) -> str:
        """The same as text: alpha as written where nothing is kept back."""
        return self.alpha if not self.extra_looks else f"{float(self.spent_alpha):.12g}"

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Rules:
        """Rules from settings by name; what is missing or None keeps its default."""
        names = cls.__struct_fields__
        values = {name: settings[name] for name in names if settings.get(name) is not None}
        if "count_as_failed" in values:
            values["count_as_failed"] = frozenset(values["count_as_failed"])
        return cls(**values)

    def as_settings(self) -> dict[str, Any]:
        """The rules as settings by name, for the header of a run file."""
        return {
            "threshold": self.threshold,
            "gate": self.gate,
            "suite_threshold": self.suite_threshold,
            "min_stability": self.min_stability,
            "max_failing_cases": self.max_failing_cases,
            "max_error_rate": self.max_error_rate,
            "min_reliability": self.min_reliability,
            "count_as_failed": sorted(self.count_as_failed),
            "fail_on": self.fail_on,
            "alpha": self.alpha,
            "min_effect": self.min_effect,
            "require": self.require,
            "margin": self.margin,
            "no_base": self.no_base,
            "removed_cases": self.removed_cases,
            "gate_stored": self.gate_stored,
            "extra_looks": self.extra_looks,
        }


def exact(rate: str) -> Fraction:
    """The exact value of a rate as written; ValueError when it is none."""
    return parse_threshold(rate)
