from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.rag.ingest import PassageSize, digest, split_passages
from groundwire.text.tokens import words
from groundwire.types import Source

LINES = st.lists(
    st.sampled_from([
        "# A heading", "## Fees and dues", "The fee is 50 shekels. It is due in May!", "", "- a point",
        "City | People", "Lyon | 522,000", "key: value", "other: 3.5", '{"WiFi": "free"}',
        "השמאי קבע פיצוי. הדיון התקיים בחיפה.", "東京タワーの高さは333メートルです。", "word " * 70, "e.g. Dr. Smith came.",
    ]),
    max_size=25,
)  # fmt: skip


@settings(max_examples=80)
@given(LINES, st.integers(20, 60), st.integers(0, 100))
def test_passages_are_ordered_and_bounded(lines: list[str], size: int, overlap: int) -> None:
    text = "\n".join(lines)
    found = split_passages("d", "D", [Source("S0", text)], PassageSize(size, overlap))
    assert [passage.number for passage in found] == list(range(len(found)))
    for passage in found:
        assert 0 <= passage.start < passage.end <= len(text)
        assert passage.text.strip()
    starts = [passage.start for passage in found]
    assert starts == sorted(starts)
    assert len(starts) == len(set(starts))


@settings(max_examples=80)
@given(LINES, st.integers(20, 60))
def test_every_sentence_is_in_some_passage(lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    found = split_passages("d", "D", [Source("S0", text)], PassageSize(size, 10))
    held = " ".join(f"{passage.heading} {passage.text}" for passage in found)
    kept = {word.norm for word in words(held)}
    if any(line and not line.startswith("#") for line in lines):
        assert {word.norm for word in words(text.replace("# A heading", "").replace("## Fees and dues", ""))} <= kept


def test_passages_overlap_by_whole_sentences() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(12))
    first, second, *_ = split_passages("d", "D", [Source("S0", text)], PassageSize(20, 6))
    assert first.text.endswith("Sentence number 3 is here.")
    assert second.text.startswith("Sentence number 3 is here. Sentence number 4")


def test_rows_keep_their_column_names() -> None:
    rows = "\n".join(f"Lyon {n} | {n},000" for n in range(40))
    found = split_passages("d", "D", [Source("S0", f"City | People\n---|---\n{rows}")], PassageSize(40, 0))
    assert len(found) > 3
    assert all("City: Lyon" in passage.text and "People: " in passage.text for passage in found)


def test_passages_do_not_span_texts() -> None:
    parts = [Source("a", "The fee is 50."), Source("b", "We open at nine.")]
    assert [(p.part, p.text) for p in split_passages("d", "D", parts, PassageSize())] == [
        ("a", "The fee is 50."),
        ("b", "We open at nine."),
    ]


def test_digest_depends_on_content_size_and_embedder() -> None:
    usual = digest(b"text", PassageSize(180, 30), "e1")
    others = {
        digest(b"text!", PassageSize(180, 30), "e1"),
        digest(b"text", PassageSize(100, 30), "e1"),
        digest(b"text", PassageSize(180, 20), "e1"),
        digest(b"text", PassageSize(180, 30), ""),
    }
    assert usual == digest(b"text", PassageSize(180, 30), "e1")
    assert len(others | {usual}) == 5
