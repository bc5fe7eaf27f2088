"""The plan of a run: how many trials of each case, under which threshold and gate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.execution.plan import describe_target, fingerprint_targets, plan_cases
from repeat_eval.records.run import CasePlan
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.settings import Settings, resolve
from repeat_eval.suite.spec import SuiteSpec, TargetSpec

Plan = Callable[..., dict[str, CasePlan]]


def suite_from(tmp_path: Path, text: str) -> SuiteSpec:
    path = tmp_path / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    def planned(text: str, options: dict[str, Any] | None = None, variables: dict[str, Any] | None = None) -> Any:
        spec = suite_from(tmp_path, text)
        settings = resolve(
            ("option", Settings.model_validate(options or {})),
            ("variable", Settings.model_validate(variables or {})),
            ("suite", spec.settings),
        )
        return {case.id: case for case in plan_cases(spec, spec.cases, settings)}

    return planned


MIXED = "repeats: 4\ncases:\n  - {id: own, repeats: 7}\n  - {id: plain}\n"


def asked(plans: dict[str, CasePlan]) -> dict[str, int]:
    return {case: one.asked for case, one in plans.items()}


def test_a_case_asks_for_its_own_repeats_or_for_those_of_the_suite(plan: Plan) -> None:
    assert asked(plan(MIXED)) == {"own": 7, "plain": 4}
    assert asked(plan("cases:\n  - {id: a}\n")) == {"a": 10}


def test_repeats_from_an_option_or_a_variable_override_every_case(plan: Plan) -> None:
    assert asked(plan(MIXED, {"repeats": 2})) == {"own": 2, "plain": 2}
    assert asked(plan(MIXED, None, {"repeats": "3"})) == {"own": 3, "plain": 3}


THRESHOLDS = "threshold: 0.5\ngate: strict\ncases:\n  - {id: own, threshold: 0.90, gate: none}\n  - {id: plain}\n"


@pytest.mark.parametrize("options", [{}, {"threshold": "0.7", "gate": "wilson"}])
def test_a_case_keeps_its_own_threshold_and_gate_and_leaves_the_rest_to_the_suite(
    plan: Plan, options: dict[str, Any]
) -> None:
    plans = plan(THRESHOLDS, options)
    assert (plans["own"].threshold, plans["own"].gate) == ("0.90", "none")
    assert (plans["plain"].threshold, plans["plain"].gate) == (None, None)


REPEAT = "cases:\n  - {name: a, repeat: 5}\n  - {name: b, repeat: 5, require_pass_rate: 0.8}\n  - {id: c, repeats: 5}\n"


def test_repeat_without_any_pass_rate_means_every_time(plan: Plan) -> None:
    assert {case: one.threshold for case, one in plan(REPEAT).items()} == {"a": "1.0", "b": "0.8", "c": None}


@pytest.mark.parametrize(
    ("head", "options"), [("threshold: 0.6\n", {}), ("require_pass_rate: 0.6\n", {}), ("", {"threshold": "0.6"})]
)
def test_repeat_with_a_pass_rate_for_the_suite_does_not(plan: Plan, head: str, options: dict[str, Any]) -> None:
    assert plan(head + REPEAT, options)["a"].threshold is None


def test_repeat_for_the_whole_suite_means_every_case_every_time(plan: Plan) -> None:
    plans = plan("repeat: 3\ncases:\n  - {id: a}\n  - {id: b, threshold: 0.5}\n")
    assert {case: (one.asked, one.threshold) for case, one in plans.items()} == {"a": (3, "1.0"), "b": (3, "0.5")}


def test_a_plan_says_where_its_case_is_written(plan: Plan, tmp_path: Path) -> None:
    plans = plan("cases:\n  - {id: a, tags: [x]}\n")
    assert (plans["a"].file, plans["a"].line, plans["a"].tags) == (str(tmp_path / "suite.yaml"), 2, ("x",))


def test_the_fingerprint_of_a_case_is_that_of_its_input_and_checks_and_of_nothing_else(plan: Plan) -> None:
    def of(case: str) -> str | None:
        return plan(f"cases:\n  - {case}\n")["a"].case_fingerprint

    first = of("{id: a, input: hi, expect: [{contains: x}]}")
    assert first == of("{id: a, expect: [{contains: x}], input: hi, repeats: 3, threshold: 0.5, tags: [t]}")
    assert first == of('{"id": "a", "input": "hi", "expect": [{"contains": "x"}]}')
    others = {
        of("{id: a, input: ho, expect: [{contains: x}]}"),
        of("{id: a, input: hi, expect: [{contains: y}]}"),
        of("{id: a, input: hi, expect: [{contains: x, weight: 2}]}"),
        of("{id: a, input: hi, expected: x, expect: [{contains: x}]}"),
    }
    assert len(others) == 4
    assert first not in others


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (None, None),
        (TargetSpec("python", "agent:answer"), "python:agent:answer"),
        (TargetSpec("command", "./agent --x"), "command:./agent --x"),
        (TargetSpec("command", ["python", "my agent.py"]), "command:python 'my agent.py'"),
        (TargetSpec("http", {"url": "http://localhost/"}), "http:http://localhost/"),
    ],
)
def test_a_target_in_one_line(target: TargetSpec | None, line: str | None) -> None:
    assert describe_target(target) == line


@pytest.mark.parametrize(
    "target", ["{python: 'agent:answer'}", "{command: 'sh agent.py'}", "{command: [sh, agent.py]}"]
)
def test_the_fingerprint_of_a_target_follows_its_settings_and_its_source(tmp_path: Path, target: str) -> None:
    source = tmp_path / "agent.py"
    source.write_text("1", encoding="utf-8")
    spec = suite_from(tmp_path, f"target: {target}\ncases:\n  - id: a\n")
    before = fingerprint_targets(spec, spec.cases)
    assert before == fingerprint_targets(spec, spec.cases)
    source.write_text("2", encoding="utf-8")
    assert fingerprint_targets(spec, spec.cases) != before


def test_a_suite_without_a_target_has_no_target_fingerprint(tmp_path: Path) -> None:
    spec = suite_from(tmp_path, "cases:\n  - id: a\n")
    assert fingerprint_targets(spec, spec.cases) is None
