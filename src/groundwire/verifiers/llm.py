"""The verifiers that ask a language model, by the name of their backend."""

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
    """Claude: no logprobs, so a direct score and a restatement."""
    return _without_logprobs(open_generator(config, "anthropic"), config, "haiku")


def open_self(config: Config) -> LogprobOrSampling | ConsistencyVerifier:
    """The very model that writes the answers, whichever it is."""
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
