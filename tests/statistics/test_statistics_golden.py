"""Every reference value of tests/golden/statistics.json against the function that implements it, at its tolerance."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.statistics.comparison import case_exact, stratified_exact
from repeat_eval.statistics.difference import population_paired_t, suite_difference
from repeat_eval.statistics.gates import gate_fail_probability, gate_min_passes, gate_verdict
from repeat_eval.statistics.intervals import wilson_interval, z_value
from repeat_eval.statistics.multiplicity import bh_adjust, bh_testable
from repeat_eval.statistics.planner import (
    gate_repeats,
    min_all_pass_n,
    min_decisive_n,
    minimal_detectable_difference,
)
from repeat_eval.statistics.reliability import rating_of, reliability
from repeat_eval.statistics.repeats import (
    is_flaky,
    majority_vote,
    pass_at_k,
    pass_at_k_plugin,
    pass_hat_k,
    pass_to_k,
    stability,
)
from repeat_eval.statistics.scores import histogram, is_bimodal, summarise
from repeat_eval.statistics.significance import level
from repeat_eval.statistics.student_t import t_quantile, t_two_sided_p
from repeat_eval.statistics.suite_rates import mean_rate, new_cases_interval, rerun_interval, suite_verdict

Entry = dict[str, Any]
GOLDEN: list[Entry] = json.loads((Path(__file__).parents[1] / "golden" / "statistics.json").read_text("utf-8"))[
    "entries"
]

WITHOUT_IMPLEMENTATION = {
    "clopper_pearson_interval": "for comparison only",
    "agresti_coull_interval": "for comparison only",
    "jeffreys_interval": "for comparison only",
    "case_boschloo_two_sided": "for comparison only",
    "case_barnard_two_sided": "for comparison only",
    "cmh_test": "for comparison only",
    "cmh_test_corrected": "for comparison only",
    "curtailment": "trials are not stopped early",
    "curtailment_expected_trials": "trials are not stopped early",
    "curtailed_unbiased_rate": "trials are not stopped early",
}

CHECKED: list[str] = []


def golden(function: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    CHECKED.append(function)
    chosen = [entry for entry in GOLDEN if entry["function"] == function]
    mark = pytest.mark.parametrize("entry", [pytest.param(entry, id=entry["id"]) for entry in chosen])
    return mark  # type: ignore[return-value]


def rows(entry: Entry) -> list[Any]:
    return [tuple(case) for case in entry["inputs"]["cases"]]


def matches(entry: Entry, **actual: Any) -> None:
    for key, value in actual.items():
        expected = entry["expected"][key]
        if isinstance(value, float) and expected is not None:
            expected = pytest.approx(expected, abs=entry["tolerance"], rel=0)
        elif isinstance(expected, list) and any(isinstance(item, float) for item in expected):
            expected = pytest.approx(expected, abs=entry["tolerance"], rel=0)
        assert value == expected, key


def test_no_golden_function_is_forgotten() -> None:
    assert sorted({entry["function"] for entry in GOLDEN}) == sorted([*CHECKED, *WITHOUT_IMPLEMENTATION])


@golden("z_quantile")
def test_z_value(entry: Entry) -> None:
    matches(entry, z=z_value(entry["inputs"]["confidence"]))


@golden("t_quantile")
def test_t_quantile(entry: Entry) -> None:
    matches(entry, t=t_quantile(**entry["inputs"]))


@golden("t_two_sided_p")
def test_t_two_sided_p(entry: Entry) -> None:
    matches(entry, p=t_two_sided_p(**entry["inputs"]))


@golden("wilson_interval")
def test_wilson_interval(entry: Entry) -> None:
    low, high = wilson_interval(entry["inputs"]["c"], entry["inputs"]["n"], entry["inputs"]["confidence"])
    matches(entry, low=low, high=high)


@golden("pass_hat_k")
def test_pass_hat_k(entry: Entry) -> None:
    matches(entry, value=pass_hat_k(entry["inputs"]["c"], entry["inputs"]["n"], entry["inputs"]["k"]))


@golden("pass_at_k_unbiased")
def test_pass_at_k(entry: Entry) -> None:
    matches(entry, value=pass_at_k(entry["inputs"]["c"], entry["inputs"]["n"], entry["inputs"]["k"]))


@golden("pass_at_k_plugin")
def test_pass_at_k_plugin(entry: Entry) -> None:
    matches(entry, value=pass_at_k_plugin(entry["inputs"]["c"], entry["inputs"]["n"], entry["inputs"]["k"]))


@golden("pass_to_k_plugin")
def test_pass_to_k(entry: Entry) -> None:
    matches(entry, value=pass_to_k(entry["inputs"]["c"], entry["inputs"]["n"], entry["inputs"]["k"]))


@golden("reliability_rating")
def test_reliability(entry: Entry) -> None:
    actual = reliability(entry["inputs"]["c"], entry["inputs"]["n"])
    matches(entry, pass_to_3=actual.value, rating=actual.rating)


@golden("reliability_rating_from_value")
def test_rating_of(entry: Entry) -> None:
    matches(entry, rating=rating_of(entry["inputs"]["pass_to_3"]))


@golden("score_summary")
def test_score_summary(entry: Entry) -> None:
    actual = summarise(entry["inputs"]["scores"])
    matches(entry, mean=actual.mean, std_population=actual.std)


@golden("majority_vote")
def test_majority_vote(entry: Entry) -> None:
    actual = majority_vote(entry["inputs"]["c"], entry["inputs"]["n"])
    matches(entry, passed=actual.verdict == "pass", tie=actual.verdict == "tie", confidence=actual.confidence)


@golden("stability_score")
def test_stability(entry: Entry) -> None:
    cases = rows(entry)
    matches(entry, value=stability(cases), flaky=[is_flaky(*case) for case in cases])


@golden("histogram_bimodal")
def test_histogram_and_bimodal_flag(entry: Entry) -> None:
    low, high = entry["inputs"]["range"]
    bins = histogram(entry["inputs"]["scores"], low, high)
    assert bins is not None
    matches(entry, bins=list(bins), bimodal=is_bimodal(bins))


@golden("case_fisher_two_sided")
def test_one_sided_exact_p_of_a_case_is_fishers(entry: Entry) -> None:
    inputs = entry["inputs"]
    actual = stratified_exact([(inputs["base_c"], inputs["base_n"], inputs["head_c"], inputs["head_n"])])
    # Its two-sided p is of another kind (it sums the outcomes that are no likelier) and is not used here.
    matches(entry, p_less=actual.p_less, p_greater=actual.p_greater)


@golden("case_midp_two_sided")
def test_case_exact(entry: Entry) -> None:
    actual = case_exact(**entry["inputs"])
    testable = round(actual.smallest, 12) <= 0.05
    matches(entry, p=actual.p, min_attainable_p=actual.smallest, testable_at_0_05=testable)


@golden("bh_adjust")
def test_bh_adjust(entry: Entry) -> None:
    matches(entry, q=list(bh_adjust(entry["inputs"]["p"])))


@golden("bh_testable_only")
def test_bh_over_testable_cases(entry: Entry) -> None:
    cases = [case_exact(*row) for row in rows(entry)]
    p_values = [case.p for case in cases]
    actual = bh_testable(p_values, [case.smallest for case in cases], entry["inputs"]["alpha"])
    matches(
        entry,
        p=p_values,
        testable_indices=list(actual.testable),
        q=list(actual.adjusted),
        flagged=list(actual.rejected),
        q_if_all_cases_counted=list(bh_adjust(p_values)),
    )


@golden("suite_compare_exact")
def test_stratified_exact(entry: Entry) -> None:
    actual = stratified_exact(rows(entry))
    matches(
        entry,
        p_less=actual.p_less,
        p_greater=actual.p_greater,
        p_exact=actual.p_exact,
        p_midp=actual.p_mid,
        level=level(actual.p_mid),
    )


@golden("suite_compare_difference")
def test_suite_difference(entry: Entry) -> None:
    actual = suite_difference(rows(entry))
    matches(
        entry,
        delta=actual.delta,
        base_rate=actual.base.rate,
        head_rate=actual.head.rate,
        low=actual.low,
        high=actual.high,
    )


@golden("newcombe_difference")
def test_suite_difference_of_one_case_is_newcombes(entry: Entry) -> None:
    inputs = entry["inputs"]
    row = (inputs["base_c"], inputs["base_n"], inputs["head_c"], inputs["head_n"])
    actual = suite_difference([row], inputs["confidence"])
    matches(entry, delta=actual.delta, low=actual.low, high=actual.high)


@golden("suite_rerun_interval")
def test_rerun_interval(entry: Entry) -> None:
    actual = rerun_interval(rows(entry), entry["inputs"]["confidence"])
    matches(entry, rate=actual.rate, phi=actual.phi, low=actual.low, high=actual.high)


@golden("suite_cluster_interval")
def test_new_cases_interval(entry: Entry) -> None:
    actual = new_cases_interval(rows(entry), entry["inputs"]["confidence"])
    matches(entry, rate=actual.rate, n_eff=actual.n_eff, low=actual.low, high=actual.high)


@golden("population_paired_t")
def test_population_paired_t(entry: Entry) -> None:
    actual = population_paired_t(rows(entry))
    assert actual is not None
    matches(entry, mean=actual.mean, t=actual.t, p=actual.p, low=actual.low, high=actual.high)


@golden("significance_level")
def test_level(entry: Entry) -> None:
    matches(entry, level=level(entry["inputs"]["p"]))


@golden("gate_decision")
def test_gate_verdict(entry: Entry) -> None:
    inputs = entry["inputs"]
    threshold = Fraction(inputs["threshold"])
    verdict = gate_verdict(inputs["c"], inputs["n"], threshold, inputs["mode"])
    matches(
        entry,
        verdict="fail" if verdict == "fail" else "pass",
        rate_below=gate_verdict(inputs["c"], inputs["n"], threshold, "strict") == "fail",
        wilson_high=wilson_interval(inputs["c"], inputs["n"])[1],
    )


@golden("gate_min_passes")
def test_gate_min_passes(entry: Entry) -> None:
    n, threshold = entry["inputs"]["n"], Fraction(entry["inputs"]["threshold"])
    matches(entry, strict=gate_min_passes(n, threshold, "strict"), wilson=gate_min_passes(n, threshold, "wilson"))


@golden("gate_fail_probability")
def test_gate_fail_probability(entry: Entry) -> None:
    n, threshold, rate = entry["inputs"]["n"], Fraction(entry["inputs"]["threshold"]), entry["inputs"]["true_rate"]
    matches(
        entry,
        strict=gate_fail_probability(n, threshold, rate, "strict"),
        wilson=gate_fail_probability(n, threshold, rate, "wilson"),
    )


@golden("suite_gate")
def test_suite_verdict(entry: Entry) -> None:
    cases, threshold = rows(entry), Fraction(entry["inputs"]["threshold"])
    wilson = suite_verdict(cases, threshold, "wilson")
    matches(
        entry,
        rate=float(mean_rate(cases)),
        high=rerun_interval(cases).high,
        verdict_wilson="fail" if wilson == "fail" else "pass",
        verdict_strict=suite_verdict(cases, threshold, "strict"),
    )


@golden("planner_mde")
def test_minimal_detectable_difference(entry: Entry) -> None:
    inputs = entry["inputs"]
    actual = minimal_detectable_difference(
        inputs["cases"],
        inputs["base_n"],
        inputs["head_n"],
        inputs["within_case_variance"],
        alpha=inputs["alpha"],
        power=inputs["power"],
    )
    matches(entry, mde=actual)


@golden("planner_gate_repeats")
def test_gate_repeats(entry: Entry) -> None:
    inputs = entry["inputs"]
    actual = gate_repeats(
        Fraction(inputs["threshold"]), inputs["bad_rate"], power=inputs["power"], gate=inputs["mode"], limit=200
    )
    matches(entry, first_n=actual.first, stable_n=actual.always)


@golden("planner_min_decisive_n")
def test_min_decisive_n(entry: Entry) -> None:
    matches(entry, n=min_decisive_n(Fraction(entry["inputs"]["threshold"])))


@golden("planner_min_all_pass_n")
def test_min_all_pass_n(entry: Entry) -> None:
    matches(entry, n=min_all_pass_n(Fraction(entry["inputs"]["threshold"])))


# The worked examples as the documentation prints them: delta, interval, mid-p, exact p, paired-t p.
WORKED = {
    "E01": (-0.800000, -0.963776, -0.192591, 0.023810, 0.047619, None),
    "E02": (-0.200000, -0.381173, 0.017602, 0.057823, 0.103175, 0.0890),
    "E04": (0.0, -0.203883, 0.203883, 1.0, 1.0, None),
    "E05": (-0.090000, -0.151468, -0.025369, 0.013402, 0.022681, 0.1760),
    "E06": (-0.166667, -0.338117, -0.006452, 0.040258, 0.067613, 0.0305),
    "E07": (-0.144334, -0.258929, -0.026301, 0.019140, 0.031238, 0.0720),
    "E08": (-0.053333, -0.093495, -0.013755, 0.006252, 0.009359, 0.0014),
    "E09": (0.333333, 0.128329, 0.500934, 0.001127, 0.002156, 0.0108),
    "E10": (0.0, -0.162991, 0.162991, 1.0, 1.0, 1.0),
    "E14": (-0.042000, -0.071615, -0.012318, 0.005867, 0.008158, 0.0279),
}


@pytest.mark.parametrize("example", WORKED)
def test_worked_examples_print_as_documented(example: str) -> None:
    [entry] = [e for e in GOLDEN if e["id"].startswith(f"suite_compare_exact/{example}_")]
    delta, low, high, p_mid, p_exact, p_t = WORKED[example]
    difference, test, paired = (
        suite_difference(rows(entry)),
        stratified_exact(rows(entry)),
        population_paired_t(rows(entry)),
    )
    assert [round(x, 6) for x in (difference.delta, difference.low, difference.high)] == [delta, low, high]
    assert [round(x, 6) for x in (test.p_mid, test.p_exact)] == [p_mid, p_exact]
    assert (None if paired is None else round(paired.p, 4)) == p_t
