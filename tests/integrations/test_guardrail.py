"""Decisions on answers, whole and growing, and the evidence that waits for its answer."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendTimeout, InputError
from groundwire.integrations.guardrail import AnswerGuard, CallEvidence, GuardDecision, GuardSettings
from groundwire.proxy.evidence import RequestEvidence
from groundwire.types import Estimate, Query, Source
from groundwire.verifiers.fake import Answer, FakeVerifier, verbatim

SOURCE = "The tower is 330 metres tall. It stands in Paris."
GOOD, WRONG = "The tower is 330 metres tall.", "The tower is 999 metres tall."
EVIDENCE = RequestEvidence((Source("S0", SOURCE),), question="How tall is it?")


def scripted(query: Query) -> Answer:
    """Contradict 999 where the sources speak of the tower, support what they say, and nothing else."""
    if "999" in query.claim and "330" in query.context:
        return Estimate.point(0.01, 0.98, "fake", reason="evidence says 330 metres")
    return verbatim(query)


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> FakeVerifier:
    made = FakeVerifier(scripted)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: made)
    return made


def decide(text: str, settings: GuardSettings, evidence: RequestEvidence = EVIDENCE) -> GuardDecision:
    return asyncio.run(AnswerGuard(Groundwire(backend="fake"), evidence, settings).decide(text))


@pytest.mark.usefixtures("verifier")
def test_each_mode_does_what_it_says() -> None:
    answer = f"{GOOD} {WRONG}"
    observed = decide(answer, GuardSettings("observe"))
    assert (observed.text, observed.blocked) == (answer, "")
    assert observed.report is not None
    assert observed.report.flagged is True
    annotated = decide(answer, GuardSettings("annotate"))
    assert annotated.text.startswith(answer)
    assert "999 metres" in annotated.text[len(answer) :]
    blocked = decide(answer, GuardSettings("block"))
    assert (blocked.text, "contradicts the sources" in blocked.blocked) == ("", True)
    for mode in ("annotate", "block"):
        assert decide(GOOD, GuardSettings(mode)).text == GOOD


@pytest.mark.usefixtures("verifier")
def test_what_no_source_mentions_blocks_only_if_wanted() -> None:
    answer = f"{GOOD} It weighs nothing."
    assert decide(answer, GuardSettings("block")).text == answer
    blocked = decide(answer, GuardSettings("block", block_on="flagged")).blocked
    assert "“It weighs nothing.” is not supported" in blocked


@pytest.mark.parametrize("complete", [False, None])
def test_a_stream_sends_only_what_is_verified(complete: bool | None, verifier: FakeVerifier) -> None:
    async def stream(answer: str) -> tuple[str, str]:
        """What a gateway has sent when the stream ends or is blocked, and the reason."""
        guard, sent = AnswerGuard(Groundwire(backend="fake"), EVIDENCE, GuardSettings("block")), ""
        for end in range(1, len(answer) + 1):
            found = await guard.decide(answer[:end], complete=complete)
            if found.blocked:
                return sent, found.blocked
            ready = found.text[: len(found.text) - found.holdback]
            assert ready.startswith(sent), "a stream cannot take back what it sent"
            sent = ready
        found = await guard.decide(answer, complete=True if complete is False else None)
        return (sent, found.blocked) if found.blocked else (found.text, "")

    sent, reason = asyncio.run(stream(f"{GOOD} It stands in Paris. {WRONG} More."))
    assert sent.strip() in (f"{GOOD} It stands in Paris.", GOOD)
    assert "contradicts the sources" in reason
    assert asyncio.run(stream(f"{GOOD} It stands in Paris"))[0] == f"{GOOD} It stands in Paris"
    unfinished, _ = asyncio.run(stream(f"{GOOD} The tower is 999 metres tall"))
    assert "999 metres tall" not in unfinished.split("[groundwire")[0]
    assert verifier.queries < 400, "claims that were judged are asked for again"


def test_a_sentence_that_is_being_written_does_not_clear_a_finished_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The risk of an answer falls with the number of its claims: here below the threshold with the third."""
    doubtful = FakeVerifier({"999": (0.2, 0.6), "330": (0.99, 0.0), "Paris": (0.99, 0.0)})
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: doubtful)
    engine = Groundwire(Config.load(overrides={"risk_threshold": 0.55}), backend="fake")
    guard = AnswerGuard(engine, EVIDENCE, GuardSettings("block"))
    answer = f"{GOOD} {WRONG} It stands in Paris and"
    for complete in (False, None):
        assert "contradicts the sources" in asyncio.run(guard.decide(answer, complete=complete)).blocked


def test_an_answer_that_could_not_be_checked_passes_or_not_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 99)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
    assert decide(GOOD, GuardSettings("block")).blocked == ""
    strict = GuardSettings("block", on_unchecked="block")
    assert "too slow" in decide(GOOD, strict).blocked
    assert "no sources" in decide(GOOD, strict, RequestEvidence()).blocked


def test_unknown_settings_are_named() -> None:
    with pytest.raises(InputError, match="mode must be one of observe, annotate, block, got 'fix'"):
        GuardSettings.parse({"mode": "fix", "other": 1}, GuardSettings())


def test_evidence_waits_for_its_answer_and_is_dropped_when_old_or_too_much() -> None:
    now = [0.0]
    store = CallEvidence(ttl=10, max_chars=400, clock=lambda: now[0])
    store.put("a", EVIDENCE)
    assert (store.get("a"), store.get("b")) == (EVIDENCE, None)
    store.put("b", EVIDENCE)
    store.put("c", EVIDENCE)
    assert (store.get("a"), store.get("c")) == (None, EVIDENCE)
    now[0] = 11
    assert store.get("c") is None


class SharedMemory:
    """Redis as far as two replicas need it here."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    def get(self, keys: list[str], ttl: float) -> dict[str, str]:
        return {key: self.entries[key] for key in keys if key in self.entries}

    def put(self, entries: dict[str, str], ttl: float) -> None:
        self.entries |= entries


def test_replicas_share_evidence_through_redis() -> None:
    shared = SharedMemory()
    CallEvidence(shared).put("a", EVIDENCE)  # type: ignore[arg-type]
    assert CallEvidence(shared).get("a") == EVIDENCE  # type: ignore[arg-type]


def test_calls_are_kept_and_dropped_by_many_threads_at_once() -> None:
    store = CallEvidence(max_chars=600)
    evidence = [RequestEvidence((Source("S0", "x" * size),)) for size in range(1, 60)]

    def put(thread: int) -> None:
        for number, one in enumerate(evidence):
            store.put(f"{thread % 2} {number}", one)
            store.get(f"0 {number}")

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(put, range(8)))
    finally:
        sys.setswitchinterval(usual)
    assert store._chars == sum(size for _, size, _ in store._calls.values()) <= 600
