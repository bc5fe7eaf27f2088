"""Suites to simulate: true pass rates drawn from six populations, and three kinds of change to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rates: TypeAlias = NDArray[np.float64]
"""True pass rates: one row a suite, one column a case."""

KINDS = ("broad", "few", "logit")
"""Every case loses the same share; some cases fall to a fifth of their rate; flaky cases shift on the logit scale."""

DROP = 2.8
"""Size of a change in standard errors of the suite's difference, where a normal test has a power of 80 %."""

_LARGEST_SHIFT = 8.0
_HALVINGS = 50


def _solid(random: np.random.Generator, shape: tuple[int, int]) -> Rates:
    kind = random.random(shape)
    return np.where(kind < 0.70, 1.0, np.where(kind < 0.75, 0.0, random.beta(4.0, 1.5, shape)))


def _flaky(random: np.random.Generator, shape: tuple[int, int]) -> Rates:
    return random.beta(2.0, 1.0, shape)


def _nearly_perfect(random: np.random.Generator, shape: tuple[int, int]) -> Rates:
    return np.where(random.random(shape) < 0.90, 1.0, random.beta(8.0, 1.0, shape))


def _u_shaped(random: np.random.Generator, shape: tuple[int, int]) -> Rates:
    return random.beta(0.3, 0.2, shape)


def _alike(random: np.random.Generator, shape: tuple[int, int]) -> Rates:
    del random
    return np.full(shape, 0.8)


def _hard(random: np.random.Generator, shape: tuple[int, int]) -> Rates:
    kind = random.random(shape)
    return np.where(kind < 0.60, 0.0, np.where(kind < 0.80, 1.0, random.beta(1.0, 3.0, shape)))


POPULATIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Rates]] = {
    "solid": _solid,
    "flaky": _flaky,
    "nearperf": _nearly_perfect,
    "ushape": _u_shaped,
    "homog": _alike,
    "hard": _hard,
}
ABOUT = {
    "solid": "70 % of cases always pass, 5 % never, the rest Beta(4, 1.5)",
    "flaky": "all cases Beta(2, 1)",
    "nearperf": "90 % always pass, the rest Beta(8, 1)",
    "ushape": "all cases Beta(0.3, 0.2): mostly near 0 or near 1",
    "homog": "every case 0.8",
    "hard": "60 % never pass, 20 % always, the rest Beta(1, 3)",
}


def draw(population: str, suites: int, cases: int, random: np.random.Generator, kind: str | None = None) -> Rates:
    """Suites of a population; with a kind of change, only suites to which it can happen.

    Args:
        population: a name in `POPULATIONS`.
        suites: number of suites. cases: cases of each.
        random: the source of all draws.
        kind: a name in `KINDS`, or None.
    """
    rates: Rates = POPULATIONS[population](random, (suites, cases))
    while kind is not None and (poor := ~_can_change(rates, kind)).any():
        rates[poor] = POPULATIONS[population](random, (int(poor.sum()), cases))
    return rates


def worsened(rates: Rates, kind: str, base_n: int, head_n: int, random: np.random.Generator) -> Rates:
    """Head's true rates after a change of this kind, its size set near `DROP` standard errors.

    A suite that cannot fall that far falls as far as it can.

    Args:
        rates: base's true rates.
        kind: a name in `KINDS`.
        base_n: trials a case on base. head_n: the same on head.
        random: chooses which cases fall, for `few`.
    """
    if kind == "few":
        return _few_fall(rates, base_n, head_n, random)
    change: Callable[[Rates, Rates], Rates] = _lose_share if kind == "broad" else _shift
    low = np.zeros((len(rates), 1))
    high = np.full((len(rates), 1), 1.0 if kind == "broad" else _LARGEST_SHIFT)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        small = _errors_away(rates, change(rates, middle), base_n, head_n)[:, None] < DROP
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    return change(rates, high)


def _can_change(rates: Rates, kind: str) -> NDArray[np.bool_]:
    flaky = (rates > 0.0) & (rates < 1.0)
    return np.asarray((flaky if kind == "logit" else rates > 0.0).any(axis=1))


def _errors_away(rates: Rates, changed: Rates, base_n: int, head_n: int) -> NDArray[np.float64]:
    """The fall in standard errors of the difference of two suite means, from the true rates of both sides."""
    fall = (rates - changed).sum(axis=1)
    variance = (rates * (1.0 - rates) / base_n + changed * (1.0 - changed) / head_n).sum(axis=1)
    certain = np.where(fall > 0.0, np.inf, 0.0)
    return np.asarray(np.divide(fall, np.sqrt(variance), out=certain, where=variance > 0.0))


def _lose_share(rates: Rates, share: Rates) -> Rates:
    return rates * (1.0 - share)


def _shift(rates: Rates, shift: Rates) -> Rates:
    odds = np.exp(-shift)
    return rates * odds / (1.0 - rates + rates * odds)


def _few_fall(rates: Rates, base_n: int, head_n: int, random: np.random.Generator) -> Rates:
    changed = rates.copy()
    for suite, row in enumerate(rates):
        for case in random.permutation(np.flatnonzero(row > 0.0)):
            changed[suite, case] = row[case] / 5.0
            if _errors_away(row[None], changed[suite][None], base_n, head_n)[0] >= DROP:
                break
    return changed
