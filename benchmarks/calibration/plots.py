"""The pictures of docs/statistics.md as SVG, drawn from results.json. `python -m benchmarks.calibration.plots`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from benchmarks.calibration.results import ALLOWED, ANY_DROP, BROKEN, GATE, SUITE, SUITE_HALF, Results, read

FOLDER = Path(__file__).parents[2] / "docs" / "images"

_WIDTH = 760
_LEFT = 210
_RIGHT = 30
_OURS, _PEER, _LIMIT = "#0b62c4", "#8a8f98", "#c62828"
_SHADES = {SUITE: "#0b62c4", GATE: "#2f7fdb", "pooled z": "#5f656d", "paired t": "#7d838c"}
_NAME_WIDTH = 170
_LINES = {
    GATE: ("#0b62c4", "", "our gate"),
    SUITE_HALF: ("#5fa8f5", "6 4", "its suite half alone"),
    "pooled z": ("#70757d", "", "z on pooled trials"),
    "paired t": ("#9aa0a8", "6 4", "paired t"),
}


def write(results: Results, folder: Path = FOLDER) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures(results).items():
        (folder / name).write_text(picture, encoding="utf-8")


def pictures(results: Results) -> dict[str, str]:
    """All pictures by their file's name."""
    return {
        "calibration-false-alarms.svg": false_alarms(results),
        "calibration-power.svg": power(results),
        "calibration-broken-case.svg": broken_case(results),
    }


def false_alarms(results: Results) -> str:
    """A row a method, a dot a cell without a change; any drop lies outside and is given in words."""
    methods = [method for method in results.methods if method != ANY_DROP]
    top, step, most = 58, 52, 0.10
    bottom = top + step * len(methods)

    def x(share: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share / most

    parts = [_title("False alarms at a level of 5 %: a dot is one cell of the null grid, the tick the mean")]
    for percent in range(0, 11, 2):
        parts += _tick_x(x(percent / 100), top - 10, bottom, f"{percent} %")
    parts += [
        _line(x(0.05), top - 10, x(0.05), bottom, "#555", dash="2 3"),
        _line(x(ALLOWED), top - 10, x(ALLOWED), bottom, _LIMIT, dash="5 4"),
        _text(x(ALLOWED) + 5, top - 1, f"allowed: {ALLOWED * 100:.1f} %", color=_LIMIT, size=12),
    ]
    null = results.null()
    for row, method in enumerate(methods):
        y = top + step * (row + 0.5)
        color = _OURS if method in (SUITE, GATE) else _PEER
        parts.append(_text(_LEFT - 14, y + 4, _label(method), anchor="end", bold=method in (SUITE, GATE)))
        for number, cell in enumerate(null):
            share = cell.rates[method]
            if share <= most:
                # Spread over the row in a fixed pattern, so that dots do not hide each other.
                parts.append(_dot(x(share), y + (number * 7 % 29 - 14), color))
        average = sum(cell.rates[method] for cell in null) / len(null)
        if average <= most:
            parts.append(_line(x(average), y - 18, x(average), y + 18, "#111", width=2.5))
        if outside := [cell.rates[method] for cell in null if cell.rates[method] > most]:
            note = f"{len(outside)} more, up to {max(outside) * 100:.0f} % →"
            parts.append(_text(_WIDTH - _RIGHT, y - 14, note, anchor="end", color=_LIMIT, size=12))
    drop = [cell.rates[ANY_DROP] for cell in null]
    note = f"Not shown: blocking on any drop, with {min(drop) * 100:.0f} to {max(drop) * 100:.0f} % false alarms."
    parts.append(_text(_LEFT, bottom + 44, note, size=12, color="#555"))
    return _picture(bottom + 60, parts, "False alarms of each method over the cells of the null grid")


def power(results: Results) -> str:
    """A group of bars a kind of change, a bar a method that holds its level."""
    methods = list(_SHADES)
    kinds = {"broad": "every case loses a share", "few": "a few cases nearly break", "logit": "flaky cases get worse"}
    top, bar, gap = 64, 20, 26
    group = bar * len(methods) + gap
    bottom = top + group * len(kinds) - gap + 8

    def x(share: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    parts = [_title("Power against falls near 2.8 standard errors: share of real changes that are found")]
    for percent in range(0, 101, 20):
        parts += _tick_x(x(percent / 100), top - 10, bottom, f"{percent} %")
    for place, (kind, about) in enumerate(kinds.items()):
        start = top + group * place
        parts.append(_text(_LEFT - 14, start + group / 2 - gap / 2 + 4, about, anchor="end"))
        for row, method in enumerate(methods):
            share = results.power(method, kind)
            y = start + bar * row
            parts.append(
                f'<rect x="{x(0):.1f}" y="{y + 2:.1f}" width="{x(share) - x(0):.1f}" height="{bar - 4}" '
                f'fill="{_SHADES[method]}"/>'
            )
            number, name = f"{share * 100:.0f} %", _label(method) + ("" if results.holds_level(method) else " †")
            if x(share) - x(0) < _NAME_WIDTH:
                parts.append(_text(x(share) + 6, y + bar - 6, f"{number}  {name}", size=12))
                continue
            parts.append(_text(x(0) + 8, y + bar - 6, name, size=12, color="#fff"))
            parts.append(_text(x(share) + 6, y + bar - 6, number, size=12, bold=method in (SUITE, GATE)))
    if not all(map(results.holds_level, methods)):
        parts.append(_text(_LEFT, bottom + 40, "† does not hold its level in every cell", size=12, color="#555"))
    return _picture(bottom + 56, parts, "Power of each method by kind of change")


def broken_case(results: Results) -> str:
    """Detection of one broken case against repeats: lines for our gate and tests, points for regressgate."""
    rows = sorted((row for row in results.scenario if row.change == BROKEN), key=lambda row: row.repeats)
    left, top, bottom, right = 70, 58, 350, _WIDTH - 190
    last = rows[-1].repeats

    def at(repeats: int, share: float) -> tuple[float, float]:
        return left + (right - left) * (repeats - 1) / (last - 1), bottom - (bottom - top) * share

    parts = [_title("One of 20 cases breaks: share of pull requests that are blocked, by repeats a case")]
    for percent in range(0, 101, 20):
        y = at(1, percent / 100)[1]
        parts += [
            _line(left, y, right, y, "#e3e5e8"),
            _text(left - 8, y + 4, f"{percent} %", anchor="end", size=12, color="#555"),
        ]
    for row in rows:
        parts.append(
            _text(at(row.repeats, 0)[0], bottom + 18, str(row.repeats), anchor="middle", size=12, color="#555")
        )
    parts.append(_text((left + right) / 2, bottom + 38, "repeats (N) on each side", anchor="middle", size=12))
    labels: list[tuple[float, str, str]] = []
    for method, (color, dash, label) in _LINES.items():
        points = [at(row.repeats, row.rates[method]) for row in rows]
        parts.append(_path(points, color, dash))
        labels.append((points[-1][1], label, color))
    theirs = [(row.repeats, row.regressgate) for row in rows if row.regressgate is not None]
    if theirs:
        points = [at(repeats, share) for repeats, share in theirs]
        parts.append(_path(points, "#c77700", "2 4"))
        parts += [_dot(x, y, "#c77700", radius=4.5, opacity=1.0) for x, y in points]
        labels.append((points[-1][1], "regressgate 0.1.0", "#c77700"))
    for y, (_, label, color) in zip(_apart(y for y, _, _ in sorted(labels)), sorted(labels), strict=True):
        parts.append(_text(right + 10, y + 4, label, color=color, size=13, bold=label == "our gate"))
    return _picture(bottom + 56, parts, "Detection of one broken case by number of repeats")


def _apart(heights: Iterable[float]) -> list[float]:
    """Heights in rising order, moved so that labels do not overlap."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + 18 if placed else height))
    return placed


def _label(method: str) -> str:
    return {
        SUITE: "repeat-eval, suite test",
        GATE: "repeat-eval, gate",
        "pooled z": "z on pooled trials",
        "paired t": "paired t over rates",
        "McNemar on majorities": "McNemar on majorities",
    }.get(method, method)


def _picture(height: float, parts: Sequence[str], about: str) -> str:
    # A white ground of its own: readable whatever is behind the picture.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">\n'
        f"<title>{escape(about)}</title>\n"
        f'<rect width="{_WIDTH}" height="{height:.0f}" rx="6" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _title(text: str) -> str:
    return _text(20, 28, text, size=15, bold=True)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 14, color: str = "#1b1f24", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}"{weight}>'
        f"{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str, *, width: float = 1.0, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        f'stroke-width="{width}"{dashes}/>'
    )


def _tick_x(x: float, top: float, bottom: float, label: str) -> list[str]:
    return [
        _line(x, top, x, bottom, "#e3e5e8"),
        _text(x, bottom + 18, label, anchor="middle", size=12, color="#555"),
    ]


def _dot(x: float, y: float, color: str, *, radius: float = 2.6, opacity: float = 0.55) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}" fill-opacity="{opacity}"/>'


def _path(points: Sequence[tuple[float, float]], color: str, dash: str) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{where}" fill="none" stroke="{color}" stroke-width="2.5"{dashes}/>'


if __name__ == "__main__":
    write(read())
