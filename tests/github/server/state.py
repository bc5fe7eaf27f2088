"""What the server remembers: one repository: pull requests, comments, checks, statuses, git objects, runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any


@dataclass
class Commit:
    """A commit: its tree and its parents, first parent first."""

    tree: str
    parents: list[str]
    message: str = ""


@dataclass
class State:
    """One repository. Tests read and change it freely; the server changes it under one lock."""

    repository: str = "octo/refunds"
    private: bool = False
    default_branch: str = "main"
    token: str = "ghs_" + "a1B2" * 9
    """Made up; put together so that no scanner takes it for a real one."""
    viewer: str = "github-actions[bot]"
    viewer_is_integration: bool = True
    """An installation's token may not ask who it is: GET /user answers 403."""
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    pull_files: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    annotations: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, dict[str, str]] = field(default_factory=dict)
    """Trees are flat: full path -> blob."""
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    permissions: dict[str, str] = field(default_factory=dict)
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[int, dict[str, Any]] = field(default_factory=dict)
    archives: dict[int, bytes] = field(default_factory=dict)
    ids: count[int] = field(default_factory=lambda: count(1001))
    seconds: count[int] = field(default_factory=count)

    def now(self) -> str:
        """A moment later than every one before it."""
        passed = next(self.seconds)
        return f"2026-03-01T{passed // 3600 % 24:02}:{passed // 60 % 60:02}:{passed % 60:02}Z"

    def add_blob(self, content: bytes) -> str:
        """Keep a file's content; its SHA is git's own."""
        sha = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        self.blobs[sha] = content
        return sha

    def add_tree(self, files: Mapping[str, str]) -> str:
        """Keep a flat tree (path -> blob SHA)."""
        sha = _sha("tree", sorted(files.items()))
        self.trees[sha] = dict(files)
        return sha

    def add_commit(self, tree: str, parents: list[str], message: str = "") -> str:
        """Keep a commit; equal messages still give different commits, as different times do."""
        sha = _sha("commit", [tree, parents, message, next(self.ids)])
        self.commits[sha] = Commit(tree, list(parents), message)
        return sha

    def commit_files(self, files: Mapping[str, bytes], *, parents: list[str] | None = None, branch: str = "") -> str:
        """A commit that holds exactly `files`; moves `branch` there if one is named."""
        tree = self.add_tree({path: self.add_blob(content) for path, content in files.items()})
        sha = self.add_commit(tree, parents or [], f"{len(files)} files")
        if branch:
            self.refs[f"refs/heads/{branch}"] = sha
        return sha

    def add_pull(self, number: int, *, head: str, base: str, head_repository: str | None = "", **more: Any) -> None:
        """Open a pull request; `head_repository` None is a fork that was deleted, "" is this repository itself."""
        source = self.repository if head_repository == "" else head_repository
        head_repo = None if source is None else {"full_name": source, "name": source.split("/")[1], "fork": True}
        self.pulls[number] = {
            "number": number,
            "state": "open",
            "head": {"sha": head, "ref": "change", "label": "octo:change", "repo": head_repo},
            "base": {"sha": base, "ref": self.default_branch, "label": "octo:main", "repo": {}},
            "merge_commit_sha": None,
            **more,
        }
        self.pull_files.setdefault(number, [])

    def add_comment(self, number: int, body: str, login: str | None = None) -> int:
        """Write a comment as `login` (the viewer if None); returns its id."""
        comment_id = next(self.ids)
        moment = self.now()
        self.comments[comment_id] = {
            "id": comment_id,
            "issue": number,
            "body": body,
            "user": {"login": login or self.viewer},
            "created_at": moment,
            "updated_at": moment,
        }
        return comment_id

    def add_run(self, head_sha: str, **more: Any) -> int:
        """A finished workflow run on a commit; returns its id."""
        run_id = next(self.ids)
        self.runs[run_id] = {
            "id": run_id,
            "name": "evals",
            "path": ".github/workflows/evals.yml",
            "event": "pull_request",
            "status": "completed",
            "conclusion": "failure",
            "run_attempt": 1,
            "head_sha": head_sha,
            "head_branch": "change",
            "head_repository": {"full_name": self.repository},
            "created_at": self.now(),
            **more,
        }
        return run_id

    def add_artifact(self, run_id: int, name: str, archive: bytes, *, expired: bool = False) -> int:
        """Upload an artifact (a zip) of a run; returns its id."""
        artifact_id = next(self.ids)
        self.artifacts[artifact_id] = {
            "id": artifact_id,
            "name": name,
            "size_in_bytes": len(archive),
            "expired": expired,
            "run": run_id,
        }
        self.archives[artifact_id] = archive
        return artifact_id

    def resolve(self, ref: str) -> str | None:
        """The commit that a SHA, a branch or a full ref names."""
        for name in (ref, f"refs/{ref}", f"refs/heads/{ref}"):
            if name in self.refs:
                return self.refs[name]
        return ref if ref in self.commits else None

    def ancestors(self, sha: str) -> list[str]:
        """A commit and all before it, nearest first."""
        seen: dict[str, None] = {}
        todo = [sha]
        while todo:
            current = todo.pop(0)
            if current not in seen and current in self.commits:
                seen[current] = None
                todo += self.commits[current].parents
        return list(seen)


def _sha(kind: str, value: Any) -> str:
    return hashlib.sha1(json.dumps([kind, value]).encode(), usedforsecurity=False).hexdigest()
