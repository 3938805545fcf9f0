"""How strongly something is claimed: of how many, how often, how surely, under which conditions.

Scales are tables from strong to weak, in English and Hebrew. A word that stands on no scale leaves the claim
where it is: bare assertion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SCALES: dict[str, tuple[tuple[int, str], ...]] = {
    "quantity": (
        (4, r"all|every(?:one|body|thing)?|each|100\s?%|without exception|entire(?:ly)?|"
            r"whole|complete(?:ly)?|full(?:y)?|total(?:ly)?|כל|כולם|כולן|כלל"),
        (3, r"nearly all|almost all|virtually all|most(?:ly)?|the majority of|largely|mainly|"
            r"the vast majority of|רוב|מרבית|כמעט כל"),
        (2, r"many|a lot of|lots of|numerous|much of|a number of|רבים|רבות|הרבה|לא מעט"),
        (1, r"some|several|certain|a few|part(?:ly|ially)?|partial|selected|a minority of|"
            r"חלק|חלקם|כמה|אחדים|מקצת"),
        (0, r"few|hardly any|a handful of|מעטים|מעטות|בודדים"),
    ),
    "frequency": (
        (4, r"always|every time|at all times|never|constantly|invariably|תמיד|לעולם|בכל פעם"),
        (3, r"almost always|nearly always|usually|generally|typically|normally|in most cases|as a rule|"
            r"rarely|בדרך כלל|לרוב|כמעט תמיד"),
        (2, r"often|frequently|in many cases|לעתים קרובות"),
        (1, r"sometimes|occasionally|at times|in some cases|now and then|לפעמים|לעתים|מדי פעם"),
    ),
    "certainty": (
        (5, r"guarantee[sd]?|certain(?:ly)?|definite(?:ly)?|undoubtedly|no doubt|prove[sdn]?|proven|"
            r"ensure[sd]?|must|cannot|impossible|will|shall|cures?|eliminates?|prevents?|"
            r"מבטיח(?:ה|ים|ות)?|מובטח|ודאי|בוודאות|ללא ספק|מוכיח(?:ה|ים)?|חייב(?:ת|ים)?|מונע(?:ת|ים)?"),
        (3, r"should|likely|probably|expected to|expect(?:s|ed)?|suggests?|indicates?|tends? to|plans? to|"
            r"reduces?|improves?|helps?|can|צפוי(?:ה|ים)?|כנראה|סביר|אמור(?:ה|ים)?|מפחית(?:ה|ים)?|עוזר(?:ת|ים)?"),
        (1, r"may|might|could|possibly|perhaps|maybe|potentially|aims? to|hopes? to|tries to|try to|"
            r"intended to|designed to|עשוי(?:ה|ים|ות)?|עלול(?:ה|ים)?|אולי|ייתכן|יכול(?:ה|ים)?|אפשרי"),
    ),
}  # fmt: skip
BARE = {"quantity": None, "frequency": None, "certainty": 4}
"""Where nothing is said of it: how many and how often stay open, but a plain statement is a firm one."""
_AHEAD = 40
_NAMES = {"quantity": "fewer", "frequency": "less often", "certainty": "less certain"}
_MONTH = r"(?i:may) (?:\d|of\b)|(?:in|by|on|until|since|from|of|\d) May\b"

NARROWING = re.compile(
    r"\b(?:only (?:if|when|for|in|on|with|under|after|within)|(?:but|although|though) only|"
    r"except(?:ing)?(?: for)?|unless|provided (?:that|it|they|you|he|she|the)|as long as|on condition|"
    r"in most cases|under (?:certain|some|ideal|normal|test|lab(?:oratory)?) conditions|"
    r"in (?:the lab|theory|principle|standby)|at least (?:in|for|on|when)|excluding|apart from|other than|"
    r"depending on|subject to|"
    r"for (?:eligible|selected|some|certain|enterprise|paying|premium|new|existing) \w+)\b|"
    r"(?:^|\s)(?:רק אם|רק כאשר|רק ב\S+|אלא אם|למעט|בתנאי|ובלבד|בתנאים מסוימים|חוץ מ\S*)(?=\s|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Strength:
    """The rank a text takes on each scale, None where it says nothing; `narrowed` is its condition."""

    ranks: tuple[tuple[str, int | None], ...]
    narrowed: str = ""


def _scale(rows: Sequence[tuple[int, str]]) -> list[tuple[int, re.Pattern[str]]]:
    return [
        (rank, re.compile(rf"(?<![\w-])[והבלמשכ]?(?:{words})(?![\w-])", re.IGNORECASE))
        for rank, words in rows
    ]


_PATTERNS = {name: _scale(rows) for name, rows in SCALES.items()}
_NO_MODAL = re.compile(_MONTH)


def strength(text: str, rest: str = "") -> Strength:
    """How strong a clause is; `rest` is what follows it in its sentence and may narrow it.

    >>> dict(strength("Most users may get it only if they pay.").ranks)
    {'quantity': 3, 'frequency': None, 'certainty': 1}
    """
    narrowed = NARROWING.search(text + rest[:_AHEAD])
    plain = _NO_MODAL.sub(" ", text)
    return Strength(
        tuple((name, _rank(name, plain)) for name in SCALES), narrowed[0].strip() if narrowed else ""
    )


def _rank(scale: str, text: str) -> int | None:
    """The weakest word decides ("may always", "nearly all"): a claim is no stronger than that."""
    found, left = [], text
    for rank, pattern in sorted(_PATTERNS[scale], key=lambda row: row[0] != 3):  # "nearly all" before "all"
        if pattern.search(left):
            found.append(rank)
            left = pattern.sub(" ", left)
    return min(found, default=BARE[scale])


def weakened(before: Strength, now: Strength) -> str:
    """In which way the second is weaker than the first; "" where it is not."""
    for (scale, was), (_, became) in zip(before.ranks, now.ranks, strict=True):
        if (
            was is not None
            and became is not None
            and became < was
            and not (was - became < 2 and scale == "certainty")
        ):
            return _NAMES[scale]
    return "narrowed" if now.narrowed and not before.narrowed else ""


def without_scales(text: str) -> str:
    """The text with every word of strength taken out: what it is about, however surely."""
    for rows in _PATTERNS.values():
        for _, pattern in rows:
            text = pattern.sub(" ", text)
    return text
