"""The default branch's last runs in a few lines of Markdown: a line of blocks, then each rate with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from repeat_eval.analysis.report import HistoryPoint, Report
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import markdown, markdown_code

BLOCKS = "▁▂▃▄▅▆▇█"
MAX_RUNS = 30
GAP = "·"
"""Stands for a run without a pass rate."""


def sparkline(rates: Sequence[float | None]) -> str:
    """One block a run: the lowest for 0 to 12.5 %, the full one for 87.5 % and more, always on the scale 0 to 100 %."""
    last = len(BLOCKS) - 1
    return "".join(GAP if rate is None else BLOCKS[min(max(int(rate * len(BLOCKS)), 0), last)] for rate in rates)


def trend_lines(report: Report, rows: int) -> list[str]:
    """Markdown lines of the history: the line of blocks, then a table of the last `rows` runs; none without history."""
    points = report.history[-MAX_RUNS:]
    if not points:
        return []
    known = [point.pass_rate for point in points if point.pass_rate is not None]
    spread = f", {fmt.percent1(min(known))} to {fmt.percent1(max(known))}" if known else ""
    line = sparkline([point.pass_rate for point in points])
    shown = f"Last {len(points)} runs of the default branch, oldest first: `{line}` (blocks from 0 to 100%{spread})."
    if len(points) == 1:
        shown = f"Last run of the default branch: {fmt.percent1(known[0]) if known else 'no pass rate'}."
    lines = [shown]
    if rows > 0:
        lines += ["", "| run of | commit | pass rate | re-run 95% interval | verdict |", "|:--|:--|--:|:--|:--|"]
        lines += [_row(point) for point in reversed(points[-rows:])]
    return lines


def _row(point: HistoryPoint) -> str:
    rate = fmt.UNKNOWN if point.pass_rate is None else fmt.percent1(point.pass_rate)
    cells = [
        markdown(point.started[:10], 10),
        markdown_code(point.commit[:7], table=True),
        rate,
        fmt.interval(point.interval),
        point.verdict,
    ]
    return f"| {' | '.join(cells)} |"
