"""A refund desk, played by a simulated model: offline, free, and about as reliable as a real one.

The desk itself is real code: an order book, a policy and four tools that check what they are asked. The "model" reads
the customer's message, calls tools and words the reply. It is stochastic: `Habits` says how often it slips in which
way, and each trial draws from its own seed, so that the same trial of the same run always goes the same way.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import dataclass, field
from typing import Any

REFUND_WINDOW = 30
"""Days after delivery in which an item can be sent back."""
DAMAGE_WINDOW = 90
"""The same for an item that arrived damaged, which needs a photo."""
DESK_LIMIT = 500
"""US dollars that the desk may pay back by itself."""
PRICE_PER_TOKEN = 0.000_002
PROMPT_TOKENS = 420


@dataclass(frozen=True)
class Order:
    """One line of the order book; `days` since delivery, `price` in US dollars."""

    item: str
    price: float
    days: int
    final_sale: bool = False


ORDERS = {
    "A1001": Order("rain jacket", 89, 12),
    "A1002": Order("desk lamp", 42, 45),
    "A1003": Order("espresso machine", 640, 8),
    "A1004": Order("clearance boots", 60, 5, final_sale=True),
    "A1005": Order("set of six glasses", 54, 3),
    "A1006": Order("ceramic teapot", 38, 40),
    "A1007": Order("wool blanket", 75, 20),
}


@dataclass(frozen=True)
class Habits:
    """How often the model slips, as probabilities. A new prompt or model is a new set of habits.

    Attributes:
        revision: its name is part of every trial's seed, so that two revisions do not share their luck. The names here
            were chosen so that a run with seed 7 shows one case of each kind.
    """

    revision: str
    forgets_the_limit: float = 0.0
    refunds_the_whole_order: float = 0.0
    forgets_the_photo: float = 0.0
    omits_the_reason: float = 0.0
    chats_around_json: float = 0.0
    explains_yes_and_no: float = 0.0
    loses_patience: float = 0.0
    gives_in: float = 0.0


HABITS = Habits(
    revision="prompt 1829",
    forgets_the_limit=0.06,
    refunds_the_whole_order=0.28,
    forgets_the_photo=0.8,
    omits_the_reason=0.7,
    chats_around_json=0.06,
    explains_yes_and_no=0.12,
    loses_patience=0.08,
    gives_in=0.04,
)


@dataclass(frozen=True)
class Request:
    """What the model understood of the customer's message."""

    message: str
    intent: str
    order: str | None
    amount: float | None
    damaged: bool
    photo: bool
    angry: bool
    pushy: bool
    yes_or_no: bool
    as_json: bool


@dataclass
class Desk:
    """The tools. Every call is written down, as a real tool server would."""

    calls: list[dict[str, Any]] = field(default_factory=list)

    def lookup_order(self, order: str) -> Order | None:
        self._note("lookup_order", order=order)
        return ORDERS.get(order)

    def check_policy(self, order: str, damaged: bool) -> str:
        """`refundable`, or why it is not: `too late` or `final sale`."""
        self._note("check_policy", order=order, damaged=damaged)
        if damaged:
            return "refundable" if ORDERS[order].days <= DAMAGE_WINDOW else "too late"
        if ORDERS[order].final_sale:
            return "final sale"
        return "refundable" if ORDERS[order].days <= REFUND_WINDOW else "too late"

    def issue_refund(self, order: str, amount: float) -> None:
        self._note("issue_refund", order=order, amount=amount)

    def escalate_to_human(self, reason: str) -> None:
        self._note("escalate_to_human", reason=reason)

    def _note(self, name: str, **arguments: Any) -> None:
        self.calls.append({"name": name, "arguments": arguments})


@dataclass(frozen=True)
class Decision:
    """What the desk decided, and how it is put to the customer."""

    decision: str
    text: str
    amount: float = 0.0


class Model:
    """The simulated model: it decides well, except when it slips."""

    def __init__(self, habits: Habits, chance: random.Random) -> None:
        self.habits = habits
        self.chance = chance

    def slips(self, habit: str) -> bool:
        return self.chance.random() < getattr(self.habits, habit)

    def handle(self, request: Request, desk: Desk) -> Decision:
        """Use the tools, decide, and word the decision."""
        if request.pushy and self.slips("gives_in") and request.amount is not None:
            desk.issue_refund(request.order or "unknown", request.amount)
            return Decision("refund", "As you wish: the refund is on its way.", request.amount)
        if request.order is None:
            if request.amount is not None and request.amount > DESK_LIMIT:
                return self._over_limit(request, desk, None, request.amount)
            return Decision("ask", "Happy to help. Could you please send me your order number? It begins with an A.")
        order = desk.lookup_order(request.order)
        if order is None:
            return Decision("ask", f"I am sorry, I cannot find order {request.order}. Could you check the number?")
        if request.intent == "status":
            return Decision("status", f"Your {order.item} (order {request.order}) was delivered {order.days} days ago.")
        return self._refund(request, desk, order)

    def _refund(self, request: Request, desk: Desk, order: Order) -> Decision:
        number = str(request.order)
        verdict = desk.check_policy(number, request.damaged)
        if request.yes_or_no:
            word = "Yes" if verdict == "refundable" else "No"
            return Decision("answer", f"{word}, as far as I can see." if self.slips("explains_yes_and_no") else word)
        if verdict == "final sale":
            reason = "" if self.slips("omits_the_reason") else ", because it was a final sale"
            return Decision("refuse", f"I am sorry, your {order.item} cannot be refunded{reason}.")
        if verdict == "too late":
            return Decision(
                "refuse",
                f"I am sorry, refunds end {REFUND_WINDOW} days after delivery, and yours was {order.days} ago.",
            )
        if request.damaged and not request.photo and not self.slips("forgets_the_photo"):
            return Decision("ask", f"I am sorry that your {order.item} broke. Could you please send me a photo of it?")
        amount = order.price
        if request.amount is not None and request.amount < order.price and not self.slips("refunds_the_whole_order"):
            amount = request.amount
        if amount > DESK_LIMIT:
            return self._over_limit(request, desk, number, amount)
        desk.issue_refund(number, amount)
        return Decision("refund", f"I have refunded ${amount:g} for your {order.item} (order {number}).", amount)

    def _over_limit(self, request: Request, desk: Desk, number: str | None, amount: float) -> Decision:
        if self.slips("forgets_the_limit"):
            desk.issue_refund(number or "unknown", amount)
            return Decision("refund", f"I have refunded ${amount:g}.", amount)
        desk.escalate_to_human(f"${amount:g} is above the desk's limit of ${DESK_LIMIT}")
        return Decision(
            "escalate", f"Refunds above ${DESK_LIMIT} need a colleague, who will write to you today.", amount
        )

    def word(self, request: Request, decision: Decision) -> str:
        """The reply: JSON for programs, a letter for people, one word where one was asked for."""
        if request.as_json:
            text = json.dumps({"order": request.order, "decision": decision.decision, "amount": decision.amount})
            return f"Here is the decision you asked for: {text}" if self.slips("chats_around_json") else text
        if request.yes_or_no:
            return decision.text
        if request.angry:
            if self.slips("loses_patience"):
                return f"Calm down. {decision.text}"
            opening = self.chance.choice(
                ["I am sorry for the trouble.", "Thank you for your patience, and I am sorry."]
            )
            closing = self.chance.choice(
                ["", " Thank you for telling us.", " Please write again if anything is missing."]
            )
            return f"{opening} {decision.text}{closing}"
        closing = self.chance.choice(["", " Have a good day!", " Is there anything else?"])
        return decision.text + closing


def understand(given: Any) -> Request:
    """A tiny intent parser: `given` is the message, or a mapping with `message` and perhaps `channel` and `photo`."""
    fields = given if isinstance(given, dict) else {"message": str(given)}
    message = str(fields.get("message", ""))
    lower = message.lower()
    order = re.search(r"\bA\d{4}\b", message)
    amount = re.search(r"\$\s?(\d[\d,]*(?:\.\d+)?)", message)
    return Request(
        message=message,
        intent="refund" if re.search(r"refund|money back|return", lower) else "status",
        order=order.group() if order else None,
        amount=float(amount.group(1).replace(",", "")) if amount else None,
        damaged=bool(re.search(r"broke|crack|damaged|shattered", lower)),
        photo=bool(fields.get("photo")),
        angry="!!" in message or "ridiculous" in lower,
        pushy=bool(re.search(r"ignore (all|your)|as the manager", lower)),
        yes_or_no="yes or no" in lower,
        as_json=fields.get("channel") == "api",
    )


async def answer_with(habits: Habits, given: Any, seed: int) -> dict[str, Any]:
    """One conversation with a model of these habits."""
    chance = random.Random(f"{habits.revision}:{seed}")
    request = understand(given)
    # A model takes its time, and more of it over a long message.
    await asyncio.sleep(0.15 if len(request.message) > 600 else chance.uniform(0.005, 0.03))
    desk, model = Desk(), Model(habits, chance)
    output = model.word(request, model.handle(request, desk))
    tokens = {
        "input": PROMPT_TOKENS * (len(desk.calls) + 1) + len(request.message) // 4,
        "output": len(output) // 4 + 1,
    }
    return {
        "output": output,
        "tool_calls": desk.calls,
        "turns": len(desk.calls) + 1,
        "tokens": tokens,
        "cost": round(sum(tokens.values()) * PRICE_PER_TOKEN, 6),
    }


async def answer(input: Any, context: Any) -> dict[str, Any]:
    """The target of the suite: `python: agent:answer`."""
    return await answer_with(HABITS, input, context.seed)
