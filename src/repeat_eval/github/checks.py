"""The check run: opened before the work, completed whatever happens, never left hanging and never `neutral`.

GitHub counts `neutral` and `skipped` as passed where a check is required, so neither is ever used. Trouble with GitHub
is said once and turns nothing: the check then simply is not there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol

from repeat_eval.analysis.report import SuiteVerdict
from repeat_eval.github.annotations import Annotation
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.trouble import trouble
from repeat_eval.reports.escape import cut, markdown, markdown_code, terminal

Conclusion = Literal["success", "failure", "cancelled"]
Render = Callable[[int], str]
"""Gives the summary in Markdown with at most so many characters, and as many bytes."""

CONCLUSIONS: dict[SuiteVerdict, Conclusion] = {"pass": "success", "fail": "failure", "incomplete": "failure"}
SUMMARY_LIMIT = 65_535
"""Characters that GitHub takes as summary; kept in bytes too, which are never fewer."""
NAME_LIMIT = 255
"""Bytes of a name; a longer one could not be required by a rule."""
TITLE_LIMIT = 250
BATCH = 50
"""Annotations that GitHub takes in one request."""
_TOLD_LIMIT = 20_000
"""Bytes of the list of annotations that have no place."""
_EXTERNAL_ID = re.compile(r"repeat-eval run=(\d{1,20}) attempt=(\d{1,9})")


class CheckLike(Protocol):
    """A check run as the client lists it."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def status(self) -> str:
        """`completed`, or anything else while it is open."""

    @property
    def external_id(self) -> str | None:
        """What its writer noted."""


class CheckClient(Protocol):
    """What is needed of the client."""

    def checks(self, sha: str, name: str) -> Iterable[CheckLike]:
        """The check runs of a commit with a name."""

    def create_check(self, name: str, head_sha: str, **fields: object) -> int:
        """Create a check run; its number."""

    def update_check(self, check_id: int, **fields: object) -> object:
        """Change a check run."""


def check_name(text: str) -> str:
    """A name that GitHub takes and that stays the same for the same text: one line of at most 255 bytes.

    A longer text keeps its beginning and ends in a digest of the whole, so that two long names stay apart.
    """
    name = terminal(text, 10_000) or "repeat-eval"
    if len(name.encode()) <= NAME_LIMIT:
        return name
    digest = f"… {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    kept = name.encode()[: NAME_LIMIT - len(digest.encode())].decode("utf-8", "ignore")
    return kept + digest


@contextmanager
def open_check(
    client: CheckClient,
    head_sha: str,
    *,
    name: str,
    run: int,
    attempt: int,
    warn: Callable[[str], None],
    details_url: str | None = None,
    hurried: CheckClient | None = None,
    first: bool = False,
) -> Iterator[OpenCheck]:
    """A check run in progress for as long as the block lasts.

    At the start, open ones of the same name and commit that an older run of ours left behind are closed as cancelled.
    At the end, a check that the block has not completed is completed: as cancelled when the process was told to stop,
    else as failed. Requests: one to list unless it is the first, one to create, one to complete, one for each further
    50 annotations.

    Args:
        client: speaks to GitHub; its time is bounded by its own budget.
        head_sha: the pull request's head, or the commit that was pushed.
        name: stable, without figures: a rule may require it. See `check_name`.
        run: the workflow run's number. attempt: counted from 1.
        warn: is told in one sentence, at most once, that something could not be published.
        details_url: where the check leads to, such as the run's page.
        hurried: a client of little patience, which completes the check of a run that was cancelled or broke off; the
            usual one if None.
        first: no older run can have left a check at this commit, so none is looked for.

    Yields:
        The check, to be completed with `OpenCheck.complete`.
    """
    check = OpenCheck(client, warn, hurried)
    check.start(check_name(name), head_sha, run=run, attempt=attempt, details_url=details_url, first=first)
    try:
        yield check
    except Exception:
        check.give_up("failure", "The run broke off")
        raise
    except BaseException:
        check.give_up("cancelled", "The run was cancelled")
        raise
    finally:
        check.give_up("failure", "The run ended without a result")


class OpenCheck:
    """A check run that waits for its result; made by `open_check`."""

    def __init__(self, client: CheckClient, warn: Callable[[str], None], hurried: CheckClient | None = None) -> None:
        self._client = client
        self._hurried = hurried or client
        self._tell = warn
        self._warned = False
        self._id: int | None = None
        self._completed = False

    @property
    def id(self) -> int | None:
        """Its number; None when it could not be created."""
        return self._id

    def start(
        self, name: str, head_sha: str, *, run: int, attempt: int, details_url: str | None, first: bool = False
    ) -> None:
        """Close what an older run left open, then create the check."""
        stale_trouble = None
        try:
            for check in () if first else self._client.checks(head_sha, name):
                if check.status != "completed" and _is_older(check.external_id, (run, attempt)):
                    self._client.update_check(check.id, **_closed("cancelled", "Given up for a newer run"))
        except GitHubError as error:
            stale_trouble = error  # creating it matters more, and mostly fails for the same reason
        link = {"details_url": details_url} if details_url and details_url.startswith(("https://", "http://")) else {}
        try:
            self._id = self._client.create_check(
                name,
                head_sha,
                status="in_progress",
                external_id=f"repeat-eval run={run} attempt={attempt}",
                output={"title": "Running", "summary": "The evaluation is running."},
                **link,
            )
        except GitHubError as error:
            self._warn("the check was not created", error)
        else:
            if stale_trouble is not None:
                self._warn("checks that an older run left open were not closed", stale_trouble)

    def complete(
        self, conclusion: Conclusion, title: str, render: Render, annotations: Sequence[Annotation] = ()
    ) -> None:
        """Complete the check; does nothing when it could not be created or is complete already.

        Annotations without a place, and those that GitHub refuses, are listed at the end of the summary instead.

        Args:
            conclusion: see `CONCLUSIONS`; `cancelled` when the run was told to stop.
            title: one line of plain text.
            render: the summary within a limit.
            annotations: any number, in the order in which they are to show.
        """
        if self._id is None or self._completed:
            return
        if conclusion == "cancelled":
            self._client = self._hurried
        told = [annotation for annotation in annotations if not annotation.has_place]
        placed = [annotation for annotation in annotations if annotation.has_place]
        fields: dict[str, object] = {"status": "completed", "conclusion": conclusion}
        title = cut(terminal(title), TITLE_LIMIT) or "repeat-eval"
        for start in range(0, max(len(placed), 1), BATCH):
            batch = placed[start : start + BATCH]
            try:
                told = self._send(fields, title, render, batch, told)
            except GitHubError as error:
                what = "some annotations are missing" if self._completed else "the check was not completed"
                self._warn(what, error)
                return
            self._completed = True
            fields = {}

    def _send(
        self,
        fields: dict[str, object],
        title: str,
        render: Render,
        batch: Sequence[Annotation],
        told: list[Annotation],
    ) -> list[Annotation]:
        """Send one batch; gives the annotations that have to be told in the summary."""
        instead = [*told, *batch]
        for shown, listed in [(batch, told), ((), instead)][: 2 if batch else 1]:
            output: dict[str, object] = {"title": title, "summary": _summary(render, listed)}
            if shown:
                output["annotations"] = [annotation.fields() for annotation in shown]
            try:
                self._update(**fields, output=output)
            except GitHubError as error:
                if error.status != 422 or not (shown or fields):
                    raise
            else:
                return listed
        # The verdict must arrive, whatever it is that GitHub does not like about the text.
        self._update(**fields, output={"title": "repeat-eval", "summary": "See the job's summary."})
        return instead

    def give_up(self, conclusion: Conclusion, title: str) -> None:
        """Complete a check that has no result; does nothing for one that is complete."""
        if self._id is None or self._completed:
            return
        self._completed = True  # one try: whoever cancels does not wait
        self._client = self._hurried
        try:
            self._update(**_closed(conclusion, title))
        except GitHubError as error:
            self._warn("the check was not completed", error)

    def _update(self, **fields: object) -> None:
        if self._id is not None:
            self._client.update_check(self._id, **fields)

    def _warn(self, what: str, error: GitHubError) -> None:
        if not self._warned:
            self._warned = True
            self._tell(trouble(what, error))


def _closed(conclusion: Conclusion, title: str) -> dict[str, object]:
    summary = f"{title}: there is no verdict. See the job's log."
    return {"status": "completed", "conclusion": conclusion, "output": {"title": title, "summary": summary}}


def _is_older(external_id: str | None, than: tuple[int, int]) -> bool:
    """Whether a check is ours and of an older run or attempt; never for a check that somebody else made."""
    found = _EXTERNAL_ID.fullmatch(external_id or "")
    return found is not None and (int(found[1]), int(found[2])) < than


def _summary(render: Render, told: Sequence[Annotation]) -> str:
    """The summary with the list of annotations that have no place, within the limit."""
    tail = _listed(told) if told else ""
    text = render(SUMMARY_LIMIT - len(tail.encode()))
    whole = (text + tail).encode()
    return whole[:SUMMARY_LIMIT].decode("utf-8", "ignore")


def _listed(told: Sequence[Annotation]) -> str:
    lines = ["\n\n**Without a line in a file of the repository**\n"]
    room = _TOLD_LIMIT
    for number, one in enumerate(told):
        line = f"- {markdown_code(one.title)} {markdown(one.message)}"
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(f"- and {len(told) - number:,} more")
            break
        lines.append(line)
    return "\n".join(lines) + "\n"
