"""Language models behind one small protocol."""

from __future__ import annotations

from typing import Literal

from groundwire._optional import load
from groundwire.config import AnthropicConfig, Config, OpenAIConfig
from groundwire.llm.base import (
    Completion,
    Generator,
    Message,
    OnText,
    StreamingGenerator,
    TokenLogprob,
    completed,
)

Provider = Literal["openai", "anthropic", "llm"]

_PROVIDERS: dict[Provider, str] = {
    "openai": "groundwire.llm.openai:open_generator",
    "anthropic": "groundwire.llm.anthropic:open_generator",
    "llm": "groundwire.llm.gguf:open_generator",
}
# The extra that installs each provider's SDK; the local server speaks the OpenAI protocol.
_EXTRAS: dict[Provider, str] = {"openai": "openai", "anthropic": "anthropic", "llm": "openai"}


def open_generator(config: Config, provider: Provider | None = None, model: str | None = None) -> Generator:
    """Open a provider's model; without a provider, the configured generator (`generator.*`).

    Close it with `aclose()`.
    """
    if provider is None:
        provider, model = config.generator.provider, model or config.generator.model
    opener = load(_PROVIDERS[provider], feature=f"the provider '{provider}'", extra=_EXTRAS[provider])
    generator: Generator = opener(config, model)
    return generator


def is_chosen(config: Config) -> bool:
    """True if the configuration selects a usable generator; the defaults do not.

    An API key in the environment alone is not a choice, so no text leaves the machine because of it.
    """
    if not config.generator.model_fields_set:
        return False
    if config.generator.provider == "llm":
        return True
    at: OpenAIConfig | AnthropicConfig = (
        config.anthropic if config.generator.provider == "anthropic" else config.openai
    )
    return at.api_key is not None or "base_url" in at.model_fields_set


__all__ = [
    "Completion",
    "Generator",
    "Message",
    "OnText",
    "Provider",
    "StreamingGenerator",
    "TokenLogprob",
    "completed",
    "is_chosen",
    "open_generator",
]
