"""The cases that must come out right on the embedded default, end to end, in English and in Hebrew."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from groundwire import Status, check
from groundwire.types import HallucinationReport


@dataclass(frozen=True)
class Expected:
    answer: str
    source: str
    status: Status | None
    flagged: bool | None


E, C, N = Status.ENTAILED, Status.CONTRADICTED, Status.NOT_IN_CONTEXT
FRANCE = "France is a country in Western Europe. The population of France is about 67 million. Its capital is Paris."
MERGER = "Acme bought Globex in March 2019 for 40 million dollars. The board did not approve the second offer."
RULING = (
    'השמאי קבע כי הפיצוי לבעלי הקרקע יעמוד על 50,000 ש"ח. ההחלטה ניתנה ביום 12 במרץ 2021. '
    "הוועדה לא אישרה את התוכנית. יוסי כהן תבע את דנה לוי."
)

ENGLISH = {
    "supported": Expected("The capital of France is Paris.", FRANCE, E, False),
    "supported, number written out": Expected("France has a population of 67,000,000.", FRANCE, E, False),
    "contradicted number": Expected("The population of France is 999 million.", FRANCE, C, True),
    "contradicted date": Expected("Acme bought Globex in June 2015.", MERGER, C, True),
    "swapped names": Expected("Globex bought Acme in March 2019.", MERGER, C, True),
    "negated verb": Expected("The board approved the second offer.", MERGER, C, True),
    "the verb as it is": Expected("The board did not approve the second offer.", MERGER, E, False),
    "uncited invention": Expected("Globex employs dolphins to guard its harbour in Lisbon.", MERGER, N, True),
    "phantom citation": Expected("The capital of France is Paris [S9].", FRANCE, N, True),
    "refusal": Expected("I cannot answer this from the given passages.", FRANCE, None, None),
    "question": Expected("Is Paris the capital of France?", FRANCE, None, None),
}
HEBREW = {
    "supported": Expected('השמאי קבע פיצוי של 50,000 ש"ח.', RULING, E, False),
    "contradicted number": Expected('השמאי קבע פיצוי של 90,000 ש"ח.', RULING, C, True),
    "contradicted date": Expected("ההחלטה ניתנה ביום 3 במאי 2017.", RULING, C, True),
    "swapped names": Expected("דנה לוי תבעה את יוסי כהן.", RULING, C, True),
    "negated verb": Expected("הוועדה אישרה את התוכנית.", RULING, C, True),
    "uncited invention": Expected("זה נפוץ במקרים דומים.", RULING, N, True),
    "phantom citation": Expected('השמאי קבע פיצוי של 50,000 ש"ח [S9].', RULING, N, True),
    "refusal": Expected("אין במסמכים שסופקו מידע על כך.", RULING, None, None),
    "question": Expected("האם השמאי קבע פיצוי?", RULING, None, None),
}
ALL = [
    pytest.param(case, id=f"{language}: {name}")
    for language, cases in (("en", ENGLISH), ("he", HEBREW))
    for name, case in cases.items()
]


@pytest.mark.spec("SPEC-08.01", "SPEC-08.05")
@pytest.mark.parametrize("case", ALL)
def test_must_come_out_right(case: Expected) -> None:
    report = check(case.answer, case.source)
    assert report.flagged is case.flagged, report.claims
    assert [claim.status for claim in report.claims] == ([case.status] if case.status else [])
    if case.status is None:
        assert len(report.skipped) == 1


def test_what_words_cannot_settle_in_another_language_is_unverifiable() -> None:
    report = check("Le directeur a refusé le contrat lundi.", "Le directeur a signé le contrat lundi.")
    (claim,) = report.claims
    assert claim.status is Status.UNVERIFIABLE
    assert "reads English only" in claim.reason
    assert not claim.is_flagged


def rag(answer: str, source: str) -> HallucinationReport:
    return check(answer, {"S0": source}, profile="rag")


@pytest.mark.parametrize(
    ("supported", "contradicts", "confabulated", "source"),
    [
        (
            "The capital of France is Paris [S0].",
            "The population of France is 999 million [S0].",
            "The mayor of Paris keeps eleven parrots [S0].",
            FRANCE,
        ),
        (
            'השמאי קבע פיצוי של 50,000 ש"ח [S0].',
            'השמאי קבע פיצוי של 90,000 ש"ח [S0].',
            "זה נפוץ במקרים דומים [S0].",
            RULING,
        ),
    ],
    ids=["en", "he"],
)
def test_the_chatbot_s_four_cases(supported: str, contradicts: str, confabulated: str, source: str) -> None:
    assert rag(supported, source).flagged is False
    assert rag(contradicts, source).flagged is True
    assert rag(confabulated, source).flagged is True
    mixed = rag(f"{supported} {contradicts} {confabulated}", source)
    assert [claim.is_flagged for claim in mixed.claims] == [False, True, True]
    assert mixed.extra["hallucination_check"]["overall_grounded"] is False
