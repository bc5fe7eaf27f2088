"""The system under test, in place of a model: it answers questions and is not always right."""

from __future__ import annotations

import os
import random
from collections import Counter

QUALITY = 0.95
CAPITALS = {
    "Brazil": "Brasilia",
    "Canada": "Ottawa",
    "Egypt": "Cairo",
    "France": "Paris",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Norway": "Oslo",
    "Spain": "Madrid",
}
_asked: Counter[str] = Counter()


def answer(country: str) -> str:
    """The capital, or an excuse. Each call draws anew; the run's seed makes the draws the same again."""
    _asked[country] += 1
    dice = random.Random(f"{os.environ.get('REPEAT_EVAL_TRIAL_SEED')} {country} {_asked[country]}")
    return CAPITALS[country] if dice.random() < QUALITY else "I am not sure"
