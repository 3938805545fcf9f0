"""Whose value it is. A claim may take the key from one statement and the value from another: every word of it
stands in the sources, and it is still wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from groundwire.text.names import Name, key, same_name
from groundwire.verifiers.lexical.pieces import Analysis, analyse, content_norms
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.key import Key, term_weights
from groundwire.verifiers.rules.statements import Statement
from groundwire.verifiers.rules.values import ClaimValue, Place, values

_COVERS = 0.6
_BETTER = 0.12
_WINDOW = 40
_SURE = 0.9
_LIKELY = 0.75
_SOME = 0.5
_RELATED = 0.3
_MOST = 0.8
_FULLY = 0.85
_ALL = 0.999
_ONE_THING = 14
_LITTLE = 0.4
_ALIKE = 0.25
_OPENING = 12
_SHORT_VALUE = 3
_ENOUGH = 2
_MOST_VALUES = 150  # whole answers have up to a hundred; each is looked for in every statement
_CLAUSES = re.compile(r",?\s+and\s+(?=\w+(?:\s+\w+){3})|;\s+")
_YES_NO = frozenset({"yes", "no", "true", "false", "none", "not given", "n/a"})

Rival = tuple[float, Statement, Place]


def bindings(claim_text: str, statements: Sequence[Statement]) -> Iterator[RuleResult]:
    """Values that the sources give to something else, or something else's value in place of this one's."""
    claim = analyse(claim_text)
    weights = term_weights(claim, statements)
    told = values(claim)
    if len(told) > _MOST_VALUES:
        return
    for value in told:
        ruling = _bound(claim, value, told, statements, weights)
        if ruling is not None:
            yield ruling


def _bound(
    claim: Analysis,
    value: ClaimValue,
    told: Sequence[ClaimValue],
    statements: Sequence[Statement],
    weights: dict[str, float],
) -> RuleResult | None:
    wanted = Key.of(claim, value, weights)
    if wanted is None:
        return None
    holders = [s for s in statements if value.held_by(s)]
    others = [other for other in told if other.start != value.start and other.exact]
    if any(wanted.names_it(s) or any(other.held_by(s) for other in others) for s in holders):
        return None
    best = _rival(claim, value, statements, holders, wanted)
    if best is None or not (
        _crossed(best, value, holders, wanted) if holders else _stands_instead(best, claim, value, statements)
    ):
        return None
    covered, statement, (start, end) = best
    weight = _SURE if statement.structured or covered > _FULLY else _LIKELY
    said = statement.text[start:end]
    reason = f"the sources say {said} here" if holders or statement.structured else f"evidence says {said}"
    return RuleResult("no", weight, value.start, value.end, reason)


def _rival(
    claim: Analysis, value: ClaimValue, statements: Sequence[Statement], holders: Sequence[Statement], wanted: Key
) -> Rival | None:
    """The statement that says this of the claim's own thing, with another value."""
    best: Rival | None = None
    for statement in statements:
        if not _speaks_of(statement, wanted):
            continue
        covered = wanted.cover(statement)
        if (covered < _COVERS and not statement.structured) or (best is not None and covered <= best[0]):
            continue
        for rival in value.rivals_in(statement):
            alike = _same_column(statement, holders, wanted) or _same_slot(claim, value, statement, rival)
            if alike and _fills(statement, value, rival):
                best = (covered, statement, rival)
                break
    return best


def _speaks_of(statement: Statement, wanted: Key) -> bool:
    """A cell speaks of the thing it belongs to, not of whatever its value mentions."""
    return wanted.subject <= (statement.about | statement.label if statement.structured else statement.norms)


def _fills(statement: Statement, value: ClaimValue, rival: Place) -> bool:
    """In a cell a rival stands behind the label, and a name at the end."""
    if not statement.structured or not statement.value:
        return True
    begin = len(statement.text) - len(statement.value)
    return rival[0] >= begin and (value.exact or rival[1] == len(statement.text.rstrip(". ")))


def _same_column(rival: Statement, holders: Sequence[Statement], wanted: Key) -> bool:
    """Whether the value stands in another record under the label that the rival has in this one."""
    return rival.structured and any(
        h.structured and (h.column == rival.column or bool((h.own & rival.own) - wanted.subject)) for h in holders
    )


def _crossed(best: Rival, value: ClaimValue, holders: Sequence[Statement], wanted: Key) -> bool:
    """A value that stands elsewhere: it is taken from there if the same is said there of another thing."""
    covered, rival, _ = best
    if rival.structured:
        return _same_column(rival, holders, wanted)
    if not value.exact and wanted.relation_in(rival) < _RELATED:
        return False
    needed, alike = (_SOME, _ALIKE) if value.exact else (_MOST, 2 * _ALIKE)
    said = wanted.relation.keys() & rival.norms
    parallel = [
        s for s in holders
        if _likeness(s, rival) >= alike
        and (wanted.relation_in(s) >= needed or (said and said == wanted.relation.keys() & s.norms))
    ]  # fmt: skip
    return bool(parallel) and covered >= max(wanted.cover(s) for s in parallel) + _BETTER


def _stands_instead(best: Rival, claim: Analysis, value: ClaimValue, statements: Sequence[Statement]) -> bool:
    """A value that stands nowhere: in a cell, or in a sentence that says all the rest with one such value."""
    covered, rival, _ = best
    if rival.structured:
        return True
    written = claim.text[value.start : value.end].split()[0].strip("$€£₪%")
    return (
        value.exact
        and covered >= _ALL
        and {word.norm for word in claim.content} <= rival.norms
        and len(list(value.rivals_in(rival))) == 1
        and len(rival.analysis.words) <= _ONE_THING
        and not any(written in s.text for s in statements)
    )


def _likeness(a: Statement, b: Statement) -> float:
    """How far two sentences are made alike, whoever they name."""
    frames = [s.own - {norm for name in s.analysis.names for norm in key(name.text)} for s in (a, b)]
    every = frames[0] | frames[1]
    return len(frames[0] & frames[1]) / len(every) if every else 1.0


def _same_slot(claim: Analysis, value: ClaimValue, statement: Statement, rival: Place) -> bool:
    """Whether the rival says the same of its thing: a word stands beside both, or is the cell's label."""
    mine = _beside(claim, value.start, value.end)
    theirs = _beside(statement.analysis, *rival)
    return bool(mine & theirs) or (statement.structured and bool(mine & statement.label))


def _beside(text: Analysis, start: int, end: int) -> frozenset[str]:
    """The content words around a place, without those in it."""
    return frozenset(w.norm for w in text.around(start, end, _WINDOW) if not start <= w.start < end)


def replaced(claim_text: str, statements: Sequence[Statement]) -> RuleResult | None:
    """A cell's thing and label without its value, and instead something that nothing says of the thing."""
    content = analyse(claim_text).content
    mine = {word.norm for word in content}
    for cell in statements:
        if not _is_told_by(cell, mine):
            continue
        value = content_norms(cell.value)
        of_thing = frozenset().union(*(s.norms for s in statements if _thing(cell) <= s.norms))
        strange = [word for word in content if word.norm not in of_thing]
        if strange and not value & mine:
            last = strange[-1]
            return RuleResult("no", _LIKELY, last.start, last.end, f"the sources say {cell.value} here")
    return None


def _is_told_by(cell: Statement, mine: set[str]) -> bool:
    """Whether the claim speaks of this very cell, whose value is a word or two."""
    if not cell.structured or not cell.value or not _thing(cell) or cell.value.lower() in _YES_NO:
        return False
    value = content_norms(cell.value)
    short = 0 < len(value) <= _SHORT_VALUE and not any(c.isdigit() for c in cell.value)
    return short and bool(cell.label) and cell.about | cell.label <= mine


def _thing(cell: Statement) -> frozenset[str]:
    """What a cell is of: said outside its label, or by all of the label but the last word."""
    return cell.about or cell.label - {cell.column}


def misattributed(claim_text: str, statements: Sequence[Statement]) -> RuleResult | None:
    """What the sources say of another thing only: all of it there, none of it where this thing is told."""
    at = 0
    for part in _CLAUSES.split(claim_text):
        at = claim_text.index(part, at)
        ruling = _told_of_another(part, statements)
        if ruling is not None:
            return replace(ruling, start=ruling.start + at, end=ruling.end + at)
    return None


def _told_of_another(clause: str, statements: Sequence[Statement]) -> RuleResult | None:
    claim = analyse(clause)
    subject = next((name for name in claim.names if name.sure or len(key(name.text)) > 1), None)
    if subject is None or subject.start > _OPENING:
        return None
    wanted = Key.about(claim, subject, term_weights(claim, statements))
    if wanted is None or not wanted.relation:
        return None
    exact = [value for value in values(claim) if value.exact]
    for statement in statements:
        if wanted.names_it(statement):
            known = any(value.held_by(statement) for value in exact)
            if known or wanted.relation_in(statement) > _LITTLE:
                return None
    return _elsewhere(claim, subject, statements, wanted)


def _elsewhere(claim: Analysis, subject: Name, statements: Sequence[Statement], wanted: Key) -> RuleResult | None:
    if not any(s.analysis.names and same_name(s.analysis.names[0].text, subject.text) for s in statements):
        return None  # nothing is told of it that begins with it, so that its own sentences may not be known
    exact = [value for value in values(claim) if value.exact]
    for statement in statements:
        if wanted.relation_in(statement) >= _FULLY and not wanted.names_it(statement):
            shared = len(wanted.relation) + sum(value.held_by(statement) for value in exact)
            other = _opens_with(statement, claim) if shared >= _ENOUGH else ""
            if other and wanted.subject & statement.norms <= set(key(other)):
                return RuleResult("no", _LIKELY, subject.start, subject.end, f"the sources say this of {other}")
    return None


def _opens_with(statement: Statement, claim: Analysis) -> str:
    """The name that a statement opens with, where the claim does not know it."""
    for name in statement.analysis.names[:1]:
        known = any(same_name(name.text, own.text) for own in claim.names)
        if name.start <= _OPENING and name.sure and not known:
            return name.text
    return ""
