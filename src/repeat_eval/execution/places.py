"""Where in the suite file a target, a function or the interpreter is written that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.suite.checks.python import Python
from repeat_eval.suite.spec import CaseSpec, SuiteSpec, TargetSpec
from repeat_eval.suite.yaml_source import KeyPath


def place_of(target: TargetSpec, message: str, below: KeyPath = ()) -> Problem:
    """A problem with a target, at the place where it is written; without a place for one that is in no file."""
    if target.source is None:
        return Problem(message)
    position = target.source.place((*target.path, *below))
    return Problem(message, target.source.file, position.line, position.column)


class Places:
    """Finds the places of what the suite's own file and the files that it includes name.

    Args:
        spec: the suite. cases: those that are run. named_in_suite: whether `interpreter:` of the suite holds.
    """

    def __init__(self, spec: SuiteSpec, cases: Sequence[CaseSpec], *, named_in_suite: bool = False) -> None:
        self._spec = spec
        self._cases = cases
        self._named_in_suite = named_in_suite

    def of_suite(self, message: str, path: KeyPath = ()) -> Problem:
        """A problem with a key of the suite, or with the suite as a whole."""
        source = self._spec.source
        if source is None:
            return Problem(message, str(self._spec.path) if self._spec.path else None)
        position = source.place(path)
        return Problem(message, source.file, position.line, position.column)

    def of_target(self, target: TargetSpec | None, problem: Problem) -> Problem:
        """A problem with a target that has no place yet."""
        if problem.file is not None or target is None:
            return problem
        return place_of(target, problem.message, (target.kind,))

    def of_function(self, problem: Problem) -> Problem:
        """A problem with a function, which its message names first, or else with the interpreter."""
        targets = [self._spec.target, *(case.target for case in self._cases)]
        for target in targets:
            if target is not None and target.kind == "python" and problem.message.startswith(f"{target.value}: "):
                return self.of_target(target, problem)
            if target is not None and target.kind == "model":
                for path, reference in _functions_of_tools(target.value):
                    if problem.message.startswith(f"{reference}: "):
                        return place_of(target, problem.message, ("model", *path))
        for case in self._cases:
            references = [one.check.argument for one in case.checks if isinstance(one.check, Python)]
            if any(problem.message.startswith(f"{reference}: ") for reference in references):
                return msgspec.structs.replace(problem, file=case.file, line=case.line)
        return self.of_suite(problem.message, ("interpreter",)) if self._named_in_suite else problem


def _functions_of_tools(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """The functions behind mocked tools of a `model:` target, with the paths below it at which they are written."""
    if not path:
        value, path = (value.get("tools") if isinstance(value, Mapping) else None), ("tools",)
    entries: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        # Arguments and returned values are the user's own, whatever their keys.
        entries = ((key, inner) for key, inner in value.items() if key in ("mock", "then", "python"))
    elif isinstance(value, list | tuple):
        entries = enumerate(value)
    for key, inner in entries:
        if key == "python" and isinstance(inner, str):
            yield (*path, key), inner
        else:
            yield from _functions_of_tools(inner, (*path, key))
