"""A turn's flags, actions and figures under the seed's paths, and what comes back across turns."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from groundwire.errors import InputError
from groundwire.stores.database import open_database
from groundwire.stores.paths import PathStore, path_of
from groundwire.types import Action, ActionKind, Detection, Flag, HallucinationType, Segment
from groundwire.verdicts.paths import EXAMPLES, pattern_id, record, shape

WRONG = HallucinationType.WRONG_ATTRIBUTE
FLAG = Flag(
    WRONG,
    4,
    34,
    "Acme Corp was founded in 1987",
    0.9,
    suggestion="1985",
    evidence="the knowledge base says 1985",
    related=(("kb_lookup", "founded: 1985"), ("history_match", ""), ("other", "not in the schema")),
)
VAGUE = Flag(HallucinationType.UNSUPPORTED_CLAIM, 40, 50, "many people", 0.55)
DETECTION = Detection((FLAG, VAGUE), (Segment(0, "…", 0, 50),), entities_verified=2, claims_checked=3, seconds=0.0125)
ACTIONS = (
    Action(ActionKind.CORRECT, 29, 33, "1987", "1985", reason="known to be otherwise"),
    Action(ActionKind.FLAG, 40, 50, "many people", annotation="[?]"),
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATTERN = path_of("hallucination_patterns", pattern_id(WRONG, FLAG.content))


@pytest.fixture
def store(store_url: str) -> Iterator[PathStore]:
    database = open_database(store_url)
    yield PathStore(database)
    database.close()


def values(store: PathStore, prefix: str) -> dict[str, object]:
    return {entry.path.removeprefix(prefix): entry.value for entry in store.scan(prefix)}


def test_a_turn_stands_under_the_paths_of_the_schema(store: PathStore) -> None:
    prefix = record(store, "chat", 3, DETECTION, ACTIONS)
    assert prefix == "/hallucination/chat/3/"
    assert values(store, prefix) == {
        "detection/total_flags": 2,
        "detection/high_confidence": 1,
        "detection/medium_confidence": 1,
        "detection/flag/0/span_start": 4,
        "detection/flag/0/span_end": 34,
        "detection/flag/0/content": "Acme Corp was founded in 1987",
        "detection/flag/0/type": "WrongAttribute",
        "detection/flag/0/confidence": 0.9,
        "detection/flag/0/suggestion": "1985",
        "detection/flag/0/evidence": "the knowledge base says 1985",
        "detection/flag/0/evidence/kb_lookup": "founded: 1985",
        "detection/flag/1/span_start": 40,
        "detection/flag/1/span_end": 50,
        "detection/flag/1/content": "many people",
        "detection/flag/1/type": "UnsupportedClaim",
        "detection/flag/1/confidence": 0.55,
        "mitigation/action_count": 2,
        "mitigation/corrections_applied": 1,
        "mitigation/regeneration_needed": False,
        "mitigation/action/0/type": "Correct",
        "mitigation/action/0/span_start": 29,
        "mitigation/action/0/span_end": 33,
        "mitigation/action/0/original": "1987",
        "mitigation/action/0/replacement": "1985",
        "mitigation/action/0/reason": "known to be otherwise",
        "mitigation/action/1/type": "Flag",
        "mitigation/action/1/span_start": 40,
        "mitigation/action/1/span_end": 50,
        "mitigation/action/1/original": "many people",
        "metrics/detection_time_ms": 12.5,
        "metrics/segments_analyzed": 1,
        "metrics/claims_checked": 3,
        "metrics/entities_verified": 2,
    }


def test_a_clean_turn_is_recorded_too(store: PathStore) -> None:
    prefix = record(store, "chat", 1, Detection())
    assert values(store, prefix)["detection/total_flags"] == 0
    assert list(store.scan("/hallucination_patterns/")) == []


def test_regeneration_is_said(store: PathStore) -> None:
    prefix = record(store, "chat", 1, DETECTION, [Action(ActionKind.REGENERATE, guidance="again")])
    assert values(store, prefix)["mitigation/regeneration_needed"] is True


@pytest.mark.parametrize("session", ["team/7/2", "שיחה", "..", "100%", "a\nb", "\x00", "\ud83d", "' OR 1=1", "x" * 512])
def test_any_name_of_a_session_is_safe(store: PathStore, session: str) -> None:
    record(store, "other", 1, DETECTION)
    prefix = record(store, session, "turn/1", DETECTION)
    assert prefix == path_of("hallucination", session, "turn/1") + "/"
    assert prefix.count("/") == 4
    assert values(store, prefix)["detection/total_flags"] == 2


@pytest.mark.parametrize("session", ["", "x" * 513])
def test_names_that_are_none_are_refused(store: PathStore, session: str) -> None:
    with pytest.raises(InputError):
        record(store, session, 1, DETECTION)


class TestPatterns:
    def test_the_like_of_it_is_counted(self, store: PathStore) -> None:
        record(store, "a", 1, DETECTION, now=NOON)
        again = replace(FLAG, content="Initech was founded in 2,004")
        record(store, "b", 1, Detection((again, FLAG)), now=NOON.replace(hour=13))
        found = values(store, f"{PATTERN}/")
        assert found["frequency"] == 3
        assert found["type"] == "WrongAttribute"
        assert found["last_seen"] == "2026-03-01T13:00:00+00:00"
        assert found["description"] == "This attribute appears incorrect: <name> was founded in <number>"
        examples = {value for path, value in found.items() if path.startswith("examples/")}
        assert examples == {FLAG.content, again.content}

    def test_a_turn_recorded_again_is_replaced_and_not_counted_twice(self, store: PathStore) -> None:
        record(store, "a", 1, DETECTION, ACTIONS)
        record(store, "a", 1, DETECTION)
        prefix = record(store, "a", 1, Detection((FLAG,)))
        assert store.get(f"{PATTERN}/frequency") == 1
        assert values(store, prefix)["mitigation/action_count"] == 0
        assert not [path for path in values(store, prefix) if "/1/" in path]

    def test_examples_are_few_and_the_newest(self, store: PathStore) -> None:
        for n in range(40):
            record(store, "a", n, Detection((replace(FLAG, content=f"Acme was founded in {n}"),)))
        kept = [entry.value for entry in store.scan(f"{PATTERN}/examples/")]
        assert sorted(map(str, kept)) == sorted(f"Acme was founded in {n}" for n in range(40 - EXAMPLES, 40))

    def test_kinds_and_shapes_are_told_apart(self) -> None:
        ids = {
            pattern_id(kind, content)
            for kind in (WRONG, HallucinationType.FABRICATED_FACT)
            for content in ("Acme was founded in 1987", "ACME's CEO is Jane", "", "אקמי נוסדה")
        }
        assert len(ids) == 8

    def test_the_name_of_a_pattern_lasts(self) -> None:
        assert pattern_id(WRONG, "Acme Corp was founded in 1987.") == "WrongAttribute-785d9e27f4c1"

    @pytest.mark.parametrize("content", ["\ud800", "x" * 100_000, "3 of 2", "🙂 \n\t"])
    def test_any_content_has_a_shape(self, content: str) -> None:
        assert len(shape(content)) <= 200

    def test_writers_at_once_lose_no_count(self, store_url: str, store: PathStore) -> None:
        def write(session: int) -> None:
            database = open_database(store_url)
            for turn in range(8):
                # In opposite orders: whoever locked as they come would wait in a ring.
                flags = (FLAG, VAGUE) if session % 2 else (VAGUE, FLAG)
                record(PathStore(database), f"s{session}", turn, Detection(flags))
            database.close()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert store.get(f"{PATTERN}/frequency") == 32

    def test_the_same_turn_written_at_once_is_counted_once(self, store_url: str, store: PathStore) -> None:
        def write(_: int) -> None:
            database = open_database(store_url)
            for _ in range(5):
                record(PathStore(database), "same", 1, Detection((FLAG, VAGUE)))
            database.close()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert store.get(f"{PATTERN}/frequency") == 1
        assert store.get("/hallucination/same/1/detection/total_flags") == 2
