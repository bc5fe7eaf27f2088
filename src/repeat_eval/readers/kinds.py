"""The kind of a foreign error, from the class names that it carries."""

from __future__ import annotations

import re
from typing import cast

from repeat_eval.records.trial import ERROR_KINDS, ErrorKind

# Names of exception classes, not words of prose: a message that merely talks of a time-out is no time-out.
_TIMEOUT = re.compile(r"\b\w*(?:Timeout|TimedOut|TimeOut)(?:Error|Exception|Expired)?\b")
_PROVIDER = re.compile(
    r"\b\w*(?:RateLimit|Overloaded|ServiceUnavailable|InternalServer|APIConnection|APIStatus|BadGateway|Connection"
    r"|Connect|Network|RemoteProtocol|Throttling)\w*(?:Error|Exception)\b|\bRemoteDisconnected\b|\bResourceExhausted\b"
)
_ASSERTION = re.compile(r"(?:^|[.:\s])(?:Assertion\w*|ComparisonFailure|ExpectationFailed\w*|ExpectationNotMet\w*)\b")
_NEXTEST_TIMEOUT = "test timeout"
_HEAD = 300


def error_kind(error_type: str, message: str, *, written: str | None = None) -> ErrorKind:
    """Kind of an error: as `written` in the file if that is a kind, else by the exception's class, else `crash`.

    `crash` is the kind that says that the target itself broke, and so the one that a user may count as failed.
    """
    if written is not None and written in ERROR_KINDS:
        return cast(ErrorKind, written)
    head = f"{error_type[:_HEAD]} {message[:_HEAD]}"
    if error_type == _NEXTEST_TIMEOUT or _TIMEOUT.search(head):
        return "timeout"
    if _PROVIDER.search(head):
        return "provider"
    return "crash"


def is_assertion(error_type: str) -> bool:
    """Whether the type of an `<error>` is that of an assertion: some writers call every failure an error."""
    return bool(_ASSERTION.search(error_type[:_HEAD]))
