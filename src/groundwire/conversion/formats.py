"""Bytes of a file to text: HTML, PDF, Word and CSV are converted, everything else is text already.

What comes from outside is bounded and inert: no network, no entity expansion, no unpacking beyond a limit.
"""

from __future__ import annotations

import codecs
import io
import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from groundwire.errors import InputError

# What reading one file may cost: time and memory by its size, and bounds on what it unpacks to.

MAX_TAGS = 2_000_000  # tags in a page or a Word file, opening and closing ones
_MEGABYTE = 1_000_000
_SECONDS_PER_MEGABYTE = {".pdf": 40, ".docx": 10}
_OTHER_SECONDS = 3  # some three times what ordinary files take. PDF and Word files are compressed, so they take more.


def cpu_seconds(size: int, kind: str) -> int:
    """CPU time for a file of `size` bytes: one second for a small one, then in proportion.

    >>> cpu_seconds(20_000, ".pdf"), cpu_seconds(2_000_000, ".pdf"), cpu_seconds(2_000_000, ".html")
    (1, 81, 7)
    """
    return 1 + _SECONDS_PER_MEGABYTE.get(kind, _OTHER_SECONDS) * size // _MEGABYTE


def memory_bytes(size: int) -> int:
    """Memory for a file of `size` bytes, beyond that of the parser itself."""
    return 256 * _MEGABYTE + 25 * size


def too_many_tags(name: str) -> InputError:
    return InputError(f"{name} has more than {MAX_TAGS:,} tags", hint="split it, or save it as plain text")


def joined(parts: Iterable[str], name: str, max_bytes: int) -> str:
    """The parts that say something, with a blank line between them, up to the limit for files."""
    found: list[str] = []
    size = 0
    for part in parts:
        size += len(part)
        if size > max_bytes:
            hint = "split it, or raise limits.max_source_bytes"
            raise InputError(f"{name} unpacks to more than {max_bytes:,} characters", hint=hint)
        found.append(part.replace("\x00", "").strip())
    return "\n\n".join(part for part in found if part)


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
"""Encodings that browsers read, by Python's names. Its other codecs are not used on web pages, and some are slow."""
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

    from groundwire.conversion.markup import page_text

    text = _declared(data, name) or decode(data, name)
    if text.count("<") > MAX_TAGS:
        raise too_many_tags(name)
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
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
        raise InputError(f"{name} is a PDF without text (a scan?)", hint="run text recognition (OCR) on it first")
    return text


def csv_text(data: bytes, name: str, max_bytes: int) -> str:  # noqa: ARG001
    """The rows of a table, one a line: a line end within a quoted cell becomes a space."""
    return _QUOTED_CELL.sub(lambda cell: _LINE_ENDS.sub(" ", cell[0]), decode(data, name))


def docx_text(data: bytes, name: str, max_bytes: int) -> str:
    """Paragraphs and tables of a Word file, in order."""
    from groundwire.conversion.markup import word_text

    return word_text(data, name, max_bytes)


_HTML_SUFFIXES = (".html", ".htm", ".xhtml")
CONVERTERS: dict[str, Callable[[bytes, str, int], str]] = {
    **dict.fromkeys(_HTML_SUFFIXES, html_text),
    **dict.fromkeys((".csv", ".tsv"), csv_text),
    ".pdf": pdf_text,
    ".docx": docx_text,
}
PARSED = {
    **dict.fromkeys(_HTML_SUFFIXES, ("HTML", "groundwire.conversion.markup")),
    ".pdf": ("PDF", "pypdf"),
    ".docx": ("docx", "groundwire.conversion.markup"),
}
"""Formats that need a parser, which may take any time and memory on what strangers wrote: by ending, how messages
call the format, and the module with the parser."""


# JSON and JSONL that name their own sources: `{"S0": "text", …}`, or rows of id and text.

_ID = re.compile(
    r"(?:s|src|source|doc|document|passage|chunk|span|ref|evidence|context|e|d|p)?[ _\-]?\d{1,6}|context", re.IGNORECASE
)
_ID_KEYS = ("id", "sid")
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Named:
    """A source before it has its number: `id` is None where the content does not name it."""

    text: str
    origin: str
    id: str | None = None


def named_in(text: str, suffix: str, origin: str, *, strict: bool, name: str = "the source") -> list[Named]:
    """The sources that a text holds: several where JSON names them, else the text as it is.

    `strict`: a .json or .jsonl file that does not parse is an error; other text is taken as it comes.
    """
    if suffix in (".jsonl", ".ndjson"):
        return _rows(text, origin, name)
    if suffix == ".json" or (not suffix and text.lstrip().startswith(("{", "["))):
        try:
            data = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            if suffix == ".json" and strict:
                raise _broken(name, error) from None
            return [Named(text, origin)]
        return _records(data, origin) or [Named(text, origin)]
    return [Named(text, origin)]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs) and all(_ID.fullmatch(key) for key, _ in pairs):
        raise InputError("a JSON object names the same source twice", hint="give each source an id of its own")
    return dict(pairs)


def _broken(name: str, error: Exception, line: int | None = None) -> InputError:
    if isinstance(error, json.JSONDecodeError):
        where = f"line {line or error.lineno}, column {error.colno}: {error.msg}"
    else:
        where = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:80]
    return InputError(f"{name} is not valid JSON ({where})", hint="repair it, or name it .txt to take it as text")


def _records(data: object, origin: str) -> list[Named]:
    """Sources that parsed JSON names; empty where it is a record like any other."""
    if isinstance(data, dict) and set(data) == {"sources"}:
        return _records(data["sources"], origin)
    if isinstance(data, dict) and data and all(_ID.fullmatch(key) for key in data):
        items = [Named(value, origin, key) for key, value in data.items() if isinstance(value, str) and value.strip()]
        return items if len(items) == len(data) else []
    if isinstance(data, list) and data:
        rows = [_row(item, origin) for item in data]
        return [row for row in rows if row is not None] if all(rows) else []
    return []


def _row(item: object, origin: str) -> Named | None:
    """`{"id": …, "text": …}`; other keys (a score, a title) do not matter. Without an id it is numbered."""
    if not isinstance(item, dict) or not isinstance(item.get("text"), str) or not item["text"].strip():
        return None
    for key in _ID_KEYS:
        if isinstance(item.get(key), str | int) and str(item[key]).strip():
            return Named(item["text"], origin, str(item[key]))
    return Named(item["text"], origin)


def _rows(text: str, origin: str, name: str) -> list[Named]:
    found: list[Named | None] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            try:
                found.append(_row(json.loads(line), origin))
            except (ValueError, RecursionError) as error:
                raise _broken(name, error, number) from None
    named = [row for row in found if row is not None]
    return named if named and len(named) == len(found) else [Named(text, origin)]
