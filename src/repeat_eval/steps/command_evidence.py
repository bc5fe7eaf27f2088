"""What repeated runs of a command show: results of each run into trials, runs without results into errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from repeat_eval.execution.command_runs import CommandRun
from repeat_eval.execution.stopping import Stop
from repeat_eval.readers.base import ReadOptions
from repeat_eval.readers.collect import collect
from repeat_eval.records.command_trials import errors_of_lacking, errors_of_lost, lacking, missing_results
from repeat_eval.records.run import Run
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings

WITHOUT_EFFECT = ("retries", "retry_on", "rate", "repeat_order", "isolation", "interpreter")
"""Settings of single trials: what a command does within one run is its own affair."""


class CommandEvidence:
    """Turns the results of each run into trials of its repetition, and runs without results into errors."""

    def __init__(self, record: Recording, request: Request, stop: Stop) -> None:
        self.record = record
        self._stop = stop
        self.request = request
        self._kept = {trial.key for trial in record.kept}
        self._repeats = record.header.repeats
        self._shard = record.header.shard
        self._asked = self._shard.repetitions if self._shard else range(1, self._repeats + 1)
        self._without: dict[int, str] = {}
        self.left: set[int] = set()
        """Repetitions that are wanted and did not come to their end."""
        self.missing: list[str] = []
        self.warnings: list[str] = []

    def wanted(self) -> list[int]:
        """Repetitions that are not there in full yet."""
        not_whole = {run for _, run, _ in lacking(self.record.trials, self._repeats, self._kept, self._asked)}
        wanted = [r for r in self._asked if r in not_whole or not self.record.trials]
        self.left = set(wanted)
        return wanted

    def take(self, run: CommandRun) -> None:
        """Read the results of one run."""
        self.left.discard(run.repetition)
        if run.results is None:
            self._give_up(run.repetition, run.problem or "the command left no results")
            return
        options = ReadOptions(
            duplicates=self.request.duplicates,
            format=self.request.format,
            scorer=self.request.scorer,
        )
        self._scrub_file(run.results, options.max_bytes)
        collected = collect([run.results], repeats=1, options=options, one_file_a_repetition=True)
        # Every run has a file of its own, and mostly the same to say of it.
        self.warnings += [text.removeprefix(f"{run.results}: ") for text in collected.warnings]
        for file in collected.unreadable:
            self._give_up(run.repetition, f"its results cannot be used: {file.reason}")
        if collected.unreadable:
            return
        self.missing += [f"repetition {run.repetition}: {text}" for text in collected.missing]
        if not collected.trials and not collected.missing:
            self.missing.append(f"repetition {run.repetition}: the results hold no test")
        seen: Counter[str] = Counter()
        for trial in collected.trials:
            number = run.repetition + seen[trial.case] * self._repeats
            seen[trial.case] += 1
            if (trial.case, number) not in self._kept:
                source = f"repetition {run.repetition}"
                self.record.add(msgspec.structs.replace(trial, repetition=number, source=source))
                self._stop.spend(trial.cost)
        declared = collected.declared
        for case, count in seen.items():
            for lost in errors_of_lost(case, run.repetition, count, declared.get(case, 0), self._repeats):
                if lost.key not in self._kept:
                    self.record.add(lost)
        if several := [case for case, count in seen.items() if count > max(1, declared.get(case, 1))]:
            text = f"one run of the command holds {seen[several[0]]} trials of {several[0]!r}; each counts as a trial"
            self.warnings.append(text)
        self.request.progress.step(failed=any(trial.outcome == "failed" for trial in collected.trials))

    def _scrub_file(self, path: Path, largest: int) -> None:
        """Results files stay in the output folder, which people hand on: they keep no secret either."""
        if path.stat().st_size > largest:
            return
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        clean = self.record.scrub(text)
        if clean is not text:
            path.write_bytes(clean.encode("utf-8", "surrogateescape"))

    def _give_up(self, repetition: int, problem: str) -> None:
        self._without[repetition] = problem
        self.request.say(self.record.scrub(f"repetition {repetition}: {problem}"))
        self.request.progress.step(error=True)

    def finish(self, stop: Stop, settings: ResolvedSettings) -> Run:
        """Write the end of the run file, and give the run."""
        self._close()
        warnings = [*self.warnings, *settings_warnings(settings, stop)]
        return self.record.finish(
            stopped=stop.reason if self.left else None,
            missing=tuple(self.missing),
            warnings=tuple(dict.fromkeys(warnings)),
            without=self._without if self._shard else None,
        )

    def _close(self) -> None:
        """See `errors_of_lacking`. Only all shards together know all cases: one of them hands on what it knows."""
        if self._shard:
            return
        ended = [r for r in self._asked if r not in self.left]
        for trial in errors_of_lacking(self.record.trials, self._repeats, ended, self._without):
            self.record.add(trial)
        if not self.record.trials:
            self.missing += missing_results(self._without)


def settings_warnings(settings: ResolvedSettings, stop: Stop) -> list[str]:
    """Settings that somebody gave and that do nothing here: said, so that nobody relies on them."""
    given = [name for name in WITHOUT_EFFECT if settings.source(name) != "default"]
    warnings = [f"without effect on a repeated command: {', '.join(given)}"] if given else []
    if settings["max_cost"] is not None and not stop.costs_known:
        warnings.append("max-cost is set, but the results tell no cost: it could not be watched")
    return warnings
