"""Claims decided by the rules that the evidence states; and where nothing may be said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.structure import pieces
from groundwire.types import Query
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.logic.conditions import ANYONE, EVERYONE, Implication, Literal
from groundwire.verifiers.logic.prover import conclusions, follows
from groundwire.verifiers.rules import RULES as TABLE
from groundwire.verifiers.rules import RuleResult, RuleVerifier, detect

ALARM = "If the alarm is armed, the door is locked."


def ruling(claim: str, evidence: str) -> RuleResult | None:
    return follows(claim, [piece.text for piece in pieces(evidence)])


CASES = [
    ("supported", "The door is locked.", f"{ALARM} The alarm is armed."),
    ("contradicted", "The door is not locked.", f"{ALARM} The alarm is armed."),
    ("contradicted", "The alarm is armed.", f"{ALARM} The door is not locked."),
    ("open", "The alarm is armed.", f"{ALARM} The door is locked."),
    ("open", "The door is locked.", f"{ALARM} The alarm is not armed."),
    ("contradicted", "The door is locked.", "The door is locked if and only if the alarm is armed. The alarm isn't armed."),
    ("supported", "Ana gets a discount.", "All members get a discount. Ana is a member."),
    ("supported", "Ana gets a discount.", "All members get a discount. Ana is a long-time member."),
    ("open", "Ana gets a discount.", "All members get a discount. Ana is a guest."),
    ("contradicted", "Ana does not get a discount.", "Every member gets a discount. Ana is a member."),
    ("contradicted", "Ana gets a discount.", "Only members get a discount. Ana is not a member."),
    ("contradicted", "Ana gets a discount.", "No guest gets a discount. Ana is a guest."),
    ("supported", "Ana can vote.", "Everyone who is a citizen can vote. Ana is a citizen."),
    ("supported", "Ana pays a fee.", "Anyone who has a car pays a fee. Ana has a car."),
    ("supported", "Ana must have a licence.", "Every driver must have a licence. Ana is a driver."),
    ("supported", "The pump is running.", "The pump is running unless the valve is shut. The valve is not shut."),
    ("supported", "Moby is an animal.", "Whales are mammals. A mammal is an animal. Moby is a whale."),
    ("supported", "The siren sounds.", "If a pump is broken, the siren sounds. The red pump is broken."),
    ("supported", "The red pump needs oil.", "All pumps need oil. The red pump is old."),
    ("supported", "Ana is happy.", "Ana is in Paris or in Rome. Ana is not in Paris. If Ana is in Rome, she is happy."),
    ("open", "The bus leaves.", "If everyone is ready, the bus leaves. Ana is ready. Bo is ready."),
    ("supported", "The bus leaves.", "If everyone is ready, the bus leaves. Everyone is ready."),
    ("supported", "Ana is ready.", "If everyone is ready, the bus leaves. Everyone is ready."),
    ("open", "Ana gets a discount.", "All members get a discount. Bo is a member."),
    ("supported", "The lamp is on.", "The lamp is on whenever the switch is up. The switch is up."),
    ("supported", "Copper conducts electricity.", "Metals conduct electricity. Copper is a metal."),
    ("contradicted", "Rex is a cat.", "No dogs are cats. Rex is a dog."),
    ("contradicted", "The shop is open.", "The shop is open only if the manager is present. The manager is not present."),
    ("open", "The shop is open.", "The shop is open only if the manager is present. The manager is present."),
    ("supported", "Ana is eligible.", "Someone is eligible if he is a resident and has a permit. "
     "Ana is a resident and has a permit."),
    ("supported", "The server restarts.", "If the disk is full or the memory is full, the server restarts. "
     "The memory is full."),
    ("supported", "Ana gets a refund.", "If a customer has a receipt, the customer gets a refund. Ana is a customer. "
     "Ana has a receipt."),
    ("supported", "Ana is rich and tall.", "If someone is kind, they are rich. Ana is kind. Ana is tall."),
    ("contradicted", "Ana is rich and tall.", "If someone is kind, they are rich. Ana is kind. Ana is not tall."),
    ("open", "Ana is rich.", "If someone is kind, he is rich. Kind people are not rich. Ana is kind."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "claim", "evidence"),
    [
        *CASES,
        (
            "supported",
            "The lamp is on.",
            "If the alarm is neither armed nor broken, the lamp is on. The alarm is not armed. The alarm is not broken.",
        ),
        (
            "contradicted",
            "The door is open.",
            "Someone who is late is neither calm nor ready. If the alarm is armed, the door is neither open nor broken. The alarm is armed.",
        ),
    ],
)
def test_what_follows(label: str, claim: str, evidence: str) -> None:
    found = ruling(claim, evidence)
    assert found is not None
    assert found.label == label


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The door is locked.", "The alarm is armed. The door is locked."),
        ("The door is not locked.", "The alarm is armed. The door is locked."),
        ("The door is locked.", f"{ALARM} The alarm is usually armed."),
        ("The door is locked.", f"{ALARM} It was armed at noon. The lamp is on."),
        ("The door is locked.", f"{ALARM} The alarm is armed. The door was not locked on Monday."),
        ("The door is locked.", f"{ALARM} The alarm is off. The door is locked by Ana."),
        ("The front door is locked.", f"{ALARM} The alarm is off. The front door is old."),
        ("The window is locked.", f"{ALARM} The alarm is armed. Some sheds are made of wood."),
        ("The door is green.", f"{ALARM} The alarm is armed."),
        ("The door is locked.", f"[S0] {ALARM}\n…\nThe alarm is off."),
        ("Perhaps the door is locked.", f"{ALARM} The alarm is armed."),
        ("Ana gets a discount.", "All members get a discount. Ana is a former member."),
        ("Ana gets a discount.", "All members get a discount. Ana is a member. But Ana lost her discount."),
        ("Ana gets tea.", "All members get tea. Ana is a member. Members who came late do not get tea."),
        ("The pump is running.", "Unless the valve is shut, the pump is running. The valve is shut."),
        ("Tom can vote.", "Members can vote unless they are suspended. Tom is a member. Tom is not suspended."),
        ("The phone is covered.", "The phone is covered if it is new. Phones are not covered if they are stolen. "
         "The phone is new. The phone is stolen."),
        ("The discount ticket is refundable.", "Tickets are refundable. Discount tickets are not refundable."),
        ("Ana gets a bonus.", "All employees get a bonus. Interns do not get a bonus. Ana is an intern. "
         "Ana is an employee."),
        ("Ana can drive.", "Adults can drive. Drunk people cannot drive. Ana is an adult."),
        ("Ana is eligible.", "Ana is eligible if she is over 18. Ana is 30."),
        ("The shop is open.", "If the light is on, the shop is open. The light is off."),
        ("The gate is locked.", "If the gate is locked, the guard is inside. The guard is outside."),
        ("Ana gets a gift.", "Only members get a gift. Ana is a non-member."),
        ("The card is valid.", "The card is valid if the seal is intact. The card is void if the chip is dead. "
         "The seal is intact. The chip is dead."),
        ("The door is locked.", f"{ALARM} The alarm is armed. This does not apply to old houses."),
        ("The door is locked.", f"{ALARM} The alarm is armed. Exceptions apply."),
        ("The door is locked.", f"{ALARM} The alarm is armed. The above does not hold for minors."),
        ("The door is locked.", f"{ALARM} The alarm is armed. Old houses are excluded from all this."),
        ("Ana gets a gift.", "Only adults get a gift. Ana is a child."),
        ("The door is locked.", f"{ALARM} The alarm is armed. But not on Sundays."),
        ("Ana gets a gift.", "All members get a gift. Ana is a member of the band."),
        ("Ana is smart.", "Most people are smart. If someone is smart, he is rich. Ana is tall."),
    ],
)  # fmt: skip
def test_where_not_all_that_matters_was_understood_nothing_is_said(claim: str, evidence: str) -> None:
    assert ruling(claim, evidence) is None


def test_reasons_name_what_was_used_in_one_line() -> None:
    armed = f"{ALARM} The alarm is armed."
    used = "“If the alarm is armed, the door is locked” and “The alarm is armed”"
    assert detect(TABLE[0], Query("The door is locked.", armed)) == RuleResult("supported", f"{used} make it so")
    denied = detect(TABLE[0], Query("The door is not locked.", armed))
    assert denied == RuleResult("contradicted", f"{used} rule it out")
    told_twice = ruling("The door is locked.", f"{armed} The door is not locked.")
    assert told_twice is not None
    assert told_twice.reason == (
        f"the evidence contradicts itself: {used} make it so, “The door is not locked” rules it out"
    )
    chain = " ".join(f"If the lamp is p{n}, the lamp is p{n + 1}." for n in range(9)) + " The lamp is p0."
    last = ruling("The lamp is p9.", chain)
    assert last is not None
    assert last.reason.startswith("“If the lamp is p8, the lamp is p9”, “The lamp is p0”, ")
    assert last.reason.endswith(" and 7 more make it so")


def test_from_the_consequence_back_only_where_nothing_is_contradicted() -> None:
    torn = f"{ALARM} The door is not locked. The lamp is on. The lamp is not on."
    found = ruling("The alarm is armed.", torn)
    assert found is not None
    assert found.label == "open"


async def test_the_estimate_moves_to_the_side_of_the_ruling() -> None:
    evidence = f"{ALARM} If the lamp is on, the hall is lit. The alarm is armed. The lamp is old."
    claims = ["The door is locked.", "The door is not locked.", "The hall is lit."]
    yes, no, unsure = await RuleVerifier(FakeVerifier()).estimate([Query(claim, evidence) for claim in claims])
    assert yes.p_yes > 0.9
    assert no.p_no > 0.9
    assert unsure.p_unsure > 0.85
    assert "leave this open" in unsure.reason
    for found in (yes, no, unsure):
        assert found.p_yes + found.p_no + found.p_unsure == pytest.approx(1.0)


def test_where_evidence_was_taken_out_nothing_follows() -> None:
    assert detect(TABLE[0], Query("The door is locked.", f"{ALARM} The alarm is armed. [EVIDENCE REMOVED]")) is None


LITERALS = st.builds(
    Literal, st.sampled_from(["ana", "bo", "the pump", ANYONE, EVERYONE]), st.sampled_from("pqrs"), st.booleans()
)
SIDES = st.lists(LITERALS, max_size=3).map(tuple)
RULES = st.lists(st.builds(Implication, SIDES, SIDES.filter(bool)), max_size=12)


@given(RULES, RULES, st.booleans())
def test_more_evidence_takes_no_conclusion_away(
    some: list[Implication], more: list[Implication], backwards: bool
) -> None:
    before = conclusions(some, backwards=backwards)
    assert before.keys() <= conclusions([*some, *more], backwards=backwards).keys()
    assert conclusions(some).keys() <= before.keys()


@given(RULES.flatmap(lambda rules: st.tuples(st.just(rules), st.permutations(rules))))
def test_the_order_of_sentences_does_not_matter(both: tuple[list[Implication], list[Implication]]) -> None:
    rules, turned = both
    assert conclusions(rules).keys() == conclusions(turned).keys()


@given(RULES)
def test_every_conclusion_stands_on_others_that_came_before(rules: list[Implication]) -> None:
    seen: set[Literal] = set()
    for conclusion, step in conclusions(rules).items():
        assert set(step.premises) <= seen
        seen.add(conclusion)


@given(st.permutations([f"If someone is p{n}, he is p{n + 1}." for n in range(5)] + ["Ana is p0.", "Bo is old."]))
def test_rulings_do_not_hang_on_the_order_either(sentences: list[str]) -> None:
    found = [ruling(claim, " ".join(sentences)) for claim in ("Ana is p5.", "Ana is not p5.", "Bo is p5.")]
    assert [r and r.label for r in found] == ["supported", "contradicted", "open"]


def test_what_is_too_much_is_not_decided() -> None:
    many = [f"If someone is p{n}, he is p{n + 1}." for n in range(400)] + [f"Ana{n} is p0." for n in range(400)]
    assert ruling("Ana1 is p9.", " ".join(many)) is None
    assert ruling("The door is locked.", f"{ALARM} The alarm is armed. " + "The lamp is on. " * 20_000) is None


@pytest.mark.parametrize("part", ["if ", "if a, then ", "someone who is ", "x and ", "a is ", "is equivalent to ", "a"])
def test_hostile_texts_come_to_an_end(part: str) -> None:
    text = part * 100_000
    assert ruling("The door is locked.", text) is None
    assert ruling(text, ALARM) is None
    assert ruling("The door is locked.", (part * 20 + "locked. ") * 2000) is None
