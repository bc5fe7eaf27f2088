"""Two looks of a run without a base on every surface: both looks side by side, never added."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from lxml import etree

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from looks_alone_runs import judged, of, run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import Report, to_json
from repeat_eval.analysis.rules import Rules
from repeat_eval.github.annotations import annotations_of
from repeat_eval.reports import looks_alone_text
from repeat_eval.reports.comment import render_comment
from repeat_eval.reports.html import render_html
from repeat_eval.reports.html_data import page_data
from repeat_eval.reports.json_report import read
from repeat_eval.reports.junit import write_junit
from repeat_eval.reports.markdown import render_summary
from repeat_eval.reports.terminal import make_console, render

CASES = {
    "solid": ("PPP", ""),
    "broke": ("PPF", of(9, 20)),
    "lucky": ("FPP", of(18, 20)),
    "erring": ("PPE", "P" * 20),
}
BOTH = "first 2/3, re-run 9/20"


def report(**more: object) -> Report:
    return judged(CASES, **more)


def terminal(told: Report, width: int = 100) -> str:
    file = io.StringIO()
    render(told, make_console(no_color=True, width=width, file=file))
    return file.getvalue()


def test_the_terminal_shows_both_looks_and_what_came_of_them() -> None:
    text = terminal(report(), 140)
    assert "• 'broke': first 2/3, re-run 9/20 (26–66%): below its threshold, confirmed" in text
    assert "• 'lucky': first 2/3, re-run 18/20 (70–97%): re-run, not confirmed" in text
    assert "• 'erring': first 2/2 (1 error), re-run 20/20 (84–100%): re-run, not confirmed" in text
    assert f"• 'broke': {BOTH} is below 0.8, needs 13 of 20" in text
    assert "12 of 12 trials" in text
    assert "60 of 60 fresh trials in the second look" in text
    assert "repeats < 5" not in text


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_of_the_terminal_is_wider_than_it(width: int) -> None:
    assert max(map(len, terminal(report(), width).splitlines())) <= width


@pytest.mark.parametrize("render_markdown", [render_summary, render_comment])
def test_summary_and_comment_show_both_looks(render_markdown: object) -> None:
    text = render_markdown(report())  # type: ignore[operator]
    assert "| `broke` | 2/3 | 9/20 | 26–66% | below its threshold, confirmed |" in text
    assert "| `lucky` | 2/3 | 18/20 | 70–97% | re-run, not confirmed |" in text
    assert "**2/3**, re-run&nbsp;**9/20** | 26–⁠66%" in text
    assert "Second look: 3 cases below the threshold in the first look, or maybe, each run 20 more times;" in text


def test_junit_tells_of_the_fresh_trials_and_keeps_the_looks_apart() -> None:
    cases = {case.get("name"): case for case in etree.fromstring(write_junit(report())).iter("testcase")}
    broke = {one.get("name"): one.get("value") for one in cases["broke"].iter("property")}
    assert broke["repeat-eval.second_look"] == "confirmed"
    looks = [broke[f"repeat-eval.{name}"] for name in ("first_passes", "first_n", "rerun_passes", "rerun_n")]
    assert looks == ["2", "3", "9", "20"]
    assert broke["evals.scores.pass.avg"] == "0.45"
    assert BOTH in str(cases["broke"].find("failure").get("message"))
    assert "repeat-eval.second_look" not in {one.get("name") for one in cases["solid"].iter("property")}


def test_junit_names_the_fresh_trials_that_failed_where_the_trials_are_known() -> None:
    run = run_of(CASES)
    text = write_junit(judged(CASES), trials=run.trials).decode()
    assert "trial 4 failed" in text
    assert "trial 3 failed" not in text


def test_report_json_is_read_as_it_was_written(tmp_path: Path) -> None:
    told = report()
    path = tmp_path / "report.json"
    path.write_bytes(to_json(told))
    assert read(path).looked_alone == told.looked_alone
    kept = json.loads(path.read_text())["looked_alone"]
    assert [case["id"] for case in kept["cases"]] == ["broke", "lucky", "erring"]
    assert kept["cases"][0]["first_head"]["passed"] == 2


def test_the_page_shows_both_looks() -> None:
    told = report()
    text = render_html(told)
    assert "cases below their threshold were run again" in text
    assert "<td><bdi>broke</bdi></td><td><bdi>2/3</bdi></td><td><bdi>9/20</bdi></td>" in text
    assert "By the counts of the first look" in text
    broke = next(case for case in page_data(told).cases if case.id == "broke")
    assert broke.text.startswith(BOTH)


def test_annotations_tell_both_looks(tmp_path: Path) -> None:
    (found,) = annotations_of(report(), tmp_path)
    assert BOTH in found.message


def test_names_from_outside_are_escaped() -> None:
    told = judged({"<b>|x": ("FFF", "P" * 20), **{f"c{n}": ("PPP", "") for n in range(5)}})
    assert "`<b>\\|x` | 0/3" in render_comment(told)
    assert "&lt;b&gt;|x" in render_html(told)


def test_many_cases_are_counted_beyond_those_that_are_listed() -> None:
    told = judged({f"c{n:02}": ("FFF", "P" * 20) for n in range(30)})
    assert "… and 10 more" in terminal(told)
    assert "run again, see report.json" in render_summary(told)
    assert len(looks_alone_text.listed(told.looked_alone, None)) == 30  # type: ignore[arg-type]


def test_where_nothing_is_low_it_is_said() -> None:
    told = judged({f"c{n}": ("PPP", "") for n in range(6)}, again=())
    assert "none of 6 cases is below its threshold, nothing was run again" in terminal(told, 140)
    assert "nothing was run again" in render_html(told)
    assert "nothing was run again" in render_comment(told)


@pytest.mark.parametrize("render_markdown", [render_summary, render_comment])
def test_such_a_run_compared_with_another_still_shows_both_looks(render_markdown: object) -> None:
    told = analyse(run_of(CASES), Rules(), base=run_of(CASES))
    assert told.comparison is not None
    assert told.comparison.second_look is None
    text = render_markdown(told)  # type: ignore[operator]
    assert "| `broke` | 2/3 | 9/20 | 26–66% | below its threshold, confirmed |" in text
