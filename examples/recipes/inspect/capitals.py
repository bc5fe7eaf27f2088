"""An Inspect task whose solver answers in place of a model."""

from __future__ import annotations

from answers import CAPITALS, answer
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def from_answers() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output.completion = answer(str(state.sample_id))
        return state

    return solve


@task
def capitals() -> Task:
    samples = [Sample(id=country, input=f"Capital of {country}?", target=city) for country, city in CAPITALS.items()]
    return Task(dataset=samples, solver=from_answers(), scorer=includes(), model="mockllm/model")
