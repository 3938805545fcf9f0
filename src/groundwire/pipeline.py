"""Who takes part in a check: the backend that is asked, the profile that judges, the reader, the notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from time import perf_counter

from groundwire.claims.extractor import extract, steps_as_claims
from groundwire.claims.llm_extractor import extract_with_model
from groundwire.config import DetectorsConfig, MitigationConfig
from groundwire.llm.base import Generator
from groundwire.metrics import Metrics, log_verdict
from groundwire.retrieval.cite import phantoms
from groundwire.retrieval.gather import Evidence, Gathered
from groundwire.types import (
    Action,
    ActionKind,
    Case,
    Claim,
    ClaimKind,
    ClaimVerification,
    Detection,
    Edit,
    Estimate,
    Flag,
    HallucinationReport,
    Query,
    Repair,
    Source,
)
from groundwire.verdicts.judge import ClaimScores, judge, needs_citation_check, phantom, unchecked
from groundwire.verdicts.merge import add_kb_source, budget_flags, with_detection
from groundwire.verdicts.mitigate import annotate, dispute, mitigate
from groundwire.verdicts.profile import Profile
from groundwire.verdicts.repair import apply
from groundwire.verdicts.risk import apply_response_threshold
from groundwire.verdicts.summary import summarise
from groundwire.verdicts.vague import is_vague
from groundwire.verifiers.backends import Backend
from groundwire.verifiers.mapping import map_evidence


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Who judges: a backend to ask, a profile to judge by, and someone to take notes.

    `extractor` and `mapper` are models that take the answer apart and map claims to sources, `reader` one
    that finds who does what in it for the detectors; without them rules do. `prepared` are sources that were
    indexed before: who checks a growing text against them reads them once.
    """

    backend: Backend
    profile: Profile
    metrics: Metrics
    log_text: bool = False
    extractor: Generator | None = None
    mapper: Generator | None = None
    reader: Generator | None = None
    detectors: DetectorsConfig = field(default_factory=DetectorsConfig)
    prepared: Evidence | None = None

    def evidence(self, sources: Sequence[Source]) -> Evidence:
        """The sources, indexed and rendered for this backend and profile."""
        if self.prepared is not None and self.prepared.index.sources == tuple(sources):
            return self.prepared
        return Evidence(sources, self.backend.context_tokens, self.profile.marker)

    async def detect(self, case: Case) -> Detection:
        """What knowledge, dialogue, time and logic say about the response."""
        from groundwire.detectors.registry import detect  # a plain check never pays for it

        return await detect(case, self.detectors, self.backend.verifier, self.reader)

    def record(self, verdicts: Sequence[ClaimVerification], response_id: str, seconds: float) -> None:
        """Count and log what was decided; no text goes into the log unless asked for."""
        self.metrics.verdicts(verdicts, self.backend.name)
        for verdict in verdicts:
            log_verdict(
                verdict,
                backend=self.backend.name,
                seconds=seconds / len(verdicts),
                response_id=response_id,
                source_text=self.log_text,
            )


# An answer taken apart: what is verified, what is only listed, and where its claims are looked for.

Choose = Callable[[Sequence[Claim]], Sequence[Claim]]
"""Which of a response's claims are worth verifying."""


async def extract_claims(case: Case, court: CheckContext) -> list[Claim]:
    """The answer taken apart, by rules or by a model whose reading holds against the text."""
    known = names_of(case.sources)
    if court.extractor is None:
        found = extract(case.response, target=court.profile.target, known_sources=known)
    else:
        found = await extract_with_model(
            court.extractor, case.response, target=court.profile.target, known_sources=known
        )
    return steps_as_claims(found, asked=bool(case.question))


def names_of(sources: Sequence[Source]) -> list[str]:
    """What an answer may cite sources by: their ids, and the files they came from."""
    files = (PurePath(source.origin).name for source in sources if PurePath(source.origin).suffix)
    return list(dict.fromkeys((*(source.id for source in sources), *files)))


@dataclass(frozen=True, slots=True)
class Sifted:
    """`chosen` is verified, `skipped` only listed; `surplus` should be verified and is too much."""

    chosen: list[Claim]
    skipped: list[Claim]
    surplus: list[Claim]


def select_claims(found: Sequence[Claim], profile: Profile) -> Sifted:
    """Skipped is what asserts nothing or is too short. The profile `rag` looks at its first claims only and
    lists the others; for any other a claim beyond the limit is one that could not be checked.
    """
    worth = [c for c in found if c.kind is ClaimKind.ASSERTION and len(c.text) >= profile.min_chars]
    chosen, rest = worth[: profile.max_claims], worth[profile.max_claims :]
    surplus = [] if profile.name == "rag" else rest
    ids = {claim.id for claim in (*chosen, *surplus)}
    return Sifted(chosen, [claim for claim in found if claim.id not in ids], surplus)


def apply_sampling(sifted: Sifted, choose: Choose | None) -> Sifted:
    """Only what someone chose is verified; what was not chosen is listed."""
    if choose is None:
        return sifted
    chosen = list(choose([*sifted.chosen, *sifted.surplus]))
    ids = {claim.id for claim in chosen}
    left = [claim for claim in (*sifted.chosen, *sifted.surplus) if claim.id not in ids]
    return Sifted(chosen, sorted([*sifted.skipped, *left], key=lambda claim: claim.start), [])


async def map_claims_to_sources(claims: Sequence[Claim], case: Case, court: CheckContext) -> Sequence[Claim]:
    """Where a model maps claims to sources, what cites nothing is looked for in the sources it names."""
    if court.mapper is None:
        return claims
    named = await map_evidence(court.mapper, [claim.text for claim in claims], case.sources)
    return [c if c.citations else replace(c, citations=tuple(n)) for c, n in zip(claims, named, strict=True)]


# What the verifier says of each claim: with its evidence, without it, and about its citation.


async def score_claims(
    claims: Sequence[Claim], gathered: dict[str, Gathered], nothing: str, question: str, court: CheckContext
) -> dict[str, ClaimScores]:
    """Ask with and without the evidence; where a cited claim stands either way, ask about its citation."""
    views = [(c, (gathered[c.id].with_text, gathered[c.id].without_text)) for c in claims]
    first = await estimate_pairs(views, question, court)
    ballots = {
        c.id: ClaimScores(c, gathered[c.id].refs, *first[c.id], elsewhere=gathered[c.id].elsewhere)
        for c in claims
    }
    free = court.backend.free
    again = [c for c in claims if needs_citation_check(ballots[c.id], court.profile, free=free)]
    views = [(c, (gathered[c.id].cited_text or "", nothing)) for c in again]
    for identity, (cited, bare) in (await estimate_pairs(views, question, court)).items():
        ballots[identity] = replace(ballots[identity], cited=cited, nothing=bare)
    return ballots


async def estimate_pairs(
    views: Sequence[tuple[Claim, tuple[str, str]]], question: str, court: CheckContext
) -> dict[str, tuple[Estimate, Estimate]]:
    """Two contexts a claim, one call for all of them."""
    queries = [Query(claim.text, context, question) for claim, pair in views for context in pair]
    answers = iter(await court.backend.verifier.estimate(queries) if queries else [])
    return {claim.id: (next(answers), next(answers)) for claim, _ in views}


# The whole way through, on one screen.
#
# text ─► claims ─► evidence ─► verifier ─► budget ─► verdict ─► report

TOO_MANY = "error: more claims than limits.max_claims allows"


async def check(case: Case, court: CheckContext, choose: Choose | None = None) -> HallucinationReport:
    """Judge a whole response, or those of its claims that `choose` picks."""
    detection = await court.detect(case) if case.kb or case.history else None
    case = add_kb_source(case, detection)
    sifted = apply_sampling(select_claims(await extract_claims(case, court), court.profile), choose)
    verdicts = await verify(sifted.chosen, case, court) if case.sources else []
    verdicts += [unchecked(claim, TOO_MANY) for claim in sifted.surplus if case.sources]
    report = summarise(case, verdicts, sifted.skipped, court.backend.name, court.profile)
    return with_detection(report, detection) if detection else report


async def verify(claims: Sequence[Claim], case: Case, court: CheckContext) -> list[ClaimVerification]:
    """The verdict on each claim, in order, as the response as a whole settles them."""
    began = perf_counter()
    verdicts = apply_response_threshold(await judge_claims(claims, case, court), court.profile.risk_threshold)
    court.record(verdicts, case.id, perf_counter() - began)
    return verdicts


async def judge_claims(
    claims: Sequence[Claim], case: Case, court: CheckContext, before: str = ""
) -> list[ClaimVerification]:
    """Each claim judged by itself, `before` being the one before the first. Phantom citations never reach
    the model.
    """
    evidence = court.evidence(case.sources)
    missing = {claim.id: phantoms(claim, case.sources) for claim in claims}
    about = [before, *(claim.text for claim in claims)]
    mapped = await map_claims_to_sources(claims, case, court)
    gathered = {
        claim.id: evidence.gather(claim, about=previous)
        for claim, previous in zip(mapped, about, strict=False)
        if not missing[claim.id]
    }
    ballots = await score_claims(
        [c for c in claims if c.id in gathered], gathered, evidence.bare, case.question, court
    )
    return [
        judge(ballots[c.id], court.profile, vague=is_vague(c.text, answers=bool(case.question)))
        if c.id in ballots
        else phantom(c, missing[c.id])
        for c in claims
    ]


# An answer repaired: what to do about each flag, done, and whether the corrections hold.


async def fix(
    report: HallucinationReport, case: Case, court: CheckContext, settings: MitigationConfig, attempt: int
) -> HallucinationReport:
    """Decide, apply, check again. A correction that does not hold becomes a remark."""
    actions = mitigate(all_flags(report), report.response, settings, attempt)
    corrections = [action for action in actions if action.kind is ActionKind.CORRECT]
    if corrections:
        instead = await _broken(apply(corrections, report.response), case, court)
        actions = tuple(instead.get(action, action) for action in actions)
    return replace(report, repair=apply(actions, report.response))


def all_flags(report: HallucinationReport) -> list[Flag]:
    """The detectors' flags, and the budget's where no detector speaks of the same words."""
    own = [f for f in budget_flags(report) if not any(_overlap(f, other) for other in report.flags)]
    return [*report.flags, *own]


def _overlap(one: Flag, other: Flag) -> bool:
    return one.start < other.end and other.start < one.end


async def _broken(repair: Repair, case: Case, court: CheckContext) -> dict[Action, Action]:
    """What to do instead of the corrections that are flagged again."""
    again = await check(replace(case, response=repair.text), court)
    bad = [(c.start, c.end) for c in again.claims if c.is_flagged] + [(f.start, f.end) for f in again.flags]
    otherwise = [flag.fix for flag in again.flags if flag.correction and flag.fix]
    return {
        edit.action: _instead(edit.action, any(_touches(edit, *place) for place in otherwise))
        for edit in repair.edits
        if any(_touches(edit, *place) for place in bad)
    }


def _touches(edit: Edit, start: int, end: int) -> bool:
    return start < edit.new_end and edit.new_start < end


def _instead(action: Action, disputed: bool) -> Action:
    """A remark; but a person is asked where another authority would put other words in the same place."""
    assert action.flag is not None
    return dispute(action.flag) if disputed else annotate(action.flag)
