"""Who said what in a conversation."""

from __future__ import annotations

import pytest

from groundwire.types import Query
from groundwire.verifiers.rules.ruled import rule_results
from groundwire.verifiers.rules.speakers import misquoted, turns

TALK = """Ana: The vendor can only deliver the new printers on Tuesday the 4th of May.
Tom: Fine, but finance wants the invoice to be below 1,200 euros.
Ana: I will write to them today."""


@pytest.mark.parametrize(
    "claim",
    [
        "Tom said the vendor can only deliver the new printers on Tuesday.",
        "According to Tom, the vendor can deliver the printers on Tuesday.",
        "Ana mentioned that finance wants the invoice to be below 1,200 euros.",
        "Ana told the team that finance wants an invoice below 1,200 euros.",
    ],
)
def test_words_of_another_speaker_are_denied(claim: str) -> None:
    (ruling,) = misquoted(claim, TALK)
    assert ruling.denies
    assert claim[ruling.start : ruling.end] in ("Tom", "Ana")
    assert ruling.reason in ("the sources have Ana say this", "the sources have Tom say this")


@pytest.mark.parametrize(
    "claim",
    [
        "Ana said the vendor can only deliver the new printers on Tuesday.",
        "Tom said that finance wants the invoice to be below 1,200 euros.",
        "Tom agreed that the vendor can only deliver the new printers on Tuesday.",
        "Tom said that Ana is late.",
        "Lena said the vendor can only deliver the new printers on Tuesday.",
        "The vendor can only deliver the new printers on Tuesday.",
    ],
)
def test_nothing_is_said_of_what_may_be_so(claim: str) -> None:
    assert not list(misquoted(claim, TALK))


def test_who_says_yes_has_said_it() -> None:
    talk = "Ana: Is the new office opening on Friday the 3rd?\nTom: Yes, it is."
    assert not list(misquoted("Tom said the new office is opening on Friday.", talk))


def test_forms_of_a_conversation() -> None:
    talk = "[10:02] Ana Reed (chair): Hello there.\n<Tom> Good morning.\n- Lena: Late again."
    assert [turn.speaker for turn in turns(talk)] == ["Ana Reed", "Tom", "Lena"]
    assert turns("Note: this is a text.\nIt has a line.") == ()
    assert turns("x" * 200_000) == ()


PRINTERS = "The vendor delivers the new printers on Tuesday."


@pytest.mark.parametrize(
    "talk",
    [
        f"Ana: {PRINTERS}\nTom: I heard from them as well.",
        f"Ana: {PRINTERS}\nTom: I know.",
        f"Ana: {PRINTERS}\nTom: 👍",
        f"Ana: {PRINTERS}\nTom: They do so every week.",
        "Ana: Tom said the vendor delivers the new printers on Tuesday.\nTom: Good morning to all of you here.",
        f"Ana: As he told us, {PRINTERS}\nTom: Good morning to all of you here.",
        "Ana: When does the vendor deliver the new printers, on Tuesday?\nTom: Let me look, please wait a while.",
        f"Tom: Good morning to all of you here.\n{PRINTERS}\nAna: {PRINTERS}",
        f"Note: {PRINTERS}\nTom: Good morning to all of you here.\nAna: Hello.",
        "Ana: The vendor does not deliver the new printers on Tuesday.\nTom: Good morning to all of you here.",
    ],
)
def test_nothing_is_said_where_it_may_have_been_said_all_the_same(talk: str) -> None:
    claim = "Tom said the vendor delivers the new printers on Tuesday."
    assert not list(misquoted(claim, talk))
    assert list(misquoted(claim, f"Ana: {PRINTERS}\nTom: Good morning to all of you here."))


def test_to_report_to_someone_is_no_report() -> None:
    talk = "Ana: Ana leads the whole sales team.\nBo: Good morning to all of you here."
    assert not list(misquoted("Bo reports to Ana who leads the whole sales team.", talk))


def test_a_short_turn_is_no_cell_of_a_record() -> None:
    talk = "Dr Reed: And aspirin?\nPatient: I take aspirin every day.\nDr Reed: Noted."
    assert not rule_results(Query("Dr. Reed said the patient takes aspirin every day.", talk))
