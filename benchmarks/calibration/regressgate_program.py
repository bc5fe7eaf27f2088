"""Runs in the peers' environment: counts of passes on standard input, regressgate's verdicts on standard output.

Its gate as it stands, with its defaults; 2,000 permutations and a new seed a pair, as in its own benchmark.
"""

from __future__ import annotations

import json
import sys

from regressgate.gate import GateConfig, compare_reports  # type: ignore[import-not-found]
from regressgate.run_report import CaseResult, RunReport, Trial  # type: ignore[import-not-found]


def report(passes: list[int], repeats: int) -> RunReport:
    cases = [
        CaseResult(id=f"case-{i}", trials=[Trial(passed=trial < count, latency_s=0.0) for trial in range(repeats)])
        for i, count in enumerate(passes)
    ]
    return RunReport(regressgate_version="0.1.0", created_at="", target="simulated", repeats=repeats, cases=cases)


def main() -> None:
    pairs = json.load(sys.stdin)
    repeats = pairs["repeats"]
    blocked = []
    for number, (base, head) in enumerate(zip(pairs["base"], pairs["head"], strict=True)):
        config = GateConfig(permutations=2000, seed=number)
        blocked.append(compare_reports(report(base, repeats), report(head, repeats), config).failed)
    json.dump(blocked, sys.stdout)


if __name__ == "__main__":
    main()
