"""Windows of a document: what the network reads beside a claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.document import WIDE_WORDS, Document

LEAFLET = """# Zelovar 10 mg tablets

## Before you take it
Zelovar is used to treat raised blood pressure in adults. Do not take it if you are allergic to it.

## Other medicines and drinks
You should not drink alcohol during treatment. Paracetamol may be taken.

## How to take it
The starting dose is 10 mg once a day. Swallow the tablet with water. The maximum is 40 mg a day.

## Storage
Store below 25 °C in the original blister. Half tablets keep for 7 days. Keep out of the reach of children.
""" + "\n".join(f"Note {n}: the packaging of batch {n} was checked by the quality unit." for n in range(30))

HARBOUR = "\n".join(f"The harbour crane number {n} lifts {n} containers in an hour." for n in range(2, 40))


def plain(_: str) -> float:
    """Every word counts the same."""
    return 1.0


def test_a_short_document_is_one_window() -> None:
    found = Document("The tower is 330 m tall. It opened in 1889.").windows("It opened in 1890.", plain)
    assert [window.text for window in found] == ["The tower is 330 m tall. It opened in 1889."]


def test_an_empty_document_has_no_windows() -> None:
    assert Document("  \n ").windows("Anything.", plain) == []


def test_the_first_window_holds_the_sentence_that_settles_the_claim() -> None:
    first = Document(LEAFLET, rendered=False).windows("You can drink alcohol while taking Zelovar.", plain)[0]
    assert "You should not drink alcohol during treatment." in first.text


def test_a_window_names_the_heading_it_stands_under() -> None:
    first = Document(LEAFLET, rendered=False).windows("Alcohol is allowed during treatment.", plain)[0]
    assert "Other medicines and drinks" in first.text


def test_places_far_apart_are_joined() -> None:
    claim = "The starting dose is 10 mg and half tablets keep for 7 days."
    first = Document(LEAFLET, rendered=False).windows(claim, plain)[0]
    assert "The starting dose is 10 mg" in first.text
    assert "Half tablets keep for 7 days" in first.text


@pytest.mark.parametrize("claim", ["The maximum is 40 mg a day.", "Paracetamol must not be taken."])
def test_unrelated_documents_do_not_change_the_first_window(claim: str) -> None:
    alone = Document(f"[S1] {LEAFLET}").windows(claim, plain)
    around = Document(f"[S0] {HARBOUR}\n\n[S1] {LEAFLET}\n\n[S2] {HARBOUR}").windows(claim, plain)
    assert around[0].text == alone[0].text


def test_a_short_source_is_read_whole_also_among_others() -> None:
    short = "The museum opens at ten. It closes at six. Children pay half."
    alone = Document(f"[S0] {short}").windows("Children pay nothing.", plain)
    around = Document(f"[S0] {HARBOUR}\n\n[S1] {short}\n\n[S2] {HARBOUR}").windows("Children pay nothing.", plain)
    assert around[-1].text == alone[-1].text == short


def test_a_speaker_or_heading_of_one_source_does_not_stand_over_the_next() -> None:
    list_of_parts = "# Pegs\nPegs: 12 pieces.\nPoles: 3 pieces.\nRopes: 8 pieces."
    tablet = "It is used to treat raised blood pressure. " + " ".join(f"Batch {n} was checked." for n in range(40))
    first = Document(f"[S0] {list_of_parts}\n\n[S1] {tablet}").windows("It treats raised blood pressure.", plain)[0]
    assert first.text.startswith("It is used to treat")


def test_labels_do_not_make_a_conversation() -> None:
    text = "Weight: 3 kg.\nHeight: 2 m.\nColour: red.\n" + " ".join(f"Lamp {n} hangs in hall {n}." for n in range(40))
    (first, *_) = Document(text, rendered=False).windows("The lamp numbered 31 hangs in hall 31.", plain)
    assert "Lamp 31" in first.text
    assert "Colour: Lamp" not in first.text


def test_a_run_of_text_stays_within_one_source() -> None:
    text = f"[S0] The ferry leaves at nine.\n\n[S1] The museum opens at ten. {HARBOUR}"
    for window in Document(text).windows("The museum opens at ten.", plain)[1:-1]:
        assert not ("ferry" in window.text and "museum" in window.text)


def test_a_sentence_within_a_turn_keeps_its_speaker() -> None:
    talk = "\n".join(
        ["Ana: Hello there.", "Ben: Good morning. The shipment is late. It left Oslo on Monday.", "Ana: I see."]
        + [f"Cara: Point {n} of the agenda is closed." for n in range(30)]
    )
    first = Document(talk, rendered=False).windows("The shipment left Oslo on Monday.", plain)[0]
    assert "Ben" in first.text


def test_a_leaf_keeps_the_name_of_its_record() -> None:
    fields = ", ".join(f'"field{n}": "value {n} of the register"' for n in range(40))
    record = '{"name": "Café Blau", ' + fields + ', "seats": 41}'
    first = Document(record, rendered=False).windows("It has 41 seats.", plain)[0]
    assert "Café Blau" in first.text
    assert "seats: 41" in first.text


def test_the_closest_piece_is_the_one_that_shares_most_with_the_claim() -> None:
    document = Document(LEAFLET, rendered=False)
    claim = "Alcohol may be drunk during treatment."
    window = document.windows(claim, plain)[0]
    assert document.closest_pieces(claim, window, plain)[0] == "You should not drink alcohol during treatment."


@given(st.text(max_size=400), st.text(max_size=60))
def test_any_text_gives_few_windows_of_bounded_length(text: str, claim: str) -> None:
    document = Document(text)
    found = document.windows(claim, plain)
    assert len(found) <= 2
    for window in found:
        assert 0.0 <= window.coverage <= 1.0 + 1e-9
        inside = [document.pieces[number].text for number in window.numbers]
        longest = max(len(piece.split()) for piece in inside)
        assert sum(len(piece.split()) for piece in inside) <= max(WIDE_WORDS, longest)


def test_the_closest_text_holds_the_pieces_that_share_words_with_a_claim() -> None:
    text = "The pump weighs 12 kg. " + "Buses leave on the hour. " * 50 + "The pump costs 300 euros."
    found = Document(text).closest_text("The pump weighs 15 kg.", lambda _: 1.0, 20)
    assert found.splitlines() == ["The pump weighs 12 kg.", "The pump costs 300 euros."]


def test_the_closest_text_is_bounded() -> None:
    text = " ".join(f"Pump {n} weighs {n} kg." for n in range(500))
    assert len(Document(text).closest_text("Pump 7 weighs 9 kg.", lambda _: 1.0, 40).split()) <= 40
