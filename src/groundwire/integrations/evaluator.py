"""The evaluator behind the framework adapters: an answer with its sources in; score, label, reasons out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from groundwire._loop import run, run_on_shared_loop
from groundwire.config import BackendName, Config, ProfileName
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.reports.json import report_object
from groundwire.reports.plaintext import explain_failure
from groundwire.requests import Sources, as_sources
from groundwire.types import HallucinationReport

GROUNDED, UNGROUNDED, UNCHECKED = "grounded", "ungrounded", "unchecked"


class EngineKwargs(TypedDict, total=False):
    """Settings of the engine; see `groundwire.check`."""

    config: Config | None
    backend: BackendName | None
    profile: ProfileName | None
    target: float | None


def engine_config(**options: Unpack[EngineKwargs]) -> Config:
    config = options.get("config") or Config.load()
    return config.changed(profile=options.get("profile"), target=options.get("target"))


def open_engine(**options: Unpack[EngineKwargs]) -> Groundwire:
    return Groundwire(engine_config(**options), backend=options.get("backend"))


@dataclass(frozen=True, slots=True)
class GroundednessResult:
    """`score` is the share of claims that the sources support; None if it could not be determined."""

    score: float | None
    grounded: bool | None
    reasoning: str
    report: Mapping[str, Any] | None = None

    @property
    def value(self) -> str:
        """The label: grounded, ungrounded or unchecked."""
        return {True: GROUNDED, False: UNGROUNDED, None: UNCHECKED}[self.grounded]

    @property
    def error(self) -> str | None:
        """Why the answer, or a part of it, could not be checked."""
        return self.report["error"] if self.report else self.reasoning

    @property
    def spans(self) -> list[dict[str, Any]]:
        """The unsupported parts of the answer: `start`, `end` and `score`."""
        return list(self.report["spans"]) if self.report else []

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims of the answer as in `groundwire check --json`."""
        return list(self.report["claims"]) if self.report else []

    @property
    def statements(self) -> str:
        """Every claim of the answer with its verdict and the reason, one per line."""
        lines = [f"{c['status']}: {c['text']} ({c['reason']})" for c in self.claims]
        return "\n".join([*lines, *([f"could not be checked: {self.error}"] if self.error else [])])

    @property
    def details(self) -> dict[str, Any]:
        """What frameworks store beside a score."""
        return {"label": self.value, "error": self.error, "spans": self.spans, "claims": self.claims}


class GroundednessChecker:
    """An engine that is opened at once, so that configuration errors appear before the first row."""

    def __init__(self, **options: Unpack[EngineKwargs]) -> None:
        self._engine = open_engine(**options)

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
        return judge_report(report)


def judge_report(report: HallucinationReport) -> GroundednessResult:
    """Return a report in the terms of evaluators."""
    grounded = None if report.flagged is None else not report.flagged
    return GroundednessResult(report.grounding_ratio, grounded, explain_failure(report), report_object(report))


_ANSWER_KEYS = ("answer", "output", "result", "response", "text", "content")
CONTEXT_KEYS = ("context", "documents", "source_documents", "sources", "contexts", "retrieved_contexts")
QUESTION_KEYS = ("question", "input", "query", "user_input")


def read_record(*records: object) -> tuple[str, Sources, str]:
    """Return answer, sources and question from records, by the keys that frameworks commonly use.

    Later records win. A text that is not in a record is the answer if it comes last, else the question.
    """
    state: dict[str, Any] = {}
    for number, record in enumerate(records, start=1):
        if isinstance(record, Mapping):
            state |= {key: value for key, value in record.items() if value is not None}
        elif record is not None:
            state["answer" if number == len(records) else "question"] = record
    answer, question = _first(state, _ANSWER_KEYS), _first(state, QUESTION_KEYS)
    text = getattr(answer, "content", answer)
    return (str(text or ""), as_sources(_first(state, CONTEXT_KEYS)), question if isinstance(question, str) else "")


def _first(state: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((state[name] for name in names if state.get(name) is not None), None)
