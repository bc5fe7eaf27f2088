"""Looks at one commit as a report holds them: the first, and those that somebody asked for afterwards.

Counts are fresh trials of that look alone; p are one-sided mid-p for "head is worse", None where not tested.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

LookKind = Literal["first", "whole", "escalation", "appeal"]
"""`whole`: every case again; `escalation`: watched cases, after a look that was not red; `appeal`: what was blamed."""
LookVerdict = Literal["regressed", "no detectable change", "cleared", "incomplete"]
"""`cleared`: an appeal left no blame. `incomplete`: the look gave no verdict and spent nothing."""

MAX_CASES = 60
"""Cases that a look lists at most."""
MAX_TEXT = 300
MAX_LOOKS = 20

_Count = Annotated[int, msgspec.Meta(ge=0, le=100_000)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
_P = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LookCase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One case in a look.

    Attributes:
        id: the case. base, head: (passes, verdicts) of this look's trials.
        p: see above. blamed: it is a reason why this look is red: it got worse against base (`regressed`), fell below
            its own threshold (`below`), or both.
    """

    id: _Name
    base: tuple[_Count, _Count]
    head: tuple[_Count, _Count]
    p: _P | None = None
    regressed: bool = False
    below: bool = False

    @property
    def blamed(self) -> bool:
        """Whether this look blames the case."""
        return self.regressed or self.below


class Look(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One look.

    Attributes:
        number: 0 for the first. attempt: of the workflow run that made it, from 1. kind: how it was made.
        level: the part of alpha that it spends; None for an appeal, which can only clear.
        verdict: of this look by itself; what is red stays red until an appeal clears it.
        p: of the suite, or of the cases of an escalation together.
        suite: whether the suite as a whole is blamed.
        others: reasons besides regressions why the gate failed, as sentences; a further look then runs every case.
        cases: those that are blamed, or watched; at most `MAX_CASES`. more: blamed ones beyond that.
        text: the look's verdict in one line.
    """

    number: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    attempt: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    kind: LookKind
    level: _P | None = None
    verdict: LookVerdict
    p: _P | None = None
    suite: bool = False
    others: tuple[Annotated[str, msgspec.Meta(max_length=MAX_TEXT)], ...] = ()
    cases: tuple[LookCase, ...] = ()
    more: _Count = 0
    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""

    @property
    def red(self) -> bool:
        """Whether something is blamed for a regression, or a case for being below its threshold."""
        return self.verdict == "regressed"

    @property
    def blamed(self) -> tuple[LookCase, ...]:
        """The cases that this look blames."""
        return tuple(case for case in self.cases if case.blamed)
