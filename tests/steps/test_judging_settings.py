"""Settings become rules, and a run file is judged by the rules that it was written with."""

from __future__ import annotations

import pytest

from repeat_eval.errors import UserError
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.steps.judging import report_of, rules_of, settings_of_run
from repeat_eval.suite.settings import Settings, resolve


def run_with(**settings: object) -> Run:
    trials = tuple(Trial(case="a", repetition=n, outcome="passed" if n < 4 else "failed") for n in range(1, 6))
    header = RunHeader(suite="desk", repeats=5, cases=(CasePlan(id="a", asked=5),), settings=dict(settings))
    return Run(header=header, trials=trials, footer=RunFooter(complete=True, trials=5))


def test_rules_keep_the_text_of_thresholds() -> None:
    rules = rules_of(resolve(("option", Settings(threshold="0.80", count_as_failed=["crash"]))))
    assert (rules.threshold, rules.gate, rules.count_as_failed) == ("0.80", "wilson", frozenset({"crash"}))


def test_a_run_is_judged_by_its_own_rules_unless_somebody_says_otherwise() -> None:
    run = run_with(threshold="0.8", gate="strict")
    own = resolve(("run file", settings_of_run(run)))
    assert report_of(run, own).verdict == "fail"
    other = resolve(("option", Settings(gate="wilson")), ("run file", settings_of_run(run)))
    report = report_of(run, other)
    assert report.verdict == "pass"
    assert report.settings["gate"].source == "option"
    assert report.settings["threshold"].source == "run file"


def test_settings_in_a_run_file_are_validated_like_all_others() -> None:
    with pytest.raises(UserError, match="run file's settings are not valid"):
        settings_of_run(run_with(threshold="1.2"))


def test_unknown_settings_in_a_run_file_are_ignored() -> None:
    assert settings_of_run(run_with(threshold="0.5", of_a_newer_version=1)).threshold == "0.5"
