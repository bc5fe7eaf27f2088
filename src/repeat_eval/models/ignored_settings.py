"""Settings that the client library would leave out on the way to a model: they look set, and decide nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from repeat_eval.errors import UserError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_SAMPLING = (
    *("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "logit_bias"),
    *("openai_logprobs", "openai_top_logprobs"),
)


def refuse_ignored(client: Model[Any], name: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings that this model is never told.

    The library drops them, some without a word. A report would then tell of a temperature that no model was given.

    Args:
        client: of the library. name: provider and model, as the user wrote them. settings: those of the suite.

    Raises:
        UserError: names every one, and why.
    """
    given = [key for key in settings if settings[key] is not None and key != "stream"]
    reasoning = [key for key in given if key in _dropped_while_reasoning(client, settings)]
    other = [key for key in given if key in _dropped(client, settings) and key not in reasoning]
    sentences = []
    if reasoning:
        off = ", or turn its reasoning off (`thinking: false`)" if _reasons_on_demand(client) else ""
        sentences.append(f"{name} takes no {_list(reasoning)} while it reasons: leave {_it(reasoning)} out{off}")
    if other:
        elsewhere = _elsewhere(client, name, other)
        sentences.append(f"{name} takes no {_list(other)}: leave {_it(other)} out{elsewhere}")
    if sentences:
        raise UserError(" · ".join(sentences))


def _dropped(client: Model[Any], settings: Mapping[str, Any]) -> set[str]:
    """What the model's class does not know, and what it takes out when it gets a request ready."""
    from pydantic_ai.models import ModelRequestParameters

    unsupported = set(client.unsupported_settings)
    given: Any = {key: settings[key] for key in _SAMPLING if key in settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept, _ = client.prepare_request(given, ModelRequestParameters())
    profile: Any = client.profile
    if settings.get("thinking") and not profile.get("supports_thinking", False):
        unsupported.add("thinking")
    return unsupported | (set(given) - set(kept or {}))


def _dropped_while_reasoning(client: Model[Any], settings: Mapping[str, Any]) -> Iterable[str]:
    profile: Any = client.profile
    if not profile.get("openai_supports_reasoning", False):
        return ()
    effort, thinking = settings.get("openai_reasoning_effort"), settings.get("thinking")
    active = bool(profile.get("thinking_enabled_by_default", False))
    if effort is not None:
        active = effort != "none"
    elif thinking is not None:
        active = thinking is not False
    return () if _reasons_on_demand(client) and not active else _SAMPLING_OF_OPENAI


def _reasons_on_demand(client: Model[Any]) -> bool:
    profile: Any = client.profile
    efforts = profile.get("openai_reasoning_efforts")
    if efforts is not None:
        return "none" in efforts
    return bool(profile.get("openai_supports_reasoning_effort_none", False))


_SAMPLING_OF_OPENAI = frozenset(_SAMPLING) - {"top_k"}


def _elsewhere(client: Model[Any], name: str, keys: Iterable[str]) -> str:
    """OpenAI's other interface takes what its Responses do not."""
    provider, _, model = name.partition(":")
    of_responses = provider in ("openai", "openai-responses") and type(client).__name__ == "OpenAIResponsesModel"
    return f", or ask openai-chat:{model}" if of_responses and "top_k" not in keys else ""


def _list(keys: Iterable[str]) -> str:
    names = [f"`{key}`" for key in keys]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and no " + names[-1]


def _it(keys: list[str]) -> str:
    return "it" if len(keys) == 1 else "them"
