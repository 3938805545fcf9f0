"""What to do instead of answering from nothing: ask, retrieve, narrow or decline, in a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundwire.text.tokens import script
from groundwire.types.realtime import Alternative, Requirement

_ENGLISH = {
    "referent": 'Ask what "{0}" refers to.',
    "material": 'Ask for the text: nothing is at hand for "{0}"',
    "user": 'Ask the user: nothing said so far answers "{0}"',
    "premise": 'Ask where it is from that "{0}": nothing here says so.',
    "description": 'Ask which one is meant by "{0}".',
    "retrieve": 'Look for a source on "{0}".',
    "narrow": 'Answer only what is covered: "{0}".',
    "without": 'Leave out "{0}", of which nothing here speaks.',
    "decline": 'Say plainly that the available sources do not cover "{0}".',
}
_HEBREW = {
    "referent": 'לשאול למה הכוונה ב"{0}".',
    "material": 'לבקש את הטקסט: אין כאן דבר בשביל "{0}"',
    "user": 'לשאול את המשתמש: דבר ממה שנאמר אינו עונה על "{0}"',
    "premise": 'לשאול מניין ש"{0}": אין כאן מקור שאומר זאת.',
    "description": 'לשאול למי הכוונה ב"{0}".',
    "retrieve": 'לחפש מקור על "{0}".',
    "narrow": 'לענות רק על מה שמכוסה: "{0}".',
    "without": 'להשמיט את "{0}", שדבר כאן אינו עוסק בו.',
    "decline": 'לומר בגלוי שהמקורות הזמינים אינם מכסים את "{0}".',
}
_ASKABLE = ("referent", "material", "user", "premise", "description")
_SEARCHABLE = ("question", "side", "entity", "premise", "description")


def alternatives(
    request: str, missing: Sequence[Requirement], every: Sequence[Requirement]
) -> tuple[tuple[Alternative, str], ...]:
    """The best thing to do first; to decline is always last."""
    words = _HEBREW if script(request) == "hebrew" else _ENGLISH
    found = dict.fromkeys(
        (*_asked(missing, words), *_retrieved(missing, words), *_narrowed(missing, every, words))
    )
    return (*found, (Alternative.DECLINE, words["decline"].format(_first(missing))))


def _asked(missing: Sequence[Requirement], words: dict[str, str]) -> Iterator[tuple[Alternative, str]]:
    for lost in missing:
        if lost.kind in _ASKABLE:
            yield Alternative.ASK, words[lost.kind].format(lost.text)


def _retrieved(missing: Sequence[Requirement], words: dict[str, str]) -> Iterator[tuple[Alternative, str]]:
    """A name is looked for before the question that holds it."""
    wanted = [lost for lost in missing if lost.kind in _SEARCHABLE]
    names = [lost for lost in wanted if lost.kind in ("entity", "side")]
    for lost in names or wanted[:1]:
        yield Alternative.RETRIEVE, words["retrieve"].format(lost.text)


def _narrowed(
    missing: Sequence[Requirement], every: Sequence[Requirement], words: dict[str, str]
) -> Iterator[tuple[Alternative, str]]:
    covered = [met for met in every if met.found_in and met.explicit]
    if covered and any(lost.explicit for lost in missing):
        yield Alternative.NARROW, words["narrow"].format('", "'.join(met.text for met in covered))
    elif covered and missing:
        yield Alternative.NARROW, words["without"].format(_first(missing))


def _first(missing: Sequence[Requirement]) -> str:
    return next((lost for lost in missing if lost.explicit), missing[0]).text
