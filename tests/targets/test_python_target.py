from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.records.trial import Tokens, ToolCall
from repeat_eval.suite.checks.base import Answer, NoVerdict, Observation, Score
from repeat_eval.suite.checks.python import Python
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.python_target import (
    PythonCheck,
    PythonTarget,
    answer_from,
    answer_from_object,
    error_from_exception,
    find_interpreter,
)
from repeat_eval.targets.worker import TrialContext, bind, is_async
from repeat_eval.targets.worker_pool import WorkerPool

MODULE = """
import decimal, math


class RateLimited(Exception):
    status_code = 429
    retry_after = 2.5


def answers(input):
    return {"output": "done", "tool_calls": [{"name": "refund", "arguments": {"id": 1}}], "cost": 0.01}


async def answers_async(input, context):
    return context.case


def reports_its_time(input):
    return {"output": "", "duration": 12.5}


def raises(input):
    raise ValueError("no such\\n  order")


async def raises_async(input):
    raise ValueError("no such order")


def raises_in_the_library(input):
    import json
    json.loads("{")


def raises_without_text(input):
    raise KeyError


def raises_something_unprintable(input):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
        @property
        def status_code(self):
            raise RuntimeError
    raise Odd


def raises_a_novel(input):
    raise ValueError("x" * 1_000_000)


def exits(input):
    raise SystemExit("bye")


async def exits_async(input):
    raise SystemExit(429)


def interrupts(input):
    raise KeyboardInterrupt


async def cancels_itself(input):
    import asyncio
    raise asyncio.CancelledError


def is_limited(input):
    raise RateLimited("slow down")


async def loses_the_connection(input):
    raise ConnectionResetError("peer went away")


def decimal_output(input):
    return {"output": decimal.Decimal("1.5")}


def nan(input):
    return {"output": "x", "cost": math.nan}


def circle(input):
    value = []
    value.append(value)
    return value


def deep(input):
    value = []
    for _ in range(100_000):
        value = [value]
    return value


def deep_enough_to_be_sent(input):
    value = []
    for _ in range(input):
        value = [value]
    return value


def huge(input):
    return "x" * 5_000_001


def generator(input):
    yield 1


def surrogate(input):
    return "a\\ud800b"


def recurses(input):
    return recurses(input)


def judge(output, context):
    if output == "raise":
        raise ValueError("broken judge")
    return output == context.expected, "compared"


class Agent:
    def run(self, input):
        return "by a method"

    async def __call__(self, input):
        return "by an object"


agent = Agent()
NUMBER = 3


def takes_nothing():
    pass


def takes_three(a, b, c):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "python_agent.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def call_of(value: Any = None) -> Call:
    return Call(case="a", input=value, repetition=1, repeats=5, seed=7, timeout=30)


def ask(folder: Path, reference: str, value: Any = None, **settings: Any) -> Answer:
    """One call of a target, from its start to its end."""

    async def go() -> Answer:
        pool = WorkerPool(settings.pop("interpreter", Path(sys.executable)), folder, **settings)
        target = PythonTarget(reference, pool)
        try:
            await target.start()
            answer, attempts = await target.answer(call_of(value))
        finally:
            await target.close()
        assert attempts == 1
        return answer

    return asyncio.run(asyncio.wait_for(go(), 60))


def error_of(folder: Path, name: str, value: Any = None) -> TargetError:
    with pytest.raises(TargetError) as caught:
        ask(folder, f"python_agent:{name}", value)
    return caught.value


def refusal_of(folder: Path, reference: str, **settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        ask(folder, reference, **settings)
    return str(caught.value)


def test_a_function_answers_and_its_time_is_measured(folder: Path) -> None:
    answer = ask(folder, "python_agent:answers")
    assert (answer.output, answer.tool_calls, answer.cost) == ("done", (ToolCall("refund", {"id": 1}),), 0.01)
    assert answer.duration is not None
    assert 0 <= answer.duration < 10
    assert ask(folder, "python_agent:answers_async").output == "a"


def test_a_duration_that_the_function_reports_holds(folder: Path) -> None:
    assert ask(folder, "python_agent:reports_its_time").duration == 12.5


def test_methods_and_objects_are_functions_too(folder: Path) -> None:
    assert ask(folder, "python_agent:agent.run").output == "by a method"
    assert ask(folder, "python_agent:agent").output == "by an object"


def line_of(text: str) -> int:
    return MODULE[: MODULE.index(text)].count("\n") + 1


@pytest.mark.parametrize("name", ["raises", "raises_async"])
def test_an_exception_is_a_crash_with_its_text_and_place(folder: Path, name: str) -> None:
    error = error_of(folder, name)
    place = line_of(f"def {name}(") + 1
    assert (error.kind, error.message) == ("crash", f"ValueError: no such order (python_agent.py:{place})")


def test_an_exception_of_a_library_is_placed_in_the_users_code(folder: Path) -> None:
    assert f"(python_agent.py:{line_of('json.loads')})" in error_of(folder, "raises_in_the_library").message


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("raises_without_text", "KeyError ("),
        ("raises_something_unprintable", "Odd: (its text cannot be had) ("),
        ("raises_a_novel", "ValueError: xxx"),
        ("exits", "SystemExit: bye ("),
        ("exits_async", "SystemExit: 429 ("),
        ("interrupts", "KeyboardInterrupt ("),
        ("cancels_itself", "CancelledError ("),
        ("recurses", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_whatever_is_raised_is_a_crash_in_one_line(folder: Path, name: str, start: str) -> None:
    error = error_of(folder, name)
    assert error.kind == "crash"
    assert error.message.startswith(start)
    assert "\n" not in error.message
    assert len(error.message) < 700


def test_troubles_of_a_provider_are_told_apart_with_the_time_to_wait(folder: Path) -> None:
    error = error_of(folder, "is_limited")
    assert (error.kind, error.retry_after) == ("provider", 2.5)
    assert error_of(folder, "loses_the_connection").kind == "provider"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("decimal_output", "a Decimal is not JSON"),
        ("nan", "NaN or Infinity"),
        ("circle", "Circular reference"),
        ("deep", "nested too deeply"),
        ("huge", "5.0 MB of JSON; at most 5 MB"),
        ("generator", "a generator is not JSON"),
    ],
)
def test_what_is_not_json_is_a_crash_that_says_what_it_is(folder: Path, name: str, said: str) -> None:
    error = error_of(folder, name)
    assert error.kind == "crash"
    assert said in error.message


@pytest.mark.parametrize("depth", [900, 990, 1_100, 3_000])
def test_deep_nesting_is_an_answer_or_an_error_but_never_the_end(folder: Path, depth: int) -> None:
    try:
        answer = ask(folder, "python_agent:deep_enough_to_be_sent", depth)
    except TargetError as error:
        assert (error.kind, "nested too deeply" in error.message) == ("crash", True)
    else:
        assert isinstance(answer.output, list)


def test_lone_surrogates_do_not_break_the_line(folder: Path) -> None:
    assert ask(folder, "python_agent:surrogate").output == "a?b"


# ---- loading


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("python_agent", "must be written module:function"),
        ("python agent:f", "must be written module:function"),
        ("no_such_module:f", "there is no module 'no_such_module' (interpreter "),
        ("python_agent.sub:f", "there is no module 'python_agent.sub'"),
        ("python_agent:rases", "has no 'rases'; did you mean 'raises'"),
        ("python_agent:agent.rum", "has no 'rum'; did you mean 'run'?"),
        ("python_agent:NUMBER", "is an int, not a function"),
        ("python_agent:takes_nothing", "takes no argument"),
        ("python_agent:takes_three", "needs 3 arguments"),
        ("needy:f", "the module 'needy' needs 'no_such_package', which is not installed (interpreter "),
        ("crooked:f", "has a syntax error: invalid syntax (crooked.py:2)"),
        ("raising:f", "could not be imported: ZeroDivisionError: division by zero (raising.py:1)"),
        ("exiting:f", "could not be imported: SystemExit: 3 (exiting.py:2)"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_said_in_one_sentence(folder: Path, reference: str, said: str) -> None:
    (folder / "needy.py").write_text("import no_such_package\n")
    (folder / "crooked.py").write_text("\ndef f(:\n")
    (folder / "raising.py").write_text("1 / 0\n")
    (folder / "exiting.py").write_text("import sys\nsys.exit(3)\n")
    text = refusal_of(folder, reference)
    assert said in text
    assert "\n" not in text
    assert "Traceback" not in text


def test_all_functions_that_cannot_be_loaded_are_named_at_once(folder: Path) -> None:
    async def go() -> str:
        pool = WorkerPool(Path(sys.executable), folder)
        targets = [PythonTarget(reference, pool) for reference in ("python_agent:one", "missing:two")]
        with pytest.raises(UserError) as caught:
            await targets[0].start()
        await targets[0].close()
        return str(caught.value)

    first, second = asyncio.run(go()).splitlines()
    assert first.startswith("python_agent:one: ")
    assert second.startswith("missing:two: ")


def test_the_suites_folder_comes_before_what_is_installed(folder: Path) -> None:
    (folder / "msgspec.py").write_text("def f(input): return 'mine'\n")
    assert ask(folder, "msgspec:f").output == "mine"


def test_the_names_of_our_own_files_hide_nothing_from_the_functions(folder: Path) -> None:
    (folder / "imports.py").write_text("import http.client\ndef f(input): return http.client.OK\n")
    assert ask(folder, "imports:f").output == 200


# ---- the user's environment


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds another pydantic than ours and none of our packages."""
    made = tmp_path_factory.mktemp("user") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    packages = next(made.glob("lib/python*/site-packages"))
    (packages / "pydantic").mkdir()
    (packages / "pydantic" / "__init__.py").write_text('VERSION = "1.10"\n')
    (made.parent / "old_agent.py").write_text(
        "import os, sys, pydantic\n"
        "def version(input):\n    return [pydantic.VERSION, sys.prefix]\n"
        "def ours(input):\n    import repeat_eval\n"
    )
    return made


def test_functions_run_in_the_environment_beside_the_suite(environment: Path) -> None:
    folder = environment.parent
    interpreter = find_interpreter(folder)
    assert interpreter == environment / "bin" / "python"
    assert ask(folder, "old_agent:version", interpreter=interpreter).output == ["1.10", str(environment)]


def test_none_of_our_packages_is_seen_there(environment: Path) -> None:
    with pytest.raises(TargetError, match="ModuleNotFoundError: No module named 'repeat_eval'"):
        ask(environment.parent, "old_agent:ours", interpreter=find_interpreter(environment.parent))


def test_without_an_environment_our_own_python_is_taken(tmp_path: Path) -> None:
    assert find_interpreter(tmp_path) == Path(sys.executable)


def test_an_interpreter_may_be_named_by_path_by_environment_or_by_name(environment: Path, tmp_path: Path) -> None:
    python = environment / "bin" / "python"
    assert find_interpreter(tmp_path, str(python)) == python
    assert find_interpreter(tmp_path, str(environment)) == python
    assert find_interpreter(environment.parent, ".venv/bin/python") == python
    assert os.access(find_interpreter(tmp_path, "python3"), os.X_OK)


@pytest.mark.parametrize("given", ["no/such/python", "no-such-python-here", ".", ""])
def test_an_interpreter_that_is_not_there_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(UserError, match="`--python`"):
        find_interpreter(tmp_path, given)


def test_an_environment_whose_python_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match="a link to nothing"):
        find_interpreter(tmp_path)


# ---- checks


def judge(folder: Path, output: Any, expected: Any) -> Score:
    async def go() -> Score:
        pool = WorkerPool(Path(sys.executable), folder)
        check = PythonCheck(Python("python_agent:judge"), pool)
        await pool.start()
        try:
            answer = Answer(output=output, tool_calls=(ToolCall("t"),))
            seen = Observation(case="a", repetition=1, input="in", answer=answer, duration=0.5, expected=expected)
            return await check.judge(seen, call_of())
        finally:
            await pool.close()

    return asyncio.run(asyncio.wait_for(go(), 60))


def test_a_check_function_judges_in_a_worker(folder: Path) -> None:
    assert judge(folder, "yes", "yes") == Score(True, 1.0, "compared")
    assert judge(folder, "yes", "no") == Score(False, 0.0, "compared")


def test_a_check_function_that_raises_gives_no_verdict(folder: Path) -> None:
    with pytest.raises(NoVerdict, match="python_agent:judge gave no verdict: ValueError: broken judge"):
        judge(folder, "raise", None)


# ---- what functions may return


@pytest.mark.parametrize("value", ["text", "", 1, None, True, [1], {}, {"answer": 1}, {"tool_calls": [], "other": 1}])
def test_any_other_value_is_the_output_itself(value: Any) -> None:
    assert answer_from(value) == Answer(output=value)


def test_a_mapping_with_output_is_an_answer_with_its_circumstances() -> None:
    value = {
        "output": {"a": 1},
        "tool_calls": None,
        "tokens": {"input": 3, "output": 4},
        "cost": 0,
        "turns": 2,
        "duration": 1,
        "cached": True,
        "trace": "ignored",
    }
    assert answer_from(value) == Answer(
        output={"a": 1}, tokens=Tokens(3, 4), cost=0.0, turns=2, duration=1.0, cached=True
    )


def test_an_agent_may_answer_with_tool_calls_alone() -> None:
    assert answer_from({"tool_calls": ["a"], "turns": 1}) == Answer(tool_calls=(ToolCall("a"),), turns=1)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("search", ToolCall("search")),
        (["search"], ToolCall("search")),
        (["search", {"q": 1}], ToolCall("search", {"q": 1})),
        ({"name": "search", "arguments": {"q": 1}}, ToolCall("search", {"q": 1})),
        ({"name": "search", "args": [1]}, ToolCall("search", [1])),
        ({"name": "search", "input": {"q": 1}, "id": "x"}, ToolCall("search", {"q": 1})),
        ({"name": "search"}, ToolCall("search")),
        ({"function": {"name": "search", "arguments": '{"q": 1}'}, "type": "function"}, ToolCall("search", {"q": 1})),
        ({"function": {"name": "search", "arguments": "{"}}, ToolCall("search", "{")),
    ],
)
def test_tool_calls_may_be_written_in_several_ways(written: Any, read: ToolCall) -> None:
    assert answer_from({"output": "", "tool_calls": [written]}).tool_calls == (read,)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"prompt": 1, "completion": 2}, Tokens(1, 2)),
        ({"input_tokens": 1, "output_tokens": 2, "total": 3}, Tokens(1, 2)),
        ({"prompt_tokens": 1.0}, Tokens(1, None)),
        ({}, Tokens()),
    ],
)
def test_tokens_may_be_written_in_several_ways(written: Any, read: Tokens) -> None:
    assert answer_from({"output": "", "tokens": written}).tokens == read


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"tool_calls": "search"}, "`tool_calls` of the answer must be a list, not text"),
        ({"tool_calls": [1]}, "`tool_calls[0]` of the answer must be a name"),
        ({"tool_calls": ["a", {"arguments": 1}]}, "`tool_calls[1]`"),
        ({"tool_calls": [[]]}, "`tool_calls[0]`"),
        ({"tokens": 5}, "`tokens` of the answer must be a mapping"),
        ({"tokens": {"input": -1}}, "`tokens.input` of the answer must be a whole number"),
        ({"tokens": {"input": 1.5}}, "`tokens.input`"),
        ({"cost": "0.1"}, '`cost` of the answer must be a number that is not negative, not text ("0.1")'),
        ({"cost": -0.1}, "`cost`"),
        ({"cost": True}, "`cost`"),
        ({"cost": math.inf}, "`cost`"),
        ({"turns": 1.5}, "`turns`"),
        ({"duration": -1}, "`duration`"),
        ({"cached": "yes"}, "`cached` of the answer must be true or false"),
    ],
)
def test_a_part_of_the_wrong_shape_is_a_crash_that_names_it(part: dict[str, Any], said: str) -> None:
    with pytest.raises(TargetError) as caught:
        answer_from({"output": "", **part})
    assert caught.value.kind == "crash"
    assert said in caught.value.message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["output", "tool_calls", "tokens", "cost", "turns", "duration", "cached", "function", "name"])


@given(st.dictionaries(keys, json_values) | json_values)
def test_any_value_is_an_answer_or_a_crash(value: Any) -> None:
    for read in (answer_from, answer_from_object):
        try:
            assert isinstance(read(value), Answer)
        except TargetError as error:
            assert error.kind == "crash"


def test_in_our_own_process_values_take_the_same_way_through_json() -> None:
    assert answer_from_object("text") == Answer(output="text")
    assert answer_from_object({"output": (1, 2)}) == Answer(output=[1, 2])
    with pytest.raises(TargetError, match="a set is not JSON"):
        answer_from_object({1, 2})
    with pytest.raises(TargetError, match="NaN"):
        answer_from_object({"output": "", "cost": math.nan})


# ---- exceptions and signatures, as the Python API uses them


class Response:
    def __init__(self, status: int, **headers: str) -> None:
        self.status_code = status
        self.headers = headers


def exception_with(kind: type[Exception] = Exception, **attributes: Any) -> Exception:
    error = kind("trouble")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529, 599])
@pytest.mark.parametrize("attribute", ["status_code", "status", "code"])
def test_a_status_that_invites_another_try_is_the_providers(status: int, attribute: str) -> None:
    assert error_from_exception(exception_with(**{attribute: status})).kind == "provider"


@pytest.mark.parametrize("status", [200, 400, 401, 404, 422, 600, True, "429", None])
def test_other_statuses_are_the_targets_own(status: Any) -> None:
    assert error_from_exception(exception_with(status_code=status)).kind == "crash"
    assert error_from_exception(exception_with(response=Response(status))).kind == "crash"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [({"retry-after": "3"}, 3.0), ({"Retry-After": "0.5"}, 0.5), ({"Retry-After": "soon"}, None), ({}, None)],
)
def test_retry_after_is_read_from_the_response(header: dict[str, str], seconds: float | None) -> None:
    error = error_from_exception(exception_with(response=Response(503, **header)))
    assert (error.kind, error.retry_after) == ("provider", seconds)


def test_retry_after_may_be_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    error = error_from_exception(exception_with(response=Response(429, **{"Retry-After": when})))
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 60


@pytest.mark.parametrize("kind", [ConnectionResetError, ConnectionRefusedError, TimeoutError])
def test_troubles_of_the_network_are_the_providers(kind: type[Exception]) -> None:
    assert error_from_exception(kind("x")).kind == "provider"


def test_errors_of_http_libraries_are_known_by_their_names() -> None:
    import httpx

    assert error_from_exception(httpx.ConnectTimeout("x")).kind == "provider"
    assert error_from_exception(httpx.InvalidURL("x")).kind == "crash"


def one(value: Any) -> Any:
    return [value]


def two(value: Any, told: Any) -> Any:
    return [value, told]


def two_with_setting(value: Any, model: str = "small") -> Any:
    return [value, model]


def two_with_default(value: Any, context: Any = None) -> Any:
    return [value, context]


def by_keyword(value: Any, *, context: Any) -> Any:
    return [value, context]


def later(value: Any, model: str = "small", ctx: Any = None) -> Any:
    return [value, model, ctx]


def variadic(*values: Any) -> Any:
    return list(values)


async def coroutine(value: Any) -> Any:
    return value


class Callable2:
    async def __call__(self, value: Any, context: Any) -> Any:
        return [value, context]

    def method(self, value: Any, context: Any) -> Any:
        return [value, context]


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (one, [1]),
        (two, [1, 2]),
        (two_with_setting, [1, "small"]),
        (two_with_default, [1, 2]),
        (by_keyword, [1, 2]),
        (later, [1, "small", 2]),
        (variadic, [1]),
        (str, "1"),
        (Callable2().method, [1, 2]),
        (partial(two_with_setting, model="large"), [1, "large"]),
        (lambda value, context: context, 2),
    ],
)
def test_the_signature_decides_whether_the_context_is_given(function: Callable[..., Any], result: Any) -> None:
    assert bind(function)(1, 2) == result


def test_async_functions_are_known_as_such() -> None:
    assert all(map(is_async, (coroutine, Callable2(), partial(coroutine), Callable2().__call__)))
    assert not any(map(is_async, (one, str, Callable2, Callable2().method, len, partial(one))))


def test_the_context_is_read_by_attribute_or_by_key() -> None:
    context = TrialContext(case="a", repetition=2, repeats=5, seed=7, input="in")
    assert dict(context)["seed"] == context.seed == context["seed"] == context.get("seed") == 7
    assert context.get("missing", 1) == 1
    with pytest.raises(KeyError):
        context["cleanup"]
    context.cleanup()
    assert not context.tmpdir.parent.joinpath("nothing").exists()
    made = context.tmpdir
    context.cleanup()
    assert not made.exists()


def test_the_random_numbers_of_a_trial_repeat() -> None:
    draws = {TrialContext(case="a", repetition=1, repeats=1, seed=7).random.random() for _ in range(3)}
    assert len(draws) == 1
