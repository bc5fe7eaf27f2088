"""A stand-in for your agent: replace the body of `answer` with a call of your own code.

It may be sync or async, and may take a second argument, the trial's context (seed, repetition, tmpdir, ...).
It returns text, or a mapping with `output` and, if you have them, `tool_calls`, `tokens`, `cost` and `turns`.
"""

GREETINGS = ("Hello", "Hi", "Good morning")


async def answer(input, context):
    """Answer one question, a little differently each time, as a model would."""
    greeting = context.random.choice(GREETINGS)
    question = input["question"]
    if "order" in question:
        return {
            "output": f"{greeting} {input['name']}, your order is on its way.",
            "tool_calls": [{"name": "lookup_order", "arguments": {"order": "1001"}}],
            "turns": 2,
        }
    if "open" in question:
        return f"{greeting} {input['name']}, we open at {context.random.choice(('9 am', '9:00'))}."
    return f"{greeting} {input['name']}!"
