"""A check of our own for the refund desk: is the reply polite?"""

from __future__ import annotations

import re
from typing import Any

KIND = ("sorry", "thank", "please", "happy to help")
RUDE = ("calm down", "obviously", "as i said", "not my problem")


def polite(output: Any, context: Any) -> tuple[float, str]:
    """A score from 0 to 1 and the reason for it: 0.8 for one kind word, more for several, nothing for a rude one."""
    text = re.sub(r"\s+", " ", str(output)).lower()
    for phrase in RUDE:
        if phrase in text:
            return 0.0, f"it says `{phrase}`"
    kind = sum(word in text for word in KIND)
    if not kind:
        return 0.4, "not rude, but without a kind word"
    return min(1.0, 0.7 + 0.1 * kind), f"{kind} kind words"
