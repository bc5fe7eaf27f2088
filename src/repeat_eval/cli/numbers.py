"""Callbacks of options for figures that are no settings: rates, amounts, whole numbers. Each keeps None as it is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

import click

from repeat_eval.records.thresholds import parse_threshold

_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?\Z")
_T = TypeVar("_T")

Callback = Callable[[click.Context, click.Parameter, str | None], _T | None]


def rate(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A rate from 0 to 1, kept as it was written; a usage error with a suggestion otherwise."""
    if value is None:
        return None
    try:
        parse_threshold(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None
    return value.strip()


def number(low: float, high: float, example: str, *, above: bool = False, below: bool = False) -> Callback[float]:
    """A plain decimal number from `low` (or above it) to `high` (or below it); a usage error otherwise."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
        if value is None:
            return None
        found = float(value) if _NUMBER.match(value.strip()) else math.nan
        if (found > low if above else found >= low) and (found < high if below else found <= high):
            return found
        bounds = f"{'above' if above else 'from'} {low:g} {'to below' if below else 'to'} {high:g}"
        text = f"must be a number {bounds}, for instance {example}; found {value[:40]!r}"
        raise click.BadParameter(text, ctx, param)

    return convert


def whole(low: int, high: int) -> Callback[int]:
    """A whole number from `low` to `high`; a usage error otherwise."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
        if value is None:
            return None
        text = value.strip()
        if re.fullmatch(r"[0-9]{1,12}", text) and low <= int(text) <= high:
            return int(text)
        raise click.BadParameter(f"must be a whole number from {low:,} to {high:,}; found {text[:40]!r}", ctx, param)

    return convert
