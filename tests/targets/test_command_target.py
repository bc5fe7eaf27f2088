from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets import processes
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.command_target import CommandTarget, answer_of_text, request_of
from repeat_eval.targets.processes import describe_exit, run_process

ENVIRON = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
CALL = Call(case="refund", input={"text": "héllo"}, repetition=2, repeats=5, seed=99, timeout=30, variables={"a": 1})


def ask(
    command: str | Sequence[str], folder: Path, *, call: Call = CALL, environ: Any = ENVIRON, **settings: Any
) -> Answer:
    async def scenario() -> Answer:
        target = CommandTarget(command, folder=folder, environ=environ, **settings)
        try:
            await target.start()
            answer, attempts = await target.answer(call)
            assert attempts == 1
            return answer
        finally:
            await target.close()

    return asyncio.run(scenario())


def error_of(command: str | Sequence[str], folder: Path, **settings: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        ask(command, folder, **settings)
    return caught.value


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def is_running(pid: int) -> bool:
    """Whether a process still does anything; one that ended and waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def is_there(path: str) -> bool:
    return Path(path).exists()


async def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:  # noqa: ASYNC110 - other processes set no events
        await asyncio.sleep(0.005)
    return holds()


# ---- what goes in and what comes out ----


def test_the_command_reads_the_case_as_one_json_object_from_stdin(tmp_path: Path) -> None:
    answer = ask("cat", tmp_path)
    assert json.loads(answer.output) == {
        "case": "refund",
        "input": {"text": "héllo"},
        "repetition": 2,
        "repeats": 5,
        "seed": 99,
        "vars": {"a": 1},
    }


def test_a_large_input_arrives_whole_even_if_nobody_reads_it_to_the_end(tmp_path: Path) -> None:
    call = Call(case="big", input="x" * 3_000_000, repetition=1, repeats=1, seed=0, timeout=30)
    assert int(ask("wc -c", tmp_path, call=call).output) == len(request_of(call))
    assert ask("head -c 8", tmp_path, call=call).output == '{"case":'


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_any_json_value_can_be_an_input(value: Any) -> None:
    line = request_of(Call(case="c", input=value, repetition=1, repeats=1, seed=0))
    assert line.count(b"\n") == 1
    assert json.loads(line)["input"] == value


def test_text_is_the_output_less_one_final_newline(tmp_path: Path) -> None:
    assert ask("printf 'a\\n\\n'", tmp_path).output == "a\n"
    assert ask("printf 'a\\r\\n'", tmp_path).output == "a"
    assert ask("true", tmp_path).output == ""


def test_a_json_object_with_an_output_tells_more(tmp_path: Path) -> None:
    printed = {"output": "done", "cost": 0.25, "tool_calls": [{"name": "look_up", "arguments": {"id": 1}}]}
    answer = ask(["echo", json.dumps(printed)], tmp_path)
    assert (answer.output, answer.cost) == ("done", 0.25)
    assert answer.tool_calls is not None
    assert (answer.tool_calls[0].name, answer.tool_calls[0].arguments) == ("look_up", {"id": 1})


@pytest.mark.parametrize("printed", ['{"answer": 1}', '{"output": ', "{}", "[1]", "{" * 5000, '{"a":' * 100_000])
def test_json_of_another_shape_is_text(printed: str) -> None:
    assert answer_of_text(printed.encode()).output == printed


@given(st.binary(max_size=300))
def test_whatever_is_printed_is_an_answer_or_a_crash(printed: bytes) -> None:
    try:
        answer_of_text(printed)
    except TargetError as error:
        assert error.kind == "crash"


def test_a_string_is_a_shells_line_and_a_list_is_run_as_it_is(tmp_path: Path) -> None:
    assert ask("echo $((1 + 1)) | cat", tmp_path).output == "2"
    assert ask(["echo", "$((1 + 1)) | cat"], tmp_path).output == "$((1 + 1)) | cat"
    assert ask("echo '$HOME' '|' cat", tmp_path, shell=False).output == "$HOME | cat"


def test_the_duration_is_the_commands_own(tmp_path: Path) -> None:
    duration = ask("true", tmp_path).duration
    assert duration is not None
    assert 0 < duration < 20


def test_the_duration_that_the_command_reports_holds(tmp_path: Path) -> None:
    assert ask("""echo '{"output": 1, "duration": 7.5}'""", tmp_path).duration == 7.5


# ---- what a trial may count on ----


def test_a_trial_knows_which_one_it_is(tmp_path: Path) -> None:
    names = ("CASE", "REPETITION", "REPEATS", "SEED")
    command = " ".join(["echo", *(f"$REPEAT_EVAL_TRIAL_{name}" for name in names)])
    assert ask(command, tmp_path).output == "refund 2 5 99"


def test_the_environment_passes_except_for_what_children_must_not_see(tmp_path: Path) -> None:
    environ = ENVIRON | {"OPENAI_API_KEY": "mine", "GITHUB_TOKEN": "ghs_0123456789", "INPUT_SUITE": "x"}
    assert ask("echo $OPENAI_API_KEY/$GITHUB_TOKEN/$INPUT_SUITE", tmp_path, environ=environ).output == "mine//"


def test_each_trial_has_an_empty_tmpdir_that_is_gone_afterwards(tmp_path: Path) -> None:
    async def scenario() -> None:
        target = CommandTarget(
            'echo "$TMPDIR"; ls -A "$TMPDIR"; mkdir "$TMPDIR/d"; touch "$TMPDIR/d/f"; chmod 0 "$TMPDIR/d"',
            folder=tmp_path,
            environ=ENVIRON | {"TMPDIR": str(tmp_path)},
        )
        await target.start()
        answers = await asyncio.gather(*(target.answer(CALL) for _ in range(4)))
        folders = {answer.output for answer, _ in answers}
        assert len(folders) == 4
        assert not any(map(is_there, folders))
        await target.close()

    asyncio.run(scenario())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    ["true", 'touch "$TMPDIR/f"', 'chmod 555 "$TMPDIR"', 'rmdir "$TMPDIR"', 'rmdir "$TMPDIR"; ln -s "$PWD" "$TMPDIR"'],
)
def test_whatever_a_trial_does_to_its_tmpdir_the_next_finds_a_fresh_one(change: str, tmp_path: Path) -> None:
    (tmp_path / "precious").touch()

    async def scenario() -> None:
        target = CommandTarget(
            f'stat -c %a "$TMPDIR"; ls -A "$TMPDIR"; test -L "$TMPDIR" && echo link; {change}',
            folder=tmp_path,
            environ=ENVIRON,
        )
        await target.start()
        assert [(await target.answer(CALL))[0].output for _ in range(3)] == ["700"] * 3
        await target.close()

    asyncio.run(scenario())
    assert (tmp_path / "precious").exists()


def test_commands_run_in_their_folder_and_share_it(tmp_path: Path) -> None:
    ask("pwd > where; echo kept", tmp_path)
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)


def test_workdir_copy_gives_each_trial_its_own_copy(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("original")
    (tmp_path / "link.txt").symlink_to("data.txt")
    (tmp_path / "dead").symlink_to("nowhere")
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / "node_modules").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    async def scenario() -> None:
        target = CommandTarget(
            "pwd; cat link.txt; test -L link.txt && echo; ls -A . deep; mkdir made; echo changed > data.txt",
            folder=tmp_path,
            environ=ENVIRON | {"TMPDIR": str(scratch)},
            workdir="copy",
        )
        await target.start()
        answers = await asyncio.gather(*(target.answer(CALL) for _ in range(3)))
        seen = [answer.output.splitlines() for answer, _ in answers]
        assert len({lines[0] for lines in seen}) == 3
        for lines in seen:
            assert lines[1] == "original"
            assert set(lines[2:]) == {"dead", "data.txt", "deep", "link.txt", "scratch", ".:", "deep:", ""}
            assert not is_there(lines[0])
        await target.close()

    asyncio.run(scenario())
    assert list(scratch.iterdir()) == []
    assert (tmp_path / "data.txt").read_text() == "original"


def test_stderr_goes_to_the_log_line_by_line_and_bounded(tmp_path: Path) -> None:
    lines: list[str] = []
    answer = ask("echo one >&2; echo two >&2; echo out", tmp_path, on_log=lines.append)
    assert (answer.output, lines) == ("out", ["one", "two"])
    lines.clear()
    ask("yes | head -c 3000000 >&2; echo last >&2", tmp_path, on_log=lines.append)
    assert lines[-1] == "last"
    assert sum(map(len, lines)) <= 20_000


# ---- what goes wrong ----


def test_an_exit_code_is_a_crash_with_the_last_line_of_stderr(tmp_path: Path) -> None:
    error = error_of("echo first >&2; echo 'no such order' >&2; echo >&2; exit 3", tmp_path)
    assert (error.kind, error.message, error.retryable) == ("crash", "exit 3: no such order", True)


def test_an_exit_code_is_a_crash_even_with_a_good_answer(tmp_path: Path) -> None:
    error = error_of("""echo '{"output": "fine"}'; exit 1""", tmp_path)
    assert (error.kind, error.message) == ("crash", "exit 1")


def test_a_killed_command_is_a_crash_that_names_the_signal(tmp_path: Path) -> None:
    assert error_of("kill -9 $$", tmp_path).message == "exit 137, killed by SIGKILL (out of memory?)"
    assert error_of(python("import os; os.abort()"), tmp_path).message == "exit 134, killed by SIGABRT"
    assert error_of("exit 137", tmp_path).message == "exit 137, killed by SIGKILL (out of memory?)"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit 0"),
        (3, "exit 3"),
        (126, "exit 126 (not executable)"),
        (127, "exit 127 (command not found)"),
        (-15, "exit 143, killed by SIGTERM"),
        (139, "exit 139, killed by SIGSEGV"),
        (255, "exit 255"),
    ],
)
def test_exit_codes_have_words(code: int, words: str) -> None:
    assert describe_exit(code) == words


def test_a_command_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    call = Call(case="slow", input=None, repetition=1, repeats=1, seed=0, timeout=0.2)
    error = error_of("sleep 1000", tmp_path, call=call)
    assert (error.kind, error.message) == ("timeout", "no answer within 0.2 s")


def test_bytes_that_are_not_utf_8_are_a_crash(tmp_path: Path) -> None:
    error = error_of("printf 'abc\\377'", tmp_path)
    assert (error.kind, error.message) == ("crash", "printed bytes that are not UTF-8 at offset 3")


def test_a_command_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    call = Call(case="endless", input=None, repetition=1, repeats=1, seed=0, timeout=None)
    error = error_of("yes", tmp_path, call=call, max_output=100_000)
    assert (error.kind, error.message, error.retryable) == ("crash", "printed more than 100,000 bytes", False)


def test_a_wrong_part_of_an_answer_is_a_crash(tmp_path: Path) -> None:
    assert error_of("""echo '{"output": 1, "cost": "much"}'""", tmp_path).kind == "crash"


def test_a_shell_that_does_not_find_the_command_is_a_crash(tmp_path: Path) -> None:
    error = error_of("surely-not-there-9", tmp_path)
    assert error.kind == "crash"
    assert error.message.startswith("exit 127 (command not found): ")


def test_a_case_that_no_environment_can_hold_is_a_crash(tmp_path: Path) -> None:
    call = Call(case="a\0b", input=None, repetition=1, repeats=1, seed=0)
    assert error_of("true", tmp_path, call=call).message.startswith("the command could not be started: ")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["surely-not-there-9"], "command not found: surely-not-there-9"),
        (["./missing.sh"], "command not found: ./missing.sh"),
        (["./plain.txt"], "chmod"),
        ([], "the command is empty"),
        ("   ", "the command is empty"),
    ],
)
def test_what_cannot_be_run_is_said_before_the_first_trial(
    command: str | list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "plain.txt").write_text("no program")
    (tmp_path / "plain.txt").chmod(0o644)
    with pytest.raises(UserError, match=message):
        ask(command, tmp_path)


def test_unbalanced_quotes_and_a_missing_folder_are_said_too(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be split"):
        ask("echo 'x", tmp_path, shell=False)
    with pytest.raises(UserError, match="is not there"):
        ask("true", tmp_path / "missing")


# ---- processes: nothing is left behind ----


def run(command: str | list[str], folder: Path, **settings: Any) -> processes.Finished:
    return asyncio.run(run_process(command, cwd=folder, **{"environ": ENVIRON, **settings}))


def test_a_process_tells_all_about_its_end(tmp_path: Path) -> None:
    finished = run("cat; echo oops >&2; exit 4", tmp_path, stdin=b"hello")
    assert (finished.exit_code, finished.stdout, finished.stderr_tail) == (4, b"hello", b"oops\n")
    assert not (finished.timed_out or finished.truncated)


def test_more_output_than_allowed_is_read_and_dropped(tmp_path: Path) -> None:
    finished = run("yes | head -c 5000000; echo end >&2", tmp_path, max_output=1000)
    assert (finished.exit_code, len(finished.stdout), finished.truncated) == (0, 1000, True)
    assert finished.stderr_tail == b"end\n"


def test_a_timeout_ends_children_that_ignore_sigterm_too(tmp_path: Path) -> None:
    script = "trap '' TERM; (trap '' TERM; sleep 1000) & echo $! $$; wait; sleep 1000"
    finished = run(script, tmp_path, timeout=0.3, grace=0.1)
    assert finished.timed_out
    pids = [int(word) for word in finished.stdout.split()]
    assert len(pids) == 2
    assert asyncio.run(eventually(lambda: not any(map(is_running, pids))))


def test_sigterm_leaves_time_to_clean_up(tmp_path: Path) -> None:
    code = (
        "import signal, sys, pathlib\n"
        "signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path('cleaned').touch(), sys.exit(0)))\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )

    async def scenario() -> None:
        command = f'{sys.executable} -c "$CODE" | tee ready; true'
        task = asyncio.create_task(
            run_process(command, cwd=tmp_path, environ=ENVIRON | {"CODE": code}, grace=20.0, timeout=60)
        )
        ready = tmp_path / "ready"
        assert await eventually(lambda: ready.exists() and ready.read_text() != "")
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert (tmp_path / "cleaned").exists()

    asyncio.run(scenario())


def test_a_child_that_keeps_the_pipe_open_is_neither_waited_for_nor_left(tmp_path: Path) -> None:
    finished = run("sleep 1000 & echo $!", tmp_path, timeout=60)
    assert (finished.exit_code, finished.timed_out) == (0, False)
    assert finished.duration < 30
    assert asyncio.run(eventually(lambda: not is_running(int(finished.stdout))))


def test_a_child_that_prints_after_its_parent_is_still_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "DRAIN_SECONDS", 30.0)
    code = "import os\nparent = int(os.environ['PARENT'])\nwhile os.getppid() == parent: pass\nprint('late')"
    command = f'PARENT=$$ {sys.executable} -S -c "$CODE" & exec true'
    finished = run(command, tmp_path, timeout=60, environ=ENVIRON | {"CODE": code})
    assert finished.stdout == b"late\n"


def test_cancelling_ends_the_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        task = asyncio.create_task(run_process("echo $$ > pid; sleep 1000", cwd=tmp_path, environ=ENVIRON))
        pid = tmp_path / "pid"
        assert await eventually(lambda: pid.exists() and pid.read_text().endswith("\n"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_running(int(pid.read_text()))

    asyncio.run(scenario())


def test_cancelling_twice_ends_it_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        command = "trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done"
        task = asyncio.create_task(run_process(command, cwd=tmp_path, environ=ENVIRON, grace=1000.0))
        pid = tmp_path / "pid"
        assert await eventually(lambda: pid.exists() and pid.read_text().endswith("\n"))
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_running(int(pid.read_text()))

    asyncio.run(scenario())


@pytest.mark.parametrize("has_waitid", [True, False])
def test_where_the_kernel_has_no_descriptors_for_processes_a_thread_waits(
    has_waitid: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> int:
        raise OSError("not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    if not has_waitid:
        monkeypatch.delattr(os, "waitid")
    assert run("cat; exit 5", tmp_path, stdin=b"x").exit_code == 5
    assert run("sleep 1000", tmp_path, timeout=0.05, grace=0.05).timed_out


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def scenario() -> None:
        await run_process("true", cwd=tmp_path, environ=ENVIRON)
        before = descriptors()
        for stdin in (b"", b"x", b"x" * 200_000):
            await run_process("true", cwd=tmp_path, environ=ENVIRON, stdin=stdin)
        await run_process("sleep 1000", cwd=tmp_path, environ=ENVIRON, timeout=0.01, grace=0.01)
        with pytest.raises(FileNotFoundError):
            await run_process(["surely-not-there-9"], cwd=tmp_path, environ=ENVIRON)
        assert descriptors() == before

    asyncio.run(scenario())


def test_many_run_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        runs = [run_process(f"echo {number}; cat", cwd=tmp_path, environ=ENVIRON, stdin=b"!") for number in range(40)]
        assert [finished.stdout for finished in await asyncio.gather(*runs)] == [f"{n}\n!".encode() for n in range(40)]

    asyncio.run(scenario())
