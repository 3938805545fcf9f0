"""Detect claims that are too vague to be judged."""

from __future__ import annotations

from groundwire.text.tokens import words

MIN_CONTENT_WORDS = 2
"""With a single content word ("it depends") nothing specific is stated."""


def is_vague(text: str, *, answers: bool = False) -> bool:
    """Return True for text with fewer than two content words and without a name or number.

    Args:
        answers: the text answers a question, so a name alone is enough.

    >>> is_vague("It is what it is."), is_vague("This is so."), is_vague("It is 450 m tall.")
    (True, True, False)
    >>> is_vague("Lyon"), is_vague("Lyon", answers=True), is_vague("It depends.", answers=True)
    (True, False, True)
    >>> is_vague("It is in Paris."), is_vague("It is in doubt.")
    (False, True)
    """
    found = [word for word in words(text) if not word.is_stop]
    if any(character.isdigit() for character in text):
        return False
    if any(word.text[0].isupper() and word.start > 0 for word in found):
        return False  # a name can be confirmed or denied
    if answers and any(not word.text[0].islower() for word in found):
        return False
    return len({word.norm for word in found}) < MIN_CONTENT_WORDS
