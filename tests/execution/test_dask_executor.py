"""Trials of a suite on the workers of a Dask cluster: real processes, some of which are killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from distributed import Client

from repeat_eval.errors import UserError
from repeat_eval.execution.cluster import dask_cluster
from repeat_eval.execution.cluster.dask_cluster import DaskCluster
from repeat_eval.execution.progress import Silent
from repeat_eval.records.journal import read_run
from repeat_eval.records.run import Run
from repeat_eval.steps.cluster import prepare_on_cluster
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_sides import SidePlan
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.settings import resolve, settings_of

KEY = "sk-only-the-workers-know"
AGENT = """
import os, pathlib, random

HERE = pathlib.Path(__file__).parent

def answer(input, context):
    return "yes" if random.Random(context.seed).random() < 0.8 else "no"

def worse(input, context):
    return "yes" if random.Random(context.seed).random() < 0.2 else "no"

def tell_the_key(input, context):
    return "the key is " + os.environ["CLUSTER_API_KEY"]

def costly(input, context):
    return {"output": "yes", "cost": 0.5}

def count(input, context):
    mine = HERE / "running" / f"{context.case}-{context.repetition}"
    mine.touch()
    for _ in range(2000):
        seen = len(list(mine.parent.iterdir()))
    mine.unlink()
    return {"output": "yes", "turns": seen}

def wait(input, context):
    import threading
    (HERE / "waiting").touch()
    if not (HERE / "go").exists():
        threading.Event().wait(60)
    return "yes"
"""


def suite(folder: Path, *, target: str = "agent:answer", cases: int = 6, repeats: int = 5, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text(AGENT)
    lines = [f'  - {{id: "case {number}", input: {number}, expect: [{{equals: "yes"}}]}}' for number in range(cases)]
    text = f"name: many\ntarget: {{python: '{target}'}}\nrepeats: {repeats}\n{more}\ncases:\n" + "\n".join(lines)
    path = folder / "suite.yaml"
    path.write_text(text + "\n")
    return path


@contextlib.contextmanager
def cluster_of(workers: int, threads: int, folder: Path, environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a cluster whose workers stand in `folder`."""
    script = Path(__file__).with_name("local_cluster.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(workers), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env={**os.environ, **(environ or {})},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        # A cluster that lost a worker takes its time to end in good order.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster_of(2, 4, tmp_path_factory.mktemp("cluster"), {"CLUSTER_API_KEY": KEY}) as address:
        yield address


def run(path: Path, scheduler: str | None = None, *, request: Mapping[str, Any] | None = None, **options: Any) -> Run:
    return finished(path, scheduler, request=request, **options).recording_run


class Done(msgspec.Struct):
    whole: Finished
    recording_run: Run
    base_run: Run | None


def finished(
    path: Path, scheduler: str | None = None, *, request: Mapping[str, Any] | None = None, **options: Any
) -> Done:
    out = path.parent / f"out-{len(list(path.parent.iterdir()))}"
    asked = Request(
        suite=path,
        scheduler=scheduler,
        options=settings_of({name: str(value) for name, value in options.items()}),
        **{"out": out, **(request or {})},
    )
    whole = run_suite(asked)
    out = asked.out or out
    base = out / "base.jsonl"
    return Done(whole, read_run(out / "run.jsonl"), read_run(base) if base.is_file() else None)


def told(one: Run | None) -> list[tuple[Any, ...]]:
    """What must be the same wherever trials ran."""
    assert one is not None
    return sorted((trial.case, trial.repetition, trial.outcome, trial.output, trial.score) for trial in one.trials)


class AtStep(Silent):
    """Does something once, when so many trials have ended."""

    def __init__(self, count: int, act: Callable[[], None]) -> None:
        self._left, self._act = count, act

    def step(self, *, failed: bool = False, error: bool = False, cost: float | None = None) -> None:
        self._left -= 1
        if not self._left:
            self._act()


def test_trials_on_a_cluster_are_the_ones_that_run_here(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite")
    there, here = run(path, scheduler, seed=7), run(path, seed=7)
    assert told(there) == told(here)
    assert len(there.trials) == 30
    assert there.complete
    assert msgspec.structs.replace(there.header, started=None) == msgspec.structs.replace(here.header, started=None)


def test_two_targets_side_by_side_and_a_second_look_run_on_a_cluster(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", target="agent:worse")
    request = {"base_target": "python:agent:answer"}
    there, here = (finished(path, place, request=request, second_look="3+10") for place in (scheduler, None))
    assert told(there.recording_run) == told(here.recording_run)
    assert told(there.base_run) == told(here.base_run)
    assert len(there.recording_run.trials) > 18
    assert there.whole.report.verdict == here.whole.report.verdict


def test_a_shard_runs_on_a_cluster(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite")
    parts = [run(path, scheduler, request={"shard": (number, 2)}) for number in (1, 2)]
    assert sorted(told(parts[0]) + told(parts[1])) == told(run(path))


def test_a_worker_that_is_killed_loses_no_trial_and_doubles_none(tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", cases=20, repeats=20)
    with cluster_of(4, 2, tmp_path) as address:

        def kill_one() -> None:
            with Client(address, set_as_default=False) as client:
                victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)

        there = run(path, address, workers=16, request={"progress": AtStep(100, lambda: _in_thread(kill_one))})
    lines = (path.parent / "out-2" / "run.jsonl").read_text().splitlines()
    keys = Counter((line["case"], line["repetition"]) for line in map(msgspec.json.decode, lines) if "outcome" in line)
    assert len(keys) == 400
    assert set(keys.values()) == {1}
    assert Counter(trial.outcome for trial in there.trials)["error"] == 0
    assert told(there) == told(run(path, workers=8))


def _in_thread(act: Callable[[], None]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_no_more_trials_are_in_flight_than_were_asked_for(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", target="agent:count", cases=5, repeats=4)
    (path.parent / "running").mkdir()
    there = run(path, scheduler, workers=2)
    assert len(there.trials) == 20
    assert max(trial.turns or 0 for trial in there.trials) <= 2


def test_costs_of_trials_on_a_cluster_count(scheduler: str, tmp_path: Path) -> None:
    there = run(suite(tmp_path / "suite", target="agent:costly"), scheduler, max_cost=2, workers=2)
    assert there.footer is not None
    assert there.footer.stopped == "max-cost"
    assert 4 <= len(there.trials) <= 5


def test_a_time_budget_ends_a_run_on_a_cluster(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", cases=1, repeats=10_000)
    there = run(path, scheduler, time_budget=1, workers=4)
    assert there.footer is not None
    assert there.footer.stopped == "time-budget"
    assert 0 < len(there.trials) < 10_000


def test_a_key_that_only_the_workers_have_is_in_no_file(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", target="agent:tell_the_key", cases=1, repeats=1)
    there = run(path, scheduler)
    assert [trial.output for trial in there.trials] == ["the key is ***"]
    assert KEY not in (path.parent / "out-2" / "run.jsonl").read_text()


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupted_run_leaves_nothing_on_the_cluster_and_can_be_resumed(
    scheduler: str, tmp_path: Path, signals: int
) -> None:
    path = suite(tmp_path / "suite", target="agent:wait", cases=2, repeats=6)
    code = "import sys; from repeat_eval.cli.main import run; sys.exit(run(sys.argv[1:]))"
    arguments = [
        "run",
        str(path),
        "-o",
        str(tmp_path / "out"),
        "--executor",
        "dask",
        "--scheduler",
        scheduler,
        "-w",
        "9",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    begin = threading.Event()
    while not (path.parent / "waiting").exists() and process.poll() is None:
        begin.wait(0.05)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    said = next(line for line in process.stdout if "SIGINT" in line)
    if signals == 2:
        process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 3, said + text
    assert "Traceback" not in text
    with Client(scheduler, set_as_default=False) as client:
        assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0
        assert set(client.run(_open_sites).values()) == {0}
    (path.parent / "go").touch()
    again = run(path, scheduler, request={"out": tmp_path / "out", "resume": True})
    assert again.complete
    assert len(again.trials) == 12


_open_sites = eval(  # noqa: S307 - a lambda travels as what it is; a function of this file could not be imported there
    "lambda: len(__import__('repeat_eval.execution.cluster.site', fromlist=['x'])._SITES._open)"
)


def test_workers_with_another_version_are_refused_before_any_trial(tmp_path: Path) -> None:
    old = tmp_path / "old" / "repeat_eval"
    old.mkdir(parents=True)
    (old / "__init__.py").touch()
    (old / "version.py").write_text("__version__ = '0.0.1'\n")
    path = suite(tmp_path / "suite")
    with cluster_of(2, 1, tmp_path, {"PYTHONPATH": str(old.parent)}) as address:
        with pytest.raises(UserError, match=r"all 2 workers: has repeat-eval 0\.0\.1, and here is .*install the same"):
            run(path, address)
        shutil.rmtree(old)
        (old.parent / "repeat_eval.py").write_text("raise ModuleNotFoundError('it is not there')\n")
    with (
        cluster_of(1, 1, tmp_path, {"PYTHONPATH": str(old.parent)}) as address,
        pytest.raises(UserError, match=r"worker tcp://\S+: cannot import repeat_eval \(it is not there\): install"),
    ):
        run(path, address)
    assert not list(path.parent.glob("out*/run.jsonl"))


def test_a_target_that_workers_cannot_load_is_said_once_before_any_trial(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", target="agent:no_such_function")
    with pytest.raises(UserError) as caught:
        run(path, scheduler)
    (problem,) = caught.value.problems
    assert problem.message.startswith("all 2 workers: ")
    assert "no_such_function" in problem.message
    assert not list(path.parent.glob("out*/run.jsonl"))


def test_workers_whose_suite_or_code_differs_are_refused(scheduler: str, tmp_path: Path) -> None:
    path = suite(tmp_path / "there")
    here = suite(tmp_path / "here")
    (tmp_path / "here" / "agent.py").write_text(AGENT + "\n# changed\n")
    run(here)
    spec, settings = load_suite(path), resolve()
    header = read_run(tmp_path / "here" / "out-2" / "run.jsonl").header
    spec = msgspec.structs.replace(spec, folder=tmp_path / "here")
    side = SidePlan(spec=spec, cases=spec.cases, settings=settings, header=header)
    with pytest.raises(UserError, match=r"all 2 workers: agent\.py is another one there than here"):
        asyncio.run(_started(side, scheduler))
    other = msgspec.structs.replace(header.cases[0], case_fingerprint="0" * 16)
    header = msgspec.structs.replace(header, cases=(other, *header.cases[1:]))
    with pytest.raises(UserError, match="case 'case 0' is another one there than here"):
        asyncio.run(_started(msgspec.structs.replace(side, header=header), scheduler))


async def _started(side: SidePlan, scheduler: str) -> None:
    prepared = prepare_on_cluster(side, DaskCluster(scheduler), Request(suite=side.spec.path), None)
    try:
        await prepared.to_start[0].start()
    finally:
        await prepared.to_start[0].close()


def test_a_scheduler_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.3)
    with pytest.raises(UserError, match=r"there is no Dask scheduler at tcp://127\.0\.0\.1:9: "):
        run(suite(tmp_path / "suite"), "tcp://127.0.0.1:9")
    with pytest.raises(UserError, match=r"there is no Dask scheduler at tls://127\.0\.0\.1:9: "):
        run(suite(tmp_path / "suite"), "tls://127.0.0.1:9")


def test_a_cluster_without_workers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1.0)
    with (
        cluster_of(0, 1, tmp_path) as address,
        pytest.raises(UserError, match=r"the cluster at tcp://\S+ has no workers"),
    ):
        run(suite(tmp_path / "suite"), address)


def test_without_dask_it_is_said_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"pip install 'repeat-eval\[dask\]'"):
        run(suite(tmp_path / "suite"), "tcp://127.0.0.1:8786")


def test_what_a_cluster_cannot_keep_is_refused_all_at_once(tmp_path: Path) -> None:
    path = suite(tmp_path / "suite", more="rate: 60/min\ncassettes: recorded")
    with pytest.raises(UserError) as caught:
        run(path, "nowhere", request={"base_dir": tmp_path})
    words = ["--scheduler is an address", "base's checkout", "`rate` cannot be kept", "recordings are files"]
    assert len(caught.value.problems) == len(words)
    for problem, expected in zip(caught.value.problems, words, strict=True):
        assert expected in problem.message


def test_the_value_of_a_secret_does_not_travel(tmp_path: Path) -> None:
    environ = {**os.environ, "MY_API_KEY": "sk-0123456789"}
    request = {"target": "https://example.test/?key=sk-0123456789", "environ": environ}
    with pytest.raises(UserError, match="an option holds the value of a secret"):
        run(suite(tmp_path / "suite"), "tcp://127.0.0.1:9", request=request)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["suite.yaml", "--executor", "dask"], "give its address with --scheduler"),
        (["suite.yaml", "--scheduler", "tcp://a:1"], "--scheduler does nothing without --executor dask"),
        (["--results", "x.xml", "--executor", "dask"], "--executor does nothing with --results"),
        (["--command", "true", "--scheduler", "tcp://a:1"], "--scheduler does nothing with --command"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from repeat_eval.cli.main import run as command

    assert command(["run", *arguments]) == 2
    assert message in capsys.readouterr().err
