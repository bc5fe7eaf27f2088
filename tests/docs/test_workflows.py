"""Workflows of this repository and those to copy: pinned, with few rights, and with inputs that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from doc_pages import ROOT, text_of

OURS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TO_COPY = sorted((ROOT / "docs/workflows").glob("*.yml"))
ON: Any = True  # so YAML reads the key `on`
ALL = [*OURS, *TO_COPY]
ACTIONS = {name: yaml.safe_load((ROOT / name / "action.yml").read_text()) for name in (".", "run")}
PINNED = re.compile(r"uses: (?P<name>[\w./-]+)@(?P<commit>[0-9a-f]{40}) # (?P<tag>v\d+\.\d+\.\d+|release/v1)$")
OF_OTHERS = re.compile(r"uses: (?!\./)(\S+)(.*)$", re.MULTILINE)


def name_of(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.name}"


def read(path: Path) -> dict[str, Any]:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(workflow, dict)
    return workflow


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in read(path)["jobs"].values():
        yield from job.get("steps", [])


def ours(step: dict[str, Any]) -> str | None:
    """Which of our two actions a step uses."""
    found = re.fullmatch(r"(?:\.|org/repeat-eval)(/|/run)?(?:@v1)?", step.get("uses", ""))
    return None if found is None else (found[1] or "").strip("/") or "."


each = pytest.mark.parametrize("path", ALL, ids=name_of)
each_of_ours = pytest.mark.parametrize("path", OURS, ids=name_of)
each_to_copy = pytest.mark.parametrize("path", TO_COPY, ids=name_of)


def test_there_are_workflows() -> None:
    assert {path.stem for path in OURS} == {"ci", "evals", "release"}
    assert len(TO_COPY) >= 5


@each
def test_rights_are_said_and_never_left_to_the_repository(path: Path) -> None:
    workflow = read(path)
    assert isinstance(workflow["permissions"], dict)
    if not workflow["permissions"]:
        assert all("permissions" in job for job in workflow["jobs"].values())


@each
def test_nothing_runs_with_secrets_on_foreign_code(path: Path) -> None:
    assert "pull_request_target" not in read(path)[ON]


@each
def test_checkouts_leave_no_credentials_behind(path: Path) -> None:
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@each
def test_nothing_from_outside_becomes_shell_text(path: Path) -> None:
    assert not [step for step in steps(path) if "${{" in step.get("run", "")]


@each
def test_secrets_reach_one_step_of_ours_and_nothing_else(path: Path) -> None:
    workflow = read(path)
    for place in (workflow, *workflow["jobs"].values()):
        assert "secrets." not in str(place.get("env", ""))
        assert place.get("secrets") != "inherit"
    for step in steps(path):
        if ours(step) is None:
            assert "secrets." not in str(step)


@each
def test_inputs_and_outputs_that_are_used_exist(path: Path) -> None:
    action = ACTIONS["."]
    for step in steps(path):
        name = ours(step)
        if name is not None:
            assert set(step.get("with", {})) <= set(ACTIONS[name]["inputs"])
    used = {step["id"] for step in steps(path) if ours(step) and "id" in step}
    for step_id, output in re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", path.read_text("utf-8")):
        assert step_id not in used or output in action["outputs"]


@each_of_ours
def test_actions_of_others_are_pinned_by_commit_with_their_tag(path: Path) -> None:
    for found in OF_OTHERS.finditer(path.read_text("utf-8")):
        assert PINNED.fullmatch(found[0])


def test_an_action_has_one_pin_everywhere() -> None:
    pins = {(found["name"], found["commit"], found["tag"]) for path in OURS for found in _pins(path)}
    assert len({name for name, *_ in pins}) == len(pins)


def _pins(path: Path) -> Iterator[re.Match[str]]:
    return (pin for found in OF_OTHERS.finditer(path.read_text("utf-8")) if (pin := PINNED.fullmatch(found[0])))


@each_to_copy
def test_actions_in_workflows_to_copy_name_a_version(path: Path) -> None:
    for found in OF_OTHERS.finditer(path.read_text("utf-8")):
        assert re.search(r"@v\d+$", found[1])


@each_to_copy
def test_workflows_to_copy_ask_for_no_more_than_they_need(path: Path) -> None:
    """The comment needs one right; others are named here, with what needs them."""
    more = {"history": {"contents"}, "slash-command": {"actions", "pull-requests"}}
    workflow = read(path)
    for place in (workflow, *workflow["jobs"].values()):
        written = {right for right, level in place.get("permissions", {}).items() if level == "write"}
        assert written <= more.get(path.stem, {"pull-requests"})


@each_to_copy
def test_only_the_default_branch_writes_the_store(path: Path) -> None:
    workflow = read(path)
    if any(step.get("with", {}).get("store") == "write" for step in steps(path)):
        assert set(workflow[ON]) <= {"push", "schedule", "workflow_dispatch"}
        assert workflow[ON]["push"] == {"branches": ["main"]}


def test_where_others_can_start_it_nothing_is_checked_out_and_no_key_is_there() -> None:
    foreign = [path for path in TO_COPY if {"workflow_run", "issue_comment"} & set(read(path)[ON])]
    assert {path.stem for path in foreign} == {"hardened-publish", "slash-command"}
    for path in foreign:
        (step,) = steps(path)
        assert set(step) == {"uses", "with"}
        assert step["with"]["mode"] in ("publish", "command")


def test_the_hardened_pair_fits_together() -> None:
    first, second = (read(ROOT / f"docs/workflows/hardened-{half}.yml") for half in ("evaluate", "publish"))
    assert second[ON]["workflow_run"]["workflows"] == [first["name"]]
    assert first["permissions"] == {"contents": "read"}
    upload = first["jobs"]["evals"]["steps"][-1]["with"]["name"]
    assert upload == "repeat-eval-report-${{ github.run_id }}-${{ github.run_attempt }}"


@each_of_ours
def test_no_job_runs_for_hours(path: Path) -> None:
    assert all("timeout-minutes" in job for job in read(path)["jobs"].values() if "steps" in job)


@each_to_copy
def test_the_page_of_workflows_names_each(path: Path) -> None:
    assert f"]({path.name})" in text_of(path.parent / "README.md")


def test_a_release_tries_the_image_by_its_name_before_the_major_tag_moves() -> None:
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    order = ["move"]
    while "needs" in jobs[order[-1]]:
        order.append(jobs[order[-1]]["needs"])
    assert order == ["move", "pypi", "try", "tag", "image", "package", "ci"]
    checkout, action, _ = jobs["try"]["steps"]
    assert checkout["with"]["ref"] == "refs/tags/v${{ inputs.version }}"
    assert action["uses"] == "./"


def test_a_release_image_has_two_platforms_a_list_of_parts_and_a_proof_of_origin() -> None:
    (build,) = (s for s in steps(ROOT / ".github/workflows/release.yml") if "build-push-action" in s.get("uses", ""))
    assert build["with"]["platforms"] == "linux/amd64,linux/arm64"
    assert build["with"]["sbom"] is True
    assert build["with"]["provenance"] == "mode=max"


def test_only_the_jobs_that_prove_or_write_may_do_so() -> None:
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    rights = {
        name: {right for right, level in job["permissions"].items() if level == "write"} for name, job in jobs.items()
    }
    assert {name: held for name, held in rights.items() if held} == {
        "image": {"packages", "id-token", "attestations"},
        "tag": {"contents"},
        "pypi": {"id-token"},
        "move": {"contents"},
    }


def test_pythons_of_ci_are_those_that_the_package_names() -> None:
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert read(ROOT / ".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"] == named


def test_the_job_to_require_waits_for_all_others_and_counts_them() -> None:
    jobs = read(ROOT / ".github/workflows/ci.yml")["jobs"]
    assert set(jobs["ci"]["needs"]) == set(jobs) - {"ci"}
    assert jobs["ci"]["steps"][0]["run"].count("success") == len(jobs["ci"]["needs"])
