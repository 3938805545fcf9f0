"""Values crossed within one sentence. "Renting costs 300 euros, the deposit is 500 euros" holds every word of
"The deposit is 300 euros", and says something else.

Only parts with a subject of their own are read: in "sales were 300, rising to 400" both are of the sales.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.verifiers.lexical.pieces import Analysis, analyse, content_norms
from groundwire.verifiers.lexical.tables import LIGHT
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.statements import Statement
from groundwire.verifiers.rules.values import Place, Value, values

_SURE = 0.9
_JOINT = re.compile(r";\s+|,\s+(?:(?:and|but|while|whereas)\s+)?|\s+(?:and|but|while|whereas)\s+")
# What is said of several things at once, or of none of them for sure, is not taken apart.
_TANGLED = re.compile(
    r"\b(?:respectively|former|latter|each|both|either|or|between|combined|together|if|unless|would|could|might"
    r"|another|others?|also|than|except|instead|previously|formerly|originally|later|now)\b|n['’]t\b",
    re.IGNORECASE,
)
_OPENS = word_set("the a an its their his her your our my")
_NO_SUBJECT = word_set(
    """
    it they he she we you i this that these those there which who whom whose what where when in on at for of
    to by with from since until after before during as so then thus hence about around nearly almost only up
    down
    """
)
_VERBS = word_set("is are was were has have had costs cost weighs weigh measures measured")
_SAYS_NOTHING = LIGHT | {"cost"}


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a sentence; `lead` are the words before its one value, which say whose it is."""

    said: Statement
    lead: frozenset[str]
    begins: bool

    @property
    def has_subject(self) -> bool:
        words = [word.text for word in self.said.analysis.words[:2]]
        if not self.lead or len(words) <= 1 or re.split("['’]", words[0].lower())[0] in _NO_SUBJECT:
            return False
        plain = words[0][0].islower() and words[0].lower() not in _OPENS and words[1].lower() not in _VERBS
        return self.begins or not plain


def crossed(claim_text: str, statements: Sequence[Statement]) -> RuleResult | None:
    """A claim's one value that a sentence gives to something else, beside that of the claim's own thing."""
    claim = analyse(claim_text)
    value = _only_value(claim)
    if value is None or _is_tangled(claim):
        return None
    wanted = frozenset(word.norm for word in claim.content) - _SAYS_NOTHING
    holders = [s for s in statements if value.held_by(s)]
    for holder in holders:
        found = _rival(holder, value, wanted)
        others = (s for s in holders if s.text != holder.text)
        if found is not None and not any(wanted & other.norms for other in others):
            said = found[0].text[slice(*found[1])]
            return RuleResult("no", _SURE, value.start, value.end, f"the sources say {said} here")
    return None


def _only_value(claim: Analysis) -> Value | None:
    exact = [value for value in values(claim) if value.exact]
    return exact[0] if len(exact) == 1 == len(claim.numbers) + len(claim.dates) else None


def _is_tangled(text: Analysis) -> bool:
    return bool(_TANGLED.search(text.text)) or any(word.text.lower() in NEGATIONS for word in text.words)


def _rival(holder: Statement, value: Value, wanted: frozenset[str]) -> tuple[Statement, Place] | None:
    """The part that says all of the claim with another value, where another part has the claim's."""
    if holder.structured or not any(value.rivals_in(holder)) or _is_tangled(holder.analysis):
        return None
    parts = list(_parts(holder))
    having = [part for part in parts if value.held_by(part.said)]
    if not having or not all(part.has_subject for part in having):
        return None
    for part in parts:
        rivals = list(value.rivals_in(part.said))
        told = part.has_subject and wanted <= part.said.norms | holder.about
        if len(rivals) == 1 and told and all(_apart(part, other, wanted) for other in having):
            return part.said, rivals[0]
    return None


def _apart(mine: _Part, other: _Part, wanted: frozenset[str]) -> bool:
    """Whether the claim names what only its own part is about, and the other part is about something more."""
    own = mine.lead - other.lead
    return bool(own) and own <= wanted and bool(other.lead - mine.lead - wanted)


def _parts(sentence: Statement) -> Iterator[_Part]:
    """Cut at commas and conjunctions, but not within a date or a number."""
    taken = _places(sentence.analysis)
    begin = 0
    cuts = [m.span() for m in _JOINT.finditer(sentence.text)]
    for start, end in [*cuts, (len(sentence.text), len(sentence.text))]:
        if not any(a < end and start < b for a, b in taken):
            yield _part(sentence.text[begin:start], begins=begin == 0)
            begin = end


def _part(text: str, *, begins: bool) -> _Part:
    said = Statement(text, analyse(text), content_norms(text), frozenset())
    found = _places(said.analysis)
    lead = {w.norm for w in said.analysis.content if len(found) == 1 and w.end <= found[0][0]}
    return _Part(said, frozenset(lead) - _SAYS_NOTHING, begins)


def _places(text: Analysis) -> list[Place]:
    return [*((n.start, n.end) for n in text.numbers), *((d.start, d.end) for d in text.dates)]
