"""The synchronous functions of the package: one engine a configuration, kept loaded between calls."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, TypedDict, Unpack
from weakref import ref

from groundwire._loop import run
from groundwire.config import BackendName, Config, ProfileName
from groundwire.engine import Beside, Groundwire, Sources
from groundwire.types import ClaimVerification, HallucinationReport, TraceAudit

if TYPE_CHECKING:
    from groundwire.llm import Generator, Message
    from groundwire.traces.steps import Steps
    from groundwire.types.stream import Context, StreamEvent
    from groundwire.verifiers.entropy import SemanticEntropy

_PATIENCE = 5.0
_BESIDE = ("history", "kb", "now")


class Options(TypedDict, total=False):
    """What every function takes besides its own arguments."""

    config: Config
    backend: BackendName
    profile: ProfileName
    target: float


class Further(Options, Beside, total=False):
    """… and what an answer may be held against besides its sources."""


def check(
    answer: str,
    sources: Sources = (),
    *,
    question: str = "",
    response_id: str = "",
    fix: bool = False,
    **options: Unpack[Further],
) -> HallucinationReport:
    """Judge every claim of an answer by its sources, and by `history` and `kb` where given.

    With `fix` the report holds the repaired answer too (`report.repair.text`).
    """
    engine = _engine(options, Further.__optional_keys__)
    beside: Beside = {key: options[key] for key in _BESIDE if key in options}  # type: ignore[assignment, literal-required]
    report = run(engine.check(answer, sources, question=question, response_id=response_id, **beside))
    return run(engine.fix(report, sources, **beside)) if fix else report


def verify_claim(
    claim: str,
    evidence: Sources,
    confidence: float | None = None,
    *,
    threshold: float | None = None,
    **options: Unpack[Options],
) -> ClaimVerification:
    """Judge one claim; `threshold` is another name of `confidence`."""
    target = threshold if confidence is None else confidence
    return run(_engine(options).verify_claim(claim, evidence, target))


def verify_claims(text: str, context: Sources, **options: Unpack[Options]) -> list[ClaimVerification]:
    """Take a text apart and judge each claim."""
    return run(_engine(options).verify_claims(text, context))


def detect_hallucinations(response: str, context: Sources, **options: Unpack[Options]) -> HallucinationReport:
    """Everything found out about a response."""
    return run(_engine(options).detect_hallucinations(response, context))


def evidence_dependence(question: str, answer: str, evidence: Sources, **options: Unpack[Options]) -> float:
    """0.0: the answer stands without the evidence; 1.0: it hangs on it entirely.

    Raises `BackendError` where nothing could be checked: that is not 0.0.
    """
    return run(_engine(options).evidence_dependence(question, answer, evidence))


def audit_trace(
    steps: Steps,
    question: str | None = None,
    context: Sources | None = None,
    answer: str | None = None,
    **options: Unpack[Options],
) -> TraceAudit:
    """A verdict on each step of a reasoning, and whether the answer follows from the steps alone."""
    return run(_engine(options).audit_trace(steps, question, context, answer))


def audit_reasoning(steps: Steps, sources: Sources, **options: Unpack[Options]) -> list[ClaimVerification]:
    """A verdict on each step of {claim, cites}, by its sources and what earlier steps established."""
    return run(_engine(options).audit_reasoning(steps, sources))


def guard(
    generator: Generator,
    request: str | Sequence[Message],
    context: Context | Sources = (),
    **options: Unpack[Options],
) -> AsyncGenerator[StreamEvent]:
    """An answer written under watch, as an async iterator of events; the last is the end of it."""
    from groundwire.streaming.guard import guard as guarded

    return guarded(generator, request, context, engine=_engine(options))


def semantic_entropy(
    samples: Sequence[str], question: str = "", **options: Unpack[Options]
) -> SemanticEntropy:
    """How many bits of meaning a model's answers to one question scatter over."""
    return run(_engine(options).semantic_entropy(samples, question))


def _engine(options: Options | Further, known: frozenset[str] = Options.__optional_keys__) -> Groundwire:
    for name in options.keys() - known:  # a misspelt option must not silently be none
        raise TypeError(f"there is no option {name!r}; there are {', '.join(sorted(known))}")
    config = options.get("config") or Config.load()
    changes = {key: options[key] for key in ("profile", "target") if key in options}
    if changes:
        config = config.changed(**changes)
    return _loaded(_Key(config), options.get("backend"))


class _Key:
    """A configuration as a dictionary key: equal settings, secrets too, share one loaded engine."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.text = repr(config.model_dump())

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.config == other.config


_opening = Lock()


def _loaded(key: _Key, backend: BackendName | None) -> Groundwire:
    with _opening:  # threads that come at the same time must not each load a model
        return _opened(key, backend)


@lru_cache(maxsize=4)
def _opened(key: _Key, backend: BackendName | None) -> Groundwire:
    engine = Groundwire(key.config, backend=backend)
    atexit.register(_close, ref(engine))
    return engine


def _begin_anew() -> None:
    _opened.cache_clear()
    _opening.release()


# What an engine holds (connections, the loop they belong to) stays with the parent of a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_begin_anew)


def _close(engine: ref[Groundwire]) -> None:
    """Nobody closes what these functions opened, so the end of the process does."""
    still = engine()
    if still is not None:
        with suppress(TimeoutError):
            run(asyncio.wait_for(still.aclose(), _PATIENCE))
