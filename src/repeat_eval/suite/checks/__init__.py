"""Checks: assertions on what a target answered. `expect:` of a case holds them.

One file a kind. Users write their own by subclassing `Check` and decorating it with `register_check`.
"""

from __future__ import annotations

from repeat_eval.suite.checks.base import HOLDS, Answer, Check, NoVerdict, Observation, Score, fails
from repeat_eval.suite.checks.registry import BUILT_IN, find_check, known_kinds, register_check

__all__ = [
    "BUILT_IN",
    "HOLDS",
    "Answer",
    "Check",
    "NoVerdict",
    "Observation",
    "Score",
    "fails",
    "find_check",
    "known_kinds",
    "register_check",
]
