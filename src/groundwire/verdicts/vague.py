"""What says too little to be judged."""

from __future__ import annotations

from groundwire.text.tokens import words

MIN_CONTENT_WORDS = 2


def is_vague(text: str, *, answers: bool = False) -> bool:
    """Hardly a word that means anything by itself, and no number: nothing could confirm or deny it.

    `answers`: there is a question, to which a name alone is an answer.

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
