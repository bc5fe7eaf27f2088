"""A small model provider on loopback for tests: it speaks OpenAI's and Anthropic's wire formats.

A test says how it answers with one function, `Asked -> Reply`; the real client libraries talk to it. It is our own so
that tests decide each answer by what was asked before, count the calls, and break a connection in the middle of one.
"""

from __future__ import annotations

from .asked import Asked, Line, ToolCall
from .behaviours import Bucket, agent, always, in_turn, sometimes
from .replies import Reply, call, cut, malformed, refuse, say
from .web import ModelServer, running

__all__ = [
    "Asked",
    "Bucket",
    "Line",
    "ModelServer",
    "Reply",
    "ToolCall",
    "agent",
    "always",
    "call",
    "cut",
    "in_turn",
    "malformed",
    "refuse",
    "running",
    "say",
    "sometimes",
]
