"""What two looks cost, and what a fixed number of repeats that finds as much would have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from repeat_eval.analysis.second_look_model import LookCalls
from repeat_eval.records.trial import Trial
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.second_look import FirstLook, SecondLookSettings
from repeat_eval.statistics.second_look_planning import cost_bound, fixed_repeats


def calls_of(
    trials: Iterable[Trial],
    first_asked: Mapping[str, int],
    rows: Sequence[Row],
    first: FirstLook,
    settings: SecondLookSettings,
) -> LookCalls:
    """Trials, calls and money of both looks.

    Args:
        trials: of both sides, each once. Those that no look asked for are not counted.
        first_asked: trials a side that the first look asked for, by case, in the order of the rows.
        rows: the first look's counts. first: what it decided. settings: of the looks.
    """
    fresh_asked = {case: first.rerun.get(place, 0) for place, case in enumerate(first_asked)}
    looked_at = [
        trial
        for trial in trials
        if trial.case in first_asked and trial.repetition <= first_asked[trial.case] + fresh_asked[trial.case]
    ]
    number, in_first = len(looked_at), sum(trial.repetition <= first_asked[trial.case] for trial in looked_at)
    varied = sum(0 < base_c + head_c < base_n + head_n for base_c, base_n, head_c, head_n in rows)
    fixed = fixed_repeats(settings, testable=varied + 1)
    sides = 1 if settings.mode == "split" else 2
    # Cases with repeats of their own have a longer first look.
    longer = (2 if settings.mode == "side-by-side" else 1) * (sum(first_asked.values()) - len(rows) * settings.n1)
    fixed_trials = sides * len(rows) * fixed if fixed is not None else None
    asked = sides * sum(first.rerun.values())
    # What was not done was not saved.
    done = number - in_first >= asked
    saved = fixed_trials - number if done and fixed_trials is not None and fixed_trials > number else None
    costs = [trial.cost for trial in looked_at]
    known = [cost for cost in costs if cost is not None]
    cost = math.fsum(known) if known and len(known) == len(costs) else None
    return LookCalls(
        first=in_first,
        fresh=number - in_first,
        trials=number,
        calls=sum(0 if trial.cached else trial.attempts or 1 for trial in looked_at),
        asked=asked,
        most=cost_bound(len(rows), settings).most + longer,
        fixed_repeats=fixed,
        fixed_trials=fixed_trials,
        saved=saved,
        cost=cost,
        cost_saved=cost / number * saved if cost is not None and saved is not None else None,
    )
