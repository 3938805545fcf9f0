"""Noun phrases: with owner and "of", joined by "and", and told from the verb behind them."""

from __future__ import annotations

from groundwire.openie import lexicon as en
from groundwire.openie.lexicon import Form, Tag, form_of
from groundwire.openie.triples_reading import Phrase, Reading
from groundwire.openie.triples_verbs import verb_group

_LONGEST_LIST, _LONGEST_ITEM = 12, 5


def joined_phrases(reading: Reading, at: int, *, subject: bool = False) -> tuple[tuple[Phrase, ...], int]:
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


def _opens_clause(reading: Reading, first: Phrase, end: int) -> bool:
    """ "… helps you and Ann works in Sales": behind a pronoun, "and" with a verb to come begins a clause."""
    pronoun = reading.tag(first.head) is Tag.PRONOUN and not first.determiner
    return pronoun and verb_group(reading, end, plural=True)[0] is not None


def _list_goes_on(reading: Reading, at: int) -> bool:
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


def phrase_at(reading: Reading, at: int) -> tuple[Phrase | None, int]:
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


def _pronoun(reading: Reading, at: int) -> tuple[Phrase | None, int]:
    """A pronoun stands alone, but "all of the items" is one phrase."""
    if reading.low(at) == "there":
        return None, at
    inner: Phrase | None = None
    after = at + 1
    if reading.low(after) == "of":
        inner, end = phrase_at(reading, after + 1)
        after = end if inner else after
    return Phrase(at, after, at, None, inner, reading.low(at) if inner else "", at + 1), after


def _leads_noun(reading: Reading, at: int) -> bool:
    return reading.tag(at + 1) in (Tag.NUMBER, Tag.WORD, Tag.NAME) and reading.low(at) not in (
        "here",
        "there",
    )


def _nouns(reading: Reading, at: int) -> tuple[int, int]:
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


def _is_plain_verb(reading: Reading, at: int) -> bool:
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


def _is_finite(reading: Reading, at: int) -> bool:
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


def _is_joined(reading: Reading, at: int) -> bool:
    """Whether the names before this verb are the last of several."""
    while reading.tag(at - 1) is Tag.NAME:
        at -= 1
    return reading.tag(at - 1) is Tag.AND


def is_plural(reading: Reading, phrase: Phrase) -> bool:
    low = reading.low(phrase.core - 1 if phrase.core else phrase.head)
    return low in ("they", "we", "you", "i", "these", "those", "people") or (
        low.endswith("s") and not low.endswith("ss")
    )


def is_time(reading: Reading, phrase: Phrase) -> bool:
    """ "last year", "next Tuesday": a time that needs no preposition."""
    return reading.low(phrase.first) in en.TIME_LEADS and reading.low(phrase.head) in en.TIME_NOUNS
