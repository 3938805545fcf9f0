"""What was quoted: a sentence taken over word by word, with a word put in another's place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.tokens import Word, similarity
from groundwire.verifiers.lexical.pieces import analyse
from groundwire.verifiers.lexical.tables import OPPOSITES, QUANTIFIERS
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.statements import Statement

_MIN_WORDS = 6
_KEPT = 0.72
_RUN = 2
_NEAR = 3
_MOST_PAIRS = 20_000
_MIN_STEM = 4
_LONGEST = 3
_ALIKE = 0.6
_IN_QUOTES = re.compile(r"[\"“«„]([^\"“”«»„]{12,})[\"”»]")
_TURNS = frozenset({"before", "after", "until", "since", "into", "without", "with", "above", "below", "only", "except"})

_ALTERED_FREELY = word_set(
    "a an the this that these those his her its their my our your he she it they we i is are was were be been"
    " has have had do does did will would shall should"
)


def quotations(claim_text: str, statements: Sequence[Statement]) -> Iterator[RuleResult]:
    """A direct quotation must be word by word; elsewhere only a word counts that turns the meaning."""
    quoted = _IN_QUOTES.search(claim_text)
    start, end = quoted.span(1) if quoted else (0, len(claim_text))
    words = [w for w in analyse(claim_text).words if start <= w.start and w.end <= end]
    taken = _taken_over(words, statements)
    if taken is None:
        return
    words, source = taken
    for mine, theirs in _changes(words, source.analysis.words):
        weight = _weight(mine, theirs, direct=quoted is not None)
        if weight:
            said = source.text[theirs[0].start : theirs[-1].end]
            yield RuleResult("no", weight, mine[0].start, mine[-1].end, f"the sources have “{said}” there")


def _taken_over(words: list[Word], statements: Sequence[Statement]) -> tuple[list[Word], Statement] | None:
    """The part of the claim that was taken over from a sentence, for the most word by word, and that."""
    mine = {w.norm for w in words}
    near = sorted(statements, key=lambda s: -len(mine & s.analysis.norms))[:_NEAR]
    best: tuple[float, list[Word], Statement] | None = None
    for statement in near:
        if not _comparable(words, statement.analysis.words):
            continue
        blocks = _matcher(words, statement.analysis.words).get_matching_blocks()
        first = next((block.a for block in blocks if block.size >= _RUN), len(words))
        rest = words[first:]  # what introduces a quotation is none of it
        kept = sum(block.size for block in blocks if block.a >= first)
        if len(rest) >= _MIN_WORDS and (best is None or kept / len(rest) > best[0]):
            best = (kept / len(rest), rest, statement)
    return (best[1], best[2]) if best and _KEPT <= best[0] < 1 else None


def _comparable(words: Sequence[Word], theirs: Sequence[Word]) -> bool:
    """Whether few enough words stand in both: matching looks at each pair of places with the same word."""
    mine, others = Counter(w.norm for w in words), Counter(w.norm for w in theirs)
    return sum(count * others[norm] for norm, count in mine.items()) <= _MOST_PAIRS


def _matcher(words: Sequence[Word], theirs: Sequence[Word]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, [w.norm for w in words], [w.norm for w in theirs], autojunk=False)


def _changes(words: Sequence[Word], theirs: Sequence[Word]) -> list[tuple[Sequence[Word], Sequence[Word]]]:
    """Short stretches in the place of others, with what was taken over on both sides or up to the end."""
    codes = _matcher(words, theirs).get_opcodes()
    found = []
    for n, (tag, a, b, c, d) in enumerate(codes):
        if tag != "replace" or b - a > _LONGEST or d - c > _LONGEST:
            continue
        before = n > 0 and codes[n - 1][0] == "equal"
        after = n + 1 < len(codes) and codes[n + 1][0] == "equal"
        if (before and after) or (before and b == len(words) and d == len(theirs)) or (after and c == 0):
            found.append((words[a:b], theirs[c:d]))
    return found


def _weight(mine: Sequence[Word], theirs: Sequence[Word], *, direct: bool) -> float:
    if all(any(_same(w, o) for o in theirs) for w in mine):
        return 0.0
    if len(mine) == len(theirs) == 1 and _turns(mine[0], theirs[0]):
        return 0.9
    if all(w.text.lower() in _ALTERED_FREELY for w in (*mine, *theirs)):
        return 0.0
    return 0.85 if direct else 0.0  # outside quotation marks another word may well mean the same


def _same(a: Word, b: Word) -> bool:
    return a.norm == b.norm or (similarity(a.norm, b.norm) >= _ALIKE and not _prefixed(a, b))


def _prefixed(a: Word, b: Word) -> bool:
    """'secured' and 'unsecured': alike, and opposites."""
    short, long = sorted((a.text.lower(), b.text.lower()), key=len)
    if len(short) < _MIN_STEM:
        return False
    return long != long.removesuffix(short) and long.removesuffix(short) in (
        "un",
        "in",
        "im",
        "ir",
        "il",
        "non",
        "dis",
        "non-",
    )


def _turns(a: Word, b: Word) -> bool:
    x, y = a.text.lower(), b.text.lower()
    if _prefixed(a, b) or (x in NEGATIONS) != (y in NEGATIONS) or (x in _TURNS and y in _TURNS and x != y):
        return True
    if x in QUANTIFIERS and y in QUANTIFIERS and QUANTIFIERS[x] != QUANTIFIERS[y]:
        return True
    theirs = OPPOSITES.get(b.norm, frozenset())
    return any((axis, 1 - side) in theirs for axis, side in OPPOSITES.get(a.norm, ()))
