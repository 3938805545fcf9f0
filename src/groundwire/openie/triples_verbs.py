"""Verb groups: auxiliaries, negation, adverbs and the verb, with voice and tense."""

from __future__ import annotations

from dataclasses import replace

from groundwire.openie import lexicon as en
from groundwire.openie.lexicon import Form, Tag, form_of
from groundwire.openie.triples_reading import Reading, Verb
from groundwire.types import Tense


def verb_group(reading: Reading, at: int, *, plural: bool = False) -> tuple[Verb | None, int]:
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


def phrasal(reading: Reading, verb: Verb, at: int) -> tuple[Verb, int]:
    """The verb with the words that make another one of it: "came out" did not come."""
    for (lemma, *others), meant in _PHRASAL.items():
        if verb.lemma == lemma and [reading.low(at + i) for i in range(len(others))] == others:
            behind = at + len(others)
            return (verb, at) if reading.low(behind) == "of" else (replace(verb, lemma=meant), behind)
    return verb, at


def opens_amount(reading: Reading, at: int) -> bool:
    return reading.tag(at + 1) is Tag.NUMBER


def _whole_verb(
    reading: Reading, at: int, verb: Verb, chain: list[str], plural: bool
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


def _is_passive(reading: Reading, at: int) -> bool:
    """A participle known as one, or an unknown word in -ed that a preposition or the end follows."""
    if reading.tag(at) is Tag.VERB:
        return reading.tag(at + 1) not in (Tag.WORD,) or reading.low(at + 1) in en.TIME_LEADS
    return reading.tag(at + 1) in (Tag.PREP, Tag.STOP, Tag.TO, None, Tag.ADVERB)


def _bare(reading: Reading, at: int, verb: Verb, plural: bool) -> tuple[Verb | None, int]:
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
