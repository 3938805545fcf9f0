"""Read triples: tab-separated subject, predicate and object, or N-Triples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO
from urllib.parse import unquote

from groundwire.errors import InputError
from groundwire.stores.io_csv import ParsedRow, parse_row, readable
from groundwire.stores.values import typed_value, value_of
from groundwire.types import Entity, Fact, Provenance, Role, Value, ValueKind

_IRI = r"<(?P<{0}>[^<>\"{{}}|^`\\\s]*)>"
_BLANK = r"(?P<{0}>_:[\w.-]+)"
_TRIPLE = re.compile(
    rf"\s*(?:{_IRI.format('s')}|{_BLANK.format('sb')})\s*{_IRI.format('p')}\s*"
    rf"(?:{_IRI.format('o')}|{_BLANK.format('ob')}"
    rf"|\"(?P<text>(?:[^\"\\]|\\.)*)\"(?:\^\^{_IRI.format('kind')}|@(?P<lang>[\w-]+))?)\s*\.\s*(?:#.*)?$",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_NUMBERS = re.compile(r"XMLSchema#(?:integer|decimal|double|float|int|long|short|\w+Integer)$")
_DATES = re.compile(r"XMLSchema#(?:date|gYear|gYearMonth)$")
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://xmlns.com/foaf/0.1/name")
_ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"


def read_triples(file: TextIO, source: str) -> Iterator[ParsedRow]:
    """Tab-separated triples; a predicate with `*` can have several objects."""
    for line, text in enumerate(file, start=1):
        if text.strip() and not (line == 1 and text.lower().split() == ["subject", "predicate", "object"]):
            yield from parse_row(line, lambda text=text: _tabbed(text, source))  # type: ignore[misc]


def _tabbed(text: str, source: str) -> Iterator[Fact]:
    cells = [cell.strip() for cell in readable(text).removeprefix("\ufeff").rstrip("\r\n").split("\t")]
    if len(cells) != 3 or not all(cells):
        raise InputError("is not a subject, a predicate and an object apart by tabs")
    subject, predicate, told = cells
    name = predicate.rstrip("* ")
    roles = (Role("subject", Value(subject, ValueKind.REFERENCE)), Role("object", value_of(told, about=name)))
    yield Fact("", name, roles, provenance=Provenance(source), many=predicate.endswith("*"))


def read_ntriples(file: TextIO, source: str) -> Iterator[ParsedRow]:
    """N-Triples. An entity's id is its IRI; its name is the label, or else the end of the IRI."""
    for line, text in enumerate(file, start=1):
        if text.strip() and not text.lstrip().startswith("#"):
            yield from parse_row(line, lambda text=text: _ntriple(text, source))  # type: ignore[misc]


def _ntriple(text: str, source: str) -> Iterator[Entity | Fact]:
    match = _TRIPLE.match(readable(text).removeprefix("\ufeff"))
    if match is None:
        raise InputError("is no N-Triple", hint='write <subject> <predicate> <object> or "text" .')
    subject, predicate = match["s"] or match["sb"], match["p"]
    told = match["o"] or match["ob"] or ""
    literal = None if match["text"] is None else _unescaped(match["text"])
    if predicate == _TYPE and told:
        yield Entity(subject, _local(subject), _local(told))
    elif predicate in _NAMES and literal:
        yield Entity(subject, literal)
    elif predicate == _ALIAS and literal:
        yield Entity(subject, _local(subject), aliases=(literal,))
    else:
        value = _reference(told) if literal is None else _literal(literal, match["kind"] or "", predicate)
        roles = (Role("subject", _reference(subject)), Role("object", value))
        yield Fact("", _local(predicate), roles, provenance=Provenance(source))


def _reference(identity: str) -> Value:
    return Value(_local(identity), ValueKind.REFERENCE, entity=identity)


def _literal(text: str, kind: str, predicate: str) -> Value:
    if _NUMBERS.search(kind):
        return typed_value(text, "number")
    if _DATES.search(kind):
        return typed_value(text, "date")
    return Value(text) if kind else value_of(text, about=_local(predicate))


def _local(iri: str) -> str:
    """The last segment of an IRI as a readable name."""
    end = re.split(r"[/#:]", iri.rstrip("/#"))[-1]
    return unquote(end).replace("_", " ").strip() or iri


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code:
            return chr(int(code, 16)) if int(code, 16) < 0x110000 else "\ufffd"
        if match[3] not in _PLAIN:
            raise InputError(f"has the unknown escape \\{match[3]}")
        return _PLAIN[match[3]]

    return _ESCAPE.sub(plain, text)
