"""Constructors of the verifiers that use a language model, one per backend name."""

from __future__ import annotations

from groundwire.config import Config
from groundwire.llm import open_generator
from groundwire.llm.base import Generator
from groundwire.verifiers.consistency import ConsistencyVerifier
from groundwire.verifiers.sampling import LogprobOrSampling


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
    )


def _without_logprobs(generator: Generator, config: Config, label: str) -> ConsistencyVerifier:
    return ConsistencyVerifier(
        generator, label=label, samples=config.anthropic.samples, concurrency=config.limits.concurrency
    )
