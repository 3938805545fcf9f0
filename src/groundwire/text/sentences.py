"""Markdown blocks, and the sentences of plain prose, with exact offsets.

Linear time: every stop is examined once, with bounded look-behind and a look-ahead that never passes the next
stop, so that a megabyte of dots or brackets costs no more than a megabyte of prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise

from groundwire._loop import check_cancelled
from groundwire.text.lexicon import word_set, word_table
from groundwire.types import Span

# Split Markdown into blocks with exact character offsets, and map spans of clean text back to raw text.
#
# CommonMark parsers report lines, not characters, and may be quadratic on nested quotes. Claims need less:
# prose, headings, items, rows and code. Each line is looked at once. Text that Markdown would turn into code
# by accident (indentation, an unclosed fence without a language) stays prose, so that no claim is missed.

NEWLINE = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")

_QUOTE = re.compile(r"(?:[ \t]*>)*[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*\Z")
_HEADING = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_HEADING_TAIL = re.compile(r"[ \t]+#+\Z")
_RULE = re.compile(r"(?:-[ \t]*){3,}\Z|(?:\*[ \t]*){3,}\Z|(?:_[ \t]*){3,}\Z|={3,}[ \t]*\Z")
_UNDERLINE = re.compile(r"=+[ \t]*\Z|-{2,}[ \t]*\Z")
_BULLET = re.compile(r"(?:[-*+•▪●◦‣∙·–—]|\d{1,3}[.)]|\(?[a-zA-Z]\)|\([0-9ivx]{1,4}\))(?=[ \t]|\Z)[ \t]*")
_TASK = re.compile(r"\[[ xX✓]\](?=[ \t]|\Z)[ \t]*")
_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?\Z")
_DEFINITION = re.compile(r"\[\^?[^\]\s]{1,80}\]:(?=[ \t]|\Z)[ \t]*")
_HTML = re.compile(r"</?[A-Za-z][^<>]{0,400}>|<!--|</?(?:p|div|table|tr|td|th|ul|ol|li|br|hr|details|summary)\b")
_PROSE_FENCES = frozenset(("", "markdown", "md", "text", "txt", "plain", "plaintext"))


class BlockKind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    ITEM = "item"
    HEADER = "header"
    ROW = "row"
    CODE = "code"
    QUOTE = "quote"
    HTML = "html"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a Markdown text.

    `lines` are the contents line by line without bullets, quote marks and the like; `start` and `end` enclose
    them. For a table's `HEADER` and `ROW`s, `lines` has one span per column, and a row has the column names
    in `header`. `marker` is the prefix that was removed: "-", "2.", "[^1]:".
    """

    kind: BlockKind
    start: int
    end: int
    lines: tuple[Span, ...]
    header: tuple[str, ...] = ()
    marker: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the text; `start` is after quote marks and indentation."""

    begin: int
    start: int
    end: int
    body: str
    quoted: bool

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


def blocks(text: str) -> list[Block]:
    """All blocks of a Markdown text, in order, never overlapping.

    >>> text = "# Sights\\n- the *tower*"
    >>> [(b.kind.value, text[b.start : b.end]) for b in blocks(text)]
    [('heading', 'Sights'), ('item', 'the *tower*')]
    """
    return list(_BlockReader(list(_read(text))).blocks())


def _read(text: str) -> Iterator[_Line]:
    start = 0
    ends = [(match.start(), match.end()) for match in NEWLINE.finditer(text)]
    for stop, following in [*ends, (len(text), len(text))]:
        raw = text[start:stop]
        prefix = _QUOTE.match(raw)
        skip = prefix.end() if prefix else 0
        body = raw[skip:].rstrip()
        yield _Line(start, start + skip, start + skip + len(body), body, ">" in raw[:skip])
        start = following


class _BlockReader:
    """Reads the lines once; `_open` is the block that the next plain line would continue."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._closers = _longest_closers(lines)
        self._prose_until = -1
        self._open: list[_Line] = []
        self._kind = BlockKind.PARAGRAPH
        self._marker = ""

    def blocks(self) -> Iterator[Block]:
        at = 0
        while at < len(self._lines):
            step = self._special(at)
            if step is None:
                yield from self._plain(self._lines[at])
                at += 1
            else:
                found, at = step
                yield from self._close()
                yield from found
        yield from self._close()

    def _special(self, at: int) -> tuple[list[Block], int] | None:
        """Blocks recognised by their first line: fences, tables, headings, rules and blank lines."""
        line = self._lines[at]
        if not line.body:
            return [], at + 1
        return self._fence(at) or self._table(at) or self._heading(at) or self._underlined(at)

    def _fence(self, at: int) -> tuple[list[Block], int] | None:
        line = self._lines[at]
        fence = _FENCE.match(line.body)
        if not fence:
            return None
        mark, prose = fence[1], fence[2].lower() in _PROSE_FENCES
        if at == self._prose_until or (prose and fence[2] and at < self._prose_until):
            return [], at + 1
        if self._closers[at].get(mark[0], 0) < len(mark):
            return ([], at + 1) if prose else ([_code(self._lines[at:])], len(self._lines))
        last = next(i for i in range(at + 1, len(self._lines)) if _closes(self._lines[i].body, mark))
        if fence[2] and prose:  # an answer wrapped in ```markdown is still an answer
            self._prose_until = last
            return [], at + 1
        return [_code(self._lines[at : last + 1])], last + 1

    def _table(self, at: int) -> tuple[list[Block], int] | None:
        head = self._lines[at]
        if "|" not in head.body or at + 1 >= len(self._lines):
            return None
        under = self._lines[at + 1].body
        if "-" not in under or not _DELIMITER.match(under) or not ("|" in under or ":" in under):
            return None
        columns = _cells(head)
        names = tuple(head.body[c.start - head.start : c.end - head.start] for c in columns)
        found, last = [(BlockKind.HEADER, columns)], at + 2
        while last < len(self._lines) and "|" in self._lines[last].body:
            found.append((BlockKind.ROW, _cells(self._lines[last])))
            last += 1
        return [Block(kind, cells[0].start, cells[-1].end, cells, names) for kind, cells in found if cells], last

    def _heading(self, at: int) -> tuple[list[Block], int] | None:
        line = self._lines[at]
        mark = _HEADING.match(line.body)
        if not mark:
            return ([], at + 1) if _RULE.match(line.body) and not self._open else None
        tail = _HEADING_TAIL.search(line.body[-40:])
        start = line.start + mark.end() + len(line.body[mark.end() :]) - len(line.body[mark.end() :].lstrip())
        end = line.end - (len(tail[0]) if tail else 0)
        if start >= end:
            return [], at + 1
        return [Block(BlockKind.HEADING, start, end, (Span(start, end),), marker=mark[0])], at + 1

    def _underlined(self, at: int) -> tuple[list[Block], int] | None:
        """A line of === or --- makes a single line of prose above it a heading; otherwise it is a rule."""
        body = self._lines[at].body
        if not self._open or not (_RULE.match(body) or _UNDERLINE.match(body)):
            return None
        if len(self._open) == 1 and self._kind is BlockKind.PARAGRAPH and _UNDERLINE.match(body):
            self._kind = BlockKind.HEADING
        return [], at + 1

    def _plain(self, line: _Line) -> Iterator[Block]:
        """A line of prose begins an item, a definition or a paragraph, or continues the open block."""
        definition = _DEFINITION.match(line.body)
        bullet = None if definition else _BULLET.match(line.body)
        mark = definition or bullet
        if mark:
            yield from self._close()
            task = _TASK.match(line.body, mark.end()) if bullet else None
            skip = (task or mark).end()
            self._kind = BlockKind.DEFINITION if definition else BlockKind.ITEM
            self._marker = mark[0].strip()
            line = _Line(line.begin, line.start + skip, line.end, line.body[skip:], line.quoted)
        elif not self._open or self._open[-1].quoted != line.quoted:
            yield from self._close()
            html = BlockKind.HTML if _HTML.match(line.body) else BlockKind.PARAGRAPH
            self._kind, self._marker = BlockKind.QUOTE if line.quoted else html, ""
        if line.body:
            self._open.append(line)

    def _close(self) -> Iterator[Block]:
        if self._open:
            lines = tuple(line.span for line in self._open)
            yield Block(self._kind, lines[0].start, lines[-1].end, lines, marker=self._marker)
        self._open, self._marker = [], ""


def _closes(body: str, mark: str) -> bool:
    return body.startswith(mark) and not body.strip(mark[0])


def _longest_closers(lines: Sequence[_Line]) -> list[dict[str, int]]:
    """The longest bare fence after each line, so that the search for a closing fence always succeeds."""
    after: list[dict[str, int]] = []
    longest: dict[str, int] = {}
    for line in reversed(lines):
        after.append(longest)
        if line.body.startswith(("```", "~~~")) and _closes(line.body, line.body[:3]):
            char = line.body[0]
            longest = {**longest, char: max(longest.get(char, 0), len(line.body))}
    return after[::-1]


def _code(lines: Sequence[_Line]) -> Block:
    return Block(BlockKind.CODE, lines[0].start, lines[-1].end, tuple(line.span for line in lines))


def _cells(line: _Line) -> tuple[Span, ...]:
    """The trimmed cells of a table line; an empty cell is an empty span."""
    edges = [i for i, char in enumerate(line.body) if char == "|" and line.body[i - 1 : i] != "\\"]
    if not line.body.startswith("|"):
        edges.insert(0, -1)
    if not edges or edges[-1] != len(line.body) - 1:
        edges.append(len(line.body))
    cells = []
    for left, right in pairwise(edges):
        cell = line.body[left + 1 : right]
        start = line.start + left + 1 + len(cell) - len(cell.lstrip())
        cells.append(Span(start, max(start, line.start + left + 1 + len(cell.rstrip()))))
    return tuple(cells)


MATCH_LIMIT = 4_000_000
"""Limit for the product of the lengths, since matching is quadratic; beyond it the whole claim is marked."""


def place_spans(clean: str, raw: str, spans: Sequence[Span], offset: int = 0) -> tuple[Span, ...]:
    """Map ranges of `clean` to ranges of `raw`, shifted by `offset`; ranges without a counterpart are
    dropped.

    >>> place_spans("It is red.", "It is **red**.", [Span(6, 9)], 100)
    (Span(start=108, end=111, score=1.0),)
    """
    if clean == raw:
        return tuple(Span(s.start + offset, s.end + offset, s.score) for s in spans)
    if not spans:
        return ()
    positions = _positions(clean, raw)
    placed = []
    for span in spans:
        there = [p for p in positions[span.start : span.end] if p is not None]
        if there:
            placed.append(Span(there[0] + offset, there[-1] + 1 + offset, span.score))
    return tuple(placed)


def _positions(clean: str, raw: str) -> list[int | None]:
    """The position in `raw` of each character of `clean`."""
    positions: list[int | None] = [None] * len(clean)
    at = 0
    for i, character in enumerate(clean):
        at = raw.find(character, at)
        if at < 0:
            return _matched(clean, raw)
        positions[i] = at
        at += 1
    return positions


def _matched(clean: str, raw: str) -> list[int | None]:
    """The slow path, for text that was also reworded (a table row with its column names)."""
    positions: list[int | None] = [None] * len(clean)
    if len(clean) * len(raw) <= MATCH_LIMIT:
        for a, b, size in SequenceMatcher(None, clean, raw, autojunk=False).get_matching_blocks():
            positions[a : a + size] = range(b, b + size)
    return positions


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
    key = ":" in head.split(" ", 1)[0]  # `name: value` does not continue the line before, even in lower case
    return head[:1].islower() and not tail.endswith((":", ";")) and not key


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
    first = text[begin : begin + 4]
    lead = _MARKS.match(text, begin + len(first) - len(first.lstrip()), end)
    return after if lead and lead.end() < after else marks.end()


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
