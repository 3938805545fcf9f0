"""How sure an answer says it is."""

from __future__ import annotations

import pytest

from groundwire.claims.assertiveness import confidence, content, is_only_confidence

TARGET = 0.93


@pytest.mark.spec("SPEC-08.08")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am 90 % sure that it is Paris.", 0.9),
        ("With 80% confidence, it is Paris.", 0.8),
        ("It is Paris (confidence: 0.7).", 0.7),
        ("It is Paris. My confidence is 65 percent", 0.65),
        ("Confidence: 0.0", 0.0),
        ("confidence = 1", 1.0),
        ("I'm 100% certain.", 1.0),
        ("אני בטוח ב-90% שזו פריז.", 0.9),
        ("זו פריז (רמת ביטחון: 0.8).", 0.8),
        ("It is certainly Paris.", 0.99),
        ("It is almost certainly Paris.", 0.95),
        ("It is most likely Paris.", 0.9),
        ("It is probably Paris.", 0.8),
        ("It seems to be Paris.", 0.75),
        ("It might be Paris.", 0.6),
        ("It is possibly Paris.", 0.5),
        ("It is certainly and perhaps Paris.", 0.5),
        ("כנראה מדובר בפריז.", 0.8),
    ],
)
def test_stated_and_inferred(text: str, expected: float) -> None:
    assert confidence(text, TARGET) == pytest.approx(expected)


@pytest.mark.spec("SPEC-08.08")
@pytest.mark.parametrize(
    "text",
    [
        "It is Paris.",
        "90 % of users agree.",
        "The 95% confidence interval is wide.",
        "Consumer confidence is 0.7 this month.",
        "Consumer confidence of 102 was reported.",
        "There is a 30% chance of rain.",
        "Smokers are more likely to fall ill.",
        "May 5 was the launch date.",
        "Guests may bring pets.",
        "He appears in the film.",
        "Certain people agree.",
    ],
)
def test_what_says_nothing_about_the_speaker(text: str) -> None:
    assert confidence(text, TARGET) == TARGET


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am 90 % sure that it is Paris.", "it is Paris."),
        ("With 80% confidence, it is Paris.", "it is Paris."),
        ("It is Paris (confidence: 0.7).", "It is Paris"),
        ("It is Paris [90% sure]", "It is Paris"),
        ("90 % of users agree.", "90 % of users agree."),
    ],
)
def test_the_claim_within(text: str, expected: str) -> None:
    start, end = content(text)
    assert text[start:end] == expected


def test_a_line_that_only_rates() -> None:
    assert is_only_confidence("**Confidence: 80 %**")
    assert not is_only_confidence("Confidence: 80 % of users have it.")
