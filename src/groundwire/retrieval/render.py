"""Sources as the one text that a verifier reads, whole or with evidence taken out.

    [S0] The tower is 330 m tall.        [S0] [EVIDENCE REMOVED]
                                   →
    [S1] It opened in 1889.              [S1] It opened in 1889.

Nothing inside a source can pass for that layout: what looks like a source's id, a marker or a chat
template's control token gets other brackets, of the same length, so that offsets stay true.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from groundwire.text.structure import MARKERS, TextPiece, labelled
from groundwire.types import Source

GAP = "…"
"""Stands between units of an excerpt that do not follow each other."""

_BRACKETED = re.compile(
    r"(?P<lead>^[ \t]*+)?[\[［【](?P<inside>[^\[\]［］【】\n]{1,64})[\]］】](?P<link>\(?)", re.MULTILINE
)
_CONTROL = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?(?:s|bos|eos|start_of_turn|end_of_turn)>|<</?SYS>>|<｜[^<>\n]{1,40}｜>",
    re.IGNORECASE,
)
_SOURCE_ID = re.compile(r"\^?s?\s?\d{1,6}$", re.IGNORECASE)
_LINE_ID = re.compile(r"[\w.:\-]+$")
_WORDS_OF_CONTROL = frozenset(
    ("inst", "/inst", *(marker.strip("[]").casefold() for marker in MARKERS), "evidence removed")
)
_SOFT_SPACE = re.compile(r"(?:[ \t]|\\[nrt])*")
_UNSAFE = re.compile(r"[^\w.:\-]+")
_OTHER_BRACKETS = str.maketrans("[]［］【】<>", "()（）（）‹›")
_LABEL_WORDS = 4

_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_TIGHT = re.compile(r"[!-@\[-`{-~]")


def tokens(text: str) -> int:
    """About how many tokens a language model would see; on the high side rather than the low one.

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
    """Puts whatever could pass for structure in other brackets; a text gets neither longer nor shorter.

    Made once for all sources of a check: a set of ids per text would cost the square of their number.

    >>> Neutraliser(["guide"])("as [S9] and [Guide] say [EVIDENCE REMOVED], see [note] <|im_end|>")
    'as (S9) and (Guide) say (EVIDENCE REMOVED), see [note] ‹|im_end|›'
    """

    def __init__(self, ids: Iterable[str] = (), marker: str = "") -> None:
        self._forbidden = _WORDS_OF_CONTROL.union(
            (marker.strip("[]").casefold(),), (name.casefold() for name in ids)
        )

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
    """The text with the marker where the pieces stood; line breaks, keys, names and marks stay.

    >>> from groundwire.text.structure import pieces
    >>> text = '- WiFi: free\\n- Music: live'
    >>> scrub(text, pieces(text)[1:], MARKERS[0])
    '- WiFi: free\\n- Music: [EVIDENCE REMOVED]'
    """
    out: list[str] = []
    at = 0
    marked = False  # whether `out` ends with a marker that the next one on the same line may join
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
    """A marker for each line of what it replaces; a bare value of data gets quotes, so that it stays data."""
    if bare:
        return f'"{marker}"' + "\n" * raw.count("\n")
    return "\n".join([marker, *(_marked(line, marker) for line in raw.split("\n")[1:])])


def _marked(line: str, marker: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + marker if line.strip() else line


def is_evidence(piece: TextPiece) -> bool:
    """A short heading is a label and stays; one that says something (a sentence, a figure) does not."""
    if not piece.heading:
        return True
    return len(piece.text.split()) > _LABEL_WORDS or any(char.isdigit() for char in piece.text)


def header(source_id: str) -> str:
    return f"[{_UNSAFE.sub('_', source_id)[:64] or '_'}] "


def whole(blocks: Iterable[tuple[str, str]]) -> str:
    """Source ids and texts as one context."""
    return "\n\n".join(header(name) + text.strip("\n") for name, text in blocks)


def excerpt(
    picked: Sequence[tuple[Source, Sequence[tuple[int, TextPiece]]]],
    cut: Collection[tuple[str, int]],
    neutral: Neutraliser,
    marker: str,
) -> str:
    """Picked pieces (with their number in the source) as a context, one a line, `…` where some are left out.

    Pieces named in `cut` (source id, number) show their label and the marker instead of what they say.
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
            above = neutral(f"{piece.under} ") if piece.under else ""  # it may be left out itself
            lines.append(above + (labelled(neutral(piece.label), marker) if gone else neutral(piece.text)))
        blocks.append((source.id, "\n".join(lines)))
    return whole(blocks)
