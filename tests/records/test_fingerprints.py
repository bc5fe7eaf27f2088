"""Fingerprints, and the seeds of trials."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.records.fingerprints import case_fingerprint, fingerprint, target_fingerprint, trial_seed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_fingerprints_stay_the_same_from_version_to_version() -> None:
    assert fingerprint({"b": [1, 2.5, None], "a": "größe"}) == "654b61a6fd7bcf78"
    assert trial_seed(7, "escalates", 3) == 11_842_161_989_035_405


@given(JSON)
def test_a_fingerprint_is_sixteen_hexadecimal_digits(value: Any) -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", fingerprint(value))


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    assert fingerprint(dict(reversed(value.items()))) == fingerprint(value)


def test_values_that_look_alike_have_different_fingerprints() -> None:
    alike = [1, 1.0, "1", True, [1], {"1": None}, None, "null", "", [], {}]
    assert len({fingerprint(value) for value in alike}) == len(alike)


def test_input_checks_and_expected_value_each_make_a_case_another_one() -> None:
    cases = [("hi", [], None), ("ho", [], None), ("hi", [{"contains": "x"}], None), ("hi", [], "x")]
    assert len({case_fingerprint(*case) for case in cases}) == len(cases)


def test_settings_and_source_files_each_make_a_target_another_one() -> None:
    targets = [(["python", "a:b"], {}), (["python", "a:c"], {}), (["python", "a:b"], {"a.py": "1"})]
    assert len({target_fingerprint(settings, sources) for settings, sources in targets}) == len(targets)


@given(st.integers(0, 2**53), st.text(max_size=10), st.integers(1, 10_000))
def test_a_trial_seed_fits_into_any_generator_and_comes_again(run: int, case: str, repetition: int) -> None:
    seed = trial_seed(run, case, repetition)
    assert 0 <= seed < 2**56
    assert seed == trial_seed(run, case, repetition)


def test_no_two_trials_of_a_run_share_a_seed() -> None:
    keys = [(run, case, n) for run in (0, 1) for case in ("a", "b", "1:a") for n in range(1, 500)]
    assert len({trial_seed(*key) for key in keys}) == len(keys)
