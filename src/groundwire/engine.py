"""`Groundwire`, the engine. The CLI, HTTP server, proxy, MCP server and Python API each hold one instance."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict, Unpack

from groundwire import pipeline
from groundwire.claims.extractor import extract
from groundwire.config import BackendName, Config, Operation, ProfileName
from groundwire.errors import BackendError, InputError
from groundwire.llm import Generator, is_chosen, open_generator
from groundwire.metrics import Metrics, default_metrics, log_detection
from groundwire.otel import emit_evaluations
from groundwire.pipeline import CheckContext, Choose
from groundwire.reports import json  # noqa: F401 (registers the views of results)
from groundwire.requests import History, Sources, as_sources, as_text, as_turns
from groundwire.types import Case, Claim, ClaimVerification, Detection, HallucinationReport, KnowledgeBase
from groundwire.verdicts.judge import Profile, profile_for
from groundwire.verifiers.backends import open_backend

if TYPE_CHECKING:
    from groundwire.stores.knowledge_base import Knowledge
    from groundwire.verdicts.calibration import DriftMonitor
    from groundwire.verifiers.dependence import Dependence, SemanticEntropy


class ContextKwargs(TypedDict, total=False):
    """The keyword arguments of `Groundwire.check` that an answer is compared with besides its sources."""

    history: History
    kb: KnowledgeBase | str | None
    now: datetime | None


class Groundwire:
    """The configuration, the backend and its loaded model. Tasks can share one; close it at the end."""

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
        reads, maps, parses = (kind == "llm" for kind in (claims.extractor, claims.mapping, detectors.extractor))
        reader = open_generator(self.config) if reads or maps or parses else None
        self._models: list[Generator] = [reader] if reader else []  # a list, so that variants share it
        self._stores: dict[str, Knowledge] = {}
        self.drift: DriftMonitor | None = None
        self.context = CheckContext(
            self.backend,
            self.profile,
            self.metrics,
            self.config.log.include_text,
            # Facts are stored, and steps shown, with both probabilities.
            self.config.bits or operation in ("memory_gate", "trace"),
            self.config.shares,
            extractor=reader if reads else None,
            mapper=reader if maps else None,
            reader=reader if parses else None,
            detectors=detectors,
        )

    def variant(
        self,
        *,
        profile: ProfileName | None = None,
        target: float | None = None,
        marker: str | None = None,
        bits: bool = False,
        shares: bool = False,
    ) -> Groundwire:
        """The same engine with another profile or target; close only the original.

        `marker` is the text that replaces removed evidence; `bits` asks for p0 of every claim,
        `shares` for each source's share of every claim with evidence from several.
        """
        found = copy(self)
        found.config = self.config.changed(profile=profile, target=target)
        found.profile = self._profile(found.config)
        if marker is not None:
            found.profile = replace(found.profile, marker=marker)
        found.context = replace(
            self.context, profile=found.profile, bits=bits or self.context.bits, shares=shares or self.context.shares
        )
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
        **context: Unpack[ContextKwargs],
    ) -> HallucinationReport:
        """Check an answer; see `groundwire.check` for the parameters, of which `context` are history, kb and now.

        `choose` selects the claims to verify; the others are listed as skipped.
        """
        case = self.case(answer, sources, question=question, response_id=response_id, **context)
        report = await pipeline.check(case, self.context, choose)
        self.publish(report, sampled=choose is not None)
        return report

    def publish(self, report: HallucinationReport, *, sampled: bool = False) -> None:
        """Emit the events of a finished report, and tell the drift monitor unless claims were `sampled`."""
        emit_evaluations(report, include_text=self.config.log.include_text)
        if report.detection:
            self._record(report.detection, report.response_id)
        if self.drift is not None and not sampled:
            self.drift.observe(report)

    async def detect(self, response: str, sources: Sources = (), **context: Unpack[ContextKwargs]) -> Detection:
        """Run the knowledge detectors without measuring bits."""
        case = self._case(response, sources, **context)
        self._admit(case, needs_sources=False)
        found = await self.context.detect(case)
        self._record(found)
        return found

    def _record(self, found: Detection, response_id: str = "") -> None:
        self.metrics.detection(found)
        log_detection(found, response_id)

    async def fix(
        self,
        report: HallucinationReport,
        sources: Sources = (),
        *,
        attempt: int = 0,
        regenerate: bool = True,
        **context: Unpack[ContextKwargs],
    ) -> HallucinationReport:
        """The report with a repaired answer. A correction is kept only if a second check does not flag it.

        Many severe flags ask for a new answer instead, unless `regenerate` is off: a caller may be unable to get one.
        """
        case = self._case(report.response, sources, **context)
        settings = self.config.mitigation
        if not regenerate:
            settings = settings.model_copy(update={"severe_flags": len(pipeline.all_flags(report)) + 1})
        return await pipeline.fix(report, case, self.context, settings, attempt)

    def case(
        self,
        answer: str,
        sources: Sources = (),
        *,
        question: str = "",
        response_id: str = "",
        **context: Unpack[ContextKwargs],
    ) -> Case:
        """The input of a check; raises `InputError` if it cannot be checked."""
        case = self._case(answer, sources, question, response_id, **context)
        self._admit(case)
        return case

    def _case(
        self, answer: str, sources: Sources, question: str = "", name: str = "", **context: Unpack[ContextKwargs]
    ) -> Case:
        turns, known = as_turns(context.get("history") or ()), self.knowledge(context.get("kb"))
        return Case(answer, as_sources(sources), question, name, turns, known, context.get("now"))

    def knowledge(self, kb: KnowledgeBase | str | None) -> KnowledgeBase | None:
        """The knowledge base at a path or URL, opened once and closed with the engine."""
        if not isinstance(kb, str):
            return kb
        if kb not in self._stores:
            from groundwire.stores.knowledge_base import Knowledge

            self._stores[kb] = Knowledge.open(kb, create=False)
        return self._stores[kb]

    async def verify_claim(
        self, claim: str, evidence: Sources, confidence: float | None = None, *, question: str = ""
    ) -> ClaimVerification:
        """Verify one claim as a whole, without splitting it."""
        target = self.profile.target if confidence is None else confidence
        if not 0.0 <= target <= 1.0:
            raise InputError(f"confidence must be between 0 and 1, got {target}")
        case = Case(claim, as_sources(evidence), question)
        self._admit(case)
        return (await pipeline.verify([_as_one_claim(case, target)], case, self.context))[0]

    async def verify(self, claims: Sequence[Claim], sources: Sources, *, question: str = "") -> list[ClaimVerification]:
        """Verify claims that were extracted elsewhere; the verdicts are in the same order."""
        case = Case(" ".join(claim.text for claim in claims), as_sources(sources), question)
        self._admit(case)
        return await pipeline.verify(claims, case, self.context)

    async def verify_claims(self, text: str, context: Sources, *, question: str = "") -> list[ClaimVerification]:
        """Extract the claims of a text and verify each."""
        return list((await self.check(text, context, question=question)).claims)

    async def detect_hallucinations(self, response: str, context: Sources) -> HallucinationReport:
        return await self.check(response, context)

    async def evidence_dependence(
        self, question: str, answer: str, evidence: Sources, *, generator: Generator | None = None, samples: int = 5
    ) -> float:
        """How much support the answer's claims lose without the evidence: 0 nothing, 1 everything.

        With a `generator`, the dependence is measured by sampling it, `samples` times with the evidence and
        `samples` times without. An answer that is not a sentence is one claim. Raises `BackendError` if
        nothing could be checked.
        """
        if generator is not None:
            found = await self.sampled_dependence(generator, question, answer, evidence, samples=samples)
            return found.value
        measuring = self.variant(bits=True)
        claims = await measuring.verify_claims(answer, evidence, question=question)
        claims = claims or [await measuring.verify_claim(answer, evidence, question=question)]
        measured = [d for d in (c.evidence_dependence for c in claims) if d is not None]
        if not measured:
            raise BackendError(f"the answer {claims[0].reason}")
        return sum(measured) / len(measured)

    async def sampled_dependence(
        self, generator: Generator, question: str, answer: str, evidence: Sources, *, samples: int = 5
    ) -> Dependence:
        """The sampled dependence with its confidence interval and bits, for models without logprobs."""
        from groundwire.verifiers.dependence import Inquiry, dependence

        text = "\n\n".join(source.text for source in as_sources(evidence))
        inquiry = Inquiry(question, text, as_text(answer, "the answer"))
        return await dependence(generator, self.backend.verifier, inquiry, samples=samples)

    async def semantic_entropy(self, samples: Sequence[str], question: str = "") -> SemanticEntropy:
        """The entropy, in bits, of the meanings of a model's answers to one question."""
        from groundwire.verifiers.dependence import semantic_entropy

        return await semantic_entropy(samples, self.backend.verifier, question)

    def language_model(self) -> Generator | None:
        """The configured language model, if there is one."""
        if not self._models and is_chosen(self.config):
            self._models.append(open_generator(self.config))
        return self._models[0] if self._models else None

    def _admit(self, case: Case, *, needs_sources: bool = True) -> None:
        """Raise `InputError` for what cannot be checked. A history or a knowledge base replaces sources."""
        limit = self.config.limits.max_answer_chars
        if not as_text(case.response, "the answer").strip():
            raise InputError("the answer is empty")
        if len(case.response) > limit:
            raise InputError(f"the answer has {len(case.response):,} characters", hint=f"the limit is {limit:,}")
        if len(case.sources) > self.config.limits.max_sources:
            raise InputError(
                f"there are {len(case.sources):,} sources",
                hint=f"the limit is {self.config.limits.max_sources:,}; join short ones",
            )
        needs_sources = needs_sources and case.kb is None and not case.history
        if needs_sources and not any(source.text.strip() for source in case.sources):
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


def _as_one_claim(case: Case, confidence: float) -> Claim:
    """A text as one claim, without its citation marks."""
    parts = extract(case.response, known_sources=[source.id for source in case.sources])
    cited = dict.fromkeys(label for part in parts for label in part.citations)
    text = " ".join(part.text for part in parts) if cited else case.response.strip()
    start = len(case.response) - len(case.response.lstrip())
    return Claim("c1", text, start, start + len(case.response.strip()), tuple(cited), confidence)
