"""Comparing texts by meaning: an endpoint turns them into vectors, and their cosine says how similar they are.

A call is a `ModelRequest` like every other, so that cassettes and retries wrap it: the texts are its messages, and the
reply's text is a JSON list with a vector for each.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repeat_eval.errors import UserError
from repeat_eval.models.call import AskModel, CallSlot, ModelReply, ModelRequest
from repeat_eval.models.judging import spent_on
from repeat_eval.models.provider import URL_VARIABLES, Asker, HowToAsk, make_ask
from repeat_eval.models.retrying_calls import TooManyCalls
from repeat_eval.records.trial import Judge, Tokens, bounded, clean, one_line
from repeat_eval.suite.checks.base import NoVerdict, Observation, Score
from repeat_eval.suite.checks.similar import Similar
from repeat_eval.targets.base import TargetError

if TYPE_CHECKING:
    import httpx

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
TIMEOUT = 60.0
"""Seconds that one call may take."""
MAX_CHARACTERS = 20_000
MAX_DIMENSIONS = 20_000
MAX_REPLY_BYTES = 8_000_000
DIGITS = 7
"""Decimals that are kept of a vector's numbers: endpoints compute with fewer, and recordings stay short."""
_TRY_AGAIN = frozenset({408, 409, 425, 429})


async def compare(ask: AskModel, check: Similar, name: str, observation: Observation) -> Score:
    """How similar the output is to the reference: the cosine of their vectors, at least 0.

    Raises:
        NoVerdict: there is no reference, or no answer that can be used; kind `recording` when a recording is missing.
    """
    reference = check.reference(observation.expected)
    if reference is None:
        raise NoVerdict("there is nothing to compare with: the case's `expected:` is no text")
    judge = Judge(model=check.model)
    if not observation.text.strip():
        return Score(False, 0.0, "the output is empty")  # nobody was asked
    texts = [bounded(clean(text), MAX_CHARACTERS) for text in (reference, observation.text)]
    request = ModelRequest(
        model=check.model,
        url=check.url,
        messages=tuple({"role": "user", "content": text} for text in texts),
        settings={"embedding": True},
    )
    part = f"check {name}" if name == "target" else name
    try:
        reply = await ask(request, CallSlot(observation.case, observation.repetition, part, 1))
    except TargetError as error:
        kind = error.kind if error.kind == "recording" else "judge"
        raise NoVerdict(f"{check.model}: {one_line(error.message) or error.kind}", kind=kind) from None
    spent = spent_on([reply])
    try:
        one, other = vectors_of(reply, 2)
        similarity = round(cosine(one, other), 9)  # equal texts are 1, whatever the last digits say
    except ValueError as error:
        raise NoVerdict(f"{check.model}: {error}", spent=spent) from None
    score = min(1.0, max(0.0, similarity))
    message = None if score >= check.threshold else f"similarity {score:.3f}, wanted {check.threshold:g}"
    return Score(score >= check.threshold, score, message, judge, spent)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, in [-1, 1].

    Raises:
        ValueError: they have different lengths, or one of them has no direction.
    """
    if len(one) != len(other):
        raise ValueError(f"the vectors have {len(one)} and {len(other)} numbers")
    # Scaled by the largest number, so that no square overflows or vanishes.
    scales = [max(map(abs, vector), default=0.0) for vector in (one, other)]
    if 0.0 in scales:
        raise ValueError("a vector holds nothing but zeros")
    first, second = ([number / scale for number in vector] for vector, scale in zip((one, other), scales, strict=True))
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    lengths = math.sqrt(math.fsum(a * a for a in first)) * math.sqrt(math.fsum(b * b for b in second))
    return min(1.0, max(-1.0, product / lengths))


def vectors_of(reply: ModelReply, count: int) -> list[list[float]]:
    """The vectors in a reply.

    Raises:
        ValueError: there are not so many, or they are none.
    """
    try:
        value = json.loads(reply.text or "")
    except (ValueError, RecursionError):
        raise ValueError("the reply holds no vectors") from None
    if not isinstance(value, list) or len(value) != count:
        raise ValueError(f"the reply does not hold {count} vectors")
    return [_vector(one) for one in value]


class EmbeddingEndpoint:
    """An OpenAI-compatible `POST …/embeddings` as somebody who answers model calls, each call once."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float | None = TIMEOUT) -> None:
        """Describe the endpoint.

        Args:
            url: base URL. key: goes into the authorization header; None for none.
            timeout: seconds that one call may take; None for no limit.
        """
        self._timeout = timeout
        self.url = url.rstrip("/")
        self._key = key
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        """Ask for the vectors of the request's messages.

        Raises:
            TargetError: kind `provider` or `timeout`; the key and what the endpoint said are not in its message.
        """
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout, follow_redirects=False)
        name = request.model.partition(":")[2]
        body = {"model": name, "input": [message["content"] for message in request.messages]}
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(f"{self.url}/embeddings", json=body, headers=headers)
        except (TimeoutError, httpx.TimeoutException):
            late = f"the embedding endpoint gave no answer within {self._timeout or 0:g} s"
            raise TargetError("timeout", late) from None
        except httpx.HTTPError as error:
            raise TargetError("provider", f"the embedding endpoint: {type(error).__name__}") from None
        if response.status_code != 200:
            raise _refused(response)
        return _reply(response.content, len(request.messages), self.url, name)

    async def start(self) -> None:
        """Nothing to do; connections are made when they are needed."""

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def endpoint_of(
    model: str,
    *,
    url: str | None,
    api_key_env: str | None,
    environ: Mapping[str, str],
    timeout: float | None = TIMEOUT,
) -> EmbeddingEndpoint:
    """The endpoint of an embedding model. One of one's own gets a key only if `api_key_env` names one.

    Raises:
        UserError: the provider's own endpoint is not known here, or the key is missing.
    """
    provider = model.partition(":")[0]
    if provider != "openai" and url is None:
        raise UserError(f"{model}: the endpoint of {provider} is not known; give its OpenAI-compatible `url`")
    base = url or environ.get(URL_VARIABLES["openai"], "").strip() or OPENAI_URL
    variable = api_key_env or (None if url else OPENAI_KEY)
    key = environ.get(variable, "").strip() if variable else ""
    if variable and not key and (api_key_env or base == OPENAI_URL):
        raise UserError(f"{variable} is not set: the key for {provider} is read from this environment variable")
    return EmbeddingEndpoint(base, key or None, timeout=timeout)


def make_embedding_ask(name: str, how: HowToAsk, *, url: str | None = None, api_key_env: str | None = None) -> Asker:
    """Who answers calls of an embedding model: as `provider.make_ask`, with the same arguments.

    Raises:
        UserError: see `endpoint_of`.
    """
    if how.offline:
        return make_ask(name, how)
    endpoint = endpoint_of(name, url=url, api_key_env=api_key_env, environ=how.environ, timeout=how.timeout)
    return how.asker(endpoint, endpoint, f"embeddings {endpoint.url}")


def _refused(response: httpx.Response) -> TargetError:
    status = response.status_code
    retryable = status >= 500 or status in _TRY_AGAIN
    retry_after = None
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            after = float(response.headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= after < math.inf:
            retry_after = after
            break
    hint = {401: ": the key is not accepted", 403: ": the key may not do this", 404: ": no such model or URL"}
    text = f"the embedding endpoint answered with status {status}{hint.get(status, '')}"
    if status == 429:
        return TooManyCalls("provider", text, retry_after=retry_after)
    return TargetError("provider", text, retry_after=retry_after if retryable else None, retryable=retryable)


def _reply(content: bytes, count: int, url: str, asked: str) -> ModelReply:
    if len(content) > MAX_REPLY_BYTES:
        raise TargetError("provider", f"the embedding endpoint sent more than {MAX_REPLY_BYTES:,} bytes")
    try:
        body = json.loads(content)
        data = sorted(body["data"], key=lambda one: int(one["index"]))
        vectors = [[round(number, DIGITS) for number in _vector(one["embedding"])] for one in data]
        if [int(one["index"]) for one in data] != list(range(count)):
            raise ValueError("other vectors than those asked for")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise TargetError("provider", "the embedding endpoint's answer cannot be read") from None
    usage = body.get("usage")
    read = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    known = isinstance(read, int) and not isinstance(read, bool) and read >= 0
    model = body.get("model")
    return ModelReply(
        text=json.dumps(vectors),
        tokens=Tokens(input=read, output=0) if known else None,
        cost=_cost(url, asked, read) if isinstance(read, int) and known else None,
        model=model if isinstance(model, str) else None,
    )


def _cost(url: str, model: str, tokens: int) -> float | None:
    """US dollars; None without the price list, or when it does not know the endpoint or the model."""
    try:
        from genai_prices import Usage, calc_price

        return float(calc_price(Usage(input_tokens=tokens), model, provider_api_url=url).total_price)
    except (ImportError, LookupError, ValueError, ArithmeticError, TypeError):
        return None


def _vector(value: Any) -> list[float]:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_DIMENSIONS:
        raise ValueError("a vector is missing, empty or too long")
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueError("a vector holds something that is no number")
    return [float(number) for number in value]
