"""GitHub's own description as a judge: is this request, is this answer one that GitHub's API knows?

`description.json.gz` is made by scripts/trim_github_description.py from npm @octokit/openapi 23.0.2 (MIT License,
Copyright (c) 2020 Octokit contributors).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator, oas30_format_checker
from referencing import Registry
from referencing.jsonschema import DRAFT4

FILE = Path(__file__).parent / "description.json.gz"
URN = "urn:github"
SLASHES = {"path", "ref", "basehead"}
"""Parameters that may hold slashes, which OpenAPI cannot say."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the description: its method, its path template and the parameters read off a path."""

    method: str
    template: str
    body: Mapping[str, Any]
    parameters: Mapping[str, str]


def _loaded() -> dict[str, Any]:
    document: dict[str, Any] = _mended(json.loads(gzip.decompress(FILE.read_bytes())))
    # The description leaves out that a pull request outlives its fork: GitHub then answers null.
    head = document["components"]["schemas"]["pull-request"]["properties"]["head"]
    head["properties"]["repo"] = {**document["components"]["schemas"]["repository"], "nullable": True}
    return document


def _mended(value: Any) -> Any:
    """The description where it contradicts itself: an enum that is nullable and does not list null."""
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: _mended(item) for key, item in value.items()}
    if result.get("nullable") is True and isinstance(result.get("enum"), list) and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]
    return result


@dataclass
class Description:
    """The trimmed description, loaded once."""

    document: dict[str, Any] = field(default_factory=_loaded)

    @cached_property
    def _registry(self) -> Any:
        return Registry().with_resource(URN, DRAFT4.create_resource(self.document))

    @cached_property
    def _routes(self) -> list[tuple[re.Pattern[str], str]]:
        def pattern(template: str) -> str:
            parts = re.split(r"\{(\w+)\}", template)
            for index in range(1, len(parts), 2):
                parts[index] = f"(?P<{parts[index]}>{'.+' if parts[index] in SLASHES else '[^/]+'})"
            return "".join(re.escape(part) if index % 2 == 0 else part for index, part in enumerate(parts))

        # The longest fixed text first: `commits/{ref}/check-runs` before `commits/{ref}`.
        templates = sorted(self.document["paths"], key=lambda template: -len(re.sub(r"\{\w+\}", "", template)))
        return [(re.compile(pattern(template)), template) for template in templates]

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation that a path (percent-encoded, without query) and a method name; None if there is none."""
        for pattern, template in self._routes:
            match = pattern.fullmatch(path)
            body = self.document["paths"][template].get(method.lower())
            if match and body is not None:
                return Operation(method, template, body, {k: unquote(v) for k, v in match.groupdict().items()})
        return None

    def request_faults(self, operation: Operation, query: Mapping[str, str], body: Any) -> Iterator[str]:
        """What is wrong with a request: unknown or ill-typed query parameters, a body that breaks its schema."""
        known = {}
        for parameter in operation.body.get("parameters", ()):
            resolved = self.resolve(parameter)
            known[resolved["name"], resolved["in"]] = resolved
        for name, value in query.items():
            parameter = known.get((name, "query"))
            if parameter is None:
                yield f"query parameter {name!r} is unknown"
                continue
            kind = self.resolve(parameter["schema"]).get("type")
            typed = int(value) if kind == "integer" and value.isdigit() else value
            yield from self._faults(parameter["schema"], typed, OAS30WriteValidator, f"query parameter {name}")
        for name, value in operation.parameters.items():
            schema = known[name, "path"]["schema"]
            typed = int(value) if self.resolve(schema).get("type") == "integer" and value.isdigit() else value
            yield from self._faults(schema, typed, OAS30WriteValidator, f"path parameter {name}")
        content = self.resolve(operation.body.get("requestBody", {})).get("content", {}).get("application/json")
        if content is None:
            if body is not None:
                yield "a body where none is known"
        elif body is None and operation.body["requestBody"].get("required"):
            yield "the body is missing"
        elif body is not None:
            yield from self._faults(content["schema"], body, OAS30WriteValidator, "body")
            for name in sorted(set(body) - self._known_names(content["schema"])) if isinstance(body, dict) else ():
                yield f"body: {name!r} is unknown"

    def answer_faults(self, operation: Operation, status: int, body: Any) -> Iterator[str]:
        """What is wrong with an answer. Failures that the description leaves out are held to its basic error."""
        answer = operation.body["responses"].get(str(status))
        if answer is None and status < 300:
            yield f"status {status} is unknown"
            return
        answer = self.resolve(answer or {})
        schema = answer.get("content", {}).get("application/json", {}).get("schema")
        if schema is None and status >= 300 and body is not None:
            schema = {"$ref": "#/components/schemas/basic-error"}
        if schema is not None:
            schema = self._chosen(self.resolve(schema), body) or schema
            yield from self._faults(schema, body, OAS30ReadValidator, f"answer {status}")
        elif body is not None:
            yield f"answer {status}: a body where none is known"

    def resolve(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A schema or part with its own `$ref` followed."""
        while "$ref" in schema:
            found: Any = self.document
            for name in schema["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            schema = found
        return dict(schema)

    def filled(self, schema: Mapping[str, Any], base: str, given: Any) -> Any:
        """`given` completed with the smallest values of all required properties that it leaves out.

        `base` stands for every address that nobody gave, so that answers name this server only.
        """
        schema = self.resolve(schema)
        if (given is None and schema.get("nullable")) or not isinstance(given, (dict, list, type(None))):
            return given
        chosen = self._chosen(schema, given)
        if chosen is not None:
            return self.filled(chosen, base, given)
        for choice in ("oneOf", "anyOf"):
            if choice in schema and "properties" not in schema:
                wanted = "array" if isinstance(given, list) else "object"
                fitting = [part for part in schema[choice] if self.resolve(part).get("type") == wanted]
                return self.filled((fitting or schema[choice])[0], base, given)
        if "allOf" in schema:
            schema = {**schema, **self.resolve(schema["allOf"][0])}
        if schema.get("type") == "array":
            return [self.filled(schema["items"], base, item) for item in given or ()]
        if "properties" in schema or schema.get("type") == "object":
            result = dict(given or {})
            properties = schema.get("properties", {})
            for name in [*schema.get("required", ()), *(set(result) & set(properties))]:
                result[name] = self._default(properties[name], base, result.get(name), name in result)
            return result
        return given

    def _chosen(self, schema: Mapping[str, Any], value: Any) -> dict[str, Any] | None:
        """The alternative that a discriminator names; None without one. Validators do not look at discriminators."""
        rule = schema.get("discriminator")
        if rule is None or not isinstance(value, dict) or value.get(rule["propertyName"]) not in rule["mapping"]:
            return None
        return self.resolve({"$ref": rule["mapping"][value[rule["propertyName"]]]})

    def _default(self, schema: Mapping[str, Any], base: str, given: Any, present: bool) -> Any:
        resolved = self.resolve(schema)
        compound = resolved.get("type") in {"object", "array"} or "properties" in resolved
        if given is not None or (compound and not present):
            return self.filled(resolved, base, given)
        if resolved.get("nullable") or present:
            return None
        if "enum" in resolved:
            return resolved["enum"][0]
        match resolved.get("type"):
            case "string":
                return {"uri": base + "/", "date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01"}.get(
                    resolved.get("format", ""), "x"
                )
            case "integer" | "number" | "boolean" as kind:
                return False if kind == "boolean" else resolved.get("minimum", 0)
        return self.filled(resolved, base, {})

    def _known_names(self, schema: Mapping[str, Any]) -> set[str]:
        schema = self.resolve(schema)
        names = set(schema.get("properties", ()))
        for part in [*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("allOf", ())]:
            names |= self._known_names(part)
        return names

    def _faults(self, schema: Mapping[str, Any], value: Any, kind: Any, what: str) -> Iterator[str]:
        # References are made absolute, so that they are looked up in the registry whatever schema they stand in.
        absolute = json.loads(json.dumps(schema).replace('"$ref": "#/', f'"$ref": "{URN}#/'))
        validator = kind(absolute, registry=self._registry, format_checker=oas30_format_checker)
        for error in validator.iter_errors(value):
            place = "".join(f"[{part!r}]" for part in error.absolute_path)
            rule = f"{error.validator} {str(error.validator_value)[:80]}"
            yield f"{what}{place}: {error.message[:200]} (breaks {rule})"
