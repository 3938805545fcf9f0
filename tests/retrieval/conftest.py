"""Files of every format, made here: nothing binary is kept in the repository."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from pypdf import PdfWriter
from tests.conversion import documents


def _pdf(text: str) -> bytes:
    return documents.pdf(documents.pdf_line(text))


@pytest.fixture
def pdf() -> Callable[[str], bytes]:
    return _pdf


@pytest.fixture
def encrypted_pdf() -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(_pdf("secret")))
    writer.encrypt("password", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.fixture
def word(tmp_path: Path) -> bytes:
    document = docx.Document()
    document.add_heading("Sights", level=1)
    document.add_paragraph("The tower is 330 m tall. It opened in 1889.")
    document.add_paragraph("one point", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, cells in enumerate((("City", "People"), ("Lyon", "522,000"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
