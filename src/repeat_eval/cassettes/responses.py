"""Recording around a target whose code is not ours: one entry is what it answered in one trial.

Replaying such an entry means that the code under test does not run. It is good for checking old outputs again with
other checks, and for nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from repeat_eval.cassettes.entries import RecordedResponse
from repeat_eval.cassettes.scrub import Cleaner
from repeat_eval.cassettes.session import Session
from repeat_eval.records.fingerprints import fingerprint
from repeat_eval.records.trial import ToolCall
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, Target


def request_key(kind: str, target: Any, call_input: Any, variables: Mapping[str, Any], clean: Cleaner) -> str:
    """What a recorded response answers: the input, the variables, and the target as written, without secrets.

    Headers do not count, nor does the user and the query of a URL.
    """
    if isinstance(target, Mapping):
        target = {
            key: clean.url(value) if key == "url" and isinstance(value, str) else clean.value(value)
            for key, value in target.items()
            if key != "headers"
        }
    else:
        target = clean.value(target)
    asked = {"input": clean.value(call_input), "vars": clean.value(dict(variables)), "target": [kind, target]}
    return fingerprint(asked)


class RecordedResponses:
    """A target that answers from recordings, or asks the wrapped one and records, as the session's mode says."""

    def __init__(self, target: Target, session: Session, *, kind: str, written: Any) -> None:
        """Wrap `target`, of which `kind` and `written` are what the suite says."""
        self._target = target
        self._session = session
        self._kind = kind
        self._written = written
        self._served: set[tuple[str, int]] = set()

    async def start(self) -> None:
        """Start the wrapped target."""
        await self._target.start()

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Answer one call.

        Raises:
            TargetError: `recording` when a recording is wanted and not there; others as the wrapped target raises
                them, and those are never recorded.
        """
        session = self._session
        key = request_key(self._kind, self._written, call.input, call.variables, session.clean)
        trial = (call.case, call.repetition)
        if session.responses != "record":
            recorded = session.store.response(*trial)
            found = recorded is not None and recorded.request_key == key
            if found and trial not in self._served:
                assert recorded is not None  # noqa: S101 - found
                self._served.add(trial)
                session.replayed += 1
                return recorded.answer, 1
            if session.responses == "replay":
                why = "there is no recording"
                if recorded is not None:
                    why = "its one recording was used already" if found else "the input, the variables or the target"
                    why += "" if found else " changed since it was recorded"
                raise session.miss(call.case, call.repetition, "response", why)
        begin = time.perf_counter()
        answer, attempts = await self._target.answer(call)
        seconds = time.perf_counter() - begin if answer.duration is None else answer.duration
        session.store.add_response(
            call.case,
            RecordedResponse(
                repetition=call.repetition,
                request_key=key,
                answer=_clean_answer(answer, session.clean),
                seconds=round(seconds, 6),
            ),
        )
        session.recorded += 1
        self._served.add(trial)
        return answer, attempts

    async def close(self) -> None:
        """Close the wrapped target."""
        await self._target.close()


def _clean_answer(answer: Answer, clean: Cleaner) -> Answer:
    calls = answer.tool_calls
    return msgspec.structs.replace(
        answer,
        output=clean.value(answer.output),
        tool_calls=None
        if calls is None
        else tuple(ToolCall(clean.text(call.name), clean.value(call.arguments)) for call in calls),
        cached=True,
    )
