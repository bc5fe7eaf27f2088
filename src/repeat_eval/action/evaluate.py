"""The work itself: base's files beside head's, each side's environment, the run, the report files."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.action.base import NoBase, fetched_base
from repeat_eval.action.home import with_home
from repeat_eval.action.job import Job, as_user
from repeat_eval.action.kept import Kept
from repeat_eval.action.looking import Looking, fresh_request, keeps_alpha_back, looked, looking, with_extra_looks
from repeat_eval.action.publish import first_line
from repeat_eval.action.screened import screening_base
from repeat_eval.action.setup import SetupFailed, set_up
from repeat_eval.action.which_base import WhichBase, which_base
from repeat_eval.analysis.history import with_history
from repeat_eval.analysis.report import Report
from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.progress import Lines
from repeat_eval.steps.bases import suite_of_base, with_settings_of
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_sides import BaseNotStarted
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.steps.sides import Checkout, base_checkout, root_of
from repeat_eval.steps.write_reports import reproduce, write_reports
from repeat_eval.targets.scratch import new_folder

if TYPE_CHECKING:
    from repeat_eval.suite.settings import Settings
    from repeat_eval.suite.spec import SuiteSpec

TIME_BUDGET_SECONDS = 1800.0
"""For suites that name none: a job's own limit is six hours of somebody's money."""
GRACE_SECONDS = 1.5
"""For trials in flight when the job is cancelled: its check and reports must be complete within five seconds."""
RUNNER_PYTHON = "REPEAT_EVAL_RUNNER_PYTHON"
_BESIDE = ("auto", "run")
_NOT_FILES = (*_BESIDE, "stored", "none")


class Evaluated(msgspec.Struct, frozen=True):
    """What came out: the report, the run behind it, and the command that gives the same figures again."""

    report: Report
    recording: Recording
    reproduce: str | None


def evaluate(job: Job, spec: SuiteSpec | None, kept: Kept, suite: str) -> Evaluated:
    """Run what the inputs name, beside base where that is asked, and write the report files; a shard's, its run files.

    Args:
        job: what is asked for. The current folder is the job's working directory.
        spec: the suite, when one is run.
        kept: what the store holds. suite: the suite's name.

    Raises:
        LooksUsedUp: this commit may not be looked at again.
        Incomplete: somebody asked for this attempt at another commit.
        UserError: suite, settings or targets are wrong; nothing was run.
        SetupFailed: head's environment could not be made.
        NoBase: `base: run`, and there is no base.
    """
    with contextlib.ExitStack() as stack:
        job = stack.enter_context(with_home(job))
        out = stack.enter_context(_report_folder(job))
        request = _request(job, spec, out)
        head = spec.folder if spec is not None else job.folder
        wanted = _wanted(job)
        checkout, note = _base(job, request, head, wanted, stack)
        screen = screening_base(job, request, _deciding(request, spec, checkout), wanted if checkout else None, kept)
        if job.inputs.results == ():
            note = _set_up(job, head, checkout if screen is None else None) or note
            checkout = None if note else checkout
        beside = None if checkout is None else checkout.root
        options = _with_runner_python(job, spec, request.options)
        request = msgspec.structs.replace(request, options=options, base_dir=beside, base_missing=note)
        if checkout is None:
            request = _with_stored_base(job, request, wanted, kept)
        elif screen is not None:
            ready = functools.partial(_set_up_late, job, checkout)
            request = msgspec.structs.replace(request, base_run=screen, ready_base=ready)
        deciding = _deciding(request, spec, checkout)
        request, look = _as_look(job, request, deciding, suite, based=checkout is not None)
        again = look is not None and look.plan is not None
        try:
            finished = _run(job, request, spec)
        except BaseNotStarted as error:
            if job.inputs.base != "auto":
                raise
            note = f"base cannot be run: {error.problems[0]}"
            with job.log.group("repeat-eval: no base"):
                job.log.say(note)
            request, checkout = msgspec.structs.replace(request, base_dir=None, base_run=None, base_missing=note), None
            request = request if again else _with_stored_base(job, request, wanted, kept)
            finished = _run(job, request, spec)
        if request.shard is not None:
            return Evaluated(finished.report, finished.recording, None)
        report = with_history(finished.report, kept.runs)
        attempt = job.context.run_attempt
        report = looked(report, look, attempt=attempt, text=first_line(report, job.base_name))
        origin = msgspec.structs.replace(
            report.provenance,
            attempt=attempt,
            run=job.context.run_id,
            head=job.context.head_sha,
            key=kept.key,
        )
        report = msgspec.structs.replace(report, warnings=(*report.warnings, *kept.warnings), provenance=origin)
        if checkout is not None:
            # The folder is gone by the time somebody reads it; the commit is not.
            request = msgspec.structs.replace(request, base_dir=None, base_ref=checkout.commit)
        write_reports(report, request, trials=finished.recording.trials)
        return Evaluated(report, finished.recording, reproduce(report, request))


def _as_look(
    job: Job, request: Request, spec: SuiteSpec | None, suite: str, *, based: bool
) -> tuple[Request, Looking | None]:
    """The request as this look at the commit makes it, and which look that is; see `looking`.

    Args:
        job: the step. request: what is to be run. spec: the suite whose settings decide. suite: its name.
        based: whether base can run beside head.
    """
    # A further look runs new trials of all cases at once, which no shard can know of.
    if job.inputs.mode != "run" or job.inputs.shard is not None:
        return request, None
    beside = keeps_alpha_back(job, beside=job.inputs.base in _BESIDE)
    asking = request
    if beside:
        asking = msgspec.structs.replace(request, options=with_extra_looks(request.options, spec))
    look = looking(job, asking, spec, suite, based=based or not beside)
    if look is None:
        return (asking if based else request), None
    if look.plan is None:
        return asking, look
    fresh = fresh_request(asking, spec, look.plan)
    if beside and not based and fresh.base_run is not None:
        # A stored base may screen, but fresh trials on both sides decide.
        fresh = msgspec.structs.replace(fresh, base_run=None, base_missing="base cannot be run beside head")
    return fresh, look


def _deciding(request: Request, spec: SuiteSpec | None, checkout: Checkout | None) -> SuiteSpec | None:
    """The suite whose settings hold: head's, or with `settings-from: base` head's cases under base's settings."""
    if spec is None or checkout is None or request.settings_from != "base":
        return spec
    return with_settings_of(spec, suite_of_base(spec, checkout, lambda text: None))


def _wanted(job: Job) -> WhichBase | None:
    """The commit of base, where the event decides about it."""
    beside = job.inputs.base in _BESIDE and not job.inputs.results
    return which_base(job) if beside or job.inputs.base == "stored" else None


def _with_stored_base(job: Job, request: Request, wanted: WhichBase | None, kept: Kept) -> Request:
    """The request with base from the store, where that is asked or base cannot run beside head."""
    if wanted is None or job.inputs.store == "off" or job.inputs.base not in ("auto", "stored"):
        return request
    with job.log.group("repeat-eval: stored base"):
        run, reason = kept.base(wanted)
    if run is not None:
        return msgspec.structs.replace(request, base_run=run, base_missing=None)
    if job.inputs.base == "auto":
        return request  # why base does not run beside head says more
    return msgspec.structs.replace(request, base_missing=reason if wanted.expected else None)


def _request(job: Job, spec: SuiteSpec | None, out: Path) -> Request:
    inputs = job.inputs
    options = inputs.settings()
    added: dict[str, object] = {}
    if options.time_budget is None and (spec is None or spec.settings.time_budget is None):
        added["time_budget"] = TIME_BUDGET_SECONDS
    if job.context.on_default_branch and options.second_look is None:
        # History, badge and stored bases are made of these runs: three trials a case would be too few for them.
        added |= {"second_look": "off"} if spec is not None and spec.settings.second_look is None else {}
    return Request(
        looks_alone=not (job.context.on_default_branch and options.second_look is None),
        grace=GRACE_SECONDS,
        suite=None if inputs.suite is None else Path(inputs.suite),
        command=inputs.command,
        results=inputs.results,
        options=options.model_copy(update=added),
        target=inputs.target,
        base=() if inputs.base in _NOT_FILES else (inputs.base,),
        settings_from=inputs.settings_from,
        cases=inputs.case,
        tags=inputs.tag,
        shard=_shard(inputs.shard),
        durations=None if inputs.durations is None else Path(inputs.durations),
        out=out,
        fresh=True,
        name=inputs.name,
        badge=inputs.badge,
        ctrf=inputs.ctrf,
        duplicates=inputs.duplicates,
        format=inputs.format,
        scorer=inputs.scorer,
        environ=job.user_environ,
        run_as=job.run_as,
        own_environments=inputs.setup != "none",
        progress=Lines(job.log.stream),
        say=job.log.say,
    )


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    from repeat_eval.execution.shards import parse_shard

    return parse_shard(text)


def _with_runner_python(job: Job, spec: SuiteSpec | None, options: Settings) -> Settings:
    """On the runner itself: the job's own Python, where neither suite nor inputs nor a `.venv` say otherwise."""
    python = job.environ.get(RUNNER_PYTHON)
    if not python or spec is None or options.interpreter or spec.settings.interpreter:
        return options
    return options if (spec.folder / ".venv").exists() else options.model_copy(update={"interpreter": python})


@contextlib.contextmanager
def _report_folder(job: Job) -> Iterator[Path]:
    """Where report files are written.

    In a container that is a folder of our own, copied to its place afterwards with the rights of the workspace's owner:
    the user's code may have put a link in the place of anything in the workspace, and we are root.
    """
    if job.run_as is None:
        if job.report_dir.is_symlink():
            raise UserError("`report-dir` is a link; name a folder of its own")
        yield job.report_dir
        return
    own = new_folder()
    try:
        own.chmod(0o711)  # results of commands are written inside, by another user
        yield own
    finally:
        job.run_as.give(own)
        with as_user(job.run_as):
            try:
                shutil.copytree(own, job.report_dir, dirs_exist_ok=True)
            except (OSError, shutil.Error):
                job.log.warning(f"the report files could not be put into {job.shown_report_dir}")
        shutil.rmtree(own, ignore_errors=True)


def _base(
    job: Job, request: Request, head: Path, found: WhichBase | None, stack: contextlib.ExitStack
) -> tuple[Checkout | None, str | None]:
    """Base's files and folder; or none, and why, when that is worth to be said.

    Raises:
        NoBase: there must be a base and there is none.
    """
    if found is None or job.inputs.base not in _BESIDE:
        return None, None
    must = job.inputs.base == "run"
    if found.commit is None:
        reason = found.reason or "the event names none"
        if must:
            raise NoBase(f"there is no base to run: {reason}")
        return None, reason if found.expected else None
    try:
        with job.log.group(f"repeat-eval: base {found.commit[:7]}"):
            folder = stack.enter_context(
                fetched_base(
                    f"{job.fetch_from or job.context.server_url}/{job.context.repository}",
                    found.commit,
                    token=job.token,
                    environ=job.environ,
                    run_as=job.run_as,
                )
            )
            beside = msgspec.structs.replace(request, base_dir=folder)
            checkout = stack.enter_context(base_checkout(beside, head))
            job.log.say(f"base is {found.commit}")
    except (NoBase, UserError) as error:
        if must:
            raise NoBase(f"base {found.commit[:7]} cannot be run: {error}") from None
        # Without the folder, which is a temporary one and tells nobody anything.
        reason = error.problems[0].message if isinstance(error, UserError) else str(error)
        return None, f"{found.commit[:7]}: {reason}"
    return Checkout(checkout.root, checkout.folder, found.commit), None


def _set_up(job: Job, head: Path, base: Checkout | None) -> str | None:
    """Make each side's environment; why there is no base when base's cannot be made."""
    as_root = job.inputs.setup_as_root
    if as_root and os.geteuid() != 0:
        text = "`setup-as-root` needs the action in its container: nobody is root here"
        raise UserError(Problem(text, "setup-as-root"))
    make = functools.partial(
        set_up, job.inputs.setup, environ=job.user_environ, run_as=job.run_as, as_root=as_root, say=job.log.say
    )
    with job.log.group("repeat-eval: setup"):
        make(head, root_of(head), side="head")
        if base is None:
            return None
        try:
            make(base.folder, base.root, side="base")
        except SetupFailed as error:
            if job.inputs.base == "run":
                raise
            job.log.say(str(error))
            return str(error)
    return None


def _set_up_late(job: Job, base: Checkout) -> None:
    """Make base's environment after all, for what head's first look suspects; BaseNotStarted when it cannot be."""
    job.log.say("base is set up, to run what is suspected")
    try:
        set_up(
            job.inputs.setup,
            base.folder,
            base.root,
            side="base",
            environ=job.user_environ,
            run_as=job.run_as,
            as_root=job.inputs.setup_as_root,
            say=job.log.say,
        )
    except SetupFailed as error:
        raise BaseNotStarted(str(error)) from None


def _run(job: Job, request: Request, spec: SuiteSpec | None) -> Finished:
    with job.log.group("repeat-eval: run"):
        if job.inputs.mode == "merge":
            from repeat_eval.steps.merge import merge_shards

            return merge_shards(request)
        if request.command is not None:
            from repeat_eval.steps.run_command import run_command

            return run_command(request)
        if request.results:
            from repeat_eval.steps.read_results import run_results

            return run_results(request)
        return run_suite(request, spec=spec)
