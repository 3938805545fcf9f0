"""Which backend serves which operation."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from groundwire._optional import load
from groundwire.config import PLUGINS, BackendConfig, BackendName, Config, Operation, known_backend
from groundwire.errors import ConfigError
from groundwire.metrics import Metrics
from groundwire.types import Verifier
from groundwire.verifiers.batching import Batched, BatchingVerifier
from groundwire.verifiers.wrappers import Breaker, RateLimit, Retry, SafeVerifier, ThreadedVerifier, Timeout
from groundwire.version import __version__

if TYPE_CHECKING:
    from groundwire.stores.cache import CacheProtocol


def choose(backend: BackendConfig, operation: Operation, name: BackendName | None = None) -> BackendName:
    """The backend called `name`, or else of the configured type; for `configurable` the table decides.

    >>> table = BackendConfig(type="configurable", default="local", operations={"trace": "haiku"})
    >>> choose(table, "trace"), choose(table, "output"), choose(table, "trace", "openai")
    ('haiku', 'local', 'openai')
    """
    wanted = name or backend.type
    try:
        known_backend(wanted)
    except ValueError as error:
        raise ConfigError(f"there is no backend '{wanted}'", hint=str(error)) from None
    if wanted != "configurable":
        return wanted
    chosen = backend.operations.get(operation, backend.default)
    if chosen == "configurable":
        raise ConfigError(
            f"the backend for '{operation}' is 'configurable' itself",
            hint="name one of local, self, haiku, openai, external, model, cascade in hallucination.backend",
        )
    return chosen


# From a name in the configuration to a verifier that is ready to be asked and safe to ask.

LOCAL = "groundwire.verifiers.local:LocalVerifier"
"""The embedded verifier, which `local` means."""

LLM_THRESHOLD_BITS = 2.0  # gap up to which a claim passes: the probabilities of language models are coarse
FAKE_THRESHOLD_BITS = 0.0  # scripted probabilities are exact
MIN_SUPPORT = 0.5  # p1 from which a claim is more likely supported than not
CONTEXT_TOKENS = 6000  # of evidence in one query where the backend does not say how much it can read
UNLIMITED_TOKENS = 1_000_000
GGUF_TOKENS = 2000
"""What the local language model reads in a few seconds; its server has room for twice as many."""
_GATE_SHARE = 0.9  # of the gate's time; the rest is for what happens around the verifier

Close = Callable[[], Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class Backend:
    """A verifier and what its callers must know about it.

    `model` says what is behind it, `identity` everything besides the queries that determines an answer.
    `context_tokens` is how much context it reads at once; `threshold_bits` and `min_support` are the gap and
    the p1 at which its verdicts are best (profile `default`), `risk_threshold` the same for a whole response
    where that was calibrated.

    `at_once` is how many queries it takes in one call; None means the configured batch size. `requests` is
    how many requests leave the machine for one call: 0 means it computes here, so that neither retries nor
    a rate limit would help it, nor a cache unless it is `slow`. `by_context` says that a call takes queries
    of one context only.
    """

    verifier: Verifier
    model: str
    identity: str
    context_tokens: int
    threshold_bits: float
    requests: int = 0
    at_once: int | None = None
    by_context: bool = True
    slow: bool = False
    close: Close | None = None
    min_support: float = MIN_SUPPORT
    risk_threshold: float | None = None
    name: BackendName = ""
    closing: tuple[Close, ...] = field(default=(), repr=False, compare=False)

    @property
    def free(self) -> bool:
        """Asking once more costs nothing but a little time here."""
        return not self.requests

    async def aclose(self) -> None:
        async with AsyncExitStack() as stack:  # one that fails to close does not keep the others open
            for close in self.closing:
                stack.push_async_callback(close)


BackendSpec = Backend
"""What an opener or a plugin returns: a backend as it comes, before anything protects its verifier."""


def open_backend(
    config: Config, operation: Operation = "output", name: BackendName | None = None, *, metrics: Metrics | None = None
) -> Backend:
    """The backend that the configuration names for an operation, or the one named here."""
    chosen = choose(config.hallucination.backend, operation, name)
    if chosen == "cascade":
        return _cascade(config, operation, metrics)
    raw = OPENERS[chosen](config) if chosen in OPENERS else _plugin(chosen, config)
    verifier, closing = wrap_backend(raw, chosen, config, operation, metrics)
    return replace(raw, name=chosen, verifier=verifier, closing=closing)


def wrap_backend(
    raw: BackendSpec, name: BackendName, config: Config, operation: Operation, metrics: Metrics | None
) -> tuple[Verifier, tuple[Close, ...]]:
    """Everything that stands between the caller and the bare verifier, and how to close it."""
    settings, limits = config.hallucination, config.limits
    deadline = settings.memory_gate.timeout * _GATE_SHARE if operation == "memory_gate" else None
    side_by_side = limits.concurrency if config.verification.parallel_verification else 1
    size = raw.at_once or settings.batch_size
    verifier: Verifier
    if raw.requests:
        inner = with_retries(raw, config, deadline)
        verifier = Batched(inner, size, concurrency=side_by_side, by_context=raw.by_context, deadline=deadline)
    else:
        verifier = BatchingVerifier(Timeout(raw.verifier, settings.timeout), size, deadline=deadline)
    closing: tuple[Close, ...] = (raw.close,) if raw.close else ()
    cacheable = (raw.requests or raw.slow) and settings.cache_ttl > 0
    if cacheable and (config.store.cache_path or config.redis.url):
        # Only here: who computes locally needs no database driver.
        from groundwire.verifiers.cache import Cached

        store = open_cache(config)
        # What is kept is what this release made of the replies, so another release asks again.
        identity = f"{__version__}|{raw.identity}"
        verifier = Cached(verifier, store, identity, settings.cache_ttl, metrics=metrics)
        closing += (store.aclose,)
    return SafeVerifier(verifier, name, metrics=metrics, details=config.log.include_text), closing


def open_cache(config: Config) -> CacheProtocol:
    """What was answered before, on this machine; with `redis.url` on the others, too."""
    from groundwire.stores.cache import CacheStore

    near = CacheStore(config.store.cache_path)
    if config.redis.url is None:
        return near
    from groundwire.stores.cache import LayeredCache, RedisCache

    return LayeredCache(near, RedisCache(config.redis.url.get_secret_value()))


def with_retries(raw: BackendSpec, config: Config, deadline: float | None = None) -> Verifier:
    """For what answers over a network: one attempt is bounded, attempts are spaced, and few.

    Where there is a deadline, whoever is asked to come back later hears it at once: he has a queue, and a
    wait that the deadline ends would look like a backend that does not answer.
    """
    limits, timeout = config.limits, config.hallucination.timeout
    attempt: Verifier = Timeout(raw.verifier, timeout)
    if limits.requests_per_second is not None:
        longest = math.inf if deadline is None else deadline / 2
        attempt = RateLimit(attempt, limits.requests_per_second, cost=raw.requests, longest=longest)
    guarded = Breaker(attempt, limits.breaker_failures, limits.breaker_cooldown)
    return Retry(guarded, limits.retries, longest=timeout) if deadline is None else guarded


class LocalModel(Verifier, Protocol):
    """The verifier inside the package, which knows the operating points it was calibrated for."""

    def threshold_bits(self, profile: str = "default") -> float: ...

    def risk_threshold(self) -> float: ...


def _local(_: Config) -> BackendSpec:
    # Only here: other backends need no rules.
    from groundwire.verifiers.reasons import ReasonVerifier
    from groundwire.verifiers.rules import RuleVerifier

    verifier: LocalModel = load(LOCAL, feature="the backend 'local'", extra="local")()
    ruled = ThreadedVerifier(RuleVerifier(ReasonVerifier(verifier)))
    model, bits = LOCAL.rpartition(":")[2], verifier.threshold_bits()
    return BackendSpec(ruled, model, model, CONTEXT_TOKENS, bits, risk_threshold=verifier.risk_threshold())


def _llm(name: BackendName, config: Config) -> BackendSpec:
    """A provider's model as a verifier; `self` is the model that generates the answers.

    One call per shared request: a timeout, a retry or a failure is about the claims of one request.
    """
    # Only here: other backends need no language model.
    from groundwire.llm import Provider, is_local, open_generator
    from groundwire.verifiers.consistency import ConsistencyVerifier
    from groundwire.verifiers.logprob import LogprobOrSampling
    from groundwire.verifiers.shared import CHARS_PER_TOKEN, LLMVerifier

    providers: dict[BackendName, Provider] = {"openai": "openai", "haiku": "anthropic"}
    provider = providers.get(name)
    used = provider or config.generator.provider
    claude = used == "anthropic"
    at = config.anthropic if claude else config.openai
    generator = open_generator(config, provider)
    tokens = min(at.context_tokens, GGUF_TOKENS) if is_local(generator) else at.context_tokens
    # Claude's API has no logprobs, so a direct score and a restatement are used.
    kind: Callable[..., LLMVerifier] = (
        ConsistencyVerifier if claude else partial(LogprobOrSampling, top_logprobs=config.openai.top_logprobs)
    )
    verifier = kind(
        generator,
        label=name,
        samples=at.samples,
        concurrency=config.limits.concurrency,
        claims_per_request=at.claims_per_request,
        room=tokens * CHARS_PER_TOKEN,
    )
    own = config.generator.model if name == "self" else None
    return BackendSpec(
        verifier,
        own or ("SmolLM2-135M-Instruct" if used == "llm" else at.model),
        verifier.identity,
        min(at.context_tokens, at.evidence_tokens),
        LLM_THRESHOLD_BITS,
        requests=2 * config.anthropic.samples if claude else 1,
        at_once=at.claims_per_request,
        by_context=at.claims_per_request == 1,
        close=verifier.aclose,
    )


def _external(config: Config) -> BackendSpec:
    at = config.external
    if not at.url:
        raise ConfigError("the backend 'external' has no address", hint="set external.url")
    # Imported here: the HTTP client takes a tenth of a second that other backends do not pay.
    from groundwire.verifiers.external import ExternalVerifier

    verifier = ExternalVerifier(at.url, api_key=at.api_key, timeout=config.hallucination.timeout)
    model, identity, close = verifier.host, f"external|{at.url}", verifier.aclose
    return BackendSpec(verifier, model, identity, CONTEXT_TOKENS, LLM_THRESHOLD_BITS, requests=1, close=close)


def _model(config: Config) -> BackendSpec:
    at = config.model
    if not at.path:
        raise ConfigError("the backend 'model' has no model", hint="give --model, or set model.path")
    # Only here: other backends need no model of the user's.
    from groundwire.verifiers.model import ModelVerifier

    verifier = ModelVerifier(at.path, kind=at.kind, labels=at.labels, template=at.template, max_tokens=at.max_tokens)
    threaded = ThreadedVerifier(verifier)
    return BackendSpec(threaded, at.path, verifier.identity, CONTEXT_TOKENS, LLM_THRESHOLD_BITS, slow=True)


def _cascade(config: Config, operation: Operation, metrics: Metrics | None) -> Backend:
    """The embedded verifier's operating point holds for both: the language model's estimates are clearer."""
    from groundwire.verifiers.cascade import CascadeBudget, CascadeVerifier

    at = config.cascade
    first, second = OPENERS["local"](config), OPENERS[at.llm](config)
    if at.max_usd is not None and second.model not in config.orchestrator.prices:
        raise ConfigError(f"cascade.max_usd needs the price of {second.model}", hint="set it in orchestrator.prices")
    free, close_first = wrap_backend(first, "local", config, operation, metrics)
    paid, close_second = wrap_backend(second, at.llm, config, operation, metrics)
    budget = CascadeBudget(at.max_calls, at.max_usd, config.orchestrator.prices)
    both = CascadeVerifier(free, paid, at.low, at.high, budget, second.at_once or 1)
    return replace(
        first,
        name="cascade",
        verifier=SafeVerifier(both, "cascade", metrics=metrics, details=config.log.include_text),
        context_tokens=second.context_tokens,
        model=f"{first.model}, {second.model}",
        requests=second.requests,
        closing=(*close_first, *close_second),
    )


def _plugin(name: str, config: Config) -> BackendSpec:
    """A backend of another package: its entry point makes a verifier, or a `BackendSpec`, of the config."""
    (entry, *_) = entry_points(group=PLUGINS, name=name)
    try:
        make = entry.load()
    except (ImportError, AttributeError) as error:
        broken = f"the backend '{name}' cannot be loaded from {entry.value}: {error}"
        raise ConfigError(broken, hint="install its package again, or choose another --backend") from error
    made = make(config)
    if isinstance(made, BackendSpec):
        return made
    if not isinstance(made, Verifier):
        raise ConfigError(f"the backend '{name}' of {entry.value} is not a verifier")
    close = getattr(made, "aclose", None)
    identity = str(getattr(made, "identity", entry.value))
    return BackendSpec(made, name, identity, CONTEXT_TOKENS, LLM_THRESHOLD_BITS, close=close)


def _fake(_: Config) -> BackendSpec:
    from groundwire.verifiers.fake import FakeVerifier

    return BackendSpec(FakeVerifier(recorded=0), "fake", "fake", UNLIMITED_TOKENS, FAKE_THRESHOLD_BITS)


OPENERS: dict[BackendName, Callable[[Config], BackendSpec]] = {
    "local": _local,
    "self": partial(_llm, "self"),  # the model that wrote the answer
    "haiku": partial(_llm, "haiku"),
    "openai": partial(_llm, "openai"),
    "external": _external,
    "model": _model,
    "fake": _fake,
}
"""Every backend by name; `configurable` is a choice among them, and `cascade` stands on two of them."""
