"""Trim GitHub's OpenAPI description to the operations that the test server answers.

    npm install @octokit/openapi@23.0.2      # MIT, in a folder of your own
    python scripts/trim_github_description.py node_modules/@octokit/openapi/generated/api.github.com.json

Kept: the operations below and the components they refer to. Dropped: examples, descriptions, extensions.
The result is the same for the same input, byte by byte.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "tests/github/server/description.json.gz"
SOURCE = "npm @octokit/openapi 23.0.2, generated/api.github.com.json, MIT License, (c) Octokit contributors"

OPERATIONS: dict[str, tuple[str, ...]] = {
    "/user": ("get",),
    "/repos/{owner}/{repo}": ("get",),
    "/repos/{owner}/{repo}/pulls": ("get",),
    "/repos/{owner}/{repo}/pulls/{pull_number}": ("get",),
    "/repos/{owner}/{repo}/pulls/{pull_number}/files": ("get",),
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": ("get", "post"),
    "/repos/{owner}/{repo}/issues/comments/{comment_id}": ("get", "patch", "delete"),
    "/repos/{owner}/{repo}/check-runs": ("post",),
    "/repos/{owner}/{repo}/check-runs/{check_run_id}": ("get", "patch"),
    "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations": ("get",),
    "/repos/{owner}/{repo}/commits/{ref}": ("get",),
    "/repos/{owner}/{repo}/commits/{ref}/check-runs": ("get",),
    "/repos/{owner}/{repo}/commits/{ref}/statuses": ("get",),
    "/repos/{owner}/{repo}/statuses/{sha}": ("post",),
    "/repos/{owner}/{repo}/compare/{basehead}": ("get",),
    "/repos/{owner}/{repo}/git/ref/{ref}": ("get",),
    "/repos/{owner}/{repo}/git/refs": ("post",),
    "/repos/{owner}/{repo}/git/refs/{ref}": ("patch", "delete"),
    "/repos/{owner}/{repo}/git/blobs": ("post",),
    "/repos/{owner}/{repo}/git/blobs/{file_sha}": ("get",),
    "/repos/{owner}/{repo}/git/trees": ("post",),
    "/repos/{owner}/{repo}/git/trees/{tree_sha}": ("get",),
    "/repos/{owner}/{repo}/git/commits": ("post",),
    "/repos/{owner}/{repo}/git/commits/{commit_sha}": ("get",),
    "/repos/{owner}/{repo}/contents/{path}": ("get",),
    "/repos/{owner}/{repo}/collaborators/{username}/permission": ("get",),
    "/repos/{owner}/{repo}/actions/runs": ("get",),
    "/repos/{owner}/{repo}/actions/runs/{run_id}": ("get",),
    "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun": ("post",),
    "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts": ("get",),
    "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}": ("get",),
}
DROPPED = {"example", "examples", "description", "externalDocs", "summary", "tags", "operationId", "title"}


def trimmed(value: Any, *, names: bool = False) -> Any:
    """`value` without prose and examples; `names` says that the keys of this object are names, not keywords."""
    if isinstance(value, list):
        return [trimmed(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        if not names and (key in DROPPED or key.startswith("x-")):
            continue
        if names and key.startswith("application/vnd."):
            continue
        if not names and key in {"enum", "default", "required"}:
            kept[key] = item
        else:
            kept[key] = trimmed(item, names=not names and key in {"properties", "responses", "headers", "content"})
    return kept


def references(value: Any) -> set[str]:
    """Every `$ref` inside a value."""
    if isinstance(value, list):
        return set().union(*map(references, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return found.union(*map(references, value.values()))


def trim(whole: dict[str, Any]) -> dict[str, Any]:
    """The description cut to `OPERATIONS` and what they refer to; KeyError names an operation that is missing."""
    paths: dict[str, Any] = {}
    for path, methods in sorted(OPERATIONS.items()):
        paths[path] = {method: trimmed(whole["paths"][path][method]) for method in methods}
    components: dict[str, dict[str, Any]] = {}
    todo = references(paths) | {"#/components/schemas/basic-error"}
    while todo:
        reference = todo.pop()
        kind, name = reference.removeprefix("#/components/").split("/", 1)
        if name in components.setdefault(kind, {}):
            continue
        components[kind][name] = trimmed(whole["components"][kind][name])
        todo |= references(components[kind][name])
    info = {"title": "GitHub REST API, trimmed", "version": whole["info"]["version"], "x-source": SOURCE}
    ordered = {kind: dict(sorted(parts.items())) for kind, parts in sorted(components.items())}
    return {"openapi": whole["openapi"], "info": info, "paths": paths, "components": ordered}


def main() -> None:
    """Read the whole description named on the command line and write the trimmed one."""
    result = trim(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    text = json.dumps(result, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    operations = sum(map(len, result["paths"].values()))
    print(f"{TARGET.name}: {operations} operations, {len(text):,} bytes, {TARGET.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()
