"""Which cases of a suite are run: globs on ids and tags."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from repeat_eval.records.run import Selection
from repeat_eval.suite.spec import CaseSpec


def select(cases: Sequence[CaseSpec], globs: Sequence[str], tags: Sequence[str]) -> tuple[CaseSpec, ...]:
    """The cases whose id matches one of `globs` (or is one, letter by letter) and that have one of `tags`.

    An empty sequence selects everything. The order of the suite stays.
    """
    selection = Selection(cases=tuple(globs), tags=tuple(tags))
    return tuple(case for case in cases if selection.takes(case.id, case.tags))


def nothing_selected(cases: Sequence[CaseSpec], globs: Sequence[str], tags: Sequence[str]) -> str:
    """Sentence for a selection that matches no case, with the names that were perhaps meant."""
    asked = [*(f"--case {glob}" for glob in globs), *(f"--tag {tag}" for tag in tags)]
    ids = [case.id for case in cases]
    known_tags = sorted({tag for case in cases for tag in case.tags})
    near = [match for glob in globs for match in difflib.get_close_matches(glob, ids, n=2)]
    near += [match for tag in tags for match in difflib.get_close_matches(tag, known_tags, n=2)]
    hint = f"; near: {', '.join(dict.fromkeys(near))}" if near else ""
    return f"no case matches {' '.join(asked)} (the suite has {len(ids)} cases){hint}"
