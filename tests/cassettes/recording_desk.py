"""A stand-in for a model, and sessions around it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repeat_eval.cassettes.model_calls import RecordedCalls
from repeat_eval.cassettes.session import Mode, Session
from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest
from repeat_eval.records.trial import Tokens
from repeat_eval.targets.base import TargetError


class Model:
    """Answers every call with words that depend on the slot alone, and counts calls; `fails` names slots that err."""

    def __init__(self, fails: frozenset[CallSlot] = frozenset()) -> None:
        self.slots: list[CallSlot] = []
        self.fails = fails

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        self.slots.append(slot)
        await asyncio.sleep(0)
        if slot in self.fails:
            raise TargetError("provider", "the provider is down")
        text = f"answer to {slot.case}\nrepetition {slot.repetition}, {slot.part} {slot.index}"
        return ModelReply(text=text, tokens=Tokens(10, 4), cost=0.001, finish_reason="stop")


class Desk:
    """Records to, and replays from, one folder; a session each time, as each run has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def session(self, mode: Mode, environ: Mapping[str, str] | None = None) -> Session:
        made = Session(self.folder, environ or {}, calls=mode)
        made.store.load(["greets", *(f"case {number}" for number in range(200))])
        return made

    def ask(
        self, mode: Mode, *asked: tuple[ModelRequest, CallSlot], model: Any = None, environ: Any = None
    ) -> tuple[list[ModelReply | TargetError], Session, Any]:
        session, model = self.session(mode, environ), model or Model()
        calls = RecordedCalls(model, session)

        async def all_of_them() -> list[ModelReply | TargetError]:
            found: list[ModelReply | TargetError] = []
            for request, slot in asked:
                try:
                    found.append(await calls(request, slot))
                except TargetError as error:
                    found.append(error)
            return found

        found = asyncio.run(all_of_them())
        session.close()
        return found, session, model


def request_of(text: str = "hello", **changes: Any) -> ModelRequest:
    """A request with a system prompt, a setting and a tool."""
    values: dict[str, Any] = {
        "model": "openai:gpt-5-mini",
        "messages": ({"role": "system", "content": "Be kind."}, {"role": "user", "content": text}),
        "settings": {"temperature": 0.7},
        "tools": ({"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}},),
    }
    return ModelRequest(**(values | changes))


def slot_of(repetition: int = 1, index: int = 1, part: str = "target", case: str = "greets") -> CallSlot:
    return CallSlot(case, repetition, part, index)
