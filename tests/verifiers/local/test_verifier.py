"""The embedded model: what it knows, that it is whole, and that company does not change its mind."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from groundwire.errors import BackendDown
from groundwire.text.document import Window
from groundwire.types import Estimate, Query
from groundwire.verifiers.local import LocalVerifier
from groundwire.verifiers.local.calibration import Readings
from groundwire.verifiers.local.network import FOLDER, Network, Reading, checked_file
from groundwire.verifiers.local.verifier import ClauseWindow, unsupported_spans

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

TOWER = "The Eiffel Tower in Paris is 330 metres tall. It was finished in 1889 by the company of Gustave Eiffel."
PLACE = (
    '{"name": "Finch & Fork", "hours": {"Monday": "17:30-23:0", "Sunday": "9:0-14:0"}, '
    '"attributes": {"OutdoorSeating": false, "WiFi": "free"}, "business_stars": 4.0}'
)


@pytest.fixture(scope="module")
def local() -> LocalVerifier:
    return LocalVerifier()


async def ask(local: LocalVerifier, claim: str, context: str) -> Estimate:
    return (await local.estimate([Query(claim, context)]))[0]


@pytest.mark.parametrize(
    ("right", "wrong", "context"),
    [
        ("The Eiffel Tower is 330 metres tall.", "The Eiffel Tower is 999 metres tall.", TOWER),
        ("The tower was finished in 1889.", "The tower was finished in 1925.", TOWER),
        ("The Eiffel Tower is in Paris.", "The Eiffel Tower is in London.", TOWER),
        ("France has 67 million people.", "France has 999 million people.", "France has 67 million inhabitants."),
        ("There is free WiFi.", "It has outdoor seating.", PLACE),
        ("It has a 4-star rating.", "It has a rating of 5 stars.", PLACE),
    ],
)
async def test_what_the_evidence_says_is_likelier_than_what_it_denies(
    local: LocalVerifier, right: str, wrong: str, context: str
) -> None:
    good, bad = await ask(local, right, context), await ask(local, wrong, context)
    assert good.p_yes > bad.p_yes + 0.2
    assert good.p_yes > 0.6


async def test_the_wrong_number_is_marked_to_the_character(local: LocalVerifier) -> None:
    claim = "The tower was finished in 1925."
    estimate = await ask(local, claim, TOWER)
    assert any("1925" in claim[span.start : span.end] for span in estimate.spans)


async def test_without_evidence_nothing_is_likely(local: LocalVerifier) -> None:
    estimate = await ask(local, "The Eiffel Tower is 330 metres tall.", "[S0] [EVIDENCE REMOVED]")
    assert estimate.p_yes < 0.2
    assert estimate.speaks is False


@pytest.mark.spec("SPEC-08.37")
async def test_company_changes_nothing(local: LocalVerifier) -> None:
    queries = [
        Query("The Eiffel Tower is 330 metres tall.", TOWER),
        Query("It is open on Monday from 5:30 PM to 11 PM and has outdoor seating and free WiFi.", PLACE),
        Query("Bananas are blue.", TOWER),
        Query("", TOWER),
    ]
    together = await local.estimate(queries)
    alone = [(await local.estimate([query]))[0] for query in queries]
    assert together == alone
    assert together == list(reversed(await local.estimate(list(reversed(queries)))))


async def test_other_languages_go_the_lexical_way_and_say_so(local: LocalVerifier) -> None:
    estimate = await ask(local, "הגובה של מגדל אייפל הוא 330 מטר.", "מגדל אייפל בפריז מתנשא לגובה של 330 מטר.")
    assert "lexical" in estimate.method


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    for name in ("manifest.json", "tokenizer.json", "calibration.json"):
        shutil.copy(FOLDER / name, tmp_path / name)
    (tmp_path / "verifier.onnx").write_bytes(b"not a network")
    with pytest.raises(BackendDown, match="damaged"):
        Network(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackendDown, match="incomplete"):
        checked_file("verifier.onnx", tmp_path)


def test_all_of_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 90_000_000


HALL = " ".join(f"Visitor group {n} came to the hall in spring and paid for the lift." for n in range(30))


@pytest.mark.parametrize(
    "claim", ["Prices fell sharply.", "The lift broke.", "The committee rejected the proposal in March.", "aaaaaaa!"]
)
async def test_what_a_long_source_does_not_speak_of_is_not_taken_for_drawn_from_it(
    local: LocalVerifier, claim: str
) -> None:
    assert (await ask(local, claim, HALL)).p_yes < 0.5
    assert (await ask(local, "Visitors came to the hall in spring.", HALL)).p_yes > 0.9


def test_the_network_keeps_no_memory_for_each_length_of_input() -> None:
    assert not LocalVerifier().network().session.get_session_options().enable_mem_pattern


def read(claim: str, marked: dict[str, float], start: int = 0) -> Reading:
    """A reading whose words have these logits of being unsupported, all others −5."""
    words = re.finditer(r"\w+", claim[start:])
    return Reading(0.1, 0.8, 0.1, tuple((m.start(), m.end(), marked.get(m[0], -5.0)) for m in words))


def clause(claim: str, start: int = 0) -> ClauseWindow:
    return ClauseWindow(claim[start:], start, Window("", (), 0.0))


def marked_words(claim: str, found: list[ClauseWindow], readings: Readings) -> list[str]:
    return [claim[span.start : span.end] for span in unsupported_spans(claim, found, readings)]


def test_a_lone_and_is_not_shown_as_unsupported() -> None:
    claim = "It sells bread and its owner came from Ghent."
    reading = read(claim, dict.fromkeys(("and", "came", "from", "Ghent"), 5.0))
    assert marked_words(claim, [clause(claim)], Readings((reading,))) == ["came from Ghent"]


def test_words_are_unsupported_by_the_mean_of_the_clause_and_the_whole() -> None:
    claim = "It sells bread, and the owner came from Ghent."
    found = [clause(claim[:14]), clause(claim, 16)]
    clauses = (read(claim[:14], {}), read(claim, {"owner": 3.0, "Ghent": 3.0}, 16))
    assert marked_words(claim, found, Readings(clauses)) == ["owner", "Ghent"]
    assert marked_words(claim, found, Readings(clauses, read(claim, {"Ghent": 1.0, "bread": 4.0}))) == ["Ghent"]
