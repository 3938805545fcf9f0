"""Moving goalposts: an earlier claim said again, weaker, narrower, or with another date, bound or number.

Catches restatements of the answer's own side that nobody asked for and nobody owned up to. Misses claims
put in quite other words. A correction that says it is one is honest, and a change the user made is his.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from groundwire.detectors.relate import Utterance, Value, nested, similarity, utterances
from groundwire.detectors.segments import segment
from groundwire.openie.tense import verb_groups
from groundwire.streaming.strength import Strength, strength, weakened, without_scales
from groundwire.text import dates, numbers
from groundwire.text.tokens import normalise
from groundwire.types import Tense, Turn
from groundwire.types.realtime import Contradiction

RELATED = 0.7
_TURNS, _CLAUSES, _WORDS = 20, 300, 2
_ASIDE = re.compile(r"\W*(?:if|who|whom|which|that|whether|when|while|although|though|because|where)\b", re.I)
_MOMENT = datetime(2000, 1, 1)
_USERS = frozenset({"user", "human", "customer"})
_SILENT = frozenset({"system", "tool", "function", "developer"})
_SEVERITY = {
    "fewer": 0.6, "less often": 0.5, "less certain": 0.5, "narrowed": 0.5,
    "later": 0.7, "another date": 0.6, "lower bar": 0.7, "another number": 0.6,
}  # fmt: skip
OWNED = re.compile(
    r"\b(?:I (?:was|were|had been) (?:wrong|mistaken|incorrect|imprecise|too \w+)|"
    r"I (?:misspoke|misstated|erred|overstated|exaggerated|apologi[sz]e|previously)|"
    r"my (?:mistake|error|apologies|earlier (?:statement|answer|claim|figure))|sorry|"
    r"correction|to correct|let me correct|corrected|I (?:should|need to|must) (?:correct|clarify|qualify)|"
    r"I said earlier|earlier I said|contrary to what|rather than (?:what )?I|"
    r"has (?:since )?(?:been )?(?:changed|moved|postponed|delayed|updated|revised|rescheduled|slipped)|"
    r"(?:was|were|is|are) (?:postponed|delayed|moved|revised|updated|rescheduled|pushed back)|"
    r"(?:new|updated|revised|latest) (?:date|deadline|figure|estimate|number|target|information|data|plan)|"
    r"no longer|instead of|as of (?:today|now)|since then|more precisely|"
    r"to be (?:more )?(?:precise|exact|accurate)|on reflection|strictly speaking|actually)\b|"
    r"טעיתי|תיקון|סליחה|מתנצל|לדייק|התעדכן|נדחה|עודכן|שגיתי",
    re.IGNORECASE,
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan ינואר", "february feb פברואר", "march mar מרץ מרס", "april apr אפריל", "may מאי",
         "june jun יוני", "july jul יולי", "august aug אוגוסט", "september sep sept ספטמבר",
         "october oct אוקטובר", "november nov נובמבר", "december dec דצמבר"), 1)
    for name in names.split()
}  # fmt: skip
_UNTIL = re.compile(
    r"\b(?:by|before|until|in|on|within|no later than|from|since|עד|לפני)\s+"
    r"(?:early |late |mid-?|the end of |end of )?"
    r"(?P<when>[A-Z][a-z]+|Q[1-4])(?:\s+(?P<year>\d{4}))?\b|(?<!\w)(?:עד|לפני)\s+(?:סוף )?(?P<he>[א-ת]+)"
)


@dataclass(frozen=True, slots=True)
class _Said:
    """A clause and how strongly it is put; `turn` None is the new content."""

    clause: Utterance
    strength: Strength
    turn: int | None
    by_user: bool = False


def goalposts(new_content: str, history: Sequence[Turn]) -> tuple[Contradiction, ...]:
    """What the new content takes back without saying so, in the order it stands."""
    before = [said for turn in history[-_TURNS:] for said in _of_turn(turn)][-_CLAUSES:]
    claims = [said for said in before if not said.by_user]
    if not claims:
        return ()
    allowed = [said for said in before if said.by_user]
    found = [
        moved
        for said in islice(_unowned(new_content), _CLAUSES)
        if (moved := _moved(said, claims, allowed)) is not None
    ]
    return tuple(found)


def _of_turn(turn: Turn) -> Iterator[_Said]:
    role = turn.role.lower()
    if role in _SILENT:
        return
    for piece in segment(turn.text, _MOMENT):
        if piece.assertive or role in _USERS:
            yield from _clauses(piece.text, piece.start, turn.id, by_user=role in _USERS)


def _unowned(text: str) -> Iterator[_Said]:
    """The clauses of the new content, without sentences that say they correct something, and what follows."""
    owned = False
    for piece in segment(text, _MOMENT):
        if OWNED.search(piece.text):
            owned = True
        elif piece.assertive and not owned:
            yield from _clauses(piece.text, piece.start, None)
        else:
            owned = False


def _clauses(text: str, offset: int, turn: int | None, *, by_user: bool = False) -> Iterator[_Said]:
    for clause in utterances(text, offset):
        if _ASIDE.match(clause.text):
            continue  # half a sentence, which claims nothing by itself
        bare = {normalise(word) for word in re.findall(r"[^\W\d_]+", without_scales(clause.text))}
        frame = frozenset(word for word in clause.frame if word in bare and word not in _BESIDE)
        claims = tuple(replace(c, subject=without_scales(c.subject).strip()) for c in clause.claims)
        rest = text[clause.start - offset + len(clause.text) :]
        strong = strength(clause.text, rest)
        yield _Said(replace(clause, frame=frame, claims=claims), strong, turn, by_user)


_BESIDE = frozenset(
    {*(normalise(name) for name in _MONTHS), "q1", "q2", "q3", "q4", "least", "end", "early", "late"}
    | {normalise(word) for word in ("provided", "except", "excluding", "unless", "condition", "subject")}
)


def _moved(said: _Said, claims: Sequence[_Said], allowed: Sequence[_Said]) -> Contradiction | None:
    """Against the latest statement of the same matter; nothing where it is held up, or the user moved it."""
    for prior in reversed(claims):
        if not _same_matter(said.clause, prior.clause):
            continue
        how = _how(said, prior)
        if not how:
            return None
        after = [a for a in allowed if (a.turn or 0) > (prior.turn or 0)]
        if any(_asked(a, said, prior) for a in after):
            return None
        clause = said.clause
        return Contradiction(
            clause.text, prior.clause.text, _SEVERITY[how], clause.start, clause.start + len(clause.text),
            prior.turn, how, "assistant",
        )  # fmt: skip
    return None


def _same_matter(said: Utterance, prior: Utterance) -> bool:
    """One of them says nothing that the other does not speak of, and more than a word, or it measures."""
    mine, theirs = _figure(said), _figure(prior)
    measured = mine is not None and theirs is not None and mine.kind == theirs.kind
    enough = min(len(said.frame), len(prior.frame)) >= _WORDS or measured
    return enough and nested(said, prior) and similarity(said, prior) >= RELATED


def _asked(user: _Said, said: _Said, prior: _Said) -> bool:
    """Whether the user himself spoke of the matter as the new content does."""
    return (
        similarity(user.clause, said.clause) >= RELATED / 2
        and not _how(said, user)
        and bool(_how(user, prior))
    )


def _how(said: _Said, prior: _Said) -> str:
    later = _later(said, prior)
    if later and (_is_past(said) or _is_past(prior)):
        return ""  # what was so in 2010 and what was so in 2015 are two facts
    return later or _bar(said, prior) or weakened(prior.strength, said.strength)


def _is_past(said: _Said) -> bool:
    return any(group.tense is Tense.PAST for group in verb_groups(said.clause.text))


def _later(said: _Said, prior: _Said) -> str:
    mine, theirs = _when(said.clause.text), _when(prior.clause.text)
    if mine is None or theirs is None or mine == theirs:
        return ""
    same_year = mine[0] == theirs[0] or not (mine[0] and theirs[0])
    if same_year and (mine[1] == theirs[1] or not (mine[1] and theirs[1])):
        return ""
    after = mine[1] > theirs[1] if same_year else mine > theirs
    return "later" if after else "another date"


def _when(text: str) -> tuple[int, int] | None:
    """Year (0 where none is said) and month (a quarter is its last one)."""
    for match in _UNTIL.finditer(text):
        name = (match["when"] or match["he"] or "").lower()
        month = int(name[1]) * 3 if re.fullmatch(r"q[1-4]", name) else _MONTHS.get(name)
        if month:
            return int(match["year"] or 0), month
    for date in dates.dates(text):
        if date.year:
            return date.year, date.month or 0
    return None


def _bar(said: _Said, prior: _Said) -> str:
    """Another figure for the same: a lower bar where more was promised, another number else."""
    mine, theirs = _figure(said.clause), _figure(prior.clause)
    if mine is None or theirs is None or mine.kind != theirs.kind or not (mine.number and theirs.number):
        return ""
    was, became = theirs.number, mine.number
    bounded = became.bound in ("over", "under") and was.bound == became.bound
    if became.value == was.value or (numbers.compare(became, was) != "conflict" and not bounded):
        return ""
    at_most = was.bound == "under"
    return "lower bar" if (became.value > was.value) == at_most else "another number"


def _figure(clause: Utterance) -> Value | None:
    """The one figure of a clause that measures or counts something."""
    found = [value for value in clause.values if value.number and value.kind not in ("count ", "clock")]
    return found[0] if len(found) == 1 else None
