"""Which sentences assert something. English and Hebrew by patterns; other languages by their question marks.

A pattern is anchored where a sentence begins, because the words alone decide nothing: "Will Smith was born
in 1968." is no question and "Select statements run in 3 ms." no instruction. What no pattern knows is an
assertion: a sentence checked in vain costs less than one that slips through.
"""

from __future__ import annotations

import re

from groundwire.claims.confidence import is_only_confidence, stated
from groundwire.claims.verbs import has_auxiliary, has_verb
from groundwire.types import ClaimKind

_ENDS_ASKING = re.compile(r"[?？؟⁇⁈]\s*[!?？！.…]*[\"'”’»)\]}*_」』）\s]*\Z")
_QUOTED_END = re.compile(r"[\"“«„]([^\"“”«»„]{1,200})[?？؟][\"”»]\s*[.!]?\s*\Z")
_ASKS = re.compile(
    r"(?:so |and |but |or |also,? )?(?:(?:can|could|would|will|do|did|should|may|shall|are|have) (?:you|i|we)\b"
    r"|(?:what|who|whom|whose|where|when|why|how|which)\b.{0,60}?\b(?:is|are|was|were|do|does|did|can|could|will|would|should|has|"
    r"have|many|much|long|old|far)\b|האם\b|מדוע\b|למה\b)",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:(?:please )?(?:note|be aware|keep in mind|remember|bear in mind) that\b|(?:שים|שימו) לב (?:כי|ש))",
    re.IGNORECASE,
)

_DOCUMENT = (
    r"(?:passages?|documents?|contexts?|texts?|sources?|articles?|data|information|excerpts?|snippets?|materials?|"
    r"evidence|content|input|records?|json|reviews?|search results?|results|paragraphs?|references?|question)"
)
_LACKS = (
    r"(?:mention|specify|state|provide|contain|include|say|indicate|address|discuss|give|offer|explain|answer|cover|"
    r"describe|list|reveal|disclose|have|detail|clarify|define|identify|elaborate|talk|refer|seem to|explicitly|"
    r"directly|specifically|clearly|appear to|actually|necessarily)"
)
_LEAD = r"(?:[^.,;:]{1,90},\s*)?(?:(?:but|however|and|so|therefore|thus|unfortunately|sorry)\b,?\s*){0,3}"
_REFUSALS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LEAD}(?:i|we)(?:['’]m| am|['’]re| are)? (?:sorry|afraid)\b.{{0,40}}\b(?:not|n['’]t|unable|cannot|no)\b",
        rf"{_LEAD}(?:i|we) (?:apologi[sz]e|(?:still |also |simply )?(?:cannot|can['’]?t|can not|could not|couldn['’]t|am unable to|am not able to|"
        r"was unable to|was not able to|are unable to|do not|don['’]t|did not|didn['’]t|have no|won['’]t|must decline)\s+"
        r"(?:be able to |fully |directly |definitively |accurately |currently |actually )?(?:answer|find|determine|provide|help|assist|verify|confirm|say|tell|know|have|see|give|"
        r"access|comment|respond|offer|generate|create|fulfill|comply|discuss|identify|information|idea|knowledge|data|way))",
        rf"{_LEAD}(?:i|we)['’]m (?:unable|not able) to\b",
        r"(?:unfortunately,? )?(?:i['’]?m |i am )?(?:unable|not able|not possible|impossible) to (?:answer|determine|say|find|provide|tell|know|give)\b",
        rf"{_LEAD}(?:it is|it['’]s|it was) (?:not possible|impossible|unclear|not clear|not specified|not stated|not mentioned|"
        r"not explicitly|difficult|hard|unknown)\b.{0,60}\b(?:to (?:answer|determine|say|know|tell|provide|give)|from|in|based|what|whether|"
        r"how|who|when|where|why|which|if)\b",
        rf"{_LEAD}(?:the |these |this |those |my |any of the |neither |none of the )?(?:\w+ ){{0,3}}{_DOCUMENT}\b(?: (?:you |that |which |i )?(?:was |were |is |are )?"
        rf"(?:\w+ )?(?:provided|given|gave|shared|supplied|available|above|have|at hand))?(?: \w+){{0,4}} (?:do|does|did|doesn['’]t|don['’]t|didn['’]t|is|are|has|have|cannot|can['’]t)"
        rf"(?: not| n['’]t|)\b(?: (?:\w+ly|seem to|appear to|even|also))? ?(?:{_LACKS}|no\b|insufficient|silent|not enough|not sufficient)\b",
        rf"{_LEAD}there(?: is|['’]s| are| was| were|\s+isn['’]t|\s+aren['’]t)(?: also| currently)? (?:no|not any|not enough|insufficient|any|little) (?:\w+ ){{0,3}}"
        r"(?:information|mention|details?|data|references?|answers?|indication)\b",
        rf"{_LEAD}there (?:is|was) no (?:\w+ )?evidence (?:\w+ ){{0,3}}in (?:the|these|any) (?:\w+ ){{0,2}}{_DOCUMENT}",
        rf"{_LEAD}(?:no|not enough|insufficient) (?:\w+ ){{0,3}}(?:information|details?|data|mention|answers?|indication)\b(?:.{{0,80}}\b"
        r"(?:provided|given|available|mentioned|found|included|made|specified|stated|context|passages?|text|documents?|sources?)\b|\s*[.!]?\Z)",
        rf"[^.;:]{{1,160}}\b(?:is|are|was|were|has|have)(?: not|n['’]t)(?: been)?(?: \w+ly)? (?:mentioned|specified|stated|provided|given|"
        rf"included|discussed|addressed|described|disclosed|available|clear|explained)(?: \w+)? (?:in|by|from|within) (?:the |any of the |these |this |any )?(?:\w+ ){{0,3}}{_DOCUMENT}\b",
        r"(?:as an ai|as a (?:large )?language model)\b.{0,80}\b(?:not|n['’]t|cannot|unable)\b",
        r"(?:אני מצטער|אני מצטערת|מצטער|מצטערת|סליחה)\b",
        r"(?:לצערי,? |אך |אבל |אולם )*(?:אני לא|אינני|איני|אנחנו לא|איננו)(?: יכול(?:ה|ים|ות)?| מסוגל(?:ת|ים)?| יודע(?:ת|ים)?| מוצא(?:ת)?| בטוח)\b",
        r"(?:לצערי,? )?(?:לא ניתן|אי אפשר|אין אפשרות|לא אוכל|לא נוכל) (?:לענות|להשיב|לקבוע|לדעת|לספק|למצוא|להסיק|לאתר)",
        r"(?:לצערי,? )?(?:אין לי|אין בידי|אין לנו|אין|לא נמצא(?:ו)?|לא קיים|חסר) (?:\S+ )?(?:מספיק |די )?(?:מידע|נתונים|פרטים|אזכור|תשובה)",
        r"(?:לצערי,? )?(?:אין ב(?:מסמכים|מסמך|מקורות|הקשר|טקסט|קטעים|קטע))",
        r"(?:לצערי,? )?(?:\S+ )?(?:ה)?(?:מסמכים|מסמך|טקסט|מקורות|מקור|הקשר|קטעים|קטע|מידע)(?: \S+){0,2} (?:אינם|אינו|אין|לא) "
        r"(?:מזכיר|מציי|כולל|מכיל|מתייחס|מפרט|מספק|עונ|נותנ|נותן|דן|דני|מופיע|אומר)",
        r"[^.;:]{1,120}\bלא (?:צוין|צוינ|נאמר|מוזכר|מצוין|מופיע|הוזכר|נמסר)\S* ב(?:מסמכ|טקסט|מקור|קטע|הקשר)",
    )
)

_META = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:(?:yes|sure|certainly|of course|absolutely|okay|ok|great|alright|no problem|definitely|hello|hi|hey|thanks|thank you|you['’]re welcome|welcome|"
        r"(?:that['’]s a |what a )?(?:good|great|excellent|interesting) question|got it|understood|no|yep|nope|good luck|enjoy|bon appetit|"
        r"שלום|תודה|בבקשה|כן|לא|בוודאי|בטח|בשמחה|היי|בהצלחה)(?: there| everyone| again| so much| for \w+ing(?: \w+){0,3}| for your \w+| רבה| לך| לכם)?[\s,!.]*)+\Z",
        r"(?:(?:sure|certainly|of course|absolutely|okay|ok|great|alright|yes|thanks|hi|hello|hey|בטח|בוודאי|כמובן)\b[\s,!.:]*(?:thing)?[\s,!.]*)?"
        r"(?:(?:here(?:['’]s| is| are)|below (?:is|are)|the following (?:is|are)|this is) (?:a |an |the |your |my |some |one |is )?(?:\w+[- ]){0,4}?"
        r"(?:summary|summaries|overview|list|answers?|responses?|breakdown|steps?|instructions?|explanation|version|rewrite|translation|table|details|information|"
        r"points|examples?|tips|objective|description|key|main|ways?|reasons|recap|outline|facts)\b|הנה|להלן|לפניך|לפניכם)",
        r"(?:i (?:really )?hope (?:this|that|it|these|you)\b|hope (?:this|that|it) helps|let me know\b|please let me know|feel free\b|please feel free|(?:if|should) you (?:have|need|want)"
        r"(?: \w+){0,3} (?:questions?|help|information|assistance|details|clarification|anything)\b|if there(?:['’]s| is) anything|is there anything|happy to help|"
        r"i(?:['’]d| would|['’]m| am|['’]ll| will) (?:be )?(?:happy|glad|love|pleased) to|i(?:['’]ll| will|['’]m going to| am going to) "
        r"(?:help|do|try|summari[sz]e|provide|explain|answer|go|start|break|list|use)\b|let['’]?s |let me |מקווה שעזרתי|אשמח|אם יש לך|אם יש לכם|אל תהסס)",
        r"(?:as an ai|as a (?:large )?language model)\b",
        r"(?:sources?|references?|citations?|bibliography|works cited|footnotes?|see also|further reading|מקורות|הפניות)\s*:",
        r"(?:word count|note|answer|output|response|summary|tl;dr|conclusion|תשובה|סיכום|הערה)\s*:?\s*(?:\(?~?\d+ ?(?:words?)?\)?)?\s*\Z",
        r"\(?\s*(?:word count\s*:?\s*)?~?\d+ words\.?\s*\)?\Z",
        r"[-–—\s]*end of (?:summary|answer|document|response)\b",
    )
)  # fmt: skip

_HEDGES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:well,? |so,? |but |and |honestly,? |personally,? |also,? )?(?:i|we)(?: \w+ly| also| do| would| still)? (?:think|believe|feel|suspect|guess|assume|suppose|imagine|"
        r"reckon|doubt|wonder|hope|prefer|like|love|recommend|suggest|advise|wish|expect|presume|consider)\b",
        r"(?:i|we)(?:['’]d| would|['’]m| am| can| could| might)(?: \w+ly| also)? (?:say|think|recommend|suggest|guess|argue|advise|inclined|tempted|not (?:entirely |completely |quite )?(?:sure|certain)|unsure|"
        r"uncertain|only (?:guess|speculate))\b",
        r"(?:in|from) (?:my|our) (?:humble |personal |honest )?(?:opinion|view|experience|judg\w+|perspective)\b",
        r"(?:imo|imho|personally)\b,?",
        r"(?:perhaps|maybe|possibly)\b",
        r"it (?:is|['’]s|might be|may be|could be|seems|is also|would be) (?:\w+ly )?(?:possible|conceivable|plausible|worth noting that it is possible) (?:that\b|to me\b)",
        r"it (?:seems|appears|looks) to me\b",
        r"(?:לדעתי|לעניות דעתי|נראה לי|להערכתי|אישית|לטעמי)\b",
        r"(?:אני|אנחנו|אנו) (?:\S+ )?(?:חושב|חושבת|חושבים|מאמין|מאמינה|מאמינים|סבור|סבורה|סבורים|משער|משערת|מניח|מניחה|מעריך|מעריכה|מקווה|ממליץ|ממליצה|מציע|מציעה)\b",
        r"(?:אולי|ייתכן ש|ייתכן כי|יתכן ש|יתכן כי|אפשר ש|יכול להיות ש)",
    )
)  # fmt: skip

_VERB_ONLY = (
    r"(?:add|adjust|allow|apply|arrange|ask|attach|avoid|bake|begin|boil|bring|browse|build|buy|call|carefully|check|choose|chop|clean|click|combine|compare|confirm|connect|"
    r"consider|consult|contact|continue|cook|copy|create|cut|decide|delete|describe|determine|discuss|disconnect|double-check|download|drain|drop|eat|enable|ensure|enter|examine|explain|explore|fill|find|"
    r"fold|follow|gather|get|give|go|heat|hold|identify|imagine|include|increase|insert|install|invite|keep|launch|learn|leave|let|lift|locate|look|lower|make|measure|melt|mix|move|navigate|open|"
    r"order|pay|peel|pick|place|plan|plug|pour|preheat|prepare|press|provide|pull|purchase|push|put|read|reduce|refer|refrigerate|remember|remove|repeat|replace|request|rest|restart|return|review|rinse|"
    r"roll|rub|run|save|scroll|season|see|select|send|serve|set|shake|sign|simmer|slice|specify|sprinkle|start|stir|stop|store|submit|summarize|take|talk|tap|tell|test|think|tie|toss|transfer|try|turn|type|"
    r"unplug|update|upload|use|verify|visit|wait|wash|watch|whisk|wipe|work|write)"
)
_OBJECT = (
    r"(?:the|a|an|your|my|our|it|them|this|that|these|those|to|on|in|into|for|with|from|up|down|out|off|over|sure|all|each|any|some|until|at|by|about|one|two|both|if|me|us|"
    r"between|through|together|aside|back|around|well|as|not|every|another|enough|only|more|here|there|whether|what|how|which|and|\d+)"
)
_INSTRUCTIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:please|kindly)\b(?! note that| be aware| keep in mind| remember that)",
        rf"(?:(?:then|next|first|finally|second|third|lastly|also|now|instead|once \w+|alternatively),? )?{_VERB_ONLY} {_OBJECT}\b",
        rf"(?:do not|don['’]t|never|always) (?:\w+ly )?{_VERB_ONLY}\b",
        r"make sure\b|be sure to\b|remember to\b|try to\b|be careful\b|feel free\b|ignore (?:the|all|any|previous|everything)\b|disregard\b|answer (?:yes|no|only|with)\b|respond (?:with|only)\b",
        r"(?:אנא|נא|בבקשה)\b",
        r"(?:הזינו|הקלידו|הקישו|ודאו|וודאו|היכנסו|לחצו|בחרו|בדקו|מלאו|התקשרו|פנו|ודא|הזן|הקלד|הקש|היכנס|בחר|בדוק) (?:את|ב|ל|על|אל|ש|כי|ה)",
        r"אל ת\S+",
    )
)  # fmt: skip
_SURE_IMPERATIVE = re.compile(
    r"(?:add|avoid|choose|chop|click|combine|consult|create|drain|ensure|enter|follow|gather|install|mix|preheat|prepare|remove|repeat|replace|rinse|serve|simmer|"
    r"sprinkle|stir|submit|unplug|verify|whisk)\s+[a-z]",
    re.IGNORECASE,
)


def kind_of(text: str, *, heading: bool = False) -> ClaimKind:
    """What a sentence does: only assertions can be right or wrong.

    >>> kind_of("Will Smith was born in 1968."), kind_of("Would you like more?"), kind_of("Perhaps it rains.")
    (<ClaimKind.ASSERTION: 'assertion'>, <ClaimKind.QUESTION: 'question'>, <ClaimKind.HEDGE: 'hedge'>)
    """
    if not any(char.isalnum() for char in text) or is_only_confidence(text):
        return ClaimKind.META
    head = text[:400].lstrip("\"'“‘«(-–—*#• ")
    if _is_question(text, head, heading):
        return ClaimKind.QUESTION
    if heading and not (has_auxiliary(text) and len(text.split()) >= 4):
        return ClaimKind.META
    if text.rstrip("\"'”’)*_ ").endswith((":", "：")):
        return ClaimKind.META
    if _OPENING.match(head):
        return ClaimKind.ASSERTION
    return _by_tables(text, head)


def _by_tables(text: str, head: str) -> ClaimKind:
    if _matches(_REFUSALS, head):
        return ClaimKind.REFUSAL
    if _matches(_META, head):
        return ClaimKind.META
    if _matches(_HEDGES, head) and stated(text) is None:
        return ClaimKind.HEDGE
    if _matches(_INSTRUCTIONS, head) or (_SURE_IMPERATIVE.match(head) and not has_verb(head)):
        return ClaimKind.INSTRUCTION
    return ClaimKind.ASSERTION


def _matches(table: tuple[re.Pattern[str], ...], head: str) -> bool:
    return any(pattern.match(head) for pattern in table)


def _is_question(text: str, head: str, heading: bool) -> bool:
    tail = text[-300:]
    if _ENDS_ASKING.search(tail):
        quoted = _QUOTED_END.search(tail)
        told = bool(quoted) and len(tail[: quoted.start()].split()) >= 2 if quoted else False
        return not told or bool(_ASKS.match(head))
    unfinished = not text.rstrip().endswith((".", "!", "。", ":"))
    return bool(_ASKS.match(head)) and (unfinished and not heading or head.startswith("האם"))
