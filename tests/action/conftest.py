"""A repository as GitHub has it: bare, with a pull request's merge commit; a checkout of it, and the step."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.action.main import run_action

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.state import Commit
from server.web import GitHubServer, running

SUITE = """name: shop
target: {python: "agent:answer"}
repeats: 10
seed: 7
cases:
  - {id: greets, input: hello, expect: [{contains: hello}]}
  - {id: thanks, input: thanks, expect: [{contains: thanks}]}
  - {id: refunds, input: refund, expect: [{contains: refund}]}
"""
GOOD = "def answer(input):\n    return input\n"
BROKEN = "def answer(input):\n    return 'no' if input == 'refund' else input\n"


def git(folder: Path, *arguments: str) -> str:
    """Run git without anybody's settings."""
    names = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}
    settings = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **names, **settings}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, env=environ, check=True
    )
    return done.stdout.strip()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@dataclass
class Step:
    """One step of a workflow: what it is given, and what it left."""

    root: Path
    base: str
    head: str
    merge: str
    environ: dict[str, str]
    token: str | None = None
    log: str = ""
    inputs: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return Path(self.environ["GITHUB_WORKSPACE"])

    def run(self, **inputs: str) -> int:
        """Run the action with these inputs; `suite` is given unless there is another way in."""
        given = {**self.inputs, **inputs}
        if not {"command", "results", "suite"} & given.keys():
            given["suite"] = "evals/suite.yaml"
        variables = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in given.items()}
        stream = io.StringIO()
        here = Path.cwd()
        try:
            code = run_action(self.environ | variables, self.token, stream, fetch_from=(self.root / "server").as_uri())
        finally:
            os.chdir(here)
        self.log = stream.getvalue()
        return code

    @property
    def summary(self) -> str:
        return Path(self.environ["GITHUB_STEP_SUMMARY"]).read_text()

    @property
    def outputs(self) -> dict[str, str]:
        lines = iter(Path(self.environ["GITHUB_OUTPUT"]).read_text().splitlines())
        found = {}
        for line in lines:
            name, _, delimiter = line.partition("<<")
            value = []
            while (text := next(lines)) != delimiter:
                value.append(text)
            found[name] = "\n".join(value)
        return found

    @property
    def errors(self) -> list[str]:
        return [line for line in self.log.splitlines() if line.startswith("::error")]

    def event(self, name: str, payload: dict[str, object], **variables: str) -> None:
        """Make this the step of another event."""
        path = self.root / "event.json"
        path.write_text(json.dumps({"repository": {"full_name": "octo/shop", "default_branch": "main"}, **payload}))
        self.environ |= {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), **variables}

    def check_out(self, commit: str) -> None:
        """The workspace as actions/checkout leaves it: depth 1, detached."""
        workspace = self.workspace
        workspace.mkdir(exist_ok=True)
        git(workspace, "init", "-q")
        url = (self.root / "server/octo/shop").as_uri()
        git(workspace, "fetch", "-q", "--depth=1", url, commit)
        git(workspace, "checkout", "-q", "--force", "--detach", commit)


def make_step(root: Path, base_files: dict[str, str], head_files: dict[str, str]) -> Step:
    """A pull request whose merge commit is checked out at depth 1."""
    server, work = root / "server/octo/shop", root / "work"
    server.mkdir(parents=True)
    git(server, "init", "-q", "--bare")
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    write(work, {"README": "shop", **base_files})
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "base")
    base = git(work, "rev-parse", "HEAD")
    git(work, "checkout", "-q", "-b", "feature")
    write(work, head_files)
    git(work, "add", ".")
    git(work, "commit", "-q", "--allow-empty", "-m", "head")
    head = git(work, "rev-parse", "HEAD")
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--no-ff", "-m", "merge", "feature")
    merge = git(work, "rev-parse", "HEAD")
    git(work, "push", "-q", str(server), "HEAD:refs/pull/7/merge", "feature", f"{base}:refs/heads/main")
    runner = root / "runner"
    runner.mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(runner),
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(root / "workspace"),
        "GITHUB_REPOSITORY": "octo/shop",
        "GITHUB_SHA": merge,
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_RUN_ID": "123",
        "GITHUB_RUN_ATTEMPT": "2",
        "GITHUB_OUTPUT": str(runner / "output"),
        "GITHUB_STEP_SUMMARY": str(runner / "summary"),
        "INPUT_COMMENT": "off",
    }
    step = Step(root, base, head, merge, environ)
    step.check_out(merge)
    pull_request = {
        "number": 7,
        "head": {"sha": head, "ref": "feature", "repo": {"full_name": "octo/shop"}},
        "base": {"sha": base, "ref": "main"},
    }
    step.event("pull_request", {"action": "synchronize", "pull_request": pull_request})
    return step


@pytest.fixture
def step_between(tmp_path: Path) -> Any:
    """Makes the step of a pull request from base's files and what head changes in them."""
    return lambda base_files, head_files: make_step(tmp_path / "step", base_files, head_files)


@pytest.fixture
def broken(tmp_path: Path) -> Step:
    """A pull request that breaks a case."""
    suite = {"evals/suite.yaml": SUITE}
    return make_step(tmp_path, {**suite, "evals/agent.py": GOOD}, {"evals/agent.py": BROKEN})


@pytest.fixture
def harmless(tmp_path: Path) -> Step:
    """A pull request that changes nothing that matters."""
    return make_step(tmp_path, {"evals/suite.yaml": SUITE, "evals/agent.py": GOOD}, {"README": "the shop"})


@pytest.fixture
def new_suite(tmp_path: Path) -> Step:
    """A pull request that brings the first suite."""
    return make_step(tmp_path, {}, {"evals/suite.yaml": SUITE, "evals/agent.py": GOOD})


@pytest.fixture
def started_late(tmp_path: Path) -> Step:
    """A pull request whose suite names a module that base does not have yet."""
    return make_step(
        tmp_path,
        {"evals/suite.yaml": SUITE, "evals/agent.py": GOOD},
        {"evals/suite.yaml": SUITE.replace("agent:", "newer:"), "evals/newer.py": GOOD},
    )


@pytest.fixture
def command_step(tmp_path: Path) -> Step:
    """A pull request with a test command whose second test breaks."""
    check = """import sys, pathlib
failed = pathlib.Path("evals/broken").exists()
body = '<failure message="wrong"/>' if failed else ''
pathlib.Path(sys.argv[1]).write_text(
    f'<testsuite><testcase classname="t" name="one"/><testcase classname="t" name="two">{body}</testcase></testsuite>')
"""
    return make_step(tmp_path, {"evals/check.py": check}, {"evals/broken": "yes"})


@pytest.fixture
def forging(tmp_path: Path) -> Step:
    """A suite whose target answers with workflow commands."""
    answer = (
        "def answer(input):\n    print('::set-output name=verdict::pass')\n    return '\\n::warning::x\\n##[error]y'\n"
    )
    return make_step(tmp_path, {}, {"evals/suite.yaml": SUITE, "evals/agent.py": answer})


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    """GitHub's API for the repository of the step; at the end nothing may have broken GitHub's description of it."""
    with running() as server:
        server.state.repository = "octo/shop"
        yield server
    assert server.violations == []


@pytest.fixture
def on_github(broken: Any, server: GitHubServer) -> Any:
    """The step of a pull request that breaks a case, with its commits and the pull request on the server."""
    tree = server.state.add_tree({})
    server.state.commits[broken.base] = Commit(tree, [])
    server.state.commits[broken.head] = Commit(tree, [broken.base])
    server.state.commits[broken.merge] = Commit(tree, [broken.base, broken.head])
    server.state.add_pull(7, head=broken.head, base=broken.base)
    broken.token = server.state.token
    broken.environ["GITHUB_API_URL"] = server.url
    return broken
