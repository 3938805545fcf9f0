"""Word files: what a reader sees of them, at a cost that their contents bound."""

from __future__ import annotations

import pytest
from tests.conversion.documents import cell, docx, paragraph, table

from groundwire.conversion import markup
from groundwire.conversion.markup import word_text
from groundwire.errors import InputError

LIMIT = 1_000_000


def text(body: str, limit: int = LIMIT) -> str:
    return word_text(docx(body), "a.docx", limit)


def test_headings_and_lists_have_their_marks_in_any_language_of_word() -> None:
    body = paragraph("Sights", "berschrift1") + paragraph("a tower", "Liste") + paragraph("It is tall.")
    assert text(body) == "# Sights\n\n- a tower\n\nIt is tall."


def test_tracked_and_wrapped_text_is_read_and_deleted_text_is_not() -> None:
    inserted = "<w:ins><w:r><w:t> tall</w:t></w:r></w:ins>"
    deleted = "<w:del><w:r><w:delText> small</w:delText></w:r></w:del>"
    link = "<w:hyperlink><w:r><w:t> tower</w:t></w:r></w:hyperlink>"
    body = f"<w:p><w:r><w:t>A</w:t></w:r>{inserted}{deleted}{link}</w:p>"
    wrapped = f"<w:sdt><w:sdtContent>{paragraph('In a content control.')}</w:sdtContent></w:sdt>"
    assert text(body + wrapped) == "A tall tower\n\nIn a content control."


def test_breaks_and_tabs() -> None:
    page_break = '<w:br w:type="page"/>'
    body = f"<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t>{page_break}<w:t>d</w:t></w:r></w:p>"
    assert text(body) == "a\tb\ncd"


def test_a_cell_that_spans_columns_is_written_once_and_keeps_them_in_line() -> None:
    body = table(
        [cell("City"), cell("Year"), cell("People")], [cell("All of them", '<w:gridSpan w:val="2"/>'), cell("864")]
    )
    assert text(body) == "City | Year | People\n---|---\nAll of them |  | 864"


def test_a_span_beyond_the_table_costs_nothing() -> None:
    wide = [cell("a", '<w:gridSpan w:val="3000"/>')]
    assert text(table(*[wide] * 300)).count("a") == 300
    assert len(text(table(*[wide] * 300))) < 1000


def test_a_cell_that_spans_rows_is_in_each_of_them() -> None:
    body = table(
        [cell("2024", '<w:vMerge w:val="restart"/>'), cell("Lyon")],
        [cell("", "<w:vMerge/>"), cell("Nice")],
        [cell("2025"), cell("Nice")],
    )
    assert text(body) == "2024 | Lyon\n---|---\n2024 | Nice\n2025 | Nice"


def test_a_long_cell_that_spans_many_rows_stops_at_the_limit() -> None:
    rows = [[cell("x" * 1000, '<w:vMerge w:val="restart"/>')], *[[cell("", "<w:vMerge/>")]] * 1000]
    with pytest.raises(InputError, match="unpacks to more than 100,000 characters"):
        text(table(*rows), 100_000)


def test_text_of_a_table_within_a_cell() -> None:
    inner = f"<w:tc>{table([cell('in'), cell('side')])}{paragraph('out')}</w:tc>"
    assert text(table([inner, cell("x")])) == "in side out | x"


def test_cells_and_tags_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_CELLS", 100)
    rows = [[cell("x")] * 10, *[[cell("x", '<w:gridSpan w:val="10"/>')]] * 10]
    with pytest.raises(InputError, match="more than 100 table cells"):
        text(table(*rows))
    monkeypatch.setattr(markup, "MAX_TAGS", 100)
    with pytest.raises(InputError, match="tags"):
        text(paragraph("x") * 100)


def test_what_is_no_text_is_not_unpacked() -> None:
    body = paragraph("Some text.")
    assert word_text(docx(body, picture=b"not XML"), "a.docx", LIMIT) == "Some text."
    with pytest.raises(InputError, match="unpacks to more than 20 times"):
        word_text(docx(body, bomb=b"0" * 3_000_000), "a.docx", 100_000)
