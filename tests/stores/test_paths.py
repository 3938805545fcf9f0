"""Values by path: the same order, the same prefixes and the same safety on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from groundwire.errors import InputError
from groundwire.stores.database import Database, open_database
from groundwire.stores.paths import PathStore, escape_segment, nest_paths, path_of, unescape_segment

ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=20)


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    found = open_database(store_url)
    yield found
    found.close()


@pytest.fixture
def store(database: Database) -> PathStore:
    return PathStore(database)


def listed(store: PathStore, prefix: str, limit: int | None = None) -> list[str]:
    return [entry.path for entry in store.scan(prefix, limit=limit)]


@given(ANY)
def test_a_segment_comes_back_as_it_was(name: str) -> None:
    escaped = escape_segment(name)
    assert unescape_segment(escaped) == name
    assert escaped
    assert "/" not in escaped


def test_an_empty_name_is_none() -> None:
    with pytest.raises(InputError, match="empty"):
        path_of("a", "")


@given(st.lists(ANY, min_size=1, max_size=4), st.lists(ANY, min_size=1, max_size=4))
def test_different_segments_make_different_paths(one: list[str], other: list[str]) -> None:
    assert (path_of(*one) == path_of(*other)) == (one == other)


class TestStore:
    @pytest.mark.parametrize("value", ["text", "", "a\x00b \ud800 שלום", 3, -1.5, True, None])
    def test_a_value_comes_back_as_it_was(self, store: PathStore, value: str | float | None) -> None:
        store.put("/a/b", value)
        assert store.get("/a/b", "nothing") == value
        assert store.get("/a") is None

    def test_the_last_value_stands(self, store: PathStore) -> None:
        store.put("/a", 1)
        store.put("/a", 2)
        assert store.get("/a") == 2

    def test_a_prefix_is_whole_segments(self, store: PathStore) -> None:
        for path in ("/a/1", "/a/1/x", "/a/10", "/a%2F1/x", "/a/1!", "/b"):
            store.put(path, 0)
        assert listed(store, "/a/1") == ["/a/1", "/a/1/x"]
        assert listed(store, "/a/1/") == ["/a/1/x"]
        assert listed(store, "/a/") == ["/a/1", "/a/1!", "/a/1/x", "/a/10"]
        assert listed(store, "/nothing/") == []
        assert len(listed(store, "/")) == 6

    @pytest.mark.parametrize("wild", ["_", "*", "?", "[a]", "\\", "'", "100%25"])
    def test_no_character_is_a_wildcard(self, store: PathStore, wild: str) -> None:
        store.put(f"/{wild}/x", 1)
        store.put("/a/x", 2)
        store.put("/100%2525/x", 2)
        assert listed(store, f"/{wild}/") == [f"/{wild}/x"]

    def test_the_order_is_that_of_the_bytes(self, store: PathStore) -> None:
        names = ["a", "B", "_", "é", "e", "Z", "א", "ſ", "\U0001f600", "\uffee", "10", "9", "a b", "a!b", "-"]
        paths = [path_of("o", name, "x") for name in names]
        with store.writing() as writer:
            writer.put(dict.fromkeys(paths, 1))
        assert listed(store, "/o/") == sorted(paths, key=str.encode)

    def test_a_long_scan_is_read_in_pages(self, store: PathStore) -> None:
        paths = [f"/many/{n:05}" for n in range(1201)]
        with store.writing() as writer:
            writer.put(dict.fromkeys(paths, 0))
        assert listed(store, "/many/") == paths
        assert listed(store, "/many/", limit=501) == paths[:501]

    def test_the_index_answers_a_prefix(self, database: Database, store: PathStore) -> None:
        with store.writing() as writer:
            writer.put({f"/s{n}/x": n for n in range(3000)})
        query = "SELECT path FROM paths WHERE path >= '/s7/' AND path < '/s70' ORDER BY path"
        explain = "EXPLAIN QUERY PLAN " if database.dialect == "sqlite" else "EXPLAIN "
        with database.write() as connection:
            if database.dialect == "postgresql":
                connection.execute(text("ANALYZE paths"))
            plan = " ".join(map(str, connection.execute(text(explain + query))))
        assert "INDEX" in plan.upper()
        assert "SORT" not in plan.upper()
        assert "TEMP B-TREE" not in plan.upper()

    def test_deleting_takes_what_is_below(self, store: PathStore) -> None:
        for path in ("/a", "/a/b", "/a/b/c", "/ab"):
            store.put(path, 1)
        assert store.delete("/a/b") == 2
        assert store.delete("/a/") == 0
        assert listed(store, "/") == ["/a", "/ab"]

    def test_a_failed_transaction_leaves_nothing(self, store: PathStore) -> None:
        def broken() -> None:
            with store.writing() as writer:
                writer.put({"/a": 1})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            broken()
        assert listed(store, "/") == []

    @pytest.mark.parametrize(
        "path", ["", "a", "/", "//", "/a/", "/a//b", "/a\x00b", "/\ud800", "/100%", "/" + "x" * 2001]
    )
    def test_what_is_no_path_is_refused(self, store: PathStore, path: str) -> None:
        with pytest.raises(InputError):
            store.put(path, 1)

    def test_not_a_number_is_no_value(self, store: PathStore) -> None:
        with pytest.raises(ValueError, match="JSON"):
            store.put("/a", float("nan"))

    def test_hostile_names_find_their_own_and_no_others(self, store: PathStore) -> None:
        names = ["a/b", "a", "b", "%", "%2F", "..", " ", "\n", "\x00", "a%", "שיחה", "\ud83d", "🙂", "'; --"]
        for name in names:
            store.put(path_of("s", name, "x"), name)
        for name in names:
            assert [entry.value for entry in store.scan(path_of("s", name) + "/")] == [name]


def test_counting_loses_nothing(store_url: str) -> None:
    def count(_: int) -> None:
        database = open_database(store_url)
        store = PathStore(database)
        for _ in range(25):
            with store.writing() as writer:
                writer.add("/n/frequency", 2)
        database.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    database = open_database(store_url)
    assert PathStore(database).get("/n/frequency") == 200
    database.close()


def test_exported_as_objects_in_objects(store: PathStore) -> None:
    with store.writing() as writer:
        writer.put({path_of("h", "a/b", 1, "x"): 1, "/h/c": "d", "/h/c/e": None, "/g": True})
    assert store.export("/h/") == {"h": {"a/b": {"1": {"x": 1}}, "c": {"": "d", "e": None}}}


@settings(max_examples=50)
@given(st.dictionaries(st.lists(ANY, min_size=1, max_size=3).map(tuple), st.integers(), max_size=6))
def test_nesting_keeps_every_value(values: dict[tuple[str, ...], int]) -> None:
    def leaves(tree: object) -> Iterator[object]:
        if isinstance(tree, dict):
            for inner in tree.values():
                yield from leaves(inner)
        else:
            yield tree

    entries = sorted((path_of(*way), value) for way, value in values.items())
    assert sorted(map(str, leaves(nest_paths(entries)))) == sorted(map(str, values.values()))
