"""Runs in the peers' environment: counts of passes on standard input, regressgate's verdicts on standard output.

Its gate with its defaults; 2,000 permutations and a new seed a pair, as in its own benchmark. It draws each permutation
by shuffling single trials, which takes a tenth of a second a pair. Here the same distribution is drawn from a table,
and the first pairs are judged in its own way too, so that the calibration can compare.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from math import comb
from random import Random

from regressgate import gate_statistics  # type: ignore[import-not-found]
from regressgate.gate import GateConfig, compare_reports  # type: ignore[import-not-found]
from regressgate.run_report import CaseResult, RunReport, Trial  # type: ignore[import-not-found]

THEIR_OWN = 25


@lru_cache(maxsize=4096)
def table(population: int, successes: int, draws: int) -> tuple[int, list[float]]:
    """The lowest number of successes, and the cumulated probabilities from there on, without the last one."""
    low, high = max(0, draws - (population - successes)), min(successes, draws)
    total = comb(population, draws)
    ways = [comb(successes, x) * comb(population - successes, draws - x) for x in range(low, high + 1)]
    return low, [way / total for way in accumulate(ways)][:-1]


def draw(rng: Random, population: int, successes: int, draws: int) -> int:
    """Successes among `draws` items taken without replacement."""
    low, cumulated = table(population, successes, draws)
    return low + bisect_right(cumulated, rng.random())


def report(passes: list[int], repeats: int) -> RunReport:
    """A run in which each case passed so often."""
    cases = [
        CaseResult(id=f"case-{i}", trials=[Trial(passed=trial < count, latency_s=0.0) for trial in range(repeats)])
        for i, count in enumerate(passes)
    ]
    return RunReport(regressgate_version="0.1.0", created_at="", target="simulated", repeats=repeats, cases=cases)


def judge(pairs: list[tuple[list[int], list[int]]], repeats: int) -> list[bool]:
    """Whether its gate fails, pair by pair."""
    return [
        bool(
            compare_reports(
                report(base, repeats), report(head, repeats), GateConfig(permutations=2000, seed=number)
            ).failed
        )
        for number, (base, head) in enumerate(pairs)
    ]


def main() -> None:
    """Judge all pairs, and the first ones in its own way."""
    given = json.load(sys.stdin)
    pairs = list(zip(given["base"], given["head"], strict=True))
    own = judge(pairs[:THEIR_OWN], given["repeats"])
    gate_statistics._hypergeometric = draw
    json.dump({"blocked": judge(pairs, given["repeats"]), "own": own}, sys.stdout)


if __name__ == "__main__":
    main()
