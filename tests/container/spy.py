"""Code under test that looks for the token and tries to write what it must not. Prints its findings as JSON.

Needs nothing but Python. It is told only the token's first and second half apart, so that it does not find itself.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import glob
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

FIRST, SECOND = os.environ["SPY_FIRST"], os.environ["SPY_SECOND"]
NEEDLE = (FIRST + SECOND).encode()
NEEDLES = (NEEDLE, base64.b64encode(b"x-access-token:" + NEEDLE), NEEDLE[::-1])
LARGEST = 2_000_000


def holds(data: bytes) -> bool:
    return any(needle in data for needle in NEEDLES)


def read(path: str) -> bytes:
    # Not of a file that never ends, and not waiting for one that nobody writes.
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(descriptor, LARGEST)
        finally:
            os.close(descriptor)
    return b""


def others() -> Iterator[str]:
    own = str(os.getpid())
    return (name for name in os.listdir("/proc") if name.isdigit() and name != own)


def own_environment() -> bool:
    return any(holds(value.encode()) for value in os.environ.values())


def parents_environment() -> bool:
    return holds(read(f"/proc/{os.getppid()}/environ"))


def all_environments() -> bool:
    return any(holds(read(f"/proc/{pid}/environ")) for pid in others())


def arguments() -> bool:
    return any(holds(read(f"/proc/{pid}/cmdline")) for pid in others())


def descriptors() -> bool:
    own = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return any(holds(read(path)) for path in own[3:] + glob.glob("/proc/[0-9]*/fd/*") if "/self/" not in path)


def memory() -> bool:
    """Of all processes that do not run this very program (which knows both halves, but not the whole)."""
    found = False
    for pid in others():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            if b"spy.py" in read(f"/proc/{pid}/cmdline"):
                continue
            for line in maps:
                begin, end = (int(word, 16) for word in line.split()[0].split("-"))
                if "r" in line.split()[1] and end - begin < 50_000_000:
                    with contextlib.suppress(OSError, OverflowError, ValueError):
                        mem.seek(begin)
                        found |= holds(mem.read(end - begin))
    return found


def attach() -> bool:
    """PTRACE_ATTACH to one of the program's processes, which would open everything."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    attached = False
    ours = [int(pid) for pid in others() if b"repeat_eval.action" in read(f"/proc/{pid}/cmdline")]
    assert len(ours) >= 2, "process 1 and the program"
    for pid in ours:
        if libc.ptrace(16, pid, None, None) == 0:
            attached = True
            os.waitpid(pid, 0x40000000)
            libc.ptrace(17, pid, None, None)
    return attached


def files() -> bool:
    for top in ("/github", "/tmp", "/var/tmp", "/home", "/root", "/etc", "/run", "/dev/shm", "/opt/repeat-eval/bin"):
        for parent, _, names in os.walk(top):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.isfile(path) and os.path.getsize(path) < LARGEST and holds(read(path)):
                    return True
    return False


def git_settings() -> bool:
    return holds(subprocess.run(["git", "config", "--list", "--show-origin"], capture_output=True, check=False).stdout)


def become_root() -> bool:
    if os.getuid() == 0:
        return False
    with contextlib.suppress(OSError):
        os.setuid(0)
        return True
    for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"]):
        with contextlib.suppress(OSError):
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=10, check=False)
            if done.stdout.strip() == b"0":
                return True
    return False


def engine() -> bool:
    for path in ("/var/run/docker.sock", "/run/podman/podman.sock"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            return True
    return False


def change_the_program() -> bool:
    if os.getuid() == 0:
        return False
    places = [*glob.glob("/opt/repeat-eval/lib/*/site-packages/*"), "/usr/local/bin", "/usr/bin", "/etc"]
    return any(os.access(place, os.W_OK) for place in places)


def forge_outputs() -> str:
    """Write into every command file, replace one by a link, and leave somebody behind who goes on writing."""
    text = "forged=yes\nverdict=pass\n"
    for path in Path("/github/file_commands").iterdir():
        with contextlib.suppress(OSError):
            path.write_text(text)
    victim = Path("/github/workspace/victim.txt")
    victim.write_text("mine")
    output = Path("/github/file_commands/GITHUB_ENV")
    with contextlib.suppress(OSError):
        output.unlink()
        output.symlink_to(victim)
    script = "while :; do for f in /github/file_commands/*; do echo forged=later >> $f; done; sleep 0.05; done"
    subprocess.Popen(
        ["setsid", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    print("::set-output name=verdict::pass\n::error::forged by the code under test", flush=True)
    return "tried"


LOOKS: tuple[Callable[[], bool], ...] = (
    own_environment,
    parents_environment,
    all_environments,
    arguments,
    descriptors,
    memory,
    attach,
    files,
    git_settings,
    become_root,
    engine,
    change_the_program,
)

findings: dict[str, object] = {look.__name__: look() for look in LOOKS}
findings["user"], findings["groups"] = os.getuid(), sorted({os.getgid(), *os.getgroups()})
findings["told"] = sorted(name for name in os.environ if name.startswith(("INPUT_", "ACTIONS_")) or "COMMAND" in name)
findings["key"] = os.environ.get("MODEL_API_KEY")
Path("/github/workspace/findings.json").write_text(json.dumps(findings))
forge_outputs()
