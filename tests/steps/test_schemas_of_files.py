"""What we write is valid by the schemas that we print."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from repeat_eval.records.stored import Store, StoredCase, StoredRun, encode
from repeat_eval.steps.schemas import schema_of


@pytest.fixture(scope="module")
def store_file() -> dict[str, Any]:
    case = StoredCase(id="a", asked=10, passed=9, failed=1, threshold="0.8", seconds=1.5, timed=10)
    settings = {"threshold": "0.8", "max_failing_cases": 0, "count_as_failed": ("crash",), "gate_stored": False}
    run = StoredRun(
        suite="shop",
        commit="c" * 40,
        started="2026-03-01T10:00:00Z",
        run=1,
        attempt=1,
        settings=settings,
        verdict="pass",
        cases=(case,),
    )
    read: dict[str, Any] = json.loads(encode(Store().with_run(run)))
    return read


def test_a_store_file_is_valid_by_its_schema(store_file: dict[str, Any]) -> None:
    jsonschema.validate(store_file, schema_of("store"))


@pytest.mark.parametrize(("key", "value"), [("commit", "main"), ("verdict", "fine"), ("run", 0), ("pass_rate", 2)])
def test_what_no_store_file_may_hold_is_not(store_file: dict[str, Any], key: str, value: object) -> None:
    broken = {**store_file, "runs": [{**store_file["runs"][0], key: value}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema_of("store"))


@pytest.mark.parametrize("what", ["suite", "run", "report", "store"])
def test_every_schema_is_one(what: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(what))
