"""JSON Schemas of the files that people write and read, made from the models that read them."""

from __future__ import annotations

from typing import Any

import msgspec

from repeat_eval.analysis.evaluator_model import EvaluatorReliability
from repeat_eval.analysis.report import Report
from repeat_eval.records.run import RunFooter, RunHeader
from repeat_eval.records.stored import Store
from repeat_eval.records.trial import Trial
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.suite.checks.registry import known_kinds
from repeat_eval.suite.model import CaseDefaults, CaseModel, SuiteModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _LooksLine(msgspec.Struct):
    second_look: TwoLooks


class _FooterLine(msgspec.Struct):
    footer: RunFooter


def schema_of(what: str) -> dict[str, Any]:
    """The JSON Schema of `suite`, `run` (one line of a run file), `report`, `store` or `judge-reliability`.

    Raises:
        KeyError: anything else.
    """
    makers = {"suite": _suite, "run": _run, "report": _report, "store": _store, "judge-reliability": _reliability}
    return makers[what]()


def _suite() -> dict[str, Any]:
    schema = SuiteModel.model_json_schema(ref_template="#/$defs/{model}")
    case = CaseModel.model_json_schema(ref_template="#/$defs/{model}")
    defaults = CaseDefaults.model_json_schema(ref_template="#/$defs/{model}")
    definitions = {**schema.pop("$defs", {}), **case.pop("$defs", {}), "Case": case, "CaseDefaults": defaults}
    defaults.pop("$defs", None)
    entry = {
        "type": "object",
        "description": "One check: its kind with its argument, and perhaps name, weight and pass_score.",
        "properties": {
            **{kind: {} for kind in known_kinds()},
            "name": {"type": "string"},
            "weight": {"type": "number", "exclusiveMinimum": 0},
            "pass_score": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "additionalProperties": False,
    }
    definitions["Check"] = entry
    for holder in (case, defaults):
        holder["properties"]["expect"] = {"type": "array", "items": {"$ref": "#/$defs/Check"}}
    case["properties"]["name"] = case["properties"]["id"]
    case["properties"]["repeat"] = case["properties"]["repeats"]
    case["properties"]["require_pass_rate"] = case["properties"]["threshold"]
    case.pop("required", None)
    case["anyOf"] = [{"required": ["id"]}, {"required": ["name"]}]
    properties = schema["properties"]
    properties["defaults"] = {"$ref": "#/$defs/CaseDefaults"}
    properties["cases"] = {"type": "array", "items": {"$ref": "#/$defs/Case"}}
    properties["repeat"] = properties["repeats"]
    properties["require_pass_rate"] = properties["threshold"]
    return {"$schema": DIALECT, "title": "repeat-eval suite", **schema, "$defs": definitions}


def _run() -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components(
        [RunHeader, Trial, _LooksLine, _FooterLine], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": DIALECT,
        "title": "one line of a repeat-eval run file: the header first, then trials, then the footer; between two "
        "looks what the second one is asked for",
        "anyOf": list(schemas),
        "$defs": components,
    }


def _report() -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components([Report], ref_template="#/$defs/{name}")
    return {"$schema": DIALECT, "title": "repeat-eval report", **schemas[0], "$defs": components}


def _store() -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components([Store], ref_template="#/$defs/{name}")
    return {"$schema": DIALECT, "title": "repeat-eval store: the runs of one suite", **schemas[0], "$defs": components}


def _reliability() -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components([EvaluatorReliability], ref_template="#/$defs/{name}")
    title = "what repeat-eval found about evaluators"
    return {"$schema": DIALECT, "title": title, **schemas[0], "$defs": components}
