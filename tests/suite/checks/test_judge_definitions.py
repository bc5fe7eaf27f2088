"""`judge:` and `similar:` as they are written: what is refused, and who grades when several places say something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.suite.checks.arguments import problems
from repeat_eval.suite.checks.judge import Grader, Judge, Panel
from repeat_eval.suite.checks.similar import Similar
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.settings import Settings, resolve, setting_problems, settings_of

SUITE = {
    "model": "openai:small",
    "url": "http://127.0.0.1:1/v1",
    "api_key_env": "SUITE_KEY",
    "votes": 3,
    "settings": {"temperature": 0.5, "seed": 1},
}


def panel(argument: Any, *, suite: Any = None, options: Any = None, beside: float | None = None) -> Panel:
    said = Settings.model_validate({"judge": suite})
    layers = resolve(("option", settings_of({"judge": options} if options else {})), ("suite", said))
    return Judge(argument).panel(layers, beside)


def test_a_rubric_alone_takes_everything_from_the_suite() -> None:
    assert panel("Is kind.", suite=SUITE) == Panel(
        "Is kind.",
        (Grader("openai:small", "http://127.0.0.1:1/v1", "SUITE_KEY", {"temperature": 0.5, "seed": 1}),),
        votes=3,
        pass_score=0.5,
    )


def test_what_the_check_says_holds_before_the_suite() -> None:
    own = {"rubric": "Is kind.", "model": "openai:large", "votes": 1, "pass_score": 0.9, "settings": {"temperature": 0}}
    made = panel(own, suite=SUITE)
    assert (made.votes, made.pass_score) == (1, 0.9)
    assert made.graders == (
        Grader("openai:large", "http://127.0.0.1:1/v1", "SUITE_KEY", {"temperature": 0.0, "seed": 1}),
    )


def test_what_is_set_from_outside_holds_before_the_check() -> None:
    own = {"rubric": "Is kind.", "model": "openai:large", "votes": 1, "settings": {"temperature": 0}}
    made = panel(own, suite=SUITE, options=["judge.temperature=0.1", "judge.votes=5", "judge.model=openai:other"])
    assert made.votes == 5
    assert made.graders[0].model == "openai:other"
    assert made.graders[0].settings == {"temperature": 0.1, "seed": 1}


def test_a_model_of_another_provider_does_not_get_the_endpoint_or_key_of_the_suite() -> None:
    (grader,) = panel({"rubric": "Is kind.", "model": "anthropic:claude"}, suite=SUITE).graders
    assert (grader.url, grader.api_key_env) == (None, None)


def test_several_judges_stay_who_they_are_but_take_settings_from_outside() -> None:
    written = {"rubric": "Is kind.", "judges": ["openai:a", {"model": "anthropic:b", "settings": {"temperature": 1}}]}
    made = panel(written, suite=SUITE, options=["judge.model=openai:c", "judge.temperature=0.2"])
    assert [grader.model for grader in made.graders] == ["openai:a", "anthropic:b"]
    assert [grader.settings["temperature"] for grader in made.graders] == [0.2, 0.2]


def test_a_pass_score_may_stand_beside_the_check() -> None:
    assert panel("Is kind.", beside=0.7).pass_score == 0.7
    assert panel({"rubric": "Is kind.", "pass_score": 0.6}, beside=0.7).pass_score == 0.6


def test_the_identity_changes_with_all_that_changes_verdicts_and_not_with_the_key() -> None:
    usual = panel("Is kind.", suite=SUITE).identity()
    others = [
        panel("Is polite.", suite=SUITE),
        panel("Is kind.", suite={**SUITE, "model": "openai:large"}),
        panel("Is kind.", suite={**SUITE, "votes": 1}),
        panel("Is kind.", suite={**SUITE, "pass_score": 0.6}),
        panel("Is kind.", suite={**SUITE, "url": "http://127.0.0.1:2/v1"}),
        panel("Is kind.", suite=SUITE, options=["judge.temperature=0.1"]),
    ]
    assert all(other.identity() != usual for other in others)
    assert panel("Is kind.", suite={**SUITE, "api_key_env": "OTHER_KEY"}).identity() == usual


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (3, "`judge` takes a rubric, or a mapping with `rubric`; found the number 3"),
        ("  ", "needs a rubric"),
        ("x" * 20_001, "has a rubric of 20,001 characters; allowed are 20,000"),
        ({"model": "openai:x"}, "`rubric` is missing"),
        ({"rubric": "r", "modle": "openai:x"}, "unknown key 'modle'; did you mean 'model'?"),
        ({"rubric": "r", "model": "small"}, "`model` must name provider and model"),
        ({"rubric": "r", "votes": 0}, "`votes` must be a whole number from 1 to 99; found 0"),
        ({"rubric": "r", "pass_score": 80}, "`pass_score` must be a number from 0 to 1; found 80"),
        ({"rubric": "r", "settings": {"temperatur": 0}}, "unknown setting 'temperatur'"),
        ({"rubric": "r", "settings": {"temperature": 3}}, "`temperature` must be a number from 0 to 2; found 3"),
        ({"rubric": "r", "judges": []}, "`judges`"),
        ({"rubric": "r", "judges": ["openai:a", {"modl": 1}]}, "judge 2: unknown key 'modl'"),
        ({"rubric": "r", "model": "openai:a", "judges": ["openai:b"]}, "has `model` and `judges`"),
        ({"rubric": "r", "url": "ftp://x"}, "`url` must be a URL"),
    ],
)
def test_wrong_judges_are_refused_with_what_is_allowed(argument: Any, says: str) -> None:
    (text,) = problems(Judge, argument)
    assert says in text


def test_all_faults_are_said_at_once() -> None:
    (text,) = problems(Judge, {"rubric": "r", "votes": 0, "model": "x", "settings": {"top_p": 7, "foo": 1}})
    assert all(word in text for word in ("votes", "model", "top_p", "foo"))


def test_keys_that_are_written_where_they_do_not_belong_are_not_repeated() -> None:
    for wrong in (
        {"url": "https://u:sk-planted@h/v1"},
        {"url": "https://h/?key=sk-planted"},
        {"api_key_env": "sk-planted"},
    ):
        assert "planted" not in "".join(problems(Judge, {"rubric": "r", **wrong}))
        assert "planted" not in "".join(problems(Similar, {"model": "openai:e", **wrong}))


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("text", "`similar` takes a mapping"),
        ({"to": "text"}, "`model` is missing"),
        ({"model": "openai:e", "threshold": 0}, "`threshold` must be above 0"),
        ({"model": "openai:e", "threshold": 80}, "`threshold` must be a number from 0 to 1"),
        ({"model": "openai:e", "to": " "}, "needs a text to compare with"),
    ],
)
def test_wrong_comparisons_are_refused(argument: Any, says: str) -> None:
    (text,) = problems(Similar, argument)
    assert says in text


def test_a_comparison_is_with_its_text_or_with_what_the_case_expects() -> None:
    assert Similar({"model": "openai:e", "to": "thirty days"}).reference("other") == "thirty days"
    assert Similar({"model": "openai:e", "to": "expected"}).reference("thirty days") == "thirty days"
    assert Similar({"model": "openai:e"}).reference("thirty days") == "thirty days"
    assert Similar({"model": "openai:e"}).reference({"days": 30}) is None


@pytest.mark.parametrize("given", [["judge.temperature=0.1", "judge.votes=3"], "judge.temperature=0.1 judge.votes=3"])
def test_assignments_from_outside_are_read_from_a_list_or_a_text(given: Any) -> None:
    assert resolve(("option", settings_of({"judge": given}))).judge() == {"votes": 3, "temperature": 0.1}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["judge.temprature=1"], "takes judge.KEY=VALUE, where KEY is one of model, url"),
        (["target.model=x"], "takes judge.KEY=VALUE"),
        (["judge.temperature"], "takes judge.KEY=VALUE"),
        (["judge.temperature=hot"], "`temperature` must be a number from 0 to 2; found 'hot'"),
        (["judge.temperature=nan"], "`temperature` must be a number from 0 to 2"),
        (["judge.votes=1.5"], "`judge.votes` must be a whole number"),
        (["judge.seed=1", "judge.seed=2"], "gives judge.seed two values: '1' and '2'"),
    ],
)
def test_wrong_assignments_are_refused(given: list[str], says: str) -> None:
    assert any(says in text for _, text in setting_problems({"judge": given}))


@settings(deadline=None)
@given(st.one_of(st.text(max_size=30), st.lists(st.text(max_size=20), max_size=3), st.integers(), st.none()))
def test_whatever_is_set_is_valid_or_refused_in_words(value: Any) -> None:
    if not setting_problems({"judge": value}):
        settings_of({"judge": value})


def test_each_key_is_resolved_by_itself_and_knows_its_source() -> None:
    settings = resolve(
        ("option", settings_of({"judge": ["judge.temperature=0.1"]})),
        ("suite", Settings.model_validate({"judge": SUITE})),
    )
    assert settings.source("judge.temperature") == "option"
    assert settings.source("judge.model") == "suite"
    assert settings["judge.temperature"] == 0.1


def test_faults_in_the_suites_judge_stand_at_their_place(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        "target: agent:answer\njudge:\n  modl: openai:x\n  votes: none\ncases:\n  - id: a\n    expect: [judge: '']\n",
        encoding="utf-8",
    )
    with pytest.raises(UserError) as caught:
        load_suite(path)
    lines = {problem.line: problem.message for problem in caught.value.problems}
    assert "unknown key 'modl'; did you mean 'model'? Known keys: model, url, api_key_env" in lines[3]
    assert "`judge.votes` must be a whole number" in lines[4]
    assert "needs a rubric" in lines[7]
