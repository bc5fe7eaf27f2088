"""The statistics in the HTML page give the program's numbers: run once in Node on many counts, and compared."""

from __future__ import annotations

import math
import random
from functools import cache

from page_scripts import in_node, needs_node

from repeat_eval.analysis.case_verdicts import Counts, judge
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.statistics.gates import gate_min_passes
from repeat_eval.statistics.intervals import wilson_interval
from repeat_eval.statistics.planner import minimal_detectable_difference, within_case_variance
from repeat_eval.statistics.repeats import pass_hat_k
from repeat_eval.statistics.suite_rates import rerun_interval

pytestmark = needs_node

THRESHOLDS = ("0", "0.5", "0.667", ".8", "0.80", "0.9", "0.95", "0.99", "1", "1.0", "8e-1", "0.123456789012")
GATES = ("wilson", "strict", "none")


@cache
def counts(number: int = 400) -> tuple[tuple[int, int], ...]:
    draw = random.Random(20)
    every = [(0, 1), (1, 1), (0, 10), (10, 10), (5, 10), (999, 1000)]
    while len(every) < number:
        verdicts = draw.choice((1, 2, 3, 5, 10, 20, 47, 100, 1000))
        every.append((draw.randint(0, verdicts), verdicts))
    return tuple(every)


def close(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=1e-11, abs_tol=1e-13)


def test_the_wilson_interval_is_the_program_s() -> None:
    answers = in_node("statistics.js", [["wilson", passes, verdicts] for passes, verdicts in counts()])
    for (passes, verdicts), found in zip(counts(), answers, strict=True):
        assert all(map(close, found, wilson_interval(passes, verdicts))), (passes, verdicts)


def test_the_verdict_of_a_case_is_the_program_s_with_errors_gaps_and_skips_too() -> None:
    draw = random.Random(21)
    asked = []
    for passes, verdicts in counts(2000):
        lacking = [draw.choice((0, 0, 0, 1, 2, verdicts)) for _ in range(3)]
        case = {"passed": passes, "failed": verdicts - passes} | dict(
            zip(("errors", "skipped", "missing"), lacking, strict=True)
        )
        asked.append((case, draw.choice(THRESHOLDS), draw.choice(GATES)))
    asked += [
        (dict.fromkeys(("passed", "failed", "errors", "skipped", "missing"), 0) | more, "0.8", gate)
        for more in ({}, {"skipped": 3}, {"errors": 2}, {"skipped": 1, "missing": 1})
        for gate in GATES
    ]
    answers = in_node("statistics.js", [["caseVerdict", *one] for one in asked])
    for (case, threshold, gate), found in zip(asked, answers, strict=True):
        assert found == judge(Counts(**case), threshold, gate)[0], (case, threshold, gate)
    assert {"pass", "within-noise", "fail", "incomplete", "skipped"} == set(answers)


def test_the_passes_that_a_case_needs_are_the_program_s() -> None:
    asked = [(n, threshold, gate) for n in (1, 2, 3, 5, 10, 20, 100) for threshold in THRESHOLDS for gate in GATES]
    answers = in_node("statistics.js", [["minPasses", *one] for one in asked])
    for (n, threshold, gate), found in zip(asked, answers, strict=True):
        assert found == gate_min_passes(n, parse_threshold(threshold), gate), (n, threshold, gate)


def test_pass_hat_k_is_the_program_s_and_null_above_n() -> None:
    asked = [(passes, verdicts, k) for passes, verdicts in counts() for k in (1, 2, 3, 5)]
    answers = in_node("statistics.js", [["passHatK", *one] for one in asked])
    assert all(close(found, pass_hat_k(*one)) for one, found in zip(asked, answers, strict=True))
    assert None in answers


def test_the_suite_s_rate_interval_and_detectable_difference_are_the_program_s() -> None:
    draw = random.Random(22)
    suites = [draw.choices(counts(), k=draw.choice((1, 2, 8, 24, 200))) for _ in range(60)]
    suites.append([(10, 10)] * 5)
    rates = in_node("statistics.js", [["rerunInterval", suite] for suite in suites])
    for suite, found in zip(suites, rates, strict=True):
        wanted = rerun_interval(suite)
        assert close(found["rate"], wanted.rate)
        assert close(found["low"], wanted.low)
        assert close(found["high"], wanted.high)
    for repeats in (3, 10, 50):
        answers = in_node("statistics.js", [["detectableDifference", suite, repeats] for suite in suites])
        for suite, found in zip(suites, answers, strict=True):
            variance = within_case_variance(suite)
            wanted = None if variance is None else minimal_detectable_difference(len(suite), repeats, repeats, variance)
            assert close(found, wanted if wanted is None or wanted <= 1 else None)


def test_at_the_repeats_that_were_run_the_interval_foreseen_is_the_interval_seen() -> None:
    suite = [(10, 10), (7, 10), (9, 10), (0, 10), (4, 10)]
    seen, foreseen = in_node("statistics.js", [["rerunInterval", suite], ["rerunIntervalAt", suite, 10]])
    assert close(seen["low"], foreseen["low"])
    assert close(seen["high"], foreseen["high"])
    (interval,) = in_node("statistics.js", [["intervalAt", 7, 10, 10]])
    assert all(map(close, interval, wilson_interval(7, 10)))
