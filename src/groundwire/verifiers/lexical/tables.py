"""Word tables, English and Hebrew: opposites, quantifiers, frequent words, spelling variants."""

from __future__ import annotations

from groundwire.text.lexicon import forms, word_set
from groundwire.text.tokens import normalise

_OPPOSITES = """
increase rise grow climb gain up higher expand improve surge soar jump double raise strengthen more
  / decrease fall decline drop shrink down lower reduce worsen plunge plummet halve cut weaken less fewer
win victory beat defeated / lose defeat lost
before prior earlier / after later following
first / last
always / never
open / close shut
buy purchase acquire / sell
accept approve authorise authorize / reject deny refuse decline dismiss veto
start begin launch commence / end finish stop conclude cease
allow permit legal legalise / ban prohibit forbid illegal outlaw
true correct / false incorrect
male man men boy / female woman women girl
son / daughter
brother / sister
father / mother
husband / wife
king / queen
hot warm / cold cool
big large huge / small tiny little
north northern / south southern
east eastern / west western
maximum / minimum
best highest top / worst lowest bottom
biggest largest / smallest
longest / shortest
oldest / youngest newest
success succeed successful / failure fail unsuccessful
profit / loss
import / export
positive / negative
guilty convict / innocent acquit
include / exclude
public / private
early / late
rich wealthy / poor
strong / weak
high / low
inside indoor / outside outdoor
above / below
majority / minority
required mandatory compulsory / optional voluntary
safe / dangerous unsafe
possible / impossible
agree / disagree
support favor favour / oppose
love / hate
lend / borrow
cheap inexpensive affordable / expensive costly
fast quick / slow
easy / difficult
alive / dead die
arrive / depart leave
enter / exit
join / quit resign
hire / fire
remember / forget
internal / external
domestic / foreign
primary / secondary
major / minor
permanent / temporary
ancient / modern
wet / dry
morning / evening afternoon
summer / winter
upgrade / downgrade
add / remove
enable / disable
visible / invisible
mild / severe
benign / malignant
acute / chronic
עלה עלתה עלו עלייה גדל גדלה גדלו צמח צמחה גידול / ירד ירדה ירדו ירידה קטן קטנה קטנו פחת צניחה
הגדיל הגדילה הגדילו העלה העלתה העלו / הקטין הקטינה הקטינו הפחית הפחיתה הוריד הורידה הורידו צמצם
לפני / אחרי לאחר
ראשון ראשונה / אחרון אחרונה
תמיד / לעולם מעולם
ניצח ניצחה ניצחו זכה זכתה זכו / הפסיד הפסידה הפסידו
אישר אישרה אישרו קיבל קיבלה קיבלו התקבל התקבלה / דחה דחתה דחו נדחה נדחתה סירב
קנה קנתה קנו רכש רכשה רכשו / מכר מכרה מכרו
פתוח פתוחה פתח נפתח / סגור סגורה סגר נסגר
יותר / פחות
גבוה גבוהה גבוהים / נמוך נמוכה נמוכים
חיובי חיובית / שלילי שלילית
מותר מותרת / אסור אסורה
נכון נכונה / שגוי שגויה
התחיל התחילה החל / הסתיים הסתיימה נגמר
זכאי זכאית / חייב אשם אשמה
מעל / מתחת
חוקי חוקית / בלתי-חוקי
צפון צפונית / דרום דרומית
מזרח מזרחית / מערב מערבית
גדול גדולה גדולים / קטן קטנה קטנים
חם חמה / קר קרה
יקר יקרה / זול זולה
הצליח הצליחה / נכשל נכשלה
תמך תמכה תמכו / התנגד התנגדה התנגדו
"""


def _axes(table: str) -> dict[str, frozenset[tuple[int, int]]]:
    """Normalised word → its (axis, side) pairs. A continued line begins with two spaces."""
    found: dict[str, set[tuple[int, int]]] = {}
    rows = table.strip().replace("\n  ", " ").splitlines()
    for axis, row in enumerate(rows):
        for side, words in enumerate(row.split("/")):
            for form in (form for word in words.split() for form in _compared(word)):
                found.setdefault(normalise(form), set()).add((axis, side))
    return {norm: frozenset(sides) for norm, sides in found.items()}


def _compared(word: str) -> tuple[str, ...]:
    """A short English word and its comparative: slow, slower; large, larger."""
    return (word, word.removesuffix("e") + "er") if word.isascii() and len(word) <= 5 else (word,)


OPPOSITES = _axes(_OPPOSITES)

QUANTIFIERS: dict[str, int] = {
    word: rank
    for rank, words in enumerate(
        (
            "no none neither nobody אף שום",
            "few hardly rarely מעט מעטים",
            "some several certain sometimes כמה חלק מספר לפעמים",
            "many numerous רבים הרבה",
            "most mostly usually often majority רוב מרבית",
            "all every each always entire everyone everybody only both כל כולם תמיד רק",
        )
    )
    for word in words.split()
}

# Words that occur in any answer: their absence from the sources means little.
LIGHT = frozenset(
    normalise(word)
    for word in word_set(
        """
        offer provide feature include boast serve locate situate available open rating rate mention
        state report describe note accord take place happen occur know show say indicate suggest
        explain contain consist refer relate involve various several overall specific particular
        such example include detail information passage context source text article document given
        based make get go come become use call name total number amount
        """
    )
)
LIGHT_WEIGHT = 0.15  # relative to 1 for other words; the calibration was fitted with it

# Abbreviations and spelling variants.
SAME: dict[str, str] = {
    normalise(form): normalise(base)
    for form, base in forms(
        """
        road: rd; street: str; avenue: ave; boulevard: blvd; wifi: wi fi; california: ca; texas: tx;
        florida: fl; nevada: nv; arizona: az; pennsylvania: pa; tennessee: tn; indiana: ind;
        missouri: mo; louisiana: la; america: usa; american: us; percent: pct; organization:
        organisation; color: colour; center: centre; program: programme; labor: labour; favorite:
        favourite; theater: theatre; gray: grey; doctor: dr; children: kid kids; movie: film films;
        tv: television; photo: photograph; phone: telephone
        """
    ).items()
}

NEUTRAL_AFTER_NOT = frozenset({"only", "just", "merely", "רק"})

BE = word_set("is are was were be been being am gets got")
HELPERS = word_set(
    """
    has have had will would also later then first recently finally successfully eventually did do
    does can could may
    """
)
OBJECT_MARK = "את"
BEFORE_OBJECT = word_set("the a an his her its their to against over by than את על עם")
