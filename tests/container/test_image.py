"""What is in the image, and what is not."""

from __future__ import annotations

import json
import time

from boxes import BASE, PYTHON, Box, podman

LARGEST = 800_000_000
LARGEST_SHARE = 520_000_000
"""Bytes of the image, and those that it may add to its base."""
SLOWEST_START = 3.0


def test_it_adds_little_to_its_base_and_starts_fast(image: str, box: Box) -> None:
    sizes = [int(podman("image", "inspect", "--format", "{{.Size}}", name).stdout) for name in (image, BASE)]
    times = []
    for _ in range(3):
        started = time.perf_counter()
        assert box.program("--version").returncode == 0
        times.append(time.perf_counter() - started)
    print(f"\nimage {sizes[0] / 1e6:.0f} MB, {(sizes[0] - sizes[1]) / 1e6:.0f} MB of them on top of the base", end="")
    print(f"; cold start {min(times):.2f} s, with the engine's own time")
    assert sizes[0] < LARGEST
    assert sizes[0] - sizes[1] < LARGEST_SHARE
    assert min(times) < SLOWEST_START


def test_the_action_is_its_entry_isolated_from_the_jobs_python(image: str) -> None:
    config = json.loads(podman("image", "inspect", image).stdout)[0]["Config"]
    assert config["Entrypoint"] == [PYTHON, "-I", "-m", "repeat_eval.action"]
    assert not config.get("User")
    assert {"org.opencontainers.image.title", "org.opencontainers.image.revision"} <= set(config["Labels"])


def test_no_program_can_change_to_another_user(box: Box) -> None:
    assert box.shell("find / -xdev -type f -perm /6000") == ""


def test_there_is_git_and_uv_and_no_compiler(box: Box) -> None:
    assert box.shell("git --version && uv --version").count("\n") == 2
    assert box.shell("command -v cc gcc g++ clang make || true") == ""


def test_git_takes_a_workspace_of_another_owner(box: Box) -> None:
    script = "git init -q . && chown -R 1001 . && git -C /github/workspace rev-parse --is-inside-work-tree"
    assert box.shell(script) == "true\n"


def test_modules_and_templates_are_compiled_and_it_is_no_editable_install(box: Box) -> None:
    script = f"""{PYTHON} -I - <<'END'
import importlib.util, pathlib, repeat_eval
package = pathlib.Path(repeat_eval.__file__).parent
assert "site-packages" in str(package), package
sources = [path for path in package.rglob("*.py") if "starters" not in path.parts]
compiled = [path for path in sources if pathlib.Path(importlib.util.cache_from_source(path)).exists()]
templates = list((package / "templates").glob("*.j2"))  # the page is rare, and made in one go
print(len(sources) - len(compiled), len(templates) - len(list((package / "templates" / "__pycache__").iterdir())))
END"""
    assert box.shell(script).split() == ["0", "0"]


def test_what_needs_scipy_works_without_its_tests(box: Box) -> None:
    done = box.program("plan", "--help")
    assert done.returncode == 0
    script = f'{PYTHON} -I -c "import scipy.stats, scipy.optimize, numpy.testing; print(scipy.stats.norm.cdf(0))"'
    assert box.shell(script) == "0.5\n"
