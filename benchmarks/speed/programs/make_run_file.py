"""A run file of any size, as a run of a suite leaves it: some cases solid, some flaky, a few broken.

make_run_file.py FILE CASES REPEATS SEED DROP

DROP is how much lower every tenth case's pass rate is than without it: the head of a comparison has one.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from repeat_eval.records.fingerprints import fingerprint
from repeat_eval.records.journal import Journal
from repeat_eval.records.run import CasePlan, RunFooter, RunHeader
from repeat_eval.records.trial import CheckResult, Tokens, Trial, sha256_of

RATES = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 0.9, 0.7, 0.5)


def trial(case: int, repetition: int, rate: float, draw: random.Random) -> Trial:
    passed = draw.random() < rate
    output = f"The order {case} was {'refunded' if passed else 'escalated'}; reference {draw.randrange(10**8)}."
    message = None if passed else "the output does not contain 'refunded'"
    return Trial(
        case=f"refund-{case}",
        repetition=repetition,
        outcome="passed" if passed else "failed",
        score=float(passed),
        checks=(CheckResult("contains", passed, float(passed), message),),
        message=message,
        output=output,
        output_sha256=sha256_of(output),
        duration=round(draw.uniform(0.2, 1.8), 6),
        cost=0.0004,
        tokens=Tokens(input=220, output=draw.randrange(20, 90)),
        attempts=1,
        started="2025-01-01T00:00:00Z",
        turns=1,
    )


def main(path: Path, cases: int, repeats: int, seed: int, drop: float) -> None:
    draw = random.Random(seed)
    plans = tuple(CasePlan(id=f"refund-{n}", asked=repeats, case_fingerprint=fingerprint(n)) for n in range(cases))
    header = RunHeader(suite="speed", repeats=repeats, cases=plans, seed=seed, started="2025-01-01T00:00:00Z")
    with Journal.create(path, header) as journal:
        for repetition in range(1, repeats + 1):
            for case in range(cases):
                rate = RATES[case % len(RATES)] - (drop if case % 10 == 3 else 0.0)
                journal.append(trial(case, repetition, rate, draw))
        journal.finish(RunFooter(complete=True, trials=cases * repeats, ended="2025-01-01T01:00:00Z"))


main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
