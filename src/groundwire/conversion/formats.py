"""Bytes of a file to text: HTML, PDF, Word and CSV are converted, everything else is text already.

What comes from outside is bounded and inert: no network, no entity expansion, no unpacking beyond a limit.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from groundwire.conversion.bounds import MAX_TAGS, joined, too_many_tags
from groundwire.conversion.records import Named, named_in
from groundwire.errors import InputError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PAGE_ENCODINGS = frozenset((
    "ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic",
    "tis-620", "gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs", "euc_jp", "iso2022_jp", "shift_jis",
    "cp932", "euc_kr", "cp949", "cp866", "cp874", *(f"cp{page}" for page in range(1250, 1259)),
    *(f"iso8859-{part}" for part in range(1, 17)),
))  # fmt: skip
"""What browsers read, by Python's names. Its other codecs are no encodings of pages, and some are slow."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:\-]{2,40})", re.IGNORECASE)
_QUOTED_CELL = re.compile(r'(?:^|(?<=[,;\t]))"(?:[^"]|"")*+"(?=[,;\t\r\n]|\Z)', re.MULTILINE)
_LINE_ENDS = re.compile(r"\s*[\r\n]+\s*")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class FileInput:
    """What is known about the bytes of a file: its name (for messages), its ending and its limit.

    `origin` is the name that its sources get. `split` is whether JSON may name several sources.
    """

    name: str
    suffix: str
    max_bytes: int
    origin: str = ""
    split: bool = True


def read_document(data: bytes, file: FileInput) -> list[Named]:
    """The sources in a file. Raises InputError if it cannot be read or is empty."""
    convert = CONVERTERS.get(kind_of(data, file.suffix))
    text = convert(data, file.name, file.max_bytes) if convert else decode(data, file.name)
    if not text.strip():
        raise InputError(f"{file.name} is empty", hint="give some text")
    if not file.split:
        return [Named(text, file.origin)]
    return named_in(text, file.suffix.lower(), file.origin, strict=bool(file.origin), name=file.name)


def kind_of(data: bytes, suffix: str) -> str:
    """The ending that says how to read the data: the file's own, or that of what the data announces."""
    return suffix.lower() if suffix.lower() in CONVERTERS else sniff(data)


def sniff(data: bytes) -> str:
    """The ending that data without a name would have: PDF, Word and HTML announce themselves."""
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if data.startswith(b"PK\x03\x04") and b"word/" in data[:4096]:
        return ".docx"
    start = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return ".html" if start.startswith((b"<!doctype html", b"<html")) else ""


def decode(data: bytes, name: str) -> str:
    """UTF-8, or UTF-16/32 that says so with a byte order mark."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decoded(data, encoding, name)
    if b"\x00" in data:
        raise _binary(name)
    return _decoded(data, "utf-8", name)


def _decoded(data: bytes, encoding: str, name: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if _CONTROL.search(data[:4096].decode("latin-1")):
            raise _binary(name) from None
        convert = f"iconv -f WINDOWS-1252 -t UTF-8 {name} > {name}.utf8"
        message = f"{name} is not valid {encoding.upper().removesuffix('-SIG')} at byte {error.start}"
        raise InputError(message, hint=f"convert it, for example {convert}") from None
    if "\x00" in text:
        raise _binary(name)
    return text


def _binary(name: str) -> InputError:
    return InputError(f"{name} is a binary file", hint="give text, Markdown, HTML, PDF, docx, JSON or CSV")


def html_text(data: bytes, name: str, max_bytes: int) -> str:
    """The readable text of a page; headings, lists and tables keep their shape."""
    from lxml import etree

    from groundwire.conversion.page import page_text

    text = _declared(data, name) or decode(data, name)
    if text.count("<") > MAX_TAGS:
        raise too_many_tags(name)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if parser.error_log.filter_from_fatals():  # the parser would return what stands before the error
        raise InputError(f"{name} nests its elements too deeply", hint="save it as plain text")
    return joined([_BLANK_LINES.sub("\n\n", page_text(root))], name, max_bytes) if root is not None else ""


def _declared(data: bytes, name: str) -> str | None:
    """The page in the encoding that it declares, if it is in that encoding."""
    match = _CHARSET.search(data[:4096])
    if not match or data.startswith(tuple(bom for bom, _ in _BOMS)):
        return None
    label = match[1].decode("ascii", "replace")
    try:
        encoding = codecs.lookup(label).name
    except LookupError:
        encoding = ""
    if encoding not in _PAGE_ENCODINGS:
        raise InputError(f"{name} declares the unknown encoding {label!r}", hint="save it as UTF-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def pdf_text(data: bytes, name: str, max_bytes: int) -> str:
    """The text of a PDF, page after page."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # the one line of the error is enough
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise InputError(f"{name} is an encrypted PDF", hint="save it without a password first")
    text = joined((page.extract_text() for page in reader.pages), name, max_bytes)
    if not text:
        raise InputError(
            f"{name} is a PDF without text (a scan?)", hint="run text recognition (OCR) on it first"
        )
    return text


def csv_text(data: bytes, name: str, max_bytes: int) -> str:  # noqa: ARG001
    """The rows of a table, one a line: a line end within a quoted cell becomes a space."""
    return _QUOTED_CELL.sub(lambda cell: _LINE_ENDS.sub(" ", cell[0]), decode(data, name))


def docx_text(data: bytes, name: str, max_bytes: int) -> str:
    """Paragraphs and tables of a Word file, in order."""
    from groundwire.conversion.word import word_text

    return word_text(data, name, max_bytes)


Converter = Callable[[bytes, str, int], str]

CONVERTERS: dict[str, Converter] = {
    ".html": html_text,
    ".htm": html_text,
    ".xhtml": html_text,
    ".csv": csv_text,
    ".tsv": csv_text,
    ".pdf": pdf_text,
    ".docx": docx_text,
}


@dataclass(frozen=True, slots=True)
class Parser:
    """A library that reads a format, and how messages call the format."""

    label: str
    module: str


_HTML = Parser("HTML", "lxml.etree")
PARSED = {
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".pdf": Parser("PDF", "pypdf"),
    ".docx": Parser("docx", "groundwire.conversion.word"),
}
"""Endings of the formats that need a parser, which may take any time and memory on what strangers wrote."""
