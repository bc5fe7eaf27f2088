"""The command group. Commands are loaded when they are called; errors become sentences, never tracebacks."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from repeat_eval.errors import ExitCode, RepeatEvalError, UserError
from repeat_eval.version import __version__

_COMMANDS = {
    "run": "Run a suite, repeat a command, or read results; judge and report.",
    "report": "Report from a run file, a report, or other tools' results, without running anything.",
    "merge": "Join the shards of a run (run --shard i/n), judge and report.",
    "compare": "Compare base with head, from files: is the difference real, or sampling noise?",
    "convert": "Write results of any tool as a run file, a CTRF report or plain rows.",
    "plan": "How many repeats are needed: for a gate, and to find a change?",
    "aa": "How often would the gates alarm on a system that did not change?",
    "judge-reliability": "Can the checks that judge be trusted? Run them again on outputs that stay the same.",
    "cassettes": "List, verify or prune a suite's recorded responses.",
    "validate": "Check a suite file and say everything that is wrong with it.",
    "schema": "Print the JSON Schema of suite, run or report files.",
    "init": "Write a first suite that passes offline.",
}

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class _Commands(click.Group):
    """Loads a command's module when the command is called or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which people meet them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command behind a name."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"repeat_eval.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 the gate passed, 1 it failed, 2 something must be fixed, 3 the evidence is incomplete, "
    "4 publishing failed and that should fail.",
)
@click.version_option(__version__, "-V", "--version", message="repeat-eval %(version)s")
def cli() -> None:
    """Did this change make our LLM system less reliable, or was that luck?

    repeat-eval runs every case of an evaluation suite several times, estimates each case's pass rate with an honest
    interval, and passes or fails by a gate that knows how much of it may be noise.

    \b
      repeat-eval init                                    write a first suite
      repeat-eval run evals/refunds.yaml                  run it, ten times a case
      repeat-eval run evals/refunds.yaml --base-ref main  run it beside base, and compare
      repeat-eval run --command 'pytest evals --junitxml {results}'
      repeat-eval report repeat-eval-report/run.jsonl     show it again
    """


def run(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after the program's name; None takes those of the process.

    Returns:
        The exit code.
    """
    try:
        return int(cli.main(args=arguments, prog_name="repeat-eval", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return ExitCode.USER_ERROR
    except RepeatEvalError as error:
        _say_problems(error)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has gone, and there is no verdict yet: that is no pass.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INCOMPLETE
    except (KeyboardInterrupt, click.exceptions.Abort):
        _say("interrupted")
        return ExitCode.INCOMPLETE
    except Exception as error:
        return _fault(error)


def _fault(error: Exception) -> ExitCode:
    """A full disk, or a fault of ours: there is no verdict, and 1 would say that the gate failed."""
    if isinstance(error, OSError) and error.errno in _FULL:
        _say(f"cannot be written: {error.strerror}")
        return ExitCode.USER_ERROR
    _say(f"a fault in repeat-eval itself, please report it: {type(error).__name__}: {error} ({_place(error)})")
    return ExitCode.INCOMPLETE


def _place(error: Exception) -> str:
    """The innermost line of our own code that the error went through."""
    from pathlib import Path

    package = Path(__file__).parent.parent
    place, trace = "unknown place", error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            place = f"{file.relative_to(package)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _say_problems(error: RepeatEvalError) -> None:
    problems = error.problems if isinstance(error, UserError) else (error,)
    for problem in problems:
        _say(str(problem))
    if len(problems) > 1:
        _say(f"{len(problems)} problems in all")


def _say(text: str) -> None:
    from repeat_eval.reports.escape import terminal
    from repeat_eval.targets.environment import Scrubber

    color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    mark = "\x1b[31merror:\x1b[0m" if color else "error:"
    sys.stderr.write(f"{mark} {terminal(Scrubber(os.environ).scrub(text))}\n")
