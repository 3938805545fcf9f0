"""Files of several formats, made here: nothing binary is kept in the repository."""

from __future__ import annotations

import io
import zipfile

_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{_RELATION}" Target="word/document.xml"/></Relationships>'
)
_STYLES = (
    f'<w:styles xmlns:w="{_MAIN}"><w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/>'
    '</w:style><w:style w:type="paragraph" w:styleId="Liste"><w:name w:val="List Bullet"/></w:style></w:styles>'
)


def docx(body: str, **parts: bytes) -> bytes:
    """A Word file with this body (the prefix `w:` is Word's own namespace), and other parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", _RELATIONS)
        document = f'<w:document xmlns:w="{_MAIN}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", document)
        archive.writestr("word/styles.xml", _STYLES)
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", content)
    return out.getvalue()


def paragraph(text: str, style: str = "") -> str:
    about = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{about}<w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(text: str, about: str = "") -> str:
    return f"<w:tc><w:tcPr>{about}</w:tcPr>{paragraph(text)}</w:tc>"


def table(*rows: list[str]) -> str:
    inner = "".join("<w:tr>" + "".join(cells) + "</w:tr>" for cells in rows)
    return f"<w:tbl>{inner}</w:tbl>"


def pdf(content: bytes) -> bytes:
    """A PDF of one page with this content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
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


def pdf_line(text: str) -> bytes:
    return f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode("latin-1")
