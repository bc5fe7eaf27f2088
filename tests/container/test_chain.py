"""The whole chain, by `uses: ./` on the example: red with comment and annotations, the same comment green, the store.

`python tests/container/chain.py FOLDER` goes the same way and leaves comments, checks, logs and badges as files.
"""

from __future__ import annotations

import json

import chain
from hub import Hub


def test_from_a_change_that_breaks_two_cases_to_its_fix_and_merge(github: Hub) -> None:
    first = chain.begin(github)
    assert first.verdict == "pass", first.ended.log
    assert first.comments == {}
    assert first.badge is not None and first.badge.endswith("pass")
    main = github.run_git("rev-parse", "main")

    broken = chain.broken(github)
    assert not broken.ended.workflow.green
    assert broken.verdict == "fail", broken.ended.log
    ((comment, body),) = broken.comments.items()
    assert body.startswith("### ❌ Worse than `main`: 2 of 13 cases broke, luck is very unlikely"), body
    for case in ("asks_for_photo_of_damage", "names_the_reason_of_a_refusal"):
        assert (
            f"| [`{case}`]({github.git.url}/octo/desk/blob/{github.run_git('rev-parse', 'change')}/refund_desk/" in body
        )
    assert [(fetch.wants, fetch.depth) for fetch in github.git.fetches] == [((main,), 1)]
    assert (broken.check["status"], broken.check["conclusion"]) == ("completed", "failure")
    assert broken.check["head_sha"] == github.run_git("rev-parse", "change")
    named = {each["path"] for each in broken.annotations}
    assert named == {"refund_desk/suite.yaml"}
    assert {each["annotation_level"] for each in broken.annotations} >= {"failure"}
    assert len(broken.annotations) >= 2
    assert broken.badge == first.badge

    fixed = chain.fixed(github)
    assert fixed.ended.workflow.green, fixed.ended.log
    assert fixed.verdict == "pass"
    assert list(fixed.comments) == [comment], "the same comment, edited"
    assert fixed.comments[comment].startswith("### ✅ "), fixed.comments[comment]
    assert fixed.check["conclusion"] == "success"
    assert fixed.check["id"] != broken.check["id"], "another commit has a check of its own"

    merged = chain.merged(github, github.merge("change"))
    assert merged.verdict == "pass", merged.ended.log
    runs = json.loads(github.stored()["refund-desk/runs.json"])["runs"]
    assert [run["commit"] for run in runs] == [main, github.run_git("rev-parse", "main")]
    assert merged.badge is not None and merged.badge != broken.badge
    assert merged.badge.split("%")[0].encode() in github.stored()["refund-desk/badge.svg"]

    for step in (first, broken, fixed, merged):
        assert step.ended.within_bounds(), step.ended.asked()
