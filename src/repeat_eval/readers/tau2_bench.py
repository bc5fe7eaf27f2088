"""tau2-bench: `results.json` with its simulations, or with an index of simulations in files of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import MAX_PROBLEMS, FileResults, FoundTrial, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import listed, number, read_document, text, whole
from repeat_eval.readers.kinds import error_kind
from repeat_eval.readers.tau_bench import MAX_REPETITION, passes
from repeat_eval.records.trial import ErrorKind, one_line

_SUBFOLDER = "simulations"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_KEYS = (b'"num_trials"', b'"simulations"', b'"simulation_index"')

# Ends that say nothing about the agent. All others (user_stop, agent_stop, max_steps, too_many_errors, agent_error, …)
# are the agent's own, and their reward counts.
_NO_VERDICT: dict[str, ErrorKind] = {
    "infrastructure_error": "provider",
    "unexpected_error": "harness",
    "user_error": "harness",
    "timeout": "timeout",
}


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Reward(msgspec.Struct, gc=False):
    reward: Any = None


class _Message(msgspec.Struct, gc=False):
    role: str = ""


class _Simulation(msgspec.Struct, gc=False):
    task_id: int | str
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


class _Info(msgspec.Struct, gc=False):
    num_trials: Any = None


class _Task(msgspec.Struct, gc=False):
    id: int | str | None = None


class _Document(msgspec.Struct, gc=False):
    info: _Info
    simulations: list[_Simulation] | None = None
    index: list[_Entry] | None = msgspec.field(default=None, name="simulation_index")
    tasks: list[_Task] | None = None
