"""Bytes of a file to the text of a source: HTML, PDF, Word and CSV are converted, everything else is text.

What comes from outside is bounded and inert: no network, no entity expansion, no unpacking beyond a limit.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from groundwire.errors import InputError

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

UNPACKED_FACTOR = 20
"""How much larger than the limit for files a Word file's or a PDF's contents may be."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:\-]{2,40})", re.IGNORECASE)
_QUOTED_CELL = re.compile(r'(?:^|(?<=[,;\t]))"(?:[^"]|"")*+"(?=[,;\t\r\n]|\Z)', re.MULTILINE)
_LINE_ENDS = re.compile(r"\s*[\r\n]+\s*")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")

# pypdf and python-docx raise whatever their parsers stumble over in a broken file.
_BROKEN = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, AssertionError,
    ArithmeticError, NotImplementedError, OSError, EOFError, struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


def decode(data: bytes, name: str) -> str:
    """UTF-8, or UTF-16/32 that says so with a byte order mark."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decoded(data, encoding, name)
    if b"\x00" in data:
        raise InputError(f"{name} is a binary file", hint="give text, Markdown, HTML, PDF, docx, JSON or CSV")
    return _decoded(data, "utf-8", name)


def _decoded(data: bytes, encoding: str, name: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if _CONTROL.search(data[:4096].decode("latin-1")):
            hint = "give text, Markdown, HTML, PDF, docx, JSON or CSV"
            raise InputError(f"{name} is a binary file", hint=hint) from None
        convert = f"iconv -f WINDOWS-1252 -t UTF-8 {name} > {name}.utf8"
        message = f"{name} is not valid {encoding.upper().removesuffix('-SIG')} at byte {error.start}"
        raise InputError(message, hint=f"convert it, for example {convert}") from None
    if "\x00" in text:
        raise InputError(f"{name} is a binary file", hint="give text, Markdown, HTML, PDF, docx, JSON or CSV")
    return text


def html_text(data: bytes, name: str) -> str:
    """The readable text of a page; headings, lists and tables keep their shape."""
    from lxml import etree, html

    from groundwire.retrieval.page import page_text

    parser = html.HTMLParser(
        encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    text = _declared(data) or decode(data, name)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError) as error:
        raise InputError(
            f"{name} is not readable as HTML ({_first(error)})", hint="save it as plain text"
        ) from None
    return _BLANK_LINES.sub("\n\n", page_text(root)).strip()


def _declared(data: bytes) -> str | None:
    """The page in the encoding it declares itself, if that holds."""
    match = _CHARSET.search(data[:4096])
    if not match or data.startswith(tuple(bom for bom, _ in _BOMS)):
        return None
    try:
        return data.decode(match[1].decode("ascii"))
    except (LookupError, UnicodeDecodeError):
        return None


def pdf_text(data: bytes, name: str, max_bytes: int) -> str:
    """The text of a PDF, page after page."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        with _quiet("pypdf"):
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise InputError(f"{name} is an encrypted PDF", hint="save it without a password first")
            text = _joined((page.extract_text() for page in reader.pages), name, max_bytes)
    except InputError:
        raise
    except (PyPdfError, *_BROKEN) as error:
        raise InputError(
            f"{name} is not a readable PDF ({_first(error)})", hint="repair it or save it as text"
        ) from None
    if not text.strip():
        raise InputError(
            f"{name} is a PDF without text (a scan?)", hint="run text recognition (OCR) on it first"
        )
    return text


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """What a parser logs about a broken file would stand beside the one line that says what to do."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _joined(pages: Iterator[str], name: str, max_bytes: int) -> str:
    found: list[str] = []
    size = 0
    for page in pages:
        size += len(page)
        if size > max_bytes * UNPACKED_FACTOR:
            raise InputError(
                f"{name} unpacks to too much text", hint="split it, or raise limits.max_source_bytes"
            )
        found.append(page.replace("\x00", "").strip())
    return "\n\n".join(page for page in found if page)


def docx_text(data: bytes, name: str, max_bytes: int) -> str:
    """Paragraphs and tables of a Word file, in order."""
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    if data.startswith(b"\xd0\xcf\x11\xe0"):  # the container that Word uses for a file with a password
        raise InputError(
            f"{name} is an encrypted or old Word file", hint="save it as docx without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(part.file_size for part in archive.infolist()) > max_bytes * UNPACKED_FACTOR:
                hint = "split it, or raise limits.max_source_bytes"
                raise InputError(f"{name} unpacks to more than {UNPACKED_FACTOR} times the limit", hint=hint)
        document = docx.Document(io.BytesIO(data))
        lines = [_block(block) for block in document.iter_inner_content()]
    except InputError:
        raise
    except (OpcError, LxmlError, *_BROKEN) as error:
        hint = "repair it or save it as text"
        raise InputError(f"{name} is not a readable docx file ({_first(error)})", hint=hint) from None
    return "\n\n".join(line for line in lines if line.strip())


def _block(block: Paragraph | Table) -> str:
    if hasattr(block, "rows"):
        rows = [" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in block.rows]
        rule = ["---|---"] if len(rows) > 1 and "|" in rows[0] else []
        return "\n".join([*rows[:1], *rule, *rows[1:]])
    style = (block.style.name or "") if block.style is not None else ""
    if style.startswith(("Heading", "Title")):
        return f"# {block.text.strip()}"
    return f"- {block.text.strip()}" if style.startswith("List") else str(block.text)


def _first(error: Exception) -> str:
    """The beginning of what a parser said."""
    said = " ".join(str(error).split())[:80]
    return said or type(error).__name__


def csv_text(data: bytes, name: str) -> str:
    """The rows of a table, one a line: a line end within a quoted cell becomes a space."""
    return _QUOTED_CELL.sub(lambda cell: _LINE_ENDS.sub(" ", cell[0]), decode(data, name))


Converter = Callable[[bytes, str, int], str]

CONVERTERS: dict[str, Converter] = {
    ".html": lambda data, name, _: html_text(data, name),
    ".htm": lambda data, name, _: html_text(data, name),
    ".xhtml": lambda data, name, _: html_text(data, name),
    ".csv": lambda data, name, _: csv_text(data, name),
    ".tsv": lambda data, name, _: csv_text(data, name),
    ".pdf": pdf_text,
    ".docx": docx_text,
}


def sniff(data: bytes) -> str:
    """The ending that data without a name would have: PDF, Word and HTML announce themselves."""
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if data.startswith(b"PK\x03\x04") and b"word/" in data[:4096]:
        return ".docx"
    start = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return ".html" if start.startswith((b"<!doctype html", b"<html")) else ""
