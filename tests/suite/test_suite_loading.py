"""Loading a suite: what the file means, and every fault in it at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.natural_order import natural_key
from repeat_eval.suite.load import MAX_PROBLEMS, load_suite, target_from_text
from repeat_eval.suite.spec import SuiteSpec, TargetSpec

Load = Callable[[str], SuiteSpec]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(text: str) -> SuiteSpec:
        path = tmp_path / "refunds.yaml"
        path.write_text(text, encoding="utf-8")
        return load_suite(path)

    return loaded


@pytest.fixture
def faults(load: Load) -> Callable[[str], list[Problem]]:
    def found(text: str) -> list[Problem]:
        with pytest.raises(UserError) as caught:
            load(text)
        return list(caught.value.problems)

    return found


def lines(problems: list[Problem]) -> list[tuple[str, int | None, int | None]]:
    return [(problem.message, problem.line, problem.column) for problem in problems]


SEED = """\
cases:
  - name: escalates_when_over_limit
    input: refund me $9000
    repeat: 5
    require_pass_rate: 0.8
    expect:
      - calls_tool: escalate_to_human
"""


# ---- what a suite means ----


def test_the_short_spellings_mean_the_same_as_the_long_ones(load: Load, tmp_path: Path) -> None:
    (short,) = load(SEED).cases
    long_form = SEED.replace("name:", "id:").replace("repeat:", "repeats:").replace("require_pass_rate:", "threshold:")
    (long,) = load(long_form).cases
    assert short.id == long.id == "escalates_when_over_limit"
    assert short.repeats == long.repeats == 5
    assert short.threshold == long.threshold == "0.8"
    assert short.written_repeat
    assert not long.written_repeat
    assert short.line == long.line == 2
    assert short.file == str(tmp_path / "refunds.yaml")


def test_hyphens_and_underscores_are_the_same_in_keys(load: Load) -> None:
    spec = load("max-failing-cases: 2\nrepeat-order: sequential\ncases:\n  - {id: a, retry-on: crash}\n")
    assert spec.settings.max_failing_cases == 2
    assert spec.settings.repeat_order == "sequential"
    assert spec.cases[0].retry_on == frozenset({"crash"})


def test_a_suite_is_called_by_its_name_or_else_its_file(load: Load) -> None:
    assert load(SEED).name == "refunds"
    assert load("name: desk\n" + SEED).name == "desk"


def test_the_folder_of_a_suite_is_that_of_its_file(load: Load, tmp_path: Path) -> None:
    assert load(SEED).folder == tmp_path.resolve()


def test_a_threshold_keeps_the_text_in_which_it_was_written(load: Load) -> None:
    spec = load("threshold: 0.80\ncases:\n  - {id: a, threshold: 8.0e-1}\n")
    assert spec.settings.threshold == "0.80"
    assert spec.cases[0].threshold == "8.0e-1"


def test_an_id_that_looks_like_a_number_keeps_its_text(load: Load) -> None:
    assert [case.id for case in load("cases:\n  - {id: 007}\n  - {id: 1.0}\n").cases] == ["007", "1.0"]


def test_a_case_takes_what_it_does_not_say_from_the_defaults(load: Load) -> None:
    spec = load(
        """\
tags: [all]
defaults:
  repeats: 3
  timeout: 5s
  tags: [common]
  vars: {city: Rome, lang: it}
  expect:
    - max_turns: 4
cases:
  - id: a
  - id: b
    repeats: 7
    tags: [own, common]
    vars: {city: Oslo}
    expect:
      - contains: x
"""
    )
    a, b = spec.cases
    assert (a.repeats, a.timeout, a.tags, a.variables) == (3, 5.0, ("all", "common"), {"city": "Rome", "lang": "it"})
    assert (b.repeats, b.timeout, b.tags) == (7, 5.0, ("all", "common", "own"))
    assert b.variables == {"city": "Oslo", "lang": "it"}
    assert [check.name for check in b.checks] == ["max_turns", "contains"]
    assert b.expect_written == [{"max_turns": 4}, {"contains": "x"}]


def test_checks_of_the_defaults_and_of_the_case_have_different_names(load: Load) -> None:
    spec = load("defaults: {expect: [{contains: a}]}\ncases:\n  - {id: a, expect: [{contains: b}, {contains: c}]}\n")
    assert [check.name for check in spec.cases[0].checks] == ["contains", "contains #2", "contains #3"]


def test_the_defaults_may_use_the_other_spellings_too(load: Load) -> None:
    spec = load("defaults: {repeat: 3, require-pass-rate: 0.5}\ncases:\n  - id: a\n")
    assert (spec.cases[0].repeats, spec.cases[0].threshold) == (3, "0.5")


def test_a_target_of_the_defaults_stands_in_the_suite_file_for_included_cases_too(load: Load, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("- id: a\n", encoding="utf-8")
    (case,) = load("include: [more.yaml]\ndefaults: {target: 'agent:answer'}\n").cases
    assert case.target is not None
    assert case.target.source is not None
    assert case.target.source.file == str(tmp_path / "refunds.yaml")
    assert case.target.path == ("defaults", "target")


def test_input_may_be_any_value_and_comes_out_plain(load: Load) -> None:
    (case,) = load("cases:\n  - {id: a, input: {n: 1, x: 0.50, list: [true, ~]}, expected: [2]}\n").cases
    assert case.input == {"n": 1, "x": 0.5, "list": [True, None]}
    assert type(case.input["n"]) is int
    assert type(case.input["x"]) is float
    assert case.expected == [2]


def test_cases_without_checks_are_warned_about_and_many_of_them_in_one_line(load: Load) -> None:
    assert load("cases:\n  - {id: a}\n").warnings == ("case 'a' has no checks: every answer passes",)
    many = "cases:\n" + "".join(f"  - {{id: c{n}}}\n" for n in range(4))
    assert load(many).warnings == ("4 cases have no checks: every answer passes (first: 'c0')",)


@pytest.mark.parametrize(
    ("written", "kind", "value"),
    [
        ("agent:answer", "python", "agent:answer"),
        ("python:pkg.agent:Desk.answer", "python", "pkg.agent:Desk.answer"),
        ("command:./agent --fast", "command", "./agent --fast"),
        ("http://127.0.0.1:8000/chat", "http", {"url": "http://127.0.0.1:8000/chat"}),
        ("https://example.com/", "http", {"url": "https://example.com/"}),
    ],
)
def test_a_target_can_be_written_in_one_text(load: Load, written: str, kind: str, value: object) -> None:
    target = load(f"target: {written!r}\n{SEED}").target
    assert target is not None
    assert (target.kind, target.value) == (kind, value)
    option = target_from_text(written)
    assert option == TargetSpec(option.kind, value)
    assert option.kind == kind


def test_a_target_option_that_is_none_is_refused() -> None:
    kinds = r"python:module:function, command:LINE, model:provider:name, or a URL"
    with pytest.raises(UserError, match=rf"--target: .*must be {kinds}"):
        target_from_text("agent.answer")


def test_a_command_may_be_a_list_of_words(load: Load) -> None:
    target = load(f"target: {{command: [python, agent.py]}}\n{SEED}").target
    assert target is not None
    assert target.value == ["python", "agent.py"]


# ---- includes ----


def test_included_files_come_after_the_suites_own_cases_and_in_natural_order(load: Load, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    for number in (10, 2, 1):
        (folder / f"part-{number}.yaml").write_text(f"- id: c{number}\n", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("cases:\n  - id: other\n    repeat: 2\n", encoding="utf-8")
    spec = load("defaults: {timeout: 3}\ninclude: ['more/*.yaml', other.yaml]\ncases:\n  - id: own\n")
    assert [case.id for case in spec.cases] == ["own", "c1", "c2", "c10", "other"]
    assert {case.timeout for case in spec.cases} == {3.0}
    assert spec.cases[-1].file == str(tmp_path / "other.yaml")
    assert spec.cases[-1].line == 2


def test_natural_order_reads_numbers_as_numbers() -> None:
    assert sorted(["r10", "r9", "r1b", "r"], key=natural_key) == ["r", "r1b", "r9", "r10"]


def test_the_other_spelling_of_include_is_known(load: Load, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("- id: a\n", encoding="utf-8")
    assert [case.id for case in load("cases_from: [more.yaml]\n").cases] == ["a"]


def test_two_files_with_a_case_of_one_id_name_both_places(
    faults: Callable[[str], list[Problem]], tmp_path: Path
) -> None:
    (tmp_path / "more.yaml").write_text("# more\n- id: a\n", encoding="utf-8")
    (problem,) = faults("include: [more.yaml]\ncases:\n  - id: a\n")
    assert problem == Problem(
        f"two cases have the id 'a' (the first is in {tmp_path / 'refunds.yaml'}:3)", str(tmp_path / "more.yaml"), 2, 7
    )


def test_faults_of_an_included_file_stand_in_that_file(faults: Callable[[str], list[Problem]], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("target: x:y\ncases:\n  - id: a\n    gate: no\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("text\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("a: [\n", encoding="utf-8")
    problems = faults("include: ['?.yaml', none/*.yaml, refunds.yaml]\ncases:\n  - id: own\n")
    assert [(Path(problem.file or "").name, problem.line, problem.column) for problem in problems] == [
        ("a.yaml", 1, 1),
        ("a.yaml", 4, 11),
        ("b.yaml", 1, 1),
        ("c.yaml", 2, 1),
        ("refunds.yaml", 1, 21),
        ("refunds.yaml", 1, 34),
    ]
    texts = [problem.message for problem in problems]
    assert texts[0] == "unknown key 'target'; known keys: cases (an included file holds cases only)"
    assert texts[4].startswith("no file matches 'none/*.yaml'")
    assert texts[5] == "the suite includes itself"


# ---- faults ----


def test_all_faults_are_said_at_once_in_the_order_of_the_file(faults: Callable[[str], list[Problem]]) -> None:
    problems = faults(
        """\
repeets: 3
gate: wilsen
defaults:
  timeout: -1
  expect:
    - contians: x
cases:
  - id: a
    threshold: 80%
    expect:
      - regex: "("
      - contains: x
        regex: y
  - input: y
  - id: a
  - text
"""
    )
    assert [(problem.line, problem.column) for problem in problems] == [
        (1, 1),
        (2, 7),
        (4, 12),
        (6, 7),
        (9, 16),
        (11, 16),
        (13, 9),
        (14, 5),
        (15, 9),
        (16, 5),
    ]
    texts = [problem.message for problem in problems]
    assert texts[0].startswith("unknown key 'repeets'; did you mean 'repeats'? Known keys: repeats, ")
    assert texts[1] == "`gate` must be wilson, strict or none; found 'wilsen'; did you mean wilson?"
    assert texts[2] == "`timeout` must be a duration above 0 such as 30, 30s, 5m or 1h; found -1"
    assert texts[3].startswith("unknown check 'contians'; did you mean 'contains'?")
    assert texts[4] == "`threshold` 80% is not allowed here: write the rate as a decimal, 0.8"
    assert "is not a regular expression" in texts[5]
    assert texts[6] == "one check an entry; found contains and regex: write each as an item of its own"
    assert texts[7] == "`id` is missing"
    assert texts[8] == "two cases have the id 'a' (the first is in line 8)"
    assert texts[9] == "a case is a mapping with `id` and `input`; found 'text'"


def test_a_case_with_a_fault_keeps_its_id_so_that_a_second_one_is_found_too(
    faults: Callable[[str], list[Problem]],
) -> None:
    problems = faults("cases:\n  - {id: a, expect: [{contians: x}]}\n  - {id: a}\n")
    assert [problem.line for problem in problems] == [2, 3]


def test_a_fault_in_the_defaults_is_said_once_and_not_for_every_case(faults: Callable[[str], list[Problem]]) -> None:
    problems = faults("defaults:\n  expect:\n    - contians: x\ncases:\n  - id: a\n  - id: b\n")
    assert [(problem.line, problem.column) for problem in problems] == [(3, 7)]


def test_the_place_is_that_of_the_key_as_it_was_spelled(faults: Callable[[str], list[Problem]]) -> None:
    problems = faults("cases:\n  - name: a\n    repeat: 0\n    require-pass-rate: 2\n")
    assert [(problem.line, problem.column) for problem in problems] == [(3, 13), (4, 24)]


def test_two_spellings_of_one_key_are_refused(faults: Callable[[str], list[Problem]]) -> None:
    problems = faults("cases:\n  - {id: a, repeats: 3, repeat: 4}\n")
    assert lines(problems) == [("'repeat' is another spelling of `repeats`, which is there already", 2, 25)]


@pytest.mark.parametrize("empty", ["cases: []", "cases:", "name: x", "{}"])
def test_a_suite_without_cases_is_refused(faults: Callable[[str], list[Problem]], empty: str) -> None:
    (problem,) = faults(empty)
    assert problem.message == "has no cases; write at least one below `cases:`"


@pytest.mark.parametrize("root", ["- a", "text", "3", "~"])
def test_a_suite_is_a_mapping(faults: Callable[[str], list[Problem]], root: str) -> None:
    (problem,) = faults(root)
    assert problem.message.startswith("a suite is a mapping with `cases:`; found ")


def test_of_very_many_faults_the_first_hundred_are_said(faults: Callable[[str], list[Problem]]) -> None:
    problems = faults("cases:\n" + "  - {input: x}\n" * (MAX_PROBLEMS + 5))
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == Problem("and 5 more problems")


def test_a_suite_of_ten_thousand_cases_loads(load: Load) -> None:
    text = "cases:\n" + "".join(f"  - {{id: c{n}, input: x, expect: [{{contains: x}}]}}\n" for n in range(10_000))
    assert len(load(text).cases) == 10_000
