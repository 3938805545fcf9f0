"""Open the verifier of a backend that uses a language model."""

from __future__ import annotations

from groundwire.config import Config
from groundwire.llm import Provider, is_local, open_generator
from groundwire.verifiers.consistency import ConsistencyVerifier
from groundwire.verifiers.logprob import LogprobOrSampling
from groundwire.verifiers.shared import CHARS_PER_TOKEN

GGUF_TOKENS = 2000
"""What the local language model reads in a few seconds; its server has room for twice as many."""


def open_verifier(
    config: Config, label: str, provider: Provider | None = None
) -> LogprobOrSampling | ConsistencyVerifier:
    """Open a provider's model as a verifier; without a provider, the model that generates the answers.

    Claude's API has no logprobs, so a direct score and a restatement are used.
    """
    generator = open_generator(config, provider)
    concurrency = config.limits.concurrency
    if (provider or config.generator.provider) == "anthropic":
        claude = config.anthropic
        return ConsistencyVerifier(
            generator,
            label=label,
            samples=claude.samples,
            concurrency=concurrency,
            claims_per_request=claude.claims_per_request,
            room=claude.context_tokens * CHARS_PER_TOKEN,
        )
    at = config.openai
    room_tokens = min(at.context_tokens, GGUF_TOKENS) if is_local(generator) else at.context_tokens
    return LogprobOrSampling(
        generator,
        label=label,
        top_logprobs=at.top_logprobs,
        samples=at.samples,
        concurrency=concurrency,
        claims_per_request=at.claims_per_request,
        room=room_tokens * CHARS_PER_TOKEN,
    )
