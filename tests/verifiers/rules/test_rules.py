"""What reading settles: whose value it is, how many there are, what was quoted; and where it must stay silent."""

from __future__ import annotations

import pytest

from groundwire.types import Estimate, Query, Span
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.ruled import RuleVerifier, apply_rule_results, rule_results
from groundwire.verifiers.rules.statements import in_line, told

PROSE = (
    "Harlan Mills was founded in 1921. It employs 340 people.\n\n"
    "Corbett Glass was founded in 1958. It employs 2,150 people. Corbett Glass was praised by Ana Duarte."
)
TABLE = "name,height,keeper\nNorth Light,31 m,Ole Berg\nSouth Light,54 m,Ada Holm\nEast Light,22 m,Ulf Lund\n"
SECTIONS = "## Red Fox\n\n- Weight: 6 kg\n- Diet: mice\n\n## Grey Wolf\n\n- Weight: 40 kg\n- Diet: deer"
RECORDS = '[{"name": "Alpha One", "port": 8080}, {"name": "Beta Two", "port": 9090}, {"name": "Gamma", "port": 7070}]'
PANTRY = "The shelves hold flour, sugar, rice and beans."
ISLANDS = "Islands of the Karo Group:\n1. Venn\n2. Orsa\n3. Tull\n4. Hesk\n5. Mire"
RULE = "The committee approved the plan after the second hearing because the budget was balanced."


def denied(claim: str, context: str) -> list[str]:
    return [claim[r.start : r.end] for r in rule_results(Query(claim, context)) if r.denies]


def borne_out(claim: str, context: str) -> bool:
    found = rule_results(Query(claim, context))
    return bool(found) and not any(ruling.denies for ruling in found)


WRONG = {
    "prose, by pronoun": ("Harlan Mills employs 2,150 people.", PROSE, "2,150"),
    "prose, value from nowhere": (
        "Harlan Mills employs 341 people.",
        "Harlan Mills is a mill. It employs 340 people.",
        "341",
    ),
    "prose, year": ("Corbett Glass was founded in 1921.", PROSE, "1921"),
    "prose, said of another": ("Harlan Mills was praised by Ana Duarte.", PROSE, "Harlan Mills"),
    "table, number": ("South Light has a height of 22 m.", TABLE, "22 m"),
    "table, name": ("The keeper of North Light is Ulf Lund.", TABLE, "Ulf Lund"),
    "table, other words than the label": ("Ada Holm looks after East Light.", TABLE, "Ada Holm"),
    "sections, number": ("Grey Wolf has a weight of 6 kg.", SECTIONS, "6 kg"),
    "sections, word": ("Red Fox has a diet of berries.", SECTIONS, "berries"),
    "records": ("Alpha One uses port 7070.", RECORDS, "7070"),
    "records, value from nowhere": ("Beta Two uses port 4321.", RECORDS, "4321"),
}


@pytest.mark.parametrize(("claim", "context", "where"), WRONG.values(), ids=WRONG)
def test_a_value_belongs_to_its_own_thing(claim: str, context: str, where: str) -> None:
    assert denied(claim, context) == [where]


RIGHT = {
    "prose, of a part": ("Harlan Mills employs 25 people in Oslo.", "Harlan Mills employs 340 people."),
    "prose, written otherwise": ("The base is 6 inches wide.", "The base is 6” wide, the top 3 inches wide."),
    "prose, about as many": ("Harlan Mills employs about 339 people.", "Harlan Mills employs 340 people."),
    "prose, by pronoun": ("Harlan Mills employs 340 people.", PROSE),
    "prose, other order": ("In 1958, Corbett Glass was founded.", PROSE),
    "prose, two sentences": ("Corbett Glass, founded in 1958, employs 2,150 people.", PROSE),
    "table": ("South Light has a height of 54 m.", TABLE),
    "table, name": ("Ole Berg is the keeper of North Light.", TABLE),
    "sections": ("Grey Wolf has a weight of 40 kg and a diet of deer.", SECTIONS),
    "records": ("Beta Two uses port 9090.", RECORDS),
    "something else altogether": ("The weather was fine on all three days.", PROSE),
}


@pytest.mark.parametrize(("claim", "context"), RIGHT.values(), ids=RIGHT)
def test_what_is_bound_rightly_is_left_alone(claim: str, context: str) -> None:
    assert denied(claim, context) == []


def test_what_was_taken_out_proves_nothing_about_the_rest() -> None:
    scrubbed = TABLE.replace("South Light,54 m,Ada Holm", "[EVIDENCE REMOVED]")
    assert rule_results(Query("The keeper of North Light is Ulf Lund.", scrubbed)) == []


@pytest.mark.parametrize("context", [ISLANDS, ISLANDS.replace("1.", "-").replace("2.", "-").replace("3.", "-")])
def test_things_in_a_list_are_counted(context: str) -> None:
    assert borne_out("The Karo Group has five islands.", context)
    assert denied("The Karo Group has seven islands.", context) == ["seven"]


def test_things_in_a_sentence_and_in_data_are_counted() -> None:
    fleet = "The ships of the Marsh Line are Alma, Brise, Corona and Delta."
    assert borne_out("The Marsh Line has four ships.", fleet)
    assert denied("The Marsh Line has 6 ships.", fleet) == ["6"]
    data = '{"name": "Marsh Line", "ships": ["Alma", "Brise", "Corona", "Delta"]}'
    assert denied("The Marsh Line has three ships.", data) == ["three"]


def test_a_total_that_is_stated_outweighs_a_list_that_may_be_a_part() -> None:
    text = "The Marsh Line has 9 ships. Among the ships of the Marsh Line are Alma, Brise and Corona."
    assert denied("The Marsh Line has 9 ships.", text) == []


def test_who_names_nothing_but_what_is_listed_is_borne_out() -> None:
    assert borne_out("The islands are Venn, Orsa and Hesk.", ISLANDS)
    assert borne_out("They are Venn, Orsa, Tull, Hesk and Mire.", ISLANDS)
    assert not borne_out("They are Venn, Orsa and Atlantis.", ISLANDS)
    assert not borne_out("The volcanoes are Venn, Orsa and Hesk.", ISLANDS)


def test_a_list_of_something_else_is_not_counted() -> None:
    assert denied("The house has two cellars.", PANTRY) == []


@pytest.mark.spec("SPEC-16.SC01")
@pytest.mark.parametrize(
    ("claim", "right"),
    [
        ("The word strawberry contains the letter r 3 times.", True),
        ("There are 2 r's in the word strawberry.", False),
        ("There are three occurrences of r in 'strawberry'.", True),
        ("The letter s occurs 4 times in mississippi.", True),
        ("The letter s occurs 5 times in mississippi.", False),
    ],
)
def test_letters_are_counted_by_counting(claim: str, right: bool) -> None:
    found = rule_results(Query(claim, "The word was spelled out letter by letter."))
    assert [ruling.denies for ruling in found] == [not right]


MISQUOTED = {
    "direct, a word": ('The minutes say "The committee rejected the plan after the second hearing".', "rejected"),
    "direct, a small word": ('It reads: "The committee approved the plan before the second hearing".', "before"),
    "reported, an opposite": ("It states that the committee rejected the plan after the second hearing.", "rejected"),
    "reported, a prefix": (
        "The committee approved the plan after the second hearing because the budget was unbalanced.",
        "unbalanced",
    ),
}


@pytest.mark.parametrize(("claim", "where"), MISQUOTED.values(), ids=MISQUOTED)
def test_a_word_put_in_anothers_place(claim: str, where: str) -> None:
    assert denied(claim, RULE) == [where]


@pytest.mark.parametrize(
    "claim",
    [
        RULE,
        f'The minutes say "{RULE}"',
        "The committee approved the plan after the second hearing since the budget was in order.",
        "The committee had approved the plan after the second hearing.",
    ],
)
def test_paraphrase_and_faithful_quotation_are_left_alone(claim: str) -> None:
    assert denied(claim, RULE) == []


def test_rulings_move_the_estimate_and_keep_it_a_distribution() -> None:
    before = Estimate.point(0.7, 0.1, "x", spans=(Span(0, 4), Span(8, 12)))
    no = apply_rule_results(before, [RuleResult("no", 0.9, 8, 12, "the sources say 5 here")])
    assert no.p_yes == pytest.approx(0.07)
    assert no.p_yes + no.p_no + no.p_unsure == pytest.approx(1.0)
    assert no.reason == "the sources say 5 here"
    assert [(span.start, span.end) for span in no.spans] == [(0, 4), (8, 12)]
    yes = apply_rule_results(before, [RuleResult("yes", 0.8, 0, 4, "")])
    assert yes.p_yes == pytest.approx(0.94)
    assert yes.p_yes + yes.p_no + yes.p_unsure == pytest.approx(1.0)
    assert apply_rule_results(before, []) == before


async def test_a_failed_estimate_stays_failed() -> None:
    class Broken:
        async def estimate(self, queries: object) -> list[Estimate]:
            return [Estimate.failed("down")]

    (found,) = await RuleVerifier(Broken()).estimate([Query("Alpha One uses port 7070.", RECORDS)])
    assert found.error == "down"


async def test_any_verifier_can_be_ruled() -> None:
    right, wrong = await RuleVerifier(FakeVerifier()).estimate(
        [Query("Alpha One uses port 8080.", RECORDS), Query("Alpha One uses port 7070.", RECORDS)]
    )
    assert wrong.p_no > 0.8
    assert right.p_yes > wrong.p_yes


def test_sentences_know_what_they_are_about() -> None:
    about = {s.text: s.about for s in told(PROSE).statements}
    assert about["It employs 340 people."] == {"harlan", "mill"}
    assert all({"wolf"} <= s.about for s in told(SECTIONS).statements if "40" in s.text or "deer" in s.text)


@pytest.mark.parametrize(
    ("claim", "context", "where"),
    [
        ("The museum is closed on Tuesdays.", "The museum is closed on Mondays.", "Tuesdays"),
        ("It is closed on Tuesdays.", "The museum is closed on Mondays. Tickets cost 8 euros.", "Tuesdays"),
        ("The festival takes place in May.", "The festival takes place in June every year.", "May"),
    ],
)
def test_one_day_or_month_is_not_another(claim: str, context: str, where: str) -> None:
    assert denied(claim, context) == [where]


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("The museum is open on Wednesdays.", "The museum is open Monday to Friday."),
        ("The museum is open on Tuesday.", "The museum is open every day except Monday."),
        ("The meeting is on Tuesday.", "The meeting was moved. It was on Monday. The meeting is on Tuesday."),
        ("The museum is not closed on Tuesdays.", "The museum is closed on Mondays."),
        ("You may visit the museum.", "You visit the museum in June."),
        ("The tram leaves on Friday.", "The bus leaves on Monday."),
        ("Visitors can come on Thursday.", "Visitors can come on any weekday."),
    ],
)
def test_days_and_months_that_exclude_nothing(claim: str, context: str) -> None:
    assert denied(claim, context) == []


def test_a_line_without_an_end_is_read_once() -> None:
    """It took hours once, and held the whole server meanwhile."""
    assert list(in_line("a" * 1_000_000)) == []
    assert [found.items for found in in_line("a" * 100_000 + "; we sell tea, milk and rice")] == [
        ("tea", "milk", "rice")
    ]


def test_what_is_no_sentence_is_not_read_by_rules() -> None:
    assert rule_results(Query("1 " * 500_000, PANTRY)) == []
    assert rule_results(Query("[S" * 500_000, PANTRY)) == []
