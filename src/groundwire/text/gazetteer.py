"""Well-known places, companies, products and people.

A company's knowledge base does not list them, so their absence from it proves nothing.
"""

from __future__ import annotations

from groundwire.text.lexicon import word_set, word_table

_NAMES = word_table("gazetteer")
COUNTRIES = frozenset(_NAMES["countries"])
CITIES = frozenset(_NAMES["cities"])
OTHERS = frozenset(_NAMES["others"])
GIVEN_NAMES = frozenset(_NAMES["given_names"])
PLACES = COUNTRIES | CITIES
COMMON_NAMES = PLACES | OTHERS
COMPANY_NOUNS = word_set("company organisation organization firm business corporation enterprise startup")
PLACE_TYPES = word_set("place city country region location town state continent office building site")
PERSON_TYPES = word_set(
    "person people human employee user customer client contact author member staff player actor artist"
    " colleague manager engineer developer scientist politician singer writer student teacher"
)


def is_common_name(name: str) -> bool:
    """True for a well-known name, with or without its article.

    >>> is_common_name("the United States"), is_common_name("Acme")
    (True, False)
    """
    low = name.casefold().removeprefix("the ").strip(" .,'")
    return low in COMMON_NAMES


def is_place(name: str) -> bool:
    return name.casefold().removeprefix("the ").strip(" .,'") in PLACES
