"""Sentence segmentation of plain prose with exact offsets.

Linear time: every stop is examined once, with bounded look-behind and a look-ahead that never passes the next
stop, so that a megabyte of dots or brackets costs no more than a megabyte of prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from groundwire._loop import check_cancelled
from groundwire.text.lexicon import word_set, word_table
from groundwire.text.markdown import NEWLINE, Block, BlockKind, blocks
from groundwire.types import Span

__all__ = ["Block", "BlockKind", "Span", "blocks", "sentences"]

# Stops of scripts without a space after a sentence.
_UNSPACED_STOPS = "。！？｡︒॥।։"
_STOP = re.compile(rf"[.!?…؟۔؞‼⁇⁈⁉{_UNSPACED_STOPS}]+|[•▪●‣◦](?=\s)")
_CLOSERS = re.compile(r"[\"'”’»›)\]}】』」》〉）］＂＇*_`~]*")
_SPACE = re.compile(r"\s*")
_OPENERS = re.compile(r"[\"'“‘«‹(\[{【「『《〈（［*_`~¿¡#>\-–—]*")
_MARKS = re.compile(
    r"(?:[ \t]?(?:\[\^?[A-Za-z]{0,3}\d{1,4}(?:\s?[,;\-–]\s?\^?[A-Za-z]{0,3}\d{1,4}){0,20}\]"
    r"|【[^】\n]{1,80}】|[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,6}|\(S\d{1,4}(?:,\s?S\d{1,4}){0,20}\)))+"
)
_TOKEN_BEFORE = re.compile(r"[^\s\"'“”‘’()\[\]{}«»*_`,;:—–/]*\Z")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
_NUMERAL = re.compile(r"[0-9]{1,3}|[ivxIVX]{1,5}|[^\W\d_]")
_QUOTES = ('"', "'", "’", "״", "׳")
_LOOK_BACK = 40  # characters before a stop that are examined: longer than any word or abbreviation
_WRAP_WIDTH = 50  # characters; shorter lines are not hard-wrapped prose
_RAGGED = 12  # characters that a hard-wrapped line may end early, besides the next word


_TITLES, _OPEN, _BEFORE_NUMBER, _MIDDLE, _STARTERS, _MONTHS, _DANGLING = map(word_set, word_table("sentences").values())


def sentences(text: str) -> list[Span]:
    """The sentences of plain prose, in order; only white space lies between them.

    A citation mark after the full stop belongs to the sentence before it.

    >>> text = "Dr. Wu paid 3.5 million.[1] Was it, e.g., too much?"
    >>> [text[s.start : s.end] for s in sentences(text)]
    ['Dr. Wu paid 3.5 million.[1]', 'Was it, e.g., too much?']
    """
    found: list[Span] = []
    for start, end in _paragraphs(text):
        check_cancelled()
        begin = start
        for cut in _cuts(text, start, end):
            _add(found, text, begin, cut)
            begin = cut
        _add(found, text, begin, end)
    return found


def _add(found: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left < len(piece):
        found.append(Span(start + left, start + len(piece.rstrip())))


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs, split at blank lines and at line ends that are not soft wraps."""
    lines = _lines(text)
    group: list[tuple[int, int]] = []
    for line in [*lines, (len(text), len(text))]:
        if not text[line[0] : line[1]].strip():
            yield from _unwrapped(text, group)
            group = []
        else:
            group.append(line)


def _lines(text: str) -> list[tuple[int, int]]:
    lines, start = [], 0
    for match in NEWLINE.finditer(text):
        lines.append((start, match.start()))
        start = match.end()
    lines.append((start, len(text)))
    return lines


def _unwrapped(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    if not lines:
        return
    wrapped = _is_wrapped(text, lines)
    start, end = lines[0]
    for following in lines[1:]:
        if not (wrapped or _runs_on(text, (start, end), following)):
            yield start, end
            start = following[0]
        end = following[1]
    yield start, end


def _is_wrapped(text: str, lines: list[tuple[int, int]]) -> bool:
    """True if the paragraph is hard-wrapped: no line had room left for the first word of the next."""
    width = max(end - start for start, end in lines)
    if len(lines) < 2 or width < _WRAP_WIDTH:
        return False
    for (start, end), (after, until) in pairwise(lines):
        word = len((text[after : min(until, after + 80)].split(None, 1) or [""])[0])
        if end - start + 1 + word < width - _RAGGED:
            return False
    return True


def _runs_on(text: str, line: tuple[int, int], following: tuple[int, int]) -> bool:
    """True if the sentence of one line continues in the next."""
    tail = text[max(line[0], line[1] - _LOOK_BACK) : line[1]].rstrip()
    head = text[following[0] : following[0] + _LOOK_BACK].lstrip()
    if tail.endswith((",", "(", "—", "–", "،", "、", "&")):
        return True
    words = tail.rsplit(None, 1)
    if words and words[-1].lower().rstrip(".") in _DANGLING:
        return True
    return head[:1].islower() and not tail.endswith((":", ";")) and not _is_key(head)


def _is_key(head: str) -> bool:
    """True for `name: value` lines, which do not continue the line before even in lower case."""
    return ":" in head.split(" ", 1)[0]


def _cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Positions between two sentences of a paragraph, after closing quotes and citation marks."""
    begin = start
    for match in _STOP.finditer(text, start, end):
        if match.start() < begin:
            continue
        cut = _cut(text, begin, match, end)
        if begin < cut < end:
            yield cut
            begin = cut


def _cut(text: str, begin: int, match: re.Match[str], end: int) -> int:
    """The end of the sentence at this stop, or -1 if it does not end a sentence."""
    stop = match[0]
    if stop in "•▪●‣◦":
        return match.start() if match.start() > begin and text[match.start() - 1].isspace() else -1
    after = _end(_CLOSERS, text, match.end(), end)
    if stop[-1] in _UNSPACED_STOPS:
        quoted = after > match.end() and text.startswith(("と", "って", "という", "，", "、"), after)
        return -1 if quoted else _with_marks(text, begin, after, end)
    marked = _with_marks(text, begin, after, end)
    space = _end(_SPACE, text, marked, end)
    if space >= end:
        return marked
    if space == marked and stop not in ("؟", "۔"):
        return marked if marked > after and text[marked].isupper() else _glued(text, match, after)
    return marked if _ends(text, begin, match, space, after > match.end()) else -1


def _end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = pattern.match(text, start, end)
    return match.end() if match else start


def _with_marks(text: str, begin: int, after: int, end: int) -> int:
    """The position after the citation marks of a stop, unless they belong to the next: `[1] One. [2] Two.`"""
    marks = _MARKS.match(text, after, end)
    if not marks:
        return after
    follows = text[marks.end() : marks.end() + 2]
    if follows[:1] in ("(", ":") or (follows[:1].isspace() and follows[1:].islower()):
        return after
    lead = _MARKS.match(text, begin + _blank(text, begin), end)
    return after if lead and lead.end() < after else marks.end()


def _blank(text: str, start: int) -> int:
    piece = text[start : start + 4]
    return len(piece) - len(piece.lstrip())


def _glued(text: str, match: re.Match[str], after: int) -> int:
    """`…the end.The next…`: a missing space, distinguished from `example.com` by the next word."""
    word = _WORD.match(text, after)
    before = text[max(0, match.start() - _LOOK_BACK) : match.start()].rsplit(None, 1)[-1:]
    if not word or not before or not re.fullmatch(r".*(?:[a-z]{2}|\d|[)\]])", before[0]):
        return -1
    starts = word[0].istitle() and word[0].lower() in _STARTERS
    plain = not re.search(r"[/@_\\#=]", before[0])
    return after if starts and plain and text[word.end() : word.end() + 1] in (" ", ",") else -1


def _ends(text: str, begin: int, match: re.Match[str], follow: int, closed: bool) -> bool:
    """True if a stop followed by space ends the sentence; `follow` is the offset of the next word."""
    stop, opened = match[0], _end(_OPENERS, text, follow, min(len(text), follow + 10))
    first = text[opened : opened + 1]
    if stop in ("؟", "۔"):
        return True
    if stop != ".":
        return not first.islower() and not (stop[-1] in ".…" and first.isdigit())
    token = _before(text, begin, match.start())
    if not token:  # a separate stop, or part of a spaced ellipsis
        alone = not text[max(begin, match.start() - 4) : match.start()].strip(" .")
        return not first.islower() and (closed or not (alone or first == "."))
    return _period_ends(text, begin, match.start(), token, opened)


def _before(text: str, begin: int, stop: int) -> str:
    """The word before a stop; a quotation mark within a word (ש"ח) does not split it."""
    back = text[max(begin, stop - _LOOK_BACK) : stop]
    piece = _TOKEN_BEFORE.search(back)
    token = piece[0] if piece else ""
    inner = back[: len(back) - len(token)]
    if token and inner[-1:] in _QUOTES and inner[-2:-1].isalpha():
        return inner[-2:] + token
    return token or (")" if inner and not inner[-1].isspace() else "")


def _period_ends(text: str, begin: int, stop: int, token: str, follow: int) -> bool:
    first = text[follow : follow + 1]
    low = token.lower()
    leads = stop - begin < _LOOK_BACK and not text[begin : stop - len(token)].strip()
    if leads and _NUMERAL.fullmatch(token):
        return False  # an enumerator: "2. Second point"
    state = token.isupper() and "." not in token  # Goleta, CA. The …
    if token in _TITLES or (low in _OPEN and not state) or (first.isdigit() and low in _BEFORE_NUMBER):
        return False
    if first.islower():
        return len(token) >= 5 and token.isalpha() and token.islower() and low not in _MIDDLE
    word = _WORD.match(text, follow)
    name = word[0].lower() if word else ""
    if len(token) <= 2 and token.isdigit():
        return name not in _MONTHS and not re.match(r"\d{1,2}\.\s?\d", text[follow : follow + 6])
    if _is_short_form(token):
        return name in _STARTERS or not first
    return True


def _is_short_form(token: str) -> bool:
    """True for an initial, a dotted acronym or an abbreviation that may end a sentence."""
    if len(token) == 1:
        return token.isalpha() and (token.isupper() or not token.isascii())
    return token.lower() in _MIDDLE or bool(_DOTTED.fullmatch(token))
