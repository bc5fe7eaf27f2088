"""What is asked for: the arguments of a run or a report, whoever gives them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from repeat_eval.execution.progress import Progress, Silent
from repeat_eval.execution.stopping import GRACE_SECONDS
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.suite.settings import Settings
from repeat_eval.targets.run_as import RunAs

Duplicates = Literal["ask", "repeats", "retries", "error"]


def _ignore(text: str) -> None:
    """Default for `say`."""


class FreshTrials(msgspec.Struct, frozen=True):
    """Trials of a further look at a suite: new ones in every sense, so that no earlier one is counted twice.

    Attributes:
        used: repetitions that earlier looks may have used; the new ones are numbered from the next one on.
        asked: trials a side by case id; None for every case with its own repeats.
    """

    used: int
    asked: Mapping[str, int] | None = None

    def chosen(self, header: RunHeader) -> RunHeader:
        """The header with what is asked for here."""
        if self.asked is None:
            return header
        plans = [plan for plan in header.cases if plan.id in self.asked]
        cases = tuple(msgspec.structs.replace(plan, asked=self.asked[plan.id]) for plan in plans)
        return msgspec.structs.replace(header, cases=cases)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A run or a report that somebody asks for.

    Attributes:
        suite: suite file to run. command: command line to repeat. results: globs of result files to read.
        options, variables: settings given as options and as environment variables.
        target: a target that stands for the suite's own.
        base: files of base to compare with: a run file, a report, or other tools' results.
        base_dir, base_ref: base's checkout, or its revision, to be run beside head.
        base_target: the target of base, when both sides are in the same folder.
        base_run: a run to compare with that comes from the store; where base can be run too, it only screens.
        base_stored: a file with such a run.
        ready_base: makes base's own environment, before its targets start; called at most once, and not at all where a
            stored base screens and nothing is suspected. May raise UserError.
        base_missing: why there is no base, when one was looked for.
        settings_from: whose suite file decides thresholds, gates and repeats.
        cases, tags: which cases; empty means all.
        fresh_trials: which trials a further look at the suite takes; None for an ordinary run.
        looks_alone: whether a run without a base may take two looks where they are asked for; not where its trials are
            to be many of every case.
        shard: number of the shard to run, and how many there are; None for a whole run.
        durations: file of an earlier run by whose durations the trials are divided among shards.
        scheduler: address of the Dask cluster whose workers run the trials; None runs them here.
        out: folder for the run file and the reports; None writes nothing.
        resume: go on with an unfinished run. fresh: throw an unfinished run away.
        name: name of the suite in command and results mode.
        duplicates: what equal names within one results file mean.
        scorer: of several scorers in one results file the one that decides; None: the file's own choice.
        format: name of the format that all results files have; None: their content tells.
        junit_strict: leave out the properties that JUnit schemas do not allow.
        badge, ctrf: write badges, and CTRF, beside the reports. html: write report.html.
        templates: folder of the user's own templates for reports.
        environ: the environment that the user's code inherits, less what it must not see.
        run_as: the user that the user's code runs as; None for our own.
        own_environments: a side's commands find the programs of the `.venv` in its folder first.
        grace: seconds that trials in flight have to end after an interruption.
        progress: follows the run. say: takes what the user should hear while it goes on.
    """

    suite: Path | None = None
    command: str | None = None
    results: tuple[str, ...] = ()
    options: Settings = msgspec.field(default_factory=Settings.model_construct)
    variables: Settings = msgspec.field(default_factory=Settings.model_construct)
    target: str | None = None
    base: tuple[str, ...] = ()
    base_dir: Path | None = None
    base_ref: str | None = None
    base_target: str | None = None
    base_run: Run | None = None
    base_stored: Path | None = None
    ready_base: Callable[[], None] | None = None
    base_missing: str | None = None
    settings_from: Literal["head", "base"] = "head"
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    fresh_trials: FreshTrials | None = None
    looks_alone: bool = True
    shard: tuple[int, int] | None = None
    durations: Path | None = None
    scheduler: str | None = None
    out: Path | None = None
    resume: bool = False
    fresh: bool = False
    name: str | None = None
    duplicates: Duplicates = "ask"
    scorer: str | None = None
    format: str | None = None
    junit_strict: bool = False
    badge: bool = False
    ctrf: bool = False
    html: bool = True
    templates: Path | None = None
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))
    run_as: RunAs | None = None
    own_environments: bool = False
    grace: float = GRACE_SECONDS
    progress: Progress = msgspec.field(default_factory=Silent)
    say: Callable[[str], None] = _ignore
