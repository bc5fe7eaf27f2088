"""A model that is none: it says and calls what a script tells it, with seeded chance, without any provider."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest, RequestedTool
from repeat_eval.suite.model_target import Choice, Scene, Turn, calls_of
from repeat_eval.targets.base import TargetError

SCRIPT = "script"
"""Its name, where a model's name is wanted."""


class ScriptedModel:
    """Plays the first scene whose `when` is in the user's last words; its last turn is played again and again.

    What is drawn depends on the seed, the case, the repetition and the turn, and on nothing else.
    """

    def __init__(self, scenes: Sequence[Scene], seed: int) -> None:
        """Take the script and the seed of the run's side."""
        self._scenes = scenes
        self._seed = seed

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        """Answer one call. Raises TargetError (harness) when no scene is made for it."""
        last = next((one.get("content") for one in reversed(request.messages) if one["role"] == "user"), None)
        words = last if isinstance(last, str) else ""
        scene = next((scene for scene in self._scenes if scene.when is None or scene.when in words), None)
        if scene is None:
            raise TargetError("harness", "the script has no scene for this input; add one without `when`")
        turn: Turn | Choice = scene.turns[min(slot.index, len(scene.turns)) - 1]
        if isinstance(turn, Turn) and turn.one_of is not None:
            draw = random.Random(f"{self._seed}/{slot.case}/{slot.repetition}/{slot.index}")  # noqa: S311 - a play
            turn = draw.choices(turn.one_of, weights=[choice.weight for choice in turn.one_of])[0]
        calls: list[tuple[str, dict[str, Any]]] = [] if turn.call is None else calls_of(turn.call)
        return ModelReply(
            text=turn.say,
            tool_calls=tuple(
                RequestedTool(f"call_{slot.index}_{number}", name, arguments)
                for number, (name, arguments) in enumerate(calls, start=1)
            ),
            model=SCRIPT,
            finish_reason="tool_calls" if calls else "stop",
        )
