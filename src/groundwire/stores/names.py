"""The name index: find entities by name, alias or misspelt name.

A misspelt name is looked up word by word. Every stored word is indexed by its prefix with up to two letters
left out (symmetric deletes), so similar words are found by equality. Combinations of them are looked up as
names; failing that, names that share the rarest word are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA
from sqlalchemy import Connection, delete, func, select

from groundwire.stores.database import insert_rows, last_number, select_in
from groundwire.stores.tables import entities, name_words, names, word_forms, words
from groundwire.stores.values import MAX_KEY
from groundwire.text.lexicon import word_set
from groundwire.text.names import core_words, fold
from groundwire.types import MatchKind

_PREFIX = 8  # letters of a word that are indexed with deletions; longer prefixes multiply the rows
_FORM_MATCHES = 2000  # rows read per query of word forms
_MAX_WORD = 40  # letters of a word that are indexed
_MAX_WORDS = 8  # words of a name that are indexed
_NEAR_WORDS = 6  # spelling candidates per word
_COMBINATIONS = 64  # corrected names looked up per query
_CANDIDATES = 300  # names compared when no corrected name exists
_NAMED = select(names.c.entity, names.c.position, names.c.text, names.c.key, names.c.core)
_WORDS = select(words.c.text, words.c.no)
_FORMS = (
    select(words.c.text, words.c.no).join(word_forms, word_forms.c.word == words.c.no).distinct().limit(_FORM_MATCHES)
)
_COUNTS = select(name_words.c.word, func.count().label("names")).group_by(name_words.c.word)
_SHARING = _NAMED.join(name_words, name_words.c.name == names.c.no).limit(_CANDIDATES)


@dataclass(frozen=True, slots=True)
class StoredName:
    """A name of an entity; position 0 is its main name."""

    entity: int
    position: int
    text: str
    key: str
    core: str


def key_of(name: str) -> str:
    return fold(name)[:MAX_KEY]


def core_of(name: str) -> str:
    return "".join(core_words(name))[:MAX_KEY]


def add_names(connection: Connection, names_of: Sequence[tuple[int, int, str]]) -> None:
    """Store names, each with its entity and position, and index them by words and word forms."""
    if not names_of:
        return
    rows: list[dict[str, Any]] = [
        {"no": no, "entity": e, "position": p, "text": t, "key": key_of(t), "core": core_of(t)}
        for no, (e, p, t) in enumerate(names_of, start=last_number(connection, names) + 1)
    ]
    insert_rows(connection, names, rows)
    words_of = {row["no"]: name_index_words(row["text"]) for row in rows}
    known = _ensure_words(connection, {word for found in words_of.values() for word in found})
    filed = [{"word": known[word], "name": no} for no, found in words_of.items() for word in found]
    insert_rows(connection, name_words, filed)


def drop_names(connection: Connection, entity: int) -> None:
    mine = select(names.c.no).where(names.c.entity == entity)
    connection.execute(delete(name_words).where(name_words.c.name.in_(mine)))
    connection.execute(delete(names).where(names.c.entity == entity))


def name_index_words(name: str) -> list[str]:
    return list(dict.fromkeys(word[:_MAX_WORD] for word in core_words(name)[:_MAX_WORDS]))


def _ensure_words(connection: Connection, wanted: set[str]) -> dict[str, int]:
    known = {row.text: row.no for row in select_in(connection, _WORDS, words.c.text, wanted)}
    first = last_number(connection, words) + 1
    new = {word: no for no, word in enumerate(sorted(wanted - known.keys()), first)}
    insert_rows(connection, words, [{"no": no, "text": word} for word, no in new.items()])
    filed = [{"form": form, "word": no} for word, no in new.items() for form in sorted(forms(word))]
    insert_rows(connection, word_forms, filed)
    return known | new


def forms(word: str) -> set[str]:
    """The index forms of a word: its prefix with letters left out. Words with digits are kept as they are."""
    slips = _slips(word)
    if not slips:
        return {word}
    start = word[:_PREFIX]
    lengths = range(len(start) - slips, len(start) + 1)
    return {"".join(kept) for length in lengths for kept in combinations(start, length)}


def _slips(word: str) -> int:
    """Number of misspelt letters allowed in a word."""
    if len(word) <= 3 or any(map(str.isdigit, word)):
        return 0
    return 1 if len(word) <= _PREFIX else 2


def by_key(connection: Connection, keys: Sequence[str]) -> dict[str, list[StoredName]]:
    return _grouped(select_in(connection, _NAMED, names.c.key, keys), "key")


def by_core(connection: Connection, cores: Sequence[str]) -> dict[str, list[StoredName]]:
    return _grouped(select_in(connection, _NAMED, names.c.core, cores), "core")


def _grouped(rows: Iterator[Any], column: str) -> dict[str, list[StoredName]]:
    found: dict[str, list[StoredName]] = {}
    for row in rows:
        found.setdefault(getattr(row, column), []).append(StoredName(*row))
    for same in found.values():
        same.sort(key=lambda n: (n.position > 0, n.entity))
    return found


def near_words(connection: Connection, name: str) -> dict[str, dict[str, int]]:
    """For each word of a name, similar stored words, nearest first."""
    wanted = name_index_words(name)
    every = {form for word in wanted for form in forms(word)}
    there = {row.text: int(row.no) for row in select_in(connection, _FORMS, word_forms.c.form, every)}
    return {word: {text: there[text] for text in _nearest(word, there)} for word in wanted}


def _nearest(word: str, texts: Mapping[str, int]) -> list[str]:
    """The nearest words within the number of errors allowed for their length."""
    found = process.extract(word, texts.keys(), scorer=OSA.distance, score_cutoff=2, limit=None)
    near = ((slips, text) for text, slips, _ in found if slips <= max(_slips(word), _slips(text)))
    return [text for _, text in sorted(near)[:_NEAR_WORDS]]


def corrected_cores(name: str, near: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The names that result from replacing each word with a similar stored one."""
    choices = [list(near[word]) for word in name_index_words(name)]
    if not all(choices):
        return []
    return ["".join(chosen) for chosen in islice(product(*choices), _COMBINATIONS)]


def sharing_words(connection: Connection, name: str, near: Mapping[str, Mapping[str, int]]) -> list[StoredName]:
    """Names that share the rarest words of the name, up to `_CANDIDATES`."""
    numbers = [list(near[word].values()) for word in name_index_words(name) if near[word]]
    if not numbers:
        return []
    every = [no for found in numbers for no in found]
    common = dict.fromkeys(every, 0)
    common |= {row.word: int(row.names) for row in select_in(connection, _COUNTS, name_words.c.word, every)}
    numbers.sort(key=lambda found: sum(common[no] for no in found))
    chosen, room = set(numbers[0]), _CANDIDATES - sum(common[no] for no in numbers[0])
    for found in numbers[1:]:
        room -= sum(common[no] for no in found)
        if room < 0:
            break
        chosen.update(found)
    rows = select_in(connection, _SHARING, name_words.c.word, chosen)
    return list({StoredName(*tuple(row)): None for row in rows})


def name_similarity(a: str, b: str) -> float:
    """Similarity of two names by edit distance (0 to 1); 0 if their digits differ."""
    left, right = core_words(a), core_words(b)
    if _digits(left) != _digits(right):
        return 0.0
    straight = OSA.normalized_similarity(" ".join(left), " ".join(right))
    turned = OSA.normalized_similarity(" ".join(sorted(left)), " ".join(sorted(right)))
    return float(max(straight, turned))


def _digits(found: Sequence[str]) -> list[str]:
    return sorted(word for word in found if any(c.isdigit() for c in word))


def is_partial_name(part: str, whole: str) -> bool:
    """True if `part` consists of some of the words of `whole`, such as a surname."""
    few, many = set(core_words(part)), set(core_words(whole))
    return few < many


FLOOR = 0.82  # minimum similarity for a match; just above Austria/Australia and Maria/Mario
PART = 0.8  # score of a match on a first or last name alone
_TYPES = select(entities.c.no, entities.c.type)
_PEOPLE = word_set(
    "person people human employee user customer client contact author member staff player actor artist"
    " colleague manager engineer developer scientist politician singer writer student teacher"
)


class NameMatch(NamedTuple):
    entity: int
    kind: MatchKind
    score: float = 1.0


def find(connection: Connection, wanted: Sequence[str], *, fuzzy: bool) -> dict[str, NameMatch]:
    """The best entity for each name that has one."""
    asked = [name for name in dict.fromkeys(wanted) if name.strip()]
    found = _exact(connection, asked)
    rest = [name for name in asked if name not in found]
    if rest and fuzzy:
        found |= _fuzzy(connection, rest)
    return found


def similar(connection: Connection, name: str, at_least: float, limit: int) -> list[NameMatch]:
    """All similar entities, best first."""
    if not name.strip():
        return []
    near = near_words(connection, name)
    spelled = by_core(connection, corrected_cores(name, near))
    candidates = [n for same in spelled.values() for n in same]
    candidates += sharing_words(connection, name, near)
    exact = _exact(connection, [name])
    hits = {hit.entity: hit for hit in _ranked(name, candidates, at_least)}
    hits |= {hit.entity: hit for hit in exact.values()}
    order = sorted(hits.values(), key=lambda h: (-h.score, h.kind is MatchKind.FUZZY, h.entity))
    return order[:limit]


def _exact(connection: Connection, asked: Sequence[str]) -> dict[str, NameMatch]:
    """Match as written, else without title, article and kind (reported as an alias)."""
    keys = by_key(connection, [key_of(name) for name in asked])
    found = {
        name: NameMatch(best.entity, MatchKind.ALIAS if best.position else MatchKind.EXACT)
        for name in asked
        if (best := next(iter(keys.get(key_of(name), ())), None)) is not None
    }
    rest = [name for name in asked if name not in found]
    cores = by_core(connection, [core_of(name) for name in rest]) if rest else {}
    for name in rest:
        if same := cores.get(core_of(name)):
            # Of names that are equal without titles and kinds, the one most similar with them.
            key = key_of(name)
            best = max(same, key=lambda n, key=key: (OSA.normalized_similarity(key, n.key), -n.entity))  # type: ignore[misc]
            found[name] = NameMatch(best.entity, MatchKind.ALIAS)
    return found


def _fuzzy(connection: Connection, asked: Sequence[str]) -> dict[str, NameMatch]:
    near = {name: near_words(connection, name) for name in asked}
    guesses = {name: corrected_cores(name, near[name]) for name in asked}
    spelled = by_core(connection, [core for cores in guesses.values() for core in cores])
    found: dict[str, NameMatch] = {}
    for name, cores in guesses.items():
        candidates = [n for core in cores for n in spelled.get(core, ())]
        ranked = _ranked(name, candidates, FLOOR)
        if not ranked:
            shared = sharing_words(connection, name, near[name])
            ranked = _ranked(name, shared, FLOOR, parts=False) or _only_person(connection, name, shared)
        if ranked:
            found[name] = ranked[0]
    return found


def _ranked(name: str, candidates: Iterable[StoredName], floor: float, *, parts: bool = True) -> list[NameMatch]:
    best: dict[int, float] = {}
    for named in candidates:
        score = name_similarity(name, named.text)
        if parts and score < PART and is_partial_name(name, named.text):
            score = PART
        if score >= floor:
            best[named.entity] = max(score, best.get(named.entity, 0.0))
    hits = (NameMatch(entity, MatchKind.FUZZY, score) for entity, score in best.items())
    return sorted(hits, key=lambda hit: (-hit.score, hit.entity))


def _only_person(connection: Connection, name: str, shared: Sequence[StoredName]) -> list[NameMatch]:
    """The only person with this first or last name, if there is exactly one."""
    whole = {named.entity for named in shared if is_partial_name(name, named.text)}
    if not whole:
        return []
    rows = select_in(connection, _TYPES, entities.c.no, whole)
    people = [row.no for row in rows if not _PEOPLE.isdisjoint(fold(row.type).split())]
    return [NameMatch(people[0], MatchKind.FUZZY, PART)] if len(people) == 1 else []
