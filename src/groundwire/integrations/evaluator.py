"""The evaluator behind the framework adapters: an answer in; a score, a verdict and the reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from groundwire._loop import run, run_on_shared_loop
from groundwire.config import BackendName, Config, ProfileName
from groundwire.engine import Groundwire, Sources
from groundwire.errors import InputError
from groundwire.reports.json import report_object
from groundwire.reports.plaintext import explain_failure
from groundwire.types import Source

GROUNDED, UNGROUNDED, UNCHECKED = "grounded", "ungrounded", "unchecked"


class EngineKwargs(TypedDict, total=False):
    """Settings of the engine; see `groundwire.check`."""

    config: Config
    backend: BackendName
    profile: ProfileName
    target: float


@dataclass(frozen=True, slots=True)
class GroundednessResult:
    """`score` is the share of claims that the sources support; None if it could not be determined."""

    score: float | None
    grounded: bool | None
    reasoning: str
    report: Mapping[str, Any] | None = None

    @property
    def value(self) -> str:
        return {True: GROUNDED, False: UNGROUNDED, None: UNCHECKED}[self.grounded]


class GroundednessChecker:
    """An engine that is opened at once, so that configuration errors appear before the first row."""

    def __init__(self, **options: Unpack[EngineKwargs]) -> None:
        config = options.get("config") or Config.load()
        changes = {key: options[key] for key in ("profile", "target") if key in options}
        self._engine = Groundwire(
            config.changed(**changes) if changes else config, backend=options.get("backend")
        )

    def check(self, answer: str, sources: Sources, question: str = "") -> GroundednessResult:
        return run(self._check(answer, sources, question))

    async def acheck(self, answer: str, sources: Sources, question: str = "") -> GroundednessResult:
        return await run_on_shared_loop(self._check(answer, sources, question))

    async def _check(self, answer: str, sources: Sources, question: str) -> GroundednessResult:
        """Check one answer; invalid input gives a result without a score, so that a data set goes on."""
        try:
            report = await self._engine.check(answer, sources, question=question)
        except InputError as error:
            return GroundednessResult(None, None, str(error))
        grounded = None if report.flagged is None else not report.flagged
        return GroundednessResult(
            report.grounding_ratio, grounded, explain_failure(report), report_object(report)
        )


def as_sources(given: object) -> Sources:
    """Accept texts, texts by id, or documents of retrievers (`page_content` or `text`, and metadata)."""
    if given is None:
        return ()
    if isinstance(given, str | Mapping):
        return given
    if not isinstance(given, Sequence):
        given = [given]
    return [_source(item, number) for number, item in enumerate(given)]


def _source(item: object, number: int) -> Source:
    if isinstance(item, str | Source):
        return item if isinstance(item, Source) else Source(f"S{number}", item)
    text = getattr(item, "page_content", None) or getattr(item, "text", None)
    if not isinstance(text, str):
        raise InputError(f"source {number} must be a string or a document, got {type(item).__name__}")
    metadata = getattr(item, "metadata", None)
    origin = metadata.get("source", "") if isinstance(metadata, Mapping) else ""
    return Source(f"S{number}", text, str(origin))
