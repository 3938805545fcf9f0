"""Finite verbs one can tell by their form: enough to say whether an English clause stands on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|can|could|will|would|may|might|must|should|isn['’]t|aren['’]t|wasn['’]t|"
    r"weren['’]t|hasn['’]t|haven['’]t|hadn['’]t|doesn['’]t|didn['’]t|can['’]t|cannot|couldn['’]t|won['’]t|wouldn['’]t|shouldn['’]t)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:became|becomes|began|begins|belongs|built|came|comes|consists|contains|costs|covers|died|earned|ended|ends|features|"
    r"fell|found|founded|gave|gives|got|grew|grows|happened|held|holds|includes|included|increased|joined|kept|knew|led|left|"
    r"lies|lived|lives|lost|made|makes|means|met|moved|needs|occurred|offers|offered|opened|opens|owns|paid|played|plays|"
    r"produced|produces|provides|provided|ran|reached|received|receives|remained|remains|reported|requires|required|returned|"
    r"rose|runs|said|sat|says|scored|sells|sent|served|serves|showed|shows|sold|spent|stands|started|starts|stayed|stood|"
    r"stopped|takes|taught|tells|told|took|turned|used|uses|visited|wants|wanted|went|won|wins|works|worked|wrote|launched|"
    r"announced|published|signed|ranks|ranked|measures|weighs|exceeds|fell|employs|employed|created|creates)\b"
)


def has_auxiliary(text: str) -> bool:
    return bool(_AUXILIARY.search(text))


def has_verb(text: str) -> bool:
    """Whether a form that can only (or mostly) be a finite verb stands in the text."""
    return bool(_AUXILIARY.search(text) or _VERB.search(text))


def first_verb(text: str) -> int:
    """Where the first finite verb begins, or -1."""
    found = [match.start() for match in (_AUXILIARY.search(text), _VERB.search(text)) if match]
    return min(found, default=-1)


# A compound sentence as its single assertions, where that is safe.
#
# Cut only between clauses that each have a subject and a finite verb of their own, outside brackets and
# quotation marks, and never inside what someone is said to have said: "if", "that" and reporting verbs
# bind both halves. A pronoun in the second subject is no cut either: alone, "it fell by 3 %" says nothing.
# Nor is the last "and" of a list.

_JOINT = re.compile(
    r"\s*;\s+(?:(?:and|but|however|moreover|meanwhile),?\s+)?|,\s+(?:and|but|while|whereas|yet)\s+"
)
_SUBJECT = re.compile(
    r"(?:the|a|an|this|these|those|our|my|your|some|many|most|all|both|each|every|no|several|two|"
    r"three|four|five|another|other|there)\s+[\w'’-]|[A-Z][\w'’.&-]*|\d[\d.,]*\s+\w"
)
_PRONOUN = re.compile(r"(?:it|he|she|they|this|that|we|you|i|which|who|there)\b", re.IGNORECASE)
_BINDS = re.compile(
    r"\b(?:if|when|unless|because|although|though|whether|that|how|why|what|between|either|neither|not only"
    r"|said|says|claim(?:s|ed)?|states?|stated|report(?:s|ed)?|believe[sd]?|according|argue[sd]?|suggest(?:s|ed)?"
    r"|thinks?)\b",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"(?:while|as|since|after|before|until|once|despite|in order|so that|for example|e\.g)\b", re.IGNORECASE
)
_OPENERS, _CLOSERS = "([{“«「『（【", ")]}”»」』）】"
_INTERRUPTS = re.compile(r"[,;:()]|\b(?:which|who|that|to)\b")
_MIN_WORDS = 3
_REACH = 60


def split(text: str) -> list[tuple[int, int]]:
    """The ranges of the assertions in a sentence: one, unless it is safe to cut.

    >>> text = "Paris is in France, and Rome is in Italy."
    >>> [text[start:end] for start, end in split(text)]
    ['Paris is in France', 'Rome is in Italy.']
    """
    cuts = list(_cuts(text)) if len(text) < 4000 else []
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return list(zip(starts, ends, strict=True))


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for joint in _JOINT.finditer(text):
        left, right = text[begin : joint.start()], text[joint.end() :]
        if _is_open(text[: joint.start()]) or not _stands(left) or _LEADS.match(left) or _BINDS.search(left):
            continue
        listed = "and" in joint[0] and "," in left and not _stands(left.rpartition(",")[2])
        if _begins_clause(right) and not listed:
            yield joint.start(), joint.end()
            begin = joint.end()


def _stands(clause: str) -> bool:
    return len(clause.split()) >= _MIN_WORDS and has_verb(clause)


def _begins_clause(right: str) -> bool:
    """Whether what follows begins with a subject and, before any comma or relative, its verb."""
    if _PRONOUN.match(right) or not _SUBJECT.match(right) or len(right.split()) < _MIN_WORDS:
        return False
    verb = first_verb(right[:_REACH])
    return verb > 0 and not _INTERRUPTS.search(right, 0, verb)


def _is_open(text: str) -> bool:
    """Whether a bracket or a quotation is still open at the end of a text."""
    text = text.replace("„", "(").replace("“", ")") if "„" in text else text
    depth = sum(char in _OPENERS for char in text) - sum(char in _CLOSERS for char in text)
    return depth > 0 or text.count('"') % 2 == 1
