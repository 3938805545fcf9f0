"""What the grammar reads a sentence into: phrases, verbs, clauses and ties between phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from groundwire.openie import lexicon as en
from groundwire.openie.lexicon import Form, Tag, Token, form_of
from groundwire.text.lexicon import word_set
from groundwire.types import Tense


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: tokens [first, last), its head, who owns it and what it is of, and what else it
    joins.
    """

    first: int
    last: int
    head: int
    owner: Phrase | None = None
    of: Phrase | None = None
    determiner: str = ""
    core: int = 0
    """Where it ends without its "of …"."""


@dataclass(frozen=True, slots=True)
class Verb:
    """`lemma` of the active verb, the participle of the passive one, or "be" and "have"."""

    lemma: str
    passive: bool = False
    denied: bool = False
    real: bool = True
    tense: Tense = Tense.NONE
    start: int = 0


@dataclass(frozen=True, slots=True)
class Clause:
    """One subject with one verb; `objects` are coordinated; `tails` are (preposition, phrases) in order."""

    subject: Phrase
    verb: Verb
    objects: tuple[Phrase, ...] = ()
    tails: tuple[tuple[str, tuple[Phrase, ...]], ...] = ()
    denied_objects: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Tie:
    """Two phrases side by side: "Sarah from the Analytics team", "Sarah, our CEO,"; `word` is "from" or
    "be".
    """

    left: Phrase
    word: str
    right: Phrase


@dataclass(slots=True)
class SentenceParse:
    """The sentence being read."""

    tokens: Sequence[Token]
    clauses: list[Clause] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)

    def tag(self, at: int) -> Tag | None:
        return self.tokens[at].tag if 0 <= at < len(self.tokens) else None

    def low(self, at: int) -> str:
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""


# Verb groups: auxiliaries, negation, adverbs and the verb, with voice and tense.


def verb_group(reading: SentenceParse, at: int, *, plural: bool = False) -> tuple[Verb | None, int]:
    """The verb group here, if one is: auxiliaries, negation, adverbs and the verb itself."""
    start, denied, real, chain = at, False, True, []
    while at < len(reading.tokens):
        tag, low = reading.tag(at), reading.low(at)
        if tag in (Tag.AUX, Tag.MODAL):
            denied = denied or low.endswith("n't") or low == "cannot"
            real = real and low not in en.UNREAL
            chain.append(
                low.removesuffix("n't")
                if low not in ("can't", "won't")
                else {"can't": "can", "won't": "will"}[low]
            )
        elif tag is Tag.NOT or (low == "no" and reading.low(at + 1) == "longer"):
            denied = True
            at += low == "no"
        elif (tag is Tag.ADVERB and not (chain and opens_amount(reading, at))) or (
            low in ("both", "either") and chain
        ):
            pass
        else:
            break
        at += 1
    return _whole_verb(reading, at, Verb("", False, denied, real, Tense.NONE, start), chain, plural)


_PHRASAL = {("come", "out"): "come out", ("weigh", "in", "at"): "weigh", ("go", "live"): "go live"}


def phrasal(reading: SentenceParse, verb: Verb, at: int) -> tuple[Verb, int]:
    """The verb with the words that make another one of it: "came out" did not come."""
    for (lemma, *others), meant in _PHRASAL.items():
        if verb.lemma == lemma and [reading.low(at + i) for i in range(len(others))] == others:
            behind = at + len(others)
            return (verb, at) if reading.low(behind) == "of" else (replace(verb, lemma=meant), behind)
    return verb, at


def opens_amount(reading: SentenceParse, at: int) -> bool:
    return reading.tag(at + 1) is Tag.NUMBER


def _whole_verb(
    reading: SentenceParse, at: int, verb: Verb, chain: list[str], plural: bool
) -> tuple[Verb | None, int]:
    low = reading.low(at) if reading.tag(at) in (Tag.VERB, Tag.WORD) else ""
    tense = _tense(chain)
    if not chain:
        return _bare(reading, at, verb, plural)
    last = chain[-1]
    if last in en.BE or last in ("'s", "'re", "'m"):
        ongoing = form_of(low, Form.ING) if reading.tag(at) is Tag.VERB else ""
        if ongoing and reading.tag(at + 1) not in (Tag.NAME, Tag.STOP, Tag.AND, None):
            return replace(verb, lemma=ongoing, tense=tense), at + 1
        if low and form_of(low, Form.PARTICIPLE) and _is_passive(reading, at):
            return replace(verb, lemma=low, passive=True, tense=tense), at + 1
        return replace(verb, lemma="be", tense=tense), at
    if low and last in en.HAVE | {"'ve"} and form_of(low, Form.PARTICIPLE) and reading.tag(at) is Tag.VERB:
        return replace(verb, lemma=form_of(low, Form.PARTICIPLE), tense=Tense.PAST), at + 1
    if last in en.HAVE:
        return replace(verb, lemma="have", tense=tense), at
    if low and form_of(low, Form.BASE):
        return replace(verb, lemma=form_of(low, Form.BASE), tense=tense), at + 1
    return None, at


def _is_passive(reading: SentenceParse, at: int) -> bool:
    """A participle known as one, or an unknown word in -ed that a preposition or the end follows."""
    if reading.tag(at) is Tag.VERB:
        return reading.tag(at + 1) not in (Tag.WORD,) or reading.low(at + 1) in en.TIME_LEADS
    return reading.tag(at + 1) in (Tag.PREP, Tag.STOP, Tag.TO, None, Tag.ADVERB)


def _bare(reading: SentenceParse, at: int, verb: Verb, plural: bool) -> tuple[Verb | None, int]:
    """A verb without auxiliaries must show that it is finite; bare forms need a plural subject."""
    if reading.tag(at) is not Tag.VERB:
        return None, at
    for form, tense in ((Form.PAST, Tense.PAST), (Form.THIRD, Tense.PRESENT), (Form.BASE, Tense.PRESENT)):
        base = form_of(reading.low(at), form)
        if base and (form is not Form.BASE or plural):
            return replace(verb, lemma=base, tense=tense), at + 1
    return None, at


def _tense(chain: list[str]) -> Tense:
    if not chain:
        return Tense.NONE
    if chain[0] in ("will", "'ll", "shall"):
        return Tense.FUTURE
    if chain[0] in ("was", "were", "had", "did", "wasn", "weren"):
        return Tense.PAST
    return Tense.PRESENT  # "has been" still is; what "has moved" did is past, which the verb itself shows


# Noun phrases: with owner and "of", joined by "and", and told from the verb behind them.

_LONGEST_LIST, _LONGEST_ITEM = 12, 5


def joined_phrases(
    reading: SentenceParse, at: int, *, subject: bool = False
) -> tuple[tuple[Phrase, ...], int]:
    """ "Alice", "Alice and Bob", "Alice, Bob and Carol"; a comma joins only where "and" comes in the end."""
    first, after = phrase_at(reading, at)
    if first is None:
        return (), at
    found, end = [first], after
    while True:
        comma = reading.low(end) == ","
        joins = reading.tag(end) is Tag.AND
        if not (joins or (comma and _list_goes_on(reading, end))):
            return tuple(found), after
        step = end + 2 if comma and reading.tag(end + 1) is Tag.AND else end + 1
        step += reading.tag(step) is Tag.NOT
        following, end = phrase_at(reading, step)
        if following is None or (not subject and verb_group(reading, end, plural=True)[0]):
            return tuple(found), after  # "… costs 5 euros, and the meeting is …": another clause
        if joins and _opens_clause(reading, found[0], end):
            return tuple(found), after
        found.append(following)
        after = end


def _opens_clause(reading: SentenceParse, first: Phrase, end: int) -> bool:
    """ "… helps you and Ann works in Sales": behind a pronoun, "and" with a verb to come begins a clause."""
    pronoun = reading.tag(first.head) is Tag.PRONOUN and not first.determiner
    return pronoun and verb_group(reading, end, plural=True)[0] is not None


def _list_goes_on(reading: SentenceParse, at: int) -> bool:
    """Whether behind this comma another item and, soon enough, "and" with the last one follow."""
    for _ in range(_LONGEST_LIST):
        item, end = phrase_at(reading, at + 2 if reading.tag(at + 1) is Tag.AND else at + 1)
        if item is None or end - item.first > _LONGEST_ITEM:
            return False
        if reading.tag(at + 1) is Tag.AND:
            return True
        if reading.tag(end) is Tag.AND:
            return phrase_at(reading, end + 1)[0] is not None
        if reading.low(end) != ",":
            return False
        at = end
    return False


def phrase_at(reading: SentenceParse, at: int) -> tuple[Phrase | None, int]:
    """A noun phrase, with its owner and its "of …"."""
    first, determiner = at, ""
    if reading.tag(at) is Tag.PRONOUN:
        return _pronoun(reading, at)
    while reading.tag(at) is Tag.DET or (reading.tag(at) is Tag.ADVERB and _leads_noun(reading, at)):
        determiner = determiner or (reading.low(at) if reading.tag(at) is Tag.DET else "")
        at += 1
    head, after = _nouns(reading, at)
    if head < 0:
        return None, first
    owner: Phrase | None = None
    while reading.tag(after) is Tag.POSSESSIVE:
        owner = Phrase(first, after, head, owner, None, determiner, after)
        determiner = "'s"
        following, end = _nouns(reading, after + 1)
        if following < 0:
            return owner, after
        head, after = following, end
    if owner is None and determiner in en.POSSESSIVE_PRONOUNS:
        owner = Phrase(first, first + 1, first, core=first + 1)
    core = after
    inner: Phrase | None = None
    if reading.low(after) == "of":
        inner, end = phrase_at(reading, after + 1)
        after = end if inner else after
    return Phrase(first, after, head, owner, inner, determiner, core), after


def _pronoun(reading: SentenceParse, at: int) -> tuple[Phrase | None, int]:
    """A pronoun stands alone, but "all of the items" is one phrase."""
    if reading.low(at) == "there":
        return None, at
    inner: Phrase | None = None
    after = at + 1
    if reading.low(after) == "of":
        inner, end = phrase_at(reading, after + 1)
        after = end if inner else after
    return Phrase(at, after, at, None, inner, reading.low(at) if inner else "", at + 1), after


def _leads_noun(reading: SentenceParse, at: int) -> bool:
    return reading.tag(at + 1) in (Tag.NUMBER, Tag.WORD, Tag.NAME) and reading.low(at) not in (
        "here",
        "there",
    )


def _nouns(reading: SentenceParse, at: int) -> tuple[int, int]:
    """The run of words that make a noun phrase's body: (head, behind), head −1 where there is none."""
    start = at
    while at < len(reading.tokens):
        tag = reading.tag(at)
        if tag in (Tag.NAME, Tag.NUMBER, Tag.WORD):
            at += 1
        elif tag is Tag.VERB and not (at > start and _is_finite(reading, at)):
            if at == start and _is_plain_verb(reading, at):
                break
            at += 1
        elif (
            tag is Tag.ADVERB
            and at > start
            and _leads_noun(reading, at)
            and not reading.low(at).endswith("ly")
        ):
            at += 1
        elif tag is Tag.ADVERB and at == start and reading.low(at) in ("today", "tomorrow", "yesterday"):
            return at, at + 1
        elif tag is Tag.AND and reading.low(at) == "&" and at > start:
            at += 1
        else:
            break
    return (at - 1 if at > start else -1), at


def _is_plain_verb(reading: SentenceParse, at: int) -> bool:
    """At the beginning of a phrase only forms that are nouns or adjectives too: -ing, -ed, names of
    things.
    """
    forms = {form for _, form in en.verb_forms(reading.low(at))}
    return forms == {Form.THIRD} and reading.tag(at - 1) not in (
        Tag.DET,
        Tag.PREP,
        Tag.POSSESSIVE,
        Tag.NUMBER,
    )


def _is_finite(reading: SentenceParse, at: int) -> bool:
    """Whether a verb form behind a noun is the clause's verb, and not a noun of the phrase itself."""
    low, nxt = reading.low(at), at + 1
    while reading.tag(nxt) is Tag.ADVERB:
        nxt += 1
    forms = {form for _, form in en.verb_forms(low)}
    if reading.tag(at - 1) in (Tag.DET, Tag.PREP, Tag.POSSESSIVE):
        return False
    if Form.PAST in forms or Form.PARTICIPLE in forms:
        return True
    follows = reading.tag(nxt)
    verb_follows = follows in (Tag.AUX, Tag.MODAL) or (
        follows is Tag.VERB and bool(form_of(reading.low(nxt), Form.PAST))
    )
    if verb_follows:
        return False
    if Form.THIRD in forms:
        return not reading.low(at - 1).endswith("s") or reading.tag(at - 1) is Tag.NAME
    if Form.BASE in forms:
        several = reading.low(at - 1).endswith("s") or _is_joined(reading, at)
        return several and follows in (Tag.DET, Tag.PREP, Tag.NUMBER, Tag.NAME, Tag.TO)
    return False


def _is_joined(reading: SentenceParse, at: int) -> bool:
    """Whether the names before this verb are the last of several."""
    while reading.tag(at - 1) is Tag.NAME:
        at -= 1
    return reading.tag(at - 1) is Tag.AND


def is_plural(reading: SentenceParse, phrase: Phrase) -> bool:
    low = reading.low(phrase.core - 1 if phrase.core else phrase.head)
    return low in ("they", "we", "you", "i", "these", "those", "people") or (
        low.endswith("s") and not low.endswith("ss")
    )


def is_time(reading: SentenceParse, phrase: Phrase) -> bool:
    """ "last year", "next Tuesday": a time that needs no preposition."""
    return reading.low(phrase.first) in en.TIME_LEADS and reading.low(phrase.head) in en.TIME_NOUNS


# A sentence as its clauses: who, the verb, what, and the phrases behind: a grammar read left to right.
#
# It knows noun phrases, verb groups, prepositional phrases, appositions, relative clauses and coordination, and
# reads as far as it understands: what it cannot place ends the clause, so that nothing is made up.

_UNITS = word_set(
    """
    team department dept division group office unit branch company firm faculty committee board ministry
    squad crew staff lab
    """
)

_ASIDE = word_set("in on at by")
_MARKS = frozenset({",", "–", "—"})  # between which something is said by the way


def parse(tokens: Sequence[Token]) -> SentenceParse:
    """All clauses of a sentence that can be told with some safety."""
    reading = SentenceParse(tokens)
    at, real = 0, True
    while at < len(tokens):
        real = _is_real(reading, at, real)
        after = _clause(reading, at, real=real)
        at = after if after > at else at + 1
        at, real = _next_start(reading, at)
    return reading


def _is_real(reading: SentenceParse, at: int, real: bool) -> bool:
    return real and reading.low(at) not in en.CONDITIONS


def _next_start(reading: SentenceParse, at: int) -> tuple[int, bool]:
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


def _clause(reading: SentenceParse, at: int, *, real: bool = True) -> int:
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


def _with_purpose(
    reading: SentenceParse, subjects: tuple[Phrase, ...], at: int
) -> tuple[tuple[Phrase, ...], int]:
    """ "The deadline for the report is …" is the report's, as "of" would say."""
    subject = subjects[0]
    if len(subjects) > 1 or reading.low(at) != "for" or subject.of or subject.determiner not in ("the", ""):
        return subjects, at
    inner, after = phrase_at(reading, at + 1)
    if inner is None or reading.low(after) not in en.BE or reading.tag(subject.head) is Tag.NAME:
        return subjects, at
    return (replace(subject, of=inner, last=after, core=at),), after


def _past_aside(reading: SentenceParse, at: int) -> int:
    """Behind "Founded in 2011,": a participle with its phrases, which tell of the subject to come."""
    leads = at == 0 and form_of(reading.low(at), Form.PARTICIPLE) and reading.low(at + 1) in _ASIDE
    if not leads:
        return at
    comma = next((i for i in range(at, min(len(reading.tokens), at + 14)) if reading.low(i) == ","), -1)
    return comma + 1 if comma > 0 else at


def _aside(reading: SentenceParse, subject: Phrase, at: int, behind: int) -> None:
    """Read what stood before the subject; what does not end at its comma was something else."""
    verb = Verb(reading.low(at), passive=True, start=at)
    if _past_aside(reading, at) == behind:
        after = _predicate(reading, (subject,), verb, at + 1)
        if after != behind - 1:
            reading.clauses.pop()


def _past_intro(reading: SentenceParse, at: int) -> int:
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


def _is_when(reading: SentenceParse, at: int) -> bool:
    """ "These days Ann …", "Last year the firm …": a time before the subject, with no comma."""
    leads = reading.low(at) in en.TIME_LEADS | {"these", "those"}
    timed = reading.low(at + 1).removesuffix("s") in en.TIME_NOUNS
    return leads and timed and reading.tag(at + 2) in (Tag.NAME, Tag.DET, Tag.PRONOUN, Tag.STOP)


def _modifiers(reading: SentenceParse, subject: Phrase, at: int) -> int:
    """Phrases, appositions, relative and reduced clauses between a subject and its verb."""
    for _ in range(4):
        after = _modifier(reading, subject, at)
        if after == at:
            break
        at = after
    return at


def _modifier(reading: SentenceParse, subject: Phrase, at: int) -> int:
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


def _main_verb_follows(reading: SentenceParse, at: int) -> bool:
    """ "The company founded in 1847 is …": the participle only describes."""
    for i in range(at + 1, len(reading.tokens)):
        if reading.tag(i) in (Tag.STOP, Tag.AND, Tag.RELATIVE, Tag.JOIN, Tag.PRONOUN):
            return False
        if reading.tag(i) in (Tag.AUX, Tag.MODAL) and i > at + 1:
            return True
    return False


def _relative(reading: SentenceParse, subject: Phrase, at: int, *, closed: bool) -> int:
    """ "…, which was founded in 1990, …": its verb has the same subject."""
    verb, behind = verb_group(reading, at, plural=is_plural(reading, subject))
    if verb is None:
        return at - 1 - closed
    after = _predicate(reading, (subject,), verb, behind)
    return after + (closed and reading.low(after) in _MARKS)


def _apposition(reading: SentenceParse, subject: Phrase, at: int) -> int:
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


def _tie(reading: SentenceParse, left: Phrase, word: str, right: Phrase) -> None:
    """A name from, in or of a team or another name belongs there."""
    unit = reading.low(right.head) in _UNITS or (reading.tag(right.head) is Tag.NAME)
    if word in ("from", "at", "in", "on") and unit and reading.tag(left.head) is Tag.NAME:
        strict = word == "from" or reading.low(right.head) in _UNITS
        if strict:
            reading.ties.append(Tie(left, word, right))


def _predicate(reading: SentenceParse, subjects: tuple[Phrase, ...], verb: Verb, at: int) -> int:
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


def _past_particles(reading: SentenceParse, at: int) -> int:
    while (
        reading.tag(at) is Tag.ADVERB
        and not opens_amount(reading, at)
        and reading.low(at) not in en.TIME_NOUNS
    ):
        at += 1
    return at


def _object_modifiers(reading: SentenceParse, phrase: Phrase, at: int) -> int:
    """ "Sarah from the Analytics team": noted, and then read as any other phrase."""
    if reading.tag(at) is Tag.PREP:
        right, _ = phrase_at(reading, at + 1)
        if right is not None:
            _tie(reading, phrase, reading.low(at), right)
    elif reading.low(at) == ",":
        return _apposition(reading, phrase, at)
    return at


def _tail(reading: SentenceParse, at: int) -> tuple[str, tuple[Phrase, ...], int]:
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


def _next_verb(reading: SentenceParse, at: int, subject: Phrase) -> tuple[Verb | None, int]:
    """ "… and lives in Berlin": another verb of the same subject."""
    step = at + (reading.low(at) == ",")
    if reading.tag(step) is Tag.AND or reading.low(step) == "but":
        return verb_group(reading, step + 1, plural=is_plural(reading, subject))
    if at < len(reading.tokens) and reading.tag(at) in (Tag.AUX, Tag.MODAL, Tag.VERB):
        return verb_group(reading, at)
    return None, at
