"""The output folder of a run: its lock, its run file new or resumed, its log, and the trials as they come in."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import UnsetType

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.journal import Journal, OpenRun, looks_like_run_file, open_run
from repeat_eval.records.lock import writer_lock
from repeat_eval.records.resume import refusals, trials_to_keep
from repeat_eval.records.run import Run, RunFooter, RunHeader, StopReason
from repeat_eval.records.scrubbing import scrub_header, scrub_trial
from repeat_eval.records.trial import Trial
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.steps.files import find_files, make_output_folder
from repeat_eval.steps.request import Request
from repeat_eval.targets.environment import Scrubber
from repeat_eval.targets.scratch import remove_left_behind

RUN_FILE = "run.jsonl"
BASE_FILE = "base.jsonl"
LOG_FILE = "target.log"
MAX_LOG_BYTES = 20_000_000


def now() -> str:
    """The time as RFC 3339 writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def asked_of(header: RunHeader) -> int:
    """How many trials a suite's run, or its shard, is asked for."""
    if header.shard:
        return sum(map(len, header.shard.trials.values()))
    return sum(header.most_asked(plan) for plan in header.cases)


class Recording:
    """The trials of a run in the making, in memory and, if there is an output folder, in its run file."""

    def __init__(
        self, header: RunHeader, kept: tuple[Trial, ...], open_journal: Callable[[], Journal] | None, request: Request
    ) -> None:
        self.header = header
        self.kept = kept
        """Trials of the interrupted run that is being resumed, without its errors."""
        self.begun = False
        """Whether its file was opened: a base that a stored one screens may never run."""
        self.resumed = False
        self.spent_before: float | None = None
        """US dollars that the interrupted run has cost; None where that is not known, or there is none."""
        self.fresh_only = False
        """Whether only fresh trials are run: the first look is a stored base's."""
        self._trials = {trial.key: trial for trial in kept}
        self._old_errors: set[tuple[str, int]] = set()
        self._open_journal = open_journal
        self._journal: Journal | None = None
        self.scrub = Scrubber(request.environ).scrub
        """Takes the values of secrets out of a text."""
        # In command mode progress counts runs of the command, which the caller does; results are only read.
        self._progress = request.progress if header.source == "suite" else None
        self._begin = time.perf_counter()
        self.footer: RunFooter | None = None
        """How it ended, once it did."""

    def note_old_errors(self, errors: dict[tuple[str, int], Trial]) -> None:
        """Errors of the interrupted run hold until they are tried again."""
        self._old_errors = set(errors)
        for key, trial in errors.items():
            self._trials.setdefault(key, trial)

    def end_first_look(self, looks: TwoLooks) -> None:
        """Write what the second look is asked for, unless the file says so already. UserError when it cannot be.

        From now on the first look is closed: its errors stay as they are.
        """
        if self.header.second_look == looks:
            return
        self.begin()
        if self._journal is not None:
            self._journal.second_look(looks)
        self.header = self.header.with_second_look(looks)
        asked = {plan.id: plan.asked for plan in self.header.cases}
        closed = {key for key in self._old_errors if key[1] <= asked.get(key[0], 0)}
        self._old_errors -= closed
        self.kept = (*self.kept, *[self._trials[key] for key in sorted(closed)])

    def begin(self) -> None:
        """Open the run file, unless it is open: what cannot start must not replace the file of an earlier run.

        Raises:
            UserError: it cannot be written.
        """
        self.begun = True
        if self._open_journal is not None:
            self._journal = self._open_journal()
            self._open_journal = None

    def close(self) -> None:
        """Let go of the run file; without a footer it stays resumable."""
        if self._journal is not None:
            self._journal.close()

    def add(self, trial: Trial) -> None:
        """Take a trial that ended: scrub it, write it, count it. UserError when it cannot be written."""
        self.begin()
        trial = scrub_trial(trial, self.scrub)
        key = trial.key
        if self._journal is not None:
            self._journal.append(trial, supersedes=key in self._old_errors)
        self._old_errors.discard(key)
        self._trials[key] = trial
        if self._progress is not None:
            self._progress.step(failed=trial.outcome == "failed", error=trial.outcome == "error", cost=trial.spent)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far."""
        return tuple(self._trials.values())

    @property
    def left(self) -> bool:
        """Whether trials of the plan are still to be run, or errors of the interrupted run to be tried again.

        Of a first look that has not ended nobody knows yet what is to be run again.
        """
        looks = self.header.second_look
        return self.wants_trials or not (isinstance(looks, UnsetType) or looks.first_ended)

    @property
    def wants_trials(self) -> bool:
        """The same for what is asked by now, be it only the first look."""
        first = sum(plan.asked for plan in self.header.cases) if self.fresh_only else 0
        return len(self._trials) - len(self._old_errors) < asked_of(self.header) - first

    @property
    def wall(self) -> float:
        """Seconds since the recording began."""
        return time.perf_counter() - self._begin

    def finish(
        self,
        *,
        stopped: StopReason | None = None,
        missing: tuple[str, ...] = (),
        warnings: tuple[str, ...] = (),
        without: Mapping[int, str] | None = None,
    ) -> Run:
        """Write the footer, and give the run. UserError when it cannot be written."""
        missing = tuple(self.scrub(text) for text in missing)
        warnings = tuple(self.scrub(text) for text in warnings)
        footer = RunFooter(
            complete=stopped is None, trials=len(self._trials), stopped=stopped, ended=now(), missing=missing
        )
        if without:
            clean = {repetition: self.scrub(problem) for repetition, problem in sorted(without.items())}
            footer = msgspec.structs.replace(footer, without=clean)
        self.footer = footer
        self.begin()
        if self._journal is not None:
            self._journal.finish(footer)
        return Run(header=self.header, trials=self.trials, footer=footer, warnings=warnings)


@contextlib.contextmanager
def recording(header: RunHeader, request: Request) -> Iterator[Recording]:
    """Open the output folder for a run of one side; see `recordings`."""
    with recordings({RUN_FILE: header}, request) as made:
        yield made[0]


@contextlib.contextmanager
def recordings(
    headers: Mapping[str, RunHeader], request: Request, *, screened: bool = False
) -> Iterator[list[Recording]]:
    """Open the output folder for runs, one file each; a run file is opened by `begin`, or by the first trial.

    A base file that an earlier run left there is removed when this run starts and has none of its own: it would belong
    to something else.

    Args:
        headers: header of each run by the name of its file.
        request: says which folder, and whether unfinished runs there are resumed or thrown away.
        screened: base may never be run, so an earlier run's base file goes when head starts.

    Raises:
        UserError: the folder cannot be written, another process is writing there, an unfinished run is there and
            neither resume nor fresh was asked for, or the run there cannot be resumed as this one.
    """
    remove_left_behind()
    scrub = Scrubber(request.environ).scrub
    clean = {name: scrub_header(header, scrub) for name, header in headers.items()}
    if request.out is None:
        yield [Recording(header, (), None, request) for header in clean.values()]
        return
    make_output_folder(request.out)
    with writer_lock(request.out):
        late = screened and not request.resume
        stale = _stale_base(request, request.out) if BASE_FILE not in clean or late else None
        made = [_opened(request.out / name, header, request, stale) for name, header in clean.items()]
        try:
            yield made
        finally:
            for one in made:
                one.close()


def _stale_base(request: Request, out: Path) -> Path | None:
    """The base file that an earlier run left beside its own; None if there is none, or if it is this run's base."""
    path = out / BASE_FILE
    if not (path.is_file() and (out / RUN_FILE).is_file() and looks_like_run_file(path)):
        return None
    return None if any(path.samefile(file) for file in find_files(request.base)) else path


def _opened(path: Path, header: RunHeader, request: Request, stale: Path | None) -> Recording:
    open_journal, opened = _journal(path, header, request, stale)
    if opened is None:
        return Recording(header, (), open_journal, request)
    looks = opened.run.header.second_look
    if not isinstance(looks, UnsetType) and looks.first_ended:
        header = header.with_second_look(looks)
    kept = trials_to_keep(opened.run)
    made = Recording(header, kept, open_journal, request)
    made.resumed, made.spent_before = True, opened.spent
    holding = {trial.key for trial in kept}
    errors = {trial.key: trial for trial in opened.run.trials if trial.key not in holding}
    made.note_old_errors(errors)
    return made


def _journal(
    path: Path, header: RunHeader, request: Request, stale: Path | None
) -> tuple[Callable[[], Journal], OpenRun | None]:
    def create() -> Journal:
        with _as_user_error(path):
            if stale is not None:
                stale.unlink(missing_ok=True)
            return Journal.create(path, header)

    def resume() -> Journal:
        with _as_user_error(path):
            return Journal.resume(path, opened)

    with _as_user_error(path):
        exists = path.exists() and path.stat().st_size > 0
        if exists and not looks_like_run_file(path):
            raise UserError(Problem("is there and is no run file; it is not overwritten", str(path)))
        if not exists or request.fresh:
            return create, None
        if request.resume:
            if stale is not None:
                text = "belongs to the run that is resumed: name the same base again, or start anew with --fresh"
                raise UserError(Problem(text, str(stale)))
            opened = open_run(path)
            reasons = refusals(opened.run.header, header)
            if reasons:
                shown = reasons[:10] + ([f"and {len(reasons) - 10} more differences"] if len(reasons) > 10 else [])
                raise UserError([Problem(f"cannot be resumed: {reason}", str(path)) for reason in shown])
            for warning in opened.run.warnings:
                request.say(warning)
            return resume, opened
        try:
            finished = open_run(path).run.complete
        except UserError:
            finished = True
        if not finished:
            raise UserError(
                Problem("holds an unfinished run: go on with --resume, or throw it away with --fresh", str(path))
            )
        return create, None


@contextlib.contextmanager
def _as_user_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(Problem(f"cannot be written: {error.strerror}", str(path))) from None


@contextlib.contextmanager
def target_log(request: Request) -> Iterator[Callable[[str], None]]:
    """Where what the user's code prints goes: scrubbed and bounded, into the log beside the run file."""
    if request.out is None:
        yield lambda line: None
        return
    scrub = Scrubber(request.environ).scrub
    path = request.out / LOG_FILE
    written = 0
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(path.open("w", encoding="utf-8", errors="replace"))
        stack.callback(lambda: None if written else path.unlink(missing_ok=True))

        def write(line: str) -> None:
            nonlocal written
            if written > MAX_LOG_BYTES:
                return
            text = scrub(line.rstrip("\n")) + "\n"
            written += len(text)
            file.write(text if written <= MAX_LOG_BYTES else "… the log is cut here\n")

        yield write
