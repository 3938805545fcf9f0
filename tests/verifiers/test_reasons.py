"""Which value a reason names, and which sentence it quotes where no value is clear."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from groundwire.types import Estimate, Query
from groundwire.verifiers.reasons import ReasonVerifier, decisive_reason

PLANS = "Plans\n\n- Basic plan: 5 GB of storage, 1 user\n- Premium plan: 20 GB of storage, 5 users"
PARTS = "| Part | Warranty |\n|---|---|\n| Frame | 10 years |\n| Battery | 2 years |\n| Motor | 3 years |"
MODELS = "| Model | Weight | Battery |\n|---|---|---|\n| Alpha | 2 kg | 8 h |\n| Beta | 3 kg | 10 h |"


@pytest.mark.parametrize(
    ("claim", "source", "value"),
    [
        ("The bridge is 15 metres wide.", "The bridge is 12 metres high. Its deck is 9 metres wide.", "9 metres"),
        ("The bridge is 15 metres wide.", "The bridge is 12 metres high and 9 metres wide.", "9 metres"),
        ("The pool is 20 metres long.", "The pool has a depth of 3 metres. It is 25 metres long.", "25 metres"),
        ("The mountain is 3,200 metres high.", "The mountain has a height of 2,962 metres.", "2,962 metres"),
        ("Sales rose 12% in 2021.", "Sales rose 8% in 2020 and 5% in 2021. Costs rose 3%.", "5%"),
        ("The tower has 60 floors.", "Completed in 1964, the tower has 48 floors above ground and 4 below.", "48"),
        ("The firm has 340 employees.", "The firm, founded in 1987, has 52 offices and employs 210 people.", "210"),
        ("The bridge opened on 4 May 1972.", "The bridge, begun in 1964, opened on 3 May 1969.", "3 May 1969"),
        ("The bridge opened in 1972.", "Construction began in 1964. It opened on 3 May 1969.", "1969"),
        ("France has 999 million people.", "The population of France is 67 million.", "67 million"),
        ("It has 400 employees.", "Acme was founded in 1987. Acme has 40 employees.", "40"),
        ("The line was electrified in 1911.", "Steam cars ran until 1921, when the line was electrified.", "1921"),
        ("The premium plan includes 50 GB of storage.", PLANS, "20 GB"),
        ("The battery warranty is 5 years.", PARTS, "2 years"),
        ("The Alpha model weighs 4 kg.", MODELS, "2 kg"),
        ("The school has five classrooms.", "The school has three classrooms and twelve teachers.", "three"),
    ],
)
def test_the_value_named_is_of_the_same_thing_as_the_claims(claim: str, source: str, value: str) -> None:
    assert decisive_reason(claim, f"[S0] {source}") == f"evidence says {value}"


@pytest.mark.parametrize(
    ("claim", "source", "sentence"),
    [
        ("The club has 200 members.", "Founded in 1964, the club has few members.", 0),
        ("The Rhône is 900 km long.", "The Saône is 480 km long. The Rhône reaches the sea after 813 km.", 1),
        ("Lyon has 900,000 inhabitants.", "Paris has 2.1 million inhabitants. Lyon is home to 520,000 people.", 1),
        ("Adults may take 6 tablets a day.", "Adults take 1 tablet every 6 hours, at most 4 tablets in 24 hours.", 0),
        ("The rate limit is 500 calls.", "The free plan allows 60 calls; the paid plan allows 300 calls.", 0),
        ("The ship carried 300 passengers and 80 crew.", "The ship carried 240 passengers and 60 crew.", 0),
    ],
)
def test_the_sentence_is_quoted_where_no_one_value_decides(claim: str, source: str, sentence: int) -> None:
    quoted = source.replace(". ", ".\n").splitlines()[sentence]
    assert decisive_reason(claim, f"[S0] {source}") == f"the source says “{quoted}”"


def test_a_long_sentence_is_cut_at_a_word() -> None:
    said = decisive_reason("The club has 200 members.", f"The club has {'very ' * 60}few members.")
    assert said.endswith("very…”")
    assert len(said) < 200


class Saying:
    def __init__(self, reason: str) -> None:
        self.estimates = [Estimate.point(0.1, 0.8, "test", reason=reason)]

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return self.estimates


@pytest.mark.parametrize("reason", ["", "not in the sources: “wide”", "the source says “It is 9 metres wide.”"])
async def test_reasons_that_name_no_value_stay(reason: str) -> None:
    query = Query("The bridge is 15 metres wide.", "The bridge is 9 metres wide.")
    (found,) = await ReasonVerifier(Saying(reason)).estimate([query])
    assert found.reason == reason


@pytest.mark.parametrize(
    ("claim", "source", "reason"),
    [
        (
            "The tower is 330 metres tall and opened in 1889.",
            "The tower is 330 metres tall. It opened in 1887 and has three floors.",
            "evidence says 1887",
        ),
        (
            "The tower is tall and red.",
            "The tower is tall. Its walls are blue.",
            "the source says “Its walls are blue.”",
        ),
    ],
)
async def test_a_sentence_that_the_claim_repeats_is_not_what_decides(claim: str, source: str, reason: str) -> None:
    quoted = f"the source says “{source.partition('. ')[0]}.”"
    (found,) = await ReasonVerifier(Saying(quoted)).estimate([Query(claim, f"[S0] {source}")])
    assert found.reason == reason


@pytest.mark.parametrize(
    ("claim", "source", "quoted", "decides"),
    [
        (
            "The handbook was written by Anna Lind.",
            ["The handbook was written by Otto Berg.", "Anna Lind printed it."],
            1,
            0,
        ),
        ("The shop is open on Sundays.", ["The shop is open Monday to Saturday.", "It is closed on Sundays."], 0, 1),
        ("The drug is used in pregnancy.", ["The drug is a tablet.", "It must not be used in pregnancy."], 0, 1),
        ("All employees may work from home.", ["Only managers may work from home.", "Employees get a laptop."], 0, 0),
    ],
)
async def test_the_sentence_quoted_is_the_one_that_speaks_against_the_claim(
    claim: str, source: list[str], quoted: int, decides: int
) -> None:
    given = Saying(f"the source says “{source[quoted]}”")
    (found,) = await ReasonVerifier(given).estimate([Query(claim, f"[S0] {' '.join(source)}")])
    assert found.reason == f"the source says “{source[decides]}”"


async def test_a_negation_decides_though_the_claim_has_its_other_words() -> None:
    query, quoted = Query("The tower is tall.", "The tower is not tall."), "the source says “The tower is not tall.”"
    (found,) = await ReasonVerifier(Saying(quoted)).estimate([query])
    assert found.reason == quoted


async def test_a_value_of_another_thing_is_replaced() -> None:
    query = Query("The bridge is 15 metres wide.", "The bridge is 12 metres high. Its deck is 9 metres wide.")
    (found,) = await ReasonVerifier(Saying("evidence says 12 metres")).estimate([query])
    assert found.reason == "evidence says 9 metres"
    assert found.p_no == 0.8


async def test_in_other_languages_the_verifiers_own_reason_stays() -> None:
    query = Query("Die Brücke ist 15 Meter breit und aus Stahl.", "Die Brücke ist 9 Meter breit.")
    (found,) = await ReasonVerifier(Saying("evidence says 9 Meter")).estimate([query])
    assert found.reason == "evidence says 9 Meter"
