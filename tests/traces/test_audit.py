from __future__ import annotations

from typing import Any

import pytest

from groundwire import Config, Groundwire, Status
from groundwire.errors import BackendDown, InputError
from groundwire.llm import is_chosen, open_generator
from groundwire.llm.fake import ScriptedGenerator
from groundwire.traces.audit import audit_reasoning, audit_trace
from groundwire.types import Derived, Estimate, GapType, Query, TraceAudit
from groundwire.verifiers.fake import FakeVerifier, verbatim

ASKED = "How many r's are in strawberry?"
COUNTED = [
    "The word is spelled s-t-r-a-w-b-e-r-r-y.",
    "The letter r stands at positions 3, 8 and 9.",
    "So there are 3 r's in strawberry.",
]
TOM = "Tom has 3 apples. He buys 2 more and then gives 1 to Ann. How many apples does Tom have?"
APPLES = [
    "Tom starts with 3 apples.",
    "He buys 2 more, so he has 3 + 2 = 5 apples.",
    "He gives 1 to Ann: 5 - 1 = 4.",
    "So Tom has 4 apples.",
]
TOWER = {
    "S0": "The Eiffel Tower was completed in 1889. It is 330 metres tall and stands in Paris.",
    "S1": "Paris is the capital of France. France has 67 million people.",
}


@pytest.fixture(scope="module")
def engine() -> Groundwire:
    return Groundwire(Config(), operation="trace")


def faked(verifier: FakeVerifier) -> Groundwire:
    engine = Groundwire(Config(), backend="fake")
    object.__setattr__(engine.backend, "verifier", verifier)
    return engine


def statuses(audit: TraceAudit) -> list[Status]:
    return [step.status for step in audit.steps]


@pytest.mark.spec("SPEC-08.25", "SPEC-08.26")
@pytest.mark.parametrize("answer", ["2", "There are 2 r's in strawberry.", "Two."])
async def test_counted_right_and_then_stated_wrong_is_caught(engine: Groundwire, answer: str) -> None:
    found = await audit_trace(engine, COUNTED, ASKED, answer=answer)
    assert statuses(found) == [Status.ENTAILED] * 3
    assert (found.post_hoc.outcome, found.flagged) == (Derived.NO, True)
    assert "step3 concludes otherwise" in found.post_hoc.reason


@pytest.mark.spec("SPEC-08.25")
@pytest.mark.parametrize("answer", ["3", "There are three r's.", "Strawberry has 3 r's."])
async def test_counted_right_and_stated_right_passes(engine: Groundwire, answer: str) -> None:
    found = await audit_trace(engine, COUNTED, ASKED, answer=answer)
    assert (found.post_hoc.outcome, found.flagged) == (Derived.YES, False)


@pytest.mark.spec("SPEC-08.24")
async def test_every_status_a_step_can_have(engine: Groundwire) -> None:
    steps = [
        "Let me look at the guide.",
        "The Eiffel Tower is 330 metres tall.",
        "The Eiffel Tower is 999 metres tall.",
        "The Eiffel Tower was painted blue by volunteers in 1999.",
        "It is what it is.",
    ]
    found = await audit_trace(engine, steps, context=TOWER)
    assert statuses(found) == [
        Status.UNVERIFIABLE, Status.ENTAILED, Status.CONTRADICTED, Status.NOT_IN_CONTEXT, Status.UNVERIFIABLE,
    ]  # fmt: skip
    assert [step.verdict.is_flagged for step in found.steps] == [False, False, True, True, False]
    assert found.post_hoc.outcome is Derived.ABSENT


@pytest.mark.spec("SPEC-08.24")
async def test_steps_follow_from_steps_by_calculation(engine: Groundwire) -> None:
    found = await audit_trace(engine, APPLES, TOM, answer="4 apples")
    assert statuses(found) == [Status.ENTAILED] * 4
    assert found.steps[2].premises == ("step2",)
    assert found.flagged is False
    wrong = await audit_trace(engine, [*APPLES[:1], "So he has 3 + 2 = 6 apples."], TOM)
    assert (wrong.steps[1].status, wrong.steps[1].verdict.reason) == (
        Status.CONTRADICTED, "3 + 2 = 5, not 6",
    )  # fmt: skip
    assert (await audit_trace(engine, APPLES, TOM, answer="5")).post_hoc.outcome is Derived.NO


@pytest.mark.spec("SPEC-08.24")
async def test_only_an_entailed_step_is_a_premise() -> None:
    """The fake carries what stands in the context word by word."""

    def carried(query: Query) -> tuple[float, float]:
        follows = "C follows" in query.claim and "Bern is very sunny" in query.context
        return (0.99, 0.0) if query.claim in query.context or follows else (0.01, 0.0)

    steps: list[str | dict[str, object]] = ["Bern is very sunny.", {"claim": "C follows surely.", "cites": ["step1"]}]
    good = await audit_trace(faked(FakeVerifier(carried)), steps, context="We know: Bern is very sunny. It rains.")
    assert statuses(good) == [Status.ENTAILED, Status.ENTAILED]
    assert good.steps[1].premises == ("step1",)
    bad = await audit_trace(faked(FakeVerifier(carried)), steps, context="It rains all day.")
    assert statuses(bad) == [Status.NOT_IN_CONTEXT, Status.NOT_IN_CONTEXT]
    assert bad.steps[1].premises == ()
    assert "rests on step1, which is not entailed" in bad.steps[1].verdict.reason


@pytest.mark.spec("SPEC-16.03")
async def test_phantom_circular_and_self_citations_reach_no_model() -> None:
    fake = FakeVerifier()
    steps = [
        {"claim": "A tower stands there.", "cites": ["S9"]},
        {"claim": "It is tall indeed.", "cites": ["step2"]},
        {"claim": "It is old indeed.", "cites": ["step4"]},
        {"claim": "It is grey indeed.", "cites": ["step3"]},
    ]
    found = await audit_trace(faked(fake), steps, context=TOWER)
    assert fake.calls == []
    assert found.steps[0].verdict.gap_type is GapType.PHANTOM_CITATION
    assert [step.circular for step in found.steps] == [(), ("step2",), ("step4",), ("step3",)]
    assert found.steps[0].verdict.reason == "cites S9, which is neither source nor step"
    assert found.steps[1].verdict.reason == "cites itself"
    assert "step4, which rests on it or comes after it" in found.steps[2].verdict.reason
    assert found.flagged
    verdicts = await audit_reasoning(faked(fake), steps, TOWER)
    assert all(verdict.is_flagged for verdict in verdicts)
    assert verdicts[0].flag_reason == "phantom_citation"


@pytest.mark.spec("SPEC-16.03")
async def test_audit_reasoning_holds_each_step_against_what_it_cites(engine: Groundwire) -> None:
    right, wrong, both = await audit_reasoning(
        engine,
        [
            {"claim": "The Eiffel Tower stands in Paris.", "cites": ["S0"]},
            {"claim": "The Eiffel Tower stands in Paris.", "cites": ["S1"]},
            {"claim": "So the Eiffel Tower is in the capital of France.", "cites": ["step1", "S1"]},
        ],
        TOWER,
    )
    assert (right.status, right.evidence_ids) == (Status.ENTAILED, ["S0"])
    assert wrong.is_flagged
    assert both.status is Status.ENTAILED


@pytest.mark.parametrize(
    ("steps", "against"),
    [
        (["The door is open.", "The door is not open."], ("step1",)),
        (["The invoice total is 40 euros.", "It rains.", "The invoice total is 45 euros."], ("step1",)),
        (["The function returns null.", "The function never returns null."], ("step1",)),
        (["The order costs 20 euros.", "Shipping costs 5 euros."], ()),
        (["Anna bought 3 apples.", "Ben bought 4 apples."], ()),
        (["The count is 1 so far.", "The count is 2 so far.", "The count is 3 so far."], ()),
        (["Tom had 3 apples before.", "Tom has 4 apples now."], ()),
        (["The file has 10 lines.", "The file has 200 words."], ()),
    ],
)
async def test_steps_that_exclude_each_other(engine: Groundwire, steps: list[str], against: tuple[str, ...]) -> None:
    found = await audit_trace(engine, steps)
    assert found.steps[-1].contradicts == against
    assert found.flagged is bool(against)


async def test_without_a_context_nothing_is_held_against_a_step(engine: Groundwire) -> None:
    found = await audit_trace(engine, ["The release ships on Friday."])
    assert (statuses(found), found.flagged) == ([Status.NOT_IN_CONTEXT], False)
    assert found.steps[0].verdict.reason == "nothing was given to check it against"


@pytest.mark.spec("SPEC-08.26")
async def test_the_executor_sees_the_question_and_the_steps_and_never_the_answer(engine: Groundwire) -> None:
    model = ScriptedGenerator(["There are three."])
    found = await audit_trace(engine, COUNTED, ASKED, answer="zweiundvierzig", generator=model)
    (call,) = model.calls
    assert ASKED in call.prompt
    assert all(step in call.prompt for step in COUNTED)
    assert "zweiundvierzig" not in call.prompt
    assert (found.post_hoc.executor, found.post_hoc.derived_answer) == ("scripted", "There are three.")


@pytest.mark.spec("SPEC-08.25", "SPEC-08.26")
@pytest.mark.parametrize(
    ("derived", "answer", "outcome"),
    [
        ("There are three.", "3", Derived.YES),
        ("There are three.", "2", Derived.NO),
        ("UNKNOWN", "3", Derived.NO),
        ("  ", "3", Derived.NO),
    ],
)
async def test_answers_are_compared_by_meaning(engine: Groundwire, derived: str, answer: str, outcome: Derived) -> None:
    found = await audit_trace(engine, COUNTED, ASKED, answer=answer, generator=ScriptedGenerator([derived]))
    assert found.post_hoc.outcome is outcome


async def test_an_executor_that_fails_gives_way_to_the_verifier_and_it_is_said(engine: Groundwire) -> None:
    model = ScriptedGenerator([BackendDown("gone")])
    found = await audit_trace(engine, COUNTED, ASKED, answer="2", generator=model)
    assert found.post_hoc.outcome is Derived.NO
    assert "the verifier 'local'" in found.post_hoc.executor
    assert "scripted could not be asked: gone" in found.post_hoc.reason


@pytest.mark.spec("SPEC-08.26")
async def test_without_a_model_the_verifier_derives_and_says_so(engine: Groundwire) -> None:
    steps = ["The Eiffel Tower stands in Paris.", "Paris is the capital of France."]
    for answer, outcome in (
        ("The Eiffel Tower stands in the capital of France.", Derived.YES),
        ("In Rome.", Derived.NO),
    ):
        found = await audit_trace(engine, steps, "Where is the Eiffel Tower?", TOWER, answer)
        assert found.post_hoc.outcome is outcome
        assert found.post_hoc.executor == "the verifier 'local' (no language model)"


@pytest.mark.spec("SPEC-08.23")
async def test_the_post_hoc_check_can_be_switched_off() -> None:
    off = {"hallucination": {"trace_auditing": {"check_post_hoc": False}}}
    engine = Groundwire(Config.model_validate(off))
    found = await audit_trace(engine, COUNTED, ASKED, answer="2")
    assert (found.post_hoc.outcome, found.flagged) == (Derived.UNCHECKED, False)
    assert found.post_hoc.reason == "trace_auditing.check_post_hoc is off"


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ({}, False),
        ({"openai": {"api_key": "sk-x"}}, False),
        ({"generator": {"provider": "openai"}}, False),
        ({"generator": {"provider": "openai"}, "openai": {"api_key": "sk-x"}}, True),
        ({"generator": {"model": "m"}, "openai": {"base_url": "http://127.0.0.1:1/v1"}}, True),
        ({"generator": {"provider": "anthropic"}}, False),
        ({"generator": {"provider": "llm"}}, True),
    ],
)
def test_a_model_is_asked_only_where_somebody_chose_one(config: dict[str, Any], chosen: bool) -> None:
    assert is_chosen(Config.model_validate(config)) is chosen


async def test_what_could_not_be_checked_is_not_fine() -> None:
    fake = FakeVerifier(lambda _: Estimate.failed("timeout"))
    found = await audit_trace(faked(fake), ["The tower is tall today."], "How tall?", TOWER, "very tall indeed it is")
    assert statuses(found) == [Status.UNCHECKED]
    assert found.flagged is None
    assert found.error is not None
    assert found.post_hoc.outcome is Derived.UNCHECKED


@pytest.mark.spec("SPEC-08.29")
async def test_a_long_trace_costs_a_bounded_number_of_queries() -> None:
    steps = [f"Part {n} of the engine weighs {n} kg and was made by team {n % 7}." for n in range(200)]
    fake = FakeVerifier(lambda _: (0.99, 0.0))
    await audit_trace(faked(fake), steps, context=TOWER)
    assert fake.queries <= 2 * 200 + 400
    chain = [{"claim": "The first one holds."}] + [
        {"claim": f"So number {n} holds as well.", "cites": [f"step{n}"]} for n in range(1, 200)
    ]
    slow = FakeVerifier(lambda query: (0.99, 0.0) if "first" in query.claim else (0.01, 0.0))
    await audit_trace(faked(slow), chain, context=TOWER)
    assert slow.queries <= 4 * 200 + 400


async def test_too_many_steps_are_refused() -> None:
    engine = Groundwire(Config.model_validate({"limits": {"max_claims": 5}}), backend="fake")
    with pytest.raises(InputError, match="the trace has 6 steps"):
        await audit_trace(engine, ["It is so."] * 6)


@pytest.mark.spec("SPEC-16.04")
async def test_with_a_model_the_dependence_on_evidence_is_sampled(engine: Groundwire) -> None:
    model = ScriptedGenerator(lambda call: "330 m" if "<context>" in call.messages[1].content else "300 m")
    asked = ("How tall is the tower?", "It is 330 m tall.", "The tower is 330 m tall.")
    assert await engine.evidence_dependence(*asked, generator=model, samples=4) == 1.0
    assert sum(call.n for call in model.calls) == 8
    full = await engine.sampled_dependence(model, *asked, samples=40)
    few = await engine.sampled_dependence(model, *asked, samples=4)
    assert full.high - full.low < few.high - few.low


@pytest.mark.llm
@pytest.mark.spec("SPEC-08.26", "SPEC-16.10")
async def test_a_real_model_derives_the_answer_from_the_steps(engine: Groundwire, smollm: str) -> None:
    model = open_generator(Config.model_validate({"openai": {"base_url": smollm}}), "openai", "smollm")
    try:
        wrong = await audit_trace(engine, COUNTED, ASKED, answer="2", generator=model)
        right = await audit_trace(engine, COUNTED, ASKED, answer="3", generator=model)
    finally:
        await model.aclose()
    assert (wrong.post_hoc.outcome, right.post_hoc.outcome) == (Derived.NO, Derived.YES)
    assert "3" in right.post_hoc.derived_answer


SHOP = "Lena buys 6 pencils at 2 euros each and pays with a 20 euro note. How much change does she get?"


@pytest.mark.parametrize(
    ("question", "steps", "answer"),
    [
        (SHOP, ["The pencils cost 6 * 2 = 12 euros.", "Her change is 20 - 12 = 8 euros."], "8 euros"),
        ("How many minutes are 2.5 hours?", ["One hour has 60 minutes.", "2.5 * 60 = 150."], "150 minutes"),
        ("How many days do three weeks have?", ["Three weeks have 21 days."], "twenty-one"),
        ("How many a are in banana?", ["It is spelled b-a-n-a-n-a.", "The letter a occurs 3 times."], "3"),
        (
            "A coat costs 80 dollars and is 25% off. What is the sale price?",
            ["25% of 80 is 20.", "80 minus 20 equals 60.", "The sale price is 60 dollars."],
            "$60",
        ),
        ("Which item costs 3 euros?", [f"Item {n} costs {n} euros." for n in range(1, 6)], "Item 3"),
        ("Which rooms are free?", ["Room 4 is free.", "Room 5 is free."], "Rooms 4 and 5 are free."),
        ("Who is the oldest?", ["I need to compare them.", "So Maria is the oldest."], "Maria"),
    ],
)
async def test_plain_reasoning_is_left_alone(engine: Groundwire, question: str, steps: list[str], answer: str) -> None:
    found = await audit_trace(engine, steps, question, answer=answer)
    assert found.flagged is False, [(s.status, s.verdict.reason) for s in found.steps] + [found.post_hoc]


@pytest.mark.parametrize(
    ("question", "steps", "answer"),
    [
        (SHOP, ["The pencils cost 6 * 2 = 12 euros.", "Her change is 20 - 12 = 7 euros."], "7 euros"),
        (SHOP, ["The pencils cost 6 * 2 = 12 euros, so she pays 15 euros."], ""),
        ("Who is the oldest?", ["John is older than Eva.", "So Maria is the oldest."], "John"),
        ("How many days do three weeks have?", ["Three weeks have 24 days."], "24"),
    ],
)
async def test_plain_mistakes_are_caught(engine: Groundwire, question: str, steps: list[str], answer: str) -> None:
    assert (await audit_trace(engine, steps, question, answer=answer)).flagged


async def test_what_a_tool_returned_is_part_of_the_way(engine: Groundwire) -> None:
    said = "Let me call lookup with {}\nIt returned: Paris is the capital of France [7], see step 4. 2 + 2 = 5"
    sources = {"lookup": "Paris is the capital of France."}
    ask = "What is the capital of France?"
    right = await audit_trace(engine, [said], ask, sources, "The capital of France is Paris.")
    wrong = await audit_trace(engine, [said], ask, sources, "Lyon")
    assert (right.steps[0].status, right.flagged) == (Status.UNVERIFIABLE, False)
    assert wrong.post_hoc.outcome is Derived.NO


CITIES = {"d": "Berlin has 3.7 million inhabitants. Hamburg has 1.9 million inhabitants."}
SMALLER = [
    "Berlin has 3.7 million inhabitants.",
    "Hamburg has 1.9 million inhabitants.",
    "So Berlin is larger than Hamburg.",
]


async def test_a_conclusion_from_steps_that_stand_is_not_blamed_for_its_words(engine: Groundwire) -> None:
    found = await audit_trace(engine, SMALLER, "Which city is larger?", CITIES, "Berlin")
    assert found.flagged is False
    assert found.post_hoc.outcome is Derived.YES


@pytest.mark.parametrize("conclusion", ["So Hamburg has 4 million inhabitants.", "So Berlin has 9 districts."])
async def test_a_conclusion_that_brings_something_new_is(engine: Groundwire, conclusion: str) -> None:
    found = await audit_trace(engine, [*SMALLER[:2], conclusion], "Which city is larger?", CITIES)
    assert found.flagged is True


async def test_what_is_outdone_is_not_the_answer(engine: Groundwire) -> None:
    found = await audit_trace(engine, SMALLER, "Which city is larger?", CITIES, "Hamburg")
    assert found.post_hoc.outcome is Derived.NO
    other = await audit_trace(engine, SMALLER, "Which city is smaller?", CITIES, "Hamburg")
    assert other.post_hoc.outcome is not Derived.NO


async def test_what_is_given_is_context_for_later_steps() -> None:
    found = await audit_trace(faked(FakeVerifier()), ["Given: the box has 5 balls.", "So the box has 5 balls."])
    assert statuses(found) == [Status.ENTAILED, Status.ENTAILED]


@pytest.mark.parametrize(
    "plan", ["Let's convert the length.", "Plan: we need to add the two.", "Our goal is to find the total."]
)
async def test_a_plan_is_no_claim(plan: str) -> None:
    found = await audit_trace(faked(FakeVerifier()), [plan], context="The box has 5 balls.")
    assert (statuses(found), found.flagged) == ([Status.UNVERIFIABLE], False)
    assert found.steps[0].words == "no claim"


async def test_a_step_that_contradicts_another_is_called_contradicted() -> None:
    denies = FakeVerifier(lambda query: (0.02, 0.95) if query.claim != query.context else (0.98, 0.0))
    found = (await audit_trace(faked(denies), ["The lamp is red.", "So the lamp is not red."])).steps[1]
    assert (found.words, found.verdict.is_flagged) == ("contradicted", True)
    assert found.verdict.reason == "contradicts step1"


async def test_a_contradiction_is_found_behind_a_lead_in() -> None:
    denies = FakeVerifier(lambda query: (0.02, 0.95) if query.claim != query.context else (0.98, 0.0))
    steps = ["The lamp is red.", "Therefore: the lamp is not red."]
    assert (await audit_trace(faked(denies), steps)).steps[1].contradicts == ("step1",)
    changed = ["Tom has 3 apples.", "He buys 2 more.", "So Tom has 5 apples."]
    assert (await audit_trace(faked(denies), changed)).steps[2].contradicts == ()


async def test_no_answer_follows_from_broken_steps() -> None:
    steps = ["4 × 12 = 46.", "So there are 46 bottles."]
    found = await audit_trace(faked(FakeVerifier()), steps, "How many bottles are there?", answer="46")
    assert found.post_hoc.outcome is Derived.NO
    assert "step1" in found.post_hoc.reason


async def test_a_conclusion_no_calculation_yields_is_flagged() -> None:
    context = "A crate holds 12 bottles. There are 4 crates."
    right, wrong = "So there are 48 bottles.", "So there are 46 bottles."
    engine = faked(FakeVerifier())
    told = ["Each crate holds 12 bottles.", "There are 4 crates."]
    assert not (await audit_trace(engine, [*told, right], context=context)).steps[2].verdict.is_flagged
    assert (await audit_trace(engine, [*told, wrong], context=context)).steps[2].verdict.is_flagged


UNRELATED = [
    (
        "How many chairs are in the hall?",
        [
            "The hall has 12 rows of 8 chairs, 12 x 8 = 96.",
            "The hall was restored in 1950 for a total of 3 million pounds.",
        ],
        "96",
    ),
    ("How many chairs are in the hall?", ["12 rows of 8 chairs: 12 x 8 = 96.", "The hall has 4 windows in all."], "96"),
    (
        "How long is the wall?",
        ["6 parts of 15 metres: 6 x 15 = 90 metres.", "The wall is 2 metres high, so a ladder is needed."],
        "90 metres",
    ),
    (
        "How much does the trip cost?",
        ["Two tickets cost 2 x 15 = 30 euros.", "The trip takes 4 hours, so we are back at 18:00."],
        "30 euros",
    ),
    ("How old is Mia?", ["Mia is twice as old as Tom: 2 x 12 = 24.", "So together they are 36 years old."], "24"),
    ("What is x?", ["2x = 14", "x = 7", "Therefore y = 3"], "7"),
    ("Can Leo vote?", ["Voting requires 18 years.", "So Leo cannot vote.", "His sister is 20, so she can vote."], "No"),
    (
        "On which day does the course end?",
        ["The course ends on 13 March 2025.", "Hence the exam is on 20 March 2025."],
        "13 March 2025",
    ),
]


@pytest.mark.parametrize(("question", "steps", "answer"), UNRELATED)
async def test_an_answer_is_not_held_against_a_last_step_about_something_else(
    question: str, steps: list[str], answer: str
) -> None:
    found = await audit_trace(faked(FakeVerifier()), steps, question, answer=answer)
    assert found.post_hoc.reason.endswith(" says so")


REVISED = [
    (
        "How many chairs are in the hall?",
        ["12 rows of 8 chairs: 12 x 8 = 96.", "The last row lacks 6 chairs: 96 - 6 = 90."],
        "96",
    ),
    (
        "How much does the trip cost?",
        ["Two tickets cost 2 x 15 = 30 euros.", "Parking adds 5 euros, so 30 + 5 = 35 euros."],
        "30 euros",
    ),
    ("What is the capital of Atland?", ["The capital of Atland is Norby.", "So the answer is Velsund."], "Norby"),
    ("Which team won the cup?", ["So Harlow won the cup.", "Linden therefore lost the cup."], "Linden"),
]


@pytest.mark.parametrize(("question", "steps", "answer"), REVISED)
async def test_an_answer_that_a_later_step_revises_does_not_follow(
    question: str, steps: list[str], answer: str
) -> None:
    found = await audit_trace(faked(FakeVerifier()), steps, question, answer=answer)
    assert found.post_hoc.outcome is Derived.NO
    assert "concludes otherwise" in found.post_hoc.reason


async def test_a_step_that_names_the_answer_in_another_role_does_not_state_it() -> None:
    steps = ["Thomas Telford designed the bridge.", "Amos Pratt collected the tolls on the bridge."]
    found = await audit_trace(faked(FakeVerifier()), steps, "Who designed the bridge?", answer="Amos Pratt")
    assert not found.post_hoc.reason.endswith(" says so")


async def test_a_step_that_contradicts_another_is_found_behind_lead_ins(engine: Groundwire) -> None:
    found = await audit_trace(engine, ["First, the shop is open on Monday.", "So the shop is closed on Monday."])
    assert [step.contradicts for step in found.steps] == [(), ("step1",)]


async def test_without_a_question_the_last_step_with_the_answers_number_states_it(engine: Groundwire) -> None:
    steps = ["Given: 12 boxes with 6 eggs each.", "So there are 72 eggs.", "If 5 are broken, 67 are left."]
    found = await audit_trace(engine, steps, answer="67")
    assert (found.post_hoc.outcome, found.post_hoc.reason) == (Derived.YES, "step3 says so")


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (["A ticket costs 14 euros.", "6 * 14 = 94.", "So six tickets cost 94 euros."], "rests on a wrong calculation"),
        (["The load weighs 3.5 kg.", "3.5 kg is 350 g.", "The load is 350 g."], "rests on a wrong calculation"),
        (["It costs 250 dollars.", "8 % of 250 is 25.", "So the total is 275 dollars."], "no calculation"),
    ],
)
async def test_a_step_after_a_wrong_calculation_is_flagged_for_using_its_result(
    engine: Groundwire, steps: list[str], reason: str
) -> None:
    found = await audit_trace(engine, steps, "How much is it?")
    assert [step.verdict.is_flagged for step in found.steps] == [False, True, True]
    assert reason in found.steps[2].verdict.reason


async def test_the_right_result_after_a_wrong_calculation_is_not_flagged(engine: Groundwire) -> None:
    steps = ["A ticket costs 14 euros.", "6 * 14 = 94.", "So six tickets cost 84 euros."]
    found = await audit_trace(engine, steps, "How much is it?")
    assert [step.verdict.is_flagged for step in found.steps] == [False, True, False]


async def test_a_conclusion_that_repeats_a_computed_date_is_not_flagged() -> None:
    denies = faked(FakeVerifier(lambda query: (0.1, 0.8) if "due by" in query.claim else verbatim(query)))
    steps = [
        "The invoice is dated 20 March 2024.",
        "30 days after 20 March 2024 is 19 April 2024.",
        "Therefore the invoice is due by 19 April 2024.",
    ]
    source = "The invoice is dated 20 March 2024. Payment is due within 30 days."
    found = await audit_trace(denies, steps, "When is it due?", source)
    assert [step.verdict.is_flagged for step in found.steps] == [False] * 3
    steps[2] = "Therefore the invoice is due by 20 March 2024."
    found = await audit_trace(denies, steps, "When is it due?", source)
    assert found.steps[2].verdict.is_flagged


async def test_a_right_calculation_without_a_context_says_that_it_is_right(engine: Groundwire) -> None:
    found = await audit_trace(engine, ["A loaf costs 3.20 euros.", "Seven loaves cost 7 * 3.20 = 22.40 euros."])
    assert found.steps[1].verdict.reason.startswith("the calculation is right: 7 * 3.20 = 22.4, but nothing was given")
