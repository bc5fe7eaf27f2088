from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.errors import UserError
from repeat_eval.targets import worker as worker_module
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.worker_pool import WorkerPool
from repeat_eval.targets.worker_process import FunctionSpec, Reply

MODULE = '''
import asyncio, contextvars, os, signal, subprocess, sys, threading, time

print("printed while it was imported")


def echo(input):
    return input


async def echo_async(input):
    await asyncio.sleep(0)
    return input


def told(input, context):
    return {name: context[name] for name in ("case", "repetition", "repeats", "seed", "input")}


async def told_by_keyword(input, *, context):
    return [context.case, context.seed, context.random.random()]


def noisy(input):
    print("by print")
    os.write(1, b"by write\\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
    sys.__stdout__.write("by __stdout__\\n")
    return [sys.stdin.read(), input]


def dies(input):
    if input == "die":
        os._exit(3)
    return input


async def dies_async(input):
    if input == "die":
        os._exit(3)
    await asyncio.sleep(0)
    return input


def killed(input):
    os.kill(os.getpid(), signal.SIGKILL)


def hangs(input):
    if input == "hang":
        threading.Event().wait()
    return os.getpid()


async def hangs_async(input):
    if input == "hang":
        await asyncio.Event().wait()
    if input == "block":
        threading.Event().wait()
    return os.getpid()


def leaves_a_child(input):
    with open(input, "w") as gate:
        subprocess.Popen(["sleep", "1000"], stdout=gate, stderr=gate)


started = 0
enough = None


async def together(input):
    """Comes back only when all the others are in it, too."""
    global started, enough
    enough = enough or asyncio.Event()
    started += 1
    if started == input:
        enough.set()
    await enough.wait()
    return started


barrier = threading.Barrier(4)


def together_in_threads(input):
    return barrier.wait() >= 0


def tmpdir(input, context):
    (context.tmpdir / "file").write_text("x")
    return str(context.tmpdir)


def surroundings(input, context):
    names = ("CASE", "REPETITION", "REPEATS", "SEED")
    return {
        "cwd": os.getcwd(), "pid": os.getpid(), "tmpdir": os.environ.get("TMPDIR"), "token": os.environ.get("GH_TOKEN"),
        "trial": [os.environ.get("REPEAT_EVAL_TRIAL_" + name) for name in names], "own": str(context.tmpdir),
        "path": sys.path, "argv": sys.argv, "imported_by_trial": IMPORTED_BY,
    }


IMPORTED_BY = os.environ.get("REPEAT_EVAL_TRIAL_CASE")


def judge(output, context):
    return [output, context.input, context.expected, context.tool_calls, context["cost"], context.get("nothing", 1)]


def looks_sync(input):
    return echo_async(input)


def writes_long_lines(input):
    sys.stderr.write("x" * 100_000 + "\\nnext\\n")
    return "done"


def exit_hook(input):
    import atexit
    atexit.register(lambda: open(input, "w").close())
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "worker_agent.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def call_of(value: Any = None, *, timeout: float | None = 30.0, repetition: int = 1) -> Call:
    return Call(case="a", input=value, repetition=repetition, repeats=5, seed=7, timeout=timeout)


class Asker:
    """A pool of one function, and the way to call it."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool

    async def ask(self, value: Any = None, **how: Any) -> Any:
        return (await self.reply(value, **how)).value

    async def reply(self, value: Any = None, **how: Any) -> Reply:
        return await self.pool.call(0, call_of(value, **how), value)

    async def error(self, value: Any = None, **how: Any) -> TargetError:
        with pytest.raises(TargetError) as caught:
            await self.reply(value, **how)
        return caught.value


@contextlib.asynccontextmanager
async def pool_of(folder: Path, name: str, **settings: Any) -> AsyncIterator[Asker]:
    kind = settings.pop("kind", "target")
    interpreter = Path(settings.pop("interpreter", sys.executable))
    pool = WorkerPool(interpreter, folder, [FunctionSpec(f"worker_agent:{name}", kind)], **settings)
    try:
        await pool.start()
        yield Asker(pool)
    finally:
        await pool.close()
    assert pool.process_ids == ()


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))


def is_alive(pid: int) -> bool:
    try:
        # A process that has ended and waits for its parent to notice counts as ended.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


VALUES = ["text", "ünïcode \u2028 \U0001f600", "", 0, -1.5, 2**60, True, None, [], {}, [1, [2, {"a": None}]], "a\nb\0c"]


@pytest.mark.parametrize("name", ["echo", "echo_async", "looks_sync"])
@pytest.mark.parametrize("workers", [1, 3])
def test_values_come_back_as_they_went(folder: Path, name: str, workers: int) -> None:
    async def test() -> None:
        async with pool_of(folder, name, workers=workers) as it:
            assert [await it.ask(value) for value in VALUES] == VALUES
            assert await asyncio.gather(*map(it.ask, range(100))) == list(range(100))

    run(test)


def test_large_values_come_back_whole(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "echo") as it:
            large = "ä" * 2_000_000
            assert await it.ask(large) == large

    run(test)


def test_the_time_a_function_took_is_told(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "echo") as it:
            assert 0 <= (await it.reply("x")).seconds < 10

    run(test)


def test_the_context_says_which_trial_it_is(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "told") as it:
            assert await it.ask("hi", repetition=2) == {
                "case": "a",
                "repetition": 2,
                "repeats": 5,
                "seed": 7,
                "input": "hi",
            }
        async with pool_of(folder, "told_by_keyword") as it:
            assert await it.ask() == await it.ask()
            assert (await it.ask())[:2] == ["a", 7]

    run(test)


def test_a_check_sees_output_expectation_and_what_the_target_reported(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "judge", kind="check") as it:
            about = {"input": "in", "expected": {"a": 1}, "tool_calls": [{"name": "t", "arguments": None}], "cost": 0.5}
            reply = await it.pool.call(0, call_of("in"), "out", about)
            assert reply.value == ["out", "in", {"a": 1}, [{"name": "t", "arguments": None}], 0.5, 1]

    run(test)


def test_what_functions_print_goes_to_the_log_and_stdin_is_empty(folder: Path) -> None:
    lines: list[str] = []

    async def test() -> None:
        async with pool_of(folder, "noisy", on_log=lines.append) as it:
            assert await it.ask("x") == ["", "x"]

    run(test)
    assert {"printed while it was imported", "by print", "by write", "by a child", "by __stdout__"} <= set(lines)


def test_long_lines_of_the_log_are_cut(folder: Path) -> None:
    lines: list[str] = []

    async def test() -> None:
        async with pool_of(folder, "writes_long_lines", on_log=lines.append) as it:
            assert await it.ask() == "done"

    run(test)
    assert max(map(len, lines)) <= 2_001
    assert lines[-1] == "next"


@pytest.mark.parametrize("name", ["dies", "dies_async"])
def test_the_death_of_a_worker_costs_only_the_calls_in_flight(folder: Path, name: str) -> None:
    async def test() -> None:
        async with pool_of(folder, name, workers=2, processes=2) as it:
            lane: list[Any] = ["die" if number == 25 else number for number in range(50)]
            results = []

            async def work() -> None:
                while lane:
                    value = lane.pop()
                    results.append((await asyncio.gather(it.ask(value), return_exceptions=True))[0])

            await asyncio.gather(work(), work())
            errors = [result for result in results if isinstance(result, TargetError)]
            assert len(results) == 50
            assert 1 <= len(errors) <= 2
            assert {(error.kind, error.retryable) for error in errors} == {("crash", True)}
            assert "exit 3" in errors[0].message

    run(test)


def test_a_worker_killed_by_a_signal_says_so_as_a_shell_would(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "killed") as it:
            error = await it.error()
            assert error.kind == "crash"
            assert "exit 137, killed by SIGKILL" in error.message

    run(test)


def test_a_sync_function_that_hangs_is_a_timeout_and_its_worker_is_replaced(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "hangs") as it:
            first = await it.ask("go")
            error = await it.error("hang", timeout=0.3)
            assert (error.kind, error.message) == ("timeout", "no answer within 0.3 s")
            assert await it.ask("go") != first
            assert not is_alive(first)

    run(test)


def test_calls_beside_one_that_hangs_come_to_their_own_end(folder: Path) -> None:
    gate = folder / "gate"
    os.mkfifo(gate)
    (folder / "worker_agent.py").write_text("def f(input):\n    return open(input).read()\n")

    async def test() -> None:
        async with pool_of(folder, "f", workers=2, processes=1) as it:
            first = it.pool.process_ids
            beside = asyncio.ensure_future(it.ask(str(gate)))
            os.mkfifo(folder / "never")
            assert (await it.error(str(folder / "never"), timeout=0.2)).kind == "timeout"
            assert not beside.done()
            with gate.open("w", encoding="utf-8") as writer:
                writer.write("opened")
            assert await beside == "opened"
            assert await it.ask(__file__)
            assert not set(first) & set(it.pool.process_ids)

    run(test)


def test_an_async_function_that_hangs_is_cancelled_and_its_worker_lives_on(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "hangs_async") as it:
            first = await it.ask("go")
            error = await it.error("hang", timeout=0.3)
            assert (error.kind, error.message) == ("timeout", "no answer within 0.3 s")
            assert await it.ask("go") == first

    run(test)


def test_an_async_function_that_blocks_its_loop_costs_its_worker_and_no_other_call(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "hangs_async") as it:
            first = await it.ask("go")
            assert (await it.error("block", timeout=0.2)).kind == "timeout"
            assert await it.ask("go", timeout=5) != first

    run(test)


@pytest.mark.parametrize("name", ["hangs", "hangs_async"])
def test_a_caller_that_is_cancelled_leaves_a_pool_that_works(folder: Path, name: str) -> None:
    async def test() -> None:
        async with pool_of(folder, name) as it:
            task = asyncio.ensure_future(it.ask("hang"))
            waiting = asyncio.ensure_future(it.ask("hang"))
            while not it.pool.in_flight:  # noqa: ASYNC110 - every turn of the loop is a step
                await asyncio.sleep(0)
            waiting.cancel()
            task.cancel()
            await asyncio.gather(task, waiting, return_exceptions=True)
            assert await it.ask("go") > 0

    run(test)


def test_many_async_calls_are_in_one_worker_at_once(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "together", workers=200, processes=1) as it:
            assert await asyncio.gather(*[it.ask(200) for _ in range(200)]) == [200] * 200
            assert len(it.pool.process_ids) == 1

    run(test)


def test_sync_calls_overlap_in_threads(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "together_in_threads", workers=4, processes=1) as it:
            assert await asyncio.gather(*[it.ask() for _ in range(4)]) == [True] * 4

    run(test)


def test_one_worker_is_one_process_and_more_use_more(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "hangs", workers=1, processes=4) as it:
            assert len(set(await asyncio.gather(*[it.ask() for _ in range(20)]))) == 1
        async with pool_of(folder, "hangs", workers=2, processes=2) as it:
            hanging = asyncio.ensure_future(it.ask("hang"))
            await asyncio.sleep(0)
            assert await it.ask() > 0
            assert len(it.pool.process_ids) == 2
            hanging.cancel()

    run(test)


def test_the_trials_folder_is_there_during_the_call_only(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "tmpdir") as it:
            made = [Path(await it.ask()) for _ in range(2)]
            assert made[0] != made[1]
            assert not made[0].exists()
            assert made[0].parent.exists()
        folders.extend(made)

    folders: list[Path] = []
    run(test)
    assert not folders[0].parent.exists()


def test_workers_run_in_the_suites_folder_without_our_path_or_token(folder: Path) -> None:
    async def test() -> None:
        environ = {**os.environ, "GH_TOKEN": "0123456789"}
        async with pool_of(folder, "surroundings", environ=environ) as it:
            found = await it.ask()
            assert Path(found["cwd"]).samefile(folder)  # noqa: ASYNC240
            assert found["path"][0] == str(folder)
            assert str(Path(worker_module.__file__).parent) not in found["path"]
            assert found["token"] is None
            assert found["trial"] == [None] * 4

    run(test)


def test_in_process_isolation_every_trial_has_a_process_and_an_environment_of_its_own(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "surroundings", isolation="process", workers=2) as it:
            first, second = await asyncio.gather(it.ask(repetition=1), it.ask(repetition=2))
            assert first["pid"] != second["pid"]
            assert first["tmpdir"] != second["tmpdir"]
            assert first["own"].startswith(first["tmpdir"])
            assert second["trial"] == ["a", "2", "5", "7"]
            assert second["imported_by_trial"] == "a"
            assert not is_alive(first["pid"])
            assert not Path(first["tmpdir"]).exists()  # noqa: ASYNC240

    run(test)


def test_in_process_isolation_death_and_hanging_are_errors_of_their_trial(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "dies", isolation="process") as it:
            assert "exit 3" in (await it.error("die")).message
            assert await it.ask("go") == "go"
        async with pool_of(folder, "hangs", isolation="process") as it:
            assert (await it.error("hang", timeout=0.2)).kind == "timeout"

    run(test)


@pytest.mark.parametrize("isolation", ["worker", "process"])
def test_children_of_functions_do_not_outlive_the_pool(folder: Path, isolation: str) -> None:
    gate = folder / "gate"
    os.mkfifo(gate)

    async def test() -> None:
        async with pool_of(folder, "leaves_a_child", isolation=isolation) as it:
            await it.ask(str(gate))

    # The child holds the other end of the gate; when it is gone, the gate is at its end.
    reader = os.open(gate, os.O_RDONLY | os.O_NONBLOCK)
    try:
        run(test)
        assert select.select([reader], [], [], 20)[0], "the child outlived the pool"
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_closing_ends_what_hangs_and_tells_who_waits(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "hangs") as it:
            calls = [asyncio.ensure_future(it.ask("hang")) for _ in range(3)]
            while not it.pool.in_flight:  # noqa: ASYNC110 - every turn of the loop is a step
                await asyncio.sleep(0)
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [TargetError] * 3

    run(test)


def test_closing_lets_functions_run_what_they_registered_for_the_exit(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "exit_hook") as it:
            await it.ask(str(folder / "said goodbye"))

    run(test)
    assert (folder / "said goodbye").exists()


def test_closing_twice_or_before_the_start_is_harmless(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "echo") as it:
            await it.pool.close()
            assert not (await it.error()).retryable
        await WorkerPool(Path(sys.executable), folder).close()

    run(test)


def test_workers_end_when_the_program_that_started_them_is_killed(folder: Path) -> None:
    script = (
        "import asyncio, sys, pathlib\n"
        "from repeat_eval.targets.worker_pool import WorkerPool\n"
        "from repeat_eval.targets.worker_process import FunctionSpec\n"
        "from repeat_eval.targets.base import Call\n"
        "async def main():\n"
        "    spec = FunctionSpec('worker_agent:hangs')\n"
        "    pool = WorkerPool(pathlib.Path(sys.executable), pathlib.Path(sys.argv[1]), [spec])\n"
        "    await pool.start()\n"
        "    print(pool.process_ids[0], flush=True)\n"
        "    await pool.call(0, Call(case='a', input=1, repetition=1, repeats=1, seed=1), 'hang')\n"
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        watched = os.pidfd_open(pid)
        program.kill()
    try:
        assert select.select([watched], [], [], 20)[0], "the worker outlived its parent"
    finally:
        os.close(watched)


def test_an_input_that_is_not_json_is_our_error(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "echo") as it:
            assert (await it.error(object())).kind == "harness"
            assert (await it.error("\ud800")).kind == "harness"
            assert await it.ask("still here") == "still here"

    run(test)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("#!/bin/sh\nexit 4\n", "ended before it was ready (exit 4)"),
        ("#!/bin/sh\necho no such luck >&2\nexit 4\n", "no such luck"),
        ("#!/bin/sh\necho hello\nexec cat\n", "does not answer like a Python worker"),
        ("#!/no/such/interpreter\n", "cannot be started: No such file"),
        ("MZ\0\1", "cannot be started"),
    ],
)
def test_what_is_no_python_is_named_with_the_way_to_name_another(folder: Path, program: str, said: str) -> None:
    interpreter = folder / "python"
    interpreter.write_text(program)
    interpreter.chmod(0o755)

    async def test() -> None:
        with pytest.raises(UserError) as caught:
            async with pool_of(folder, "echo", interpreter=interpreter):
                pass
        assert said in str(caught.value)
        assert str(interpreter) in str(caught.value)
        assert "`--python`" in str(caught.value)

    run(test)


def test_a_pool_that_can_start_no_worker_any_more_says_so_instead_of_waiting(folder: Path) -> None:
    async def test() -> None:
        async with pool_of(folder, "dies") as it:
            (folder / "worker_agent.py").write_text("this is no longer Python")
            assert "exit 3" in (await it.error("die")).message
            error = await it.error("go")
            assert not error.retryable
            assert "syntax error" in error.message

    run(test)


def test_the_worker_file_needs_python_3_9_and_its_standard_library_alone() -> None:
    source = Path(worker_module.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 9))
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(str(node.module).split(".")[0])
    assert modules <= sys.stdlib_module_names
