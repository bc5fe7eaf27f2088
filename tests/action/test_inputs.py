"""Inputs are checked as a whole before anything runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.action.inputs import Inputs, names, read_inputs
from repeat_eval.errors import UserError
from repeat_eval.suite.settings import Settings


def problems(**inputs: str) -> dict[str | None, str]:
    with pytest.raises(UserError) as caught:
        read_inputs({f"INPUT_{name.upper().replace('_', '-')}": text for name, text in inputs.items()})
    return {problem.file: problem.message for problem in caught.value.problems}


def test_names_are_kebab_case_and_every_setting_is_an_input() -> None:
    assert {"suite", "fail-on", "max-failing-cases", "only-when-changed", "python"} <= set(names())
    assert len(names()) == len(Inputs.model_fields) > len(Settings.model_fields)
    assert all(name == name.lower() and "_" not in name for name in names())


@pytest.mark.parametrize("spelling", ["INPUT_FAIL-ON", "INPUT_FAIL_ON"])
def test_hyphens_come_as_github_sends_them_and_as_shells_let_them_through(spelling: str) -> None:
    assert read_inputs({"INPUT_SUITE": "s.yaml", spelling: "none"}).fail_on == "none"


def test_what_is_empty_was_not_said() -> None:
    inputs = read_inputs({"INPUT_SUITE": "s.yaml", "INPUT_REPEATS": "", "INPUT_GATE": " ", "INPUT_COMMENT": ""})
    assert inputs.repeats is None
    assert inputs.gate is None
    assert inputs.comment == "always"
    assert inputs.settings() == Settings.model_construct()


def test_the_defaults_make_the_short_workflow_do_the_right_thing() -> None:
    inputs = read_inputs({"INPUT_SUITE": "s.yaml"})
    assert (inputs.setup, inputs.base, inputs.comment, inputs.on_missing_secret) == ("auto", "auto", "always", "fail")
    assert (inputs.summary, inputs.check, inputs.status, inputs.fail_on_publish_error) == (True, False, False, False)
    assert inputs.report_dir == "repeat-eval-report"


def test_lists_are_one_a_line() -> None:
    inputs = read_inputs({"INPUT_SUITE": "s.yaml", "INPUT_CASE": "greets*\n\n  says, this \n", "INPUT_TAG": "x"})
    assert inputs.case == ("greets*", "says, this")
    assert inputs.tag == ("x",)


def test_several_wrong_values_are_told_at_once_each_with_what_was_found_and_what_is_allowed() -> None:
    told = problems(
        suite="s.yaml", threshold="80", gate="wilsonn", summary="maybe", repeats="ten", check_name="x" * 200
    )
    assert set(told) == {"threshold", "gate", "summary", "repeats", "check-name"}
    assert "0.8" in told["threshold"]
    assert "wilson, strict or none" in told["gate"]
    assert "wilsonn" in told["gate"]
    assert told["summary"] == "`summary` must be true or false; found 'maybe'"


def test_an_unknown_input_names_the_nearest_one() -> None:
    assert "did you mean" in problems(suite="s.yaml", treshold="0.9")["treshold"]


def test_what_the_runner_adds_for_any_container_is_no_unknown_input() -> None:
    assert read_inputs({"INPUT_SUITE": "s.yaml", "INPUT_ARGS": "x", "INPUT_ENTRYPOINT": "y"}).suite == "s.yaml"


@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        ({}, "suite"),
        ({"suite": "s.yaml", "command": "x {results}"}, "suite"),
        ({"results": "*.xml", "target": "a:b"}, "target"),
        ({"results": "*.xml", "base": "run"}, "base"),
        ({"suite": "s.yaml", "setup": "none", "setup_as_root": "true"}, "setup-as-root"),
        ({"suite": "s.yaml", "gate_stored": "perhaps"}, "gate-stored"),
        ({"command": "x {results}", "case": "a"}, "case"),
        ({"suite": "s.yaml", "name": "x"}, "name"),
        ({"suite": "s.yaml", "require": "non-inferior"}, "require"),
        ({"suite": "s.yaml", "report_dir": "/etc"}, "report-dir"),
        ({"suite": "s.yaml", "report_dir": "../x"}, "report-dir"),
        ({"suite": "s.yaml", "report_dir": "."}, "report-dir"),
        ({"suite": "s.yaml", "working_directory": "a/../.."}, "working-directory"),
        ({"suite": "s.yaml", "matrix": "["}, "matrix"),
        ({"suite": "s.yaml", "matrix": "[1]"}, "matrix"),
    ],
)
def test_inputs_that_do_not_go_together_or_lead_away_are_refused(inputs: dict[str, str], name: str) -> None:
    assert name in problems(**inputs)


@pytest.mark.parametrize(
    ("text", "matrix"),
    [("null", {}), ("{}", {}), ('{"model": "small", "python": 3.13}', {"model": "small", "python": "3.13"})],
)
def test_the_matrix_is_what_github_makes_of_it(text: str, matrix: dict[str, str]) -> None:
    assert read_inputs({"INPUT_SUITE": "s.yaml", "INPUT_MATRIX": text}).matrix == matrix


@given(st.dictionaries(st.sampled_from(names()), st.text(max_size=30), max_size=6))
def test_any_text_is_read_or_refused_with_the_inputs_name(values: dict[str, str]) -> None:
    try:
        read_inputs({f"INPUT_{name.upper()}": text for name, text in values.items()})
    except UserError as error:
        assert all(problem.file in names() for problem in error.problems)
