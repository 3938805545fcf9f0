"""Classify sentences: assertion, question, instruction, hedge, refusal or meta.

English and Hebrew are classified by patterns for the beginning of a sentence, other languages by their
question marks. Patterns are anchored because single words decide nothing: "Will Smith was born in 1968." is
not a question and "Select statements run in 3 ms." is not an instruction. A sentence that matches no
pattern is an assertion: verifying one too many costs less than missing one.

Pattern tables have one pattern per line and match case-insensitively, with single spaces and straight
apostrophes. `<name>` inserts the part of that name; a line that begins with + continues the line before.
"""

from __future__ import annotations

import re

from groundwire.claims.confidence import is_only_confidence, stated
from groundwire.claims.decompose import has_auxiliary, has_verb
from groundwire.text.numbers import numbers
from groundwire.types import ClaimKind

_PARTS = {
    "cannot": r"(?:cannot|can't|can not|could not|couldn't|am unable to|am not able to|was unable to"
    r"|are unable to|was not able to|do not|don't|did not|didn't|have no|won't|will not"
    r"|must decline to)",
    "find": r"(?:answer|find|determine|provide|help|assist|verify|confirm|say|tell|know|have|see|give"
    r"|access|comment|respond|offer|generate|create|fulfill|comply|discuss|identify|information|idea"
    r"|knowledge|data|way)",
    "document": r"(?:passages?|documents?|contexts?|texts?|sources?|articles?|data|information|excerpts?"
    r"|snippets?|materials?|evidence|content|input|records?|json|reviews?|results?|paragraphs?"
    r"|references?)",
    "not": r"(?:do not|does not|did not|don't|doesn't|didn't|cannot|can't|never)",
    "say": r"(?:mention|specify|state|provide|contain|include|say|indicate|address|discuss|give|offer"
    r"|explain|answer|cover|describe|list|reveal|disclose|have|detail|clarify|define|identify"
    r"|elaborate|talk|refer)",
    "said": r"(?:mentioned|specified|stated|provided|given|included|discussed|addressed|described"
    r"|disclosed|available|clear|explained)",
    "info": r"(?:information|mention|details?|data|references?|answers?|indication)",
    "sure": r"(?:sure|certainly|of course|absolutely|okay|ok|great|alright|yes|no problem|definitely"
    r"|thanks|thank you|hello|hi|hey|good question|great question)",
    "summary": r"(?:summary|summaries|overview|list|answers?|responses?|breakdown|steps?|instructions?"
    r"|explanation|version|rewrite|translation|table|details|information|points|examples?|tips"
    r"|description|ways?|reasons|recap|outline|facts|measurements|key|main)",
    "closed": r"(?:about|above|across|after|against|along|among|around|as|at|before|behind|below|beneath"
    r"|beside|besides|between|beyond|by|concerning|despite|down|during|except|following|for|from"
    r"|given|in|inside|into|like|near|of|off|on|onto|out|outside|over|past|per|plus|regarding|since"
    r"|through|throughout|till|to|toward|towards|under|underneath|unlike|until|up|upon|via|with"
    r"|within|without|if|when|whenever|while|because|once|and|but|or|nor|so|yet|that|whether|than"
    r"|though|although|unless|where|wherever|whereas|all|both|half|not|only|even|just|also|then|now"
    r"|here|there|thus|hence|overall|often|today|what|which|who|whose|why|how|such|many|quite|rather"
    r"|never|ever|still|is|are|was|were|be|been|am|has|have|had|does|did|do|can|could|will|would|may"
    r"|might|must|should|shall|i|you|he|she|it|we|they|one|some|any|each|every|no|most|much|more|less"
    r"|few|fewer|several|late|early|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|amid|amidst|notwithstanding|minus|save|worth|next|first|second|third|last|later|together|maybe"
    r"|perhaps|else|otherwise|instead|indeed|thereafter|meanwhile|nonetheless|nevertheless|moreover"
    r"|however|too|always|sometimes|the|a|an|this|these|those|my|your|his|her|its|our|their|let|set"
    r"|\w+ing|\w+ed|\w+s|\w+ly)",
    "object": r"(?-i:the [a-z\\x22'(\d]|(?:a|an|your|it|them|this|these|those|any|each)\b(?! and\b))",
    "adverb": r"(?:(?:carefully|gently|gradually|slowly|simply|quickly|actively|lightly|thoroughly|firmly"
    r"|evenly|securely|finely|generously|briefly|regularly|clearly|manually|then|next|first|finally"
    r"|second|third|lastly|also|now|instead|alternatively),? )",
    "verb": r"(?:add|adjust|allow|apply|arrange|ask|attach|avoid|bake|begin|boil|bring|browse|build|buy"
    r"|call|check|choose|chop|clean|click|combine|compare|confirm|connect|consider|consult|contact"
    r"|continue|cook|copy|cover|create|cut|decide|delete|describe|determine|disconnect|download|drain"
    r"|draw|drop|eat|enable|ensure|enter|examine|explain|explore|fill|find|fold|follow|gather|get"
    r"|give|go|heat|hold|identify|imagine|include|insert|install|keep|launch|learn|leave|let|lift"
    r"|locate|look|lower|make|measure|melt|mix|move|navigate|open|order|pay|peel|pick|place|plan|plug"
    r"|pour|preheat|prepare|press|provide|pull|push|put|read|reduce|refer|remember|remove|repeat"
    r"|replace|request|rest|restart|return|review|rinse|roll|rub|run|save|scroll|season|see|select"
    r"|send|serve|set|shake|sign|simmer|slice|specify|sprinkle|start|stir|stop|store|submit|summarize"
    r"|switch|take|talk|tap|tell|test|think|tie|toss|transfer|try|turn|type|unplug|update|upload|use"
    r"|verify|visit|wait|wash|watch|whisk|wipe|write)",
    "follows": r"(?:to|on|in|into|for|with|from|up|down|out|off|over|sure|all|some|until|at|by|about|one"
    r"|two|both|if|me|us|between|through|together|aside|back|around|well|as|not|every|another|enough"
    r"|only|more|here|there|whether|what|how|which|hot|warm|cold|immediately|\d+)",
    "answer_he": r"(?:לענות|להשיב|לקבוע|לדעת|לספק|למצוא|להסיק|לאתר|לעזור|לסייע|לאשר|להתייחס)",
    "sources_he": r"(?:מסמכים|מסמך|טקסט|מקורות|מקור|הקשר|קטעים|קטע|מידע)",
}


def _table(lines: str) -> re.Pattern[str]:
    """Compile a pattern table into one pattern."""
    patterns = [line.strip() for line in re.sub(r"\n *\+", "", lines).splitlines() if line.strip()]
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(re.sub(r"(?<!\?P)<(\w+)>", lambda name: _PARTS[name[1]], joined), re.IGNORECASE)


REFUSAL = _table(r"""
    (?:i|we)(?:'m| am|'re| are)? (?:sorry|afraid)\b.{0,40}\b(?:not|\w+n't|unable|cannot|no)\b
    (?:i|we) apologi[sz]e\b
    (?:i|we) (?:also |still |simply )?<cannot> (?:\w+ly |be able to )?<find>\b
    (?:i|we)(?:'m| am|'re| are) (?:unable|not able) to\b
    (?:unable|not able|not possible|impossible) to (?:answer|determine|say|find|provide|tell|know
      +|give)\b
    it(?: is|'s| was) (?:not possible|impossible|unable|not able|difficult|hard)
      + to (?:\w+ly )?(?:answer|determine
      +|say|know|tell|provide)\b
    it(?: is|'s| was) (?:unclear|not clear|not (?:\w+ly )?<said>|unknown) (?:\w+ ){0,6}?(?:from|in|based on)
      + (?:the|these|this) (?:\w+ ){0,3}<document>
    (?:the|these|this|those|any of the|none of the|neither of the)? ?(?:\w+ ){0,3}<document>(?:
      + \d+)?(?: \w+){0,5} <not> (?:\w+ly |even |also |seem to |appear to )?<say>\b
    (?:the|these|this|those)? ?(?:\w+ ){0,3}<document>(?: \d+)?(?: <said>| above)? (?:is|are|has
      +|have|contains?|provides?|gives?|offers?) (?:no|insufficient|silent|not enough|not sufficient)\b
    there(?: is|'s| are| was| were| isn't| aren't) (?:also |currently )?(?:no|not any|not enough
      +|insufficient|any|little) (?:\w+ ){0,3}<info>\b
    there (?:is|was) no (?:\w+ )?evidence (?:\w+ ){0,4}in (?:the|these|any) (?:\w+ ){0,2}<document>
    (?:no|not enough|insufficient) (?:\w+ ){0,3}<info>\b(?:.{0,80}\b(?:provided|given|available|mentioned
      +|found|specified|stated|<document>)\b| ?[.!]?\Z)
    (?:an? |the )?(?:\w+ ){0,3}(?:answer|conclusion|recommendation) (?:can ?not|can't|could not|couldn't) be
      + (?:\w+ly )?(?:provided|given|determined|found|drawn|reached)\b
    none (?:is |are |was |were )?(?:mentioned|given|stated|specified|provided|listed)
      + (?:in|by) (?:the|these|this)
      + (?:\w+ ){0,3}<document>
    (?:as an ai|as a (?:large )?language model)\b.{0,80}\b(?:not|\w+n't|cannot|unable)\b
    (?:אני )?(?:מצטער|מצטערת)\b
    (?:לצערי,? )?(?:אני לא|אינני|איני|אנחנו לא|איננו) (?:יודע|יודעת|יודעים)\b
    (?:לצערי,? )?(?:אני לא|אינני|איני|אנחנו לא|איננו) (?:יכול|יכולה|יכולים|מסוגל|מסוגלת|מסוגלים
      +|מצליח) <answer_he>
    (?:לצערי,? )?(?:לא ניתן|אי אפשר|אין אפשרות|לא אוכל|לא נוכל) <answer_he>
    (?:לצערי,? )?(?:אין לי|אין בידי|אין לנו|אין|לא נמצאו?|לא קיים|חסר) (?:\S+ )?(?:מידע|נתונים|פרטים
      +|אזכור|תשובה)
    (?:לצערי,? )?אין ב<sources_he>
    (?:לצערי,? )?(?:\S+ )?ה?<sources_he>(?: \S+){0,2} (?:אינם|אינו|אין|לא) (?:מזכיר|מציי|כולל|מכיל|מתייחס
      +|מפרט|מספק|עונ|נותנ|דן|דני|מופיע|אומר)
    [^.;:]{1,120} לא (?:צוינ?|נאמר|מוזכר|מצוין|מופיע|הוזכר|נמסר)\S* ב<sources_he>
""")

# "Its colour is not specified in the given data": `subject` must not contain a clause.
UNSAID = _table(r"""
    (?P<subject>[^.;:]{1,160}?) (?:is|are|was|were|has|have)(?: not|n't)(?: been)?(?: \w+ly)? <said>(?:
      + \w+)? (?:in|by|from|within) (?:the |any of the |these |this |any )?(?:\w+ ){0,3}<document>\b
""")

META = _table(r"""
    (?:(?:<sure>|you're welcome|welcome|(?:that's a |what a )(?:good|great) question|got it|understood|no
      +|yep|nope|good luck|enjoy)(?: there| everyone| again| so much| for \w+ing(?: \w+){0,3}| for your
      + \w+)?[ ,!.]*){1,4}\Z
    (?:(?:שלום|תודה|בבקשה|כן|לא|בוודאי|בטח|בשמחה|היי|בהצלחה)(?: רבה| לך| לכם)?[ ,!.]*){1,4}\Z
    (?:<sure>(?: thing)?[ ,!.:-]*)?(?:here(?:'s| is| are)|below (?:is|are)|the following (?:is|are)
      +|this is) (?:a |an |the |your |my |some )?(?:[\w-]+ ){0,4}?<summary>\b
    (?:<sure>[ ,!.:-]+)?here(?:'s| is| are)(?: \w+)? how\b
    (?:בטח|בוודאי|כמובן)?[ ,!]*(?:הנה|להלן|לפניך|לפניכם) \S*(?:סיכום|תקציר|רשימ|תשוב|פירוט|הסבר|מידע
      +|נקודות|שלבים|עיקרי)
    (?:i'm |i am |we're |we are )?(?:very |so |really )?sorry(?: (?:about|for) [\w ]{2,40})?[.! ]*\Z
    (?:i|we)(?: really)? (?:hope (?:this|that|it|these|you)|wish you)\b|wishing you\b
    (?:(?:and |now )?(?:have (?:a|an) (?:very )?(?:nice|good|great|lovely|safe|wonderful|pleasant|fantastic|happy)
      + (?:\w+ )?(?:day|time|trip|weekend|week|evening|morning|night|stay|flight|journey|one|holiday|year)|have fun
      +|take care|stay (?:safe|well|tuned)|(?:happy|safe|good) (?:travels?|journey|coding|reading|cooking|baking
      +|shopping)|(?:best|kind|warm) (?:wishes|regards)|congratulations|cheers|bon (?:voyage|app[eé]tit)
      +|enjoy (?:your|the|it|this|every)(?: [^\W\d]+){0,3})[ ,!.]*){1,4}\Z
    hope (?:this|that|it) helps
    (?:please )?(?:let me know|feel free)\b
    (?:if|should) (?:you|there) (?:have|need|want|is|would like)(?: \w+){0,3} (?:questions?|help
      +|information|assistance|details|clarification|anything|concerns)\b
    (?:is there anything|happy to help)
    i(?:'d| would|'m| am|'ll| will) (?:be )?(?:happy|glad|love|pleased) to\b
    (?:<sure>[ ,!.:-]+)?i(?:'ll| will|'m going to| am going to| can) (?:now |first |also
      + )?(?:help|try|summari[sz]e|provide|explain|answer|start|break|list|show|walk|demonstrate|illustrate
      +|outline|describe|go (?:through|over)|give you)\b
    (?:let's|let me)\b
    (?:as an ai|as a (?:large )?language model)\b(?!.*\d)
    (?:sources?|references?|citations?|bibliography|works cited|footnotes?|see also|further reading
      +|מקורות|הפניות) ?:(?!(?: \S+){4})
    word count ?:? ?(?:\(?~?\d+\)?)?\Z
    (?:note|answer|output|response|summary|tl;dr|conclusion|תשובה|סיכום|הערה) ?:? ?(?:\(?~?\d+ words?\)?)?\Z
    \(? ?(?:word count ?:? ?)?~?\d+ words\.? ?\)?\Z
    [-–— ]*end of (?:summary|answer|document|response)\b
    (?:מקווה שעזרתי|אשמח|אם יש לך|אם יש לכם|אל תהסס)
""")

# Opinions of the speaker; an introduction may precede them.
OPINION = _table(r"""
    (?:well,? |so,? |but |and |honestly,? |personally,? |also,? )?(?:i|we) (?:\w+ly |also |do |would
      + |still )?(?:think|believe|feel|suspect|guess|assume|suppose|imagine|reckon|doubt|wonder|hope
      +|prefer|like|love|recommend|suggest|advise|wish|expect|presume)\b
    (?:i|we)(?:'d| would|'m| am| can only| could| might) (?:\w+ly |also )?(?:say|think|recommend|suggest
      +|guess|speculate|argue|advise|inclined|tempted|unsure|uncertain)\b
    (?:i|we)(?:'m| am|'re| are) not (?:\w+ly |quite )?(?:sure|certain)\b
    (?:in|from) (?:my|our) (?:humble |personal |honest )?(?:opinion|view|experience|judg\w+|perspective)\b
    (?:imo|imho|personally),
    it (?:seems|appears|looks) to me\b
    (?:לדעתי|לעניות דעתי|נראה לי|להערכתי|אישית|לטעמי)\b
    (?:אני|אנחנו|אנו) (?:\S+ )?(?:חושב|מאמינ?|סבור|משער|מניח|מעריכ?|מקוו?ה|ממליצ?ץ?|מציע)(?:ה|ת|ים|ות)?\b
""")

# Beliefs that can be right or wrong if they contain a figure.
BELIEF = _table(r"""
    (?:well,? |so,? |but |and |honestly,? |personally,? |also,? )?(?:i|we) (?:\w+ly |also |do |would
      + |still )?(?:think|believe|suspect|guess|assume|suppose|imagine|reckon|expect|presume)\b
    (?:אני|אנחנו|אנו) (?:\S+ )?(?:חושב|מאמינ?|סבור|משער|מניח|מעריכ?)(?:ה|ת|ים|ות)?\b
    (?:נראה לי|להערכתי)\b
""")

# Sentences that state a mere possibility.
DOUBT = _table(r"""
    (?:perhaps|maybe|possibly)\b
    it(?: is|'s| might be| may be| could be| is also) (?:\w+ly )?(?:possible|conceivable|plausible) that\b
    it (?:could|may|might)(?: well)? be that\b
    אולי\b|ייתכן (?:ש|כי)|יתכן (?:ש|כי)|אפשר ש|יכול להיות ש
""")

INSTRUCTION = _table(r"""
    (?:please|kindly)\b
    <adverb>{0,2}(?!<closed>\b)[a-z]{2,14}(?: (?:up|off|out|down|back))? <object>
    <adverb>{0,2}<verb> <follows>\b
    (?:after|before|for|to|if|when|once|while|using|in|on|with)\b[^,.;:]{1,80}, (?:\w+ly )?(?:then )?<verb>
      + (?:<object>|<follows>\b)
    (?:do not|don't|never|always) (?:\w+ly )?<verb>\b
    (?:make sure|be sure to|remember to|try to|be careful|be sure)\b
    <adverb>{0,2}(?:you (?:could|might|may want to|might want to|can) (?:also )?)?(?:consider|try) \w+ing\b
    have a (?:look|go|try)\b
    (?:ignore|disregard|forget) (?:the|all|any|previous|everything|your)\b
    (?:answer|respond|reply) (?:yes|no|only|with)\b
    (?:אנא|נא|בבקשה)\b
    (?:הזינו|הקלידו|הקישו|ודאו|וודאו|היכנסו|לחצו|בחרו|בדקו|מלאו|התקשרו|פנו|ודא|הזן|הקלד|הקש|היכנס|בדוק)
      + (?:את|ב|ל|על|אל|ש|כי|ה)
    אל ת\S+
""")

# Always imperative; others are not if a finite verb follows soon ("Season 1 was …").
ORDERS = _table(r"""
    (?:please|kindly|make sure|be sure|be careful|remember to|try to|ignore|disregard|forget|do not|don't)\b
    (?:after|before|for|to|if|when|once|while|using|in|on|with|check|ensure|verify|confirm|see)\b
    אנא|נא|בבקשה|אל
""")

# Imperatives without a determiner ("Add salt"), unless a finite verb follows ("Click rates are …").
BARE_IMPERATIVE = _table(r"""
    <adverb>{0,2}(?:add|avoid|choose|chop|click|combine|consult|create|drain|ensure|enter|follow|gather|install|mix
      +|preheat|prepare|remove|repeat|replace|rinse|serve|simmer|sprinkle|stir|submit|unplug|verify|whisk)
      + (?-i:[a-z])
""")

# "Note that …" asserts what follows.
ASSERTS_ANYWAY = _table(r"""
    let me [\w ]{2,30} that\b.*\d
    (?:please )?(?:note|be aware|keep in mind|remember|bear in mind) that\b
    (?:שים|שימו) לב (?:כי|ש)
""")

ASKS = _table(r"""
    (?:so |and |but |or |also,? )?(?:can|could|would|will|do|did|should|may|shall|are|have) (?:you|i|we)\b
    (?:what|who|whom|whose|where|when|why|how|which)(?: \w+){0,3} (?:is|are|was|were|do|does|did|can
      +|could|will|would|should|has|have)\b
    how (?:many|much|long|old|far|often)\b
    האם\b
""")


_ENDS_ASKING = re.compile(r"[?？؟⁇⁈]\s*[!?？！.…]*[\"'”’»)\]}*_」』）\s]*\Z")
_QUOTED_END = re.compile(r"[\"“«„]([^\"“”«»„]{1,200})[?？؟][\"”»]\s*[.!]?\s*\Z")
_NEGATES = re.compile(
    r"\b(?:no|not|none|unable|cannot|impossible|insufficient|unclear|unknown|silent|difficult|hard|sorry)\b|n't\b|apolog|[א-ת]",
    re.I,
)
_INTRODUCTION = re.compile(
    r"(?:[^.,;:]{1,120},|and|but|so|yet|however|therefore|thus|additionally|unfortunately) ", re.I
)
_INTRODUCES = re.compile(
    r"(?:based|according|given|from|as|if|while|although|though|since|i'?m|i am|i|unfortunately)\b", re.I
)
_HEAD = 400
# "Did you know that the tower is 330 m tall?" asserts what follows; "Did you know who built it?" asks.
_TOLD = re.compile(
    r"\W*(?:(?:and|but|so|well),? )?(?:(?:did|do|didn['’]t|don['’]t) you (?:also )?"
    r"(?:know|reali[sz]e|notice)(?: that)?"
    r"|(?:are|were|aren['’]t) you aware(?: of the fact)? that|have you (?:ever )?heard that"
    r"|who (?:knew|would have thought) that|(?:can|could) you (?:believe|imagine)(?: that)?"
    r"|(?:is|isn['’]t) it (?:not )?(?:true|interesting|amazing|a fact|great|remarkable|surprising) that"
    r"|(?:would|wouldn['’]t|don['’]t) you (?:not )?(?:say|agree|think|believe) that"
    r"|האם ידעתם? (?:ש|כי ))[,:]?\s*",
    re.I,
)
_ASKED_ABOUT = re.compile(
    r"(?:what|who|whom|whose|where|when|why|how|which|if|whether|any|anyone|of|about|a|an)\b", re.I
)
# "It is 330 m tall, isn't it?"
_TAG = re.compile(
    r"[,–—-]\s*(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|ai)(?:n['’]t)?"
    r"\s+(?:it|he|she|they|we|you|there|that|this|i|one)(?:\s+(?:not|think|agree|say))?"
    r"|right|correct|true|no|yes|ok(?:ay)?|huh|eh|am i right|isn['’]t that (?:so|right|true)|innit"
    r"|nicht wahr|oder|n['’]est-ce pas|verdad|נכון|לא)\s*(?=[?？؟])",
    re.I,
)
# A line with a final colon introduces something where it stops short of saying it, or points to what follows.
_POINTS_ON = re.compile(
    r"\b(?:following|follows?|below|here(?:'s)?|these|this|those|some|several|various|many|multiple|certain|key|main|steps?|reasons?"
    r"|ways?|points?|factors?|features?|options?|examples?|details?|information|summary|overview|list|table|breakdown)\b",
    re.I,
)
_OPEN_END = re.compile(
    r"\b(?:as|by|for|from|in|into|of|on|that|to|with|and|or|the|a|an|be|been|including|includes?|included|offers?|offered|says?|said"
    r"|states?|stated|reads?|follows|provides?|provided|contains?|features?|covers?|are|is|was|were|has|have|had)\W*\Z",
    re.I,
)
_SYNTAX = re.compile(
    r"[{}=;<>\\|@]|\w\(|\w\[|::|->|\w\.\w+\.\w|\w_\w|^\W*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|AND|OR)\b"
)
_LABELLED_VALUE = re.compile(r"(?:[:=]|\s[–—-])\s*(?:[^\W\d]+\s+){0,3}[$€£¥₪~≈±+-]?\d")


def states_value(text: str) -> bool:
    """True for a phrase that gives a figure: "Height: 330 metres", "$5 million", but not "Step 2: Payment".

    >>> [states_value(text) for text in ("Height: 330", "330 metres", "Step 2: Payment", "Top 10 hotels")]
    [True, True, False, False]
    """
    return bool(_LABELLED_VALUE.search(text)) or any(number.unit for number in numbers(text))


def reads_as_prose(text: str) -> bool:
    """True for a phrase that says something by itself, even in code or as an image's text.

    >>> [reads_as_prose(text) for text in ("The tower is red", "x = tower.height", "A photo of the tower")]
    [True, False, False]
    """
    if len(text.split()) < 3 or _SYNTAX.search(text):
        return False
    return has_verb(text) or states_value(text) or not text.isascii()


def asserted_part(text: str) -> tuple[int, int] | None:
    """The range of a question that asserts: behind "Did you know that", or before ", isn't it?".

    >>> text = "Did you know that Paris is in Italy?"
    >>> text[slice(*asserted_part(text))]
    'Paris is in Italy'
    """
    asks = _ENDS_ASKING.search(text, max(0, len(text) - 300))
    if not asks:
        return None
    told = _TOLD.match(text[:_HEAD])
    begin = told.end() if told and not _ASKED_ABOUT.match(text, told.end()) else 0
    tags = list(_TAG.finditer(text, max(begin, asks.start() - 40), asks.end()))
    end = tags[-1].start() if tags and tags[-1].end() == asks.start() else asks.start()
    if (not begin and end == asks.start()) or len(text[begin:end].split()) < 3:
        return None
    return None if ASKS.match(text[begin:end]) else (begin, end)


def classify_sentence(text: str, *, heading: bool = False) -> ClaimKind:
    """Classify a sentence; only assertions are verified. `heading` marks the text of a heading.

    >>> [classify_sentence(text).value for text in ("Will Smith was born.", "Will you come?", "Maybe it is.")]
    ['assertion', 'question', 'hedge']
    """
    if not any(map(str.isalnum, text)) or is_only_confidence(text):
        return ClaimKind.META
    head = " ".join(text[:_HEAD].replace("’", "'").split()).lstrip("\"'“‘«(-–—*#• ")
    if _is_question(text, head, heading=heading):
        return ClaimKind.QUESTION
    if heading and not (has_auxiliary(text) and len(text.split()) >= 4) and not states_value(text):
        return ClaimKind.META
    if text.rstrip("\"'”’)*_ ").endswith((":", "：")) and _introduces(text):
        return ClaimKind.META
    return _by_tables(text, head)


def _introduces(text: str) -> bool:
    """True for "The hotel offers:", but not for "The tower is 330 metres tall:"."""
    said = text.rstrip("\"'”’)*_:： ")
    if len(said.split()) < 4 or not (has_verb(said) or not said.isascii()) or _OPEN_END.search(said):
        return True
    return not any(map(str.isdigit, said)) and bool(_POINTS_ON.search(said))


def _by_tables(text: str, head: str) -> ClaimKind:
    if ASSERTS_ANYWAY.match(head):
        return ClaimKind.ASSERTION
    if _is_refusal(head):
        return ClaimKind.REFUSAL
    if META.match(head):
        return ClaimKind.META
    if stated(text) is None and _is_hedge(head):
        return ClaimKind.HEDGE
    return ClaimKind.INSTRUCTION if _is_instruction(head) else ClaimKind.ASSERTION


def _is_hedge(head: str) -> bool:
    """True for an opinion or possibility without a figure: "I think it costs 5 euros" can be wrong."""
    doubt = DOUBT.match(head)
    figure = any(map(str.isdigit, head))
    return bool(doubt or _begins(OPINION, head)) and not (figure and (doubt or _begins(BELIEF, head)))


def _is_refusal(head: str) -> bool:
    """True for "the passages do not say …" and "I cannot answer …"."""
    if not _NEGATES.search(head):
        return False
    if _begins(REFUSAL, head):
        return True
    unsaid = UNSAID.match(head)
    return unsaid is not None and not has_verb(unsaid["subject"])


def _begins(table: re.Pattern[str], head: str) -> bool:
    return bool(table.match(head) or table.match(_without_introduction(head)))


def _without_introduction(head: str) -> str:
    """Remove "Based on the passages," and "However,", but no clause that asserts something."""
    begin = 0
    for _ in range(3):
        step = _INTRODUCTION.match(head, begin)
        if not step or (has_verb(step[0]) and not _INTRODUCES.match(step[0])):
            break
        begin = step.end()
    return head[begin:]


def _is_instruction(head: str) -> bool:
    """True for an imperative, unless a statement follows its colon: "Check by phone: the number is …"."""
    told = head.partition(": ")[2]
    if len(told.split()) >= 3 and has_verb(told):
        return False
    if INSTRUCTION.match(head):
        return not has_verb(" ".join(head.split()[2:5])) or bool(ORDERS.match(head))
    return bool(BARE_IMPERATIVE.match(head)) and not has_verb(head)


def _is_question(text: str, head: str, *, heading: bool) -> bool:
    """True for a final question mark that does not just end a quoted title, or an interrogative beginning."""
    if asserted_part(text):
        return False
    tail = text[-300:]
    asks = bool(ASKS.match(head))
    if _ENDS_ASKING.search(tail):
        quoted = _QUOTED_END.search(tail)
        return asks or quoted is None or len(tail[: quoted.start()].split()) < 2
    finished = text.rstrip().endswith((".", "!", "。", ":"))
    return asks and (head.startswith("האם") or not (finished or heading))
