"""Distributions on whole numbers as lists of probabilities, and sums of independent ones.

A suite's null distribution is a sum over thousands of cases. It is computed, not approximated: equal cases by repeated
squaring, the rest joined in pairs, both ends cut where nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from typing import TypeAlias

Pmf: TypeAlias = tuple[int, tuple[float, ...]]
"""A distribution on whole numbers: its lowest value and the probabilities from there on."""

ALWAYS_ZERO: Pmf = (0, (1.0,))
"""The distribution of a sum of nothing."""

# Ends of a sum below this are cut: the list stays about 17 standard deviations wide.
_TRIM = 1e-18

# From this length on, one product of two huge whole numbers is faster than a product for each pair of values.
_LONG = 32

# Fixed-point digits of a probability in such a number, and the bytes between two neighbours: room for twice the digits.
_BITS = 80
_BYTES = 2 * _BITS // 8 + 1


@lru_cache(maxsize=4096)
def hypergeometric(passes: int, base_n: int, head_n: int) -> Pmf:
    """Null distribution of head's passes, given the passes of both sides together.

    P(x) = C(head_n, x) C(base_n, passes - x) / C(base_n + head_n, passes), from exact whole numbers, so each
    probability is correctly rounded. Neighbours follow from each other, which is quick for thousands of trials too.

    Args:
        passes: passes of both sides, 0..base_n + head_n.
        base_n: base's verdicts.
        head_n: head's verdicts.
    """
    low, high = max(0, passes - base_n), min(passes, head_n)
    every = math.comb(base_n + head_n, passes)
    ways = math.comb(head_n, low) * math.comb(base_n, passes - low)
    pmf = []
    for x in range(low, high + 1):
        pmf.append(ways / every)
        ways = ways * (head_n - x) * (passes - x) // ((x + 1) * (base_n - passes + x + 1))
    return low, tuple(pmf)


def sum_of_copies(part: Pmf, count: int) -> Pmf:
    """Distribution of the sum of `count` independent copies, by repeated squaring; of none, a sure 0."""
    total = ALWAYS_ZERO
    while count:
        if count & 1:
            total = convolve(total, part)
        count >>= 1
        if count:
            part = convolve(part, part)
    return total


def sum_of_parts(parts: Iterable[Pmf]) -> Pmf:
    """Distribution of the sum of independent parts, joined in pairs in their order; of none, a sure 0."""
    level = list(parts) or [ALWAYS_ZERO]
    while len(level) > 1:
        joined = [convolve(one, other) for one, other in zip(level[::2], level[1::2], strict=False)]
        level = joined + level[len(joined) * 2 :]
    return level[0]


def convolve(one: Pmf, other: Pmf) -> Pmf:
    """Distribution of the sum of two independent values, its ends trimmed below 1e-18.

    Probabilities are right to about 1e-15 of themselves or 1e-23, whichever is more.
    """
    if len(one[1]) < len(other[1]):
        one, other = other, one
    if len(other[1]) == 1 and other[1][0] == 1.0:
        return one[0] + other[0], one[1]
    values = _long_product(one[1], other[1]) if len(other[1]) >= _LONG else _short_product(one[1], other[1])
    start, stop = 0, len(values)
    while values[start] < _TRIM:
        start += 1
    while values[stop - 1] < _TRIM:
        stop -= 1
    return one[0] + other[0] + start, tuple(values[start:stop])


def _short_product(long: Sequence[float], short: Sequence[float]) -> list[float]:
    """Convolution by definition: each value is a window of the long list times the short one backwards."""
    width = len(short)
    turned = short[::-1]
    padding = (0.0,) * (width - 1)
    padded = (*padding, *long, *padding)
    return [sum(map(mul, padded[i : i + width], turned)) for i in range(len(long) + width - 1)]


def _long_product(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Convolution as one product of two whole numbers (Kronecker substitution), for which Python has fast code.

    Each list is written as one number whose "digits" are its probabilities in fixed point, far enough apart that the
    digits of the product, sums of products below 1, cannot run into each other.
    """
    length = len(one) + len(other) - 1
    first = _as_number(one)
    second = first if one is other else _as_number(other)
    digits = (first * second).to_bytes(_BYTES * (length + 1), "little")
    unit = 2.0**-_BITS
    return [
        float(int.from_bytes(digits[i : i + _BYTES], "little") >> _BITS) * unit
        for i in range(0, _BYTES * length, _BYTES)
    ]


def _as_number(probabilities: Sequence[float]) -> int:
    scale = 2.0**_BITS
    return int.from_bytes(b"".join([int(p * scale).to_bytes(_BYTES, "little") for p in probabilities]), "little")
