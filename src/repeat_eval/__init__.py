"""repeat-eval: did this change make our LLM system less reliable, or was that luck?

The names below are the public Python API. They are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repeat_eval.version import __version__

if TYPE_CHECKING:
    from repeat_eval.analysis.report import CaseReport, Report
    from repeat_eval.api import Case, GateFailed, Suite, load_suite
    from repeat_eval.errors import Incomplete, Problem, RepeatEvalError, UserError
    from repeat_eval.pytest_plugin.usage import record
    from repeat_eval.records.trial import Trial
    from repeat_eval.suite.checks.base import Check, Observation, Score
    from repeat_eval.suite.checks.registry import register_check

_HOMES = {
    "Case": "repeat_eval.api",
    "CaseReport": "repeat_eval.analysis.report",
    "Check": "repeat_eval.suite.checks.base",
    "GateFailed": "repeat_eval.api",
    "Incomplete": "repeat_eval.errors",
    "Observation": "repeat_eval.suite.checks.base",
    "Problem": "repeat_eval.errors",
    "RepeatEvalError": "repeat_eval.errors",
    "Report": "repeat_eval.analysis.report",
    "Score": "repeat_eval.suite.checks.base",
    "Suite": "repeat_eval.api",
    "Trial": "repeat_eval.records.trial",
    "UserError": "repeat_eval.errors",
    "load_suite": "repeat_eval.api",
    "record": "repeat_eval.pytest_plugin.usage",
    "register_check": "repeat_eval.suite.checks.registry",
}

__all__ = [
    "Case",
    "CaseReport",
    "Check",
    "GateFailed",
    "Incomplete",
    "Observation",
    "Problem",
    "RepeatEvalError",
    "Report",
    "Score",
    "Suite",
    "Trial",
    "UserError",
    "__version__",
    "load_suite",
    "record",
    "register_check",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'repeat_eval' has no attribute {name!r}")
    return getattr(import_module(home), name)
