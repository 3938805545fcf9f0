"""Split compound sentences into single assertions, if that is safe.

A sentence is split only between clauses that each have their own subject and finite verb, outside brackets
and quotation marks. "if", "that" and speech verbs bind both halves. There is no split before a pronoun ("it
fell by 3 %" says nothing alone) and at the last "and" of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.text.lexicon import SPEECH_VERBS, word_table

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|can|could|will|would|may|might|must|should|isn['’]t|aren['’]t|wasn['’]t|"
    r"weren['’]t|hasn['’]t|haven['’]t|hadn['’]t|doesn['’]t|didn['’]t|can['’]t|cannot|couldn['’]t|won['’]t|wouldn['’]t|shouldn['’]t)\b",
    re.IGNORECASE,
)
_VERB = re.compile(rf"\b(?:{'|'.join(word_table('words')['finite'].split())})\b")


def has_auxiliary(text: str) -> bool:
    return bool(_AUXILIARY.search(text))


def has_verb(text: str) -> bool:
    """True if the text contains a form that is (almost) always a finite verb. English only."""
    return bool(_AUXILIARY.search(text) or _VERB.search(text))


def first_verb(text: str) -> int:
    """Offset of the first finite verb, or -1."""
    found = [match.start() for match in (_AUXILIARY.search(text), _VERB.search(text)) if match]
    return min(found, default=-1)


_JOINT = re.compile(r"\s*;\s+(?:(?:and|but|however|moreover|meanwhile),?\s+)?|,\s+(?:and|but|while|whereas|yet)\s+")
_SUBJECT = re.compile(
    r"(?:the|a|an|this|these|those|our|my|your|some|many|most|all|both|each|every|no|several|two|"
    r"three|four|five|another|other|there)\s+[\w'’-]|[A-Z][\w'’.&-]*|\d[\d.,]*\s+\w"
)
_PRONOUN = re.compile(r"(?:it|he|she|they|this|that|we|you|i|which|who|there)\b", re.IGNORECASE)
_BINDS = re.compile(
    r"\b(?:if|when|unless|because|although|though|whether|that|how|why|what|between|either|neither|not only"
    r"|states?|stated|reports?|reported|according|argue|suggest|" + "|".join(sorted(SPEECH_VERBS)) + r")\b",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"(?:while|as|since|after|before|until|once|despite|in order|so that|for example|e\.g)\b", re.IGNORECASE
)
_OPENERS, _CLOSERS = "([{“«「『（【", ")]}”»」』）】"
_INTERRUPTS = re.compile(r"[,;:()]|\b(?:which|who|that|to)\b")
_MIN_WORDS = 3  # a shorter clause is not an assertion
_VERB_REACH = 60  # characters in which the verb of the second clause must begin
_MAX_CHARS = 4000  # longer "sentences" are not split, to bound the work


def split(text: str) -> list[tuple[int, int]]:
    """Ranges of the assertions in a sentence: a single one unless it is safe to split.

    >>> text = "Paris is in France, and Rome is in Italy."
    >>> [text[start:end] for start, end in split(text)]
    ['Paris is in France', 'Rome is in Italy.']
    """
    cuts = list(_cuts(text)) if len(text) < _MAX_CHARS else []
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return list(zip(starts, ends, strict=True))


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for joint in _JOINT.finditer(text):
        left, right = text[begin : joint.start()], text[joint.end() :]
        if _is_open(text[: joint.start()]) or not _is_clause(left) or _LEADS.match(left) or _BINDS.search(left):
            continue
        listed = "and" in joint[0] and "," in left and not _is_clause(left.rpartition(",")[2])
        if _begins_clause(right) and not listed:
            yield joint.start(), joint.end()
            begin = joint.end()


def _is_clause(clause: str) -> bool:
    return len(clause.split()) >= _MIN_WORDS and has_verb(clause)


def _begins_clause(right: str) -> bool:
    """True if the text begins with a subject and its verb, without a comma or relative clause between
    them.
    """
    if _PRONOUN.match(right) or not _SUBJECT.match(right) or len(right.split()) < _MIN_WORDS:
        return False
    verb = first_verb(right[:_VERB_REACH])
    return verb > 0 and not _INTERRUPTS.search(right, 0, verb)


def _is_open(text: str) -> bool:
    """True if a bracket or quotation is still open at the end of the text."""
    text = text.replace("„", "(").replace("“", ")") if "„" in text else text
    depth = sum(char in _OPENERS for char in text) - sum(char in _CLOSERS for char in text)
    return depth > 0 or text.count('"') % 2 == 1
