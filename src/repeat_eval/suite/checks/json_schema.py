"""`json_schema`: the output as JSON is valid under a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from repeat_eval.suite.checks import _patterns
from repeat_eval.suite.checks._values import value_problem
from repeat_eval.suite.checks._wording import quoted, shown
from repeat_eval.suite.checks.base import HOLDS, Check, NoVerdict, Observation, Score, fails

_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples"})


class JsonSchema(Check):
    """Validation under Draft 2020-12, or the draft that the schema names. Nothing is ever fetched from the network."""

    kind = "json_schema"
    Argument = dict[str, Any]
    takes = "a JSON Schema, as a mapping"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """A schema that is none, of an unknown draft, or with a reference or a pattern that cannot be used."""
        import jsonschema

        if not argument:
            return "is an empty schema, which everything is valid under"
        if found := value_problem(argument, patterns=False):
            return found
        draft = _draft(argument)
        if draft is None:
            return f"names the unknown draft {shown(argument['$schema'])} as `$schema`"
        try:
            # Patterns are checked below, by the engine that will search with them.
            draft.check_schema(argument, format_checker=jsonschema.FormatChecker(formats=()))
        except jsonschema.SchemaError as error:
            return f"is not a JSON Schema: at {error.json_path}: {error.message[:200]}"
        return _reference_problem(argument) or _pattern_problem(argument)

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the output is valid. Raises NoVerdict when a reference is unknown or a pattern hangs."""
        import jsonschema
        import referencing.exceptions

        try:
            value = observation.value
        except ValueError as reason:
            return fails(f"output is not JSON ({str(reason)[:100]}): {shown(observation.text)}")
        try:
            error = jsonschema.exceptions.best_match(self._validator.iter_errors(value))
        except referencing.exceptions.Unresolvable as reference:
            raise NoVerdict(f"the schema refers to {quoted(reference.ref)}, which is not in it") from None
        except RecursionError:
            raise NoVerdict("the schema refers to itself without end, or the output is nested too deeply") from None
        if error is None:
            return HOLDS
        return fails(f"at {error.json_path[:100]}: {_sentence(error)}")

    @cached_property
    def _validator(self) -> Any:
        import jsonschema
        from referencing.jsonschema import EMPTY_REGISTRY

        # The library's own `pattern` has no deadline, and the output is not ours.
        extend: Any = jsonschema.validators.extend
        bounded = extend(_draft(self.argument), {"pattern": _pattern_keyword})
        # The default registry fetches unknown references from the network; this one never does.
        return bounded(self.argument, registry=EMPTY_REGISTRY)


def _draft(schema: Mapping[str, Any]) -> Any:
    """The validator class of the draft that the schema names, Draft 2020-12 if none; None for an unknown one."""
    import jsonschema

    if not isinstance(schema.get("$schema"), str):
        return jsonschema.Draft202012Validator
    unknown: Any = None
    return jsonschema.validators.validator_for(dict(schema), default=unknown)


def _pattern_keyword(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema

    if isinstance(instance, str) and not _patterns.found(pattern, instance):
        yield jsonschema.ValidationError(f"{shown(instance)} does not have the pattern {quoted(pattern)}")


def _sentence(error: Any) -> str:
    """The library's messages begin with the whole instance, however large; large ones are told in our words."""
    if len(error.message) <= 200:
        return str(error.message)
    return f"{shown(error.instance)} is not valid under {quoted(f'{error.validator}: {shown(error.validator_value)}')}"


def _subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and every mapping inside it that may be a schema."""
    if isinstance(schema, Mapping):
        yield schema
        for key, item in schema.items():
            if key not in _DATA_KEYWORDS:
                yield from _subschemas(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _subschemas(item)


def _reference_problem(schema: Mapping[str, Any]) -> str | None:
    """A reference that leads out of the schema, or to nothing in it."""
    import referencing.exceptions
    import referencing.jsonschema

    resource = referencing.Resource.from_contents(schema, default_specification=referencing.jsonschema.DRAFT202012)
    registry = referencing.jsonschema.EMPTY_REGISTRY.with_resource(resource.id() or "", resource)
    resolver = registry.resolver(resource.id() or "")
    embedded = any(isinstance(part.get("$id"), str) for part in _subschemas(schema) if part is not schema)
    for part in _subschemas(schema):
        reference = part.get("$ref")
        # Below an embedded `$id` the base differs: relative references are then left to the evaluation.
        if not isinstance(reference, str) or (embedded and "://" not in reference):
            continue
        try:
            resolver.lookup(reference)
        except referencing.exceptions.Unresolvable:
            return f"refers to {quoted(reference)}, which is not in the schema (nothing is fetched from the network)"
    return None


def _pattern_problem(schema: Mapping[str, Any]) -> str | None:
    for part in _subschemas(schema):
        pattern = part.get("pattern")
        if isinstance(pattern, str) and (problem := _patterns.problem(pattern)):
            return problem
        names = part.get("patternProperties")
        for name in names if isinstance(names, Mapping) else ():
            try:
                re.compile(name)
            except re.error as error:
                return f"the pattern {quoted(name)} is not a regular expression: {error}"
    return None
