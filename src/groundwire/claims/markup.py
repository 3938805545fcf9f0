"""Strip Markdown, HTML and citation marks from prose and keep the original offset of each character."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from groundwire.claims.assertiveness import reads_as_prose
from groundwire.claims.citations import CitationMark, marks
from groundwire.types import Span

_INLINE = re.compile(
    r"(?P<ticks>`+)"
    r"|(?P<image>!(?=\[))?\[(?P<label>\[[^\[\]\n]{1,40}\]|[^\[\]\n]{0,300})\]"
    r"(?P<target>\((?:[^()\s]|\([^()\s]{0,100}\)){0,800}(?:[ \t]+\"[^\"\n]{0,200}\")?\))"
    r"|(?P<comment><!--)"
    r"|(?P<raised><sup>\[?(?P<number>\d{1,3}(?:,[ ]?\d{1,3}){0,20})\]?</sup>)"
    r"|(?P<tag></?[A-Za-z][^<>]{0,300}>)"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<stars>\*+|~~+|_+)"
    r"|(?P<hidden>[\x00-\x08\x0e-\x1f\x7f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+)",
    re.IGNORECASE,
)
_ALT = re.compile(r"<img\b[^<>]*?\balt\s*=\s*(?P<quote>[\"'])(?P<label>[^<>\"']*)(?P=quote)", re.IGNORECASE)
_LINK_WORDS = re.compile(r"[^*`]+")
_NUMBERED = re.compile(r"\[?\^?(?:[A-Za-z]{1,3})?\d{1,3}\]?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BARE_NOUN = re.compile(
    r"(?:\b(?:to|in|by|from|see|per|of|source|sources|document|documents|passage|passages|reference|ref|both"
    r"|cite|cites|citing|לפי|על פי|ראו|ראה|במקור|מקור|מסמך)|[(])\s*\Z",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\s+and\s+\[|\s+(?:states?|says?|shows?|mentions?|notes?|reports?|explains?|describes?|claims?|argues?|suggests?"
    r"|is|are|was|does|do|provides?|gives?|indicates?|discuss(?:es)?|מציין|קובע|אומר)\b"
)


@dataclass(frozen=True, slots=True)
class PlainText:
    """Plain text: `text[i]` is at `at[i]` in the answer; the `start` of a mark refers to `text`."""

    text: str
    at: Sequence[int]
    marks: tuple[CitationMark, ...] = ()

    def span(self, start: int, end: int) -> Span:
        """The range in the answer of `text[start:end]`."""
        return Span(self.at[start], self.at[end - 1] + 1)


def readable(text: str) -> str:
    """Normalise to one line with single spaces, and replace surrogates that cannot be encoded."""
    return _SURROGATE.sub("\ufffd", " ".join(text.split()))


def strip_markup(answer: str, lines: Sequence[Span], known: Collection[str] = ()) -> PlainText:
    """Strip emphasis, link targets, tags and citation marks from some lines of an answer."""
    raw, at = _joined(answer, lines)
    pieces, code = _unmarked(raw)
    text = "".join(piece for _, piece in pieces)
    where = [at[start + i] for start, piece in pieces for i in range(len(piece))]
    return _uncited(text, where, marks(text, known, _within(pieces, code)))


def _joined(answer: str, lines: Sequence[Span]) -> tuple[str, list[int]]:
    text: list[str] = []
    at: list[int] = []
    for line in lines:
        if text:
            text.append("\n")
            at.append(min(lines[0].end if not at else at[-1] + 1, len(answer) - 1))
        text.append(answer[line.start : line.end])
        at.extend(range(line.start, line.end))
    return "".join(text), at


def _unmarked(raw: str) -> tuple[list[tuple[int, str]], list[tuple[int, int]]]:
    """The remaining text as (offset, piece) pairs, and the ranges that are code."""
    code = _code_spans(raw)
    pieces: list[tuple[int, str]] = []
    done, inner = 0, 0
    comments = raw.rfind("-->")
    for match in _INLINE.finditer(raw):
        while inner < len(code) and code[inner][1] <= match.start():
            inner += 1
        in_code = inner < len(code) and code[inner][0] <= match.start()
        if match.start() < done or (in_code and not match["ticks"] and not match["hidden"]):
            continue
        for start, piece, end in _kept(raw, match, comments):
            pieces.append((done, raw[done : match.start()]))
            pieces.append((start, piece))
            done = end
    pieces.append((done, raw[done:]))
    return [piece for piece in pieces if piece[1]], code


def _kept(raw: str, match: re.Match[str], comments: int) -> Iterator[tuple[int, str, int]]:
    """The replacement of a markup match as (offset, text, end); empty if it is not markup."""
    kind, start, end = match.lastgroup, match.start(), match.end()
    if kind == "comment":
        if comments > start:
            yield start, "", raw.index("-->", start) + 3
    elif match["target"] is not None:
        yield from _link(match)
    elif match["raised"]:
        yield match.start("number") - 1, f"[{match['number']}]", end
    elif match["tag"] and (alt := _ALT.match(raw, start, end)):
        yield from _image_text(alt, end)
    elif match["tag"]:
        yield start, "\n" if match["tag"].lower().startswith(("<br", "</p", "</li", "</div")) else "", end
    elif match["escape"]:
        yield start + 1, raw[start + 1], end
    elif match["stars"]:
        if _is_emphasis(raw, start, end):
            yield start, "", end
    else:
        yield start, "", end


def _link(match: re.Match[str]) -> Iterator[tuple[int, str, int]]:
    """A link is replaced by its text; a link whose text is a number is a citation mark."""
    label, at, end = match["label"], match.start("label"), match.end()
    if match["image"]:
        yield from _image_text(match, end)
    elif label.startswith("["):
        yield at, label, end
    elif _NUMBERED.fullmatch(label):
        yield at - 1, f"[{label}]", end
    else:
        yield at, "", end
        for words in _LINK_WORDS.finditer(label):
            yield at + words.start(), words[0], end


def _image_text(match: re.Match[str], end: int) -> Iterator[tuple[int, str, int]]:
    """What an image shows is no part of the answer, unless its text says something."""
    yield match.start("label"), match["label"] if reads_as_prose(match["label"]) else "", end


def _is_emphasis(raw: str, start: int, end: int) -> bool:
    before, after = raw[start - 1 : start], raw[end : end + 1]
    if raw[start] == "_" or end - start == 1:  # snake_case, 5*3, 4 * 5
        return before.isalnum() != after.isalnum() or not (before.isalnum() or before.isspace() or not before)
    return not (before.isspace() and after.isspace())


def _code_spans(raw: str) -> list[tuple[int, int]]:
    """Backtick runs paired with the next run of the same length."""
    runs = [(match.start(), match.end()) for match in re.finditer(r"`+", raw)]
    waiting: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        waiting.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans, index = [], 0
    while index < len(runs):
        same = waiting[runs[index][1] - runs[index][0]]
        while same and same[-1] <= index:
            same.pop()
        if same:
            spans.append((runs[index][0], runs[same[-1]][1]))
            index = same[-1]
        index += 1
    return spans


def _within(pieces: Sequence[tuple[int, str]], code: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The code ranges of the raw text, in the coordinates of the pieces joined."""
    found, done, inner = [], 0, 0
    for start, piece in pieces:
        while inner < len(code) and code[inner][1] <= start:
            inner += 1
        if inner < len(code) and code[inner][0] <= start:
            found.append((done, done + len(piece)))
        done += len(piece)
    return found


def _uncited(text: str, at: Sequence[int], found: Sequence[CitationMark]) -> PlainText:
    """Remove the marks; one that is part of the sentence ("according to [1]") only loses its brackets."""
    pieces: list[str] = []
    where: list[int] = []
    moved: list[CitationMark] = []
    done, inline = 0, False
    for mark in found:
        inline = _is_word(text, mark) or (inline and text[done : mark.start] in (" and ", ", ", " & "))
        start = mark.start if inline else _before_space(text, done, mark)
        pieces.append(text[done:start])
        where.extend(at[done:start])
        moved.append(CitationMark(len(where), len(where), mark.labels))
        done = mark.end
        if inline:
            pieces.append(text[mark.start + 1 : mark.end - 1])
            where.extend(at[mark.start + 1 : mark.end - 1])
    pieces.append(text[done:])
    where.extend(at[done:])
    return PlainText("".join(pieces), where, tuple(moved))


def _before_space(text: str, done: int, mark: CitationMark) -> int:
    """Start of the removal: includes the space before a mark if punctuation or the end follows."""
    after = text[mark.end : mark.end + 1]
    start = mark.start
    if not after or after in ".,;:!?…。，；：！？)\n[(【" or after.isspace():
        while start > done and text[start - 1] in " \t":
            start -= 1
    return start


def _is_word(text: str, mark: CitationMark) -> bool:
    if text[mark.start] not in "[【":
        return False
    before = text[max(0, mark.start - 40) : mark.start]
    if _BARE_NOUN.search(before):
        return True
    opens = not before.strip() or before.rstrip()[-1] in ".,!?:"
    return opens and bool(_SAYS.match(text, mark.end))
