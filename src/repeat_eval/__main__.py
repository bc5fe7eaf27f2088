"""The program: `repeat-eval` and `python -m repeat_eval`."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    for name in ("stdout", "stderr"):
        # A process may be started with these closed; there is still a verdict to give by the exit code.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end
    if sys.argv[1:] in (["--version"], ["-V"]):
        from repeat_eval.version import __version__

        sys.stdout.write(f"repeat-eval {__version__}\n")
        return
    # A short-lived process makes many objects and hardly any garbage: looking for it takes a tenth of a small run.
    gc.set_threshold(100_000, 20, 20)
    # Ended like Ctrl-C, so that temporary folders and worktrees are removed; while trials run, see execution.stopping.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from repeat_eval.cli.main import run

    code = run()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # All files are closed by now. Taking hundreds of modules apart one by one would take a seventh of a small run.
    os._exit(code)


if __name__ == "__main__":
    main()
