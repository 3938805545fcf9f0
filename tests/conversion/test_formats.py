"""Bytes to text: encodings that are known, bounds that are kept, time in proportion to the size."""

from __future__ import annotations

import pytest
from tests.conversion.documents import pdf, pdf_line

from groundwire.conversion import formats
from groundwire.conversion.formats import FileInput, html_text, read_document
from groundwire.errors import InputError

LIMIT = 1_000_000


@pytest.mark.parametrize("label", ["undefined", "punycode", "idna", "unicode_escape", "rot13", "x-nowhere"])
def test_an_unknown_encoding_is_one_line(label: str) -> None:
    page = f"<html><head><meta charset={label}></head><p>text".encode()
    with pytest.raises(InputError, match=f"page.html declares the unknown encoding '{label}'"):
        html_text(page, "page.html", LIMIT)


@pytest.mark.parametrize("label", ["utf-8", "UTF8", "windows-1252", "iso-8859-1", "latin1", "cp1252"])
def test_encodings_of_pages_are_read_by_any_of_their_names(label: str) -> None:
    page = f'<html><head><meta charset="{label}"></head><p>café'.encode(label)
    assert html_text(page, "page.html", LIMIT) == "café"


def test_a_page_with_too_many_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_TAGS", 100)
    with pytest.raises(InputError, match="has more than"):
        html_text(b"<p>x" * 200, "page.html", LIMIT)


def test_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(InputError, match="unpacks to more than 10 characters"):
        formats.joined(["12345", "123456"], "a.pdf", 10)


def test_a_pdf_is_read() -> None:
    (found,) = read_document(pdf(pdf_line("It is tall.")), FileInput("a.pdf", ".pdf", LIMIT, "a.pdf"))
    assert found.text == "It is tall."


def test_a_cell_around_a_table_is_there_for_the_layout() -> None:
    inner = "<table><tr><td>Lyon</td><td>522</td></tr></table>"
    page = f"<table><tr><td><p>Cities</p><p>{inner}</p></td></tr></table>".encode()
    assert html_text(page, "page.html", LIMIT) == "Cities\n\nLyon | 522"


def test_a_page_is_never_cut_off_without_a_word() -> None:
    def page(depth: int) -> bytes:
        return b"<p>before</p>" + b"<div>" * depth + b"inside" + b"</div>" * depth + b"<p>after</p>"

    assert html_text(page(1000), "page.html", LIMIT) == "before\n\ninside\n\nafter"
    with pytest.raises(InputError, match="nests its elements too deeply"):
        html_text(page(3000), "page.html", LIMIT)
