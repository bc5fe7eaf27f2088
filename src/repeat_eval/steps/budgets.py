"""Money and time that a run may use, also when it goes on after an interruption."""

from __future__ import annotations

from collections.abc import Sequence

from repeat_eval.execution.stopping import Stop
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings


def stop_of(settings: ResolvedSettings, records: Sequence[Recording], request: Request) -> Stop:
    """What stops a run: `max_cost`, of which a resumed run has spent some already, and interruptions.

    What the interrupted run cost counts, and may leave nothing for a further trial. How long it took does not: nobody
    knows when somebody will go on. Both are said, where they matter.
    """
    stop = Stop(max_cost=settings["max_cost"], grace=request.grace)
    known = [record.spent_before for record in records if record.spent_before is not None]
    for cost in known:
        stop.spend(cost)
    # Only results tell which cases a command runs: before them nobody knows what is left.
    if not any(record.resumed and (record.left or not record.header.cases) for record in records):
        return stop
    if known and settings["max_cost"] is not None:
        end = "; no further trial starts, unless you raise it" if stop.reason == "max-cost" else ""
        request.say(f"${sum(known):.2f} of max-cost ${settings['max_cost']:.2f} were spent before{end}")
    if settings["time_budget"] is not None:
        request.say(f"the time budget of {settings['time_budget']:g} s starts anew")
    return stop
