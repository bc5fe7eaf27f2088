"""How a pull request weakens its gate by looking twice in another way than base's own suite asks for."""

from __future__ import annotations

import pytest

from repeat_eval.analysis.gate_changes import gate_changes
from repeat_eval.records.run import CasePlan, RunHeader
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import SecondLookSettings


def header(asked: int, looks: SecondLookSettings | None = None) -> RunHeader:
    plans = (CasePlan(id="a", asked=asked), CasePlan(id="b", asked=asked))
    made = RunHeader(suite="desk", repeats=10, cases=plans)
    return made if looks is None else RunHeader(suite="desk", repeats=10, cases=plans, second_look=TwoLooks.of(looks))


USUAL = header(3, SecondLookSettings())


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        (USUAL, USUAL, ()),
        (header(3, SecondLookSettings(n2=10)), USUAL, ()),
        (
            USUAL,
            header(3, SecondLookSettings(n2=10, alarm=0.0)),
            ("the second look was made weaker: fresh from 20 to 10, alarm from 0.1 to 0",),
        ),
        (USUAL, header(20), ()),
        (USUAL, header(10), ("the second look was replaced by fixed repeats, fewer than 20: a, b",)),
        (header(10), USUAL, ()),
        (header(50), USUAL, ("fixed repeats were replaced by a second look of 20 trials: a, b",)),
        (header(10), header(5), ("repeats of 2 cases went down from 10 to 5: a, b",)),
    ],
)
def test_only_what_is_weaker_is_told(base: RunHeader, head: RunHeader, told: tuple[str, ...]) -> None:
    assert gate_changes(base, head) == told
