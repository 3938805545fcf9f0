"""Open the verifier of a backend that uses a language model."""

from __future__ import annotations

from functools import partial

from groundwire.config import Config
from groundwire.llm import Provider, is_local, open_generator
from groundwire.verifiers.consistency import ConsistencyVerifier
from groundwire.verifiers.logprob import LogprobOrSampling
from groundwire.verifiers.shared import CHARS_PER_TOKEN, LLMVerifier

GGUF_TOKENS = 2000
"""What the local language model reads in a few seconds; its server has room for twice as many."""


def open_verifier(config: Config, label: str, provider: Provider | None = None) -> LLMVerifier:
    """Open a provider's model as a verifier; without a provider, the model that generates the answers.

    Claude's API has no logprobs, so a direct score and a restatement are used.
    """
    generator = open_generator(config, provider)
    claude = (provider or config.generator.provider) == "anthropic"
    at = config.anthropic if claude else config.openai
    tokens = min(at.context_tokens, GGUF_TOKENS) if is_local(generator) else at.context_tokens
    opener = ConsistencyVerifier if claude else partial(LogprobOrSampling, top_logprobs=config.openai.top_logprobs)
    return opener(
        generator,
        label=label,
        samples=at.samples,
        concurrency=config.limits.concurrency,
        claims_per_request=at.claims_per_request,
        room=tokens * CHARS_PER_TOKEN,
    )
