"""Answers are verified on their way to the user: against the conversation, in time or later, never refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from groundwire.agent import EventKind, Orchestrator
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, InputError
from groundwire.llm.fake import ScriptedCall, ScriptedGenerator
from groundwire.streaming.output import VERIFIER, OutputVerifier, conversation, is_wanted
from groundwire.types import Estimate, OutputStatus, Query, Source, Status, Turn
from groundwire.verifiers import backends
from groundwire.verifiers.backends import BackendSpec
from groundwire.verifiers.fake import FakeVerifier

ON = {"hallucination": {"enabled": True, "output_verification": {"enabled": True}}}
SAID = [
    {"role": "user", "content": "The tower is 330 metres tall."},
    {"role": "assistant", "content": "The tower is red."},
    {"role": "tool", "content": "It was finished in 1889."},
]
Open = Callable[..., OutputVerifier]


def engine_with(
    verifier: FakeVerifier | Slow, monkeypatch: pytest.MonkeyPatch, config: Config | None = None
) -> Groundwire:
    monkeypatch.setitem(backends.OPENERS, "fake", lambda _: BackendSpec(verifier, "fake", "fake", 10**6, 0.0))
    return Groundwire(config or Config(), backend="fake")


class Slow:
    """Answers when it is released."""

    def __init__(self) -> None:
        self.release = asyncio.Event()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        await self.release.wait()
        return await FakeVerifier().estimate(queries)


@pytest.fixture
async def outputs() -> AsyncIterator[OutputVerifier]:
    async with Groundwire(Config(), backend="fake") as engine:
        yield OutputVerifier(engine)


@pytest.mark.spec("SPEC-08.19", "SPEC-08.20")
async def test_each_claim_is_verified_against_the_conversation(outputs: OutputVerifier) -> None:
    found = await outputs.verify(
        "The tower is 330 metres tall. It was finished in 1889. It stands in Rome.", history=SAID
    )
    assert found.status is OutputStatus.VERIFIED
    assert found.report is not None
    assert [claim.is_flagged for claim in found.report.claims] == [False, False, True]
    assert (found.flagged, found.flagged_claims) == (True, ("c3",))


@pytest.mark.spec("SPEC-08.20")
async def test_what_the_author_said_before_is_no_evidence_for_it(outputs: OutputVerifier) -> None:
    found = await outputs.verify("The tower is red.", history=SAID)
    assert found.flagged is True


@pytest.mark.spec("SPEC-08.21")
async def test_the_agent_can_be_told_what_to_correct(outputs: OutputVerifier) -> None:
    found = await outputs.verify("The tower is 450 metres tall.", "The tower is 330 metres tall.")
    assert '"The tower is 450 metres tall."' in found.feedback
    assert 'S0 says: "The tower is 330 metres tall."' in found.feedback
    assert (await outputs.verify("The tower is 330 metres tall.", SAID[0]["content"])).feedback == ""


async def test_who_corrects_himself_is_not_flagged_for_it(outputs: OutputVerifier) -> None:
    wrong = {"role": "assistant", "content": "The tower is 450 metres tall."}
    found = await outputs.verify("The tower is 330 metres tall.", history=[*SAID, wrong])
    assert found.report is not None
    assert found.report.flags
    assert (found.flagged, found.feedback) == (False, "")


async def test_long_results_are_dropped_before_they_fill_the_memory(
    outputs: OutputVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.streaming.output.MAX_RESULT_CHARS", 30_000)
    ids = [(await outputs.verify(f"It stands in Rome. {'x' * 9000}", history=SAID)).id for _ in range(4)]
    kept = [await outputs.result(identity) is not None for identity in ids]
    assert (kept[0], kept[-1]) == (False, True)


@pytest.mark.spec("SPEC-08.22")
@pytest.mark.parametrize(("bits", "flagged"), [(0.0, True), (2.0, True), (50.0, False)])
async def test_the_threshold_flags_and_never_refuses(bits: float, flagged: bool) -> None:
    config = Config.model_validate({"hallucination": {"output_verification": {"flag_threshold_bits": bits}}})
    async with Groundwire(config, backend="fake") as engine:
        found = await OutputVerifier(engine).verify("It stands in Rome.", history=SAID)
    assert (found.status, found.flagged) == (OutputStatus.VERIFIED, flagged)


async def test_what_is_too_vague_to_judge_is_no_reproach(outputs: OutputVerifier) -> None:
    found = await outputs.verify("It is blue.", history=SAID)
    assert found.report is not None
    assert [claim.status for claim in found.report.claims] == [Status.UNVERIFIABLE]
    assert (found.flagged, found.feedback) == (False, "")


async def test_a_citation_of_nothing_is_flagged_whatever_the_threshold() -> None:
    config = Config.model_validate({"hallucination": {"output_verification": {"flag_threshold_bits": 99}}})
    async with Groundwire(config, backend="fake") as engine:
        found = await OutputVerifier(engine).verify("The tower is 330 metres tall [S7].", {"S0": "A tower."})
    assert found.flagged is True


@pytest.mark.spec("SPEC-08.39")
async def test_who_will_not_wait_asks_later(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    async with engine_with(slow, monkeypatch) as engine:
        outputs = OutputVerifier(engine)
        pending = await outputs.verify("It stands in Rome.", history=SAID, patience=0.0)
        assert (pending.status, pending.flagged) == (OutputStatus.PENDING, None)
        assert await outputs.result(pending.id) == pending
        slow.release.set()
        found = await outputs.result(pending.id, patience=10)
        assert found is not None
        assert (found.status, found.flagged) == (OutputStatus.VERIFIED, True)
        assert await outputs.result(pending.id) == found
        assert await outputs.result("another") is None


@pytest.mark.spec("SPEC-08.39")
async def test_it_is_left_out_under_load_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeVerifier()
    async with engine_with(fake, monkeypatch) as engine:
        found = await OutputVerifier(engine, is_busy=lambda: True).verify("It is red.", history=SAID)
    assert (found.status, found.flagged) == (OutputStatus.SKIPPED, None)
    assert "busy" in found.reason
    assert not fake.calls


@pytest.mark.spec("SPEC-08.39")
async def test_only_so_many_wait_to_be_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    async with engine_with(slow, monkeypatch) as engine:
        outputs = OutputVerifier(engine, max_pending=2)
        found = [await outputs.verify("It is red.", history=SAID, patience=0.0) for _ in range(3)]
        assert [one.status.value for one in found] == ["pending", "pending", "skipped"]
        slow.release.set()
        await outputs.result(found[0].id, 10)
        await outputs.result(found[1].id, 10)
        assert (await outputs.verify("It is red.", history=SAID)).status is OutputStatus.VERIFIED


@pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
async def test_a_backend_that_fails_leaves_the_answer_unverified(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = FakeVerifier(failing=[BackendDown("it is gone")] * 9)
    async with engine_with(broken, monkeypatch) as engine:
        found = await OutputVerifier(engine).verify("It is red.", history=SAID)
    assert (found.status, found.flagged) == (OutputStatus.SKIPPED, None)
    assert "it is gone" in found.reason


@pytest.mark.parametrize(
    ("response", "history", "reason"),
    [
        (" ", SAID, "nothing to verify"),
        ("Is it red?", SAID, "NOTHING_TO_CHECK"),
        ("It is red.", [], "no context"),
        ("It is red.", SAID[1:2], "no context"),
    ],
)
async def test_what_cannot_be_verified_is_skipped(
    outputs: OutputVerifier, response: str, history: list[dict[str, str]], reason: str
) -> None:
    found = await outputs.verify(response, history=history)
    assert (found.status, found.flagged) == (OutputStatus.SKIPPED, None)
    assert reason in found.reason


async def test_one_claim_that_cannot_be_checked_leaves_the_answer_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(query: Query) -> Estimate:
        return Estimate.failed("timeout: slow") if "red" in query.claim else Estimate.point(0.99, 0.0, "fake")

    async with engine_with(FakeVerifier(judge), monkeypatch) as engine:
        found = await OutputVerifier(engine).verify("It stands in Paris. It is red.", history=SAID)
    assert (found.status, found.flagged) == (OutputStatus.VERIFIED, None)
    assert "1 of 2 claims could not be checked" in found.reason


async def test_too_long_an_answer_is_returned_all_the_same() -> None:
    config = Config.model_validate({"limits": {"max_answer_chars": 10}})
    async with Groundwire(config, backend="fake") as engine:
        found = await OutputVerifier(engine).verify("The tower is red.", history=SAID)
    assert found.status is OutputStatus.SKIPPED
    assert "the limit is 10" in found.reason


async def test_what_is_no_text_is_the_callers_mistake(outputs: OutputVerifier) -> None:
    with pytest.raises(InputError, match="must be a string"):
        await outputs.verify(None, history=SAID)  # type: ignore[arg-type]


async def test_closing_ends_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine_with(Slow(), monkeypatch) as engine:
        outputs = OutputVerifier(engine)
        found = await outputs.verify("It is red.", history=SAID, patience=0.0)
        await outputs.aclose()
        assert await outputs.result(found.id) is None


def test_the_question_is_part_of_the_conversation_once() -> None:
    turns = (Turn(1, "user", "Where is it?"), Turn(2, VERIFIER, "told"))
    assert [source.id for source in conversation([], turns[:1], "Where is it?")] == ["turn 1"]
    assert [source.id for source in conversation([Source("S0", "x")], (), "Where?")] == ["S0", "question"]


@pytest.mark.spec("SPEC-08.02", "SPEC-08.35")
def test_it_is_off_unless_asked_for() -> None:
    assert not is_wanted(Config())
    assert not is_wanted(Config.model_validate({"hallucination": {"output_verification": {"enabled": True}}}))
    assert is_wanted(Config.model_validate(ON))


class TestOrchestrator:
    @pytest.mark.spec("SPEC-08.19", "SPEC-08.22")
    async def test_an_answer_comes_with_its_check(self) -> None:
        async with Groundwire(Config.model_validate(ON), backend="fake") as engine:
            found = await Orchestrator(ScriptedGenerator(["It stands in Rome."]), engine).process(
                "Where is the tower?", {"a": "The tower stands in Paris."}
            )
        assert found.answer == "It stands in Rome."
        assert found.output is not None
        assert found.output.flagged is True
        (event,) = [event for event in found.trajectory if event.kind is EventKind.OUTPUT_CHECK]
        assert event.data["status"] == "verified"

    async def test_without_being_asked_for_nothing_is_verified_twice(self) -> None:
        async with Groundwire(Config(), backend="fake") as engine:
            found = await Orchestrator(ScriptedGenerator(["It stands in Rome."]), engine).process(
                "Where is the tower?", {"a": "The tower stands in Paris."}
            )
            bypassed = await Orchestrator(
                ScriptedGenerator(["It stands in Rome."]), engine, Config.model_validate(ON)
            ).process("Where?", {"a": "The tower stands in Paris."}, verify=False)
        assert (found.output, bypassed.output) == (None, None)

    @pytest.mark.spec("SPEC-08.21")
    async def test_what_a_verifier_said_reaches_the_model_and_is_no_evidence(self) -> None:
        prompts: list[str] = []

        def answer(call: ScriptedCall) -> str:
            prompts.append(call.prompt)
            return "It stands in Rome."

        told = Turn(1, VERIFIER, 'Your last answer says what is not carried: "It stands in Rome."')
        async with Groundwire(Config.model_validate(ON), backend="fake") as engine:
            found = await Orchestrator(ScriptedGenerator(answer), engine).process(
                "Where is it?", {"a": "The tower stands in Paris."}, history=[told]
            )
        assert told.text in prompts[0]
        assert found.output is not None
        assert found.output.flagged is True
