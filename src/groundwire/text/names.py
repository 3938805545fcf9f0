"""Proper names: find them, fold spelling variants, and decide if two names refer to the same thing.

Names are found by their capitals; Hebrew, Arabic and CJK have none.

>>> [n.text for n in names("It says that Marie Curie met Dr. J. Smith of the World Health Organization.")]
['Marie Curie', 'Dr. J. Smith', 'World Health Organization']
>>> same_name("Curie", "Marie Curie"), same_name("WHO", "World Health Organization")
(True, True)
>>> fold("  Dr. Zoë O'Neil's ")
'dr zoe oneil'
>>> fold("J.K. Rowling & Co., C++")
'jk rowling and co c++'
>>> fold_identifier("works_in") == fold_identifier("worksIn") == fold_identifier("Works in")
True
>>> core_name("the Analytics team") == core_name("Analytics"), core_name("Apple Inc.") == core_name("apple")
(True, True)
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from groundwire.text.dates import MONTHS, WEEKDAYS
from groundwire.text.lexicon import word_set, word_table
from groundwire.text.tokens import cached, is_stop, normalise, similarity

_NAMES = word_table("gazetteer")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0640]")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "&": " and "}
)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s(?!\w)|(?<=s)['’](?!\w)", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_INITIAL = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_QUOTE = re.compile("['’`׳״\"]")
_APART = re.compile(r"(?<!\d)[.,]|[.,](?!\d)|[^\w+#%$€£₪°.,]|_")
_LEADING = word_set("the a an mr mrs ms miss dr prof professor sir madam rabbi rev president")
_TRAILING = word_set(_NAMES["trailing"])
_FILE_END = re.compile(r"(?<=\w)\.[A-Za-z][A-Za-z0-9]{0,4}\Z")


def plain_name(name: str) -> str:
    """The name of a document whatever its case, what separates its words and the end of its file name.

    >>> plain_name("Staff Handbook") == plain_name("staff_handbook.pdf")
    True
    """
    return " ".join(filter(None, re.split(r"[\s_-]+", _FILE_END.sub("", name)))).casefold()


@cached(1 << 16, 60)
def fold(text: str) -> str:
    """Lower case, no accents, single spaces; `+` and `#` stay, so that C, C# and C++ are different."""
    plain = _POSSESSIVE.sub("", text)
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", plain)).casefold().translate(_LETTERS)
    plain = _QUOTE.sub("", _INITIAL.sub("", plain))
    folded = " ".join(_APART.sub(" ", plain).split())
    return unicodedata.normalize("NFC", folded) or " ".join(text.casefold().split())


def fold_identifier(text: str) -> str:
    """Fold an identifier: `worksIn` and `works_in` become "works in"."""
    return fold(_CAMEL.sub(" ", text))


def core_words(text: str) -> list[str]:
    """The distinctive words of a name, without article, title, "Inc." or "team"."""
    words = fold(text).split()
    while len(words) > 1 and words[0] in _LEADING:
        words = words[1:]
    while len(words) > 1 and words[-1] in _TRAILING:
        words = words[:-1]
    return words


def core_name(text: str) -> str:
    """The distinctive words without spaces: "New York" and "NewYork" are the same."""
    return "".join(core_words(text))


class Name(NamedTuple):
    """A name, `text[start:end]`; `sure` is False for a single capitalised word at the start of a sentence."""

    text: str
    start: int
    end: int
    sure: bool = True


_PART = r"(?:[^\W\d_a-z]['’])?[^\W\d_](?:[^\W_]|['’](?=[^\W\d_]{2})|-(?=[^\W_]))*"
_LINK = r"(?:of|de la|de|del|della|di|da|van der|van|von|der|la|le|el|al|bin|ibn|and|&)"
_CAPITAL = re.compile(rf"[^\W\d_]\.(?:\s?[^\W\d_]\.)*|{_PART}")
_RUN = re.compile(rf"\s+(?:{_LINK}\s+)?|\s?&\s?|\s(?=\d)")
_OPENS = re.compile(r"(?:^|[.!?:;•\n]|[\"'“”(\[*#-])\s*$")
_SERIAL = re.compile(r"\d{1,3}\b(?![.,:%/]\d|\s?(?:%|percent|million|billion|years|people))")
_MIN_SIMILAR = 5  # letters; in shorter names one letter makes another name
_SIMILAR = 0.72  # bigram similarity: one wrong letter in a word of seven; chosen by hand
_TITLES = word_set("mr mrs ms dr prof professor sir lady lord president king queen miss saint st")
_COMMON = word_set(_NAMES["common"]) | frozenset(MONTHS) | frozenset(WEEKDAYS)


def names(text: str) -> list[Name]:
    """Runs of capitalised words and acronyms, without common words that merely open a sentence."""
    found: list[Name] = []
    position = 0
    while match := _next_capital(text, position):
        end = _extend(text, match.end())
        name = _trimmed(text, match.start(), end)
        position = end
        if name is not None:
            found.append(name)
    return found


def _next_capital(text: str, position: int) -> re.Match[str] | None:
    for match in _CAPITAL.finditer(text, position):
        if not match[0].islower() and _is_capitalised(match[0]):
            return match
    return None


def _is_capitalised(word: str) -> bool:
    """Return True for 'Apple' and 'IBM', and also for 'iPhone' and 'eBay'."""
    return word[0].isupper() or (word[:1].islower() and word[1:2].isupper())


def _extend(text: str, end: int) -> int:
    """Extend over following capitalised words, also after 'of', 'de', '&', or a number ('Apollo 11')."""
    while gap := _RUN.match(text, _after_title(text, end)):
        follows = _CAPITAL.match(text, gap.end())
        if follows and _is_capitalised(follows[0]) and "\n" not in gap[0] and gap[0].strip() != "and":
            end = follows.end()
            continue
        number = _SERIAL.match(text, gap.end())
        return number.end() if number and gap[0] == " " else end
    return end


def _after_title(text: str, end: int) -> int:
    """Skip the full stop of 'Dr.' and the like."""
    if text[end : end + 1] != ".":
        return end
    word = text[max(0, end - 10) : end].rpartition(" ")[2].lower()
    return end + 1 if word in _TITLES else end


def _trimmed(text: str, start: int, end: int) -> Name | None:
    """Remove leading articles and sentence openers; None if nothing is left."""
    opens = bool(_OPENS.search(text[max(0, start - 3) : start])) or start == 0
    words = text[start:end].split(" ")
    while words and _is_opener(words[0]):
        start += len(words[0]) + 1
        words, opens = words[1:], False
    if not words or start >= end or len(text[start:end].strip(".")) < 2:
        return None
    raw = text[start:end].removesuffix("'s").removesuffix("’s")
    alone = opens and len(words) == 1 and not _is_acronym(raw)
    return Name(raw, start, start + len(raw), sure=not alone)


def _is_opener(word: str) -> bool:
    return (word.lower().strip(".,'’") in _COMMON or is_stop(word)) and not _is_acronym(word)


def _is_acronym(word: str) -> bool:
    letters = word.replace(".", "")
    return len(letters) >= 2 and letters.isupper() and letters.isalpha()


@cached(1 << 14, 60)
def key(name: str) -> tuple[str, ...]:
    """The normalised words of a name, without titles, connecting words and dots."""
    raw = [w.strip(".,'’\"()") for w in re.split(r"[\s\-]+", name)]
    return tuple(normalise(w) for w in raw if w and w.lower() not in _TITLES and not is_stop(w)) or (name.lower(),)


def same_name(a: str, b: str) -> bool:
    """True if equal up to titles, or one is a part, an initialled form, an acronym or a misspelling."""
    left, right = key(a), key(b)
    if left == right:
        return True
    short, long = sorted((left, right), key=len)
    if len(short) < len(long) and set(short) <= set(long):
        return True
    return _acronym_of(a, b) or _acronym_of(b, a) or _initials(short, long) or _misspelt(left, right)


def _acronym_of(short: str, long: str) -> bool:
    letters = short.replace(".", "")
    initials = "".join(w[0] for w in re.split(r"[\s\-]+", long) if w and w[0].isupper())
    return _is_acronym(short) and len(initials) > 1 and letters == initials


def _initials(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """'J. Smith' and 'John Smith'; 'J. K. Rowling' and 'Joanne Rowling'."""
    if len(short) < 2 or short[-1] != long[-1] or len(short[-1]) < 3:
        return False
    return short[0][:1] == long[0][:1] and (len(short[0]) == 1 or len(long[0]) == 1)


def _misspelt(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Return True if all words are equal or similar; short words must be equal."""
    if len(left) != len(right):
        return False
    return all(
        x == y or (min(len(x), len(y)) >= _MIN_SIMILAR and similarity(x, y) >= _SIMILAR)
        for x, y in zip(left, right, strict=True)
    )


COUNTRIES = frozenset(_NAMES["countries"])
PLACES = COUNTRIES.union(_NAMES["cities"])
COMMON_NAMES = PLACES.union(_NAMES["others"])
GIVEN_NAMES = frozenset(_NAMES["given_names"])
COMPANY_NOUNS = word_set("company organisation organization firm business corporation enterprise startup")
PLACE_TYPES = word_set("place city country region location town state continent office building site")
PERSON_TYPES = word_set(_NAMES["person_types"])


def is_common_name(name: str) -> bool:
    """True for a well-known name, with or without its article.

    >>> is_common_name("the United States"), is_common_name("Acme")
    (True, False)
    """
    low = name.casefold().removeprefix("the ").strip(" .,'")
    return low in COMMON_NAMES


def is_place(name: str) -> bool:
    return name.casefold().removeprefix("the ").strip(" .,'") in PLACES
