"""The house keeps its shape: imports go down only, and what is heavy is loaded where it is used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"numpy", "scipy", "httpx", "requests", "anyio", "github", "lxml", "junitparser", "dask", "pandas"}
SUITE = """
name: tiny
target: {python: "agent:answer"}
repeats: 2
cases:
  - {id: a, expect: [{equals: fine}, {contains: fine}]}
"""


def modules_after(code: str, cwd: Path) -> set[str]:
    """Top-level modules that are loaded when a program of these lines ends."""
    text = f"import sys\n{code}\nsys.stderr.write('LOADED ' + ' '.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", text], cwd=cwd, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.rpartition("LOADED ")[2].split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "agent.py").write_text("def answer(input):\n    return 'fine'\n")
    return tmp_path


def test_the_rooms_import_downwards_only() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* kept, 0 broken", done.stdout)


def test_importing_the_package_loads_nothing_of_others(tmp_path: Path) -> None:
    loaded = modules_after("import repeat_eval", tmp_path)
    assert {name for name in loaded if name.startswith("repeat_eval")} == {"repeat_eval", "repeat_eval.version"}
    assert loaded.isdisjoint({*HEAVY, "pydantic", "msgspec", "click", "rich", "yaml", "jinja2", "asyncio"})


def test_statistics_need_no_library_for_a_plain_run(tmp_path: Path) -> None:
    code = "from repeat_eval.statistics import gates, intervals, reliability, repeats, scores, suite_rates"
    assert modules_after(code, tmp_path).isdisjoint({*HEAVY, "pydantic", "msgspec"})


@pytest.mark.e2e
@pytest.mark.parametrize("arguments", [["run", "suite.yaml"], ["run", "suite.yaml", "--quiet"]])
def test_a_plain_run_loads_no_numbers_and_no_network_library(folder: Path, arguments: list[str]) -> None:
    loaded = modules_after(f"from repeat_eval.cli.main import run\nassert run({arguments!r}) == 0", folder)
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY - {"lxml", "junitparser"})


@pytest.mark.e2e
def test_a_report_of_a_run_file_loads_no_numbers_and_no_network_library(folder: Path) -> None:
    code = "from repeat_eval.cli.main import run\nassert run(['run', 'suite.yaml', '-q', '-o', 'out']) == 0"
    modules_after(code, folder)
    loaded = modules_after("from repeat_eval.cli.main import run\nassert run(['report', 'out/run.jsonl']) == 0", folder)
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY)


def test_every_public_name_is_there_and_an_unknown_one_is_not() -> None:
    import repeat_eval

    for name in repeat_eval.__all__:
        assert getattr(repeat_eval, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        repeat_eval.no_such_name  # noqa: B018


def test_the_worker_needs_nothing_but_the_standard_library() -> None:
    code = """
import runpy, sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path]
runpy.run_path({!r}, run_name="looked_at")
""".format(str(ROOT / "src/repeat_eval/targets/worker.py"))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_file_of_ours_names_a_place_on_a_machine() -> None:
    folders = [ROOT / name for name in ("src", "examples")]
    texts = {path: path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py")}
    assert texts
    assert [path for path, text in texts.items() if "/home/" in text or "/root/" in text] == []


def test_the_program_runs_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "repeat_eval", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.fullmatch(r"repeat-eval \d+\.\d+\.\d+\S*\n", done.stdout)
