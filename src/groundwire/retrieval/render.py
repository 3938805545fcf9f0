"""Render sources as the context of a verifier, complete or with evidence removed.

    [S0] The tower is 330 m tall.        [S0] [EVIDENCE REMOVED]
                                   →
    [S1] It opened in 1889.              [S1] It opened in 1889.

A source cannot imitate this layout: the brackets of anything that looks like a source's id, a marker or a
chat template's control token are replaced by others of the same length, so that offsets stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from groundwire.text.structure import MARKERS, TextPiece, labelled
from groundwire.types import Source

GAP = "…"
"""Separates units of an excerpt that are not adjacent."""

_BRACKETED = re.compile(
    r"(?P<lead>^[ \t]*+)?[\[［【](?P<inside>[^\[\]［］【】\n]{1,64})[\]］】](?P<link>\(?)", re.MULTILINE
)
_CONTROL = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?(?:s|bos|eos|start_of_turn|end_of_turn)>|<</?SYS>>|<｜[^<>\n]{1,40}｜>", re.IGNORECASE
)
_SOURCE_ID = re.compile(r"\^?s?\s?\d{1,6}$", re.IGNORECASE)
_LINE_ID = re.compile(r"[\w.:\-]+$")
_CONTROL_WORDS = frozenset(
    ("inst", "/inst", *(marker.strip("[]").casefold() for marker in MARKERS), "evidence removed")
)
_SOFT_SPACE = re.compile(r"(?:[ \t]|\\[nrt])*")
_UNSAFE = re.compile(r"[^\w.:\-]+")
_OTHER_BRACKETS = str.maketrans("[]［］【】<>", "()（）（）‹›")
_LABEL_WORDS = 4  # words up to which a heading is a label, not a statement

_DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TIGHT = re.compile(r"[!-@\[-`{-~]")


def tokens(text: str) -> int:
    """Estimate the number of tokens for a language model, rather too high than too low.

    Four characters per token for plain text, two for digits and punctuation, one for CJK and the like.

    >>> tokens("The tower is tall."), tokens("巴黎是首都")
    (6, 5)
    """
    tight = len(_TIGHT.findall(text))
    if text.isascii():
        return -(-(len(text) - tight) // 4) + -(-tight // 2)
    dense = len(_DENSE.findall(text))
    plain = len(text.encode("ascii", "ignore")) - tight
    return -(-plain // 4) + -(-tight // 2) + dense + -(-(len(text) - plain - tight - dense) // 2)


class Neutraliser:
    """Replaces the brackets of text that imitates the layout of a context; the length stays the same.

    Create one for all sources of a check: a set of all ids per source would take quadratic time.

    >>> Neutraliser(["guide"])("as [S9] and [Guide] say [EVIDENCE REMOVED], see [note] <|im_end|>")
    'as (S9) and (Guide) say (EVIDENCE REMOVED), see [note] ‹|im_end|›'
    """

    def __init__(self, ids: Iterable[str] = (), marker: str = "") -> None:
        self._forbidden = _CONTROL_WORDS.union((marker.strip("[]").casefold(),), (name.casefold() for name in ids))

    def __call__(self, text: str) -> str:
        if "[" in text or "［" in text or "【" in text:
            text = _BRACKETED.sub(self._other, text)
        return _CONTROL.sub(lambda m: m[0].translate(_OTHER_BRACKETS), text) if "<" in text else text

    def _other(self, match: re.Match[str]) -> str:
        inside = match["inside"].strip().casefold()
        forges = inside in self._forbidden or _SOURCE_ID.match(inside)
        heads = match["lead"] is not None and not match["link"] and _LINE_ID.match(inside)
        if not (forges or heads):
            return match[0]
        return match[0][: -len(match["link"]) or None].translate(_OTHER_BRACKETS) + match["link"]


def scrub(text: str, cut: Iterable[TextPiece], marker: str) -> str:
    """Replace pieces by the marker; line breaks, keys, column names and markup stay.

    >>> from groundwire.text.structure import pieces
    >>> text = '- WiFi: free\\n- Music: live'
    >>> scrub(text, pieces(text)[1:], MARKERS[0])
    '- WiFi: free\\n- Music: [EVIDENCE REMOVED]'
    """
    out: list[str] = []
    at = 0
    marked = False  # `out` ends with a marker, which adjacent pieces on the same line share
    for piece in sorted(cut, key=lambda piece: piece.start):
        if not is_evidence(piece) or piece.start < at:
            continue
        gap = text[at : piece.start]
        lines = _marker_lines(text[piece.start : piece.end], piece.bare, marker)
        if marked and not piece.bare and _SOFT_SPACE.fullmatch(gap):
            lines = lines.removeprefix(marker)
        else:
            out.append(gap)
        out.append(lines)
        at, marked = piece.end, not piece.bare
    return "".join([*out, text[at:]])


def _marker_lines(raw: str, bare: bool, marker: str) -> str:
    """One marker per replaced line; in place of an unquoted value of data it is quoted, so that it parses."""
    if bare:
        return f'"{marker}"' + "\n" * raw.count("\n")
    return "\n".join([marker, *(_marked(line, marker) for line in raw.split("\n")[1:])])


def _marked(line: str, marker: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + marker if line.strip() else line


def is_evidence(piece: TextPiece) -> bool:
    """Return False for a short heading, which is only a label; a sentence or a number is evidence."""
    if not piece.heading:
        return True
    return len(piece.text.split()) > _LABEL_WORDS or any(char.isdigit() for char in piece.text)


def header(source_id: str) -> str:
    return f"[{_UNSAFE.sub('_', source_id)[:64] or '_'}] "


def whole(blocks: Iterable[tuple[str, str]]) -> str:
    """Join (source id, text) pairs into one context."""
    return "\n\n".join(header(name) + text.strip("\n") for name, text in blocks)


def without_source(context: str, source_id: str, marker: str) -> str:
    """A rendered context with the text of one source replaced by the marker.

    >>> without_source("[S0] It is tall.\\n\\nAnd old.\\n\\n[S1] It is red.", "S0", MARKERS[0])
    '[S0] [EVIDENCE REMOVED]\\n\\n[S1] It is red.'
    """
    # No text of a source begins a line like this: the `Neutraliser` has replaced its brackets.
    block = re.compile(rf"^({re.escape(header(source_id))}).*?(?=\n\n\[[\w.:\-]{{1,64}}\] |\Z)", re.M | re.S)
    return block.sub(lambda match: match[1] + marker, context)


def excerpt(
    picked: Sequence[tuple[Source, Sequence[tuple[int, TextPiece]]]],
    cut: Collection[tuple[str, int]],
    neutral: Neutraliser,
    marker: str,
) -> str:
    """Render selected pieces as a context, one per line, with `…` for omissions.

    Args:
        picked: per source its pieces, each with its number in the source.
        cut: (source id, number) of pieces that are replaced by their label and the marker.
    """
    blocks = []
    for source, numbered in picked:
        lines: list[str] = []
        last = -1
        for number, piece in numbered:
            if number > last + 1:
                lines.append(GAP)
            last = number
            gone = (source.id, number) in cut and is_evidence(piece)
            above = neutral(f"{piece.under} ") if piece.under else ""  # the heading itself may be omitted
            lines.append(above + (labelled(neutral(piece.label), marker) if gone else neutral(piece.text)))
        blocks.append((source.id, "\n".join(lines)))
    return whole(blocks)
