"""The store: a branch of its own in the user's repository that holds counts of the default branch's runs, and badges.

It has no commit in common with the code. It is written through GitHub's API alone, one commit an update, each on top of
the commit that was read (compare and swap), so that of writers at the same time none takes back what another wrote.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repeat_eval.errors import UserError
from repeat_eval.github.errors import GitHubError
from repeat_eval.records.stored import Store, StoredRun, decode, encode

if TYPE_CHECKING:
    from repeat_eval.github.client import GitHub
    from repeat_eval.github.event import Context

BRANCH = "repeat-eval-store"
RUNS_FILE = "runs.json"
ATTEMPTS = 20
"""Tries of one update while others write."""
LONGEST_PAUSE = 3.0
"""Seconds between two tries at most; so all pauses together stay under a minute."""
_FIRST_PAUSE = 0.2
_NAME = 80


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A stored run to compare with, and how many commits it lies behind the commit that was looked for."""

    run: StoredRun
    behind: int


def folder_of(key: str) -> str:
    """The folder of a suite in the store: its key, with a hash where the key cannot be the name of a folder."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", key).strip(".-")[:_NAME]
    if plain and plain == key:
        return plain
    return f"{plain or 'suite'}-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def load(client: GitHub, key: str, *, branch: str = BRANCH) -> Store:
    """The runs that are stored for a key; an empty store where there is none. One request, at most 2.

    Raises:
        GitHubError: GitHub does not answer.
        UserError: the file in the store cannot be read.
    """
    return _decoded(client.read_file(branch, f"{folder_of(key)}/{RUNS_FILE}"))


def save(
    client: GitHub,
    context: Context,
    run: StoredRun,
    key: str,
    *,
    branch: str = BRANCH,
    files: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Add a run to the store, as one commit; at most 6 requests where nobody else writes.

    Args:
        client: speaks to GitHub. context: says whether this run may write.
        run: what is added. key: of the suite.
        branch: where the store is. files: more files of the suite's folder, such as badges.
        sleep: waits so many seconds, between tries.

    Returns:
        The SHA of the store's commit.

    Raises:
        UserError: this run must not write, or what is stored cannot be read; nothing is written then.
        GitHubError: GitHub refuses, or others were faster every time (409).
    """
    if not context.may_write_store:
        raise UserError("the store is written only by a push to, schedule or dispatch of the default branch")
    if branch in ("", context.default_branch):
        raise UserError("the store must have a branch of its own")
    folder, ref = folder_of(key), f"heads/{branch}"
    for attempt in range(ATTEMPTS):
        head = client.ref(ref)
        store = Store() if head is None else _decoded(client.read_file(head, f"{folder}/{RUNS_FILE}"))
        contents = {RUNS_FILE: encode(store.with_run(run)), **(files or {})}
        tree = client.create_tree(
            {f"{folder}/{name}": text for name, text in contents.items()},
            base=None if head is None else client.commit(head).tree,
        )
        commit = client.create_commit(_message(run), tree, [] if head is None else [head])
        try:
            if head is None:
                client.create_ref(ref, commit)
            else:
                client.update_ref(ref, commit, expected=head)
        except GitHubError as error:
            if error.status != 409 or attempt == ATTEMPTS - 1:
                raise
            # Chance keeps writers that collided once from colliding again.
            longest = min(_FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
            sleep(longest * secrets.randbelow(1000) / 1000)
            continue
        return commit
    raise AssertionError("the loop ends by return or raise")


def nearest(client: GitHub, runs: Sequence[StoredRun], commit: str, *, selection: bool = False) -> Ancestor | None:
    """The stored run of a commit, else of an ancestor; None when there is none that two questions to GitHub find.

    Only what gives a verdict counts. Of several runs of one commit the newest counts.

    The first question is about the newest run. If that is k commits ahead, then on a branch without merges the run k
    places before it lies before `commit`, or is not there at all; the second question makes sure.

    Args:
        client: speaks to GitHub. runs: oldest first. commit: the full SHA of base.
        selection: also runs of a part of the suite.

    Raises:
        GitHubError: GitHub does not answer.
    """
    by_commit = {
        run.commit: run
        for run in runs
        if run.verdict != "incomplete" and (selection or not (run.selection.cases or run.selection.tags))
    }
    if commit in by_commit:
        return Ancestor(by_commit[commit], 0)
    newest_first = sorted(by_commit.values(), key=lambda run: run.started, reverse=True)
    place = 0
    for _ in range(2):
        if place >= len(newest_first):
            return None
        run = newest_first[place]
        try:
            compared = client.compare(run.commit, commit)
        except GitHubError as error:
            if error.status != 404:
                raise
            place += 1  # the commit is gone, or has nothing in common with base
            continue
        if compared.merge_base == run.commit:
            return Ancestor(run, compared.ahead)
        place += max(compared.behind, 1)
    return None


def _decoded(data: bytes | None) -> Store:
    return Store() if data is None else decode(data)


def _message(run: StoredRun) -> str:
    name = " ".join(run.suite.split())[:_NAME]
    return f"{name}: run of {run.commit[:12]}"
