"""Word lists shared by all packages: stop words, irregular forms, negation, opposites, speech verbs."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def forms(table: str) -> dict[str, str]:
    """Parse a table `base: form form; base: form …` into a mapping from form to base."""
    rows = (row.partition(":") for row in table.split(";"))
    return {form: base.strip() for base, _, inflected in rows for form in inflected.split()}


STOP_EN = word_set(
    """
    a about above after again against all also although am among an and any are around as at be
    because been before being below between both but by can cannot could did do does doing done down
    during each either else etc even ever every few for from further get gets got had has have
    having he her here hers herself him himself his how however i if in indeed instead into is it
    its itself just let like likely may maybe me might mine more most much must my myself neither
    nor not now of off often on once one only onto or other others ought our ours ourselves out over
    own per perhaps quite rather really s same shall she should since so some such t than that the
    their theirs them themselves then there therefore these they this those though through thus to
    too toward towards under unless until up upon us very via was we well were what when where
    whether which while who whom whose why will with within without would yet you your yours
    yourself yourselves additionally moreover furthermore overall meanwhile d ll m o re ve isn aren
    wasn weren don doesn didn won't wouldn hasn haven hadn mustn needn shouldn couldn
    """
)

STOP_HE = word_set(
    """
    אבל או אולי אותה אותו אותם אותן אז אחר אחרי אחרים אחרת אי איזה איך אין איתו איתה אך אל אלא אלה
    אלו אליו אליה אם אנו אנחנו אני אף אפילו אצל אשר את אתה אתם ב בגלל בה בהם בו בין בכל בלבד בלי
    בעוד בעל בעלת בעת בפני בתוך גם ד דרך ה הוא היא היה היו היתה הייתה הינו הינה הם הן הנה הרי הזה
    הזאת האלה ו ולא ואף וכן ז זאת זה זו זולת חוץ י יהיה יהיו יותר יש כ כאשר כבר כדי כולל כזה כי כך
    כל כלומר כמה כמו כן כפי כש כשה ל לא לאחר לגבי לה להיות להם לו לי לידי לכן לכל למה למרות לנו לפי
    לפני לקראת לשם לתוך מ מאוד מאז מאחר מאשר מדי מה מהם מי מן מעל מפני מצד מתוך מתי מול נגד נו ניתן
    עד עוד על עליה עליו עליהם עם עצמו עצמה פה פי פחות ש שאר שב שבו שבה שה שהוא שהיא שהם של שלה שלהם
    שלו שלי שלנו שם תוך תחת אודות בכך לכך מכך על-ידי עבור הייתי הינם לפיכך בנוסף
    """
)

STOP = STOP_EN | STOP_HE

FOREIGN_FUNCTION_WORDS = word_set(
    """
    le la les des du une est dans pour avec sur qui que pas sont der die das und ist nicht ein eine
    mit von auf für dem den el los las una es en por para con del su como pero il lo gli di che non
    è sono per della delle um uma os não com mais het een van niet voor zijn och att är som inte på
    og ikke af til w na się nie jest
    """
)

IRREGULAR: dict[str, str] = forms(
    """
    be: am is are was were been being; have: has had having; do: does did done doing; go: goes went
    gone going; win: won winning; rise: rose risen rising; fall: fell fallen falling; lose: lost
    losing loss losses; grow: grew grown growth; buy: bought; sell: sold; build: built; find:
    finding findings; found: founded founding founder founders; write: wrote written writing; lead:
    led leading; leave: left leaving; make: made making; take: took taken taking; give: gave given
    giving; get: got gotten getting; come: came coming; become: became becoming; begin: began begun
    beginning; know: knew known; say: said says saying; tell: told; think: thought; see: saw seen
    seeing; run: ran running; hold: held; keep: kept; meet: met meeting; pay: paid; send: sent;
    spend: spent; speak: spoke spoken; teach: taught; catch: caught; bring: brought; break: broke
    broken; choose: chose chosen choice; drive: drove driven; eat: ate eaten eating; fly: flew flown
    flight; forget: forgot forgotten; hide: hid hidden; show: shown showed showing; shoot: shot
    shooting; sing: sang sung; sit: sat sitting; sleep: slept; stand: stood; steal: stole stolen;
    swim: swam swum swimming; throw: threw thrown; wear: wore worn; draw: drew drawn; die: died
    dying dies death deaths dead; bear: born bore birth; child: children; man: men; woman: women;
    person: people persons; foot: feet; mouse: mice; tooth: teeth; life: lives; wife: wives; half:
    halves; good: better best; bad: worse worst; feel: felt; hear: heard; shrink: shrank shrunk;
    sink: sank sunk; lend: lent; lie: lay lain lying; marry: married marries marriage; use: used
    uses using; analysis: analyses; crisis: crises; hire: hired hires hiring; acquire: acquired
    acquires acquiring acquisition; wake: woke woken; seek: sought; fight: fought; feed: fed;
    strike: struck; bind: bound; hang: hung; understand: understood; offer: offered offers offering;
    decide: decision decided decisions decides; open: opened opens opening; locate: located location
    locations; include: includes included including; compensate: compensation compensated; increase:
    increased increases increasing
    """
)

NEGATIONS = word_set(
    """
    not no never none neither nor nobody nothing nowhere cannot n't isn't aren't wasn't
    weren't don't doesn't didn't won't wouldn't hasn't haven't hadn't can't couldn't shouldn't
    mustn't ain't fail fails failed lack lacks lacked refuse refuses refused deny denies denied
    unable incapable false לא אין אינו אינה אינם אינן איננו איננה אל מעולם אף טרם
    נכשל סירב סירבה סירבו הכחיש הכחישה שקר لا لم لن ليس ليست لیس غير
    """
)
"""Words that negate a statement, or verbs that imply its negation, in English, Hebrew and Arabic."""

NEGATING_ADVERBS = word_set("not never n't neither nor hardly barely")
"""The words that negate an English verb."""

SPEECH_VERBS = word_set(
    """
    said says say claims claimed claim believes believe believed thinks think thought argues argued
    suggests suggested hopes hoped wishes doubts doubted denied denies alleges alleged
    """
)
"""Verbs after which a clause is reported, not asserted."""

# One pair of opposites per row. Only pairs without a middle ground or mixture.
_CATEGORIES = """
alive living / dead deceased extinct
open / closed shut
even / odd
married / single unmarried divorced bachelor
true correct accurate / false incorrect untrue
on online running active / off offline inactive stopped
enabled / disabled
present / absent
full / empty
legal lawful / illegal unlawful
mandatory compulsory obligatory required / optional voluntary
vacant unoccupied / occupied
guilty / innocent
pregnant / unpregnant
finite / infinite
reversible / irreversible
visible / invisible
possible / impossible
safe / unsafe
locked / unlocked
edible / inedible
identical / different
public / private
permanent / temporary
solid / liquid / gaseous
male / female
vegetarian vegan / carnivorous
refundable / nonrefundable non-refundable
waterproof / permeable
prime / composite
available / unavailable sold-out
"""


def _opposites(table: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for axis, row in enumerate(table.strip().splitlines()):
        for side, adjectives in enumerate(row.split("/")):
            found |= dict.fromkeys(adjectives.split(), (axis, side))
    return found


CATEGORIES = _opposites(_CATEGORIES)
"""Adjectives with an opposite: word → (pair, side)."""

OPPOSED_VERBS: dict[str, tuple[str, ...]] = {
    "passed": ("failed",), "failed": ("passed", "succeeded"), "succeeded": ("failed",), "survived": ("died",),
    "died": ("survived", "lived"), "attended": ("missed",), "won": ("lost",), "lost": ("won",),
    "accepted": ("rejected",), "approved": ("rejected",), "arrived": ("missing",),
    "agreed": ("disagreed", "refused"), "stayed": ("left",), "voted": ("abstained",), "opened": ("closed",),
    "worked": ("failed",),
}  # fmt: skip
"""Verbs that exclude each other for the same subject."""
