"""GitHub on loopback for whole workflows: the API, the git server, and one repository that both speak of.

Events are run by act, each in a fresh checkout of depth 1 that is fetched from the git server with the token, as
actions/checkout does it. act itself leaves such a step out where the files are there already.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boxes import OWNER, ROOT
from git_server import GitServer, serving
from workflows import Workflow, run_workflow

sys.path.insert(0, str(ROOT / "tests" / "github"))

from server.state import Commit
from server.web import GitHubServer, Logged, running

NAME = "octo/desk"
PULL = 7
DOCUMENTED = ROOT / "docs" / "workflows"
NO_COMMIT = "0" * 40
_PUBLISHING = re.compile(r" (issues|pulls|check-|statuses)|/check-")


@dataclass(frozen=True)
class Event:
    """What happened: the event's name and payload, and the commit and ref that GitHub says are tested."""

    name: str
    payload: Mapping[str, Any]
    sha: str
    ref: str
    actor: str = "ann"


@dataclass(frozen=True)
class Ended:
    """A workflow that has ended: its log, the workspace it left, and the requests it made to GitHub's API."""

    workflow: Workflow
    workspace: Path
    requests: list[Logged]

    @property
    def log(self) -> str:
        return self.workflow.log

    def asked(self) -> list[str]:
        """The requests as method and path below the repository."""
        return [f"{each.method} {each.path.removeprefix(f'/repos/{NAME}/')}" for each in self.requests]

    def within_bounds(self) -> bool:
        """Whether it asked no more than is promised: 6 times to publish, 6 to write the store, 4 to look base up.

        The first time a comment is made takes one more: whether another job has just made it, too.
        """
        counted: Counter[str] = Counter()
        for request in self.asked():
            if _PUBLISHING.search(request):
                counted["publish"] += 1
            elif counted["write"] or "git/ref" in request:  # writing begins with the branch's commit
                counted["write"] += 1
            else:
                counted["look up"] += 1
        print("  requests:", ", ".join(f"{count} to {purpose}" for purpose, count in counted.items()) or "none")
        created = any(request.startswith("POST issues/") for request in self.asked())
        bounds = {"publish": 7 if created else 6, "write": 6, "look up": 4}
        return all(counted[purpose] <= most for purpose, most in bounds.items())


@dataclass
class Hub:
    """GitHub, with one repository.

    Attributes:
        api, git: the servers. work: a clone that tests commit in. socket: of the engine.
        actions: folders that stand for actions, by the words after `uses:`.
    """

    api: GitHubServer
    git: GitServer
    folder: Path
    socket: str
    actions: dict[str, Path] = field(default_factory=dict)
    runs: int = 100

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def state(self) -> Any:
        return self.api.state

    def run_git(self, *arguments: str, folder: Path | None = None) -> str:
        """What git prints, run without anybody's settings."""
        person = {f"GIT_{who}_{what}": "octocat@example.invalid" for who in _WHO for what in ("NAME", "EMAIL")}
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_TERMINAL_PROMPT": "0", **person}
        environ |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        words = ["git", "-C", str(folder or self.work), *arguments]
        done = subprocess.run(words, capture_output=True, text=True, env=environ, check=False)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout.strip()

    def commit(self, message: str, *, branch: str) -> str:
        """Commit everything in the clone to a branch, which is made where it is new; its commit."""
        if self.run_git("branch", "--show-current") != branch:
            self.run_git("checkout", "-q", "-B", branch)
        self.run_git("add", "-A")
        self.run_git("commit", "-q", "--allow-empty", "-m", message)
        return self.run_git("rev-parse", "HEAD")

    def merge(self, branch: str) -> str:
        """The merge of a branch into main, as GitHub makes it for the pull request: main itself does not move."""
        self.run_git("checkout", "-q", "--detach", "main")
        self.run_git("merge", "-q", "--no-ff", "-m", f"Merge {branch} into main", branch)
        merged = self.run_git("rev-parse", "HEAD")
        self.run_git("push", "-q", "--force", "origin", f"{merged}:refs/pull/{PULL}/merge", branch)
        self.run_git("checkout", "-q", branch)
        return merged

    def publish(self) -> None:
        """Push main, and let the API know of all commits and files."""
        self.run_git("push", "-q", "origin", "main")
        for line in self.run_git("rev-list", "--parents", "--all").splitlines():
            sha, *parents = line.split()
            if sha not in self.state.commits:
                listed = [entry.split() for entry in self.run_git("ls-tree", "-r", sha).splitlines()]
                tree = self.state.add_tree({words[3]: words[2] for words in listed})
                self.state.commits[sha] = Commit(tree, parents)
        self.state.refs["refs/heads/main"] = self.run_git("rev-parse", "main")

    def open_pull(self, branch: str, *, repository: str = NAME) -> Event:
        """Open the pull request of a branch, or push to it; the event of its merge commit."""
        merged = self.merge(branch)
        self.publish()
        head, base = self.run_git("rev-parse", branch), self.run_git("rev-parse", "main")
        self.state.add_pull(PULL, head=head, base=base, head_repository=repository)
        self.state.pulls[PULL]["head"]["ref"] = branch
        pull = {
            "number": PULL,
            "state": "open",
            "head": {"sha": head, "ref": branch, "repo": {"full_name": repository}},
            "base": {"sha": base, "ref": "main", "repo": {"full_name": NAME}},
        }
        payload = {"action": "synchronize", "number": PULL, "pull_request": pull}
        return Event("pull_request", payload, merged, f"refs/pull/{PULL}/merge")

    def push_main(self, commit: str) -> Event:
        """Move main to a commit; the push."""
        before = self.state.refs.get("refs/heads/main", NO_COMMIT)
        self.run_git("checkout", "-q", "-B", "main", commit)
        self.publish()
        payload = {"ref": "refs/heads/main", "before": before, "after": commit, "forced": False, "deleted": False}
        return Event("push", payload, commit, "refs/heads/main")

    def check_out(self, commit: str) -> Path:
        """A workspace as actions/checkout leaves it: one commit, detached, no credentials, of the runner's user."""
        self.runs += 1
        folder = self.folder / f"run-{self.runs}" / "desk"
        folder.mkdir(parents=True)
        self.run_git("init", "-q", folder=folder)
        header = f"http.{self.git.url}/.extraHeader=Authorization: {self.git.secret}"
        fetch = ["-c", header, "fetch", "-q", "--depth=1", "--no-tags", f"{self.git.url}/{NAME}", commit]
        self.run_git(*fetch, folder=folder)
        self.run_git("checkout", "-q", "--detach", commit, folder=folder)
        assert self.run_git("rev-list", "--count", "HEAD", folder=folder) == "1"
        self.git.fetches.clear()
        subprocess.run(["chown", "-R", f"{OWNER}:{OWNER}", str(folder)], check=True)
        return folder

    def run(self, event: Event, workflow: str, *, run_id: int = 0, secrets: Mapping[str, str] | None = None) -> Ended:
        """Run one workflow file of the tested commit for an event."""
        workspace = self.check_out(event.sha)
        payload = {"repository": {"full_name": NAME, "default_branch": "main"}, **event.payload}
        before = len(self.api.log)
        done = run_workflow(
            event.name,
            payload,
            folder=workspace,
            workflow=f".github/workflows/{workflow}",
            socket=self.socket,
            secrets={"GITHUB_TOKEN": self.state.token, **(secrets or {})},
            actions=self.actions,
            variables={
                "GITHUB_API_URL": self.api.url,
                "GITHUB_SERVER_URL": self.git.url,
                "GITHUB_REPOSITORY": NAME,
                "GITHUB_RUN_ID": str(run_id or self.runs),
                "GITHUB_RUN_ATTEMPT": "1",
                "GITHUB_REF": event.ref,
                "GITHUB_SHA": event.sha,
                "SHA_REF": event.sha,  # act's own name for it
            },
            actor=event.actor,
        )
        assert self.state.token not in done.log
        return Ended(done, workspace, self.api.log[before:])

    def stored(self) -> dict[str, bytes]:
        """The files on the store's branch."""
        commit = self.state.commits[self.state.refs["refs/heads/repeat-eval-store"]]
        return {path: self.state.blobs[sha] for path, sha in self.state.trees[commit.tree].items()}


_WHO = ("AUTHOR", "COMMITTER")


@contextlib.contextmanager
def hub(folder: Path, socket: str) -> Iterator[Hub]:
    """GitHub with an empty, private repository; at the end nothing may have broken GitHub's description of its API."""
    bare = folder / "server" / NAME
    bare.mkdir(parents=True)
    with running() as api, serving(folder / "server", api.state.token) as git:
        api.state.repository, api.state.private = NAME, True
        made = Hub(api, git, folder, socket)
        made.work.mkdir()
        made.run_git("init", "-q", "--bare", folder=bare)
        made.run_git("init", "-q", "-b", "main")
        made.run_git("remote", "add", "origin", str(bare))
        yield made
    assert api.violations == []


def released_action(folder: Path, image: str) -> Path:
    """The action as a release has it: action.yml alone, which names a built image."""
    text = (ROOT / "action.yml").read_text("utf-8")
    assert text.count("image: Dockerfile") == 1
    folder.mkdir(parents=True)
    (folder / "action.yml").write_text(text.replace("image: Dockerfile", f"image: docker://{image}"))
    return folder


def add_documented_workflows(work: Path) -> None:
    """Put every workflow of docs/workflows, word for word, where GitHub looks for them."""
    place = work / ".github" / "workflows"
    place.mkdir(parents=True)
    for file in DOCUMENTED.glob("*.yml"):
        shutil.copy(file, place)
