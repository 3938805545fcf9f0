"""A sentence as its clauses: who, the verb, what, and the phrases behind: a grammar read left to right.

It knows noun phrases, verb groups, prepositional phrases, appositions, relative clauses and coordination, and
reads as far as it understands: what it cannot place ends the clause, so that nothing is made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundwire.openie import lexicon as en
from groundwire.openie.lexicon import Form, Tag, Token, form_of
from groundwire.openie.triples_nouns import is_plural, is_time, joined_phrases, phrase_at
from groundwire.openie.triples_reading import Clause, Phrase, Reading, Tie, Verb
from groundwire.openie.triples_verbs import opens_amount, phrasal, verb_group
from groundwire.text.lexicon import word_set

_UNITS = word_set(
    """
    team department dept division group office unit branch company firm faculty committee board ministry
    squad crew staff lab
    """
)

_ASIDE = word_set("in on at by")
_MARKS = frozenset({",", "–", "—"})  # between which something is said by the way


def read(tokens: Sequence[Token]) -> Reading:
    """All clauses of a sentence that can be told with some safety."""
    reading = Reading(tokens)
    at, real = 0, True
    while at < len(tokens):
        real = _is_real(reading, at, real)
        after = _clause(reading, at, real=real)
        at = after if after > at else at + 1
        at, real = _next_start(reading, at)
    return reading


def _is_real(reading: Reading, at: int, real: bool) -> bool:
    return real and reading.low(at) not in en.CONDITIONS


def _next_start(reading: Reading, at: int) -> tuple[int, bool]:
    """Where the next clause may begin: behind a stop or a joining word. Conditions make it unreal."""
    while at < len(reading.tokens):
        tag, low = reading.tag(at), reading.low(at)
        if tag is Tag.STOP or tag in (Tag.JOIN, Tag.AND, Tag.RELATIVE):
            told = low == "that" and reading.low(at - 1) in _SPEECH
            joined = at + 1
            while reading.tag(joined) in (Tag.JOIN, Tag.AND, Tag.STOP):
                low, joined = (reading.low(joined), joined + 1)
            return joined, low not in en.CONDITIONS and not told
        at += 1
    return at, True


_SPEECH = word_set(
    """
    said says say claims claimed claim believes believe believed thinks think thought argues argued
    suggests suggested hopes hoped wishes doubts doubted denied denies alleges alleged
    """
)


def _clause(reading: Reading, at: int, *, real: bool = True) -> int:
    """Read one clause with all the verbs its subject has; the position behind it."""
    opening = at
    at = _past_aside(reading, at)
    at = _past_intro(reading, at)
    subjects, after = joined_phrases(reading, at, subject=True)
    if not subjects:
        return at
    if opening < at and len(subjects) == 1:
        _aside(reading, subjects[0], opening, at)
    subjects, after = _with_purpose(reading, subjects, after)
    after = _modifiers(reading, subjects[-1], after)
    verb, behind = verb_group(reading, after, plural=len(subjects) > 1 or is_plural(reading, subjects[0]))
    while verb is not None:
        after = _predicate(reading, subjects, replace(verb, real=verb.real and real), behind)
        verb, behind = _next_verb(reading, after, subjects[0])
    return after


def _with_purpose(reading: Reading, subjects: tuple[Phrase, ...], at: int) -> tuple[tuple[Phrase, ...], int]:
    """ "The deadline for the report is …" is the report's, as "of" would say."""
    subject = subjects[0]
    if len(subjects) > 1 or reading.low(at) != "for" or subject.of or subject.determiner not in ("the", ""):
        return subjects, at
    inner, after = phrase_at(reading, at + 1)
    if inner is None or reading.low(after) not in en.BE or reading.tag(subject.head) is Tag.NAME:
        return subjects, at
    return (replace(subject, of=inner, last=after, core=at),), after


def _past_aside(reading: Reading, at: int) -> int:
    """Behind "Founded in 2011,": a participle with its phrases, which tell of the subject to come."""
    leads = at == 0 and form_of(reading.low(at), Form.PARTICIPLE) and reading.low(at + 1) in _ASIDE
    if not leads:
        return at
    comma = next((i for i in range(at, min(len(reading.tokens), at + 14)) if reading.low(i) == ","), -1)
    return comma + 1 if comma > 0 else at


def _aside(reading: Reading, subject: Phrase, at: int, behind: int) -> None:
    """Read what stood before the subject; what does not end at its comma was something else."""
    verb = Verb(reading.low(at), passive=True, start=at)
    if _past_aside(reading, at) == behind:
        after = _predicate(reading, (subject,), verb, at + 1)
        if after != behind - 1:
            reading.clauses.pop()


def _past_intro(reading: Reading, at: int) -> int:
    """Behind "In 2019,", "As I mentioned," and "However,": up to a comma with no subject and verb of its
    own before.
    """
    while reading.tag(at) in (Tag.STOP, Tag.AND, Tag.ADVERB, Tag.JOIN) or (
        reading.tag(at) is Tag.NOT and reading.low(at) == "nor"
    ):
        at += 1
    if _is_when(reading, at):
        return _past_intro(reading, at + 2)
    leads = reading.tag(at) is Tag.PREP or reading.low(at) in ("according", "based", "to", "please", "note")
    if not leads:
        return at
    comma = next((i for i in range(at, min(len(reading.tokens), at + 14)) if reading.low(i) == ","), -1)
    if comma > 0:
        return _past_intro(reading, comma + 1)
    phrase, after = phrase_at(reading, at + 1)
    return after if phrase and verb_group(reading, after + 1, plural=True)[0] else at


def _is_when(reading: Reading, at: int) -> bool:
    """ "These days Ann …", "Last year the firm …": a time before the subject, with no comma."""
    leads = reading.low(at) in en.TIME_LEADS | {"these", "those"}
    timed = reading.low(at + 1).removesuffix("s") in en.TIME_NOUNS
    return leads and timed and reading.tag(at + 2) in (Tag.NAME, Tag.DET, Tag.PRONOUN, Tag.STOP)


def _modifiers(reading: Reading, subject: Phrase, at: int) -> int:
    """Phrases, appositions, relative and reduced clauses between a subject and its verb."""
    for _ in range(4):
        after = _modifier(reading, subject, at)
        if after == at:
            break
        at = after
    return at


def _modifier(reading: Reading, subject: Phrase, at: int) -> int:
    tag, low = reading.tag(at), reading.low(at)
    if tag is Tag.PREP and low != "than":
        right, after = phrase_at(reading, at + 1)
        if right is not None:
            _tie(reading, subject, low, right)
            return after
    if low == "(":
        closing = next((i for i in range(at, len(reading.tokens)) if reading.low(i) == ")"), -1)
        return closing + 1 if closing > 0 else at
    aside = low in _MARKS
    relative = at + aside
    if reading.tag(relative) is Tag.RELATIVE or reading.low(relative) == "that":
        return _relative(reading, subject, relative + 1, closed=aside)
    if low == "," and form_of(reading.low(at + 1), Form.PARTICIPLE) and reading.tag(at + 2) is Tag.PREP:
        verb = Verb(reading.low(at + 1), passive=True, start=at + 1)
        after = _predicate(reading, (subject,), verb, at + 2)
        return after + (reading.low(after) == ",")
    if low == ",":
        return _apposition(reading, subject, at)
    if reading.low(at) in ("both", "all", "each") and reading.tag(at + 1) in (Tag.VERB, Tag.AUX):
        return at + 1
    if tag is Tag.VERB and form_of(low, Form.PARTICIPLE) and _main_verb_follows(reading, at):
        return _predicate(reading, (subject,), Verb(low, passive=True, start=at), at + 1)
    return at


def _main_verb_follows(reading: Reading, at: int) -> bool:
    """ "The company founded in 1847 is …": the participle only describes."""
    for i in range(at + 1, len(reading.tokens)):
        if reading.tag(i) in (Tag.STOP, Tag.AND, Tag.RELATIVE, Tag.JOIN, Tag.PRONOUN):
            return False
        if reading.tag(i) in (Tag.AUX, Tag.MODAL) and i > at + 1:
            return True
    return False


def _relative(reading: Reading, subject: Phrase, at: int, *, closed: bool) -> int:
    """ "…, which was founded in 1990, …": its verb has the same subject."""
    verb, behind = verb_group(reading, at, plural=is_plural(reading, subject))
    if verb is None:
        return at - 1 - closed
    after = _predicate(reading, (subject,), verb, behind)
    return after + (closed and reading.low(after) in _MARKS)


def _apposition(reading: Reading, subject: Phrase, at: int) -> int:
    """ "John Smith, the CEO of Acme, …"; only between two commas, and only for a name."""
    right, after = phrase_at(reading, at + 1)
    if right is None or reading.tag(subject.head) is not Tag.NAME:
        return at
    while reading.tag(after) is Tag.PREP:
        place, end = phrase_at(reading, after + 1)
        if place is None:
            break
        after = end
    if reading.low(after) not in (",", ".", "") or reading.tag(right.head) is Tag.NUMBER:
        return at
    if right.determiner or right.of or right.owner or reading.low(after) == ",":
        reading.ties.append(Tie(subject, "be", right))
        return after + (reading.low(after) == ",")
    return at


def _tie(reading: Reading, left: Phrase, word: str, right: Phrase) -> None:
    """A name from, in or of a team or another name belongs there."""
    unit = reading.low(right.head) in _UNITS or (reading.tag(right.head) is Tag.NAME)
    if word in ("from", "at", "in", "on") and unit and reading.tag(left.head) is Tag.NAME:
        strict = word == "from" or reading.low(right.head) in _UNITS
        if strict:
            reading.ties.append(Tie(left, word, right))


def _predicate(reading: Reading, subjects: tuple[Phrase, ...], verb: Verb, at: int) -> int:
    """What stands behind a verb: its objects and the phrases with their prepositions."""
    verb, at = phrasal(reading, verb, at)
    at = _past_particles(reading, at)
    denied = {at} if reading.tag(at) is Tag.NOT else set()
    at += bool(denied)
    objects, after = joined_phrases(reading, at) if reading.tag(at) is not Tag.PREP else ((), at)
    if objects and is_time(reading, objects[0]):
        objects, after = (), at
    denied |= {o.first for o in objects if reading.tag(o.first - 1) is Tag.NOT}
    if objects:
        after = _object_modifiers(reading, objects[-1], after)
    tails: list[tuple[str, tuple[Phrase, ...]]] = []
    while True:
        word, right, end = _tail(reading, after)
        if not right:
            break
        tails.append((word, right))
        after = end
    for subject in subjects:
        reading.clauses.append(Clause(subject, verb, objects, tuple(tails), frozenset(denied)))
    return after


def _past_particles(reading: Reading, at: int) -> int:
    while (
        reading.tag(at) is Tag.ADVERB
        and not opens_amount(reading, at)
        and reading.low(at) not in en.TIME_NOUNS
    ):
        at += 1
    return at


def _object_modifiers(reading: Reading, phrase: Phrase, at: int) -> int:
    """ "Sarah from the Analytics team": noted, and then read as any other phrase."""
    if reading.tag(at) is Tag.PREP:
        right, _ = phrase_at(reading, at + 1)
        if right is not None:
            _tie(reading, phrase, reading.low(at), right)
    elif reading.low(at) == ",":
        return _apposition(reading, phrase, at)
    return at


def _tail(reading: Reading, at: int) -> tuple[str, tuple[Phrase, ...], int]:
    """One preposition with its phrases, or a bare time ("next Tuesday"); nothing where a clause begins
    instead.
    """
    at = _past_particles(reading, at)
    if reading.low(at) == "," and reading.tag(at + 1) is Tag.PREP:
        at += 1
    if reading.tag(at) not in (Tag.PREP, Tag.TO):
        bare, end = phrase_at(reading, at)
        return ("", (bare,), end) if bare and is_time(reading, bare) else ("", (), at)
    word = "out of" if reading.low(at - 1) == "out" and reading.low(at) == "of" else reading.low(at)
    right, after = joined_phrases(reading, at + 1)
    if not right or (
        reading.tag(right[0].head) is Tag.VERB and len(right) == 1 and right[0].first == right[0].head
    ):
        return word, (), at
    clause = (
        word in ("before", "after", "since", "until", "as", "for", "than")
        and verb_group(reading, after, plural=True)[0]
    )
    return (word, (), at) if clause else (word, right, after)


def _next_verb(reading: Reading, at: int, subject: Phrase) -> tuple[Verb | None, int]:
    """ "… and lives in Berlin": another verb of the same subject."""
    step = at + (reading.low(at) == ",")
    if reading.tag(step) is Tag.AND or reading.low(step) == "but":
        return verb_group(reading, step + 1, plural=is_plural(reading, subject))
    if at < len(reading.tokens) and reading.tag(at) in (Tag.AUX, Tag.MODAL, Tag.VERB):
        return verb_group(reading, at)
    return None, at
