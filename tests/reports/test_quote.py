"""The one piece of evidence that is shown."""

from __future__ import annotations

from dataclasses import replace

from groundwire import verify_claim
from groundwire.reports.plaintext import nearest_evidence

SOURCES = {
    "S0": "Entry is free for children. The café closes at five.",
    "S1": "The tower is 330 metres tall and stands in Paris.",
}


def test_the_piece_that_speaks_of_the_claim_is_shown() -> None:
    for claim in ("The tower is 330 metres tall.", "The tower is 450 metres tall."):
        shown = nearest_evidence(verify_claim(claim, SOURCES))
        assert shown is not None
        assert (shown.source, "330" in shown.text) == ("S1", True)


def test_without_evidence_there_is_nothing_to_show() -> None:
    assert nearest_evidence(replace(verify_claim("The tower is tall.", SOURCES), evidence=())) is None
