"""Models behind a network: any provider of pydantic-ai, and any endpoint that speaks OpenAI's or Anthropic's format.

The client library is imported when a model is asked for, not before; it takes over a second.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.models.call import AskModel, CallSlot, ModelReply, ModelRequest
from repeat_eval.models.retrying_calls import RetryingCalls
from repeat_eval.models.throttle import Throttle
from repeat_eval.records.trial import ErrorKind, bounded
from repeat_eval.suite.messages import nearest
from repeat_eval.targets.base import TargetError
from repeat_eval.targets.environment import Scrubber

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

    from repeat_eval.targets.rate_limit import Pace

EXTRA = "pip install 'repeat-eval[models]'"
KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
}
"""Where providers' keys are looked for without `api_key_env`; other providers look by themselves."""
URL_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}
_NO_KEY = "no-key"
_REMEMBERED = 2_000
"""Replies kept as they came, to be sent back within their conversation."""


class Provider:
    """Asks one model at one endpoint, once a call, without retries of its own. Start it before, close it after."""

    def __init__(
        self, name: str, *, url: str | None = None, api_key_env: str | None = None, environ: Mapping[str, str]
    ) -> None:
        """Look up the key and make the client; nothing is sent.

        Args:
            name: provider and model, for instance `openai:gpt-5-mini`.
            url: base URL, where it is not the provider's own. Then a key is sent only if `api_key_env` names one.
            api_key_env: the environment variable that holds the key; without it the provider's usual one.
            environ: where variables are looked up.

        Raises:
            UserError: the extra is not installed, the provider is unknown, or its key is missing; never holds a key.
        """
        self.name = name
        self.provider, _, self.model = name.partition(":")
        self.endpoint = f"{self.provider} {url or ''}".strip()
        key, self._variable = _key(self.provider, url, api_key_env, environ)
        self._scrubber = Scrubber({**environ, "REPEAT_EVAL_MODEL_KEY": key or ""})
        base = url or environ.get(URL_VARIABLES.get(self.provider, ""), "").strip() or None
        self._client = _model(self.provider, self.model, base, key, self._scrubber.scrub)
        self._entered = 0
        # Only these clients try again by themselves, and only they know of the setting that says not to.
        self._max_retries = hasattr(getattr(self._client, "client", None), "with_options")
        profile: Any = self._client.profile
        self._native_schema = bool(profile.get("supports_json_schema_output", False))
        self._kept: OrderedDict[tuple[str, int, str], dict[str, ModelResponse]] = OrderedDict()

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise UserError for settings that the model would never be told."""
        from repeat_eval.models.ignored_settings import refuse_ignored

        if settings:
            refuse_ignored(self._client, self.name, settings)

    async def start(self) -> None:
        """Open the connections' pool; may be called more than once, each time with a `close`."""
        # What the first call needs is loaded now: it would make that trial, and all beside it, look slow.
        import genai_prices  # noqa: F401
        import pydantic_ai.direct  # noqa: F401

        self._entered += 1
        if self._entered == 1:
            await self._client.__aenter__()

    async def close(self) -> None:
        """Close all connections."""
        if self._entered:
            self._entered -= 1
            if not self._entered:
                await self._client.__aexit__(None, None, None)

    def within(self, timeout: float | None) -> AskModel:
        """Ask so that each call may take at most so many seconds; None for no limit."""

        async def ask(request: ModelRequest, slot: CallSlot) -> ModelReply:
            try:
                async with asyncio.timeout(timeout):
                    return await self._ask(request, slot)
            except TimeoutError:
                raise TargetError("timeout", f"no answer of {self.name} within {timeout or 0:g} s") from None

        return ask

    async def _ask(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        from pydantic_ai.direct import model_request, model_request_stream

        from repeat_eval.models.provider_messages import history_of, parameters_of, reply_of

        settings: Any = {key: value for key, value in request.settings.items() if key != "stream"}
        if self._max_retries:
            settings["max_retries"] = 0
        known = self._known(slot)
        history = history_of(request, known)
        parameters = parameters_of(request, native_schema=self._native_schema)
        try:
            if request.settings.get("stream"):
                async with model_request_stream(
                    self._client, history, model_settings=settings, model_request_parameters=parameters
                ) as stream:
                    async for _ in stream:
                        pass
                    response = stream.get()
            else:
                response = await model_request(
                    self._client, history, model_settings=settings, model_request_parameters=parameters
                )
        except TimeoutError:
            raise
        except Exception as error:
            raise target_error_of(error, self.name, self._scrubber.scrub) from None
        reply = reply_of(response, self.model)
        if reply.tool_calls:
            known[reply.tool_calls[0].id] = response
        return reply

    def _known(self, slot: CallSlot) -> dict[str, ModelResponse]:
        place = (slot.case, slot.repetition, slot.part)
        if slot.index == 1:
            self._kept.pop(place, None)
        known = self._kept.setdefault(place, {})
        if len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)
        return known


class Startable(Protocol):
    """What is started before the first call and closed after the last."""

    async def start(self) -> None:
        """Get ready."""

    async def close(self) -> None:
        """Release everything."""


class Asker:
    """A provider with retries and whatever else is wrapped around it: what targets and judges ask."""

    def __init__(self, provider: Startable | None, ask: AskModel, retries: RetryingCalls | None) -> None:
        """Hold the parts together.

        Args:
            provider: is started and closed; None when nothing is asked live.
            ask: the outermost wrap. retries: the one that counts attempts, if there is any.
        """
        self._provider = provider
        self._ask = ask
        self._retries = retries

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise UserError for settings that the model would never be told; nothing where none is asked live."""
        if isinstance(self._provider, Provider):
            self._provider.check_settings(settings)

    async def start(self) -> None:
        """Get ready."""
        if self._provider is not None:
            await self._provider.start()

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        """Answer one call. Raises TargetError."""
        return await self._ask(request, slot)

    def take_retries(self, slot: CallSlot) -> int:
        """How many further tries the calls of this trial and part took, and forget them."""
        return 0 if self._retries is None else self._retries.take_retries(slot)

    async def close(self) -> None:
        """Release everything."""
        if self._provider is not None:
            await self._provider.close()


class HowToAsk(msgspec.Struct, frozen=True, kw_only=True):
    """How models are asked, whichever they are.

    Attributes:
        environ: where keys and addresses are looked up.
        timeout: seconds that one try of one call may take; None for no limit.
        throttles: holds calls to one endpoint back together; hand the same mapping to whoever asks the same endpoints.
        pace: the rate that the user set. retries, retry_on, seed: see `RetryingCalls`.
        wrap: put around everything else, as a cassette is.
        offline: nothing may be asked live: no key is needed and no client is made.
    """

    environ: Mapping[str, str]
    timeout: float | None = None
    throttles: MutableMapping[str, Throttle] | None = None
    pace: Pace | None = None
    retries: int = 0
    retry_on: frozenset[ErrorKind] = frozenset({"provider"})
    seed: int = 0
    wrap: Callable[[AskModel], AskModel] | None = None
    offline: bool = False

    def asker(self, provider: Startable, ask: AskModel, endpoint: str) -> Asker:
        """Who answers calls: the wrap around retries around `ask`, which is `provider`'s; one throttle an endpoint."""
        throttle = Throttle() if self.throttles is None else self.throttles.setdefault(endpoint, Throttle())
        retrying = RetryingCalls(
            ask, retries=self.retries, retry_on=self.retry_on, throttle=throttle, pace=self.pace, seed=self.seed
        )
        return Asker(provider, self.wrapped(retrying), retrying)

    def wrapped(self, ask: AskModel) -> AskModel:
        """`ask` with the wrap around it, if there is one."""
        return ask if self.wrap is None else self.wrap(ask)


def make_ask(name: str, how: HowToAsk, *, url: str | None = None, api_key_env: str | None = None) -> Asker:
    """Put together who answers the calls of a model.

    Args:
        name: provider and model, for instance `openai:gpt-5-mini`. how: how models are asked.
        url: base URL where it is not the provider's own. api_key_env: the variable that holds the key.

    Raises:
        UserError: see `Provider`.
    """
    if how.offline:
        return Asker(None, how.wrapped(_never(name)), None)
    provider = Provider(name, url=url, api_key_env=api_key_env, environ=how.environ)
    return how.asker(provider, provider.within(how.timeout), provider.endpoint)


def target_error_of(error: Exception, asked: str, scrub: Callable[[str], str]) -> TargetError:
    """As `provider_errors.target_error`, imported when there is an error."""
    from repeat_eval.models.provider_errors import target_error

    return target_error(error, asked, scrub)


def _never(name: str) -> AskModel:
    async def ask(request: ModelRequest, slot: CallSlot) -> ModelReply:
        raise TargetError("recording", f"{name} is not asked: only recordings are replayed", retryable=False)

    return ask


def _key(
    provider: str, url: str | None, named: str | None, environ: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """The key and the variable it came from."""
    names = (named,) if named else () if url else KEY_VARIABLES.get(provider, ())
    for name in names:
        # Secrets pasted into a form often end in a line break.
        if key := environ.get(name, "").strip():
            return key, name
    own_url = environ.get(URL_VARIABLES.get(provider, ""), "").strip()
    if names and (named or not own_url):
        alternatives = " or ".join(names)
        raise UserError(f"{alternatives} is not set: the key for {provider} is read from this environment variable")
    return None, None


def _model(provider: str, model: str, url: str | None, key: str | None, scrub: Callable[[str], str]) -> Model[Any]:
    try:
        from pydantic_ai import exceptions
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider_class
    except ImportError:
        raise UserError(f"asking a model needs more packages: {EXTRA}") from None
    if provider == "openai" and url:
        provider = "openai-chat"  # what compatible endpoints speak
    try:
        made = infer_provider_class(provider)
    except ImportError:
        raise UserError(f"the provider {provider!r} needs a package that is not installed: {EXTRA}") from None
    except ValueError:
        guess = nearest(provider, KEY_VARIABLES)
        hint = f"; did you mean {guess!r}?" if guess else ""
        raise UserError(f"unknown provider {bounded(repr(provider), 60)}{hint}") from None
    takes = inspect.signature(made).parameters
    arguments: dict[str, Any] = {}
    if url:
        if "base_url" not in takes:
            raise UserError(f"the provider {provider!r} takes no url; `openai` asks any endpoint in OpenAI's format")
        arguments["base_url"] = url
    if "api_key" in takes and (key or url):
        arguments["api_key"] = key or _NO_KEY
    try:
        return infer_model(f"{provider}:{model}", lambda _: made(**arguments))
    except ImportError:
        raise UserError(f"the provider {provider!r} needs a package that is not installed: {EXTRA}") from None
    except (exceptions.UserError, ValueError) as error:
        raise UserError(f"{provider}:{model} cannot be asked: {scrub(str(error)).splitlines()[0]}") from None
