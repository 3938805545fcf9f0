"""What says too little to be judged."""

from __future__ import annotations

from groundwire.text.words import words

MIN_CONTENT_WORDS = 2


def is_vague(text: str) -> bool:
    """Hardly a word that means anything by itself, and no number: nothing could confirm or deny it.

    >>> is_vague("It is what it is."), is_vague("This is so."), is_vague("It is 450 m tall.")
    (True, True, False)
    """
    found = words(text)
    if any(character.isdigit() for character in text):
        return False
    return len({word.norm for word in found if not word.is_stop}) < MIN_CONTENT_WORDS
