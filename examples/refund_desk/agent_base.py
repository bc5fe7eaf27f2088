"""The refund desk at its earlier revision, before the prompt was shortened: the base to compare `agent.py` with.

Against it the new revision is really worse at asking for a photo, at naming the reason of a refusal and at partial
refunds, and better at answering in JSON. Where a plain yes or no is asked for, the two have the same habit: a
difference there is luck.
"""

from __future__ import annotations

from typing import Any

from agent import Habits, answer_with

HABITS = Habits(
    revision="prompt 1816",
    forgets_the_limit=0.06,
    refunds_the_whole_order=0.02,
    forgets_the_photo=0.04,
    omits_the_reason=0.1,
    chats_around_json=0.6,
    explains_yes_and_no=0.12,
    loses_patience=0.08,
    gives_in=0.04,
)


async def answer(input: Any, context: Any) -> dict[str, Any]:
    """The target of the base: `python: agent_base:answer`."""
    return await answer_with(HABITS, input, context.seed)
