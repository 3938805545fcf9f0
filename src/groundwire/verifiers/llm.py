"""Constructors of the verifiers that use a language model, one per backend name."""

from __future__ import annotations

from groundwire.config import Config
from groundwire.llm import is_local, open_generator
from groundwire.llm.base import Generator
from groundwire.verifiers.consistency import ConsistencyVerifier
from groundwire.verifiers.logprob import LogprobOrSampling
from groundwire.verifiers.shared import CHARS_PER_TOKEN

GGUF_TOKENS = 2000
"""What the local language model reads in a few seconds; its server has room for twice as many."""


def open_openai(config: Config) -> LogprobOrSampling:
    """Any OpenAI-compatible server."""
    return _with_logprobs(open_generator(config, "openai"), config, "openai")


def open_haiku(config: Config) -> ConsistencyVerifier:
    """Claude. Its API has no logprobs, so a direct score and a restatement are used."""
    return _without_logprobs(open_generator(config, "anthropic"), config, "haiku")


def open_self(config: Config) -> LogprobOrSampling | ConsistencyVerifier:
    """The same model that generates the answers."""
    make = _without_logprobs if config.generator.provider == "anthropic" else _with_logprobs
    return make(open_generator(config), config, "self")


def _with_logprobs(generator: Generator, config: Config, label: str) -> LogprobOrSampling:
    return LogprobOrSampling(
        generator,
        label=label,
        top_logprobs=config.openai.top_logprobs,
        samples=config.openai.samples,
        concurrency=config.limits.concurrency,
        claims_per_request=config.openai.claims_per_request,
        room=room_tokens(config, is_local(generator)) * CHARS_PER_TOKEN,
    )


def _without_logprobs(generator: Generator, config: Config, label: str) -> ConsistencyVerifier:
    return ConsistencyVerifier(
        generator,
        label=label,
        samples=config.anthropic.samples,
        concurrency=config.limits.concurrency,
        claims_per_request=config.anthropic.claims_per_request,
        room=config.anthropic.context_tokens * CHARS_PER_TOKEN,
    )


def room_tokens(config: Config, local: bool) -> int:
    """Tokens of context in one request; the small model on this machine reads fewer."""
    room = config.openai.context_tokens
    return min(room, GGUF_TOKENS) if local else room
