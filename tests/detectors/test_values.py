"""Whether words mean a known value, and what must stand there instead."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from groundwire.detectors.context import KBSnapshot
from groundwire.detectors.kb_lookup import Comparison, compare, replacement
from groundwire.types import Entity, Value, ValueKind

NOW = datetime(2026, 6, 15)  # a Monday
PARTNER = Entity("rl", "Robert Lang", "person", ("Bob Lang",))
KNOWN = KBSnapshot(entities={"rl": PARTNER})
NUMBER, DATE, REFERENCE = ValueKind.NUMBER, ValueKind.DATE, ValueKind.REFERENCE

CASES = [
    (Value("5 kg", NUMBER, 5.0, "kg"), "5,000 grams", "same"),
    (Value("5 kg", NUMBER, 5.0, "kg"), "6 kg", "different"),
    (Value("5 kg", NUMBER, 5.0, "kg"), "12 euros", "open"),
    (Value("750", NUMBER, 750.0), "about 740", "same"),
    (Value("750", NUMBER, 750.0), "500", "different"),
    (Value("750", NUMBER, 750.0), "many", "open"),
    (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "5 May 2024", "same"),
    (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "May 2024", "same"),
    (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "2023", "different"),
    (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "Sunday", "same"),
    (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "Monday", "different"),
    (Value("2026-06-16", DATE, day=date(2026, 6, 16)), "tomorrow", "same"),
    (Value("Tuesday"), "tomorrow", "same"),
    (Value("Friday"), "tomorrow", "different"),
    (Value("1998"), "in 1989", "different"),
    (Value("1998"), "the 1990s", "same"),
    (Value("14:30"), "2:30 pm", "same"),
    (Value("14:30"), "9 am", "different"),
    (Value("Robert Lang", REFERENCE, entity="rl"), "Bob Lang", "same"),
    (Value("Robert Lang", REFERENCE, entity="rl"), "Lang", "same"),
    (Value("Robert Lang", REFERENCE, entity="rl"), "Ann Lee", "different"),
    (Value("Human Resources"), "the HR department", "same"),
    (Value("Engineering"), "the Marketing department", "different"),
    (Value("Hamburg"), "Hamburg, Germany", "same"),
    (Value("Hamburg"), "Germany", "open"),
    (Value("Hamburg"), "Berlin", "different"),
    (Value("active"), "running", "same"),
    (Value("a@b.example"), "A@b.example", "same"),
    (Value("a@b.example"), "c@b.example", "different"),
]


@pytest.mark.parametrize(("value", "said", "verdict"), CASES, ids=[f"{v.text}~{s}" for v, s, _ in CASES])
def test_values_compare(value: Value, said: str, verdict: str) -> None:
    assert compare(value, said, KNOWN, NOW) is Comparison(verdict)


@pytest.mark.parametrize(
    ("value", "said", "fixed"),
    [
        (Value("Engineering"), "the Marketing department", "the Engineering department"),
        (Value("Engineering department"), "the Marketing department", "the Engineering department"),
        (Value("59 USD", NUMBER, 59.0, "USD"), "$49", "$59"),
        (Value("6", NUMBER, 6.0, "kg"), "5 kg", "6 kg"),
        (Value("14500", NUMBER, 14500.0, "EUR"), "9,000 euros", "14,500 euros"),
        (Value("750", NUMBER, 750.0), "500", "750"),
        (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "3 March 2023", "5 May 2024"),
        (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "March 3, 2023", "May 5, 2024"),
        (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "2023-03-03", "2024-05-05"),
        (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "1999", "2024"),
        (Value("2024-05-05", DATE, day=date(2024, 5, 5)), "Monday", "Sunday"),
        (Value("Wednesday"), "next Tuesday", "next Wednesday"),
        (Value("14:30"), "9:00", "14:30"),
        (Value("accountant"), "a lawyer", "an accountant"),
        (Value("Robert Lang", REFERENCE, entity="rl"), "Ann Lee", "Robert Lang"),
    ],
)
def test_the_fix_replaces_the_wrong_words_and_then_agrees(value: Value, said: str, fixed: str) -> None:
    repair = replacement(value, said, KNOWN)
    assert repair is not None
    assert said[: repair.start] + repair.text + said[repair.end :] == fixed
    assert compare(value, fixed, KNOWN, NOW) is Comparison.SAME
