"""Evaluations as ordinary tests: repeat-eval runs them several times and reads the results.

repeat-eval run --command 'pytest . --junitxml {results}' --repeats 10
"""

import os
import random


def agent(question):
    """A stand-in for your agent."""
    seed = os.environ.get("REPEAT_EVAL_TRIAL_SEED")
    greeting = random.Random(seed).choice(("Hello", "Hi", "Good morning"))
    return f"{greeting}, you asked: {question}"


def test_repeats_the_question():
    assert "Where is my order?" in agent("Where is my order?")


def test_greets():
    assert agent("Hello!").split(",")[0] in ("Hello", "Hi", "Good morning")
