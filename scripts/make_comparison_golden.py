"""Write tests/golden/comparison_gates.json: decisions of Holm and of the gates at their borders, made with scipy.

Nothing of repeat_eval is used: the hypergeometric distribution and Benjamini-Hochberg are scipy's, the convolution is
numpy's, Holm's step-down rule is written out with its p-values rounded to 12 decimals.

    python scripts/make_comparison_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import scipy
from scipy.stats import false_discovery_control, hypergeom

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "comparison_gates.json"
DECIMALS = 12
Row = tuple[int, int, int, int]

# (what it shows, alpha, rows of base passes, base verdicts, head passes, head verdicts)
EXAMPLES: list[tuple[str, str, list[Row]]] = [
    (
        "3/3 to 0/3 alone is exactly alpha / 2 and is rejected; the suite's p is exactly alpha and is not",
        "0.05",
        [(3, 3, 0, 3)],
    ),
    ("3/3 to 0/3 a hair below that alpha", "0.0499999999", [(3, 3, 0, 3)]),
    ("3/3 to 0/3 at alpha 0.01 is not even testable", "0.01", [(3, 3, 0, 3)]),
    ("0/3 to 3/3 is its mirror image", "0.05", [(0, 3, 3, 3)]),
    ("a case that always passes is not testable and costs nothing", "0.05", [(3, 3, 0, 3), (3, 3, 3, 3)]),
    ("a case with one miss is not testable and costs nothing", "0.05", [(3, 3, 0, 3), (3, 3, 2, 3)]),
    ("a second testable case doubles the adjusted p", "0.05", [(3, 3, 0, 3), (1, 3, 2, 3)]),
    ("two cases break at three repeats: no case, but the suite", "0.05", [(3, 3, 0, 3), (3, 3, 0, 3)]),
    ("up and down at three repeats: neither", "0.05", [(3, 3, 0, 3), (0, 3, 3, 3)]),
    ("5/5 to 1/5 alone", "0.05", [(5, 5, 1, 5)]),
    ("5/5 to 2/5 alone", "0.05", [(5, 5, 2, 5)]),
    ("5/5 to 1/5 among two testable cases", "0.05", [(5, 5, 1, 5), (3, 5, 2, 5)]),
    ("5/5 to 1/5 among three testable cases", "0.05", [(5, 5, 1, 5), (3, 5, 2, 5), (2, 5, 3, 5)]),
    ("10/10 to 6/10 alone", "0.05", [(10, 10, 6, 10)]),
    ("10/10 to 7/10 alone", "0.05", [(10, 10, 7, 10)]),
    ("10/10 to 6/10 steps down after a case that broke", "0.05", [(10, 10, 0, 10), (10, 10, 6, 10)]),
    ("10/10 to 6/10 twice: the first stops the second", "0.05", [(10, 10, 6, 10), (10, 10, 6, 10)]),
    ("10/10 to 5/10 and 6/10 among four", "0.05", [(10, 10, 5, 10), (10, 10, 6, 10), (8, 10, 8, 10), (6, 10, 7, 10)]),
    ("down and up: mixed", "0.05", [(10, 10, 2, 10), (1, 10, 9, 10), (9, 10, 9, 10)]),
    ("one regression hidden in a suite that rose", "0.05", [(10, 10, 3, 10), *[(5, 10, 9, 10)] * 6]),
    ("five extra failures spread over five cases: p = 2^-5", "0.05", [(5, 5, 4, 5)] * 5),
    ("four extra failures spread over four cases: p = 2^-4", "0.05", [(5, 5, 4, 5)] * 4),
    ("p = 2^-4 is not below an alpha of 0.0625", "0.0625", [(5, 5, 4, 5)] * 4),
    ("p = 2^-4 is below an alpha of 0.063", "0.063", [(5, 5, 4, 5)] * 4),
    ("the suite rises", "0.05", [(4, 5, 5, 5)] * 5),
    ("nothing varies", "0.05", [(10, 10, 10, 10), (0, 10, 0, 10)]),
    ("two up, two down by the same", "0.05", [(8, 10, 6, 10), (6, 10, 8, 10), (8, 10, 6, 10), (6, 10, 8, 10)]),
    ("unequal repeats: base 20, head 3", "0.05", [(20, 20, 1, 3), (20, 20, 3, 3)]),
    ("unequal repeats: base 3, head 10: a lone failure is no evidence", "0.05", [(3, 3, 9, 10), (3, 3, 10, 10)]),
    ("one verdict a side", "0.05", [(1, 1, 0, 1)] * 6),
    ("a strict alpha of 0.01", "0.01", [(10, 10, 4, 10), (10, 10, 6, 10), (9, 10, 8, 10)]),
    ("twenty testable cases, one breaks", "0.05", [(10, 10, 1, 10), *[(8, 10, 8, 10)] * 19]),
    ("twenty testable cases, one falls to half", "0.05", [(10, 10, 5, 10), *[(8, 10, 8, 10)] * 19]),
]


def pmf_of(row: Row) -> tuple[int, Any]:
    """Null distribution of head's passes: its lowest value and the probabilities from there on."""
    base_c, base_n, head_c, head_n = row
    passes = base_c + head_c
    low, high = max(0, passes - base_n), min(passes, head_n)
    return low, hypergeom.pmf(numpy.arange(low, high + 1), base_n + head_n, passes, head_n)


def tails(pmf: Any, index: int) -> tuple[float, float]:
    """One-sided mid-p downwards and upwards."""
    equal = float(pmf[index])
    return float(pmf[:index].sum()) + equal / 2, float(pmf[index + 1 :].sum()) + equal / 2


def holm(p_values: list[float], smallest: list[float], level: float) -> dict[str, list[Any]]:
    """Holm's step-down rule over the testable: the i-th smallest of m is rejected while p (m - i + 1) <= level."""
    testable = [i for i, p in enumerate(smallest) if round(p, DECIMALS) <= level]
    order = sorted(testable, key=lambda i: p_values[i])
    adjusted, running, rejected, going = [1.0] * len(p_values), 0.0, [], True
    for rank, i in enumerate(order):
        product = min(1.0, p_values[i] * (len(order) - rank))
        running = max(running, product)
        adjusted[i] = running
        going = going and round(product, DECIMALS) <= level
        if going:
            rejected.append(i)
    return {"testable": testable, "adjusted": adjusted, "rejected": sorted(rejected)}


def expected(rows: list[Row], alpha: float) -> dict[str, Any]:
    """All that is decided on these rows."""
    parts = [pmf_of(row) for row in rows]
    total, low = numpy.ones(1), 0
    for start, pmf in parts:
        total, low = numpy.convolve(total, pmf), low + start
    at = sum(row[2] for row in rows) - low
    down, up = tails(total, at)
    suite_p = min(1.0, 2 * min(down, up)) if len(total) > 1 else 1.0
    weights = [row[1] * row[3] / (row[1] + row[3]) for row in rows]
    delta = sum(w * (r[2] / r[3] - r[0] / r[1]) for w, r in zip(weights, rows, strict=True)) / sum(weights)
    singles = [tails(pmf, row[2] - start) for (start, pmf), row in zip(parts, rows, strict=True)]
    case_p = [min(1.0, 2 * min(pair)) for pair in singles]
    least = [float(min(pmf[0], pmf[-1])) for _, pmf in parts]
    tested = [i for i, p in enumerate(least) if round(p, DECIMALS) <= alpha]
    q = [1.0] * len(rows)
    if tested:
        for i, value in zip(tested, false_discovery_control([case_p[i] for i in tested]), strict=True):
            q[i] = float(value)
    holm_down = holm([pair[0] for pair in singles], [float(pmf[0]) / 2 for _, pmf in parts], alpha / 2)
    holm_up = holm([pair[1] for pair in singles], [float(pmf[-1]) / 2 for _, pmf in parts], alpha / 2)
    significant = round(suite_p, DECIMALS) < alpha
    worse, better = significant and delta < 0, significant and delta > 0
    cases_worse, cases_better = bool(holm_down["rejected"]), bool(holm_up["rejected"])
    regressed, improved = worse or cases_worse, better or cases_better
    verdict = "mixed" if regressed and improved else "regressed" if regressed else "improved" if improved else None
    return {
        "p": suite_p,
        "delta": delta,
        "suite_regressed": worse,
        "suite_improved": better,
        "case_p": case_p,
        "q": q,
        "testable": tested,
        "down": holm_down,
        "up": holm_up,
        "verdict": verdict or "no detectable change",
        "blocks": {
            "regression": worse or cases_worse,
            "suite-regression": worse,
            "case-regression": cases_worse,
            "none": False,
        },
    }


def main() -> None:
    """Write the file."""
    entries = [
        {"shows": shows, "alpha": alpha, "rows": rows, "expected": expected(rows, float(alpha))}
        for shows, alpha, rows in EXAMPLES
    ]
    document = {
        "description": "Holm and gate decisions at their borders; rows are [base_c, base_n, head_c, head_n].",
        "made_by": "scripts/make_comparison_golden.py",
        "versions": {"numpy": numpy.__version__, "scipy": scipy.__version__},
        "tolerance": 1e-10,
        "entries": entries,
    }
    GOLDEN.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
