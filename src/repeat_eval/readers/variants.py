"""Files of one tool that hold the same cases, made with different models: these are different cases after all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import msgspec

from repeat_eval.readers.base import FileResults, identity
from repeat_eval.readers.documents import listed


def apart_by_variant(read: list[FileResults | None]) -> tuple[list[FileResults | None], list[str]]:
    """A case in files that were made with different models or the like is several: what differs goes before its name.

    The other cases of such a file are named alike, so that one file's cases stay together.

    Returns:
        The files, and a warning if any was changed.
    """
    if len({results.variant for results in read if results is not None}) < 2:
        return read, []
    variants: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for known in (results for results in read if results is not None):
        for case in dict.fromkeys(trial.case for trial in known.trials):
            variants[known.format, case].add(known.variant)
    contested = {key for key, found in variants.items() if len(found) > 1}
    if not contested:
        return read, []
    named: list[FileResults | None] = []
    told: dict[str, None] = {}
    for results in read:
        touched = results is not None and any((results.format, trial.case) in contested for trial in results.trials)
        if results is None or results.variant is None or not touched:
            named.append(results)
            continue
        told[results.variant] = None
        cases = {*results.asked, *(trial.case for trial in results.trials)}
        names = {case: identity(f"{results.variant}::{case}") for case in cases}
        trials = tuple(msgspec.structs.replace(trial, case=names[trial.case]) for trial in results.trials)
        asked = {names[case]: count for case, count in results.asked.items()}
        named.append(replace(results, trials=trials, asked=asked))
    text = listed(list(told))
    return named, [f"files that hold the same cases were made with different models, prompts or datasets: {text}"]
