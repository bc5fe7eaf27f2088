"""Why nothing is evaluated: nothing that matters changed, or a secret is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from repeat_eval.action.inputs import Inputs, input_name
from repeat_eval.action.job import Job
from repeat_eval.errors import ExitCode
from repeat_eval.execution.judges import key_variables
from repeat_eval.github import secrets
from repeat_eval.github.changes import decide, parse_patterns
from repeat_eval.targets.environment import looks_secret

if TYPE_CHECKING:
    from repeat_eval.suite.spec import SuiteSpec

_LISTED_FILES = 3000
"""Changed files that GitHub lists for a pull request."""


def why_not(job: Job, spec: SuiteSpec | None) -> tuple[str | None, ExitCode]:
    """Why nothing is to be run, and the exit code of that: nothing that matters changed, or a secret is missing.

    Returns:
        None as the reason when it is to be run.
    """
    reason = nothing_changed(job)
    policy = job.inputs.on_missing_secret
    if reason is None and policy != "run" and not job.inputs.results:
        return missing_secret(job, spec), ExitCode.PASSED if policy == "skip" else ExitCode.INCOMPLETE
    return reason, ExitCode.PASSED


def nothing_changed(job: Job) -> str | None:
    """Why the change has not to be evaluated, by `only-when-changed`; None when it has.

    What is not known counts as changed. Without patterns nothing is asked.

    Raises:
        UserError: a pattern cannot be read.
    """
    patterns = parse_patterns(job.inputs.only_when_changed)
    if not patterns:
        return None
    changed, complete = _changed_files(job)
    decision = decide(patterns, changed, complete=complete)
    with job.log.group("repeat-eval: changes"):
        job.log.say(f"only-when-changed: {decision.reason}")
    return None if decision.evaluate else decision.reason


def missing_secret(job: Job, spec: SuiteSpec | None) -> str | None:
    """The sentence about variables that should hold secrets and are empty; None when there are none."""
    if _asks_nobody(job, spec):
        return None  # so a fork without secrets can be evaluated
    # act, which runs workflows elsewhere, hands an action's inputs over under their plain names as well: `key`.
    inputs = {input_name(field) for field in Inputs.model_fields}
    environ = {name: value for name, value in job.environ.items() if value.strip() or name not in inputs}
    missing = secrets.missing_secrets(_needed(job, spec), environ, looks_secret=looks_secret)
    return secrets.missing_sentence(missing, job.context.restricted) if missing else None


def _asks_nobody(job: Job, spec: SuiteSpec | None) -> bool:
    """Whether everything comes from recordings. What a suite file says of that holds for calls of models alone."""
    if job.inputs.cassette_mode is not None:
        return job.inputs.cassette_mode == "replay"
    if spec is None or spec.settings.cassette_mode != "replay":
        return False
    own = () if job.inputs.target is None else (job.inputs.target.partition(":")[0],)
    of_suite = () if own or spec.target is None else (spec.target.kind,)
    return {*own, *of_suite, *(case.target.kind for case in spec.cases if case.target is not None)} <= {"model"}


def _needed(job: Job, spec: SuiteSpec | None) -> Iterable[str]:
    """Variables that the suite's targets and its checks that ask models name for their keys."""
    if spec is None:
        return set()
    from repeat_eval.suite.selection import select
    from repeat_eval.suite.settings import resolve

    settings = resolve(("option", job.inputs.settings()), ("suite", spec.settings))
    cases = select(spec.cases, job.inputs.case, job.inputs.tag)
    # Of a suite that replays, calls of models are not made.
    asked = settings["cassette_mode"] != "replay"
    own = None if job.inputs.target is not None else spec.target
    needed: set[str] = set()
    for target in (own, *(case.target for case in cases)):
        if target is not None and target.kind == "http":
            needed |= secrets.variables_of_http(target.value)
        elif target is not None and target.kind == "model" and asked and isinstance(target.value, dict):
            needed |= {str(name) for name in [target.value.get("api_key_env")] if name}
    checks = [check for case in cases for check in case.checks]
    return needed | key_variables(checks, settings) if asked else needed


def _changed_files(job: Job) -> tuple[tuple[str, ...] | None, bool]:
    """The changed files and whether those are all; None when they are not known."""
    from repeat_eval.github.errors import GitHubError

    context = job.context
    if job.client is None:
        return None, False
    try:
        if context.number is not None:
            listed = tuple(job.client.changed_files(context.number))
            return listed, len(listed) < _LISTED_FILES
        before = context.queue_base or (None if context.forced else context.before)
        if before is None:
            return None, False
        compared = job.client.compare(before, context.sha)
    except GitHubError as error:
        job.log.warning(f"the changed files are not known: {error}")
        return None, False
    return tuple(compared.files), compared.files_complete
