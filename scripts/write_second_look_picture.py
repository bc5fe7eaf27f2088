"""Draw docs/images/second-look.svg: one simulated pull request, decided by the program's own functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from random import Random

from page_parts import ROOT

from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.second_look import FirstLook, Judged, SecondLookSettings, first_look, second_look
from repeat_eval.statistics.second_look_planning import fixed_repeats

PICTURE = ROOT / "docs" / "images" / "second-look.svg"
SEED = 0
"""The first seed with three suspects of whom the fallen case alone is confirmed, and without an alarm."""
SETTINGS = SecondLookSettings()
FALLEN = 6
BASE = [1.0] * 24
for _place, _rate in {2: 0.8, 9: 0.9, 13: 0.7, 17: 0.85, 20: 0.95, 22: 0.6}.items():
    BASE[_place] = _rate
HEAD = [0.5 if place == FALLEN else rate for place, rate in enumerate(BASE)]

WIDTH, HEIGHT = 760, 372
STYLE = """
    .panel{fill:#ffffff;stroke:#d0d7de} text{fill:#1f2328;font:13px -apple-system,Segoe UI,Helvetica,Arial,sans-serif}
    .soft{fill:#59636e} .bold{font-weight:600} .pass{fill:#8fb8e8} .fail{fill:#cf222e} .mark{fill:none;stroke:#9a6700}
    .line{stroke:#9a6700;fill:none} .tip{fill:#9a6700} .bar{fill:#0b62c4} .more{fill:#8fb8e8} .other{fill:#a8b0b9}
    .red{fill:#cf222e} .green{fill:#1a7f37}
    @media (prefers-color-scheme: dark){.panel{fill:#0d1117;stroke:#3d444d} text{fill:#f0f6fc} .soft{fill:#9198a1}
    .pass{fill:#2f6fb5} .fail{fill:#ff7b72} .mark,.line{stroke:#d29922} .tip{fill:#d29922} .bar{fill:#4493f8}
    .more{fill:#2f6fb5} .other{fill:#656c76} .red{fill:#ff7b72} .green{fill:#3fb950}}
"""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One pull request: outcomes of both looks by side and case, and what they say."""

    first: tuple[list[list[bool]], list[list[bool]]]
    fresh: dict[int, tuple[list[bool], list[bool]]]
    look: FirstLook
    judged: Judged

    @property
    def varied(self) -> int:
        """Cases whose trials in the first look disagree, over both sides."""
        pairs = zip(*self.first, strict=True)
        return sum(0 < sum(base) + sum(head) < len(base) + len(head) for base, head in pairs)


def simulated(seed: int) -> Simulated:
    """The pull request of this seed."""
    random = Random(seed)  # noqa: S311 - a picture that must come out the same again

    def trials(rate: float, number: int) -> list[bool]:
        return [random.random() < rate for _ in range(number)]

    base, head = ([trials(rate, SETTINGS.n1) for rate in side] for side in (BASE, HEAD))
    rows = [_row(*pair) for pair in zip(base, head, strict=True)]
    look = first_look(rows, SETTINGS)
    fresh = {case: (trials(BASE[case], n), trials(HEAD[case], n)) for case, n in look.rerun.items()}
    whole = {case: _row(one[: SETTINGS.n3], other[: SETTINGS.n3]) for case, (one, other) in fresh.items()}
    found = second_look(rows, {case: _row(*pair) for case, pair in fresh.items()}, SETTINGS, fresh_suite=whole)
    return Simulated((base, head), fresh, look, found.down)


def telling(one: Simulated) -> bool:
    """Whether a pull request shows what there is to show."""
    chosen = one.look.down.suspects
    return not one.look.alarm and len(chosen) == 3 and one.judged.rejected == (FALLEN,)


def picture() -> str:
    """The picture as SVG."""
    one = simulated(SEED)
    parts = [*_first(one), *_arrows(one), *_second(one), *_costs(one)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{escape(_words(one), quote=True)}"><style>{STYLE}</style>'
        f'<rect class="panel" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _words(one: Simulated) -> str:
    suspects = ", ".join(_outcome(one, case) for case in one.look.down.suspects)
    return f"Three trials a side of 24 cases; three suspects get 20 fresh trials a side: {suspects}"


def _outcome(one: Simulated, case: int) -> str:
    base, head = one.fresh[case]
    word = "confirmed" if case in one.judged.rejected else "not confirmed"
    return f"case {case + 1} passes {sum(base)} of {len(base)} on base and {sum(head)} on head, {word}"


_LEFT, _STEP = 70, 27.5


def _x(case: int) -> float:
    return _LEFT + case * _STEP


def _first(one: Simulated) -> Iterable[str]:
    yield _text(20, 30, "First look: 3 trials a side of every case", "bold")
    yield _text(WIDTH - 20, 30, "red: the trial failed", "soft", end=True)
    for side, (name, y) in enumerate((("base", 56), ("head", 84))):
        yield _text(20, y + 5, name, "soft")
        for case, outcomes in enumerate(one.first[side]):
            yield from _dots(_x(case), y, outcomes, 7)
    for case in one.look.down.suspects:
        yield f'<rect class="mark" x="{_x(case) - 6:g}" y="45" width="26" height="50" rx="5" stroke-width="2"/>'


_ROWS = (158, 204, 250)
_DOTS = 170


def _arrows(one: Simulated) -> Iterable[str]:
    yield _text(20, 134, "Second look: 20 fresh trials a side of the three suspects, which alone decide", "bold")
    for case in one.look.down.suspects:
        x = _x(case) + 7
        yield f'<path class="line" d="M{x:g} 97 V109" stroke-width="2"/>'
        yield f'<path class="tip" d="M{x - 4:g} 108 h8 l-4 6 z"/>'


def _second(one: Simulated) -> Iterable[str]:
    for y, case in zip(_ROWS, one.look.down.suspects, strict=True):
        base, head = one.fresh[case]
        red = case in one.judged.rejected
        yield _text(20, y + 13, f"case {case + 1}", "bold")
        yield _text(_DOTS - 52, y + 5, "base", "soft")
        yield _text(_DOTS - 52, y + 23, "head", "soft")
        yield from _dots(_DOTS, y, base, 13, radius=4.5)
        yield from _dots(_DOTS, y + 18, head, 13, radius=4.5)
        yield _text(450, y + 13, f"{sum(base)}/{len(base)} → {sum(head)}/{len(head)}")
        p = one.judged.p2[case]
        yield _text(550, y + 13, f"p {p:.5f}" if p < 0.001 else f"p {p:.2f}", "soft")
        yield _text(640, y + 13, "confirmed: red" if red else "cleared", "bold red" if red else "bold green")


def _costs(one: Simulated) -> Iterable[str]:
    cases = len(BASE)
    first, fresh = 2 * cases * SETTINGS.n1, 2 * sum(one.look.rerun.values())
    fixed = fixed_repeats(SETTINGS, testable=one.varied + 1)
    if fixed is None:
        raise ValueError("no fixed number of repeats finds as much")
    equal = 2 * cases * fixed
    scale = 430 / equal
    yield _text(20, 318, "two looks")
    yield f'<rect class="bar" x="{_DOTS}" y="306" width="{first * scale:.1f}" height="15"/>'
    yield f'<rect class="more" x="{_DOTS + first * scale:.1f}" y="306" width="{fresh * scale:.1f}" height="15"/>'
    yield _text(_DOTS + (first + fresh) * scale + 8, 318, f"{first} + {fresh} = {first + fresh} trials", "bold")
    yield _text(20, 346, f"{fixed} fixed repeats")
    yield f'<rect class="other" x="{_DOTS}" y="334" width="{equal * scale:.1f}" height="15"/>'
    yield _text(_DOTS + equal * scale + 8, 346, f"{equal}, to find as much", "soft")


def _dots(x: float, y: float, outcomes: Sequence[bool], step: float, radius: float = 3.0) -> Iterable[str]:
    for place, passed in enumerate(outcomes):
        kind = "pass" if passed else "fail"
        yield f'<circle class="{kind}" cx="{x + place * step:g}" cy="{y}" r="{radius:g}"/>'


def _text(x: float, y: float, text: str, kind: str = "", *, end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.4g}" y="{y}" class="{kind}"{anchor}>{escape(text)}</text>'


def _row(base: Sequence[bool], head: Sequence[bool]) -> Row:
    return sum(base), len(base), sum(head), len(head)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
