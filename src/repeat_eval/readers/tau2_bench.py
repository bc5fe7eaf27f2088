"""tau2-bench: `results.json` with its simulations, or with an index of simulations in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import (
    MAX_PROBLEMS,
    FileResults,
    FoundTrial,
    Gap,
    ReadError,
    ReadOptions,
    check_file,
    identity,
)
from repeat_eval.readers.documents import listed, number, read_document, text, whole
from repeat_eval.readers.kinds import error_kind
from repeat_eval.readers.tau_bench import MAX_REPETITION, passes
from repeat_eval.records.natural_order import natural_key
from repeat_eval.records.trial import ErrorKind, Tokens, one_line

_SUBFOLDER = "simulations"
_KEYS = (b'"num_trials"', b'"simulations"', b'"simulation_index"')

# Ends without a verdict on what the agent did. The others (user_stop, agent_stop, max_steps, too_many_errors) are ends
# that the agent came to, and their reward counts.
_NO_VERDICT: dict[str, ErrorKind] = {
    "infrastructure_error": "provider",
    "context_window_exceeded": "crash",
    "agent_error": "crash",
    "timeout": "timeout",
    "user_error": "harness",
    "unexpected_error": "harness",
}
_LEFT_OUT = frozenset({"infrastructure_error", "context_window_exceeded"})
"""Those of them that tau2-bench leaves out of its own figures as well."""


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Reward(msgspec.Struct, gc=False):
    reward: Any = None
    reward_breakdown: dict[str, Any] | None = None


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    usage: _Usage | None = None


class _Simulation(msgspec.Struct, gc=False):
    task_id: int | str
    id: Any = None
    trial: int | None = None
    termination_reason: str | None = None
    reward_info: _Reward | None = None
    duration: Any = None
    agent_cost: Any = None
    start_time: Any = None
    info: dict[str, Any] | None = None
    messages: list[_Message] | None = None


class _Entry(msgspec.Struct, gc=False):
    id: str
    task_id: int | str
    trial: int | None = None


class _Agent(msgspec.Struct, gc=False):
    llm: Any = None


class _Environment(msgspec.Struct, gc=False):
    domain_name: Any = None


class _Info(msgspec.Struct, gc=False):
    num_trials: Any = None
    agent_info: _Agent = msgspec.field(default_factory=_Agent)
    environment_info: _Environment = msgspec.field(default_factory=_Environment)


class _Task(msgspec.Struct, gc=False):
    id: int | str | None = None


class _Document(msgspec.Struct, gc=False):
    info: _Info
    simulations: list[_Simulation] | None = None
    index: list[_Entry] | None = msgspec.field(default=None, name="simulation_index")
    tasks: list[_Task] | None = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first bytes of a file look like tau2-bench's results, or like one simulation out of its folder."""
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return False
    if b'"num_trials"' in head and any(key in head for key in _KEYS):
        return True
    return _is_part(path) and b'"task_id"' in head


def _is_part(path: Path) -> bool:
    return path.parent.name == _SUBFOLDER and (path.parent.parent / "results.json").is_file()


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read tau2-bench's results.

    Args:
        path: `results.json`; where it holds an index only, the simulations are read from the folder beside it.
        options: limits; `max_bytes` holds for all files together.

    Returns:
        Its trials; the identity of a case is the task's id, `trial` counts from 0, and `num_trials` were asked for.

    Raises:
        ReadError: the file is no JSON or no such results, a trial is there twice, or it is beyond the limits.
    """
    if _is_part(path):
        text_ = "is one simulation of a tau2-bench run; give the results.json beside its folder instead"
        raise ReadError(Problem(text_, file=str(path)))
    document = read_document(path, _Document)
    warnings: list[str] = []
    simulations = list(document.simulations or ())
    lost: list[_Entry] = []
    folder = path.parent / _SUBFOLDER
    if not simulations and (document.index is not None or folder.is_dir()):
        simulations, lost = _from_folder(path, folder, document.index or [], options, warnings)
    if len(simulations) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} simulations", file=str(path)))
    trials = [_trial(simulation) for simulation in simulations] + [_lost(entry) for entry in lost]
    _refuse_twice(trials, path)
    asked = whole(document.info.num_trials)
    cases = dict.fromkeys(trial.case for trial in trials)
    tasks = {identity(str(task.id)): None for task in document.tasks or () if task.id is not None}
    absent = [task for task in tasks if task not in cases]
    gaps = [Gap(message=f"task {case} has no simulation", scope=case) for case in absent]
    if absent:
        warnings.append(f"{len(absent)} tasks have no simulation: {listed(absent)}")
    warnings += _conventions(simulations)
    return FileResults(
        path=path,
        format="tau2-bench",
        trials=tuple(trials),
        gaps=tuple(gaps),
        warnings=tuple(warnings),
        asked=dict.fromkeys(cases, min(asked, MAX_REPETITION)) if asked else {},
        variant=_variant(document.info),
    )


def _from_folder(
    path: Path, folder: Path, index: list[_Entry], options: ReadOptions, warnings: list[str]
) -> tuple[list[_Simulation], list[_Entry]]:
    """The simulations of a folder in the order of the index, those that it lacks last, and entries without a file."""
    there = {file.stem: file for file in sorted(folder.glob("*.json"), key=lambda file: natural_key(file.name))}
    if len(there) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} simulations", file=str(path)))
    size = path.stat().st_size
    simulations: list[_Simulation] = []
    lost: list[_Entry] = []
    # An index that names a file elsewhere finds none: only names of this folder are looked up.
    for entry in index:
        if entry.id not in there:
            lost.append(entry)
    ordered = dict.fromkeys([entry.id for entry in index if entry.id in there] + list(there))
    for name in ordered:
        file = there[name]
        check_file(file, options)
        size += file.stat().st_size
        if size > options.max_bytes:
            raise ReadError(Problem(f"has more than {options.max_bytes:,} bytes with its simulations", file=str(path)))
        simulations.append(read_document(file, _Simulation))
    found = {(simulation.task_id, simulation.trial) for simulation in simulations}
    extra = len(ordered) - (len(index) - len(lost))
    lost = [entry for entry in lost if (entry.task_id, entry.trial) not in found]
    if lost:
        warnings.append(f"{len(lost)} simulations of the index have no file; they are errors")
    if index and extra > 0:
        warnings.append(f"{extra} simulations are not in the index; they count")
    return simulations, lost


def _lost(entry: _Entry) -> FoundTrial:
    return FoundTrial(
        case=identity(str(entry.task_id)),
        outcome="error",
        error_kind="harness",
        repetition=None if entry.trial is None else entry.trial + 1,
        message="the file of this simulation is missing",
    )


def _trial(simulation: _Simulation) -> FoundTrial:
    reward = number(simulation.reward_info.reward) if simulation.reward_info is not None else None
    reason = simulation.termination_reason or ""
    info = simulation.info or {}
    turns, tokens = _conversation(simulation)
    found = FoundTrial(
        case=identity(str(simulation.task_id)),
        outcome="failed",
        repetition=None if simulation.trial is None else simulation.trial + 1,
        score=reward,
        duration=number(simulation.duration, least=0),
        cost=number(simulation.agent_cost, least=0),
        tokens=tokens,
        turns=turns,
        started=one_line(text(simulation.start_time) or "", 100) or None,
        origin=simulation.id[:100] if isinstance(simulation.id, str) else None,
    )
    kind = _NO_VERDICT.get(reason)
    if kind is not None:
        written = one_line(text(info.get("error")) or "")
        if kind == "provider":
            # What kind of error it was may be known better from the exception's class.
            named = error_kind(text(info.get("error_type")) or "", written)
            kind = named if named != "crash" else kind
        message = f"{reason}: {written}" if written else reason
        return msgspec.structs.replace(found, outcome="error", error_kind=kind, score=None, message=message)
    if reward is None:
        return msgspec.structs.replace(found, outcome="error", error_kind="judge", message="there is no reward")
    if passes(reward):
        return msgspec.structs.replace(found, outcome="passed")
    return msgspec.structs.replace(found, message=_why(simulation, reward, reason))


def _why(simulation: _Simulation, reward: float, reason: str) -> str:
    parts = simulation.reward_info.reward_breakdown if simulation.reward_info is not None else None
    short = [f"{one_line(name, 40)} {value:g}" for name, part in (parts or {}).items()
             if (value := number(part)) is not None and not passes(value)]  # fmt: skip
    because = f" ({', '.join(short[:5])})" if short else ""
    ended = "" if reason in ("", "user_stop", "agent_stop") else f", ended by {one_line(reason, 40)}"
    return f"reward {reward:g}{because}{ended}"


def _conversation(simulation: _Simulation) -> tuple[int | None, Tokens | None]:
    """The agent's turns and tokens; None where the simulation does not hold its messages."""
    own = [message for message in simulation.messages or () if message.role == "assistant"]
    if not simulation.messages:
        return None, None
    usages = [message.usage for message in own if message.usage is not None]
    if not usages:
        return len(own), None
    read = [whole(usage.prompt_tokens) for usage in usages]
    written = [whole(usage.completion_tokens) for usage in usages]
    return len(own), Tokens(
        input=sum(count or 0 for count in read) if any(count is not None for count in read) else None,
        output=sum(count or 0 for count in written) if any(count is not None for count in written) else None,
    )


def _refuse_twice(trials: list[FoundTrial], path: Path) -> None:
    seen: set[tuple[str, int]] = set()
    problems = []
    for trial in trials:
        if trial.repetition is None:
            continue
        if not 1 <= trial.repetition <= MAX_REPETITION:
            text_ = f"{trial.case}: trial is {trial.repetition - 1}; it is a number from 0 on"
            problems.append(Problem(text_, file=str(path)))
        if (trial.case, trial.repetition) in seen:
            text_ = f"{trial.case} has trial {trial.repetition - 1} twice"
            problems.append(Problem(text_, file=str(path)))
        seen.add((trial.case, trial.repetition))
    if problems:
        raise ReadError(problems[:MAX_PROBLEMS])


def _conventions(simulations: list[_Simulation]) -> list[str]:
    """Where tau2-bench's own figures treat these errors in another way."""
    found = dict.fromkeys(s.termination_reason for s in simulations if s.termination_reason in _NO_VERDICT)
    failed = [reason for reason in found if reason is not None and reason not in _LEFT_OUT]
    count = sum(s.termination_reason in failed for s in simulations)
    if not count:
        return []
    return [
        f"{count} simulations ended by {', '.join(failed)} and are errors here; tau2-bench itself counts them as "
        "failures (reward 0), so its pass^k is lower"
    ]


def _variant(info: _Info) -> str | None:
    """The domain, whose task ids other domains have too, and the agent's model."""
    parts = (info.environment_info.domain_name, info.agent_info.llm)
    return ", ".join(one_line(text(part) or "", 200) for part in parts if part) or None
