"""The command that gives a report's figures again."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Sequence

from repeat_eval.analysis.report import Report
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import wording
from repeat_eval.reports.escape import visible

MAX_CASES = 10
LIMIT = 900
"""Characters of a command; beyond it cases are left out, and then it runs them all."""
_GIVEN = ("option", "variable")


def reproduce_command(report: Report, source: Sequence[str], *, base: Sequence[str] = ()) -> str:
    """A `repeat-eval run …` for the cases that broke, or stand in the way; for all cases when none does.

    What was set by option or variable is written out, since it stands in no file; so is the seed.

    Args:
        report: whose figures are wanted again.
        source: what is run: a suite file, or `--command` with its command.
        base: how base was named, such as `--base-ref` with a commit.
    """
    words_of_command = ["repeat-eval", "run", *source, *base]
    for name, setting in report.settings.items():
        known = setting.source in _GIVEN and isinstance(setting.value, (str, int, float))
        if known and not isinstance(setting.value, bool) and name != "seed":
            words_of_command += [f"--{name.replace('_', '-')}", _typed(setting.value)]
    if report.provenance.seed is not None:
        words_of_command += ["--seed", str(report.provenance.seed)]
    chosen = _cases(report)
    # A name that cannot be typed as it is selects nothing, so then the whole suite is run.
    selectable = len(chosen) <= MAX_CASES and all(case and case == visible(case) for case in chosen)
    options = [option for case in chosen if selectable for option in ("--case", glob.escape(case))]
    text = shlex.join([*words_of_command, *options])
    return text if len(text) <= LIMIT else shlex.join(words_of_command)


def _typed(value: object) -> str:
    """A value as people type it: 1800, not 1800.0."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _cases(report: Report) -> list[str]:
    comparison = words.comparable(report)
    broke = [case.id for case in words.broke(comparison)] if comparison else []
    return list(dict.fromkeys([*broke, *(case.id for case in wording.failing_cases(report))]))
