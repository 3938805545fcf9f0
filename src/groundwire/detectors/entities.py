"""Detector for nonexistent entities: people, teams and projects found in no source, dialogue or knowledge
base.

Catches: names within the coverage of the knowledge base: people if it has people, "the X team" if it has
teams, names related to a known entity.
Misses: names it cannot be expected to contain (Paris, Kubernetes), scripts without capitals, and single words
at the start of a sentence.
Cost: none beyond the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.detectors.context import DetectionContext, KBSnapshot
from groundwire.detectors.kb_lookup import is_licensed
from groundwire.detectors.values import strip_unit_noun
from groundwire.openie.lexicon import UNIT_NOUNS, groups, may_be_person
from groundwire.openie.parser import bare
from groundwire.text.lexicon import expressions, word_sets
from groundwire.text.names import PERSON_TYPES, is_common_name
from groundwire.types import Flag, HallucinationType, MatchKind, Mention, MentionKind, Segment

BASE = 0.7
_BY_KIND = {MentionKind.PROPER_NAME: 0.15, MentionKind.DEFINITE: 0.05}
_SIMILAR, _SIMILAR_FROM = 0.2, 0.8
_GENERIC, _GENERIC_NAMES = 0.3, ("the team", "the manager", "someone", "a person")
_CONTACT, _IN_TEAM, _COLLEAGUES = expressions("detect_kb", "contact in_team colleagues")
"""`_COLLEAGUES`: what stands between two people of one organisation."""
_ORGANISED, _CLOSED = word_sets("detect_kb", "organised closed")


async def detect_nonexistent_entities(context: DetectionContext) -> list[Flag]:
    if context.known is None:
        return []
    return [flag for segment in context.segments for flag in _in_segment(context, context.known, segment)]


def _in_segment(context: DetectionContext, known: KBSnapshot, segment: Segment) -> Iterator[Flag]:
    if segment.text.rstrip().endswith("?"):
        return
    seen: set[str] = set()
    for mention in segment.mentions:
        key = bare(mention.text).casefold()
        if mention.kind is MentionKind.PRONOUN or key in seen or _exists(context, known, mention):
            continue
        seen.add(key)
        if _should_be_known(context, known, segment, mention):
            yield _flag(context, known, mention)


def _exists(context: DetectionContext, known: KBSnapshot, mention: Mention) -> bool:
    """True if the name is in the knowledge base (misspellings included), a common name, or in the input."""
    forms = {bare(mention.text), strip_unit_noun(bare(mention.text))}
    matches = [match for form in forms if (match := known.match(form))]
    if any(match.kind is not MatchKind.FUZZY or match.score >= _SIMILAR_FROM for match in matches):
        return True
    return any(known.is_known(form) or is_common_name(form) for form in forms) or is_licensed(context, mention.text)


def _should_be_known(context: DetectionContext, known: KBSnapshot, segment: Segment, mention: Mention) -> bool:
    if mention.kind is MentionKind.DEFINITE:
        return _is_named_unit(mention.text) and _covers(known, UNIT_NOUNS, _ORGANISED)
    if is_covered_name(context, mention.text):
        return True
    return _covers(known, PERSON_TYPES, _CLOSED) and _is_treated_as_person(known, segment, mention)


def _is_named_unit(text: str) -> bool:
    """ "the Analytics team", but not "the whole team" or "the Brazil national team"."""
    *name, head = bare(text).split()
    named = bool(name) and all(part[:1].isupper() for part in name) and not any(map(is_common_name, name))
    return named and head.lower() in UNIT_NOUNS


def _covers(known: KBSnapshot, types: frozenset[str], relations: frozenset[str]) -> bool:
    """True if the knowledge base has entities of these types, or attributes that relate such entities."""
    named = {kind.lower() for kind in known.coverage.types} | {m.entity.type.lower() for m in known.matches.values()}
    attributes = (attribute.name for entity in known.entities.values() for attribute in entity.attributes)
    return bool(named & types) or any(groups(p) & relations for p in (*known.coverage.predicates, *attributes))


def _is_treated_as_person(known: KBSnapshot, segment: Segment, mention: Mention) -> bool:
    """True if the sentence gives a name a person's place in the organisation: in a team, as
    someone to contact, or as a colleague of a person the knowledge base knows. A single word needs more than
    "contact", which is also said of companies.
    """
    if not may_be_person(mention.text):
        return False
    at = mention.start - segment.start
    before, after = segment.text[:at], segment.text[at + len(mention.text) :]
    if _IN_TEAM.match(after):
        return True
    if " " not in mention.text:
        return False
    return bool(_CONTACT.search(before)) or any(
        _joins_people(segment, mention, other) for other in segment.mentions if _is_known_person(known, other)
    )


def _is_known_person(known: KBSnapshot, mention: Mention) -> bool:
    match = known.match(bare(mention.text))
    return match is not None and match.entity.type.lower() in PERSON_TYPES


def _joins_people(segment: Segment, one: Mention, two: Mention) -> bool:
    first, last = sorted((one, two), key=lambda mention: mention.start)
    between = segment.text[first.end - segment.start : last.start - segment.start]
    return _COLLEAGUES.fullmatch(between) is not None


def is_covered_name(context: DetectionContext, name: str) -> bool:
    """True if a claim relates the name to a known entity by a relation of which both ends should be known."""
    known = context.known
    if known is None or is_common_name(name) or not any(c.isupper() for c in name):
        return False
    plain = bare(name).casefold()
    for segment in context.segments:
        for claim in segment.claims:
            ends = (bare(claim.subject).casefold(), bare(claim.object).casefold())
            if plain in ends and groups(claim.predicate) & _CLOSED and claim.predicate not in ("be", "be in", "in"):
                other = ends[1] if ends[0] == plain else ends[0]
                if known.match(other) or known.match(strip_unit_noun(other)):
                    return True
    return False


def nonexistence_confidence(mention: Mention, similar: bool) -> float:
    """Confidence that a name found nowhere does not exist."""
    confidence = BASE + _BY_KIND.get(mention.kind, 0.0)
    if similar:
        confidence -= _SIMILAR  # may be a misspelling
    if any(generic in mention.text.lower() for generic in _GENERIC_NAMES):
        confidence -= _GENERIC
    return round(min(1.0, max(0.0, confidence)), 4)


def _flag(context: DetectionContext, known: KBSnapshot, mention: Mention) -> Flag:
    near = known.match(bare(mention.text))
    evidence = "Not found in dialogue history or knowledge base"
    similar = f"; similar: {near.entity.name}" if near else ""
    return Flag(
        type=HallucinationType.NONEXISTENT_ENTITY,
        start=mention.start,
        end=mention.end,
        content=context.response[mention.start : mention.end],
        confidence=nonexistence_confidence(mention, near is not None or _similar_spoken(context, mention.text)),
        suggestion=f"Could not find entity: '{mention.text}'",
        evidence=evidence + similar,
        related=(("kb_lookup", f"{mention.text}: no such entity{similar}"),),
    )


def _similar_spoken(context: DetectionContext, name: str) -> bool:
    from rapidfuzz.fuzz import ratio

    wanted = bare(name).casefold()
    return any(ratio(wanted, bare(spoken).casefold()) >= 100 * _SIMILAR_FROM for spoken in context.dialogue.names)
