"""One check, from an answer to its report. Every interface goes through here.

    response ──► extract_claims ──► select_claims ──► judge_claims ──────────────► summarise ──► report
                 (claims/)          (limits)          │                            (verdicts/)
                                                      ├─ map_claims_to_sources, gather   (retrieval/)
                                                      ├─ score_claims: p1, p0, citation  (verifiers/)
                                                      └─ judge: bits, status, flag       (verdicts/)

`fix` repairs a report's answer and checks the corrections in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from time import perf_counter

from groundwire.claims.extractor import extract, steps_as_claims
from groundwire.claims.llm_extractor import extract_with_model
from groundwire.config import DetectorsConfig, MitigationConfig
from groundwire.llm.base import Generator
from groundwire.metrics import Metrics, log_verdict
from groundwire.retrieval.gather import Evidence, Gathered, phantoms, title_of
from groundwire.types import (
    Action,
    ActionKind,
    Case,
    Claim,
    ClaimKind,
    ClaimVerification,
    Detection,
    Estimate,
    Flag,
    HallucinationReport,
    Query,
    Repair,
    Source,
)
from groundwire.verdicts.judge import (
    ClaimScores,
    Profile,
    contexts_without,
    is_vague,
    judge,
    needs_citation_check,
    needs_p0,
    needs_prior,
    phantom,
    unchecked,
    with_shares,
)
from groundwire.verdicts.summary import (
    add_history_sources,
    add_kb_source,
    apply_response_threshold,
    budget_flags,
    summarise,
    with_detection,
)
from groundwire.verifiers.backends import Backend

TOO_MANY = "error: more claims than limits.max_claims allows"

BLIND = "the verifier '%s' gives every claim the same probability with and without its evidence: it does not read it"
MIN_BLIND = 3
"""Claims of one response that must agree before a verifier is said not to read: one or two may by chance."""

_LOW = 0.5  # P(yes) below which a bare probability may contradict
_REFERRING = (ClaimKind.INSTRUCTION, ClaimKind.HEDGE)
_log = logging.getLogger("groundwire")

Choose = Callable[[Sequence[Claim]], Sequence[Claim]]
"""Picks the claims of a response that are worth verifying."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The parts of a check: the backend to ask, the profile to judge by, and where to record results.

    `bits` asks for p0 of every claim, also where it costs a request and cannot change the verdict;
    `shares` for the share of each source of every claim whose evidence comes from several.

    `extractor` and `mapper` are language models that extract claims and map them to sources, `reader` one
    that extracts relations for the detectors; without them rules do. `prepared` are sources indexed before,
    for checking a growing text against the same sources.
    """

    backend: Backend
    profile: Profile
    metrics: Metrics
    log_text: bool = False
    bits: bool = False
    shares: bool = False
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
        """Run the knowledge, dialogue, time and logic detectors on the response."""
        from groundwire.detectors.registry import detect  # imported late: the grammar is large

        return await detect(case, self.detectors, self.backend.verifier, self.reader)

    async def detect_in_answer(self, case: Case) -> Detection | None:
        """Run the detectors that read only the response; None if they find nothing."""
        from groundwire.detectors.registry import detect_in_answer  # imported late: the grammar is large

        return await detect_in_answer(case, self.detectors)

    def record(self, verdicts: Sequence[ClaimVerification], response_id: str, seconds: float) -> None:
        """Count and log the verdicts. Source text is logged only if `log.include_text` is set."""
        self.metrics.verdicts(verdicts, self.backend.name)
        for verdict in verdicts:
            log_verdict(
                verdict,
                backend=self.backend.name,
                seconds=seconds / len(verdicts),
                response_id=response_id,
                source_text=self.log_text,
            )


async def check(case: Case, context: CheckContext, choose: Choose | None = None) -> HallucinationReport:
    """Judge a whole response, or those of its claims that `choose` picks."""
    known = case.kb or case.history
    detection = await (context.detect(case) if known else context.detect_in_answer(case))
    case = add_history_sources(add_kb_source(case, detection))
    selection = select_claims(await extract_claims(case, context), context.profile)
    if choose is not None:
        selection = apply_sampling(selection, choose)
    verdicts = await verify(selection.verified, case, context) if case.sources else []
    verdicts += [unchecked(claim, TOO_MANY) for claim in selection.over_limit if case.sources]
    report = summarise(case, verdicts, selection.skipped, context.backend.name, context.profile)
    return with_detection(report, detection) if detection else report


async def verify(
    claims: Sequence[Claim], case: Case, context: CheckContext, *, alone: bool = False
) -> list[ClaimVerification]:
    """One verdict per claim, in order, with the risk threshold applied to the response, or to each claim `alone`."""
    began = perf_counter()
    judged = await judge_claims(claims, case, context)
    groups = [[verdict] for verdict in judged] if alone else [judged]
    threshold = context.profile.risk_threshold
    verdicts = [verdict for group in groups for verdict in apply_response_threshold(group, threshold)]
    context.record(verdicts, case.id, perf_counter() - began)
    return verdicts


async def judge_claims(
    claims: Sequence[Claim], case: Case, context: CheckContext, before: str = ""
) -> list[ClaimVerification]:
    """Judge each claim by itself. `before` is the sentence before the first claim, for its pronouns.

    Claims that cite a source that does not exist are judged without asking the verifier.
    """
    evidence = context.evidence(case.sources)
    missing = {claim.id: phantoms(claim, case.sources) for claim in claims}
    previous = [before, *(claim.text for claim in claims)]
    mapped = await map_claims_to_sources(claims, case, context)
    gathered = {
        claim.id: evidence.gather(claim, about=about)
        for claim, about in zip(mapped, previous, strict=False)
        if not missing[claim.id]
    }
    existing = [claim for claim in claims if claim.id in gathered]
    scores = await score_claims(existing, gathered, evidence.bare, case.question, context)
    verdicts = [
        judge(scores[claim.id], context.profile, vague=is_vague(claim.text, answers=bool(case.question)))
        if claim.id in scores
        else phantom(claim, missing[claim.id])
        for claim in claims
    ]
    return await add_shares(verdicts, existing, gathered, case, context)


async def add_shares(
    verdicts: Sequence[ClaimVerification],
    claims: Sequence[Claim],
    gathered: dict[str, Gathered],
    case: Case,
    context: CheckContext,
) -> list[ClaimVerification]:
    """Measure what each source adds to the claims that are drawn from several."""
    of, marker, free = {v.claim_id: v for v in verdicts}, context.profile.marker, context.backend.free
    views: dict[ViewKey, tuple[Claim, str]] = {}
    for claim in claims if len(case.sources) > 1 else ():
        views |= contexts_without(
            claim, of[claim.id], gathered[claim.id], case.sources, marker, free=free, every=context.shares
        )
    found = await estimate(views, case.question, context)
    return [with_shares(verdict, found, context.profile) for verdict in verdicts]


async def extract_claims(case: Case, context: CheckContext) -> list[Claim]:
    """The claims of the response, by rules, or by a language model where one is configured."""
    known = names_of(case.sources)
    target = context.profile.target
    if context.extractor is None:
        found = extract(case.response, target=target, known_sources=known)
    else:
        found = await extract_with_model(context.extractor, case.response, target=target, known_sources=known)
    claims = steps_as_claims(found, asked=bool(case.question))
    # "For details, see [manual.pdf]" asserts at least that there is such a source.
    referring = {c.id for c in claims if c.kind in _REFERRING and case.sources and phantoms(c, case.sources)}
    return [replace(c, kind=ClaimKind.ASSERTION) if c.id in referring else c for c in claims]


def names_of(sources: Sequence[Source]) -> list[str]:
    """The names by which an answer may cite sources: their ids, their file names and their titles."""
    files = (PurePath(source.origin).name for source in sources if PurePath(source.origin).suffix)
    titles = filter(None, map(title_of, sources))
    return list(dict.fromkeys((*(source.id for source in sources), *files, *titles)))


@dataclass(frozen=True, slots=True)
class ClaimSelection:
    """Claims to verify, claims that are only listed, and claims beyond the limit (reported as unchecked)."""

    verified: list[Claim]
    skipped: list[Claim]
    over_limit: list[Claim]


def select_claims(found: Sequence[Claim], profile: Profile) -> ClaimSelection:
    """Skip what asserts nothing or is too short.

    The profile `rag` verifies its first claims and lists the others; with any other profile a claim beyond
    the limit counts as one that could not be checked.
    """
    asserted = [c for c in found if c.kind is ClaimKind.ASSERTION and len(c.text) >= profile.min_chars]
    verified, rest = asserted[: profile.max_claims], asserted[profile.max_claims :]
    over_limit = [] if profile.name == "rag" else rest
    ids = {claim.id for claim in (*verified, *over_limit)}
    return ClaimSelection(verified, [claim for claim in found if claim.id not in ids], over_limit)


def apply_sampling(selection: ClaimSelection, choose: Choose) -> ClaimSelection:
    """Verify only the claims that `choose` picks; the others are listed as skipped."""
    candidates = [*selection.verified, *selection.over_limit]
    chosen = list(choose(candidates))
    ids = {claim.id for claim in chosen}
    left = [claim for claim in candidates if claim.id not in ids]
    return ClaimSelection(chosen, sorted([*selection.skipped, *left], key=lambda claim: claim.start), [])


async def map_claims_to_sources(claims: Sequence[Claim], case: Case, context: CheckContext) -> Sequence[Claim]:
    """With a mapper model, claims without citations get the sources that it names."""
    if context.mapper is None:
        return claims
    from groundwire.verifiers.shared import map_evidence  # imported late: few checks have a mapper

    named = await map_evidence(context.mapper, [claim.text for claim in claims], case.sources)
    return [c if c.citations else replace(c, citations=tuple(n)) for c, n in zip(claims, named, strict=True)]


async def score_claims(
    claims: Sequence[Claim], gathered: dict[str, Gathered], nothing: str, question: str, context: CheckContext
) -> dict[str, ClaimScores]:
    """Estimate each claim with its evidence (p1) and, where it matters, without it (p0).

    Where an estimate costs nothing, both are asked for at once. Where it costs a request, a cited claim is
    first read against its cited sources alone, and p0 is asked for only if it can change the verdict.
    """
    free, profile = context.backend.free, context.profile
    scores = await (_score_both if free else _score_cited_first)(claims, gathered, question, context)
    if not reads_evidence(list(scores.values())):
        _log.error(BLIND, context.backend.name)  # its verdicts are worth nothing: shown at the default level
    cited = [c for c in claims if needs_citation_check(scores[c.id], profile, free=free)]
    cited = [claim for claim in cited if scores[claim.id].cited is None]
    prior = [c for c in claims if c in cited or needs_prior(scores[c.id], profile)]
    views = {(claim.id, "cited"): (claim, gathered[claim.id].cited_text or "") for claim in cited}
    views |= {(claim.id, "nothing"): (claim, nothing) for claim in prior}
    second = await estimate(views, question, context)
    for claim in prior:
        found = scores[claim.id]
        alone = second.get((claim.id, "cited"), found.cited)
        scores[claim.id] = replace(found, cited=alone, nothing=second[claim.id, "nothing"])
    return scores


async def _score_both(
    claims: Sequence[Claim], gathered: dict[str, Gathered], question: str, context: CheckContext
) -> dict[str, ClaimScores]:
    views = {(claim.id, "with"): (claim, gathered[claim.id].with_text) for claim in claims}
    views |= {(claim.id, "without"): (claim, gathered[claim.id].without_text) for claim in claims}
    found = await estimate(views, question, context)
    return {
        claim.id: ClaimScores(
            claim,
            gathered[claim.id].refs,
            found[claim.id, "with"],
            found[claim.id, "without"],
            elsewhere=gathered[claim.id].elsewhere,
        )
        for claim in claims
    }


async def _score_cited_first(
    claims: Sequence[Claim], gathered: dict[str, Gathered], question: str, context: CheckContext
) -> dict[str, ClaimScores]:
    """p1 by the cited sources; by all of them where those do not suffice; then p0 where it matters."""
    views = {
        (claim.id, "with"): (claim, gathered[claim.id].cited_text or gathered[claim.id].with_text) for claim in claims
    }
    first = await estimate(views, question, context)
    scores = {}
    for claim in claims:
        p1, found = first[claim.id, "with"], gathered[claim.id]
        cited = p1 if found.cited_text else None
        scores[claim.id] = ClaimScores(claim, found.refs, p1, None, cited, elsewhere=found.elsewhere)
    astray = [
        claim
        for claim in claims
        if claim.citations and gathered[claim.id].elsewhere and not scores[claim.id].error
        if scores[claim.id].with_evidence.p_yes < context.profile.floor(claim.confidence)
    ]
    views = {(claim.id, "with"): (claim, gathered[claim.id].with_text) for claim in astray}
    wanted = [c for c in claims if context.bits or needs_p0(scores[c.id], context.profile) or _is_bare(scores[c.id])]
    wanted = [claim for claim in wanted if not scores[claim.id].error]
    views |= {(claim.id, "without"): (claim, gathered[claim.id].without_text) for claim in wanted}
    more = await estimate(views, question, context)
    for claim in claims:
        found_scores = scores[claim.id]
        scores[claim.id] = replace(
            found_scores,
            with_evidence=more.get((claim.id, "with"), found_scores.with_evidence),
            without_evidence=more.get((claim.id, "without")),
        )
    return scores


def _is_bare(scores: ClaimScores) -> bool:
    """True for a low probability that does not tell "no" from "unsure": only p0 shows that the evidence lowers it."""
    p1 = scores.with_evidence
    return scores.cited is None and p1.p_no == 0.0 and 0.0 < p1.p_yes < _LOW


def reads_evidence(scores: Sequence[ClaimScores]) -> bool:
    """False where each of several claims is believed, and as much without its evidence as with it."""
    pairs = [(s.with_evidence.p_yes, s.without_evidence.p_yes) for s in scores if s.without_evidence]
    return len(pairs) < MIN_BLIND or any(p1 < 0.5 or p1 != p0 for p1, p0 in pairs)


ViewKey = tuple[str, str]


async def estimate(
    views: dict[ViewKey, tuple[Claim, str]], question: str, context: CheckContext
) -> dict[ViewKey, Estimate]:
    """One estimate per claim and context, in one call to the verifier."""
    queries = [Query(claim.text, text, question) for claim, text in views.values()]
    answers = await context.backend.verifier.estimate(queries) if queries else []
    return dict(zip(views, answers, strict=True))


async def fix(
    report: HallucinationReport, case: Case, context: CheckContext, settings: MitigationConfig, attempt: int
) -> HallucinationReport:
    """Repair each flag and check again. A correction that fails the check becomes a remark."""
    from groundwire.verdicts.repair import apply, mitigate  # imported late: most checks repair nothing

    actions = mitigate(all_flags(report), report.response, settings, attempt)
    corrections = [action for action in actions if action.kind is ActionKind.CORRECT]
    if corrections:
        instead = await _broken(apply(corrections, report.response), case, context)
        actions = tuple(instead.get(action, action) for action in actions)
    return replace(report, repair=apply(actions, report.response))


def all_flags(report: HallucinationReport) -> list[Flag]:
    """The detectors' flags, and the claims' flags where no detector flags the same words."""
    claims = budget_flags(report)
    own = [f for f in claims if not any(f.start < other.end and other.start < f.end for other in report.flags)]
    return [*report.flags, *own]


async def _broken(repair: Repair, case: Case, context: CheckContext) -> dict[Action, Action]:
    """For each correction that is flagged again, the action to take instead."""
    from groundwire.verdicts.repair import annotate, dispute

    again = await check(replace(case, response=repair.text), context)
    bad = [(c.start, c.end) for c in again.claims if c.is_flagged] + [(f.start, f.end) for f in again.flags]
    otherwise = [flag.fix for flag in again.flags if flag.correction and flag.fix]
    instead: dict[Action, Action] = {}
    for edit in repair.edits:
        flag = edit.action.flag
        if flag and any(start < edit.new_end and edit.new_start < end for start, end in bad):
            # Where another authority would put other words in the same place, a person has to decide.
            disputed = any(start < edit.new_end and edit.new_start < end for start, end in otherwise)
            instead[edit.action] = dispute(flag) if disputed else annotate(flag)
    return instead
