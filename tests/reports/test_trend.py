"""The default branch's last runs, as a line of blocks and as rows."""

from __future__ import annotations

import msgspec
import report_examples as examples

from repeat_eval.analysis.report import HistoryPoint, Report
from repeat_eval.reports.comment import render_comment
from repeat_eval.reports.markdown import render_summary
from repeat_eval.reports.trend import sparkline, trend_lines


def point(rate: float | None, day: int = 1, **more: object) -> HistoryPoint:
    values = {"commit": f"{day:040x}", "started": f"2026-03-{day:02d}T00:00:00Z", "verdict": "pass", **more}
    interval = None if rate is None else (rate - 0.05, rate + 0.05)
    return HistoryPoint(pass_rate=rate, interval=interval, **values)  # type: ignore[arg-type]


def with_points(*points: HistoryPoint) -> Report:
    return msgspec.structs.replace(examples.small(), history=points)


def test_blocks_are_on_the_scale_from_0_to_100_percent_and_unknown_is_a_gap() -> None:
    assert sparkline([0.0, 0.5, 0.874, 0.875, 1.0, None]) == "▁▅▇██·"


def test_a_report_without_history_says_nothing() -> None:
    assert trend_lines(examples.small(), 5) == []
    assert "default branch" not in render_comment(examples.small())


def test_rates_stand_with_their_intervals_newest_first() -> None:
    lines = trend_lines(with_points(point(0.6), point(0.8, 2, verdict="fail")), 5)
    assert "`▅▇` (blocks from 0 to 100%, 60.0% to 80.0%)" in lines[0]
    assert lines[4] == "| 2026-03-02 | `0000000` | 80.0% | 75–85% | fail |"
    assert lines[5].startswith("| 2026-03-01 |")


def test_one_run_is_no_line_of_blocks() -> None:
    assert trend_lines(with_points(point(0.95)), 0) == ["Last run of the default branch: 95.0%."]
    assert trend_lines(with_points(point(None)), 0) == ["Last run of the default branch: no pass rate."]


def test_comment_and_summary_show_it_in_their_fold() -> None:
    report = with_points(*[point(0.8, day) for day in range(1, 13)])
    for text, rows in ((render_comment(report), 5), (render_summary(report), 10)):
        assert "Last 12 runs of the default branch" in text.partition("<details>")[2]
        assert text.count("| 2026-03-") == rows


def test_a_short_comment_gives_up_the_rows() -> None:
    report = with_points(*[point(0.8, day) for day in range(1, 13)])
    assert "| 2026-03-" not in render_comment(report, limit_characters=900)


def test_history_from_elsewhere_is_inert_and_bounded() -> None:
    hostile = point(0.5, commit="`x` <!-- repeat-eval", started="@all|<b>")
    text = "\n".join(trend_lines(with_points(*[hostile] * 5000), 5))
    assert len(text) < 2000
    assert "<b>" not in text
    assert "@all" not in text
