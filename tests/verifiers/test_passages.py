"""Contexts as passages, and which of them a claim is read against."""

from __future__ import annotations

from math import isfinite

from groundwire.verifiers.features import NAMES, Rarity, Reader
from groundwire.verifiers.passages import passages
from groundwire.verifiers.select import Selector, joined

WEEK = '{"hours": {"Monday": "9:0-17:0", "Tuesday": "9:0-17:0", "Saturday": "10:0-12:30"}, "WiFi": null}'


def test_a_week_is_one_passage_with_equal_days_joined() -> None:
    assert passages(WEEK)[0].text == (
        "hours: Monday to Tuesday 9:00 to 17:00; Wednesday to Friday closed; Saturday 10:00 to 12:30; Sunday closed"
    )


def test_what_is_not_stated_says_so() -> None:
    assert passages(WEEK)[1].text == "wi fi: not stated"


def test_flags_of_one_kind_are_one_passage() -> None:
    context = '{"attributes": {"Ambience": {"casual": true, "romantic": false, "classy": false}}}'
    assert [p.text for p in passages(context)] == ["ambience: casual: yes; romantic, classy: no"]


def test_who_speaks_stays_with_a_long_turn() -> None:
    turn = "I checked the calendar twice and they can only deliver the new printers on Tuesday, not before."
    assert [p.text for p in passages(f"Ana: {turn}\nTom: Fine.")] == [f"Ana: {turn}", "tom: Fine."]


def test_removed_evidence_is_no_passage() -> None:
    assert passages("[S0] [EVIDENCE REMOVED]") == []


def test_a_short_context_is_read_whole() -> None:
    context = "The tower is tall. Bread is white."
    assert Selector(passages(context)).evidence("Something else.", 64) == context


def test_each_part_of_a_claim_finds_its_own_evidence() -> None:
    filler = " ".join(f"Sentence number {n} is about nothing much at all." for n in range(30))
    context = f"Anna founded the company in Lyon. {filler} Its revenue was 5 million euros last year."
    chosen = Selector(passages(context)).evidence("Anna founded the company, whose revenue was 5 million.", 30)
    assert "Anna founded" in chosen
    assert "revenue was 5 million" in chosen


def test_pieces_without_a_full_stop_are_kept_apart() -> None:
    assert joined(passages('{"city": "Lyon", "people": 5}')) == "city: Lyon; people: 5"


def test_features_have_one_value_per_name_and_tell_a_wrong_number() -> None:
    reader = Reader("The tower is 330 metres tall.", Rarity({"the": 1996, "tower": 3578}))
    right, wrong = (
        dict(zip(NAMES, reader.features(f"The tower is {n} metres tall."), strict=True)) for n in (330, 999)
    )
    assert right["numbers_new"] == 0
    assert wrong["numbers_new"] == 1
    assert wrong["numbers_near_conflict"] == 1


def test_features_of_nothing_are_finite() -> None:
    reader = Reader("", Rarity({}))
    assert all(isfinite(value) for value in reader.features(""))
