"""From an answer to its claims: order, ids, places, citations, kinds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.claims.extractor import extract, steps_as_claims
from groundwire.types import Claim, ClaimKind

ANSWER = """\
Sure! Here is the summary:

# France
Paris is the **capital** of France.[S1] Is it big? It has 2 million people [S0].

| Country | Population |
|---|---|
| France | 999 million [S0] |

The hotel offers:
- free *WiFi* (S1)
- [x] parking [S0][S1]

```python
x = a[1]
```
I hope this helps!
"""


def shown(answer: str, *known: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(c.id, c.text, c.citations) for c in extract(answer, known_sources=known)]


def texts(answer: str, kind: ClaimKind = ClaimKind.ASSERTION) -> list[str]:
    return [c.text for c in extract(answer) if c.kind is kind]


@pytest.mark.spec("SPEC-08.07", "SPEC-08.08", "SPEC-08.09")
def test_a_whole_answer() -> None:
    assert shown(ANSWER, "S0", "S1") == [
        ("s1", "Sure!", ()),
        ("s2", "Here is the summary:", ()),
        ("s3", "France", ()),
        ("c1", "Paris is the capital of France.", ("S1",)),
        ("s4", "Is it big?", ()),
        ("c2", "It has 2 million people.", ("S0",)),
        ("s5", "Country; Population", ()),
        ("c3", "Country: France; Population: 999 million", ("S0",)),
        ("s6", "The hotel offers:", ()),
        ("c4", "free WiFi", ("S1",)),
        ("c5", "parking", ("S0", "S1")),
        ("s7", "```python x = a[1] ```", ()),
        ("s8", "I hope this helps!", ()),
    ]


@pytest.mark.spec("SPEC-08.08")
def test_places_leave_out_bullets_emphasis_and_outer_marks() -> None:
    places = [ANSWER[c.start : c.end] for c in extract(ANSWER) if c.kind is ClaimKind.ASSERTION]
    assert places == [
        "Paris is the **capital** of France.",
        "It has 2 million people [S0].",
        "France | 999 million",
        "free *WiFi",
        "parking",
    ]


@pytest.mark.spec("SPEC-08.08")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("One is so [1]. Two is so.[2] Three is so. [3]", [("1",), ("2",), ("3",)]),
        ("[1] One is so. [2] Two is so.", [("1",), ("2",)]),
        ("One is so.\n[2] says that two is so.", [(), ("2",)]),
        ("One is so.\n\n[1][2]", [("1", "2")]),
        ("According to [1] and [2], one is so.", [("1", "2")]),
        ("One is so [1, 2], and Two is so.", [("1", "2"), ("1", "2")]),
        ("One is so [1], and Two is so [2].", [("1",), ("2",)]),
        ("One is so, and Two is so [2].", [("2",), ("2",)]),
        ("One is so; Two is so [2]; Three is so [3].", [("2",), ("2",), ("3",)]),
        ("[1] One is so, and Two is so. [2] Three is so.", [("1",), ("1",), ("2",)]),
        ("One is so.[^a] Two is so.\n\n[^a]: a book", [("a",), ()]),
    ],
)
def test_each_sentence_has_its_own_citations(answer: str, expected: list[tuple[str, ...]]) -> None:
    assert [c.citations for c in extract(answer) if c.kind is ClaimKind.ASSERTION] == expected


def test_a_source_before_a_line_is_cited_and_no_part_of_the_claim() -> None:
    answer = "**S0:** The tower is tall. It is old.\nS1 - The river is long (S0)."
    found = extract(answer, known_sources=["S0", "S1"])
    assert [(c.text, c.citations) for c in found] == [
        ("The tower is tall.", ("S0",)),
        ("It is old.", ()),
        ("The river is long.", ("S1", "S0")),
    ]
    assert answer[found[0].start : found[0].end] == "The tower is tall."


def test_a_footnote_leads_to_the_source_it_names() -> None:
    claims = extract("It is so.[^1]\n\n[^1]: S7, page 3", known_sources=["S1", "S7"])
    assert [(c.citations, c.kind.value) for c in claims] == [(("S7",), "assertion"), ((), "meta")]


@pytest.mark.spec("SPEC-08.08")
def test_numbers_count_as_the_answer_counts() -> None:
    known = ("S0", "S1")
    assert [c.citations for c in extract("A is so [1]. B is so [2].", known_sources=known)] == [("S0",), ("S1",)]
    assert [c.citations for c in extract("A is so [0]. B is so [1].", known_sources=known)] == [("S0",), ("S1",)]
    assert [c.citations for c in extract("A is so [3].", known_sources=known)] == [("3",)]


@pytest.mark.spec("SPEC-08.08")
def test_confidence_stated_inferred_and_default() -> None:
    answer = "I am 90 % sure that it is Paris. It is probably big. It is old. Confidence: 0.0"
    claims = extract(answer, target=0.97)
    assert [(c.text, c.confidence) for c in claims if c.kind is ClaimKind.ASSERTION] == [
        ("it is Paris.", 0.9),
        ("It is probably big.", 0.8),
        ("It is old.", 0.0),
    ]


@pytest.mark.spec("SPEC-08.07")
def test_atoms_point_at_their_own_characters() -> None:
    answer = "- **Paris** is in France, and Rome is in Italy [1]."
    first, second = extract(answer)
    assert (first.text, answer[first.start : first.end]) == ("Paris is in France", "Paris** is in France")
    assert (second.text, answer[second.start : second.end]) == ("Rome is in Italy.", "Rome is in Italy [1].")
    assert first.citations == second.citations == ("1",)


@pytest.mark.spec("SPEC-08.09")
def test_what_follows_a_refusal_or_a_lead_in_is_still_a_claim() -> None:
    assert texts("The documents do not mention the price, but it costs $200.") == ["it costs $200."]
    assert texts("Sure, here is a summary: The hotel has 200 rooms.") == ["The hotel has 200 rooms."]


@pytest.mark.spec("SPEC-08.09")
def test_a_list_of_references_claims_nothing() -> None:
    answer = "It is so [1].\n\nReferences:\n\n- Smith, A history, https://example.org\n- Jones, Notes\n- Rome was built in a day."
    assert texts(answer) == ["It is so.", "Rome was built in a day."]


@pytest.mark.spec("SPEC-08.09")
def test_a_bold_line_is_a_title_and_a_bold_label_is_not() -> None:
    assert texts("**Opening hours**\n\n**Address:** 31 Main St\n\nAmenities\n- pool") == ["Address: 31 Main St", "pool"]


WRONG = "The tower is 999 metres tall"


@pytest.mark.parametrize(
    "answer",
    [
        f"```\n{WRONG}.\n```",
        f"```\n{WRONG.lower()}\n```",
        f"~~~text\n{WRONG}\n~~~",
        f"```python\nx = a[1]\n# {WRONG}\n```",
        f"```js\nlet x = 1\n// {WRONG}.\nx += 1\n```",
        f"> ```\n> {WRONG}.\n> ```",
        f"![{WRONG}](tower.png)",
        f"<img src='tower.png' alt='{WRONG}'>",
        f"{WRONG}:",
        f"{WRONG}:\n\n- It is red.",
        f"Did you know that {WRONG.lower()}?",
        f"{WRONG}, isn't it?",
        f"{WRONG}, right?",
        "# The tower: 999 metres\n\nIt is red.",
        "**999 metres**\n\nIt is red.",
        f"It is red.\n\n## References\n\n- {WRONG}, https://example.org",
        "It is red.\n\nReferences:\n\n- Height: 999 metres",
        f"It is red.[^1]\n\n[^1]: {WRONG}, see https://example.org",
        f"| {WRONG} |\n|---|\n| |",
    ],
)
def test_what_asserts_is_read_wherever_it_stands(answer: str) -> None:
    assert any("999 metres" in text for text in texts(answer))
    exact(answer, extract(answer))


@pytest.mark.parametrize(
    "answer",
    [
        "```bash\npip install groundwire\ngit checkout main\n```",
        "```sql\nSELECT name FROM users WHERE id IS NULL\n```",
        "```python\nif it is None:\n    return 999\n```",
        "![A photo of the tower](tower.png)",
        "## References\n\n- Smith 2019, pp. 3-5\n- A history of towers, https://example.org/330",
    ],
)
def test_code_pictures_and_references_assert_nothing(answer: str) -> None:
    assert texts(answer) == []


def test_a_question_that_asserts_is_cut_to_its_assertion() -> None:
    answer = "Did you know that Paris is in Italy, isn't it?"
    told, claim = extract(answer)
    assert (told.kind, told.text) == (ClaimKind.META, "Did you know that")
    assert (claim.text, answer[claim.start : claim.end]) == ("Paris is in Italy", "Paris is in Italy")


@pytest.mark.spec("SPEC-08.07")
def test_hebrew() -> None:
    answer = 'לפי ההחלטה, השמאי קבע פיצוי של 50,000 ש"ח [S0]. זה נפוץ במקרים דומים. האם תרצה עוד? המסמכים אינם מזכירים את המחיר.'
    claims = extract(answer, known_sources=["S0"])
    assert [(c.kind.value, c.citations) for c in claims] == [
        ("assertion", ("S0",)),
        ("assertion", ()),
        ("question", ()),
        ("refusal", ()),
    ]
    assert claims[0].text == 'לפי ההחלטה, השמאי קבע פיצוי של 50,000 ש"ח.'


@pytest.mark.parametrize("answer", ["", "   \n\t ", "***", "---\n\n...", "[1]", "> ", "|\n|-|\n|"])
def test_nothing_to_say(answer: str) -> None:
    assert extract(answer) == []


def exact(answer: str, claims: list[Claim]) -> None:
    at = 0
    for claim in claims:
        assert at <= claim.start < claim.end <= len(answer)
        assert claim.text.strip()
        assert 0.0 <= claim.confidence <= 1.0
        claim.text.encode()
        at = claim.end
    numbers = [int(c.id[1:]) for c in claims if c.id[0] == "c"]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all((c.id[0] == "c") == (c.kind is ClaimKind.ASSERTION) for c in claims)


MARKUP = st.text(
    alphabet=st.sampled_from("abI 19.!?:;,\"'()[]【】^S*_`#>|-+\n<>/\\&%אש。؟¹\u200b\u202e\x00\ud800"), max_size=120
)
PARTS = """Paris is big|I am 90% sure that |the documents do not mention it|, and |, but |; |. |? |[1]|(S1)|**|`|[^1]
Sure, here is a summary: """
BREAKS = ("\n- ", "\n\n", "\n> ", "| a | b |\n|---|---|\n")
PHRASES = st.lists(st.sampled_from([*PARTS.split("|"), *BREAKS]), max_size=14).map("".join)


@pytest.mark.spec("SPEC-16.37")
@settings(max_examples=200, deadline=None)
@given(st.one_of(MARKUP, PHRASES, st.text(max_size=80)))
def test_any_text_gives_exact_ordered_claims(answer: str) -> None:
    exact(answer, extract(answer, known_sources=["S0", "1", "a"]))


@pytest.mark.spec("SPEC-16.37")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["Paris", "is", "big", "3.5", "people", "old", "U.S."]), min_size=1, max_size=12))
def test_no_word_of_plain_prose_is_lost(words: list[str]) -> None:
    answer = " ".join(words) + "."
    covered = {i for claim in extract(answer) for i in range(claim.start, claim.end)}
    assert all(i in covered for i, char in enumerate(answer) if char.isalnum())


@pytest.mark.parametrize("answer", ["**Paris**", "Answer: Paris", "Answer: 1889", "**Answer:** 1889"])
def test_a_bare_answer_is_a_claim(answer: str) -> None:
    assert [c.kind for c in extract(answer)][-1] is ClaimKind.ASSERTION


def test_a_refusal_hides_no_claim_behind_a_semicolon() -> None:
    found = extract("The document does not say when; it only says that the tower is 330 m tall.")
    assert [c.kind for c in found] == [ClaimKind.REFUSAL, ClaimKind.ASSERTION]


RECIPE = "Preheat the oven to 180 °C. Add the diced tomatoes. Remove the roast and let it rest."


def asserted(text: str, *, asked: bool) -> list[str]:
    found = steps_as_claims(extract(text), asked=asked)
    return [claim.text for claim in found if claim.kind is ClaimKind.ASSERTION]


@pytest.mark.spec("SPEC-08.09")
def test_an_instruction_beside_statements_is_not_evidence() -> None:
    text = "The report was filed in May. Click the button below."
    assert asserted(text, asked=False) == ["The report was filed in May."]


def test_what_answers_a_question_is_checked_though_it_is_an_instruction() -> None:
    assert asserted("Click the General tab.", asked=True) == ["Click the General tab."]


def test_three_instructions_are_a_procedure_without_a_question_too() -> None:
    assert len(asserted(RECIPE, asked=False)) == 3


@pytest.mark.parametrize("text", ["Please contact our support team.", "Consult a doctor before you start."])
def test_what_sends_the_reader_elsewhere_is_never_a_step(text: str) -> None:
    assert asserted(text, asked=True) == []


def test_nothing_else_changes() -> None:
    found = extract("Will you come? The tower is 300 m tall. Click the button.")
    settled = steps_as_claims(found, asked=True)
    assert [(c.id, c.start, c.end, c.text) for c in settled] == [(c.id, c.start, c.end, c.text) for c in found]
    assert settled[0].kind is ClaimKind.QUESTION


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize(
    ("sentence", "is_claim"),
    [
        ("Store the tablets below 25 °C.", True),
        ("Hold the button for ten seconds.", True),
        ("Never mix bleach and ammonia.", True),
        ("Please call 0800 123 456.", True),
        ("Therefore the tallest person is Helga.", True),
        ("Therefore the owner of the kiosk is Helga.", True),
        ("Furthermore the roof of the barn leaked.", True),
        ("I'll show you an example.", False),
        ("Consider using a cache.", False),
        ("You could try restarting it.", False),
        ("Please contact support.", False),
    ],
)
def test_an_instruction_is_a_claim_where_it_asserts(sentence: str, is_claim: bool, asked: bool) -> None:
    (found,) = steps_as_claims(extract(sentence), asked=asked)
    assert (found.kind is ClaimKind.ASSERTION) is is_claim


@pytest.mark.spec("SPEC-08.09")
@pytest.mark.parametrize(
    ("sentence", "kind", "confidence"),
    [
        ("It might rain.", ClaimKind.ASSERTION, 0.6),
        ("It is possible that prices rise in 2025.", ClaimKind.ASSERTION, 0.5),
        ("It could be that sales fell.", ClaimKind.HEDGE, 0.5),
        ("Perhaps the car is blue.", ClaimKind.HEDGE, 0.5),
    ],
)
def test_a_hedged_statement_is_excluded_or_judged_by_its_hedge(
    sentence: str, kind: ClaimKind, confidence: float
) -> None:
    (found,) = extract(sentence)
    assert (found.kind, found.confidence) == (kind, confidence)


def test_a_header_that_is_no_name_is_not_repeated_in_every_row() -> None:
    header = "The tower is 330 m tall [1] " * 20
    table = f"| {header}| year |\n|---|---|\n" + "| 5 m | 1889 |\n" * 300
    rows = [claim.text for claim in extract(table, known_sources=["1"]) if "1889" in claim.text]
    assert rows == ["5 m; year: 1889"] * 300
