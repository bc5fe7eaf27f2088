"""What every function here asks of its counts, checked in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

Count: TypeAlias = tuple[int, int]
"""One case on one side: (passes, verdicts)."""

Row: TypeAlias = tuple[int, int, int, int]
"""One case on both sides: (base passes, base verdicts, head passes, head verdicts)."""


def check_counts(passes: int, verdicts: int, *, least: int = 1) -> None:
    """Refuse counts that no run can produce.

    Args:
        passes: trials that passed.
        verdicts: trials that passed or failed.
        least: smallest number of verdicts that the caller can work with.

    Raises:
        ValueError: not whole numbers, fewer verdicts than `least`, or passes outside 0..verdicts.
    """
    if type(passes) is not int or type(verdicts) is not int:
        raise ValueError(f"passes and verdicts must be whole numbers, not {passes!r} of {verdicts!r}")
    if verdicts < least:
        raise ValueError(f"at least {least} verdicts are needed, not {verdicts}")
    if not 0 <= passes <= verdicts:
        raise ValueError(f"passes must lie between 0 and the number of verdicts, not {passes} of {verdicts}")


def tally_counts(cases: Iterable[Count]) -> Counter[Count]:
    """Count equal cases: figures of a suite need each distinct (passes, verdicts) only once.

    Raises:
        ValueError: no case, or a case with bad counts or without a verdict.
    """
    tally = Counter((passes, verdicts) for passes, verdicts in cases)
    for passes, verdicts in tally:
        check_counts(passes, verdicts)
    if not tally:
        raise ValueError("at least one case is needed")
    return tally


def tally_rows(rows: Iterable[Row]) -> Counter[Row]:
    """Count equal rows, as `tally_counts` does for one side; no row at all is allowed.

    Raises:
        ValueError: a row with bad counts or with a side without a verdict.
    """
    tally = Counter((base_c, base_n, head_c, head_n) for base_c, base_n, head_c, head_n in rows)
    for base_c, base_n, head_c, head_n in tally:
        check_counts(base_c, base_n)
        check_counts(head_c, head_n)
    return tally
