"""Write decided facts to the store, and convert between facts and sentences.

Each decision is one transaction and one log line.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.memory.decision import Decision
from groundwire.metrics import Metrics
from groundwire.openie.lexicon import groups
from groundwire.openie.parser import triples
from groundwire.stores import facts
from groundwire.stores.database import Database
from groundwire.stores.entities import Predicates
from groundwire.stores.queue import JobQueue, RejectedFact, RejectedFacts
from groundwire.stores.values import value_of
from groundwire.text.lexicon import word_set
from groundwire.types import Fact, FactStatus, Provenance, Role, Source, Triple, Value, ValueKind

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
    roles = [Role(SUBJECT, Value(first.subject, ValueKind.REFERENCE)), Role(OBJECT, _object(first))]
    roles += [Role(other.predicate, _object(other)) for other in others]
    return Fact("", first.predicate, tuple(roles), text=text)


def _object(triple: Triple) -> Value:
    return value_of(triple.object, about=triple.predicate)


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
    rest = [f"{_words(role.name)} {role.value.text}" for role in fact.roles if role.name not in (SUBJECT, OBJECT)]
    head = " ".join(part for part in (values[SUBJECT], _words(fact.predicate), values[OBJECT]) if part)
    return ", ".join([head, *rest]) + "."


def _words(name: str) -> str:
    return name.replace("_", " ")


def fact_json(fact: Fact) -> str:
    """Serialise a rejected fact for inspection."""
    roles = [{"name": role.name, "value": role.value.text} for role in fact.roles]
    return json.dumps({"id": fact.id, "predicate": fact.predicate, "roles": roles, "text": fact.text})


def fact_from_roles(pairs: Sequence[tuple[str, str]], predicate: str, text: str) -> Fact:
    """Build a fact from named roles; the subject is an entity reference."""
    roles = tuple(Role(name, _given(name, value, predicate)) for name, value in pairs)
    return Fact("", predicate, roles, text=text)


def _given(name: str, value: str, predicate: str) -> Value:
    if name == SUBJECT:
        return Value(value, ValueKind.REFERENCE)
    return value_of(value, about=predicate if name == OBJECT else name)


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
            stored = facts.add(connection, fact)
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
        found = decision.verdict
        self._rejected.add(
            connection,
            RejectedFact(
                text=candidate.text,
                fact=fact_json(candidate.fact),
                evidence=_evidence(candidate.sources, decision),
                confidence=candidate.confidence,
                threshold_bits=self.rules.threshold_bits,
                verdict=found.status.value if found else "UNCHECKED",
                reason=decision.reason,
                method=found.method if found else "",
                adjusted=decision.confidence,
                p0=found.p0 if found else None,
                p1=found.p1 if found else None,
                required_bits=found.required_bits if found else None,
                observed_bits=found.observed_bits if found else None,
                gap_bits=decision.gap_bits,
            ),
        )

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
