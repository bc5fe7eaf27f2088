"""From inputs to outputs: the same steps as the command line, with GitHub around them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from repeat_eval.action.inputs import Inputs, read_inputs
from repeat_eval.action.job import Job, places
from repeat_eval.action.log import Log
from repeat_eval.action.outputs import outputs_of, outputs_without_report
from repeat_eval.errors import ExitCode, Incomplete, RepeatEvalError, UserError

if TYPE_CHECKING:
    from repeat_eval.action.looking import LooksUsedUp
    from repeat_eval.action.publish import Surfaces
    from repeat_eval.analysis.report import Report
    from repeat_eval.suite.spec import SuiteSpec

NOT_EVALUATED = "not evaluated"


def run_action(environ: Mapping[str, str], token: str | None, stream: TextIO, *, fetch_from: str | None = None) -> int:
    """Run one step of a workflow.

    Args:
        environ: the step's environment, in which the token is no more. token: None when there is none.
        stream: the step's log.
        fetch_from: address of the server that base is fetched from; None for GitHub's own.

    Returns:
        The exit code, see docs/exit-codes.md.
    """
    log = Log(stream)
    try:
        inputs = read_inputs(environ)
    except UserError as error:
        for problem in error.problems:
            log.error(problem.message, title=f"repeat-eval: input {problem.file}")
        return _ended(environ, log, ExitCode.USER_ERROR)
    try:
        job = _job(inputs, environ, token, log, fetch_from)
        return _run(job)
    except RepeatEvalError as error:
        _say_problems(log, error)
        return _ended(environ, log, error.exit_code)
    except KeyboardInterrupt:
        log.error("Cancelled: there is no verdict")
        return _ended(environ, log, ExitCode.INCOMPLETE)
    except Exception as error:
        # There is no verdict, and 1 would say that the gate failed.
        log.error(f"A fault in repeat-eval itself, please report it: {type(error).__name__}: {error}")
        return _ended(environ, log, ExitCode.INCOMPLETE)


def _job(inputs: Inputs, environ: Mapping[str, str], token: str | None, log: Log, fetch_from: str | None) -> Job:
    from repeat_eval.github.event import load_event, read_context

    context = read_context(environ, load_event(environ))
    workspace, folder = places(inputs, environ)
    return Job(
        inputs=inputs,
        context=context,
        environ=dict(environ),
        token=token,
        log=log,
        workspace=workspace,
        folder=folder,
        fetch_from=fetch_from,
    )


def _run(job: Job) -> int:
    from repeat_eval.action.publish import Surfaces

    if job.context.activity == "nothing":
        job.log.notice(f"Not evaluated: {job.context.reason}")
        _write(job.environ, job.log, outputs_without_report(NOT_EVALUATED, ExitCode.PASSED))
        return ExitCode.PASSED
    if job.inputs.mode not in ("run", "merge"):
        return _answer(job)
    if job.context.activity in ("publish", "command"):
        raise UserError(
            f"nothing can be evaluated on {job.context.event}; use pull_request, push, merge_group or schedule, "
            f"or `mode: {job.context.activity}`"
        )
    os.chdir(job.folder)
    spec = _suite(job)
    if job.inputs.shard is not None:
        return _shard(job, spec)
    surfaces = Surfaces(job)
    with surfaces.opened():
        skipped = _not_evaluated(job, spec, surfaces)
        code = _looked_at(job, spec, surfaces) if skipped is None else skipped
    if code == ExitCode.PASSED and surfaces.troubles and job.inputs.fail_on_publish_error:
        code = ExitCode.PUBLISHING_FAILED
    return code


def _answer(job: Job) -> int:
    """The modes that evaluate nothing themselves."""
    if job.inputs.mode == "publish":
        from repeat_eval.action.forks import publish_uploaded

        answered = publish_uploaded(job)
    else:
        from repeat_eval.action.command import answer_command

        answered = answer_command(job)
    code = {"exit-code": str(int(answered.code))}
    _write(job.environ, job.log, {**outputs_without_report("", answered.code), **answered.outputs, **code})
    return answered.code


def _suite(job: Job) -> SuiteSpec | None:
    """The suite, read before anything is fetched, installed or opened on GitHub."""
    if job.inputs.suite is None:
        return None
    from repeat_eval.suite.load import load_suite

    return load_suite(Path(job.inputs.suite))


def _not_evaluated(job: Job, spec: SuiteSpec | None, surfaces: Surfaces) -> ExitCode | None:
    """The exit code when nothing is to be run: nothing that matters changed, or a secret is missing; else None."""
    from repeat_eval.action.reasons import why_not

    reason, code = why_not(job, spec)
    if reason is None:
        return None
    green = code == ExitCode.PASSED
    (job.log.notice if green else job.log.error)(f"Not evaluated: {reason}")
    surfaces.not_evaluated(reason, green=green)
    surfaces.outputs(outputs_without_report(NOT_EVALUATED, code) | {"comment-url": surfaces.comment_url})
    return code


def _looked_at(job: Job, spec: SuiteSpec | None, surfaces: Surfaces) -> int:
    """The exit code of the evaluation, or of the looks before it where this commit may not be looked at again."""
    from repeat_eval.action.looking import LooksUsedUp

    try:
        return _evaluated(job, spec, surfaces)
    except LooksUsedUp as used_up:
        return _not_looked_again(job, surfaces, used_up)


def _evaluated(job: Job, spec: SuiteSpec | None, surfaces: Surfaces) -> int:
    from repeat_eval.action.evaluate import evaluate
    from repeat_eval.action.kept import Kept
    from repeat_eval.action.publish import first_line

    suite = _suite_name(job, spec)
    kept = Kept(job, suite)
    try:
        done = evaluate(job, spec, kept, suite)
    finally:
        _take_back_command_files(job.environ, job.log)
    _show(job, done.report)
    with job.log.group("repeat-eval: publishing"):
        surfaces.publish(done.report, done.reproduce)
        kept.add(done.report, done.recording)
        surfaces.trouble(kept.troubles)
    code = done.report.exit_code
    values = outputs_of(done.report, report_dir=job.shown_report_dir, exit_code=code, attempt=job.context.run_attempt)
    surfaces.outputs(values | {"comment-url": surfaces.comment_url})
    line = first_line(done.report, job.base_name)
    if code:
        job.log.error(line)
    else:
        job.log.say(line)
    return code


def _shard(job: Job, spec: SuiteSpec | None) -> int:
    """Run one shard: nothing is judged or published, and the run files wait in the report folder to be joined."""
    from repeat_eval.action.evaluate import evaluate
    from repeat_eval.action.kept import Kept
    from repeat_eval.action.reasons import why_not
    from repeat_eval.steps.shards import shard_done

    reason, code = why_not(job, spec)
    if reason is not None:
        (job.log.notice if code == ExitCode.PASSED else job.log.error)(f"Not evaluated: {reason}")
        _write(job.environ, job.log, outputs_without_report(NOT_EVALUATED, code))
        return code
    suite = _suite_name(job, spec)
    try:
        done = shard_done(evaluate(job, spec, Kept(job, suite), suite).recording)
    finally:
        _take_back_command_files(job.environ, job.log)
    (job.log.say if done.exit_code == ExitCode.PASSED else job.log.error)(done.text)
    values = outputs_without_report("shard", done.exit_code) | {"report-dir": job.shown_report_dir}
    _write(job.environ, job.log, values)
    return done.exit_code


def _not_looked_again(job: Job, surfaces: Surfaces, used_up: LooksUsedUp) -> ExitCode:
    """Nothing is run, and the comment stays: it tells what the looks before this one found."""
    code = used_up.exit_code
    (job.log.notice if code == ExitCode.PASSED else job.log.error)(f"Not evaluated: {used_up}")
    surfaces.not_evaluated(str(used_up), green=code == ExitCode.PASSED, comment=False)
    surfaces.outputs(outputs_without_report(NOT_EVALUATED, code))
    return code


def _suite_name(job: Job, spec: SuiteSpec | None) -> str:
    """The suite's name before there is a report."""
    if spec is not None:
        return spec.name
    if job.inputs.mode == "merge":
        from repeat_eval.steps.merge import suite_of_shards

        return suite_of_shards(job.inputs.results)
    return job.inputs.name or ("command" if job.inputs.command is not None else "results")


def _take_back_command_files(environ: Mapping[str, str], log: Log) -> None:
    """See that what the step hands on is ours alone, now that the user's code has ended."""
    from repeat_eval.action.command_files import empty_command_files
    from repeat_eval.action.init import end_everything_else

    end_everything_else()
    try:
        empty_command_files(environ)
    except OSError as error:
        log.warning(f"the code under test has spoilt the step's command files: {error}")


def _close_to_the_users_code(job: Job) -> None:
    """From here on nothing but ours may speak to the runner and the steps after this one.

    Raises:
        Incomplete: a command file cannot be cleared, so that what it says may be forged.
    """
    from repeat_eval.action.command_files import empty_command_files
    from repeat_eval.action.init import end_everything_else

    end_everything_else()
    try:
        empty_command_files(job.environ)
    except OSError as error:
        raise Incomplete(f"the runner's command files may be forged, so nothing was written: {error}") from None


def _show(job: Job, report: Report) -> None:
    """The report as in a terminal, folded; names and messages in it are the suite's and the model's."""
    from repeat_eval.reports.terminal import make_console, render

    with job.log.group("repeat-eval: report"), job.log.foreign() as stream:
        render(report, make_console(no_color=True, file=stream))


def _say_problems(log: Log, error: RepeatEvalError) -> None:
    if not isinstance(error, UserError):
        log.error(str(error))
        return
    for problem in error.problems:
        log.error(str(problem))


def _ended(environ: Mapping[str, str], log: Log, code: ExitCode) -> ExitCode:
    """Outputs of a step that has no report."""
    _write(environ, log, outputs_without_report("", code))
    return code


def _write(environ: Mapping[str, str], log: Log, values: Mapping[str, str]) -> None:
    from repeat_eval.github.commands import write_outputs

    path = environ.get("GITHUB_OUTPUT")
    if not path:
        return
    try:
        write_outputs(Path(path), values)
    except OSError as error:
        log.warning(f"the outputs were not written: {error.strerror}")
