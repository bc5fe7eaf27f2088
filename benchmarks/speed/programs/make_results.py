"""Write a results file: junit or csv, to where, how many testcases or rows, and the number of the run."""

from __future__ import annotations

import sys
from pathlib import Path

_TRACE = (
    "def test_capital(question):\n&gt;       assert answer == expected\nE       AssertionError: assert 'I am not sure' "
    "== 'Paris'\nE         - Paris\nE         + I am not sure\n\nevals/test_capitals.py:12: AssertionError\n"
    "------------------------------ Captured stdout call ------------------------------\n"
    "question: What is the capital of France? Answer with the name of the city and nothing else, please.\n"
    "answer: I am not sure, it may be Paris or Lyon"
)


def junit(path: Path, count: int, run: int) -> None:
    """A tenth of the tests fails, in each run others."""
    failing = sum((number * 7 + run) % 10 == 0 for number in range(count))
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="pytest tests"><testsuite name="pytest" '
            f'errors="0" failures="{failing}" skipped="0" tests="{count}" time="100.0" '
            f'timestamp="2026-11-30T20:{run:02}:00.123456+00:00" hostname="host">'
        )
        for number in range(count):
            case = (
                f'<testcase classname="evals.test_module_{number // 100:04}.TestCapitals" '
                f'name="test_capital_of_a_country[{number:06}-paris]" time="{number % 977 / 1000 + run / 10:.3f}"'
            )
            if (number * 7 + run) % 10:
                file.write(case + " />")
            else:
                message = "AssertionError: assert &quot;I am not sure&quot; == &quot;Paris&quot;"
                file.write(f'{case}><failure message="{message}">{_TRACE}</failure></testcase>')
        file.write("</testsuite></testsuites>")


def csv(path: Path, count: int, run: int) -> None:
    """Ten repetitions of each case."""
    with path.open("w", encoding="utf-8") as file:
        file.write("case_id,run_index,passed,score,latency_ms,cost_usd,error\n")
        for number in range(count):
            passed = "true" if (number + run) % 7 else "false"
            file.write(
                f"case-{number // 10:06},{number % 10},{passed},{number % 100 / 100},{100 + number % 900},0.0004,\n"
            )


if __name__ == "__main__":
    kind, where, how_many, which = sys.argv[1:]
    {"junit": junit, "csv": csv}[kind](Path(where), int(how_many), int(which))
