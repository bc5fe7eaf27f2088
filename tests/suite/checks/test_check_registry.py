"""The registry: which kinds there are, what they cost to load, and how users add their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from repeat_eval.errors import UserError
from repeat_eval.suite.checks import BUILT_IN, HOLDS, Check, Observation, Score, find_check, known_kinds, register_check
from repeat_eval.suite.checks.arguments import problems, validate_argument
from repeat_eval.suite.checks.registry import unregister_check


class Shouts(Check):
    kind = "shouts_in_test"
    Argument = int

    def evaluate(self, observation: Observation) -> Score:
        return HOLDS if observation.text.count("!") >= self.argument else Score(False, 0.0, "too quiet")


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    yield
    unregister_check(Shouts.kind)


def named(kind: Any) -> type[Check]:
    return type("Named", (Shouts,), {"kind": kind})


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_built_in_kind_is_found_under_its_name_and_says_what_it_takes(kind: str) -> None:
    cls = find_check(kind)
    assert cls is not None
    assert cls.kind == kind
    assert cls.takes
    assert kind in known_kinds()


def test_an_unknown_kind_is_none() -> None:
    assert find_check("arguments") is None
    assert find_check("base") is None
    assert find_check("os.path") is None


def test_a_users_check_is_found_once_registered() -> None:
    assert find_check(Shouts.kind) is None
    assert register_check(Shouts) is Shouts
    assert find_check(Shouts.kind) is Shouts
    assert known_kinds() == [*BUILT_IN, Shouts.kind]


def test_registering_the_same_class_again_is_no_clash() -> None:
    register_check(Shouts)
    register_check(Shouts)
    assert find_check(Shouts.kind) is Shouts


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("contains", "is a name of repeat-eval's own"),
        ("weight", "is a name of repeat-eval's own"),
        ("is polite", "must be a name of letters, digits and underscores"),
        ("", "must be a name"),
        (None, "must be a name"),
    ],
)
def test_a_kind_that_is_taken_or_no_name_is_a_users_error(kind: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        register_check(named(kind))


def test_two_classes_of_one_kind_are_a_users_error_that_names_both() -> None:
    register_check(Shouts)
    with pytest.raises(UserError, match=r"already registered by .*Shouts"):
        register_check(named(Shouts.kind))


def test_a_users_argument_may_be_a_model_of_its_own() -> None:
    class Loudness(BaseModel):
        marks: int

    class Loud(Shouts):
        Argument = Loudness

    assert validate_argument(Loud, {"marks": 2}) == Loudness(marks=2)
    assert problems(Loud, {}) == ["`shouts_in_test`: the option `marks` is missing"]
    assert problems(Loud, {"marks": "many"}) == ["`shouts_in_test`: `marks` has a wrong type, found the text `many`"]
    assert problems(Shouts, "2") == ["`shouts_in_test`: Input should be a valid integer; found the text `2`"]


def test_looking_up_a_kind_loads_nothing_that_it_does_not_need() -> None:
    program = (
        "import sys; from repeat_eval.suite.checks import find_check; find_check('calls_tool'); find_check('python');"
        "print(sorted({'pydantic', 'regex', 'jsonschema', 'httpx', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
