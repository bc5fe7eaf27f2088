"""A pydantic-evals dataset over a function: `python run_evals.py REPORT.json`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from answers import CAPITALS, answer
from pydantic import TypeAdapter
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected
from pydantic_evals.reporting import EvaluationReport


async def ask(country: str) -> str:
    return answer(country)


dataset = Dataset[str, str, Any](
    name="capitals",
    cases=[Case(name=country, inputs=country, expected_output=city) for country, city in CAPITALS.items()],
    evaluators=[EqualsExpected()],
)
report = dataset.evaluate_sync(ask, repeat=5, progress=False)
Path(sys.argv[1]).write_bytes(TypeAdapter(EvaluationReport).dump_json(report))
