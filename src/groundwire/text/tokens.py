"""Tokens of any script with exact offsets and normalised forms, script detection, and index terms.

>>> [w.norm for w in words("The companies were competing")]
['the', 'company', 'be', 'compet']
>>> words("השמאי")[0].norm == words("שמאי")[0].norm
True
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from groundwire.text.lexicon import FOREIGN_FUNCTION_WORDS, IRREGULAR, STOP, STOP_EN

T = TypeVar("T")

_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f"
)
_WORD = re.compile(
    rf"[{_UNSPACED}]+"
    r"|\d+(?:[.,:/]\d+)*(?![^\W\d_])"
    rf"|(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+(?:['’](?=[^\W\d_])(?:[^\W_]|[{_MARKS}])+|[\"״׳'’](?=[א-ת])[א-ת]+)*"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_IS_HEBREW = re.compile("[א-ת]")
_IS_ARABIC = re.compile("[\u0620-\u064a\u066e-\u06d3]")
_STRIP_MARKS = re.compile(f"[{_MARKS}\u0640\"'’״׳]")
_FINALS = str.maketrans("ךםןףץ", "כמנפצ")
_ARABIC_LETTERS = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})
_ARABIC_PREFIXES = ("وال", "بال", "كال", "فال", "لل", "ال", "و")
_ARABIC_SUFFIXES = ("ات", "ون", "ين", "ان", "ها", "هم", "يه", "ه", "ي")
_HEBREW_PREFIXES = "והבלמשכ"
_HEBREW_SUFFIXES = ("ימ", "ות", "ית", "ה", "ו", "ת")
_VOWELS = frozenset("aeiouy")
_MIN_STEM = 3  # letters that a stem keeps; shorter ones are ambiguous
_CONTRACTED = frozenset({"", "s", "t", "re", "ve", "ll", "d", "m"})
_CACHE, _MAX_CACHED = 1 << 16, 40  # words, and characters of a word; some tens of megabytes at most


def cached(entries: int, longest: int, longer: int = 0) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """An `lru_cache` for a function of one text. Of the texts with over `longest` characters it keeps only the
    last `longer` ones: strangers send texts of any length, and a number of entries alone limits no memory.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        of_short, of_long = (lru_cache(maxsize=size)(function) for size in (entries, longer))

        @wraps(function)
        def call(text: str) -> T:
            return of_short(text) if len(text) <= longest else of_long(text)

        return call

    return decorate


class TextCache(Generic[T]):
    """What `make` makes of texts, kept for the texts that were used last: at most `entries` of them, and
    `chars` characters in all. The last one is kept whatever its length: the claims of one answer share a text.
    """

    def __init__(self, make: Callable[[str], T], entries: int, chars: int) -> None:
        self._make, self._entries, self._limit = make, entries, chars
        self._found: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()
        self.chars = 0
        """Characters of all texts that are kept."""

    def __len__(self) -> int:
        return len(self._found)

    def __call__(self, text: str) -> T:
        with self._lock:
            if text in self._found:
                self._found.move_to_end(text)
                return self._found[text]
        made = self._make(text)  # outside the lock: others need not wait for it
        with self._lock:
            if text not in self._found:
                self.chars += len(text)
            self._found[text] = made
            while len(self._found) > 1 and (len(self._found) > self._entries or self.chars > self._limit):
                oldest, _ = self._found.popitem(last=False)
                self.chars -= len(oldest)
        return made


class Word(NamedTuple):
    """`text[start:end]` as written; `norm` is equal for forms of one word."""

    text: str
    norm: str
    start: int
    end: int

    @property
    def is_stop(self) -> bool:
        return is_stop(self.text)


def words(text: str) -> list[Word]:
    """All words in order. Scripts written without spaces yield overlapping character bigrams."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        token, start = match[0], match.start()
        if _IS_UNSPACED.match(token):
            pairs = [(i, token[i : i + 2]) for i in range(max(1, len(token) - 1))]
            found.extend(Word(pair, pair, start + i, start + i + len(pair)) for i, pair in pairs)
        else:
            found.append(Word(token, normalise(token), start, match.end()))
    return found


@cached(8192, 300)
def content_words(text: str) -> frozenset[str]:
    """The normal forms of all words but stop words.

    >>> sorted(content_words("The companies were competing"))
    ['company', 'compet']
    """
    return frozenset(word.norm for word in words(text) if not word.is_stop)


@cached(_CACHE, _MAX_CACHED)
def is_stop(word: str) -> bool:
    """True for a function word of English or Hebrew."""
    lowered = word.casefold().replace("’", "'")
    head, _, tail = lowered.partition("'")
    return lowered in STOP or (head in STOP and tail in _CONTRACTED)


@cached(_CACHE, _MAX_CACHED)
def normalise(word: str) -> str:
    """The stem of a word; inflections of a word mostly share it."""
    if word.isascii():
        return stem(word.lower())
    if _IS_HEBREW.search(word):
        return _hebrew(word)
    if _IS_ARABIC.search(word):
        return _arabic(word)
    folded = unicodedata.normalize("NFKD", word.casefold())
    return stem("".join(c for c in folded if not unicodedata.combining(c)))


def stem(word: str) -> str:
    """A light English stemmer: plural, tense and adverb endings, and a table of irregular forms.

    >>> {stem(w) for w in ("increase", "increased", "increasing", "increases")}
    {'increase'}
    """
    word = word.replace("’", "'").split("'")[0] or word
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= _MIN_STEM or not word.isalpha():
        return word
    return _drop_e(_strip_tense(_strip_plural(word)))


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _strip_tense(word: str) -> str:
    for suffix in ("ingly", "edly", "ing", "ied", "ed", "ly"):
        root = word.removesuffix(suffix)
        if root == word or len(root) < _MIN_STEM or not _VOWELS.intersection(root):
            continue
        if suffix == "ied" or root.endswith("i"):
            return root.removesuffix("i") + "y"
        doubled = suffix != "ly" and len(root) > _MIN_STEM and root[-1] == root[-2] and root[-1] not in "lsz"
        return root[:-1] if doubled else root
    return word


def _drop_e(word: str) -> str:
    if word in IRREGULAR.values():
        return word
    if word + "e" in _KEPT_E:
        return word + "e"
    return word[:-1] if len(word) > _MIN_STEM + 1 and word.endswith("e") and word not in _KEPT_E else word


# Bases of the irregular table that end in e: their regular forms must map to them as well.
_KEPT_E = frozenset(base for base in IRREGULAR.values() if base.endswith("e"))


def _hebrew(word: str) -> str:
    """Remove vowel points, prefixes and the most common endings.

    Prefixes are removed greedily, so that a word matches its prefixed forms even if its own first letter
    looks like a prefix.
    """
    bare = _STRIP_MARKS.sub("", word).translate(_FINALS)
    if '"' in word or "״" in word:  # an acronym: only ה and ב are likely before it
        return bare
    while len(bare) > _MIN_STEM and bare[0] in _HEBREW_PREFIXES:
        bare = bare[1:]
    for suffix in _HEBREW_SUFFIXES:
        if bare.endswith(suffix) and len(bare) - len(suffix) >= _MIN_STEM:
            return bare[: -len(suffix)]
    return bare


def _arabic(word: str) -> str:
    bare = _STRIP_MARKS.sub("", word).translate(_ARABIC_LETTERS)
    for prefix in _ARABIC_PREFIXES:
        if bare.startswith(prefix) and len(bare) - len(prefix) >= _MIN_STEM - 1:
            bare = bare[len(prefix) :]
            break
    for suffix in _ARABIC_SUFFIXES:
        if bare.endswith(suffix) and len(bare) - len(suffix) >= _MIN_STEM:
            return bare[: -len(suffix)]
    return bare


_SCRIPTS = (
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("cjk", re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")),
    ("latin", re.compile("[A-Za-z\u00c0-\u024f]")),
)
_LETTER = re.compile(r"[^\W\d_]")
_SAMPLE = 20_000  # characters from the beginning that decide script and language
_FOREIGN_SHARE = 12  # text is foreign only if at least every 12th word is a foreign function word


def script(text: str) -> str:
    """The most frequent script: latin, hebrew, arabic, cjk or other ('' without letters)."""
    sample = text[:_SAMPLE]
    total = len(_LETTER.findall(sample))
    counts = {name: len(pattern.findall(sample)) for name, pattern in _SCRIPTS}
    counts["other"] = total - sum(counts.values())
    return max(counts, key=lambda name: counts[name]) if total else ""


def language_hint(text: str) -> str:
    """'en' for English or unknown text, 'latin' for other Latin-script languages, else he, ar, cjk or
    other.
    """
    name = script(text)
    if name != "latin":
        return {"hebrew": "he", "arabic": "ar", "cjk": "cjk", "": "en"}.get(name, "other")
    tokens = [w.lower() for w in re.findall(r"[^\W\d_]+", text[:_SAMPLE])]
    foreign = sum(t in FOREIGN_FUNCTION_WORDS for t in tokens)
    english = sum(t in STOP_EN for t in tokens)
    return "latin" if foreign > english and foreign * _FOREIGN_SHARE >= len(tokens) else "en"


@cached(_CACHE >> 2, _MAX_CACHED)
def letter_pairs(word: str) -> frozenset[str]:
    """The pairs of neighbouring characters, with the beginning and the end of the word."""
    padded = f"^{word}$"
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def similarity(a: str, b: str) -> float:
    """Similarity of two word forms, 0 to 1: Dice coefficient of character bigrams.

    >>> similarity("organise", "organize") > 0.7 > similarity("paris", "london")
    True
    """
    if a == b:
        return 1.0
    left, right = letter_pairs(a), letter_pairs(b)
    return 2 * len(left & right) / (len(left) + len(right))


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_PM = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s?[pP]\.?[mM]\b\.?")
_DECIMAL = re.compile(r"\d+\.\d+$")
# Relative to 1 for other words; numbers and names identify a passage better. Chosen by hand.
_NUMBER_WEIGHT = 1.5
_NAME_WEIGHT = 1.3

PRONOUN = re.compile(
    r"[\"'“‘(]*(?:he|she|it|they|his|her|its|their|this|that|these|those|such|both|the (?:former|latter)"
    r"|הוא|היא|הם|הן|זה|זו|זאת|אלה|אלו|هو|هي|هم|他|她|它|他们|这|該)\b",
    re.IGNORECASE,
)
"""Pronouns at the start of a sentence, which refer to the sentence before."""


def terms(text: str) -> list[str]:
    """The index terms of a text; `OutdoorSeating` also yields outdoor and seating.

    >>> terms("attributes OutdoorSeating: no, 1,200 seats, 9:0-21:30")
    ['attribut', 'outdoorseat', 'no', '1200', 'seat', '9', '21', '21:30', 'outdoor', 'seat']
    >>> terms("9:30 pm") == terms("21:30")
    True
    """
    found = [form for word in words(_afternoon(text)) if not is_stop(word.text) for form in forms(word)]
    if _CAMEL.search(text):
        parts = (_CAMEL.sub(" ", token) for token in re.findall(r"\w+", text) if _CAMEL.search(token))
        split = {form: None for part in parts for word in words(part) for form in forms(word)}
        found.extend(form for form in split if len(form) > 2)
    return found


def forms(word: Word) -> list[str]:
    """The terms of a word. Numbers are normalised (`1,200` is 1200, `4.0` is 4); times also yield the
    hour.
    """
    if not word.text[0].isdigit():
        return [word.norm]
    number = word.norm.replace(",", "")
    hour, colon, minute = number.partition(":")
    if colon and hour.isdecimal() and minute.isdecimal():
        return [hour.lstrip("0") or "0", *([f"{int(hour)}:{int(minute)}"] if int(minute) else [])]
    return [number.rstrip("0").rstrip(".") if _DECIMAL.match(number) else number]


def _afternoon(text: str) -> str:
    if "m" not in text and "M" not in text:
        return text
    return _PM.sub(lambda match: f"{int(match[1]) % 12 + 12}:{match[2] or '00'}", text)


def names(text: str) -> str:
    """The capitalised words of a text, as context for a following sentence that only says "it".

    >>> names("The Eiffel Tower stands in Paris.")
    'Eiffel Tower Paris'
    """
    return " ".join(word.text for word in words(text) if word.text[0].isupper() and not is_stop(word.text))


def weighted(text: str) -> dict[str, float]:
    """The index terms of a claim with their weights."""
    found: dict[str, float] = {}
    for position, word in enumerate(words(_afternoon(text))):
        if is_stop(word.text):
            continue
        weight = 1.0
        if word.text[0].isdigit():
            weight = _NUMBER_WEIGHT
        elif position and word.text[0].isupper():
            weight = _NAME_WEIGHT
        for form in forms(word):
            found[form] = max(weight, found.get(form, 0.0))
    return found
