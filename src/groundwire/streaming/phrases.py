"""What the protocol says, in English and Hebrew: marks, openings of doubted sentences, statements of limits.

Statements of limits are worded as refusals, which assert nothing: checked again, they raise no new flag.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType as Table

from groundwire.text.tokens import language_hint
from groundwire.types.realtime import Alternative


@dataclass(frozen=True, slots=True)
class Phrases:
    """One language. `openings` go before a sentence, `marks` behind it; {…} are filled in."""

    marks: Table[str, str]
    openings: Table[str, str]
    leads: str
    stop: str
    sources_say: str
    no_more: str
    limits: str
    missing: str
    nothing: str
    against: str
    instead: Table[Alternative, str]


ENGLISH = Phrases(
    marks=Table(
        {
            "unsupported": "(unverified)",
            "unchecked": "(not checked)",
            "contradicted": "(the sources say otherwise)",
            "phantom_citation": "(no such source)",
            "earlier": "(this differs from what was said before)",
        }
    ),
    openings=Table(
        {
            "unsupported": "I believe, but cannot confirm from the sources, that ",
            "partial_support": "I believe, though the sources bear it out only in part, that ",
            "over_extrapolation": "It may be, though the sources do not say so, that ",
            "phantom_citation": "I believe, but cannot confirm from a source that exists, that ",
            "contradicted": "I am not sure, since the sources seem to say otherwise, but I believe that ",
            "unchecked": "I could not check it, but I believe that ",
            "earlier": "This differs from what was said before (“{prior}”): ",
            "warning": "I believe, but have nothing to show for it, that ",
        }
    ),
    leads=(
        r"(?:However|Moreover|Furthermore|Additionally|In addition|Also|Therefore|Thus|So|Hence|But|And|Yet|"
        r"Finally|Overall|First|Second|Third|Next|Then|For example|For instance|In summary|In conclusion|"
        r"In short|Meanwhile|Unfortunately|Fortunately|Notably|Similarly|Likewise),\s+"
    ),
    stop="I cannot confirm from the sources what I was about to say here.",
    sources_say="The sources say: “{quote}” [{source}]",
    no_more="I cannot say more about this from the sources.",
    limits="I cannot answer this reliably from the sources I have.",
    missing="I have no source for {what}.",
    nothing="I cannot find in the sources what this needs.",
    against="I cannot stand by what I wrote: it went against the sources.",
    instead=Table(
        {
            Alternative.ASK: "Please tell me more about what you need.",
            Alternative.RETRIEVE: "Please give me a source that speaks of it.",
            Alternative.NARROW: "Please ask about a part that the sources cover.",
            Alternative.DECLINE: "Please ask somebody who knows.",
        }
    ),
)
HEBREW = Phrases(
    marks=Table(
        {
            "unsupported": "(לא אומת)",
            "unchecked": "(לא נבדק)",
            "contradicted": "(במקורות נאמר אחרת)",
            "phantom_citation": "(אין מקור כזה)",
            "earlier": "(שונה ממה שנאמר קודם)",
        }
    ),
    openings=Table(
        {
            "unsupported": "אני סבור, אך איני יכול לאשר מן המקורות, ש",
            "partial_support": "אני סבור, אף שהמקורות תומכים בכך רק בחלקו, ש",
            "over_extrapolation": "ייתכן, אף שהמקורות אינם אומרים זאת, ש",
            "phantom_citation": "אני סבור, אך איני יכול לאשר ממקור קיים, ש",
            "contradicted": "איני בטוח בכך, ונראה שבמקורות נאמר אחרת, אך אני סבור ש",
            "unchecked": "לא יכולתי לבדוק זאת, אך אני סבור ש",
            "earlier": "הדבר שונה ממה שנאמר קודם (”{prior}“): ",
            "warning": "אני סבור, אך אין לי אסמכתה לכך, ש",
        }
    ),
    leads=r"(?:אולם|עם זאת|בנוסף|לכן|אבל|כמו כן|לסיכום|לדוגמה),\s+",
    stop="איני יכול לאשר מן המקורות את מה שעמדתי לומר כאן.",
    sources_say="במקורות נאמר: ”{quote}“ [{source}]",
    no_more="איני יכול לענות על יותר מכך מן המקורות.",
    limits="איני יכול לענות על כך באופן מהימן מן המקורות שבידי.",
    missing="אין לי מקור על {what}.",
    nothing="איני יכול למצוא במקורות את מה שדרוש לכך.",
    against="איני יכול לעמוד מאחורי מה שכתבתי: הוא סתר את המקורות.",
    instead=Table(
        {
            Alternative.ASK: "אנא פרט מה דרוש לך.",
            Alternative.RETRIEVE: "אנא תן לי מקור שעוסק בכך.",
            Alternative.NARROW: "אנא שאל על חלק שהמקורות מכסים.",
            Alternative.DECLINE: "אנא פנה למי שיודע.",
        }
    ),
)
_SAME = {"doubtful": "contradicted", "established": "earlier"}


def phrases_for(text: str) -> Phrases:
    return HEBREW if language_hint(text) == "he" else ENGLISH


def mark_for(kind: str, said: Phrases) -> str:
    """What stands behind a weak claim; what says too little to be judged needs no mark."""
    return "" if kind == "vague" else said.marks.get(_SAME.get(kind, kind), said.marks["unsupported"])


def opening_for(kind: str, said: Phrases) -> str:
    return said.openings.get(_SAME.get(kind, kind), said.openings["unsupported"])
