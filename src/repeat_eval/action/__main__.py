"""The entry of container and composite action: `python -I -m repeat_eval.action`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the action and exit with its code."""
    from repeat_eval.action.init import become_init
    from repeat_eval.action.token import HANDED, make_undumpable, take_token

    if HANDED in os.environ:  # the second start, and the token is still in its pipe
        make_undumpable()
        become_init()
    isolated = ["-I"] if sys.flags.isolated else []
    token = take_token([sys.executable, *isolated, "-m", "repeat_eval.action"])
    # Ended like Ctrl-C, so that base's files are removed; while trials run, see execution.stopping.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from repeat_eval.action.main import run_action

    code = run_action(os.environ, token, sys.stdout)
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
