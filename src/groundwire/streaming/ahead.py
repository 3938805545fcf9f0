"""The engine's part of checking a growing answer: reads on, judges what is complete, at last the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire import pipeline
from groundwire.claims.extractor import extract, steps_as_claims
from groundwire.engine import Groundwire
from groundwire.pipeline import CheckContext, names_of, select_claims
from groundwire.streaming.claims import Growing
from groundwire.types import Case, Claim, ClaimVerification, HallucinationReport, Source
from groundwire.verdicts.judge import unchecked
from groundwire.verdicts.summary import summarise
from groundwire.verifiers.remember import Remembering

BATCH = 8
"""So many claims are judged in one go, so that a verifier that lags behind still tells something."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one job found out: verdicts, how far the text is read and judged now, and whether claims wait."""

    verdicts: list[ClaimVerification]
    judged: int
    more: bool = False


class Ahead:
    """One answer's claims and its sources, indexed once. Its jobs run one after the other."""

    def __init__(self, engine: Groundwire, sources: tuple[Source, ...], question: str) -> None:
        backend = engine.court.backend
        self.memo = Remembering(backend.verifier)
        self.court: CheckContext = replace(engine.court, backend=replace(backend, verifier=self.memo))
        self._sources = sources
        self._question = question
        self._growing = Growing(self.read)
        self._read_to = 0
        self._waiting: list[Claim] = []
        self._before = ""
        self._taken = 0

    @property
    def can(self) -> bool:
        """Whether there is anything to do before the end: a model that reads wants to see the whole."""
        return bool(self._sources) and self.court.extractor is None and self.court.mapper is None

    def read(self, text: str) -> list[Claim]:
        found = extract(text, target=self.court.profile.target, known_sources=names_of(self._sources))
        return steps_as_claims(found, asked=bool(self._question))

    async def advance(self, text: str, at: int) -> Step:
        """Read on from what stands at `at`, and judge the next few claims that are complete.

        Who was turned away comes again with the same text: what was read of it is not read twice, and claims
        leave the queue only with their verdicts.
        """
        if self.court.prepared is None:
            self.court = replace(self.court, prepared=self.court.evidence(self._sources))
        self._collect(text[max(0, self._read_to - at) :])
        claims = self._waiting[:BATCH]
        verdicts = await self._weigh(claims) if claims else []
        del self._waiting[: len(claims)]
        judged = self._waiting[0].start if self._waiting else self._growing.edge
        return Step(verdicts, judged, bool(self._waiting))

    def _collect(self, text: str) -> None:
        self._read_to += len(text)
        room = max(0, self.court.profile.max_claims - self._taken)
        found = select_claims(self._growing.feed(text), self.court.profile).chosen[:room] if text else []
        self._taken += len(found)
        self._waiting += found

    async def _weigh(self, claims: Sequence[Claim]) -> list[ClaimVerification]:
        case = Case(" ".join(claim.text for claim in claims), self._sources, self._question)
        verdicts = await pipeline.judge_claims(claims, case, self.court, self._before)
        self._before = claims[-1].text
        return verdicts

    async def check(self, case: Case) -> HallucinationReport:
        return await pipeline.check(case, self.court)

    def cut_short(self, text: str, known: Sequence[ClaimVerification], why: str) -> HallucinationReport:
        """What is known by now; claims without a verdict are listed as unchecked."""
        found = select_claims(self.read(text), self.court.profile)
        told = {(v.start, v.end, v.claim_text, v.citations): v for v in known}
        verdicts = [
            told.get((c.start, c.end, c.text, c.citations)) or unchecked(c, why)
            for c in (*found.chosen, *found.surplus)
        ]
        case = Case(text, self._sources, self._question)
        return summarise(case, verdicts, found.skipped, self.court.backend.name, self.court.profile)

    def nothing(self, text: str, why: str) -> HallucinationReport:
        """A report that says only why there is none."""
        case = Case(text, self._sources, self._question)
        report = summarise(case, (), (), self.court.backend.name, self.court.profile)
        return replace(
            report,
            error=f"could not be checked: {why}",
            flagged=None,
            risk=None,
            grounding_ratio=None,
            overall_confidence=None,
        )
