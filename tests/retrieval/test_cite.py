"""Citations mean a source, or are phantoms, before any model is asked."""

from __future__ import annotations

import pytest

from groundwire.retrieval.gather import cited_ids, phantoms, resolve
from groundwire.types import Claim, Source


class CountedId(str):
    """Counts how often ids are folded, which must not be once per source or claim."""

    folds = 0

    def casefold(self) -> str:
        CountedId.folds += 1
        return super().casefold()


COUNTED = [Source("S0", "a", "guide.pdf"), Source("S1", "b", "notes/law.md")]
NAMED = [Source("guide", "a"), Source("law", "b")]


@pytest.mark.parametrize(
    ("citation", "meant"),
    [
        ("S0", "S0"),
        ("s1", "S1"),
        ("guide.pdf", "S0"),
        ("law", "S1"),
        ("S2", None),
        ("2", None),
        ("", None),
        ("[S0]", None),
    ],
)
def test_ids_and_file_names(citation: str, meant: str | None) -> None:
    assert resolve(citation, COUNTED) == meant


@pytest.mark.parametrize(("citation", "meant"), [("1", "guide"), ("2", "law"), ("^2", "law"), ("3", None), ("0", None)])
def test_numbers_count_from_one_where_sources_have_names(citation: str, meant: str | None) -> None:
    assert resolve(citation, NAMED) == meant


def test_numbered_parts_of_one_source_can_be_cited() -> None:
    prompt = Source("context", "Question: how?\n\npassage 1: By hand.\n\npassage 2: Slowly.\n\n**Passage 3:** Well.")
    assert [resolve(number, [prompt]) for number in ("1", "2", "3", "4")] == ["context"] * 3 + [None]
    assert resolve("2", [prompt, Source("law", "The passage 2 miles north.")]) == "context"
    assert resolve("2", [Source("S0", "As in passage 2: no line begins with it."), Source("S1", "b")]) is None


def test_parts_of_one_source_can_be_cited_by_their_labels() -> None:
    pasted = Source("S0", "S0: By hand.\nS1 - Slowly.\n[S2] Well.\n**S3:** Often. As S4: says no line.")
    cited = [resolve(label, [pasted]) for label in ("S0", "S1", "s2", "S3", "S4")]
    assert cited == ["S0"] * 4 + [None]
    assert resolve("S2", [pasted, Source("S2", "b")]) == "S2"
    assert resolve("S1", [Source("context", "[S1] Slowly."), Source("question", "How?")]) == "context"
    assert resolve("S1", [Source("a", "S1: It is so."), Source("b", "S1: It is not.")]) is None
    assert resolve("S1", [Source("a", "S1 - Standard\nS2 - Premium\nS10: pump")]) is None


@pytest.mark.parametrize("cited", ["S1", "s1", "2"])
def test_no_source_answers_for_another(cited: str) -> None:
    sources = [Source("S0", "[S1] It is so.\npassage 2: It is so."), Source("S3", "It is not.")]
    assert resolve(cited, sources) is None


def test_many_sources_are_prepared_once() -> None:
    sources = tuple(Source(CountedId(f"id{n}"), f"id{n} text") for n in range(200))
    claims = [Claim(f"c{n}", "It is so.", 0, 9, citations=(f"ID{n}", "no such")) for n in range(50)]
    CountedId.folds = 0
    assert [phantoms(claim, sources) for claim in claims] == [("no such",)] * 50
    assert CountedId.folds <= 2 * len(sources)


@pytest.mark.spec("SPEC-16.07")
def test_phantoms_are_named_as_written_and_once() -> None:
    claim = Claim("c1", "It is so.", 0, 9, citations=("S0", "S9", "S9", "x"))
    assert phantoms(claim, COUNTED) == ("S9", "x")
    assert phantoms(claim, []) == ("S0", "S9", "x")
    assert phantoms(Claim("c2", "It is so.", 0, 9), COUNTED) == ()
    assert cited_ids(claim.citations, COUNTED) == ("S0",)


@pytest.mark.parametrize("cited", ["Staff Handbook", "staff handbook", "staff-handbook", "staff_handbook.pdf"])
def test_a_source_is_found_by_its_title_and_by_its_file_however_they_are_written(cited: str) -> None:
    titled = [Source("S0", "# Staff Handbook\n\nStaff get 25 days."), Source("S1", "# FAQ\n\nWe open at 9.")]
    filed = [Source("S0", "Staff get 25 days.", "docs/staff-handbook.md"), Source("S1", "We open at 9.", "faq.md")]
    assert [resolve(cited, titled), resolve(cited, filed)] == ["S0", "S0"]


def test_who_is_named_as_the_source_and_quoted_by_a_source_is_no_phantom() -> None:
    claim = Claim("c1", "Salt raises blood pressure.", 0, 27, ("WHO", "Salt Council"))
    sources = [Source("S0", "The WHO says that salt raises blood pressure.")]
    assert phantoms(claim, sources) == ("Salt Council",)
