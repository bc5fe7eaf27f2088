"""What each operation does: (state, request) -> status and the parts of the answer that matter.

Required parts that are left out here are filled from the description.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .state import State

COMMENT_LIMIT = 65_536
"""Characters; the description does not say it, GitHub's 422 does."""


class Refused(Exception):
    """An answer that is not what was asked for."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest", **more}


@dataclass(frozen=True)
class Request:
    """One request, read."""

    base: str
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """Status, body (None: none), headers; `pages` says that a list is to be cut into pages (under that key)."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    pages: bool = False
    key: str | None = None


Route = Callable[[State, Request], Answer]
R = TypeVar("R", bound=Route)
ROUTES: dict[tuple[str, str], Route] = {}
REPO = "/repos/{owner}/{repo}"


def route(method: str, template: str) -> Callable[[R], R]:
    """Enter a function under its operation."""

    def enter(function: R) -> R:
        ROUTES[method, template] = function
        return function

    return enter


def invalid(message: str = "Validation Failed", **error: str) -> Refused:
    """422 as GitHub writes it."""
    return Refused(422, message, errors=[{"code": "custom", **error}] if error else [])


def found(table: Mapping[Any, Any], key: Any) -> Any:
    """An entry, or 404."""
    if key not in table:
        raise Refused(404, "Not Found")
    return table[key]


@route("GET", "/user")
def user(state: State, request: Request) -> Answer:
    if state.viewer_is_integration:
        raise Refused(403, "Resource not accessible by integration")
    return Answer(200, {"login": state.viewer, "user_view_type": "public"})


@route("GET", REPO)
def repository(state: State, request: Request) -> Answer:
    owner, name = state.repository.split("/")
    return Answer(
        200,
        {
            "name": name,
            "full_name": state.repository,
            "owner": {"login": owner},
            "default_branch": state.default_branch,
            "private": state.private,
        },
    )


@route("GET", f"{REPO}/pulls")
def pulls(state: State, request: Request) -> Answer:
    """By state and `owner:branch`, as GitHub filters: the owner's repository is not told apart."""
    owner, _, branch = request.query.get("head", "").partition(":")
    listed = [
        {**each, "html_url": f"{request.base}/{state.repository}/pull/{each['number']}"}
        for each in state.pulls.values()
        if request.query.get("state", "open") in {"all", each["state"]}
        if not branch or (each["head"]["ref"] == branch and _owner(each) == owner.lower())
    ]
    return Answer(200, listed, pages=True)


def _owner(pull: Mapping[str, Any]) -> str:
    source = pull["head"]["repo"]
    return source["full_name"].split("/")[0].lower() if source else ""


@route("GET", f"{REPO}/pulls/{{pull_number}}")
def pull(state: State, request: Request) -> Answer:
    number = int(request.parameters["pull_number"])
    return Answer(200, {**found(state.pulls, number), "html_url": f"{request.base}/{state.repository}/pull/{number}"})


@route("GET", f"{REPO}/pulls/{{pull_number}}/files")
def pull_files(state: State, request: Request) -> Answer:
    return Answer(200, found(state.pull_files, int(request.parameters["pull_number"])), pages=True)


def comment_of(state: State, request: Request, comment: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in comment.items() if key != "issue"}
    page = f"{request.base}/{state.repository}/pull/{comment['issue']}#issuecomment-{comment['id']}"
    return {**shown, "html_url": page, "author_association": "NONE"}


def checked_comment(body: Any) -> str:
    text = str(body["body"])
    if not text.strip():
        raise invalid(field="body", message="body can't be blank")
    if len(text) > COMMENT_LIMIT:
        raise invalid(field="body", message=f"body is too long (maximum is {COMMENT_LIMIT} characters)")
    return text


@route("GET", f"{REPO}/issues/{{issue_number}}/comments")
def comments(state: State, request: Request) -> Answer:
    number = int(request.parameters["issue_number"])
    found(state.pulls, number)
    listed = [comment_of(state, request, each) for each in state.comments.values() if each["issue"] == number]
    return Answer(200, listed, pages=True)


@route("POST", f"{REPO}/issues/{{issue_number}}/comments")
def create_comment(state: State, request: Request) -> Answer:
    number = int(request.parameters["issue_number"])
    found(state.pulls, number)
    comment_id = state.add_comment(number, checked_comment(request.body))
    return Answer(201, comment_of(state, request, state.comments[comment_id]))


@route("GET", f"{REPO}/issues/comments/{{comment_id}}")
def one_comment(state: State, request: Request) -> Answer:
    return Answer(200, comment_of(state, request, found(state.comments, int(request.parameters["comment_id"]))))


@route("PATCH", f"{REPO}/issues/comments/{{comment_id}}")
def edit_comment(state: State, request: Request) -> Answer:
    comment = found(state.comments, int(request.parameters["comment_id"]))
    comment.update(body=checked_comment(request.body), updated_at=state.now())
    return Answer(200, comment_of(state, request, comment))


@route("DELETE", f"{REPO}/issues/comments/{{comment_id}}")
def delete_comment(state: State, request: Request) -> Answer:
    found(state.comments, int(request.parameters["comment_id"]))
    del state.comments[int(request.parameters["comment_id"])]
    return Answer(204)


def check_of(state: State, request: Request, check: Mapping[str, Any]) -> dict[str, Any]:
    output = {"title": None, "summary": None, "text": None, **check.get("output", {})}
    output["annotations_count"] = len(state.annotations[check["id"]])
    output["annotations_url"] = f"{request.base}/repos/{state.repository}/check-runs/{check['id']}/annotations"
    shown = {key: value for key, value in check.items() if key != "actions"}
    page = f"{request.base}/{state.repository}/runs/{check['id']}"
    return {**shown, "output": output, "html_url": page, "app": {"slug": "github-actions", "id": 15368}}


def change_check(state: State, check: dict[str, Any], body: Mapping[str, Any]) -> None:
    if body.get("status") == "completed" and not (body.get("conclusion") or check.get("conclusion")):
        raise invalid(field="conclusion", message="conclusion is required when the status is completed")
    output = dict(body.get("output") or {})
    state.annotations[check["id"]] += output.pop("annotations", [])
    output.pop("images", None)
    check.update({key: value for key, value in body.items() if key != "output"})
    check["output"] = {**check.get("output", {}), **output}
    if body.get("conclusion"):
        check["status"] = "completed"
        check["completed_at"] = body.get("completed_at") or state.now()


@route("POST", f"{REPO}/check-runs")
def create_check(state: State, request: Request) -> Answer:
    if request.body["head_sha"] not in state.commits:
        raise invalid(f"No commit found for SHA: {request.body['head_sha']}")
    check_id = next(state.ids)
    state.annotations[check_id] = []
    check = {"id": check_id, "status": "queued", "conclusion": None, "started_at": state.now()}
    change_check(state, check, request.body)
    state.checks[check_id] = check
    return Answer(201, check_of(state, request, check))


@route("GET", f"{REPO}/check-runs/{{check_run_id}}")
def one_check(state: State, request: Request) -> Answer:
    return Answer(200, check_of(state, request, found(state.checks, int(request.parameters["check_run_id"]))))


@route("PATCH", f"{REPO}/check-runs/{{check_run_id}}")
def update_check(state: State, request: Request) -> Answer:
    check = found(state.checks, int(request.parameters["check_run_id"]))
    change_check(state, check, request.body)
    return Answer(200, check_of(state, request, check))


@route("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations")
def annotations(state: State, request: Request) -> Answer:
    return Answer(200, found(state.annotations, int(request.parameters["check_run_id"])), pages=True)


@route("GET", f"{REPO}/commits/{{ref}}/check-runs")
def checks(state: State, request: Request) -> Answer:
    sha = known_commit(state, request.parameters["ref"])
    wanted = request.query.get("check_name")
    every = [each for each in state.checks.values() if each["head_sha"] == sha and wanted in {None, each["name"]}]
    if request.query.get("filter", "latest") == "latest":
        every = list({each["name"]: each for each in every}.values())
    return Answer(200, [check_of(state, request, each) for each in reversed(every)], pages=True, key="check_runs")


@route("POST", f"{REPO}/statuses/{{sha}}")
def create_status(state: State, request: Request) -> Answer:
    if request.parameters["sha"] not in state.commits:
        raise invalid(f"No commit found for SHA: {request.parameters['sha']}")
    if len(request.body.get("description") or "") > 140:
        raise invalid(field="description", message="description is too long (maximum is 140 characters)")
    status = {"id": next(state.ids), "context": "default", "description": None, "target_url": None, **request.body}
    state.statuses.append({"sha": request.parameters["sha"], **status})
    return Answer(201, {**status, "created_at": state.now(), "updated_at": state.now()})


@route("GET", f"{REPO}/commits/{{ref}}/statuses")
def statuses(state: State, request: Request) -> Answer:
    sha = known_commit(state, request.parameters["ref"])
    listed = [{k: v for k, v in each.items() if k != "sha"} for each in state.statuses if each["sha"] == sha]
    return Answer(200, listed[::-1], pages=True)


def known_commit(state: State, ref: str) -> str:
    sha = state.resolve(ref)
    if sha is None:
        raise invalid(f"No commit found for SHA: {ref}")
    return sha


def commit_of(state: State, sha: str) -> dict[str, Any]:
    commit = state.commits[sha]
    parents = [{"sha": parent} for parent in commit.parents]
    inner = {"message": commit.message, "tree": {"sha": commit.tree}}
    return {
        "sha": sha,
        "parents": parents,
        "commit": inner,
        "author": {"login": "octo"},
        "committer": {"login": "octo"},
    }


@route("GET", f"{REPO}/commits/{{ref}}")
def commit(state: State, request: Request) -> Answer:
    return Answer(200, commit_of(state, known_commit(state, request.parameters["ref"])))


@route("GET", f"{REPO}/compare/{{basehead}}")
def compare(state: State, request: Request) -> Answer:
    base, _, head = request.parameters["basehead"].partition("...")
    base_sha, head_sha = state.resolve(base), state.resolve(head)
    if base_sha is None or head_sha is None:
        raise Refused(404, "Not Found")
    of_base, of_head = state.ancestors(base_sha), state.ancestors(head_sha)
    common = next((sha for sha in of_head if sha in of_base), None)
    if common is None:
        raise Refused(404, f"No common ancestor between {base} and {head}.")
    before, after = (state.trees[state.commits[sha].tree] for sha in (common, head_sha))
    files = [
        {"filename": path, "status": kind, "sha": after.get(path, before.get(path))}
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
        for kind in ["added" if path not in before else "removed" if path not in after else "modified"]
    ]
    ahead, behind = len(set(of_head) - set(of_base)), len(set(of_base) - set(of_head))
    state_name = {(0, 0): "identical", (1, 0): "ahead", (0, 1): "behind"}.get((min(ahead, 1), min(behind, 1)))
    body = {
        "base_commit": commit_of(state, base_sha),
        "merge_base_commit": commit_of(state, common),
        "status": state_name or "diverged",
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "files": files[:300],
    }
    return Answer(200, body)


def ref_of(name: str, sha: str) -> dict[str, Any]:
    return {"ref": name, "object": {"type": "commit", "sha": sha}}


@route("GET", f"{REPO}/git/ref/{{ref}}")
def one_ref(state: State, request: Request) -> Answer:
    name = f"refs/{request.parameters['ref']}"
    return Answer(200, ref_of(name, found(state.refs, name)))


@route("POST", f"{REPO}/git/refs")
def create_ref(state: State, request: Request) -> Answer:
    name, sha = request.body["ref"], request.body["sha"]
    if not name.startswith("refs/") or name.count("/") < 2:
        raise invalid(f"{name} is not a valid ref name.")
    if name in state.refs:
        raise invalid("Reference already exists")
    if sha not in state.commits:
        raise invalid("Object does not exist")
    state.refs[name] = sha
    return Answer(201, ref_of(name, sha))


@route("PATCH", f"{REPO}/git/refs/{{ref}}")
def update_ref(state: State, request: Request) -> Answer:
    name, sha = f"refs/{request.parameters['ref']}", request.body["sha"]
    if name not in state.refs:
        raise invalid("Reference does not exist")
    if sha not in state.commits:
        raise invalid("Object does not exist")
    if not request.body.get("force") and state.refs[name] not in state.ancestors(sha):
        raise invalid("Update is not a fast forward")
    state.refs[name] = sha
    return Answer(200, ref_of(name, sha))


@route("DELETE", f"{REPO}/git/refs/{{ref}}")
def delete_ref(state: State, request: Request) -> Answer:
    if state.refs.pop(f"refs/{request.parameters['ref']}", None) is None:
        raise invalid("Reference does not exist")
    return Answer(204)


@route("POST", f"{REPO}/git/blobs")
def create_blob(state: State, request: Request) -> Answer:
    content = request.body["content"]
    encoded = request.body.get("encoding", "utf-8") == "base64"
    return Answer(201, {"sha": state.add_blob(base64.b64decode(content) if encoded else content.encode())})


@route("GET", f"{REPO}/git/blobs/{{file_sha}}")
def blob(state: State, request: Request) -> Answer:
    content = found(state.blobs, request.parameters["file_sha"])
    text = base64.encodebytes(content).decode()
    return Answer(
        200,
        {"sha": request.parameters["file_sha"], "size": len(content), "content": text, "encoding": "base64"},
    )


def tree_of(state: State, sha: str) -> dict[str, Any]:
    entries = [{"path": p, "mode": "100644", "type": "blob", "sha": s} for p, s in state.trees[sha].items()]
    return {"sha": sha, "tree": entries, "truncated": False}


@route("POST", f"{REPO}/git/trees")
def create_tree(state: State, request: Request) -> Answer:
    base = request.body.get("base_tree")
    files = dict(found(state.trees, state.commits[base].tree if base in state.commits else base)) if base else {}
    for entry in request.body["tree"]:
        if "content" in entry:
            files[entry["path"]] = state.add_blob(entry["content"].encode())
        elif entry.get("sha") is None:
            if files.pop(entry["path"], None) is None:
                raise invalid("GitRPC::BadObjectState")
        elif entry["sha"] in state.blobs:
            files[entry["path"]] = entry["sha"]
        else:
            raise invalid(f"tree.sha {entry['sha']} is not a valid blob")
    return Answer(201, tree_of(state, state.add_tree(files)))


@route("GET", f"{REPO}/git/trees/{{tree_sha}}")
def tree(state: State, request: Request) -> Answer:
    name = request.parameters["tree_sha"]
    sha = state.resolve(name)
    name = state.commits[sha].tree if sha else name
    found(state.trees, name)
    return Answer(200, tree_of(state, name))


def git_commit_of(state: State, sha: str) -> dict[str, Any]:
    kept = state.commits[sha]
    parents = [{"sha": parent} for parent in kept.parents]
    return {"sha": sha, "message": kept.message, "tree": {"sha": kept.tree}, "parents": parents}


@route("POST", f"{REPO}/git/commits")
def create_commit(state: State, request: Request) -> Answer:
    if request.body["tree"] not in state.trees:
        raise invalid("Tree SHA does not exist")
    parents = request.body.get("parents", [])
    if any(parent not in state.commits for parent in parents):
        raise invalid("Parent SHA does not exist or is not a commit object")
    return Answer(201, git_commit_of(state, state.add_commit(request.body["tree"], parents, request.body["message"])))


@route("GET", f"{REPO}/git/commits/{{commit_sha}}")
def git_commit(state: State, request: Request) -> Answer:
    found(state.commits, request.parameters["commit_sha"])
    return Answer(200, git_commit_of(state, request.parameters["commit_sha"]))


@route("GET", f"{REPO}/contents/{{path}}")
def contents(state: State, request: Request) -> Answer:
    sha = state.resolve(request.query.get("ref", state.default_branch))
    if sha is None:
        raise Refused(404, f"No commit found for the ref {request.query.get('ref')}")
    path = request.parameters["path"]
    blob_sha = found(state.trees[state.commits[sha].tree], path)
    content = state.blobs[blob_sha]
    small = len(content) <= 1_000_000
    body = {
        "type": "file",
        "encoding": "base64" if small else "none",
        "content": base64.encodebytes(content).decode() if small else "",
        "size": len(content),
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": blob_sha,
    }
    return Answer(200, body)


@route("GET", f"{REPO}/collaborators/{{username}}/permission")
def permission(state: State, request: Request) -> Answer:
    login = request.parameters["username"]
    given = state.permissions.get(login, "none" if state.private else "read")
    coarse = {"maintain": "write", "triage": "read"}.get(given, given)
    return Answer(200, {"permission": coarse, "role_name": given, "user": {"login": login, "role_name": given}})


def run_of(state: State, run: Mapping[str, Any]) -> dict[str, Any]:
    return {"html_url": f"https://github.com/{state.repository}/actions/runs/{run['id']}", **run}


@route("GET", f"{REPO}/actions/runs")
def runs(state: State, request: Request) -> Answer:
    named = {"head_sha": "head_sha", "event": "event", "branch": "head_branch", "status": "status"}
    listed = [
        run_of(state, run)
        for run in reversed(state.runs.values())
        if all(run[named[key]] == value for key, value in request.query.items() if key in named)
    ]
    return Answer(200, listed, pages=True, key="workflow_runs")


@route("GET", f"{REPO}/actions/runs/{{run_id}}")
def one_run(state: State, request: Request) -> Answer:
    return Answer(200, run_of(state, found(state.runs, int(request.parameters["run_id"]))))


@route("POST", f"{REPO}/actions/runs/{{run_id}}/rerun")
def rerun(state: State, request: Request) -> Answer:
    run = found(state.runs, int(request.parameters["run_id"]))
    if run["status"] != "completed":
        raise Refused(403, "This workflow is already running")
    run.update(status="queued", conclusion=None, run_attempt=run["run_attempt"] + 1)
    return Answer(201, {})


@route("GET", f"{REPO}/actions/runs/{{run_id}}/artifacts")
def artifacts(state: State, request: Request) -> Answer:
    run_id = int(request.parameters["run_id"])
    found(state.runs, run_id)
    listed = [
        {key: value for key, value in each.items() if key != "run"}
        for each in state.artifacts.values()
        if each["run"] == run_id and request.query.get("name") in {None, each["name"]}
    ]
    return Answer(200, listed, pages=True, key="artifacts")


@route("GET", f"{REPO}/actions/artifacts/{{artifact_id}}/{{archive_format}}")
def archive(state: State, request: Request) -> Answer:
    artifact = found(state.artifacts, int(request.parameters["artifact_id"]))
    if artifact["expired"]:
        raise Refused(410, "Artifact has expired")
    return Answer(302, headers={"Location": f"{request.base}/storage/{artifact['id']}?signature=made-up"})
