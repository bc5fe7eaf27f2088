"""Annotations of a report: which cases, in which order, and only places that exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from github_reports import case_report, compared, report

from repeat_eval.github.annotations import MESSAGE_LIMIT, Annotation, annotations_of

SUITE = "name: refunds\ncases:\n  - id: one\n  - id: two\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository = tmp_path / "repository"
    (repository / "evals").mkdir(parents=True)
    (repository / "evals/refunds.yaml").write_text(SUITE)
    (tmp_path / "outside.yaml").write_text(SUITE)
    return repository


def test_a_failing_case_is_annotated_at_its_line_with_what_failed(root: Path) -> None:
    case = case_report("escalates", "fail", file="evals/refunds.yaml", line=3, message="expected a call to `escalate`")
    assert annotations_of(report(case), root) == [
        Annotation(
            title="escalates: failed",
            message="2 of 10 passed. #2: expected a call to `escalate` (8 of 8 failures alike)",
            level="failure",
            path="evals/refunds.yaml",
            line=3,
        )
    ]


def test_cases_that_pass_are_not_annotated(root: Path) -> None:
    cases = [case_report("good", "pass"), case_report("lucky", "within-noise"), case_report("left out", "skipped")]
    assert annotations_of(report(*cases), root) == []


def test_a_case_that_got_worse_without_blocking_is_a_warning_after_those_that_block(root: Path) -> None:
    cases = [case_report("worse", "pass"), case_report("broken", "fail"), case_report("unknown", "incomplete")]
    found = annotations_of(report(*cases, comparison=compared("worse", "broken")), root)
    assert [(one.title, one.level) for one in found] == [
        ("broken: failed", "failure"),
        ("unknown: no verdict", "failure"),
        ("worse: worse than base", "warning"),
    ]
    assert found[-1].message.startswith("10 of 10 passed on base, 5 of 10 here")


def test_a_case_that_fails_on_base_as_well_is_not_blamed(root: Path) -> None:
    comparison = compared("old", change="unchanged", not_this_change=True)
    assert annotations_of(report(case_report("old", "fail"), comparison=comparison), root) == []


def test_there_are_at_most_so_many(root: Path) -> None:
    cases = [case_report(f"case {number}", "fail") for number in range(70)]
    assert len(annotations_of(report(*cases), root)) == 50
    assert len(annotations_of(report(*cases), root, limit=3)) == 3
    assert annotations_of(report(*cases), root, limit=0) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (None, None),
        (None, 1),
        ("evals/refunds.yaml", None),
        ("evals/refunds.yaml", 0),
        ("evals/refunds.yaml", 5),
        ("evals/none.yaml", 1),
        ("evals", 1),
        ("../outside.yaml", 1),
        ("evals/../../outside.yaml", 1),
        ("/etc/passwd", 1),
        ("evals/\nrefunds.yaml", 1),
        ("evals/\0", 1),
        ("x" * 5000, 1),
        ("link.yaml", 1),
    ],
)
def test_a_place_outside_the_repository_or_that_does_not_exist_is_left_out(
    root: Path, file: str | None, line: int | None
) -> None:
    (root / "link.yaml").symlink_to("../outside.yaml")
    (found,) = annotations_of(report(case_report("a", "fail", file=file, line=line)), root)
    assert (found.path, found.line, found.has_place) == (None, None, False)


@pytest.mark.parametrize("written", ["evals/refunds.yaml", "./evals/refunds.yaml", "evals/../evals/refunds.yaml"])
def test_a_path_is_written_as_the_repository_knows_it(root: Path, written: str) -> None:
    for file in (written, str(root / written)):
        (found,) = annotations_of(report(case_report("a", "fail", file=file, line=4)), root)
        assert (found.path, found.line) == ("evals/refunds.yaml", 4)


def test_text_from_a_model_is_one_bounded_line_without_control_characters(root: Path) -> None:
    hostile = "\x1b[31m::error::\0\u202e got\r\n::set-output name=x::y" * 1000
    (found,) = annotations_of(report(case_report(hostile, "fail", message=hostile)), root)
    for text in (found.title, found.message):
        assert text.isprintable()
        assert len(text) <= MESSAGE_LIMIT
    assert len(found.title) <= 255
