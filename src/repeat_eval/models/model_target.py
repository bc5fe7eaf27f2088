"""The `model:` target: a model with a prompt and mocked tools, asked in a loop until it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from repeat_eval.models.call import AskModel, CallSlot, ModelRequest
from repeat_eval.models.loop import PART, converse
from repeat_eval.models.mocked_tools import MockedTools
from repeat_eval.models.prompts import opening
from repeat_eval.models.script import SCRIPT
from repeat_eval.suite.checks.base import Answer
from repeat_eval.suite.model_target import ModelTarget as Written
from repeat_eval.suite.model_target import PromptFile, Rule, Step, Tool
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.placeholders import Template, parse_template
from repeat_eval.targets.worker_process import FunctionSpec

if TYPE_CHECKING:
    from repeat_eval.targets.worker_pool import WorkerPool

MAX_PROMPT_BYTES = 1_000_000


class Asking(Protocol):
    """Who answers calls of the model, with retries counted."""

    async def start(self) -> None:
        """Get ready."""

    async def __call__(self, request: Any, slot: CallSlot) -> Any:
        """Answer one call."""

    def take_retries(self, slot: CallSlot) -> int:
        """How many further tries the calls of a trial took, and forget them."""

    async def close(self) -> None:
        """Release everything."""


class Plain:
    """An AskModel that needs no start, no end and no retries: a script."""

    def __init__(self, ask: AskModel) -> None:
        """Hold `ask`."""
        self._ask = ask

    async def start(self) -> None:
        """Nothing to do."""

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> Any:
        """Answer one call. Raises TargetError."""
        return await self._ask(request, slot)

    def take_retries(self, slot: CallSlot) -> int:
        """None were made."""
        return 0

    async def close(self) -> None:
        """Nothing to do."""


class ModelTarget:
    """Asks a model in a loop. Errors of single calls are tried again below it, so it is never retried as a whole."""

    def __init__(self, written: Written, ask: Asking, *, folder: Path, pool: WorkerPool | None = None) -> None:
        """Describe the target.

        Args:
            written: the settings of the suite.
            ask: answers calls of the model.
            folder: the suite's folder, where the file of a system prompt is looked for.
            pool: calls the Python functions behind tools; None where there are none.

        Raises:
            ValueError: the prompt cannot be used; says why.
        """
        self._ask = ask
        self._written = written
        self._pool = pool
        self._system = _system(written.system, folder)
        self._prompt: Template | None = None if written.prompt is None else parse_template(written.prompt)
        self._functions = {
            reference: pool.add(FunctionSpec(reference, "target"))
            for reference in functions_of(written.tools)
            if pool is not None
        }
        self._settings = {key: value for key, value in written.settings.items() if value is not None}
        self._tools = tuple(tool.declared() for tool in written.tools)

    def check(self, call: Call) -> str | None:
        """What is wrong with a case's input, before anything is asked; None if nothing is."""
        try:
            opening(self._system, self._prompt, call)
        except ValueError as error:
            return str(error)
        return None

    async def start(self) -> None:
        """Get ready. Raises UserError."""
        await self._ask.start()
        if self._pool is not None:
            await self._pool.start()

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Hold the conversation of one trial.

        The trial's timeout holds for each call of the model and for each Python function by itself.

        Raises:
            TargetError: `provider`, `timeout` and `recording` from the model's calls, `harness` for a call of a tool
                that no mock is made for, `crash` for a Python function that broke.
        """
        slot = CallSlot(call.case, call.repetition, PART, 0)
        written = self._written
        try:
            first = ModelRequest(
                model=written.name or SCRIPT,
                url=written.url,
                messages=opening(self._system, self._prompt, call),
                settings=self._settings,
                tools=self._tools,
            )
            tools = MockedTools(written.tools, written.on_unmocked, self._call_function)
            answer = await converse(self._ask, first, call, tools, max_turns=written.max_turns)
        except ValueError as error:
            raise TargetError("harness", str(error), retryable=False) from None
        except TargetError as error:
            error.attempts = 1 + self._ask.take_retries(slot)
            raise
        return answer, 1 + self._ask.take_retries(slot)

    async def close(self) -> None:
        """Close connections and workers."""
        await self._ask.close()
        if self._pool is not None:
            await self._pool.close()

    async def _call_function(self, reference: str, call: Call, arguments: Mapping[str, Any]) -> Any:
        if self._pool is None:
            raise TargetError("harness", f"{reference} has no worker to run in", retryable=False)
        return (await self._pool.call(self._functions[reference], call, dict(arguments))).value


def functions_of(tools: Sequence[Tool]) -> tuple[str, ...]:
    """The Python functions behind tools, each once."""
    found: list[str] = []
    for tool in tools:
        for rule in tool.mock:
            steps: Sequence[Step | Rule] = rule.then or (rule,)
            found += [step.python for step in steps if step.python is not None]
    return tuple(dict.fromkeys(found))


def _system(system: str | PromptFile | None, folder: Path) -> str | None:
    if not isinstance(system, PromptFile):
        return system
    path = folder / system.file
    try:
        if path.stat().st_size > MAX_PROMPT_BYTES:
            raise ValueError(f"`system`: {system.file} has more than {MAX_PROMPT_BYTES:,} bytes")
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"`system`: {system.file} is not UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"`system`: {system.file} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise ValueError(f"`system`: {system.file} is empty")
    return text
