"""What a call costs, from the price list of genai-prices that is installed; nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse


def cost_of(response: ModelResponse, asked_model: str) -> float | None:
    """US dollars that a reply cost; None when usage, model or endpoint is not known to the price list.

    An endpoint is known by its address, not by its wire format: a model of one's own behind an OpenAI-compatible URL
    is not priced like OpenAI's, whatever it is called.

    Args:
        response: the reply. asked_model: the model's name as it was asked for, without provider.
    """
    from genai_prices import calc_price

    usage = response.usage
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return None
    endpoint: dict[str, Any] = (
        {"provider_api_url": response.provider_url}
        if response.provider_url
        else {"provider_id": response.provider_name}
    )
    if not any(endpoint.values()):
        return None
    for name in (response.model_name, asked_model):
        if not name:
            continue
        try:
            price = calc_price(usage, name, genai_request_timestamp=response.timestamp, **endpoint)
        except (LookupError, ValueError, ArithmeticError, TypeError):
            continue
        return float(price.total_price)
    return None
