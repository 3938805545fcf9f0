"""What becomes of a fact: a sentence is parsed into one, its verdict decided on, the decision written to the store.

Each decision is one transaction and one log line.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from groundwire.config import Config, MemoryGateConfig
from groundwire.errors import BackendError, BackendTimeout, InputError, RateLimited
from groundwire.metrics import Metrics
from groundwire.openie.lexicon import groups
from groundwire.openie.parser import triples
from groundwire.stores import facts
from groundwire.stores.database import Database
from groundwire.stores.entities import Predicates
from groundwire.stores.queue import JobQueue, RejectedFact, RejectedFacts
from groundwire.stores.values import value_of
from groundwire.text.lexicon import word_set
from groundwire.types import (
    ClaimVerification,
    Fact,
    FactStatus,
    Provenance,
    Record,
    Role,
    Source,
    Status,
    Value,
    ValueKind,
)

# A sentence as a fact, and a fact as the sentence that is verified.

SUBJECT, OBJECT = "subject", "object"
_SINGLE = word_set(
    """
    founded ceo cto cfo chair president capital population employees revenue price budget area height length
    weight width depth age speed capacity duration birthplace deadline launch start end salary version
    department team location employer manager residence country continent currency
    """
) | {"birth date", "death date"}


def fact_from_sentence(sentence: str) -> Fact:
    """Parse a sentence into subject, predicate, object and further roles.

    A sentence that is negated, quantified or has several subjects is stored as text only.
    """
    text = " ".join(sentence.split())
    found = triples(text)
    if not found or any(t.denied or t.quantifier or t.subject != found[0].subject for t in found):
        return Fact("", "", (), text=text)
    first, *others = found
    roles = [(SUBJECT, first.subject), (OBJECT, first.object), *((other.predicate, other.object) for other in others)]
    return fact_from_roles(roles, first.predicate, text)


def is_single_valued(fact: Fact) -> bool:
    """True if only one value can hold at a time: numbers, dates, and predicates such as capital or CEO."""
    value = fact.role(OBJECT)
    measured = value is not None and value.kind in (ValueKind.NUMBER, ValueKind.DATE)
    return measured or groups(fact.predicate) <= _SINGLE


def fact_sentence(fact: Fact) -> str:
    """Return the fact's text, or a sentence made of its roles.

    >>> fact_sentence(Fact("", "works_in", (Role("subject", Value("Ada")), Role("object", Value("London")))))
    'Ada works in London.'
    """
    if fact.text.strip():
        return fact.text.strip()
    values = {SUBJECT: "", OBJECT: ""} | {role.name: role.value.text for role in reversed(fact.roles)}
    others = [role for role in fact.roles if role.name not in (SUBJECT, OBJECT)]
    rest = [f"{role.name.replace('_', ' ')} {role.value.text}" for role in others]
    head = " ".join(filter(None, (values[SUBJECT], fact.predicate.replace("_", " "), values[OBJECT])))
    return ", ".join([head, *rest]) + "."


def fact_from_roles(pairs: Iterable[tuple[str, str]], predicate: str, text: str) -> Fact:
    """Build a fact from named roles; the subject is an entity reference."""
    roles = []
    for name, given in pairs:
        about = predicate if name == OBJECT else name
        value = Value(given, ValueKind.REFERENCE) if name == SUBJECT else value_of(given, about=about)
        roles.append(Role(name, value))
    return Fact("", predicate, tuple(roles), text=text)


# The decision: stored as verified, unverified or pending, or rejected. Pure functions.

UNCHECKED_FACTOR = 0.5  # multiplies the confidence of a fact that could not be checked


@dataclass(frozen=True, slots=True)
class Decision:
    """The status to store a fact with, or None to reject it.

    `reason` is set unless the fact was verified; `retry_after` is the wait in seconds a backend asked for.
    """

    status: FactStatus | None
    confidence: float
    reason: str = ""
    verdict: ClaimVerification | None = None
    retry_after: float | None = None

    @property
    def gap_bits(self) -> float | None:
        return self.verdict.budget_gap if self.verdict else None

    @property
    def record(self) -> Record | None:
        """The two probabilities and the observed bits, if they were measured."""
        found = self.verdict
        if found is None or found.p0 is None or found.p1 is None or found.observed_bits is None:
            return None
        return Record(found.p0, found.p1, found.observed_bits, found.method)


def decide_by_verdict(verdict: ClaimVerification, rules: MemoryGateConfig) -> Decision:
    adjusted = verdict.adjusted_confidence or 0.0
    reason = rejection_reason(verdict, adjusted, rules)
    if not reason:
        return Decision(FactStatus.VERIFIED, adjusted, verdict=verdict)
    # A contradicted fact is worse than an unsupported one: no setting admits it.
    if rules.reject_unsupported or verdict.status is Status.CONTRADICTED:
        return Decision(None, adjusted, reason, verdict)
    return Decision(FactStatus.UNVERIFIED, adjusted, reason, verdict)


def rejection_reason(verdict: ClaimVerification, adjusted: float, rules: MemoryGateConfig) -> str:
    """Return why a fact does not pass; empty if it does."""
    gap = verdict.budget_gap
    missing = "" if gap is None else f"{gap:.1f} bits of evidence are missing"
    if verdict.status is Status.CONTRADICTED:
        return f"the evidence contradicts it ({missing}): {verdict.reason}"
    if gap is None:
        return verdict.reason
    if gap > rules.threshold_bits:
        return f"{missing}, {rules.threshold_bits:g} allowed: {verdict.reason}"
    if adjusted < rules.min_confidence:
        return f"adjusted confidence {adjusted:.2f} is below {rules.min_confidence:g} ({missing})"
    return ""


def decide_unchecked(error: BackendError, stated: float, rules: MemoryGateConfig) -> Decision:
    """Decide on a fact the backend failed to check: unverified with half its confidence, or rejected."""
    if isinstance(error, RateLimited):
        return Decision(FactStatus.PENDING, stated * UNCHECKED_FACTOR, str(error), retry_after=error.retry_after)
    reason = f"not checked in time: {error}" if isinstance(error, BackendTimeout) else f"not checked: {error}"
    if rules.fail_closed:
        return Decision(None, stated * UNCHECKED_FACTOR, reason)
    return Decision(FactStatus.UNVERIFIED, stated * UNCHECKED_FACTOR, reason)


# The store.

QUEUE_NAME = "memory_gate"
_EVIDENCE_CHARS = 2000  # of each source that a rejected fact quotes
_log = logging.getLogger("groundwire.memory")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact to verify, with its sources. `from_sentence`: it was parsed from a sentence."""

    fact: Fact
    sources: tuple[Source, ...]
    confidence: float
    from_sentence: bool = False

    @property
    def text(self) -> str:
        return fact_sentence(self.fact)

    def to_payload(self) -> str:
        """Serialise what a worker needs to verify it later."""
        sources = [[source.id, source.text, source.origin] for source in self.sources]
        return json.dumps({"sources": sources, "confidence": self.confidence})

    @classmethod
    def from_payload(cls, payload: str, fact: Fact) -> Candidate:
        try:
            data = json.loads(payload)
            sources = tuple(Source(*map(str, parts)) for parts in data["sources"])
            return cls(fact, sources, float(data["confidence"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"invalid job payload ({type(error).__name__})") from error


class FactWriter:
    """Writes the decisions of the gate and its worker."""

    def __init__(self, database: Database, queue: JobQueue, config: Config, metrics: Metrics) -> None:
        self.database = database
        self.queue = queue
        self.rules = config.hallucination.memory_gate
        self._log_texts = config.log.include_text
        self._metrics = metrics
        self._rejected = RejectedFacts(database)

    def store(self, candidate: Candidate, decision: Decision) -> Fact:
        """Store a new fact; a pending one is written together with its job."""
        fact = _with_verdict(candidate, decision)
        with self.database.write() as connection:
            if candidate.from_sentence:
                fact = replace(fact, many=_allows_many(connection, fact))
            (stored,) = facts.add_many(connection, [fact])
            if stored.status is FactStatus.PENDING:
                payload = candidate.to_payload()
                delay = decision.retry_after or 0.0
                self.queue.enqueue(connection, stored.id, payload, delay=delay, reason=decision.reason)
        self.log(stored.status.value, replace(candidate, fact=stored), decision)
        return stored

    def reject(self, candidate: Candidate, decision: Decision) -> None:
        with self.database.write() as connection:
            self.write_rejection(connection, candidate, decision)
        self.log("rejected", candidate, decision)

    def write_rejection(self, connection: Connection, candidate: Candidate, decision: Decision) -> None:
        fact, found = candidate.fact, decision.verdict
        roles = [{"name": role.name, "value": role.value.text} for role in fact.roles]
        shown = {"id": fact.id, "predicate": fact.predicate, "roles": roles, "text": fact.text}
        rejected = RejectedFact(
            text=candidate.text,
            fact=json.dumps(shown),
            evidence=_evidence(candidate.sources, decision),
            confidence=candidate.confidence,
            threshold_bits=self.rules.threshold_bits,
            verdict=found.status if found else Status.UNCHECKED,
            reason=decision.reason,
            adjusted=decision.confidence,
            gap_bits=decision.gap_bits,
        )
        if found:
            rejected = replace(
                rejected,
                method=found.method,
                p0=found.p0,
                p1=found.p1,
                required_bits=found.required_bits,
                observed_bits=found.observed_bits,
            )
        self._rejected.add(connection, rejected)

    def log(self, outcome: str, candidate: Candidate, decision: Decision) -> None:
        """Count and log a decision; texts only if `log.include_text` is set."""
        if outcome == "rejected":
            self._metrics.fact_rejected()
        record = decision.record
        fields: dict[str, object] = {
            "event": "fact",
            "outcome": outcome,
            "fact": candidate.fact.id,
            "fact_sha256": hashlib.sha256(candidate.text.encode(errors="surrogatepass")).hexdigest()[:16],
            "confidence": decision.confidence,
            "p0": record.p0 if record else None,
            "p1": record.p1 if record else None,
            "gap_bits": decision.gap_bits,
            "threshold_bits": self.rules.threshold_bits,
        }
        if self._log_texts:
            fields |= {"fact_text": candidate.text, "reason": decision.reason}
        _log.info(json.dumps(fields), extra={"fields": fields})


def _allows_many(connection: Connection, fact: Fact) -> bool:
    """True if the predicate may have several values: by the store, or by the fact if it is new there."""
    known = Predicates(connection, [fact.predicate])
    if known.numbers or not fact.predicate:
        return known.is_many(fact.predicate)
    return not is_single_valued(fact)


def _with_verdict(candidate: Candidate, decision: Decision) -> Fact:
    """Return the fact with its verdict, and the source it was found in unless it names its own."""
    fact, provenance = candidate.fact, candidate.fact.provenance
    if provenance == Provenance() and candidate.sources:
        found = decision.verdict.evidence if decision.verdict else ()
        if found:
            provenance = Provenance(_origin(candidate.sources, found[0].source), found[0].start, found[0].end)
        else:
            provenance = Provenance(_origin(candidate.sources, candidate.sources[0].id))
    return replace(
        fact,
        status=decision.status or FactStatus.UNVERIFIED,
        confidence=decision.confidence,
        record=decision.record,
        provenance=replace(provenance, recorded=provenance.recorded or datetime.now(UTC)),
    )


def _origin(sources: Sequence[Source], name: str) -> str:
    return next((source.origin for source in sources if source.id == name and source.origin), name)


def _evidence(sources: Sequence[Source], decision: Decision) -> str:
    """Return the evidence of the verdict as JSON, or else the beginnings of the sources."""
    judged = decision.verdict.evidence if decision.verdict else ()
    pieces = [{"source": r.source, "start": r.start, "end": r.end, "text": r.text} for r in judged]
    return json.dumps(pieces or [{"source": s.id, "text": s.text[:_EVIDENCE_CHARS]} for s in sources[:10]])
