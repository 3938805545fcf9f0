"""One form for all the ways of writing a name: case, accents, punctuation, titles and kinds do not count.

>>> fold("  Dr. Zoë O'Neil's ")
'dr zoe oneil'
>>> fold("J.K. Rowling & Co., C++"), label("works_in") == label("worksIn") == label("Works in")
('jk rowling and co c++', True)
>>> core("the Analytics team") == core("Analytics") and core("Apple Inc.") == core("apple")
True
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from groundwire.text.lexicon import word_set

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
_TRAILING = word_set(
    """
    team department dept group division unit office staff inc incorporated ltd limited llc llp lp gmbh ag sa
    bv plc corp corporation company co
    """
)


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """Lower case, no accents, words apart by one space; `+` and `#` stay, so C, C# and C++ are three."""
    plain = _POSSESSIVE.sub("", text)
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", plain)).casefold().translate(_LETTERS)
    plain = _QUOTE.sub("", _INITIAL.sub("", plain))
    folded = " ".join(_APART.sub(" ", plain).split())
    return unicodedata.normalize("NFC", folded) or " ".join(text.casefold().split())


def label(text: str) -> str:
    """What programs call a thing, folded: `worksIn` and `works_in` are "works in"."""
    return fold(_CAMEL.sub(" ", text))


def core_words(text: str) -> list[str]:
    """The words of a name that tell it from others: no article, no title, no "Inc." or "team"."""
    words = fold(text).split()
    while len(words) > 1 and words[0] in _LEADING:
        words = words[1:]
    while len(words) > 1 and words[-1] in _TRAILING:
        words = words[:-1]
    return words


def core(text: str) -> str:
    """The same without spaces: "New York" and "NewYork" are one."""
    return "".join(core_words(text))
