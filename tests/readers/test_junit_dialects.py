"""JUnit XML as Jest, Go, Gradle and nextest write it: what each of them means by it."""

from __future__ import annotations

from pathlib import Path

from repeat_eval.readers import FileResults, collect, read_file

SAMPLES = Path(__file__).parent / "samples" / "junit"


def outcomes(results: FileResults) -> dict[str, tuple[str, int | None]]:
    return {trial.case: (trial.outcome, trial.attempts) for trial in results.trials}


def test_jest_lists_equal_titles_apart_and_hides_the_failed_tries_of_its_retries() -> None:
    results = read_file(SAMPLES / "jest-junit.xml")
    assert results.broken is None
    assert outcomes(results) == {
        "capitals stable::capitals stable": ("passed", None),
        "capitals passes at the second try::capitals passes at the second try": ("passed", None),
        "capitals always fails::capitals always fails": ("failed", None),
        "capitals skipped::capitals skipped": ("skipped", None),
        "capitals capital of France::capitals capital of France": ("error", 2),
    }


def test_a_file_that_jest_could_not_load_is_missing_evidence_and_no_case() -> None:
    collected = collect([SAMPLES / "jest-junit.xml"])
    assert collected.missing == (f"{SAMPLES / 'jest-junit.xml'}: broken.test.js failed to run",)
    assert not any("broken" in case for case in collected.cases)


def test_a_package_that_go_could_not_build_is_missing_evidence_and_no_case() -> None:
    collected = collect([SAMPLES / "gotestsum.xml"])
    assert collected.missing == (f"{SAMPLES / 'gotestsum.xml'}: example.com/evals/broken could not be built",)
    assert not any("TestMain" in case for case in collected.cases)


def test_a_test_that_gotestsum_ran_again_counts_once() -> None:
    assert outcomes(read_file(SAMPLES / "gotestsum.xml")) == {
        "example.com/evals/capitals::TestStable": ("passed", None),
        "example.com/evals/capitals::TestSecondTry": ("passed", 2),
        "example.com/evals/capitals::TestCountries/France": ("passed", None),
        "example.com/evals/capitals::TestCountries/Spain": ("failed", None),
        "example.com/evals/capitals::TestCountries": ("failed", None),
        "example.com/evals/capitals::TestSkipped": ("skipped", None),
        "example.com/evals/rivers::TestLongest": ("passed", None),
    }


def test_go_says_in_the_text_why_a_test_failed_or_was_skipped() -> None:
    messages = {trial.case.rpartition("::")[2]: trial.message for trial in read_file(SAMPLES / "gotestsum.xml").trials}
    assert messages["TestCountries/Spain"] == 'capitals_test.go:20: got "Sevilla", want "Madrid"'
    assert messages["TestSkipped"] == "capitals_test.go:30: not ready"
    assert messages["TestCountries"] == "Failed"


def test_gradle_lists_the_tries_of_a_test_under_one_name() -> None:
    assert outcomes(read_file(SAMPLES / "gradle.xml")) == {
        "evals.CapitalsTest::stable()": ("passed", None),
        "evals.CapitalsTest::secondTry()": ("passed", 2),
        "evals.CapitalsTest::alwaysFails()": ("failed", None),
        "evals.CapitalsTest::[1] France, Paris": ("passed", None),
        "evals.CapitalsTest::skipped()": ("skipped", None),
    }


def test_gradle_can_merge_the_tries_as_surefire_does() -> None:
    assert outcomes(read_file(SAMPLES / "gradle-merge-reruns.xml")) == {
        "evals.CapitalsTest::stable()": ("passed", None),
        "evals.CapitalsTest::secondTry()": ("passed", 2),
        "evals.CapitalsTest::alwaysFails()": ("failed", 2),
    }


def test_nextest_merges_the_tries_and_calls_a_test_that_hangs_an_error() -> None:
    results = read_file(SAMPLES / "nextest.xml")
    assert results.broken is None
    assert outcomes(results) == {
        "evals::capitals::stable": ("passed", None),
        "evals::capitals::second_try": ("passed", 2),
        "evals::capitals::always_fails": ("failed", 2),
        "evals::capitals::hangs": ("error", None),
    }
    assert results.trials[3].error_kind == "timeout"
