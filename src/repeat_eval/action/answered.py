"""What a step that evaluates nothing itself came to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from repeat_eval.errors import ExitCode


class Answered(msgspec.Struct, frozen=True):
    """The exit code of `mode: publish` or `mode: command`, and the outputs that are known."""

    code: ExitCode
    outputs: Mapping[str, str] = {}
