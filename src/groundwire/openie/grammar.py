"""A left-to-right parser for English sentences: noun phrases, verb groups and clauses.

It handles prepositional phrases, appositions, relative clauses and coordination. Anything it cannot place
ends the clause, so that no statement is invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from groundwire.openie import lexicon as en
from groundwire.openie.lexicon import Form, Tag, Token, form_of
from groundwire.text.lexicon import SPEECH_VERBS, word_set
from groundwire.types import Tense


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: tokens [first, last), its head, its owner and its "of" complement."""

    first: int
    last: int
    head: int
    owner: Phrase | None = None
    of: Phrase | None = None
    determiner: str = ""
    core: int = 0
    """Index behind the phrase without its "of" complement."""


@dataclass(frozen=True, slots=True)
class Verb:
    """`lemma` is the base form of an active verb, the participle of a passive one, or "be" or "have"."""

    lemma: str
    passive: bool = False
    denied: bool = False
    real: bool = True
    tense: Tense = Tense.NONE
    start: int = 0


@dataclass(frozen=True, slots=True)
class VerbClause:
    """One subject with one verb; `objects` are coordinated; `tails` are (preposition, phrases) in order."""

    subject: Phrase
    verb: Verb
    objects: tuple[Phrase, ...] = ()
    tails: tuple[tuple[str, tuple[Phrase, ...]], ...] = ()
    denied_objects: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Tie:
    """Two adjacent phrases: "Sarah from the Analytics team", "Sarah, our CEO,"; `word` is "from" or "be"."""

    left: Phrase
    word: str
    right: Phrase


@dataclass(slots=True)
class SentenceParse:
    """The parser state: a sentence with its tokens, and the clauses and ties found so far."""

    text: str
    tokens: Sequence[Token]
    clauses: list[VerbClause] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)

    def tag(self, at: int) -> Tag | None:
        return self.tokens[at].tag if 0 <= at < len(self.tokens) else None

    def low(self, at: int) -> str:
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The range in `text` of the tokens [first, last)."""
        return self.tokens[first].start, self.tokens[last - 1].end

    def words(self, phrase: Phrase) -> str:
        return self.text[slice(*self.span(phrase.first, phrase.last))]


def verb_group(state: SentenceParse, at: int, *, plural: bool = False) -> tuple[Verb | None, int]:
    """Parse a verb group (auxiliaries, negation, adverbs, verb) at a position, if there is one."""
    start, denied, real, chain = at, False, True, []
    while at < len(state.tokens):
        tag, low = state.tag(at), state.low(at)
        if tag in (Tag.AUX, Tag.MODAL):
            denied = denied or low.endswith("n't") or low == "cannot"
            real = real and low not in en.UNREAL
            chain.append(affirmative(low))
        elif tag is Tag.NOT or (low == "no" and state.low(at + 1) == "longer"):
            denied = True
            at += low == "no"
        elif (tag is Tag.ADVERB and not (chain and state.tag(at + 1) is Tag.NUMBER)) or (
            low in ("both", "either") and chain
        ):
            pass
        else:
            break
        at += 1
    return _whole_verb(state, at, Verb("", False, denied, real, Tense.NONE, start), chain, plural)


def affirmative(auxiliary: str) -> str:
    return {"can't": "can", "cannot": "can", "won't": "will"}.get(auxiliary, auxiliary.removesuffix("n't"))


_PHRASAL = {("come", "out"): "come out", ("weigh", "in", "at"): "weigh", ("go", "live"): "go live"}


def phrasal(state: SentenceParse, verb: Verb, at: int) -> tuple[Verb, int]:
    """Join a verb with its particle: "came out" is not "came"."""
    for (lemma, *others), meant in _PHRASAL.items():
        if verb.lemma == lemma and [state.low(at + i) for i in range(len(others))] == others:
            behind = at + len(others)
            return (verb, at) if state.low(behind) == "of" else (replace(verb, lemma=meant), behind)
    return verb, at


def _whole_verb(state: SentenceParse, at: int, verb: Verb, chain: list[str], plural: bool) -> tuple[Verb | None, int]:
    low = state.low(at) if state.tag(at) in (Tag.VERB, Tag.WORD) else ""
    tense = tense_of(chain)
    if not chain:
        return _bare(state, at, verb, plural)
    last = chain[-1]
    if last in en.BE or last in ("'s", "'re", "'m"):
        ongoing = form_of(low, Form.ING) if state.tag(at) is Tag.VERB else ""
        if ongoing and state.tag(at + 1) not in (Tag.NAME, Tag.STOP, Tag.AND, None):
            return replace(verb, lemma=ongoing, tense=tense), at + 1
        if low and form_of(low, Form.PARTICIPLE) and _is_passive(state, at):
            return replace(verb, lemma=low, passive=True, tense=tense), at + 1
        return replace(verb, lemma="be", tense=tense), at
    if low and last in en.HAVE | {"'ve"} and form_of(low, Form.PARTICIPLE) and state.tag(at) is Tag.VERB:
        return replace(verb, lemma=form_of(low, Form.PARTICIPLE), tense=Tense.PAST), at + 1
    if last in en.HAVE:
        return replace(verb, lemma="have", tense=tense), at
    if low and form_of(low, Form.BASE):
        return replace(verb, lemma=form_of(low, Form.BASE), tense=tense), at + 1
    return None, at


def _is_passive(state: SentenceParse, at: int) -> bool:
    """True for a known participle, or an unknown word in -ed before a preposition or the end."""
    if state.tag(at) is Tag.VERB:
        return state.tag(at + 1) not in (Tag.WORD,) or state.low(at + 1) in en.TIME_LEADS
    return state.tag(at + 1) in (Tag.PREP, Tag.STOP, Tag.TO, None, Tag.ADVERB)


def _bare(state: SentenceParse, at: int, verb: Verb, plural: bool) -> tuple[Verb | None, int]:
    """A verb without auxiliaries must be visibly finite; base forms need a plural subject."""
    if state.tag(at) is not Tag.VERB:
        return None, at
    for form, tense in ((Form.PAST, Tense.PAST), (Form.THIRD, Tense.PRESENT), (Form.BASE, Tense.PRESENT)):
        base = form_of(state.low(at), form)
        if base and (form is not Form.BASE or plural):
            return replace(verb, lemma=base, tense=tense), at + 1
    return None, at


def tense_of(chain: Sequence[str]) -> Tense:
    """The tense of affirmative auxiliaries; for "has moved" the caller sets the past."""
    if not chain or chain[0] in (en.MODALS | {"'d"}) - {"will", "shall"}:
        return Tense.NONE
    if chain[0] in ("will", "'ll", "shall"):
        return Tense.FUTURE
    return Tense.PAST if chain[0] in ("was", "were", "had", "did") else Tense.PRESENT


_MAX_LIST_ITEMS, _MAX_ITEM_TOKENS = 12, 5  # longer "lists" are clauses joined by commas


def joined_phrases(state: SentenceParse, at: int, *, subject: bool = False) -> tuple[tuple[Phrase, ...], int]:
    """ "Alice", "Alice and Bob", "Alice, Bob and Carol"; commas join only if the list ends with "and"."""
    first, after = phrase_at(state, at)
    if first is None:
        return (), at
    found, end = [first], after
    while True:
        comma = state.low(end) == ","
        joins = state.tag(end) is Tag.AND
        if not (joins or (comma and _list_goes_on(state, end))):
            return tuple(found), after
        step = end + 2 if comma and state.tag(end + 1) is Tag.AND else end + 1
        step += state.tag(step) is Tag.NOT
        following, end = phrase_at(state, step)
        if following is None or (not subject and verb_group(state, end, plural=True)[0]):
            return tuple(found), after  # "… costs 5 euros, and the meeting is …": a new clause
        found.append(following)
        after = end


def _list_goes_on(state: SentenceParse, at: int) -> bool:
    """True if another item and, within the limits, "and" with the last item follow this comma."""
    for _ in range(_MAX_LIST_ITEMS):
        item, end = phrase_at(state, at + 2 if state.tag(at + 1) is Tag.AND else at + 1)
        if item is None or end - item.first > _MAX_ITEM_TOKENS:
            return False
        if state.tag(at + 1) is Tag.AND:
            return True
        if state.tag(end) is Tag.AND:
            return phrase_at(state, end + 1)[0] is not None
        if state.low(end) != ",":
            return False
        at = end
    return False


def phrase_at(state: SentenceParse, at: int) -> tuple[Phrase | None, int]:
    """Parse a noun phrase with its owner and its "of" complement; (None, at) if there is none."""
    first, determiner = at, ""
    if state.tag(at) is Tag.PRONOUN:
        return _pronoun(state, at)
    while state.tag(at) is Tag.DET or (state.tag(at) is Tag.ADVERB and _leads_noun(state, at)):
        determiner = determiner or (state.low(at) if state.tag(at) is Tag.DET else "")
        at += 1
    head, after = _nouns(state, at)
    if head < 0:
        return None, first
    owner: Phrase | None = None
    while state.tag(after) is Tag.POSSESSIVE:
        owner = Phrase(first, after, head, owner, None, determiner, after)
        determiner = "'s"
        following, end = _nouns(state, after + 1)
        if following < 0:
            return owner, after
        head, after = following, end
    if owner is None and determiner in en.POSSESSIVE_PRONOUNS:
        owner = Phrase(first, first + 1, first, core=first + 1)
    inner, last = _of_complement(state, after)
    return Phrase(first, last, head, owner, inner, determiner, after), last


def _of_complement(state: SentenceParse, at: int) -> tuple[Phrase | None, int]:
    """The phrase after an "of" at this position, and the index behind it."""
    inner, end = phrase_at(state, at + 1) if state.low(at) == "of" else (None, at)
    return inner, end if inner else at


def _pronoun(state: SentenceParse, at: int) -> tuple[Phrase | None, int]:
    """A pronoun is a phrase by itself, but "all of the items" is one phrase."""
    if state.low(at) == "there":
        return None, at
    inner, after = _of_complement(state, at + 1)
    return Phrase(at, after, at, None, inner, state.low(at) if inner else "", at + 1), after


def _leads_noun(state: SentenceParse, at: int) -> bool:
    return state.tag(at + 1) in (Tag.NUMBER, Tag.WORD, Tag.NAME) and state.low(at) not in ("here", "there")


def _nouns(state: SentenceParse, at: int) -> tuple[int, int]:
    """The body of a noun phrase as (head, index behind it); the head is -1 if there is none."""
    start = at
    while at < len(state.tokens):
        tag = state.tag(at)
        if tag in (Tag.NAME, Tag.NUMBER, Tag.WORD):
            at += 1
        elif tag is Tag.VERB and not (at > start and _is_finite(state, at)):
            if at == start and _is_plain_verb(state, at):
                break
            at += 1
        elif tag is Tag.ADVERB and at > start and _leads_noun(state, at) and not state.low(at).endswith("ly"):
            at += 1
        elif tag is Tag.ADVERB and at == start and state.low(at) in ("today", "tomorrow", "yesterday"):
            return at, at + 1
        elif tag is Tag.AND and state.low(at) == "&" and at > start:
            at += 1
        else:
            break
    return (at - 1 if at > start else -1), at


def _is_plain_verb(state: SentenceParse, at: int) -> bool:
    """True for a third-person form at the start of a phrase; other verb forms may be nouns or adjectives."""
    led = state.tag(at - 1) in (Tag.DET, Tag.PREP, Tag.POSSESSIVE, Tag.NUMBER)
    return {form for _, form in en.verb_forms(state.low(at))} == {Form.THIRD} and not led


def _is_finite(state: SentenceParse, at: int) -> bool:
    """True if a verb form after a noun is the verb of the clause, not another noun of the phrase."""
    low, nxt = state.low(at), at + 1
    while state.tag(nxt) is Tag.ADVERB:
        nxt += 1
    forms = {form for _, form in en.verb_forms(low)}
    if state.tag(at - 1) in (Tag.DET, Tag.PREP, Tag.POSSESSIVE):
        return False
    if Form.PAST in forms or Form.PARTICIPLE in forms:
        return True
    follows = state.tag(nxt)
    if follows in (Tag.AUX, Tag.MODAL) or (follows is Tag.VERB and form_of(state.low(nxt), Form.PAST)):
        return False
    if Form.THIRD in forms:
        return not state.low(at - 1).endswith("s") or state.tag(at - 1) is Tag.NAME
    if Form.BASE in forms:
        several = state.low(at - 1).endswith("s") or _is_joined(state, at)
        return several and follows in (Tag.DET, Tag.PREP, Tag.NUMBER, Tag.NAME, Tag.TO)
    return False


def _is_joined(state: SentenceParse, at: int) -> bool:
    """True if the name before this verb is the last of several joined by "and"."""
    while state.tag(at - 1) is Tag.NAME:
        at -= 1
    return state.tag(at - 1) is Tag.AND


def is_plural(state: SentenceParse, phrase: Phrase) -> bool:
    low = state.low(phrase.core - 1 if phrase.core else phrase.head)
    return low in ("they", "we", "you", "i", "these", "those", "people") or (
        low.endswith("s") and not low.endswith("ss")
    )


def is_time(state: SentenceParse, phrase: Phrase) -> bool:
    """ "last year", "next Tuesday": a time without a preposition."""
    return state.low(phrase.first) in en.TIME_LEADS and state.low(phrase.head) in en.TIME_NOUNS


_UNITS = en.UNITS | {"crew", "staff"}
_PARTICIPLE_PREPOSITIONS = word_set("in on at by")
_CLAUSE_LEADS = word_set("before after since until as for than")
_MARKS = frozenset({",", "–", "—"})  # they enclose parenthetical clauses


def parse(sentence: str) -> SentenceParse:
    """Parse the clauses of a sentence that can be recognised reliably."""
    state = SentenceParse(sentence, en.tokens(sentence))
    at, real = 0, True
    while at < len(state.tokens):
        after = _clause(state, at, real=real and state.low(at) not in en.CONDITIONS)
        at = after if after > at else at + 1
        at, real = _next_start(state, at)
    return state


def _next_start(state: SentenceParse, at: int) -> tuple[int, bool]:
    """Start of the next clause: after a stop or a conjunction. Conditions make the clause unreal."""
    while at < len(state.tokens):
        tag, low = state.tag(at), state.low(at)
        if tag is Tag.STOP or tag in (Tag.JOIN, Tag.AND, Tag.RELATIVE):
            reported = low == "that" and state.low(at - 1) in SPEECH_VERBS
            joined = at + 1
            while state.tag(joined) in (Tag.JOIN, Tag.AND, Tag.STOP):
                low, joined = (state.low(joined), joined + 1)
            return joined, low not in en.CONDITIONS and not reported
        at += 1
    return at, True


def _clause(state: SentenceParse, at: int, *, real: bool = True) -> int:
    """Parse one clause with all verbs of its subject, and return the position behind it."""
    opening = at
    at = _skip_participle(state, at)
    at = _skip_introduction(state, at)
    subjects, after = joined_phrases(state, at, subject=True)
    if not subjects:
        return at
    if opening < at and len(subjects) == 1:
        _leading_participle(state, subjects[0], opening, at)
    subjects, after = _with_purpose(state, subjects, after)
    after = _modifiers(state, subjects[-1], after)
    verb, behind = verb_group(state, after, plural=len(subjects) > 1 or is_plural(state, subjects[0]))
    while verb is not None:
        after = _predicate(state, subjects, replace(verb, real=verb.real and real), behind)
        verb, behind = _next_verb(state, after, subjects[0])
    return after


def _with_purpose(state: SentenceParse, subjects: tuple[Phrase, ...], at: int) -> tuple[tuple[Phrase, ...], int]:
    """ "The deadline for the report is …" is read like "the deadline of the report"."""
    subject = subjects[0]
    if len(subjects) > 1 or state.low(at) != "for" or subject.of or subject.determiner not in ("the", ""):
        return subjects, at
    inner, after = phrase_at(state, at + 1)
    if inner is None or state.low(after) not in en.BE or state.tag(subject.head) is Tag.NAME:
        return subjects, at
    return (replace(subject, of=inner, last=after, core=at),), after


def _skip_participle(state: SentenceParse, at: int) -> int:
    """Skip "Founded in 2011,": a leading participle that describes the subject after it."""
    participle = at == 0 and form_of(state.low(at), Form.PARTICIPLE)
    leads = participle and state.low(at + 1) in _PARTICIPLE_PREPOSITIONS
    return _behind_comma(state, at) or at if leads else at


def _behind_comma(state: SentenceParse, at: int) -> int:
    """The position behind the next comma; 0 if there is none nearby."""
    return next((i + 1 for i in range(at, min(len(state.tokens), at + 14)) if state.low(i) == ","), 0)


def _leading_participle(state: SentenceParse, subject: Phrase, at: int, behind: int) -> None:
    """Parse a leading participle clause; discard it if it does not end at its comma."""
    verb = Verb(state.low(at), passive=True, start=at)
    if _skip_participle(state, at) == behind:
        after = _predicate(state, (subject,), verb, at + 1)
        if after != behind - 1:
            state.clauses.pop()


def _skip_introduction(state: SentenceParse, at: int) -> int:
    """Skip introductions such as "In 2019,", "As I mentioned," and "However,"."""
    while state.tag(at) in (Tag.STOP, Tag.AND, Tag.ADVERB, Tag.JOIN) or (
        state.tag(at) is Tag.NOT and state.low(at) == "nor"
    ):
        at += 1
    if _is_when(state, at):
        return _skip_introduction(state, at + 2)
    leads = state.tag(at) is Tag.PREP or state.low(at) in ("according", "based", "to", "please", "note")
    if not leads:
        return at
    if behind := _behind_comma(state, at):
        return _skip_introduction(state, behind)
    phrase, after = phrase_at(state, at + 1)
    return after if phrase and verb_group(state, after + 1, plural=True)[0] else at


def _is_when(state: SentenceParse, at: int) -> bool:
    """ "These days Ann …", "Last year the firm …": a time before the subject, without a comma."""
    leads = state.low(at) in en.TIME_LEADS | {"these", "those"}
    timed = state.low(at + 1).removesuffix("s") in en.TIME_NOUNS
    return leads and timed and state.tag(at + 2) in (Tag.NAME, Tag.DET, Tag.PRONOUN, Tag.STOP)


def _modifiers(state: SentenceParse, subject: Phrase, at: int) -> int:
    """Skip phrases, appositions, relative and reduced clauses between a subject and its verb."""
    for _ in range(4):
        after = _modifier(state, subject, at)
        if after == at:
            break
        at = after
    return at


def _modifier(state: SentenceParse, subject: Phrase, at: int) -> int:
    tag, low = state.tag(at), state.low(at)
    if tag is Tag.PREP and low != "than":
        right, after = phrase_at(state, at + 1)
        if right is not None:
            _record_tie(state, subject, low, right)
            return after
    if low == "(":
        closing = next((i for i in range(at, len(state.tokens)) if state.low(i) == ")"), -1)
        return closing + 1 if closing > 0 else at
    aside = low in _MARKS
    relative = at + aside
    if state.tag(relative) is Tag.RELATIVE or state.low(relative) == "that":
        return _relative(state, subject, relative + 1, closed=aside)
    if low == "," and form_of(state.low(at + 1), Form.PARTICIPLE) and state.tag(at + 2) is Tag.PREP:
        verb = Verb(state.low(at + 1), passive=True, start=at + 1)
        after = _predicate(state, (subject,), verb, at + 2)
        return after + (state.low(after) == ",")
    if low == ",":
        return _apposition(state, subject, at)
    if state.low(at) in ("both", "all", "each") and state.tag(at + 1) in (Tag.VERB, Tag.AUX):
        return at + 1
    if tag is Tag.VERB and form_of(low, Form.PARTICIPLE) and _main_verb_follows(state, at):
        return _predicate(state, (subject,), Verb(low, passive=True, start=at), at + 1)
    return at


def _main_verb_follows(state: SentenceParse, at: int) -> bool:
    """ "The company founded in 1847 is …": the participle is a modifier if a finite verb follows."""
    for i in range(at + 1, len(state.tokens)):
        if state.tag(i) in (Tag.STOP, Tag.AND, Tag.RELATIVE, Tag.JOIN, Tag.PRONOUN):
            return False
        if state.tag(i) in (Tag.AUX, Tag.MODAL) and i > at + 1:
            return True
    return False


def _relative(state: SentenceParse, subject: Phrase, at: int, *, closed: bool) -> int:
    """ "…, which was founded in 1990, …": a clause with the same subject."""
    verb, behind = verb_group(state, at, plural=is_plural(state, subject))
    if verb is None:
        return at - 1 - closed
    after = _predicate(state, (subject,), verb, behind)
    return after + (closed and state.low(after) in _MARKS)


def _apposition(state: SentenceParse, subject: Phrase, at: int) -> int:
    """ "John Smith, the CEO of Acme, …": only between two commas, and only after a name."""
    right, after = phrase_at(state, at + 1)
    if right is None or state.tag(subject.head) is not Tag.NAME:
        return at
    while state.tag(after) is Tag.PREP:
        place, end = phrase_at(state, after + 1)
        if place is None:
            break
        after = end
    if state.low(after) not in (",", ".", "") or state.tag(right.head) is Tag.NUMBER:
        return at
    if right.determiner or right.of or right.owner or state.low(after) == ",":
        state.ties.append(Tie(subject, "be", right))
        return after + (state.low(after) == ",")
    return at


def _record_tie(state: SentenceParse, left: Phrase, word: str, right: Phrase) -> None:
    """Record that a name belongs to a team or organisation: "Sarah from the Analytics team"."""
    unit = state.low(right.head) in _UNITS and word in ("from", "at", "in", "on")
    organisation = state.tag(right.head) is Tag.NAME and word == "from"
    if (unit or organisation) and state.tag(left.head) is Tag.NAME:
        state.ties.append(Tie(left, word, right))


def _predicate(state: SentenceParse, subjects: tuple[Phrase, ...], verb: Verb, at: int) -> int:
    """Parse the objects and prepositional phrases after a verb."""
    verb, at = phrasal(state, verb, at)
    at = _skip_adverbs(state, at)
    denied = {at} if state.tag(at) is Tag.NOT else set()
    at += bool(denied)
    objects, after = joined_phrases(state, at) if state.tag(at) is not Tag.PREP else ((), at)
    if objects and is_time(state, objects[0]):
        objects, after = (), at
    denied |= {o.first for o in objects if state.tag(o.first - 1) is Tag.NOT}
    if objects:
        after = _object_modifiers(state, objects[-1], after)
    tails: list[tuple[str, tuple[Phrase, ...]]] = []
    while True:
        word, right, end = _tail(state, after)
        if not right:
            break
        tails.append((word, right))
        after = end
    for subject in subjects:
        state.clauses.append(VerbClause(subject, verb, objects, tuple(tails), frozenset(denied)))
    return after


def _skip_adverbs(state: SentenceParse, at: int) -> int:
    while state.tag(at) is Tag.ADVERB and state.tag(at + 1) is not Tag.NUMBER and state.low(at) not in en.TIME_NOUNS:
        at += 1
    return at


def _object_modifiers(state: SentenceParse, phrase: Phrase, at: int) -> int:
    """ "Sarah from the Analytics team": record the tie; the phrase is still parsed as a tail."""
    if state.tag(at) is Tag.PREP:
        right, _ = phrase_at(state, at + 1)
        if right is not None:
            _record_tie(state, phrase, state.low(at), right)
    elif state.low(at) == ",":
        return _apposition(state, phrase, at)
    return at


def _tail(state: SentenceParse, at: int) -> tuple[str, tuple[Phrase, ...], int]:
    """One preposition with its phrases, or a bare time ("next Tuesday"); empty if a clause begins here."""
    at = _skip_adverbs(state, at)
    if state.low(at) == "," and state.tag(at + 1) is Tag.PREP:
        at += 1
    if state.tag(at) not in (Tag.PREP, Tag.TO):
        bare, end = phrase_at(state, at)
        return ("", (bare,), end) if bare and is_time(state, bare) else ("", (), at)
    word = "out of" if state.low(at - 1) == "out" and state.low(at) == "of" else state.low(at)
    right, after = joined_phrases(state, at + 1)
    verbal = len(right) == 1 and state.tag(right[0].head) is Tag.VERB and right[0].first == right[0].head
    clause = word in _CLAUSE_LEADS and right and verb_group(state, after, plural=True)[0]
    return (word, (), at) if verbal or clause else (word, right, after if right else at)


def _next_verb(state: SentenceParse, at: int, subject: Phrase) -> tuple[Verb | None, int]:
    """ "… and lives in Berlin": a further verb of the same subject."""
    step = at + (state.low(at) == ",")
    if state.tag(step) is Tag.AND or state.low(step) == "but":
        return verb_group(state, step + 1, plural=is_plural(state, subject))
    if at < len(state.tokens) and state.tag(at) in (Tag.AUX, Tag.MODAL, Tag.VERB):
        return verb_group(state, at)
    return None, at
