"""Fingerprints, each with one job: is it still the same case, and which target was it.

A fingerprint is the first 16 hexadecimal digits of a SHA-256 over canonical JSON (sorted keys, no spaces).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def fingerprint(value: Any) -> str:
    """Fingerprint of any JSON value; mappings that differ only in order have the same."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def case_fingerprint(case_input: Any, expect: Any, expected: Any = None, judges: Any = None) -> str:
    """Is it still the same case? Made of its input, its checks as written, its `expected:` value, and its judges.

    `judges` holds what decides their verdicts, wherever it was set; a case without judges has none.
    """
    made_of = {"input": case_input, "expect": expect, "expected": expected}
    return fingerprint({**made_of, "judges": judges} if judges else made_of)


def target_fingerprint(settings: Any, sources: dict[str, str]) -> str:
    """Which target was it? Made of the target's settings as written and the hashes of its source files by name."""
    return fingerprint({"settings": settings, "sources": sources})


def trial_seed(run_seed: int, case: str, repetition: int) -> int:
    """The seed of one trial, in [0, 2^56): a hash of run seed, case and repetition, so that no two trials share it."""
    return int.from_bytes(hashlib.sha256(f"{run_seed}:{case}:{repetition}".encode()).digest()[:7], "big")
