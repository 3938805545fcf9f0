"""Files of every format, made here: nothing binary is kept in the repository."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from pypdf import PdfWriter


def _pdf(text: str) -> bytes:
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    xref = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, xref))
    return out.getvalue()


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
