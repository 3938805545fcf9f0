"""What comes in, what stays out, and that nobody waits for it; on both databases."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from tests.figures import figures as figures_of

from groundwire.budget import budget
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, BackendError, FactNotGrounded, InputError, RateLimited, StoreError
from groundwire.memory import MemoryGate
from groundwire.stores.database import Database
from groundwire.stores.facts import list_facts
from groundwire.stores.queue import RejectedFact, RejectedFacts
from groundwire.types import Estimate, Fact, FactStatus, Provenance, Query, Role, Value
from groundwire.verifiers.fake import FakeVerifier

Engine = Callable[..., Groundwire]
EVIDENCE = "Ada works in London."
TRUE, FALSE = "Ada works in London.", "Ada works in Rome."


def certain(p1: float, p0: float = 0.05, p_no: float = 0.0) -> FakeVerifier:
    """p1 with the evidence in view, p0 without."""

    def script(query: Query) -> tuple[float, float]:
        return (p1, p_no) if "London" in query.context else (p0, 0.0)

    return FakeVerifier(script)


def failing(error: BackendError) -> FakeVerifier:
    return FakeVerifier(failing=[error] * 9)


def kept(database: Database) -> list[Fact]:
    with database.read() as connection:
        return list_facts(connection)


def refused(database: Database) -> list[RejectedFact]:
    return RejectedFacts(database).latest()


class TestVerified:
    @pytest.mark.spec("SPEC-08.15")
    async def test_fact_is_verified_before_it_is_stored(self, database: Database, engine: Engine) -> None:
        fake = FakeVerifier()
        async with MemoryGate(database, engine(fake)) as gate:
            fact = await gate.remember(TRUE, EVIDENCE)
        assert fake.queries >= 2
        assert (fact.status, fact.predicate) == (FactStatus.VERIFIED, "work in")
        assert kept(database) == [fact]
        assert refused(database) == []

    @pytest.mark.spec("SPEC-08.15")
    async def test_verification_record_is_stored(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(certain(0.9))) as gate:
            await gate.remember(TRUE, {"page 3": "Words. " + EVIDENCE})
        (fact,) = kept(database)
        assert fact.record is not None
        assert (fact.record.p0, fact.record.p1, fact.record.method) == (0.05, 0.9, "fake")
        assert fact.record.bits == pytest.approx(budget(0.9, 0.05).observed_bits)
        assert (fact.provenance.source, fact.provenance.start) == ("page 3", 7)
        assert fact.provenance.recorded is not None

    @pytest.mark.spec("SPEC-08.17")
    @pytest.mark.parametrize(("p1", "stated"), [(0.8, 0.95), (0.9, 0.95), (0.99, 0.9), (0.99, 0.6)])
    async def test_confidence_is_adjusted_to_the_evidence(
        self, database: Database, engine: Engine, p1: float, stated: float
    ) -> None:
        async with MemoryGate(database, engine(certain(p1))) as gate:
            fact = await gate.remember(TRUE, EVIDENCE, confidence=stated)
        found = budget(p1, 0.05, stated)
        assert fact.confidence == pytest.approx(min(stated, found.observed_bits / found.required_bits))
        assert kept(database)[0].confidence == pytest.approx(fact.confidence)

    async def test_fact_of_roles_is_verified_as_a_sentence(self, database: Database, engine: Engine) -> None:
        fake = FakeVerifier()
        roles = (Role("subject", Value("Ada")), Role("object", Value("London")), Role("since", Value("2019")))
        fact = Fact("", "works_in", roles, provenance=Provenance("hr.csv"))
        async with MemoryGate(database, engine(fake)) as gate:
            done = await gate.remember(fact, "Ada works in London, since 2019.")
        assert fake.calls[0][0].claim == "Ada works in London, since 2019."
        assert (done.status, done.provenance.source) == (FactStatus.VERIFIED, "hr.csv")

    async def test_same_fact_is_stored_once(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(FakeVerifier())) as gate:
            first = await gate.remember(TRUE, EVIDENCE)
            assert (await gate.remember("Ada works in  London.", EVIDENCE)).id == first.id
        assert len(kept(database)) == 1

    async def test_multi_valued_predicates_are_not_replaced(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(FakeVerifier())) as gate:
            for text in (
                "Ada likes tea.",
                "Ada likes coffee.",
                "Acme was founded in 1987.",
                "Acme was founded in 1988.",
            ):
                await gate.remember(text, text)
        standing = [fact.text for fact in kept(database) if fact.status is FactStatus.VERIFIED]
        assert sorted(standing) == ["Acme was founded in 1988.", "Ada likes coffee.", "Ada likes tea."]

    def test_remember_now_for_synchronous_callers(self, database: Database, engine: Engine) -> None:
        fake = FakeVerifier()
        gate = MemoryGate(database, engine(fake))
        gate.ready()
        assert fake.queries == 1
        assert gate.remember_now(TRUE, EVIDENCE).status is FactStatus.VERIFIED
        gate.close()


class TestRefused:
    @pytest.mark.spec("SPEC-08.16", "SPEC-08.18")
    async def test_too_large_gap_is_rejected(self, database: Database, engine: Engine) -> None:
        made = engine(certain(0.3))
        async with MemoryGate(database, made) as gate:
            with pytest.raises(FactNotGrounded, match=r"\d\.\d bits of evidence are missing") as caught:
                await gate.remember(FALSE, EVIDENCE)
        gap = budget(0.3, 0.05).gap_bits
        assert caught.value.status == "ErrFactNotGrounded"
        assert caught.value.gap_bits == pytest.approx(gap)
        assert kept(database) == []
        (one,) = refused(database)
        assert (one.text, one.threshold_bits) == (FALSE, 2.0)
        assert one.gap_bits == pytest.approx(gap)
        assert (one.p0, one.p1, one.confidence) == (0.05, 0.3, 0.95)
        assert "London" in one.evidence
        assert json.loads(one.fact)["predicate"] == "work in"
        assert figures_of(made.metrics).facts_rejected == 1

    @pytest.mark.spec("SPEC-08.16")
    @pytest.mark.parametrize(("threshold", "comes_in"), [(1.6, False), (1.7, True)])
    async def test_threshold_is_configurable(
        self, database: Database, engine: Engine, threshold: float, comes_in: bool
    ) -> None:
        gap = budget(0.7, 0.05).gap_bits
        assert 1.6 < gap < 1.7
        made = engine(certain(0.7), threshold_bits=threshold, min_confidence=0.1)
        async with MemoryGate(database, made) as gate:
            if comes_in:
                await gate.remember(TRUE, EVIDENCE)
            else:
                with pytest.raises(FactNotGrounded):
                    await gate.remember(TRUE, EVIDENCE)
        assert len(kept(database)) == comes_in

    @pytest.mark.spec("SPEC-08.16")
    @pytest.mark.parametrize("lenient", [True, False])
    async def test_contradicted_facts_are_never_stored(self, database: Database, engine: Engine, lenient: bool) -> None:
        made = engine(certain(0.3, p_no=0.6), threshold_bits=50, reject_unsupported=not lenient)
        async with MemoryGate(database, made) as gate:
            with pytest.raises(FactNotGrounded, match="contradicts"):
                await gate.remember(FALSE, EVIDENCE)
        assert kept(database) == []

    async def test_low_adjusted_confidence_is_rejected(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(certain(0.8), min_confidence=0.9)) as gate:
            with pytest.raises(FactNotGrounded, match=r"adjusted confidence 0\.\d\d is below 0\.9"):
                await gate.remember(TRUE, EVIDENCE)
        assert (len(kept(database)), len(refused(database))) == (0, 1)

    async def test_unknown_citation_is_rejected(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(FakeVerifier())) as gate:
            with pytest.raises(FactNotGrounded, match="S9"):
                await gate.remember("Ada works in London [S9].", EVIDENCE)
        assert refused(database)[0].gap_bits is None

    async def test_unsupported_facts_can_be_stored_as_unverified(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(certain(0.3), reject_unsupported=False)) as gate:
            fact = await gate.remember(FALSE, EVIDENCE)
        found = budget(0.3, 0.05)
        assert fact.status is FactStatus.UNVERIFIED
        assert fact.confidence == pytest.approx(found.observed_bits / found.required_bits)
        assert refused(database) == []

    @pytest.mark.spec("SPEC-08.41", "SPEC-08.18")
    async def test_rejection_is_logged_without_text(
        self, database: Database, engine: Engine, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with MemoryGate(database, engine(certain(0.1))) as gate:
            with caplog.at_level(logging.INFO, "groundwire.memory"), pytest.raises(FactNotGrounded):
                await gate.remember(FALSE, EVIDENCE)
        (line,) = [record for record in caplog.records if record.name == "groundwire.memory"]
        fields = json.loads(line.getMessage())
        assert (fields["event"], fields["outcome"], fields["p1"]) == ("fact", "rejected", 0.1)
        assert fields["gap_bits"] > 2
        assert "Rome" not in line.getMessage()


class Hanging:
    """Blocks its own event loop, which no timeout inside that loop can end."""

    def __init__(self) -> None:
        self.release = threading.Event()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        self.release.wait()  # noqa: ASYNC251, RUF100
        return [Estimate.point(0.99, 0.0, "late") for _ in queries]


class TestUnchecked:
    @pytest.mark.spec("SPEC-08.38", "SPEC-08.42")
    @pytest.mark.parametrize("blocking", [True, False])
    async def test_hanging_backend_times_out(self, database: Database, engine: Engine, blocking: bool) -> None:
        hanging = Hanging()
        made = engine(hanging if blocking else FakeVerifier(hold=asyncio.Event()), timeout=0.2)
        gate = MemoryGate(database, made)
        began = time.monotonic()
        fact = await gate.remember(TRUE, EVIDENCE)
        took = time.monotonic() - began
        hanging.release.set()
        gate.close()
        assert (fact.status, fact.confidence, fact.record) == (FactStatus.UNVERIFIED, 0.475, None)
        assert took < 2
        assert kept(database) == [fact]

    @pytest.mark.spec("SPEC-08.38")
    async def test_slow_evidence_times_out(
        self, database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release = threading.Event()
        made = engine(FakeVerifier(), timeout=0.2)

        async def reads(*_: object, **__: object) -> None:
            release.wait()  # noqa: ASYNC251, RUF100

        monkeypatch.setattr(made, "verify_claim", reads)
        gate = MemoryGate(database, made)
        fact = await gate.remember(TRUE, EVIDENCE)
        release.set()
        gate.close()
        assert fact.status is FactStatus.UNVERIFIED

    @pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
    @pytest.mark.parametrize("error", [BackendDown("gone"), BackendError("no key")])
    async def test_backend_error_stores_the_fact_as_unverified(
        self, database: Database, engine: Engine, error: BackendError
    ) -> None:
        async with MemoryGate(database, engine(failing(error))) as gate:
            fact = await gate.remember(TRUE, EVIDENCE, confidence=0.8)
        assert (fact.status, fact.confidence) == (FactStatus.UNVERIFIED, 0.4)

    @pytest.mark.spec("SPEC-08.43")
    async def test_bug_in_verification_stores_the_fact_as_unverified(
        self, database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = engine(FakeVerifier())

        async def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(made, "verify_claim", broken)
        async with MemoryGate(database, made) as gate:
            assert (await gate.remember(TRUE, EVIDENCE)).status is FactStatus.UNVERIFIED

    async def test_fail_closed_rejects_unchecked_facts(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(failing(BackendDown("gone")), fail_closed=True)) as gate:
            with pytest.raises(FactNotGrounded, match="gone"):
                await gate.remember(TRUE, EVIDENCE)
        assert (kept(database), refused(database)[0].verdict) == ([], "UNCHECKED")

    @pytest.mark.spec("SPEC-08.42")
    async def test_rate_limit_stores_the_fact_as_pending(self, database: Database, engine: Engine) -> None:
        later = failing(RateLimited("come back later", retry_after=40))
        async with MemoryGate(database, engine(later), clock=lambda: 1000.0) as gate:
            fact = await gate.remember(TRUE, EVIDENCE)
            (job,) = gate.queue.jobs()
        assert (fact.status, job.key, job.due) == (FactStatus.PENDING, fact.id, 1040.0)
        assert "come back later" in job.reason

    async def test_pending_fact_and_job_are_one_transaction(
        self, database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with MemoryGate(database, engine(failing(RateLimited("later")))) as gate:

            def full(*_: object, **__: object) -> None:
                raise StoreError("the disk is full")

            monkeypatch.setattr(gate.queue, "enqueue", full)
            with pytest.raises(StoreError):
                await gate.remember(TRUE, EVIDENCE)
        assert kept(database) == []

    async def test_verified_fact_stays_verified(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(FakeVerifier())) as gate:
            await gate.remember(TRUE, EVIDENCE)
        async with MemoryGate(database, engine(failing(RateLimited("later")))) as gate:
            assert (await gate.remember(TRUE, EVIDENCE)).status is FactStatus.VERIFIED
            assert gate.queue.jobs() == []


class TestOff:
    @pytest.mark.spec("SPEC-08.35")
    async def test_disabled_gate_does_not_verify(self, database: Database, engine: Engine) -> None:
        fake = FakeVerifier()
        async with MemoryGate(database, engine(fake, on=False)) as gate:
            fact = await gate.remember(FALSE, EVIDENCE)
        assert (fact.status, fact.confidence, fake.queries) == (FactStatus.ASSERTED, 0.95, 0)

    async def test_verify_argument_overrides_the_configuration(self, database: Database, engine: Engine) -> None:
        async with MemoryGate(database, engine(FakeVerifier(), on=False)) as gate:
            with pytest.raises(FactNotGrounded):
                await gate.remember(FALSE, EVIDENCE, verify=True)


class TestInput:
    @pytest.mark.parametrize(
        ("fact", "evidence", "confidence"),
        [("", EVIDENCE, 0.9), ("  \n", EVIDENCE, 0.9), (TRUE, "", 0.9), (TRUE, [], 0.9), (TRUE, EVIDENCE, 1.5)],
    )
    async def test_invalid_input_is_rejected(
        self, database: Database, engine: Engine, fact: str, evidence: str, confidence: float
    ) -> None:
        async with MemoryGate(database, engine(FakeVerifier())) as gate:
            with pytest.raises(InputError):
                await gate.remember(fact, evidence, confidence=confidence)
        assert (kept(database), refused(database)) == ([], [])

    @pytest.mark.parametrize(
        "text", ["a\x00b is c.", "half \ud800 a character is here.", "🙂" * 5000, "אדה עובדת בלונדון."]
    )
    async def test_arbitrary_text_gives_a_fact_or_a_groundwire_error(
        self, database: Database, engine: Engine, text: str
    ) -> None:
        async with MemoryGate(database, engine(FakeVerifier())) as gate:
            try:
                await gate.remember(text, text)
            except (InputError, FactNotGrounded):
                assert kept(database) == []
            else:
                assert len(kept(database)) == 1


@pytest.mark.parametrize("p0", [0.6, 0.9])
async def test_the_gate_never_keeps_what_the_evidence_denies(database: Database, engine: Engine, p0: float) -> None:
    lenient = {"reject_unsupported": False, "min_confidence": 0.0, "threshold_bits": 99.0}
    async with MemoryGate(database, engine(certain(0.1, p0), **lenient)) as gate:
        with pytest.raises(FactNotGrounded, match="ErrFactNotGrounded"):
            await gate.remember(FALSE, EVIDENCE)
    assert kept(database) == []
