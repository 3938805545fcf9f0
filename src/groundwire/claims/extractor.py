"""The rule-based claim extractor, the default.

It returns every sentence of an answer in order: assertions as c1, c2, …, and sentences that assert nothing as
s1, s2, …. `answer[start:end]` is the sentence without surrounding bullets, emphasis and citation marks; marks
within it stay inside the range. A citation after the full stop belongs to the sentence before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby, zip_longest

from groundwire._loop import check_cancelled
from groundwire.claims.assertiveness import (
    asserted_part,
    classify_sentence,
    confidence,
    content,
    has_auxiliary,
    has_verb,
    is_only_confidence,
    reads_as_prose,
    split,
    stated,
    states_value,
)
from groundwire.claims.markup import CitationMark, PlainText, SourceNames, named_in, readable, resolve, strip_markup
from groundwire.text.lexicon import expressions
from groundwire.text.numbers import numbers
from groundwire.text.sentences import Block, BlockKind, blocks, sentences
from groundwire.types import Claim, ClaimKind, Span

_BUT = re.compile(r",?\s+(?:but|however|although|nevertheless)[\s,]+|,\s+(?:so|though)\s+|,?\s+(?:אבל|אך|אולם)\s+|;\s+")
_SPLICE = re.compile(r",\s+(?=(?:the|it|its|this|an?|they|he|she|there)\b)", re.IGNORECASE)
_REFERENCES, _ADDRESSES_READER, _SUGGESTS = expressions("claims", "references addresses_reader suggests")
_ADDRESS = re.compile(r"https?://|www\.|\bdoi\b|\bISBN\b")
_ADDRESSES = re.compile(r"(?:https?://|www\.)\S*|\b(?:doi|ISBN)\b\S*(?:\s*[\d./-]+\S*)?|\bpp?\.\s*\d\S*")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_PROGRAM = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*(?!(?:te?xt|plain|plaintext|markdown|md|quote|output|answer|none)\b)\w")
_COMMENT = re.compile(r"\s*(?:#+|//+|--+|/?\*+|%+|<!--|;+)\s*")
_MIN_REST = 3  # words; a shorter rest after "but" or a colon is not a claim of its own
_MAX_STATED = 20_000  # characters of a message that are searched for statements
_MAX_COLUMN_NAME = 200  # characters; each row repeats the name, so long ones would make a table's cost quadratic
_LEAD_REACH = 160  # characters in which a lead-in ("Here is the summary:") must end


@dataclass(frozen=True, slots=True)
class _DraftClaim:
    """A claim before numbering: citation labels as written, and no id."""

    text: str
    place: Span
    kind: ClaimKind
    confidence: float
    labels: tuple[str, ...] = ()
    sentence: int = 0


@dataclass(slots=True)
class _Answer:
    """State of the extraction: the drafts, footnotes and position found so far."""

    text: str
    target: float
    known: Collection[str]
    drafts: list[_DraftClaim] = field(default_factory=list)
    footnotes: dict[str, str] = field(default_factory=dict)
    sentence: int = 0
    in_references: bool = False


def extract(answer: str, *, target: float = 0.95, known_sources: Collection[str] = ()) -> list[Claim]:
    """Extract the claims of an answer; sentences that assert nothing are included with their `kind`.

    Args:
        answer: the answer as Markdown or plain text.
        target: confidence assumed for claims without words of doubt or certainty.
        known_sources: ids of the sources, against which citation marks are resolved.

    >>> [(c.id, c.text, c.citations) for c in extract("Is it? Paris has **2 million** people.[S1]")]
    [('s1', 'Is it?', ()), ('c1', 'Paris has 2 million people.', ('S1',))]
    """
    read = _Answer(answer, target, SourceNames.of(known_sources))
    parts = blocks(answer)
    for block, following in zip_longest(parts, parts[1:]):
        _READERS.get(block.kind, _read_prose)(read, block, following)
    return _numbered(read)


def _numbered(read: _Answer) -> list[Claim]:
    counts = {"c": 0, "s": 0}
    cited = {label for draft in read.drafts for label in draft.labels}
    sources = {
        label: read.footnotes.get(label) or resolve(label, read.known, zero_based=("0" in cited)) for label in cited
    }
    claims = []
    for draft in read.drafts:
        letter = "c" if draft.kind is ClaimKind.ASSERTION else "s"
        counts[letter] += 1
        claims.append(
            Claim(
                f"{letter}{counts[letter]}",
                draft.text,
                draft.place.start,
                draft.place.end,
                tuple(dict.fromkeys(sources[label] for label in draft.labels)),
                draft.confidence,
                draft.kind,
            )
        )
    return claims


def _read_prose(read: _Answer, block: Block, following: Block | None) -> None:
    check_cancelled()
    prose = strip_markup(read.text, block.lines, read.known)
    spans = [s for s in sentences(prose.text) if any(map(str.isalnum, prose.text[s.start : s.end]))]
    assigned = _assigned(prose, spans)
    if not spans:
        _cite_last(read, _labels(prose.marks))
    for number, (span, cited) in enumerate(zip(spans, assigned, strict=True)):
        last = number == len(spans) - 1
        title = block.kind is BlockKind.HEADING or (last and _is_title(read.text, block, spans, following))
        _read_sentence(read, prose, span, cited, title=title)


def _read_heading(read: _Answer, block: Block, following: Block | None) -> None:
    read.in_references = bool(_REFERENCES.match(read.text[block.start : block.end]))
    _read_prose(read, block, following)


def _is_title(answer: str, block: Block, spans: Sequence[Span], following: Block | None) -> bool:
    """True for a separate bold line, or for a few words without a verb that introduce a list."""
    if len(spans) > 1 or len(block.lines) > 1 or block.kind is not BlockKind.PARAGRAPH:
        return False
    raw = answer[block.start : block.end]
    bold = raw.startswith(("**", "__")) and raw.rstrip(": ").endswith(("**", "__")) and raw.count(raw[:2]) == 2
    lists = following is not None and following.kind in (BlockKind.ITEM, BlockKind.HEADER)
    titled = bold and following is not None  # if nothing follows, it is the answer itself
    return len(raw.split()) <= 10 and raw[-1:] not in ".!?" and (titled or (lists and _is_phrase(raw, 10)))


def _read_sentence(read: _Answer, prose: PlainText, span: Span, cited: Sequence[CitationMark], *, title: bool) -> None:
    read.sentence += 1
    text = prose.text[span.start : span.end]
    if is_only_confidence(text):
        _rate_last(read, stated(text))
    if _REFERENCES.match(text):
        read.in_references = True
    whole = ClaimKind.META if _is_reference(read, text) else classify_sentence(text, heading=title)
    level = stated(text)
    parts = list(_parts(text, whole))
    owned = _owned([span.start + start for start, _, _ in parts], cited)
    for (start, end, kind), labels in zip(parts, owned, strict=True):
        piece = text[start:end]
        place = prose.span(span.start + start, span.start + end)
        if not any(map(str.isalnum, piece)):
            continue  # only a stated confidence
        sure = confidence(piece, read.target) if level is None else level
        read.drafts.append(_DraftClaim(readable(piece), place, kind, sure, labels, read.sentence))


def _is_reference(read: _Answer, text: str) -> bool:
    if not read.in_references:
        return False
    if _ADDRESS.search(text):
        return not _asserts_beside_address(text)
    return _is_phrase(text, 8) and not states_value(text)


def _asserts_beside_address(text: str) -> bool:
    """True for "The tower is 330 m tall, https://…"; a title, an author and an address assert nothing."""
    said = _ADDRESSES.sub(" ", text)
    return len(said.split()) >= 4 and (has_auxiliary(said) or states_value(said))


def _is_phrase(text: str, words: int) -> bool:
    """True for a few words without a verb; verbs are known for English only."""
    return len(text.split()) <= words and text.isascii() and not has_verb(text)


def _parts(text: str, whole: ClaimKind) -> Iterator[tuple[int, int, ClaimKind]]:
    """The trimmed parts of a sentence that are verified separately."""
    begin, end = content(text)
    told = asserted_part(text) if whole is not ClaimKind.QUESTION else None
    if told:
        if told[0] > begin:
            yield begin, len(text[: told[0]].rstrip()), ClaimKind.META
        begin, end = told[0], min(end, told[1])
    lead = _lead_in(text)
    if lead:
        yield 0, lead, ClaimKind.META
        begin = lead + len(text[lead:]) - len(text[lead:].lstrip())
        whole = classify_sentence(text[begin:end])
    turn = _turn(text, begin, end, whole)
    if turn:
        yield begin, turn.start(), classify_sentence(text[begin : turn.start()])
        begin, whole = turn.end(), classify_sentence(text[turn.end() : end])
    if whole is not ClaimKind.ASSERTION:
        yield begin, end, whole
        return
    atoms = split(text[begin:end])
    for start, stop in atoms:
        kind = whole if len(atoms) == 1 else classify_sentence(text[begin + start : begin + stop])
        yield begin + start, begin + stop, kind


def _turn(text: str, begin: int, end: int, whole: ClaimKind) -> re.Match[str] | None:
    """The conjunction after which a refusal or lead-in turns into an assertion."""
    if whole is ClaimKind.REFUSAL:
        turn = _BUT.search(text, begin, end)
        if turn and len(text[turn.end() : end].split()) >= _MIN_REST and turn.start() > begin:
            return turn
    if whole in (ClaimKind.REFUSAL, ClaimKind.META):
        for splice in _SPLICE.finditer(text, begin, end):
            right = text[splice.end() : end]
            if any(map(str.isdigit, right)) and has_verb(right) and classify_sentence(right) is ClaimKind.ASSERTION:
                same = whole is ClaimKind.META or classify_sentence(text[begin : splice.start()]) is whole
                return splice if same else None
    return None


def _lead_in(text: str) -> int:
    """The end of "Sure, here is the summary:" if the summary follows in the same sentence, else 0."""
    colon = text.find(":", 0, _LEAD_REACH) + 1
    if not colon or len(text[colon:].split()) < _MIN_REST or not text[colon].isspace():
        return 0
    return colon if classify_sentence(text[: colon - 1]) is ClaimKind.META else 0


def _labels(cited: Sequence[CitationMark]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for mark in cited for label in mark.labels))


def _owned(starts: Sequence[int], cited: Sequence[CitationMark]) -> list[tuple[str, ...]]:
    """The labels of each part of a sentence: its own marks, else the next part's, else the previous ones.

    Marks before the first word apply to the whole sentence.
    """
    leading = [mark for mark in cited if mark.start <= starts[0]]
    parts: list[list[CitationMark]] = [[] for _ in starts]
    for mark in cited[len(leading) :]:
        parts[bisect_right(starts, mark.start) - 1].append(mark)
    owned: list[tuple[str, ...]] = []
    for number in range(len(parts)):
        near = next((part for part in parts[number:] if part), None)
        owned.append(owned[-1] if near is None and owned else _labels([*leading, *(near or ())]))
    return owned


def _assigned(prose: PlainText, spans: Sequence[Span]) -> list[list[CitationMark]]:
    """The citation marks of each sentence."""
    found: list[list[CitationMark]] = [[] for _ in spans]
    leads = _marks_lead(prose, spans)
    at = 0
    for mark in prose.marks if spans else ():
        while at + 1 < len(spans) and spans[at + 1].start <= mark.start:
            at += 1
        found[_owner(prose, spans, at, mark, leads=leads)].append(mark)
    return found


def _marks_lead(prose: PlainText, spans: Sequence[Span]) -> bool:
    """True if marks precede their sentences: "[1] One. [2] Two." """
    return bool(prose.marks and spans) and prose.marks[0].start < spans[0].start


def _owner(prose: PlainText, spans: Sequence[Span], at: int, mark: CitationMark, *, leads: bool) -> int:
    gap = mark.start >= spans[at].end and at + 1 < len(spans)
    return at + 1 if gap and (leads or "\n" in prose.text[spans[at].end : mark.start]) else at


def _cite_last(read: _Answer, labels: tuple[str, ...]) -> None:
    """Marks on a line of their own belong to the sentence before."""
    _change_last(read, lambda draft: replace(draft, labels=tuple(dict.fromkeys((*draft.labels, *labels)))))


def _rate_last(read: _Answer, level: float | None) -> None:
    """ "Confidence: 80 %" after a sentence applies to that sentence."""
    if level is not None:
        _change_last(read, lambda draft: replace(draft, confidence=level))


def _change_last(read: _Answer, change: Callable[[_DraftClaim], _DraftClaim]) -> None:
    """Change all parts of the last sentence."""
    last = read.drafts[-1].sentence if read.drafts else 0
    for index in range(len(read.drafts) - 1, -1, -1):
        if read.drafts[index].sentence != last:
            break
        read.drafts[index] = change(read.drafts[index])


def _read_row(read: _Answer, block: Block, _: Block | None) -> None:
    """A table row becomes one claim: "column: cell; column: cell"."""
    cells = [(name, strip_markup(read.text, [cell], read.known)) for name, cell in _columns(block)]
    said = [(name, cell) for name, cell in cells if any(map(str.isalnum, cell.text))]
    if not said:
        return
    read.sentence += 1
    text = "; ".join(_labelled(name, cell.text) for name, cell in said)
    start = said[0][1].at[0]
    labels = dict.fromkeys(label for _, cell in cells for mark in cell.marks for label in mark.labels)
    kind = classify_sentence(text, heading=True) if block.kind is BlockKind.HEADER else ClaimKind.ASSERTION
    place = Span(start, said[-1][1].at[-1] + 1)
    sure = confidence(text, read.target)
    read.drafts.append(_DraftClaim(text, place, kind, sure, tuple(labels), read.sentence))


def _columns(block: Block) -> Iterator[tuple[str, Span]]:
    names = () if block.kind is BlockKind.HEADER else block.header
    for index, cell in enumerate(block.lines):
        yield (names[index] if index < len(names) else ""), cell


def _labelled(name: str, cell: str) -> str:
    label = _column_label(name) if len(name) <= _MAX_COLUMN_NAME else ""
    return f"{label}: {readable(cell)}" if label else readable(cell)


@lru_cache(maxsize=256)
def _column_label(name: str) -> str:
    return readable(strip_markup(name, [Span(0, len(name))]).text)


def _read_code(read: _Answer, block: Block, following: Block | None) -> None:
    """Code asserts nothing, but prose between its fences or in its comments does."""
    program = bool(_PROGRAM.match(read.text, block.start))
    for is_prose, group in groupby(block.lines, lambda line: _is_prose(read.text[line.start : line.end], program)):
        lines = tuple(group)
        start, end = lines[0].start, lines[-1].end
        if is_prose:
            _read_prose(read, Block(BlockKind.PARAGRAPH, start, end, tuple(_uncommented(read, lines))), following)
        elif any(map(str.isalnum, read.text[start:end])):
            _read_other(read, Span(start, end))


def _is_prose(line: str, program: bool) -> bool:
    if _FENCE.match(line):
        return False
    comment = _COMMENT.match(line)
    said = line[comment.end() if comment else 0 :].strip()
    # A line of a program that is no comment and begins unlike a sentence is code: "return if it is done".
    return reads_as_prose(said) and (not program or bool(comment) or not said[0].islower())


def _uncommented(read: _Answer, lines: Sequence[Span]) -> Iterator[Span]:
    for line in lines:
        comment = _COMMENT.match(read.text, line.start, line.end)
        yield Span(comment.end() if comment else line.start, line.end)


def _read_other(read: _Answer, place: Span) -> None:
    """Text that is no prose."""
    read.sentence += 1
    text = readable(read.text[place.start : place.end])
    read.drafts.append(_DraftClaim(text, place, ClaimKind.META, read.target, (), read.sentence))


def _read_definition(read: _Answer, block: Block, following: Block | None) -> None:
    """A footnote either names the source of its number or is an aside that may contain a claim."""
    text = read.text[block.start : block.end]
    source = named_in(text, read.known)
    if source:
        read.footnotes[block.marker.strip("[]:")] = source
    aside = _asserts_beside_address(text) if source or _ADDRESS.search(text) else has_verb(text) or states_value(text)
    if aside:
        _read_prose(read, block, following)
    else:
        _read_other(read, Span(block.start, block.end))


_READERS: dict[BlockKind, Callable[[_Answer, Block, Block | None], None]] = {
    BlockKind.HEADING: _read_heading,
    BlockKind.HEADER: _read_row,
    BlockKind.ROW: _read_row,
    BlockKind.CODE: _read_code,
    BlockKind.DEFINITION: _read_definition,
}

MIN_STEPS = 3
"""Number of instructions in one answer from which they count as a procedure."""

_FORBIDS = re.compile(r"\W*(?:do not|don['’]t|never)\b", re.I)


def steps_as_claims(found: Sequence[Claim], *, asked: bool) -> list[Claim]:
    """Treat the instructions that assert something as assertions: they can be wrong like any statement.

    An instruction asserts if it gives a figure ("Store below 25 °C") or forbids something, or if it is a step
    that answers a question (`asked`) or one of several steps. A suggestion ("Consider using a cache") and a
    referral ("Please contact support") assert only by a figure.
    """
    orders = [c for c in found if c.kind is ClaimKind.INSTRUCTION and not _ADDRESSES_READER.match(c.text)]
    steps = [c for c in orders if not _SUGGESTS.match(c.text)]
    procedure = steps if asked or len(steps) >= MIN_STEPS else []
    stating = [c for c in orders if _FORBIDS.match(c.text) or numbers(c.text)]
    asserted = {claim.id for claim in (*procedure, *stating)}
    return [replace(c, kind=ClaimKind.ASSERTION) if c.id in asserted else c for c in found]


def statements(text: str) -> str:
    """The sentences of a message that assert something, such as what a user tells about their case."""
    parts = (text[s.start : s.end] for s in sentences(text[:_MAX_STATED]))
    return " ".join(part for part in parts if classify_sentence(part) is ClaimKind.ASSERTION)
