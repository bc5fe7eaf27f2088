"""Whatever goes wrong between us and a provider, as an error of the trial: a clear sentence without keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from repeat_eval.models.retrying_calls import TooManyCalls
from repeat_eval.records.trial import bounded
from repeat_eval.targets.base import TargetError

MAX_EXCERPT_CHARACTERS = 300
_TRY_AGAIN = frozenset({408, 409, 425, 429})
_HINTS = {
    401: "the key was not accepted",
    403: "the key may not use this model",
    404: "there is no such model or endpoint",
    413: "the request is too long",
}


def target_error(error: Exception, asked: str, scrub: Callable[[str], str]) -> TargetError:
    """An exception of the client library as our error.

    408, 409, 425, 429, 5xx, broken connections and answers that cannot be read may be tried again; a request that was
    understood and refused (400, 401, 403, 404 …) may not, nor may a used-up quota.

    Args:
        error: what was raised. asked: the model that was asked. scrub: takes secrets out of a text.
    """
    from pydantic_ai import exceptions

    if isinstance(error, exceptions.ModelHTTPError):
        return _of_status(error, asked, scrub)
    retry_after = getattr(error, "retry_after", None)
    words = _printable(scrub(str(error)))
    if isinstance(error, exceptions.ModelRateLimitError):
        return TooManyCalls("provider", f"{asked} refused the call: too many calls", retry_after=retry_after)
    if isinstance(error, exceptions.ModelTimeoutError):
        return TargetError("timeout", f"{asked} did not answer in time")
    retryable = True
    match error:
        case exceptions.ModelConnectionError():
            what = f"the connection to {asked} failed"
        case exceptions.ModelQuotaExceededError() | exceptions.ModelRequestRejectedError():
            what, retryable = f"{asked} refused the call", False
        case exceptions.ContentFilterError():
            what = f"the content filter of {asked} stopped the answer"
        case exceptions.ModelAPIError() | exceptions.UnexpectedModelBehavior():
            what = f"{asked} gave an answer that cannot be read"
        case exceptions.UserError() | NotImplementedError():
            what, retryable = f"{asked} cannot be asked like this", False
        case _:
            what = f"the call of {asked} failed: {type(error).__name__}"
    return TargetError("provider", _sentence(what, words), retry_after=retry_after, retryable=retryable)


def _of_status(error: Any, asked: str, scrub: Callable[[str], str]) -> TargetError:
    from pydantic_ai import exceptions

    status = int(error.status_code)
    said = _printable(scrub(_said(error.body)))
    message = f"{asked} answered {status}"
    retry_after = error.retry_after
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return TargetError("provider", _sentence(f"{message}: the quota is used up", said), retryable=False)
    if status == 429:
        return TooManyCalls("provider", _sentence(f"{message} Too Many Requests", said), retry_after=retry_after)
    if status in _TRY_AGAIN or 500 <= status <= 599:
        return TargetError("provider", _sentence(message, said), retry_after=retry_after)
    hint = _HINTS.get(status)
    return TargetError("provider", _sentence(f"{message}: {hint}" if hint else message, said), retryable=False)


def _said(body: object) -> str:
    """What the provider itself says in the body of an error, where it can be found."""
    found: Any = body
    for key in ("error", "message"):
        if isinstance(found, dict):
            found = found.get(key, found)
    if isinstance(found, str):
        return found
    return "" if found is None else json.dumps(found, ensure_ascii=False, default=str)


def _sentence(what: str, said: str) -> str:
    return f"{what}: {bounded(said, MAX_EXCERPT_CHARACTERS)}" if said else what


def _printable(text: str) -> str:
    """Text from outside in one line, without control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text[:4000]).split())
