"""Split sources into units, the smallest pieces of evidence."""

from __future__ import annotations

from groundwire.text.structure import TextPiece, pieces
from groundwire.types import EvidenceRef, Source, Unit


def units(source: Source) -> list[Unit]:
    """All units of a source, in order; `source.text[unit.start:unit.end]` is the raw piece.

    >>> [u.text for u in units(Source("S0", '{"WiFi": "free", "Music": false}'))]
    ['WiFi: free', 'Music: no']
    """
    return [unit_of(source.id, piece) for piece in pieces(source.text, rendered=False)]


def unit_of(source: str, piece: TextPiece) -> Unit:
    return Unit(source, piece.start, piece.end, piece.text, piece.kind)


def ref_of(unit: Unit) -> EvidenceRef:
    return EvidenceRef(unit.source, unit.start, unit.end, unit.text)
