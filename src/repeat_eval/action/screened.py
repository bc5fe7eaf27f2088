"""Whether the store's base stands for base's first look: then base is set up only where something is suspected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repeat_eval.action.job import Job
from repeat_eval.action.kept import Kept
from repeat_eval.action.which_base import WhichBase
from repeat_eval.steps.request import Request
from repeat_eval.suite.selection import select
from repeat_eval.suite.settings import resolve

if TYPE_CHECKING:
    from repeat_eval.records.run import Run
    from repeat_eval.suite.spec import SuiteSpec


def screening_base(
    job: Job, request: Request, spec: SuiteSpec | None, wanted: WhichBase | None, kept: Kept
) -> Run | None:
    """The stored run that screens; None where base runs beside head from the start, or does not run at all.

    It is looked for with `base: auto`, where the run takes two looks. A further look at a commit has no first look, so
    it runs both sides.

    Args:
        job: the step. request: what is to be run. spec: the suite whose settings decide.
        wanted: base's commit; None where base cannot be run. kept: the store.

    Raises:
        UserError: the looks that are asked for could never find anything.
    """
    inputs = job.inputs
    if wanted is None or spec is None or inputs.base != "auto" or inputs.store == "off" or inputs.mode != "run":
        return None
    if job.context.activity == "pull-request" and job.context.run_attempt > 1:
        return None
    from repeat_eval.steps.second_look import chosen

    settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
    if chosen(settings, select(spec.cases, request.cases, request.tags), shard=request.shard is not None) is None:
        return None
    return kept.base(wanted, screens=True)[0]
