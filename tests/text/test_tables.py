"""Tables are found, prose with commas is not taken for one."""

from __future__ import annotations

import pytest

from groundwire.text.structure import pieces


def texts(text: str) -> list[str]:
    return [piece.text for piece in pieces(text)]


@pytest.mark.parametrize(
    "table",
    [
        "| City | People |\n|---|---:|\n| Lyon | 522 |\n| Nice | 342 |",
        "City | People\nLyon | 522\nNice | 342",
        "City\tPeople\nLyon\t522\nNice\t342",
        "City,People\nLyon,522\nNice,342",
        "City;People\nLyon;522\nNice;342\n",
        '"City","People"\r\n"Lyon","522"\r\n"Nice","342"\r\n',
    ],
)
def test_rows_carry_their_column_names(table: str) -> None:
    assert texts(table) == ["City: Lyon; People: 522", "City: Nice; People: 342"]


def test_offsets_of_a_row_reach_from_its_first_cell_to_its_last() -> None:
    text = "| A | B |\n|---|---|\n| one | two |"
    (row,) = pieces(text)
    assert text[row.start : row.end] == "one | two"


def test_a_caption_is_a_sentence_and_empty_cells_are_left_out() -> None:
    assert texts("Table 1: Results.\nModel | F1 | P\nours | | 0.9") == ["Table 1: Results.", "Model: ours; P: 0.9"]


@pytest.mark.parametrize(
    "prose",
    [
        "Paris, the capital, is old.\nLyon, a city, is big.\nNice, the port, is warm.",
        "In 1889, it opened.\nIn 1937, it burned.",
        "1,000\n2,000\n3,000",
    ],
)
def test_prose_with_commas_stays_prose(prose: str) -> None:
    assert all(piece.kind == "sentence" for piece in pieces(prose))


def test_quoted_fields_keep_their_separators() -> None:
    assert texts('name,place\n"Doe, Jane","Paris ""XV"""\nA,B') == [
        'name: Doe, Jane; place: Paris "XV"',
        "name: A; place: B",
    ]
