"""The first look of a run that looked twice: the trials from which the figures of a suite are made.

Cases are run again because their first look was low, so figures over both looks would be bent.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import msgspec
from msgspec import UNSET

from repeat_eval.analysis.case_figures import outcome_letters
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.trial import Trial


def first_look_of(run: Run) -> Run:
    """The run with the trials of its first look alone; the run as it is when it looked once."""
    if run.header.second_look is UNSET:
        return run
    return msgspec.structs.replace(run, trials=first_trials(run.header, run.trials))


def first_trials(header: RunHeader, trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The trials that are no fresh ones; all of them when the run looked once."""
    asked = _asked(header)
    return tuple([trial for trial in trials if trial.repetition <= asked.get(trial.case, trial.repetition)])


def fresh_trials(header: RunHeader, trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The trials of the second look; none when the run looked once."""
    asked = _asked(header)
    return tuple([trial for trial in trials if trial.repetition > asked.get(trial.case, trial.repetition)])


def same_looks(base: RunHeader, head: RunHeader) -> bool:
    """Whether two runs looked twice, in the same way: then they may be each other's sides.

    Runs that looked twice without a base are nobody's sides: what was run again was not chosen by comparing. Where a
    case's first look was longer on one side, fresh trials of the other would be counted into its first.
    """
    one, other = base.second_look, head.second_look
    if one is UNSET or other is UNSET or one.mode == "alone" or one.before != other.before:
        return False
    theirs = _asked(base)
    return all(theirs.get(case, trials) == trials for case, trials in _asked(head).items())


def too_many_errors(run: Run, rules: Rules) -> str | None:
    """Why the fresh trials are not evidence enough, in a sentence; None when they are."""
    letters = outcome_letters(fresh_trials(run.header, run.trials), rules.count_as_failed)
    errors, attempted = letters.count("E"), len(letters) - letters.count("S")
    if not attempted or Fraction(errors, attempted) <= exact(rules.max_error_rate):
        return None
    return f"{errors} of {attempted} fresh trials ended in an error, allowed is a share of {rules.max_error_rate}"


def _asked(header: RunHeader) -> dict[str, int]:
    """What the first look asks of each case; nothing is known, and nothing fresh, where a run looked once."""
    return {} if header.second_look is UNSET else {plan.id: plan.asked for plan in header.cases}
