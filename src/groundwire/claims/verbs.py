"""Finite verbs one can tell by their form: enough to say whether an English clause stands on its own."""

from __future__ import annotations

import re

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|can|could|will|would|may|might|must|should|isn['’]t|aren['’]t|wasn['’]t|"
    r"weren['’]t|hasn['’]t|haven['’]t|hadn['’]t|doesn['’]t|didn['’]t|can['’]t|cannot|couldn['’]t|won['’]t|wouldn['’]t|shouldn['’]t)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:became|becomes|began|begins|belongs|built|came|comes|consists|contains|costs|covers|died|earned|ended|ends|features|"
    r"fell|found|founded|gave|gives|got|grew|grows|happened|held|holds|includes|included|increased|joined|kept|knew|led|left|"
    r"lies|lived|lives|lost|made|makes|means|met|moved|needs|occurred|offers|offered|opened|opens|owns|paid|played|plays|"
    r"produced|produces|provides|provided|ran|reached|received|receives|remained|remains|reported|requires|required|returned|"
    r"rose|runs|said|sat|says|scored|sells|sent|served|serves|showed|shows|sold|spent|stands|started|starts|stayed|stood|"
    r"stopped|takes|taught|tells|told|took|turned|used|uses|visited|wants|wanted|went|won|wins|works|worked|wrote|launched|"
    r"announced|published|signed|ranks|ranked|measures|weighs|exceeds|fell|employs|employed|created|creates)\b"
)


def has_auxiliary(text: str) -> bool:
    return bool(_AUXILIARY.search(text))


def has_verb(text: str) -> bool:
    """Whether a form that can only (or mostly) be a finite verb stands in the text."""
    return bool(_AUXILIARY.search(text) or _VERB.search(text))


def first_verb(text: str) -> int:
    """Where the first finite verb begins, or -1."""
    found = [match.start() for match in (_AUXILIARY.search(text), _VERB.search(text)) if match]
    return min(found, default=-1)
