"""What a session did: the plans and trials of all its repeated tests, wherever they ran, and the report about them."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
import pytest

from repeat_eval.errors import RepeatEvalError, UserError
from repeat_eval.pytest_plugin.options import MARK, Options, asked_of
from repeat_eval.records.run import CasePlan
from repeat_eval.records.trial import Trial

if TYPE_CHECKING:
    from repeat_eval.analysis.report import Report


@dataclass(frozen=True, slots=True)
class Finished:
    """What there is to say at the end of a session.

    Attributes:
        report: the report; None where nothing was repeated.
        out: where it was written; None where it was not.
        trouble: why it could not be written.
        turned: the session fails although no test does: why.
    """

    report: Report | None
    out: Path | None = None
    trouble: str | None = None
    turned: str | None = None


class _Line(msgspec.Struct, frozen=True):
    """A line of a worker's file: a plan or a trial."""

    plan: CasePlan | None = None
    trial: Trial | None = None


class WorkerFile:
    """Takes a worker's plans and trials into a file of its own, each as it ends: a worker that dies loses none."""

    def __init__(self, folder: str) -> None:
        where = Path(folder)
        where.mkdir(mode=0o700, exist_ok=True)
        self._file: BinaryIO = (where / f"{secrets.token_hex(8)}.jsonl").open("wb", buffering=0)

    def plan(self, plan: CasePlan) -> None:
        """Write a plan."""
        self._file.write(msgspec.json.encode(_Line(plan=plan)) + b"\n")

    def add(self, trial: Trial) -> None:
        """Write a trial."""
        self._file.write(msgspec.json.encode(_Line(trial=trial)) + b"\n")


class Evidence:
    """Plans and trials of the session, each once."""

    def __init__(self) -> None:
        self._plans: dict[str, CasePlan] = {}
        self._trials: dict[tuple[str, int], Trial] = {}
        self.workers_folder = Path(tempfile.gettempdir()) / f"repeat-eval-pytest-{secrets.token_hex(12)}"
        self.finished: Finished | None = None

    def plan(self, plan: CasePlan) -> None:
        """Take what is asked of a test."""
        self._plans[plan.id] = plan

    def add(self, trial: Trial) -> None:
        """Take a trial; one that is there already is the same trial, told twice."""
        self._trials.setdefault(trial.key, trial)

    def take_carried(self, carried: dict[str, str]) -> None:
        """Take what came with the report of a worker."""
        self.plan(msgspec.json.decode(carried["plan"], type=CasePlan))
        for trial in msgspec.json.decode(carried["trials"], type=list[Trial]):
            self.add(trial)

    def take_folder(self, *, died: bool) -> None:
        """Take what the workers wrote, also those that died, and remove their files. A torn last line is left out.

        Args:
            died: the worker of a test that did not come to its end died, which makes the trial it was at an error.
        """
        if not self.workers_folder.is_dir():
            return
        decode = msgspec.json.Decoder(_Line).decode
        carried = set(self._plans)
        theirs: dict[str, CasePlan] = {}
        for path in sorted(self.workers_folder.iterdir()):
            for line in path.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                    found = decode(line)
                    if found.plan is not None and found.plan.id not in carried:
                        self.plan(found.plan)
                        theirs[found.plan.id] = found.plan
                    if found.trial is not None:
                        self.add(found.trial)
        shutil.rmtree(self.workers_folder, ignore_errors=True)
        if died:
            for plan in theirs.values():
                done = sum((plan.id, number) in self._trials for number in range(1, plan.asked + 1))
                if done < plan.asked:
                    self.add(_died(plan.id, done + 1))

    def _note_not_run(self, session: pytest.Session, options: Options) -> None:
        """Tests that were to be repeated and that the session did not come to: asked for, and not done."""
        from repeat_eval.pytest_plugin.repeating import case_of
        from repeat_eval.pytest_plugin.verdict import plan_of

        for item in getattr(session, "items", ()):
            if options.repeats is None and item.get_closest_marker(MARK) is None:
                continue
            with contextlib.suppress(ValueError):
                plan = plan_of(item, case_of(item), asked_of(item, options))
                self._plans.setdefault(plan.id, plan)

    def finish(self, session: pytest.Session, options: Options) -> None:
        """Judge what was done and write it; a session whose evidence as a whole is incomplete does not pass."""
        exit_status = int(session.exitstatus)
        stopped = session.shouldfail or session.shouldstop
        interrupted = exit_status == pytest.ExitCode.INTERRUPTED and not stopped
        self.take_folder(died=not interrupted and not stopped)
        if not self._plans:
            if options.out is not None:
                self.finished = Finished(None)
            return
        # Imported where used: a session that repeats nothing needs none of it.
        from repeat_eval.pytest_plugin.writing import judge_and_write

        if interrupted or stopped:
            self._note_not_run(session, options)
        # The controller of xdist knows no tests, and so not which ones were not run.
        unknown = isinstance(stopped, str) and session.config.pluginmanager.hasplugin("dsession")
        trials = tuple(self._trials.values())
        try:
            report = judge_and_write(
                tuple(self._plans.values()),
                trials,
                options,
                root=session.config.rootpath,
                interrupted=interrupted,
                missing=(f"pytest stopped early: {stopped}",) if unknown else (),
            )
        except RepeatEvalError as error:
            self.finished = Finished(None, trouble=str(error))
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
            return
        turned = None
        if report.exit_code and exit_status == pytest.ExitCode.OK:
            turned = "; ".join(reason.text for reason in report.reasons if reason.verdict != "pass")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.finished = Finished(report, options.out, turned=turned)


def _died(case: str, repetition: int) -> Trial:
    text = "the worker of xdist died during this trial"
    return Trial(case=case, repetition=repetition, outcome="error", error_kind="crash", message=text, source="pytest")


def check_folder(out: Path) -> None:
    """Make the output folder before anything runs.

    Raises:
        pytest.UsageError: it cannot be made or written.
    """
    from repeat_eval.steps.files import make_output_folder

    try:
        make_output_folder(out)
    except UserError as error:
        raise pytest.UsageError(f"--repeat-eval-out: {error}") from None
