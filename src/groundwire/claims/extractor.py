"""The rule-based claim extractor, the default.

It returns every sentence of an answer in order: assertions as c1, c2, …, and sentences that assert nothing as
s1, s2, …. `answer[start:end]` is the sentence without surrounding bullets, emphasis and citation marks; marks
within it stay inside the range. A citation after the full stop belongs to the sentence before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, count, groupby, zip_longest

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


@dataclass(slots=True)
class _Answer:
    """State of the extraction: what was found so far.

    `drafts` are the claims of each sentence, without ids and with citations as written.
    """

    text: str
    target: float
    known: Collection[str]
    drafts: list[list[Claim]] = field(default_factory=list)
    footnotes: dict[str, str] = field(default_factory=dict)
    in_references: bool = False

    def add(self, text: str, place: Span, kind: ClaimKind, sure: float, labels: Iterable[str] = ()) -> None:
        """Add a claim of the current sentence."""
        self.drafts[-1].append(Claim("", text, place.start, place.end, tuple(labels), sure, kind))

    def change_last(self, change: Callable[[Claim], Claim]) -> None:
        """Change all claims of the last sentence that has any."""
        claims = next((claims for claims in reversed(self.drafts) if claims), [])
        claims[:] = map(change, claims)


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
    return _cited(read)


def _cited(read: _Answer) -> list[Claim]:
    """The claims found, with their citations resolved to sources."""
    drafts = list(chain.from_iterable(read.drafts))
    cited = {label for draft in drafts for label in draft.citations}
    sources = {
        label: read.footnotes.get(label) or resolve(label, read.known, zero_based=("0" in cited)) for label in cited
    }
    return numbered(
        replace(draft, citations=tuple(dict.fromkeys(sources[label] for label in draft.citations))) for draft in drafts
    )


def numbered(claims: Iterable[Claim]) -> list[Claim]:
    """Give the claims their ids: c1, c2, … to assertions, s1, s2, … to the others."""
    ids = {"c": count(1), "s": count(1)}
    letters = ((claim, "c" if claim.kind is ClaimKind.ASSERTION else "s") for claim in claims)
    return [replace(claim, id=f"{letter}{next(ids[letter])}") for claim, letter in letters]


def _read_prose(read: _Answer, block: Block, following: Block | None) -> None:
    check_cancelled()
    prose = strip_markup(read.text, block.lines, read.known)
    spans = [s for s in sentences(prose.text) if any(map(str.isalnum, prose.text[s.start : s.end]))]
    assigned = _assigned(prose, spans)
    if not spans:  # marks on a line of their own belong to the sentence before
        cited = _labels(prose.marks)
        read.change_last(lambda claim: replace(claim, citations=tuple(dict.fromkeys((*claim.citations, *cited)))))
    for number, (span, marks) in enumerate(zip(spans, assigned, strict=True)):
        last = number == len(spans) - 1
        title = block.kind is BlockKind.HEADING or (last and _is_title(read.text, block, spans, following))
        _read_sentence(read, prose, span, marks, title=title)


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
    text = prose.text[span.start : span.end]
    level = stated(text)
    if is_only_confidence(text) and level is not None:  # "Confidence: 80 %" is about the sentence before
        read.change_last(lambda claim: replace(claim, confidence=level))
    read.drafts.append([])
    if _REFERENCES.match(text):
        read.in_references = True
    whole = ClaimKind.META if _is_reference(read, text) else classify_sentence(text, heading=title)
    parts = list(_parts(text, whole))
    owned = _owned([span.start + start for start, _, _ in parts], cited)
    for (start, end, kind), labels in zip(parts, owned, strict=True):
        piece = text[start:end]
        place = prose.span(span.start + start, span.start + end)
        if not any(map(str.isalnum, piece)):
            continue  # only a stated confidence
        read.add(readable(piece), place, kind, confidence(piece, read.target) if level is None else level, labels)


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
    at = 0
    for mark in prose.marks if spans else ():
        while at + 1 < len(spans) and spans[at + 1].start <= mark.start:
            at += 1
        gap = mark.start >= spans[at].end and at + 1 < len(spans)
        leads = prose.marks[0].start < spans[0].start  # "[1] One. [2] Two."
        found[at + (gap and (leads or "\n" in prose.text[spans[at].end : mark.start]))].append(mark)
    return found


def _read_row(read: _Answer, block: Block, _: Block | None) -> None:
    """A table row becomes one claim: "column: cell; column: cell"."""
    names = () if block.kind is BlockKind.HEADER else block.header
    cells = [
        (name, strip_markup(read.text, [cell], read.known))
        for name, cell in zip((*names, *[""] * len(block.lines)), block.lines, strict=False)
    ]
    said = [(name, cell) for name, cell in cells if any(map(str.isalnum, cell.text))]
    if not said:
        return
    text = "; ".join(_labelled(name, cell.text) for name, cell in said)
    kind = classify_sentence(text, heading=True) if block.kind is BlockKind.HEADER else ClaimKind.ASSERTION
    place = Span(said[0][1].at[0], said[-1][1].at[-1] + 1)
    read.drafts.append([])
    labels = _labels([mark for _, cell in cells for mark in cell.marks])
    read.add(text, place, kind, confidence(text, read.target), labels)


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
    read.drafts.append([])
    read.add(readable(read.text[place.start : place.end]), place, ClaimKind.META, read.target)


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
