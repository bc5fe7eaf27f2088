from __future__ import annotations

import base64
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.targets.base import Call
from repeat_eval.targets.environment import Scrubber, child_environment, looks_secret, trial_variables

TOKEN = "not-a-real-one-0123"  # noqa: S105 - it says so itself


def test_children_keep_ordinary_variables_and_the_steps_own_keys() -> None:
    base = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1234567890", "GITHUB_SHA": "abc", "MY_INPUT_X": "1"}
    assert child_environment(base) == base


@pytest.mark.parametrize(
    "name",
    [
        "INPUT_SUITE",
        "INPUT_API-KEY",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_CACHE_URL",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
    ],
)
def test_children_never_see(name: str) -> None:
    assert child_environment({name: "anything", "HOME": "/root"}) == {"HOME": "/root"}


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GH_TOKEN", "INPUT_TOKEN", "INPUT_GITHUB-TOKEN", "ACTIONS_ID_TOKEN"])
def test_a_variable_that_holds_the_token_under_another_name_is_dropped(name: str) -> None:
    encoded = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    base = {
        name: TOKEN,
        "MINE": TOKEN,
        "URL": f"https://x:{TOKEN}@example.test/",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {encoded}",
        "HOME": "/root",
    }
    assert child_environment(base) == {"HOME": "/root"}


@pytest.mark.parametrize("short", ["", "a", "1234567"])
def test_a_token_too_short_to_be_one_takes_nothing_else_along(short: str) -> None:
    assert child_environment({"GITHUB_TOKEN": short, "A": f"x{short}y"}) == {"A": f"x{short}y"}


def test_extra_variables_win_and_the_base_is_left_alone() -> None:
    base = {"A": "1", "GH_TOKEN": TOKEN}
    assert child_environment(base, {"A": "2"}) == {"A": "2"}
    assert base == {"A": "1", "GH_TOKEN": TOKEN}


def test_trial_variables_say_which_trial_it_is() -> None:
    call = Call(case="refund: late", input=1, repetition=3, repeats=10, seed=7)
    assert trial_variables(call) == {
        "REPEAT_EVAL_TRIAL_CASE": "refund: late",
        "REPEAT_EVAL_TRIAL_REPETITION": "3",
        "REPEAT_EVAL_TRIAL_REPEATS": "10",
        "REPEAT_EVAL_TRIAL_SEED": "7",
    }


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "key",
        "Db_Password",
        "AWS_SECRET_ACCESS_KEY",
        "MY-TOKEN",
        "GOOGLE_CREDENTIALS",
        "DB_PWD",
        "A.PAT",
    ],
)
def test_names_that_look_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["KEYBOARD", "MONKEY", "PATH", "PWD", "OLDPWD", "TOKENIZER", "HOME", "", "PATTERN"])
def test_names_that_do_not_look_secret(name: str) -> None:
    assert not looks_secret(name)


def test_secret_values_become_stars_longest_first() -> None:
    scrubber = Scrubber({"A_KEY": "secret-12", "B_KEY": "secret-12-and-more", "HOME": "/home/someone"})
    assert scrubber.scrub("x secret-12-and-more y secret-12 /home/someone") == "x *** y *** /home/someone"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('got "x secret-123-and…"', 'got "x ***…"'),
        ("secret-1… [40 characters cut]", "***… [40 characters cut]"),
        ("secret-1 and secret-123… and secret-1-…", "secret-1 and ***… and secret-1-…"),
        ("secret-…", "secret-…"),
        ("secret-123-and-more…", "***…"),
    ],
)
def test_the_beginning_of_a_secret_before_a_cut_is_scrubbed_too(text: str, clean: str) -> None:
    assert Scrubber({"A_KEY": "secret-123-and-more"}).scrub(text) == clean


def test_short_values_are_left_alone() -> None:
    assert Scrubber({"A_KEY": "1234567"}).scrub("1234567") == "1234567"


def test_signs_of_regular_expressions_in_a_secret_mean_themselves() -> None:
    assert Scrubber({"A_KEY": "(a+)+$.*[x"}).scrub("<(a+)+$.*[x>") == "<***>"


def test_a_single_line_of_a_private_key_is_scrubbed_too() -> None:
    key = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\nshort\n-----END KEY-----\n"
    scrubber = Scrubber({"DEPLOY_KEY": key})
    assert scrubber.scrub("got MIIEpAIBAAKCAQEA7, short") == "got ***, short"
    assert scrubber.scrub(key) == "***\n"


def test_without_secrets_the_text_itself_comes_back() -> None:
    text = "".join(["a", "b"])
    assert Scrubber({"HOME": "/home/someone"}).scrub(text) is text


def test_a_scrubber_can_be_sent_to_another_process() -> None:
    scrubber = pickle.loads(pickle.dumps(Scrubber({"A_KEY": "secret-12"})))  # noqa: S301 - our own bytes
    assert scrubber.scrub("secret-12") == "***"


@given(st.text(), st.text(), st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc"]), min_size=8))
def test_no_secret_survives(before: str, after: str, secret: str) -> None:
    scrubbed = Scrubber({"API_KEY": secret}).scrub(before + secret + after)
    assert secret.strip() not in scrubbed.replace("***", "\0")


@given(st.dictionaries(st.text(), st.text()))
def test_what_children_get_is_part_of_what_there_was(environ: dict[str, str]) -> None:
    assert child_environment(environ).items() <= environ.items()
