"""Ways to answer that tests share."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .asked import Asked
from .replies import Reply, call, say

Answerer = Callable[[Asked], Reply]


def always(reply: Reply) -> Answerer:
    """The same answer to everything."""
    return lambda asked: reply


def in_turn(*replies: Reply) -> Answerer:
    """One reply after another, whoever asks; the last one for ever."""
    left = list(replies)
    lock = threading.Lock()

    def answer(asked: Asked) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer


def sometimes(share: float, usual: Answerer, otherwise: Answerer, *, seed: int = 0) -> Answerer:
    """`usual` with this probability, else `otherwise`: the same draws for the same questions on every machine."""
    return lambda asked: (usual if asked.random(seed).random() < share else otherwise)(asked)


def agent(tool: str, *, done: str = "Done.", **arguments: object) -> Answerer:
    """Calls one tool, then says that it is done."""
    return lambda asked: say(done) if asked.tool_results else call(tool, **arguments)


@dataclass
class Bucket:
    """Lets `rate` requests a second through, and up to `burst` at once after a rest."""

    rate: float
    burst: float = 1.0
    clock: Callable[[], float] = time.monotonic
    filled: float | None = None
    looked: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_for(self) -> float:
        """Seconds until the next request would be let through; 0 takes one out of the bucket."""
        with self.lock:
            now = self.clock()
            filled = self.burst if self.filled is None else self.filled + (now - self.looked) * self.rate
            self.looked, self.filled = now, min(self.burst, filled)
            # What is missing by rounding is there.
            if self.filled < 1 - 1e-9:
                return (1 - self.filled) / self.rate
            self.filled -= 1
            return 0.0

    @staticmethod
    def headers(wait: float) -> dict[str, str]:
        """As OpenAI says it: whole seconds for everyone, milliseconds for who can read them."""
        return {"Retry-After": str(math.ceil(wait)), "retry-after-ms": str(math.ceil(wait * 1000))}
