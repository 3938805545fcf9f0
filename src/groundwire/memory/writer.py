"""Writing what was decided: each decision is one transaction, and one line in the log."""

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
from groundwire.openie.parser import triples
from groundwire.openie.predicates import groups
from groundwire.stores import facts
from groundwire.stores.database import Database
from groundwire.stores.entities import Predicates
from groundwire.stores.queue import Queue
from groundwire.stores.rejected import Rejected, RejectedFacts
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


def fact_of(sentence: str) -> Fact:
    """What rules can read out of a sentence: who, what and, in roles of their own, the rest of it.

    Where a sentence denies something, or speaks of several things, it is kept as the sentence it is.
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


def holds_one(fact: Fact) -> bool:
    """Whether only one value can hold: a figure, a date, or what one can have but one of."""
    value = fact.role(OBJECT)
    measured = value is not None and value.kind in (ValueKind.NUMBER, ValueKind.DATE)
    return measured or groups(fact.predicate) <= _SINGLE


def sentence_of(fact: Fact) -> str:
    """The fact's own text, or its roles in a row.

    >>> sentence_of(Fact("", "works_in", (Role("subject", Value("Ada")), Role("object", Value("London")))))
    'Ada works in London.'
    """
    if fact.text.strip():
        return fact.text.strip()
    said = {SUBJECT: "", OBJECT: ""} | {role.name: role.value.text for role in reversed(fact.roles)}
    rest = [
        f"{_words(role.name)} {role.value.text}" for role in fact.roles if role.name not in (SUBJECT, OBJECT)
    ]
    head = " ".join(part for part in (said[SUBJECT], _words(fact.predicate), said[OBJECT]) if part)
    return ", ".join([head, *rest]) + "."


def _words(name: str) -> str:
    return name.replace("_", " ")


def fact_json(fact: Fact) -> str:
    """A refused fact, whole, for whoever looks into why."""
    roles = [{"name": role.name, "value": role.value.text} for role in fact.roles]
    return json.dumps({"id": fact.id, "predicate": fact.predicate, "roles": roles, "text": fact.text})


def given_roles(pairs: Sequence[tuple[str, str]], predicate: str, text: str) -> Fact:
    """A fact from roles as a user names them; the subject, and what is called so, is an entity."""
    roles = tuple(Role(name, _given(name, value, predicate)) for name, value in pairs)
    return Fact("", predicate, roles, text=text)


def _given(name: str, value: str, predicate: str) -> Value:
    if name == SUBJECT:
        return Value(value, ValueKind.REFERENCE)
    return value_of(value, about=predicate if name == OBJECT else name)


KIND = "memory_gate"
_SHOWN = 2000
_log = logging.getLogger("groundwire.memory")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact at the gate, with what it is held against. `read`: rules read it out of a sentence."""

    fact: Fact
    sources: tuple[Source, ...]
    confidence: float
    read: bool = False

    @property
    def text(self) -> str:
        return sentence_of(self.fact)

    def dumped(self) -> str:
        """What a worker needs to verify it later."""
        sources = [[source.id, source.text, source.origin] for source in self.sources]
        return json.dumps({"sources": sources, "confidence": self.confidence})

    @classmethod
    def loaded(cls, payload: str, fact: Fact) -> Candidate:
        try:
            data = json.loads(payload)
            sources = tuple(Source(*map(str, parts)) for parts in data["sources"])
            return cls(fact, sources, float(data["confidence"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"the job cannot be read ({type(error).__name__})") from error


class Keeper:
    """The store as the gate and its worker write to it."""

    def __init__(self, database: Database, queue: Queue, config: Config, metrics: Metrics) -> None:
        self.database = database
        self.queue = queue
        self.rules = config.hallucination.memory_gate
        self._texts = config.log.source_text
        self._metrics = metrics
        self._rejected = RejectedFacts(database)

    def keep(self, candidate: Candidate, decision: Decision) -> Fact:
        """A fact that comes in. A pending one and its job are written together, or neither."""
        fact = _stamped(candidate, decision)
        with self.database.write() as connection:
            if candidate.read:
                fact = replace(fact, many=_many(connection, fact))
            kept = facts.add(connection, fact)
            if kept.status is FactStatus.PENDING:
                payload = candidate.dumped()
                delay = decision.retry_after or 0.0
                self.queue.enqueue(connection, kept.id, payload, delay=delay, reason=decision.reason)
        self.note(kept.status.value, replace(candidate, fact=kept), decision)
        return kept

    def refuse(self, candidate: Candidate, decision: Decision) -> None:
        with self.database.write() as connection:
            self.write_refusal(connection, candidate, decision)
        self.note("rejected", candidate, decision)

    def write_refusal(self, connection: Connection, candidate: Candidate, decision: Decision) -> None:
        found = decision.verdict
        self._rejected.add(
            connection,
            Rejected(
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

    def note(self, what: str, candidate: Candidate, decision: Decision) -> None:
        """Count and log it; texts only where they are asked for."""
        if what == "rejected":
            self._metrics.fact_rejected()
        record = decision.record
        fields: dict[str, object] = {
            "event": "fact",
            "outcome": what,
            "fact": candidate.fact.id,
            "fact_sha256": hashlib.sha256(candidate.text.encode(errors="surrogatepass")).hexdigest()[:16],
            "confidence": decision.confidence,
            "p0": record.p0 if record else None,
            "p1": record.p1 if record else None,
            "gap_bits": decision.gap_bits,
            "threshold_bits": self.rules.threshold_bits,
        }
        if self._texts:
            fields |= {"fact_text": candidate.text, "reason": decision.reason}
        _log.info(json.dumps(fields), extra={"fields": fields})


def _many(connection: Connection, fact: Fact) -> bool:
    """A sentence does not say whether more of the kind can hold. What the store knows decides, then we do."""
    known = Predicates(connection, [fact.predicate])
    if known.numbers or not fact.predicate:
        return known.is_many(fact.predicate)
    return not holds_one(fact)


def _stamped(candidate: Candidate, decision: Decision) -> Fact:
    """The fact with its verdict and, unless it brought its own, where it was read."""
    fact, said = candidate.fact, candidate.fact.provenance
    if said == Provenance() and candidate.sources:
        found = decision.verdict.evidence if decision.verdict else ()
        if found:
            said = Provenance(_origin(candidate.sources, found[0].source), found[0].start, found[0].end)
        else:
            said = Provenance(_origin(candidate.sources, candidate.sources[0].id))
    return replace(
        fact,
        status=decision.status or FactStatus.UNVERIFIED,
        confidence=decision.confidence,
        record=decision.record,
        provenance=replace(said, recorded=said.recorded or datetime.now(UTC)),
    )


def _origin(sources: Sequence[Source], name: str) -> str:
    return next((source.origin for source in sources if source.id == name and source.origin), name)


def _evidence(sources: Sequence[Source], decision: Decision) -> str:
    """The pieces it was judged by; where there were none, how the sources begin."""
    judged = decision.verdict.evidence if decision.verdict else ()
    pieces = [{"source": r.source, "start": r.start, "end": r.end, "text": r.text} for r in judged]
    return json.dumps(pieces or [{"source": s.id, "text": s.text[:_SHOWN]} for s in sources[:10]])
