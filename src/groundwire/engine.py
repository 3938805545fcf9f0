"""`Groundwire`: the loaded engine. Every door holds one and calls its methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict, Unpack

from groundwire import pipeline
from groundwire.claims.extractor import extract
from groundwire.config import BackendName, Config, Operation, ProfileName
from groundwire.errors import BackendError, InputError
from groundwire.llm import Generator, Message, is_chosen, open_generator
from groundwire.metrics import Metrics, default_metrics
from groundwire.pipeline import CheckContext, Choose
from groundwire.reports import html  # noqa: F401 (registers the notebook views of results)
from groundwire.retrieval.history import History, as_turns
from groundwire.retrieval.load import from_mapping
from groundwire.types import (
    Case,
    Claim,
    ClaimVerification,
    Detection,
    HallucinationReport,
    KnowledgeBase,
    Source,
    TraceAudit,
)
from groundwire.types.stream import Context, StreamEvent
from groundwire.verdicts.profile import Profile, profile_for
from groundwire.verifiers.backends import open_backend

if TYPE_CHECKING:
    from groundwire.stores.knowledge_base import Knowledge
    from groundwire.traces.steps import Steps
    from groundwire.verifiers.dependence import Dependence
    from groundwire.verifiers.entropy import SemanticEntropy

Sources = str | Mapping[str, str] | Sequence[str | Source]


class Beside(TypedDict, total=False):
    """What an answer may be held against besides its sources: the conversation, what is known, the moment.

    `kb` is a knowledge base, or the file or URL of one.
    """

    history: History
    kb: KnowledgeBase | str | None
    now: datetime | None


class Groundwire:
    """Holds the configuration, the backend and its model; safe to share between tasks."""

    def __init__(
        self,
        config: Config | None = None,
        *,
        backend: BackendName | None = None,
        operation: Operation = "output",
        metrics: Metrics | None = None,
    ) -> None:
        self.config = config or Config.load()
        self.metrics = metrics or default_metrics()
        self.backend = open_backend(self.config, operation, name=backend, metrics=self.metrics)
        self.profile = self._profile(self.config)
        claims, detectors = self.config.claims, self.config.detectors
        reads, maps, parses = (
            kind == "llm" for kind in (claims.extractor, claims.mapping, detectors.extractor)
        )
        reader = open_generator(self.config) if reads or maps or parses else None
        self._models: list[Generator] = [reader] if reader else []  # a list, which variants share
        self._stores: dict[str, Knowledge] = {}
        self._court = CheckContext(
            self.backend,
            self.profile,
            self.metrics,
            self.config.log.include_text,
            extractor=reader if reads else None,
            mapper=reader if maps else None,
            reader=reader if parses else None,
            detectors=detectors,
        )

    def variant(
        self, *, profile: ProfileName | None = None, target: float | None = None, marker: str | None = None
    ) -> Groundwire:
        """The same loaded engine judging by another profile or target; only the original is ever closed.

        `marker` is what stands in the place of evidence that was taken away.
        """
        changes = {
            key: value for key, value in (("profile", profile), ("target", target)) if value is not None
        }
        found = copy(self)
        found.config = self.config.changed(**changes) if changes else self.config
        found.profile = self._profile(found.config)
        if marker is not None:
            found.profile = replace(found.profile, marker=marker)
        found._court = replace(self._court, profile=found.profile)
        return found

    def _profile(self, config: Config) -> Profile:
        at = self.backend
        return profile_for(config, at.threshold_bits, at.min_support, at.risk_threshold)

    async def check(
        self,
        answer: str,
        sources: Sources = (),
        *,
        question: str = "",
        response_id: str = "",
        choose: Choose | None = None,
        **beside: Unpack[Beside],
    ) -> HallucinationReport:
        """Judge every claim of an answer by its sources, and by what is known and was said before.

        `choose` picks the claims to verify where not all are; the others are listed as skipped.
        """
        case = self.case(answer, sources, question=question, response_id=response_id, **beside)
        return await pipeline.check(case, self._court, choose)

    async def detect(self, response: str, sources: Sources = (), **beside: Unpack[Beside]) -> Detection:
        """What the eight knowledge detectors find, without measuring bits."""
        case = self._case(response, sources, **beside)
        self._admit(case, alone=True)
        return await self._court.detect(case)

    def guard(
        self,
        generator: Generator,
        request: str | Sequence[Message],
        sources: Sources = (),
        **beside: Unpack[Beside],
    ) -> AsyncGenerator[StreamEvent]:
        """An answer written under watch: tokens, warnings and verdicts as they come, a stop where evidence
        says otherwise, and at the end what the user should read.
        """
        from groundwire.streaming.guard import guard

        history, kb = as_turns(beside.get("history") or ()), self._knowledge(beside.get("kb"))
        context = Context(as_sources(sources), history, kb, beside.get("now"))
        return guard(generator, request, context, engine=self)

    async def fix(
        self,
        report: HallucinationReport,
        sources: Sources = (),
        *,
        attempt: int = 0,
        **beside: Unpack[Beside],
    ) -> HallucinationReport:
        """The report with its answer repaired: a correction stays only if it holds when checked again."""
        case = self._case(report.response, sources, **beside)
        return await pipeline.fix(report, case, self._court, self.config.mitigation, attempt)

    @property
    def court(self) -> CheckContext:
        """Who judges here; a stream asks the same court, sentence by sentence."""
        return self._court

    def case(
        self,
        answer: str,
        sources: Sources = (),
        *,
        question: str = "",
        response_id: str = "",
        **beside: Unpack[Beside],
    ) -> Case:
        """What `check` judges, or an `InputError` where it cannot be judged."""
        case = self._case(answer, sources, question, response_id, **beside)
        self._admit(case)
        return case

    def _case(
        self, answer: str, sources: Sources, question: str = "", name: str = "", **beside: Unpack[Beside]
    ) -> Case:
        history, kb = as_turns(beside.get("history") or ()), self._knowledge(beside.get("kb"))
        return Case(answer, as_sources(sources), question, name, history, kb, beside.get("now"))

    def _knowledge(self, kb: KnowledgeBase | str | None) -> KnowledgeBase | None:
        if not isinstance(kb, str):
            return kb
        if kb not in self._stores:
            from groundwire.stores.knowledge_base import Knowledge

            self._stores[kb] = Knowledge.open(kb, create=False)
        return self._stores[kb]

    async def verify_claim(
        self, claim: str, evidence: Sources, confidence: float | None = None, *, question: str = ""
    ) -> ClaimVerification:
        """Judge one claim as it stands, without taking it apart."""
        target = self.profile.target if confidence is None else confidence
        if not 0.0 <= target <= 1.0:
            raise InputError(f"a confidence lies between 0 and 1, not at {target}")
        case = Case(claim, as_sources(evidence), question)
        self._admit(case)
        whole = _whole(case, target)
        return (await pipeline.verify([whole], case, self._court))[0]

    async def verify(
        self, claims: Sequence[Claim], sources: Sources, *, question: str = ""
    ) -> list[ClaimVerification]:
        """Judge claims that were taken apart elsewhere, in order."""
        case = Case(" ".join(claim.text for claim in claims), as_sources(sources), question)
        self._admit(case)
        return await pipeline.verify(claims, case, self._court)

    async def verify_claims(
        self, text: str, context: Sources, *, question: str = ""
    ) -> list[ClaimVerification]:
        """Take a text apart and judge each claim."""
        return list((await self.check(text, context, question=question)).claims)

    async def detect_hallucinations(self, response: str, context: Sources) -> HallucinationReport:
        return await self.check(response, context)

    async def evidence_dependence(
        self,
        question: str,
        answer: str,
        evidence: Sources,
        *,
        generator: Generator | None = None,
        samples: int = 5,
    ) -> float:
        """How much the answer's claims lose when the evidence is taken away: 0 nothing, 1 everything.

        With a `generator` it is asked, `samples` times with the evidence and as often without.
        An answer that is no sentence is taken whole. Raises `BackendError` where nothing could be checked.
        """
        if generator is not None:
            found = await self.sampled_dependence(generator, question, answer, evidence, samples=samples)
            return found.value
        claims = await self.verify_claims(answer, evidence, question=question)
        claims = claims or [await self.verify_claim(answer, evidence, question=question)]
        measured = [d for d in (c.evidence_dependence for c in claims) if d is not None]
        if not measured:
            raise BackendError(f"the answer {claims[0].reason}")
        return sum(measured) / len(measured)

    async def sampled_dependence(
        self, generator: Generator, question: str, answer: str, evidence: Sources, *, samples: int = 5
    ) -> Dependence:
        """The dependence with its interval and its bits, for models without logprobs."""
        from groundwire.verifiers.dependence import Inquiry, dependence

        text = "\n\n".join(source.text for source in as_sources(evidence))
        asked = Inquiry(question, text, as_text(answer, "the answer"))
        return await dependence(generator, self.backend.verifier, asked, samples=samples)

    async def audit_trace(
        self,
        steps: Steps,
        question: str | None = None,
        context: Sources | None = None,
        answer: str | None = None,
        *,
        generator: Generator | None = None,
    ) -> TraceAudit:
        """A verdict on each step of a reasoning, and whether the answer follows from the steps alone.

        `generator` derives it; without one the configured one (`generator.*`), else the verifier judges.
        """
        from groundwire.traces.audit import AuditRequest, audit

        if len(answer or "") > self.config.limits.max_answer_chars:
            raise InputError("the answer is too long", hint="the limit is limits.max_answer_chars")
        request = AuditRequest(
            steps,
            as_sources(context or ()),
            as_text(question or "", "the question"),
            as_text(answer or "", "the answer"),
            self.config.hallucination.trace_auditing.check_post_hoc,
        )
        return await audit(request, self._court, generator or self._executor())

    async def audit_reasoning(self, steps: Steps, sources: Sources) -> list[ClaimVerification]:
        """A verdict on each step of {claim, cites}, by its sources and what earlier steps established."""
        from groundwire.traces.audit import AuditRequest, audit_claims

        return await audit_claims(AuditRequest(steps, as_sources(sources)), self._court)

    async def semantic_entropy(self, samples: Sequence[str], question: str = "") -> SemanticEntropy:
        """How many bits of meaning a model's answers to one question scatter over."""
        from groundwire.verifiers.entropy import semantic_entropy

        return await semantic_entropy(samples, self.backend.verifier, question)

    def _executor(self) -> Generator | None:
        """The model that answers are written with, where the configuration names one that can be asked."""
        if not self._models and is_chosen(self.config):
            self._models.append(open_generator(self.config))
        return self._models[0] if self._models else None

    def _admit(self, case: Case, *, alone: bool = False) -> None:
        """Refuse what cannot be judged. What is `alone`, or has a history or knowledge, needs no sources."""
        limit = self.config.limits.max_answer_chars
        if not as_text(case.response, "the answer").strip():
            raise InputError("the answer is empty")
        if len(case.response) > limit:
            raise InputError(
                f"the answer has {len(case.response):,} characters", hint=f"the limit is {limit:,}"
            )
        alone = alone or case.kb is not None or bool(case.history)
        if not alone and not any(source.text.strip() for source in case.sources):
            raise InputError("there are no sources", hint="give at least one source with text in it")

    async def aclose(self) -> None:
        await self.backend.aclose()
        for store in self._stores.values():
            store.close()
        for model in self._models:
            await model.aclose()

    async def __aenter__(self) -> Groundwire:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def as_text(value: object, what: str) -> str:
    """What a model returned may be None: that is said at the door, not somewhere inside."""
    if not isinstance(value, str):
        raise InputError(f"{what} is no text but {type(value).__name__}")
    return value


def as_sources(sources: Sources) -> tuple[Source, ...]:
    """One text, several texts (S0, S1, …), texts by id, or sources as they are."""
    if isinstance(sources, str):
        return (Source("S0", sources),)
    if isinstance(sources, Mapping):
        return tuple(from_mapping(sources))
    found = tuple(
        s if isinstance(s, Source) else Source(f"S{n}", as_text(s, f"source {n}"))
        for n, s in enumerate(sources or ())
    )
    twice = [name for name, times in Counter(source.id for source in found).items() if times > 1]
    if twice:
        raise InputError(f"two sources are called {twice[0]}", hint="give each an id of its own")
    return found


def _whole(case: Case, confidence: float) -> Claim:
    """A text as one claim: its citation marks are read, and taken out where there are any."""
    parts = extract(case.response, known_sources=[source.id for source in case.sources])
    cited = dict.fromkeys(label for part in parts for label in part.citations)
    text = " ".join(part.text for part in parts) if cited else case.response.strip()
    return Claim("c1", text, *_stripped(case.response), tuple(cited), confidence)


def _stripped(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip())
    return start, start + len(text.strip())
