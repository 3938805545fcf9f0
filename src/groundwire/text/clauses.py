"""The clauses of an English sentence, which can be right or wrong one by one."""

from __future__ import annotations

import re

_MIN_WORDS = 4
"""Shorter clauses ("which is new") say too little to be read without the rest of their sentence."""

_CUT = re.compile(
    r"[,;:–—]\s+(?=(?:and|but|or|plus|so|while|whereas|although|though|which|who|where|with)\b)"
    r"|;\s+"
    r"|\s(?:while|whereas|although|because)\s"
    # Without a comma, "and" joins nouns more often than clauses, unless a verb or a new subject follows.
    r"|\sand\s(?=(?:is|are|was|were|has|have|had|can|may|must|will|costs?|takes?|it|they|he|she|the|an?)\b)",
    re.IGNORECASE,
)


def clauses(sentence: str) -> list[tuple[int, int]]:
    """The character ranges of the clauses, or one range for a sentence that has a single one.

    >>> sentence = "The ferry runs daily, but it takes no cars in winter."
    >>> [sentence[start:end] for start, end in clauses(sentence)]
    ['The ferry runs daily', 'but it takes no cars in winter']
    """
    found, begin = [], 0
    for start, end in [*(match.span() for match in _CUT.finditer(sentence)), (len(sentence), len(sentence))]:
        piece = sentence[begin:start]
        left = len(piece) - len(piece.lstrip(" ,;"))
        right = len(piece.rstrip(" ,;."))
        if len(piece.split()) >= _MIN_WORDS:
            found.append((begin + left, begin + right))
        begin = end
    return found if len(found) > 1 else [(0, len(sentence))]
