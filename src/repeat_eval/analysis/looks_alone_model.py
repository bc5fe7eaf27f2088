"""Two looks of a run without a base, as a report holds them: which cases were run again, and what came of it.

Rates of the first look and of fresh trials are never added: cases are run again because their first look was low.
"""

from __future__ import annotations

import msgspec

from repeat_eval.analysis.second_look_model import LookCounts, LookEvidence, Outcome


class LowCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A case below its threshold in the first look, or that could be: judged by its fresh trials alone.

    Attributes:
        id: the case. outcome: confirmed, when its fresh trials fail the gate; not confirmed; or incomplete.
        first_head, fresh_head: the first look, and the re-run.
        pass_hat_k: pass^k from the fresh trials, by k.
        outcomes: letters of the fresh trials (P, F, E, S), bounded to 200. evidence: one that did not pass.
    """

    id: str
    outcome: Outcome
    first_head: LookCounts
    fresh_head: LookCounts
    pass_hat_k: dict[str, float | None] = {}
    outcomes: str = ""
    evidence: LookEvidence | None = None


class LooksAlone(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks of a run without a base.

    Attributes:
        first: trials of the first look, of cases without repeats of their own. fresh: of a case that is run again.
        cases: what was run again, in the suite's order. looked: cases that the rule holds for; the others, whose gate
            any miss fails or that have none, keep a fixed number of repeats.
        ended: whether the first look is whole, so that what is run again is settled.
        first_trials, fresh_trials: trials done. asked: fresh trials asked for.
        cost: US dollars of all trials, None unless all are known.
    """

    first: int
    fresh: int
    cases: tuple[LowCase, ...]
    looked: int
    ended: bool
    first_trials: int
    fresh_trials: int
    asked: int
    cost: float | None = None
