"""The synchronous functions of the package. Calls with equal settings share one loaded engine."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING
from weakref import ref

from groundwire._loop import run
from groundwire.config import BackendName, Config, ProfileName
from groundwire.engine import Groundwire
from groundwire.requests import History, Sources
from groundwire.types import ClaimVerification, HallucinationReport, KnowledgeBase, TraceAudit

if TYPE_CHECKING:
    from groundwire.llm import Generator, Message
    from groundwire.traces.steps import Steps
    from groundwire.types.stream import Context, StreamEvent
    from groundwire.verifiers.dependence import SemanticEntropy

_CLOSE_SECONDS = 5.0
"""Time to close an engine at exit: a backend that does not respond must not keep the process alive."""


def check(
    answer: str,
    sources: Sources = (),
    *,
    question: str = "",
    history: History = (),
    kb: KnowledgeBase | str | None = None,
    now: datetime | None = None,
    response_id: str = "",
    fix: bool = False,
    shares: bool = False,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> HallucinationReport:
    """Verify every claim of an answer against its sources.

    Args:
        answer: the text to check.
        sources: a text, a list of texts (S0, S1, …), a mapping of ids to texts, or `Source` objects.
        question: the question that the answer responds to.
        history: earlier turns of the conversation, compared with the answer.
        kb: a knowledge base, or its path or URL; its facts are compared with the answer.
        now: the reference time for words like "yesterday"; default is the current time.
        response_id: copied to the report.
        fix: also repair the answer (`report.repair.text`).
        shares: measure each source's share (`claim.shares`) of every claim with evidence from several.
        config: the settings; default is `Config.load()`.
        backend: the verifier, instead of the configured one.
        profile: the preset of thresholds, instead of the configured one.
        target: the confidence in [0, 1] that the evidence of each claim has to justify.

    Raises `GroundwireError` for input that cannot be checked and for an invalid configuration. A claim that
    the backend could not verify has the status `UNCHECKED`.
    """
    engine = _engine(config, backend, profile, target)
    engine = engine.variant(shares=True) if shares else engine
    report = run(
        engine.check(answer, sources, question=question, response_id=response_id, history=history, kb=kb, now=now)
    )
    return run(engine.fix(report, sources, history=history, kb=kb, now=now)) if fix else report


def verify_claim(
    claim: str,
    evidence: Sources,
    confidence: float | None = None,
    *,
    threshold: float | None = None,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> ClaimVerification:
    """Verify one claim; `threshold` is another name of `confidence`. For the settings see `check`."""
    engine = _engine(config, backend, profile, target)
    return run(engine.verify_claim(claim, evidence, threshold if confidence is None else confidence))


def verify_claims(
    text: str,
    context: Sources,
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> list[ClaimVerification]:
    """Extract the claims of a text and verify each. For the settings see `check`."""
    return run(_engine(config, backend, profile, target).verify_claims(text, context))


def detect_hallucinations(
    response: str,
    context: Sources,
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> HallucinationReport:
    """The same as `check`, without its optional inputs."""
    return run(_engine(config, backend, profile, target).detect_hallucinations(response, context))


def evidence_dependence(
    question: str,
    answer: str,
    evidence: Sources,
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> float:
    """How much support the answer loses without the evidence: 0.0 nothing, 1.0 everything.

    Raises `BackendError` if nothing could be checked. For the settings see `check`.
    """
    return run(_engine(config, backend, profile, target).evidence_dependence(question, answer, evidence))


def audit_trace(
    steps: Steps,
    question: str | None = None,
    context: Sources | None = None,
    answer: str | None = None,
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> TraceAudit:
    """A verdict on each step of a reasoning trace, and whether the answer follows from the steps alone.

    For the settings see `check`.
    """
    from groundwire.traces import audit

    engine = _engine(config, backend, profile, target)
    return run(audit.audit_trace(engine, steps, question, context, answer))


def audit_reasoning(
    steps: Steps,
    sources: Sources,
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> list[ClaimVerification]:
    """A verdict on each step of {claim, cites}, given the sources and the supported earlier steps.

    For the settings see `check`.
    """
    from groundwire.traces import audit

    return run(audit.audit_reasoning(_engine(config, backend, profile, target), steps, sources))


def guard(
    generator: Generator,
    request: str | Sequence[Message],
    context: Context | Sources = (),
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
    engine: Groundwire | None = None,
) -> AsyncGenerator[StreamEvent]:
    """Verify an answer while `generator` writes it: an async iterator of events that ends with a `DoneEvent`.

    `engine` is used instead of the shared one; for the other settings see `check`.
    """
    from groundwire.streaming.guard import guard as guarded

    engine = engine or _engine(config, backend, profile, target)
    return guarded(generator, request, context, engine=engine)


def semantic_entropy(
    samples: Sequence[str],
    question: str = "",
    *,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> SemanticEntropy:
    """The entropy, in bits, of the meanings of several answers to one question. Settings: see `check`."""
    return run(_engine(config, backend, profile, target).semantic_entropy(samples, question))


def _engine(
    config: Config | None, backend: BackendName | None, profile: ProfileName | None, target: float | None
) -> Groundwire:
    key = _Key((config or Config.load()).changed(profile=profile, target=target))
    with _opening:  # concurrent first calls must not each load a model
        return _opened(key, backend)


class _Key:
    """A configuration as a dictionary key: equal settings, including secrets, share one loaded engine."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.text = repr(config.model_dump())

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.config == other.config


_opening = Lock()


@lru_cache(maxsize=4)
def _opened(key: _Key, backend: BackendName | None) -> Groundwire:
    engine = Groundwire(key.config, backend=backend)
    atexit.register(_close, ref(engine))
    return engine


def _reset_after_fork() -> None:
    _opened.cache_clear()
    _opening.release()


# An engine's connections and event loop belong to the parent process; a forked child opens its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_reset_after_fork)


def _close(reference: ref[Groundwire]) -> None:
    engine = reference()
    if engine is not None:
        with suppress(TimeoutError):
            run(asyncio.wait_for(engine.aclose(), _CLOSE_SECONDS))
