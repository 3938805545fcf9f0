"""Drift between turns: claims that are weakened (moving goalposts) and terms that change their meaning.

The strength of a claim is measured on three scales (quantity, frequency, certainty), which are tables of
English and Hebrew words from strong to weak.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from math import sqrt

from groundwire.detectors.context import segment_response
from groundwire.detectors.history import Utterance, UtteranceValue, nested, similarity, utterances
from groundwire.openie.tense import verb_groups
from groundwire.text import dates, numbers
from groundwire.text.numbers import numbers as numbers_module
from groundwire.text.sentences import sentences
from groundwire.text.tokens import normalise, words
from groundwire.types import Tense, Turn
from groundwire.types.stream import Contradiction, Drift

SCALES: dict[str, tuple[tuple[int, str], ...]] = {
    "quantity": (
        (4, r"all|every(?:one|body|thing)?|each|100\s?%|without exception|entire(?:ly)?|"
            r"whole|complete(?:ly)?|full(?:y)?|total(?:ly)?|כל|כולם|כולן|כלל"),
        (3, r"nearly all|almost all|virtually all|most(?:ly)?|the majority of|largely|mainly|"
            r"the vast majority of|רוב|מרבית|כמעט כל"),
        (2, r"many|a lot of|lots of|numerous|much of|a number of|רבים|רבות|הרבה|לא מעט"),
        (1, r"some|several|certain|a few|part(?:ly|ially)?|partial|selected|a minority of|"
            r"חלק|חלקם|כמה|אחדים|מקצת"),
        (0, r"few|hardly any|a handful of|מעטים|מעטות|בודדים"),
    ),
    "frequency": (
        (4, r"always|every time|at all times|never|constantly|invariably|תמיד|לעולם|בכל פעם"),
        (3, r"almost always|nearly always|usually|generally|typically|normally|in most cases|as a rule|"
            r"rarely|בדרך כלל|לרוב|כמעט תמיד"),
        (2, r"often|frequently|in many cases|לעתים קרובות"),
        (1, r"sometimes|occasionally|at times|in some cases|now and then|לפעמים|לעתים|מדי פעם"),
    ),
    "certainty": (
        (5, r"guarantee[sd]?|certain(?:ly)?|definite(?:ly)?|undoubtedly|no doubt|prove[sdn]?|proven|"
            r"ensure[sd]?|must|cannot|impossible|will|shall|cures?|eliminates?|prevents?|"
            r"מבטיח(?:ה|ים|ות)?|מובטח|ודאי|בוודאות|ללא ספק|מוכיח(?:ה|ים)?|חייב(?:ת|ים)?|מונע(?:ת|ים)?"),
        (3, r"should|likely|probably|expected to|expect(?:s|ed)?|suggests?|indicates?|tends? to|plans? to|"
            r"reduces?|improves?|helps?|can|צפוי(?:ה|ים)?|כנראה|סביר|אמור(?:ה|ים)?|מפחית(?:ה|ים)?|עוזר(?:ת|ים)?"),
        (1, r"may|might|could|possibly|perhaps|maybe|potentially|aims? to|hopes? to|tries to|try to|"
            r"intended to|designed to|עשוי(?:ה|ים|ות)?|עלול(?:ה|ים)?|אולי|ייתכן|יכול(?:ה|ים)?|אפשרי"),
    ),
}  # fmt: skip
BARE = {"quantity": None, "frequency": None, "certainty": 4}
"""Rank without a scale word: quantity and frequency are open, but a plain statement is certain."""
_CONDITION_CHARS = 40  # a condition must follow the clause within this distance
_NAMES = {"quantity": "fewer", "frequency": "less often", "certainty": "less certain"}
_MONTH = r"(?i:may) (?:\d|of\b)|(?:in|by|on|until|since|from|of|\d) May\b"

NARROWING = re.compile(
    r"\b(?:only (?:if|when|for|in|on|with|under|after|within)|(?:but|although|though) only|"
    r"except(?:ing)?(?: for)?|unless|provided (?:that|it|they|you|he|she|the)|as long as|on condition|"
    r"in most cases|under (?:certain|some|ideal|normal|test|lab(?:oratory)?) conditions|"
    r"in (?:the lab|theory|principle|standby)|at least (?:in|for|on|when)|excluding|apart from|other than|"
    r"depending on|subject to|"
    r"for (?:eligible|selected|some|certain|enterprise|paying|premium|new|existing) \w+)\b|"
    r"(?:^|\s)(?:רק אם|רק כאשר|רק ב\S+|אלא אם|למעט|בתנאי|ובלבד|בתנאים מסוימים|חוץ מ\S*)(?=\s|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Strength:
    """The rank of a text on each scale (None: not stated) and the condition that narrows it."""

    ranks: tuple[tuple[str, int | None], ...]
    narrowed: str = ""


def _scale(rows: Sequence[tuple[int, str]]) -> list[tuple[int, re.Pattern[str]]]:
    return [
        (rank, re.compile(rf"(?<![\w-])[והבלמשכ]?(?:{words})(?![\w-])", re.IGNORECASE))
        for rank, words in rows
    ]


_PATTERNS = {name: _scale(rows) for name, rows in SCALES.items()}
_NO_MODAL = re.compile(_MONTH)


def strength(text: str, rest: str = "") -> Strength:
    """The strength of a clause; `rest` is the remainder of its sentence, which may narrow it.

    >>> dict(strength("Most users may get it only if they pay.").ranks)
    {'quantity': 3, 'frequency': None, 'certainty': 1}
    """
    narrowed = NARROWING.search(text + rest[:_CONDITION_CHARS])
    plain = _NO_MODAL.sub(" ", text)
    return Strength(
        tuple((name, _rank(name, plain)) for name in SCALES), narrowed[0].strip() if narrowed else ""
    )


def _rank(scale: str, text: str) -> int | None:
    """The rank of the weakest word ("may always", "nearly all")."""
    found, left = [], text
    for rank, pattern in sorted(_PATTERNS[scale], key=lambda row: row[0] != 3):  # "nearly all" before "all"
        if pattern.search(left):
            found.append(rank)
            left = pattern.sub(" ", left)
    return min(found, default=BARE[scale])


def weakened(before: Strength, now: Strength) -> str:
    """How the second is weaker than the first; "" if it is not."""
    for (scale, was), (_, became) in zip(before.ranks, now.ranks, strict=True):
        if (
            was is not None
            and became is not None
            and became < was
            and not (was - became < 2 and scale == "certainty")
        ):
            return _NAMES[scale]
    return "narrowed" if now.narrowed and not before.narrowed else ""


def without_scales(text: str) -> str:
    """The text without scale words: what it is about."""
    for rows in _PATTERNS.values():
        for _, pattern in rows:
            text = pattern.sub(" ", text)
    return text


# Moving goalposts: an earlier claim of the assistant is repeated weaker, narrower, or with another date,
# bound or number. Explicit corrections and changes that the user asked for are not reported. Misses claims in
# quite different words.

RELATED = 0.7
"""Similarity from which two clauses are about the same matter."""
_TURNS, _CLAUSES = 20, 300  # how far back to look; bounds the pairwise comparison
_WORDS = 2  # content words that two clauses must share
_SUBORDINATE = re.compile(
    r"\W*(?:if|who|whom|which|that|whether|when|while|although|though|because|where)\b", re.I
)
_MOMENT = datetime(2000, 1, 1)
_USER_ROLES = frozenset({"user", "human", "customer"})
_IGNORED_ROLES = frozenset({"system", "tool", "function", "developer"})
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
class _RatedClause:
    """A clause and its strength; `turn` is None for the new content."""

    clause: Utterance
    strength: Strength
    turn: int | None
    by_user: bool = False


def goalposts(new_content: str, history: Sequence[Turn]) -> tuple[Contradiction, ...]:
    """Earlier claims that the new content weakens without saying so, in text order."""
    before = [clause for turn in history[-_TURNS:] for clause in _of_turn(turn)][-_CLAUSES:]
    claims = [clause for clause in before if not clause.by_user]
    if not claims:
        return ()
    allowed = [clause for clause in before if clause.by_user]
    found = [
        moved
        for clause in islice(_unowned(new_content), _CLAUSES)
        if (moved := _moved(clause, claims, allowed)) is not None
    ]
    return tuple(found)


def _of_turn(turn: Turn) -> Iterator[_RatedClause]:
    role = turn.role.lower()
    if role in _IGNORED_ROLES:
        return
    for piece in segment_response(turn.text, _MOMENT):
        if piece.assertive or role in _USER_ROLES:
            yield from _clauses(piece.text, piece.start, turn.id, by_user=role in _USER_ROLES)


def _unowned(text: str) -> Iterator[_RatedClause]:
    """Clauses of the new content, without explicit corrections and the sentences that follow them."""
    owned = False
    for piece in segment_response(text, _MOMENT):
        if OWNED.search(piece.text):
            owned = True
        elif piece.assertive and not owned:
            yield from _clauses(piece.text, piece.start, None)
        else:
            owned = False


def _clauses(text: str, offset: int, turn: int | None, *, by_user: bool = False) -> Iterator[_RatedClause]:
    for clause in utterances(text, offset):
        if _SUBORDINATE.match(clause.text):
            continue  # a subordinate clause claims nothing by itself
        bare = {normalise(word) for word in re.findall(r"[^\W\d_]+", without_scales(clause.text))}
        frame = frozenset(word for word in clause.frame if word in bare and word not in _IGNORED_WORDS)
        claims = tuple(replace(c, subject=without_scales(c.subject).strip()) for c in clause.claims)
        rest = text[clause.start - offset + len(clause.text) :]
        strong = strength(clause.text, rest)
        yield _RatedClause(replace(clause, frame=frame, claims=claims), strong, turn, by_user)


_IGNORED_WORDS = frozenset(
    {*(normalise(name) for name in _MONTHS), "q1", "q2", "q3", "q4", "least", "end", "early", "late"}
    | {normalise(word) for word in ("provided", "except", "excluding", "unless", "condition", "subject")}
)


def _moved(
    new: _RatedClause, claims: Sequence[_RatedClause], allowed: Sequence[_RatedClause]
) -> Contradiction | None:
    """Compare with the latest claim about the same matter, unless the user asked for the change."""
    for prior in reversed(claims):
        if not _same_matter(new.clause, prior.clause):
            continue
        how = _how(new, prior)
        if not how:
            return None
        after = [a for a in allowed if (a.turn or 0) > (prior.turn or 0)]
        if any(_requested_by_user(a, new, prior) for a in after):
            return None
        own = new.clause
        return Contradiction(
            own.text, prior.clause.text, _SEVERITY[how], own.start, own.start + len(own.text),
            prior.turn, how, "assistant",
        )  # fmt: skip
    return None


def _same_matter(one: Utterance, other: Utterance) -> bool:
    """True if one clause is contained in the other and they share enough words or a measured value."""
    mine, theirs = _figure(one), _figure(other)
    measured = mine is not None and theirs is not None and mine.kind == theirs.kind
    enough = min(len(one.frame), len(other.frame)) >= _WORDS or measured
    return enough and nested(one, other) and similarity(one, other) >= RELATED


def _requested_by_user(user: _RatedClause, new: _RatedClause, prior: _RatedClause) -> bool:
    """True if the user had already stated the matter as the new content does."""
    return (
        similarity(user.clause, new.clause) >= RELATED / 2 and not _how(new, user) and bool(_how(user, prior))
    )


def _how(new: _RatedClause, prior: _RatedClause) -> str:
    later = _later(new, prior)
    if later and (_is_past(new) or _is_past(prior)):
        return ""  # two past dates are two facts, not a change
    return later or _bar(new, prior) or weakened(prior.strength, new.strength)


def _is_past(rated: _RatedClause) -> bool:
    return any(group.tense is Tense.PAST for group in verb_groups(rated.clause.text))


def _later(new: _RatedClause, prior: _RatedClause) -> str:
    mine, theirs = _when(new.clause.text), _when(prior.clause.text)
    if mine is None or theirs is None or mine == theirs:
        return ""
    same_year = mine[0] == theirs[0] or not (mine[0] and theirs[0])
    if same_year and (mine[1] == theirs[1] or not (mine[1] and theirs[1])):
        return ""
    after = mine[1] > theirs[1] if same_year else mine > theirs
    return "later" if after else "another date"


def _when(text: str) -> tuple[int, int] | None:
    """Year (0 if not given) and month; a quarter counts as its last month."""
    for match in _UNTIL.finditer(text):
        name = (match["when"] or match["he"] or "").lower()
        month = int(name[1]) * 3 if re.fullmatch(r"q[1-4]", name) else _MONTHS.get(name)
        if month:
            return int(match["year"] or 0), month
    for date in dates.dates(text):
        if date.year:
            return date.year, date.month or 0
    return None


def _bar(new: _RatedClause, prior: _RatedClause) -> str:
    """ "lower bar" if the new figure promises less, "another number" if it only differs."""
    mine, theirs = _figure(new.clause), _figure(prior.clause)
    if mine is None or theirs is None or mine.kind != theirs.kind or not (mine.number and theirs.number):
        return ""
    was, became = theirs.number, mine.number
    bounded = became.bound in ("over", "under") and was.bound == became.bound
    if became.value == was.value or (numbers.compare(became, was) != "conflict" and not bounded):
        return ""
    at_most = was.bound == "under"
    return "lower bar" if (became.value > was.value) == at_most else "another number"


def _figure(clause: Utterance) -> UtteranceValue | None:
    """The single measured figure of a clause."""
    found = [value for value in clause.values if value.number and value.kind not in ("count ", "clock")]
    return found[0] if len(found) == 1 else None


# Semantic drift: a term that was defined, spelled out or used in one sense and now in another.
#
# Catches changed definitions ("by X we mean …", "X stands for …"), abbreviations with two expansions, and
# words whose neighbours changed. Misses words used once or twice: neighbours are counted, there are no
# embeddings.

SAME_DEFINITION = 0.5
"""Dice overlap of two definitions from which they are the same."""
_DIFFERENT_USE, _CONSISTENT_USE, _MIN_USES = 0.08, 0.2, 3  # cosine between, cosine within, sentences
_DRIFT_TURNS, _SENTENCE_CHARS = 40, 400
_REDEFINES = re.compile(
    r"\b(?:from (?:now|here) on|redefine[sd]?|in this (?:section|part|chapter|context)|"
    r"for (?:this|the) purposes?|in another sense|in a different sense|not to be confused)\b|מעתה|בהקשר אחר",
    re.IGNORECASE,
)
_TERM = r"[\"“'‘*_]*(?P<term>[\w][\w' -]{1,40}?)[\"”'’*_]*"
_IS = r"(?:we|I|you|they|the \w+) (?:mean|understand|refer to|denote)s?"
_DEFINITIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bby {_TERM},? {_IS} (?P<what>[^.;!?]+)",
        rf"(?:^|[,;:]\s*)(?:the term |the word |here,? |an? |the )?{_TERM} "
        rf"(?:means|is defined as|are defined as|is understood as|refers to|refer to|denotes|stands for|"
        rf"is short for) (?P<what>[^.;!?]+)",
        rf"\bdefine {_TERM} (?:as|to be|to mean) (?P<what>[^.;!?]+)",
        rf"(?:^|\s)ב-?{_TERM} (?:הכוונה ל|הכוונה היא ל|אנו מתכוונים ל)-?(?P<what>[^.;!?]+)",
        rf"(?:^|[,;:]\s*){_TERM} (?:פירושו|פירושה|מוגדר כ|מוגדרת כ|משמעו|משמעותו) ?(?P<what>[^.;!?]+)",
    )
)
_SPELLED = re.compile(r"(?P<long>(?:[A-Za-z][\w-]*[ -]){1,7}[A-Za-z][\w-]*) \((?P<short>[A-Z]{2,6})s?\)")
_SPELLED_AFTER = re.compile(
    r"\b(?P<short>[A-Z]{2,6})s? \((?P<long>(?:[A-Za-z][\w-]*[ -]){1,7}[A-Za-z][\w-]*)\)"
)


@dataclass(frozen=True, slots=True)
class _Definition:
    term: str
    what: str


def drifts(new_content: str, history: Sequence[Turn]) -> tuple[Drift, ...]:
    """Terms that changed their meaning: by definition first, then by neighbours; each term once."""
    before = [turn.text for turn in history[-_DRIFT_TURNS:]]
    if not before:
        return ()
    found: dict[str, Drift] = {}
    for drift in (*_redefined(new_content, before), *_shifted_use(new_content, before)):
        found.setdefault(drift.term.casefold(), drift)
    return tuple(found.values())


def _redefined(new_content: str, before: Iterable[str]) -> Iterator[Drift]:
    known = {_key(d.term): d for text in before for d in _definitions(text)}
    for definition in _definitions(new_content, owned=False):
        earlier = known.get(_key(definition.term))
        if earlier is None:
            continue
        alike = _dice(_content(earlier.what), _content(definition.what))
        if alike < SAME_DEFINITION or _figures(earlier.what) != _figures(definition.what):
            yield Drift(definition.term, earlier.what, definition.what, round(alike, 3))


def _definitions(text: str, *, owned: bool = True) -> Iterator[_Definition]:
    """The definitions in a text; without explicit redefinitions unless `owned`."""
    for span in sentences(text):
        sentence = text[span.start : span.end][:_SENTENCE_CHARS]
        if not owned and (OWNED.search(sentence) or _REDEFINES.search(sentence)):
            continue
        for pattern in _DEFINITIONS:
            for match in pattern.finditer(sentence):
                yield _Definition(match["term"].strip(" '"), match["what"].strip())
        for pattern in (_SPELLED, _SPELLED_AFTER):
            for match in pattern.finditer(sentence):
                if long := _spelling(match["short"], match["long"]):
                    yield _Definition(match["short"], long)


def _spelling(short: str, long: str) -> str:
    """The words before an abbreviation if their initials spell it, else ""."""
    parts = re.split(r"[ -]", long)[-len(short) :]
    return " ".join(parts) if "".join(part[0] for part in parts).upper() == short else ""


def _key(term: str) -> str:
    return " ".join(word.norm for word in words(term) if not word.is_stop) or term.casefold()


def _content(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def _figures(text: str) -> frozenset[tuple[float, str]]:
    return frozenset((number.value, number.unit) for number in numbers_module(text))


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def _shifted_use(new_content: str, before: Sequence[str]) -> Iterator[Drift]:
    """Terms with different neighbours before and now, both of them consistent."""
    if OWNED.search(new_content) or _REDEFINES.search(new_content):
        return
    mine, theirs = _neighbours([new_content]), _neighbours(before)
    for term in sorted(mine.keys() & theirs.keys()):
        now, then = mine[term], theirs[term]
        if min(len(now), len(then)) < _MIN_USES or min(_within(now), _within(then)) < _CONSISTENT_USE:
            continue
        alike = _cosine(_sum(now), _sum(then))
        if alike < _DIFFERENT_USE:
            yield Drift(term, _typical(then, term), _typical(now, term), round(alike, 3))


def _neighbours(texts: Iterable[str]) -> Mapping[str, list[Counter[str]]]:
    """For each content word, one counter of neighbouring words per sentence."""
    found: defaultdict[str, list[Counter[str]]] = defaultdict(list)
    for text in texts:
        for span in sentences(text):
            around = Counter(
                w.norm for w in words(text[span.start : span.end][:_SENTENCE_CHARS]) if not w.is_stop
            )
            for term in around:
                if len(term) > 2 and term.isalpha():
                    found[term].append(Counter({w: n for w, n in around.items() if w != term}))
    return found


def _sum(uses: Sequence[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for use in uses:
        total.update(use)
    return total


def _within(uses: Sequence[Counter[str]]) -> float:
    """Mean similarity of a use to the others."""
    total = _sum(uses)
    return sum(_cosine(use, total - use) for use in uses) / len(uses)


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    shared = sum(n * other[word] for word, n in one.items() if word in other)
    size = sqrt(sum(n * n for n in one.values())) * sqrt(sum(n * n for n in other.values()))
    return shared / size if size else 0.0


def _typical(uses: Sequence[Counter[str]], term: str) -> str:
    common = [word for word, _ in _sum(uses).most_common(4)]
    return f"{term} with {', '.join(common)}"
