"""Citation marks: which signs are marks, and whom they name."""

from __future__ import annotations

import pytest

from groundwire.claims.extractor import extract
from groundwire.claims.markup import marks, named_in, resolve


def labels(text: str, *known: str) -> list[str]:
    return [label for mark in marks(text, known) for label in mark.labels]


@pytest.mark.spec("SPEC-08.08")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is so [S0].", ["S0"]),
        ("It is so.[1]", ["1"]),
        ("Paris[1] is big", ["1"]),
        ("so [1, 3]", ["1", "3"]),
        ("so [1-3] and [S1–S3]", ["1", "2", "3", "S1", "S2", "S3"]),
        ("so [S1][S2]", ["S1", "S2"]),
        ("(up 5% from 2022).[1][2]", ["1", "2"]),
        ("so (S1) and (S1, S2)", ["S1", "S1", "S2"]),
        ("so (Source: S1) and [source 2] and [Sources: 3, 4]", ["S1", "2", "3", "4"]),
        ("so 【1】 and 【2†source】 and 【4:0†a.pdf】", ["1", "2", "4:0"]),
        ("so[^1] and [^note]", ["^1", "^note"]),
        ("Paris¹ is big.² It rains¹,²", ["1", "2", "1", "2"]),
        ("לפי ההחלטה [מקור 2]", ["2"]),
    ],
)
def test_marks_in_the_styles_people_use(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


@pytest.mark.spec("SPEC-08.08")
@pytest.mark.parametrize(
    "text",
    [
        "in [2023] and (2023)",
        "point (2) and (a)",
        "a[1] + rows[2] + my_list[0] + get(x)[1]",
        "x[1] = 5",
        "an area of 5 m², 3 km², 10⁶ and x²",
        "a value in [0, 1]",
        "[x] done, [ ] open, [sic], [emphasis added]",
        "vitamin (D3) and f(S1)",
        "[1-9999] and [900-1]",
    ],
)
def test_what_is_no_mark(text: str) -> None:
    assert labels(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S0: The tower is tall.", ["S0"]),
        ("S1 - The tower is tall.", ["S1"]),
        ("Source S0: “The tower” is tall.\nS1 – So it is.", ["S0", "S1"]),
        ("S7: The tower is tall.", []),  # there is no such source, and it need not be meant as one
        ("S1 - 5 is what remains.", []),
        ("S1-S3 are tall; the S0: label.", []),
        ("S0: tower, 300 m", []),
        ("S0 says so. S1: It is so.", []),
        ("S0 - Standard\nS1 - Premium", []),
        ("S0: 5 mm", []),
    ],
)
def test_a_known_source_may_stand_before_its_line(text: str, expected: list[str]) -> None:
    assert labels(text, "S0", "S1") == expected
    assert labels(text) == []


def test_a_known_id_is_a_mark_by_its_name() -> None:
    assert labels("so [report.md] and (report.md) and [2023]", "report.md", "2023") == [
        "report.md",
        "report.md",
        "2023",
    ]
    assert labels("so 【3†report.md】", "report.md") == ["report.md"]
    assert labels("so [report.md]") == []


@pytest.mark.spec("SPEC-08.08")
@pytest.mark.parametrize(
    ("label", "known", "expected"),
    [
        ("S1", ["S0", "S1"], "S1"),
        ("s1", ["S0", "S1"], "S1"),
        ("1", ["1", "S1"], "1"),
        ("1", ["S1", "S2"], "S1"),
        ("1", ["S0", "S1"], "S0"),
        ("2", ["S0", "S1"], "S1"),
        ("3", ["S0", "S1"], "3"),
        ("0", ["S0", "S1"], "0"),
        ("S2", ["1", "2"], "2"),
        ("^1", ["S1"], "S1"),
        ("7", [], "7"),
    ],
)
def test_whom_a_label_names(label: str, known: list[str], expected: str) -> None:
    assert resolve(label, known) == expected


def test_an_answer_that_cites_zero_counts_from_zero() -> None:
    assert [resolve(label, ["S0", "S1"], zero_based=True) for label in ("0", "1")] == ["S0", "S1"]


def test_a_footnote_names_a_source_only_when_it_is_one() -> None:
    assert named_in("taken from S1, page 3", ["S1", "S10"]) == "S1"
    assert named_in("see [2]", ["S1", "S2"]) == "S2"
    assert named_in("S1 and S2", ["S1", "S2"]) is None
    assert named_in("a book", ["S1"]) is None


def test_files_are_cited_by_name_where_sources_have_such_names() -> None:
    text = "It is so [tower.md]. And so [tower.md, other.pdf] (tower.md)."
    assert labels(text, "S0", "tower.md") == ["tower.md", "tower.md", "other.pdf", "tower.md"]
    assert labels("Edit [other.pdf] first.", "S0") == []


def test_names_of_many_sources_are_prepared_once() -> None:
    class CountedId(str):
        folds = 0

        def casefold(self) -> str:
            CountedId.folds += 1
            return super().casefold()

    known = [CountedId(f"id{n}") for n in range(200)]
    answer = "\n\n".join(f"Station {n} opened in {1900 + n} [ID{n}]." for n in range(50))
    found = extract(answer, known_sources=known)
    assert [claim.citations for claim in found] == [(f"id{n}",) for n in range(50)]
    assert CountedId.folds <= 2 * len(known)


@pytest.mark.parametrize("label", ["settings.py", "src/app.yaml", "Smith2020", "Smith et al., 2020", "12"])
def test_a_citation_by_name_of_a_source_that_does_not_exist_is_found(label: str) -> None:
    assert labels(f"The limit is 5 MB [{label}].", "S0") == [label]


@pytest.mark.parametrize("text", ["Edit [settings.py] first.", "It is so [sic].", "Wait [until 2020]."])
def test_other_words_in_brackets_are_no_citation(text: str) -> None:
    assert labels(text, "S0") == []


@pytest.mark.parametrize(
    "text", ["It grew [May 2020].", "It grew [Q3 2023].", "It grew [FY2023].", "It grew [Summer 2020]."]
)
def test_a_month_a_season_and_a_quarter_are_no_citation(text: str) -> None:
    assert labels(text, "S0") == []


@pytest.mark.parametrize(
    ("known", "text", "expected"),
    [
        ("chunk_1", "It is so [chunk_44].", ["chunk_44"]),
        ("chunk_1", "It is so (chunk_44).", ["chunk_44"]),
        ("chunk_1", "It is so [chunk_1, chunk_9].", ["chunk_1", "chunk_9"]),
        ("kb/article-1", "It is so [kb/article-9].", ["kb/article-9"]),
        ("guide.pdf#1", "It is so [guide.pdf#7].", ["guide.pdf#7"]),
        ("S0", "It is so [COVID-19].", []),
    ],
)
def test_an_id_that_differs_from_those_of_the_sources_only_in_its_number_is_a_citation(
    known: str, text: str, expected: list[str]
) -> None:
    assert labels(text, known) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is so (Baker et al., 2020).", ["Baker et al., 2020"]),
        ("It is so [Baker et al., 2020; Moe2019].", ["Baker et al., 2020", "Moe2019"]),
        ("See [settings.py] for the default.", ["settings.py"]),
        ("See also [manual.pdf] and [Moe2011].", ["manual.pdf", "Moe2011"]),
        ("The Games came to France (Paris, 2024).", []),
    ],
)
def test_authors_and_referrals_cite_in_the_forms_that_papers_use(text: str, expected: list[str]) -> None:
    assert labels(text, "S0") == expected


def test_a_sentence_that_only_refers_to_sources_keeps_their_names() -> None:
    (found,) = extract("See also [manual.pdf] and [Moe2011].", known_sources=("S0",))
    assert found.text == "See also manual.pdf and Moe2011."


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("Staff get 25 days [wiki].", ["handbook", "faq"], "wiki"),
        ("Staff get 25 days [wiki].", ["S0"], "wiki"),
        ("According to [wiki], staff get 25 days.", ["handbook"], "wiki"),
        ("Staff get 25 days [intranet-page].", ["handbook"], "intranet-page"),
        ("Staff get 25 days (source: intranet).", ["S0"], "intranet"),
        ("Staff get 25 days [source: Travel Policy].", ["S0"], "Travel Policy"),
        ("Staff get 25 days [Staff Handbook]. It is so [Travel Policy].", ["Staff Handbook"], "Travel Policy"),
        ("Staff get 25 days [smith2020].", ["S0"], "smith2020"),
        ("Staff get 25 days [@Smith2020].", ["S0"], "Smith2020"),
        ("Staff get 25 days [12].", ["handbook", "faq"], "12"),
    ],
)
def test_a_named_citation_of_no_source_there_is_is_found(text: str, known: list[str], expected: str) -> None:
    cited = [label for claim in extract(text, known_sources=known) for label in claim.citations]
    assert cited[-1] == expected
    assert expected not in known


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("Staff get 25 days [wiki].", ["wiki", "handbook"], "wiki"),
        ("Staff get 25 days (source: Handbook).", ["handbook"], "handbook"),
        ("Staff get 25 days (Source: the staff handbook).", ["handbook", "faq"], "handbook"),
        ("Staff get 25 days [Staff Handbook].", ["staff-handbook", "faq"], "staff-handbook"),
        ("Staff get 25 days [staff handbook].", ["S0", "staff_handbook.pdf"], "staff_handbook.pdf"),
        ("Staff get 25 days [handbook, p. 3].", ["handbook"], "handbook"),
        ("Staff get 25 days [S0, section 2.1].", ["S0"], "S0"),
        ("Staff get 25 days (see the handbook).", ["handbook"], "handbook"),
        ("Staff get 25 days [Smith2020].", ["Smith2020"], "Smith2020"),
    ],
)
def test_a_source_is_cited_by_its_name_however_it_is_written(text: str, known: list[str], expected: str) -> None:
    (claim,) = extract(text, known_sources=known)
    assert claim.citations == (expected,)
    assert claim.text == "Staff get 25 days."


@pytest.mark.parametrize(
    "text",
    [
        "Staff get 25 days [citation needed].",
        "Staff get [paid] leave.",
        "Staff get 25 days (source: own calculation).",
        "Click [save].",
        "The colour is [red].",
        "Kind regards, the team at [your company].",
        "It was in spring [may2020].",
        "The flag is set [optional].",
        "The rows are alpha [alpha, beta].",
    ],
)
def test_remarks_placeholders_and_buttons_are_no_citation(text: str) -> None:
    assert labels(text, "handbook", "Staff Handbook") == []
