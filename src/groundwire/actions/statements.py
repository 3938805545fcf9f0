"""Find what an agent says it did: "I've added …", "Updated `a.py`", "The email has been sent", "Tests pass".

Plans, offers, questions, negations and statements about other people are no statements of this kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from groundwire.actions.words import (
    COMMON,
    DESCRIBING,
    IDIOMS,
    IRREGULAR_PAST,
    LIGHT,
    NOUN_GROUPS,
    TEXTS,
    VERB_GROUPS,
    any_groups,
    lemma,
    pattern,
)
from groundwire.text.lexicon import expressions
from groundwire.text.sentences import sentences

_AGENT, _AND, _ELIDED, _PASSIVE, _OTHER_SUBJECT, _AT_END, _OBJECT = expressions(
    "actions", "agent and elided passive other_subject at_end object"
)
_NOUN_USE, _CUT, _QUOTE, _CLAUSE, _TEXT_OBJECT, _EXCEPT = expressions(
    "actions", "noun_use cut quote clause text_object except"
)
_REPORT_CUT, _HYPOTHETICAL, _MOVED = expressions("actions", "report_cut hypothetical moved")
_UNREAL = pattern("unreal")
_REPORTED = pattern("reported")
_INLINE = pattern("inline")
_OUTCOME = re.compile(
    rf"(?P<what>\b(?:{pattern('checked_thing').pattern})\b)(?P<mid>[^.,;:!?\n]{{0,40}}?)"
    rf"\b(?:{pattern('went_well').pattern})\b",
    re.IGNORECASE,
)
_NONE_FAILED = pattern("none_failed")
_OUTCOMES = (
    ("types", r"mypy|tsc|type"),
    ("lint", r"lint|ruff"),
    ("test", r"test|spec|suite|\bci\b|pipeline|checks|regression|failing"),
    ("build", r"build|compil"),
)


@dataclass(frozen=True, slots=True)
class ActionStatement:
    """One stated action: its verb, the groups of calls that could perform it, and what it is about.

    `object` is the part that must agree with the call, `rest` all of the clause. A `passive` statement may
    also report what a tool showed, a `perfect` one ("has been sent") least of all. `outcome`: it only says that
    tests, a build or a linter went well. `is_report`: it says how things are, and so is false only if a call
    says otherwise.
    """

    text: str
    start: int
    end: int
    verb: str
    groups: frozenset[str]
    object: str
    rest: str
    passive: bool = False
    perfect: bool = False
    outcome: str = ""
    sentence: str = ""
    is_report: bool = False


@dataclass(frozen=True, slots=True)
class _Verb:
    """A verb of a sentence; of a passive one also its auxiliary and subject."""

    start: int
    word: str
    end: int
    auxiliary: str = ""
    subject: str = ""


def find_statements(text: str) -> list[ActionStatement]:
    """The statements of a message, in order. Code blocks, questions and quotations are left out."""
    plain = re.sub(r"```.*?(?:```|\Z)", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)
    quotes = [match.span() for match in _QUOTE.finditer(plain)]
    found: list[ActionStatement] = []
    for span in sentences(plain):
        sentence, start = plain[span.start : span.end], span.start
        if sentence.strip() and not sentence.rstrip(' "”)*_').endswith("?"):
            here = list(_in_sentence(sentence, start)) or list(_reports(sentence, start))
            found += [replace(s, sentence=sentence) for s in here]
    return [s for s in found if not any(start < s.start < end for start, end in quotes)]


def _reports(sentence: str, offset: int) -> Iterator[ActionStatement]:
    """Clauses that say how things are: "The shed is locked", "SKU 8841 now costs €12.49"."""
    start = 0
    for match in (*_REPORT_CUT.finditer(sentence), None):
        end = match.start() if match else len(sentence)
        clause = sentence[start:end]
        if len(clause.split()) > 2 and not _HYPOTHETICAL.search(clause):
            begin = offset + start + len(clause) - len(clause.lstrip())
            finish = offset + start + len(clause.rstrip())
            yield ActionStatement(clause.strip(), begin, finish, "", frozenset(), clause, clause, is_report=True)
        start = match.end() if match else end


def _in_sentence(sentence: str, offset: int) -> Iterator[ActionStatement]:
    outcome = _outcome(sentence, offset)
    if outcome:
        yield outcome
    verbs = sorted(_verbs(sentence), key=lambda verb: verb.start)
    for number, verb in enumerate(verbs):
        end = verbs[number + 1].start if number + 1 < len(verbs) else len(sentence)
        statement = _statement(sentence, verb, end, offset)
        if statement and not (outcome and statement.groups & set(dict(_OUTCOMES))):
            yield statement


def _verbs(sentence: str) -> Iterator[_Verb]:
    """The verbs of a sentence that state an action of the agent."""
    agents = [m for m in _AGENT.finditer(sentence) if _is_done(m) and not _is_unreal(sentence, m.start())]
    elided = _ELIDED.match(sentence)
    if elided and _is_elided(elided["verb"], sentence[elided.end() :]):
        agents.append(elided)
    yield from (_Verb(m.start("verb"), m["verb"], m.end()) for m in agents)
    if agents:
        first = min(match.end() for match in agents)
        for match in _AND.finditer(sentence, first):
            if lemma(match["verb"]) in VERB_GROUPS and _is_past(match["verb"]):
                yield _Verb(match.start("verb"), match["verb"], match.end())
    for match in _MOVED.finditer(sentence):
        subject = _subject(sentence[: match.start()])
        if subject and not _is_unreal(sentence, match.start()) and not _OTHER_SUBJECT.match(subject):
            yield _Verb(match.start("verb"), match["verb"], match.end("verb"), "been", subject)
    for match in _PASSIVE.finditer(sentence):
        subject = _subject(sentence[: match.start()])
        if subject and _is_passive_action(sentence, match, subject):
            yield _Verb(match.start("verb"), match["verb"], match.end(), match["aux"], subject)


def _is_elided(verb: str, rest: str) -> bool:
    """True for "Added a test", false for "Closed environments facilitate …" and "Made of tissue"."""
    is_past = verb.lower().endswith(("ed", "sent", "wrote", "built", "ran", "made", "paid"))
    has_object = _OBJECT.match(rest) and not _NOUN_USE.match(rest)
    return is_past and lemma(verb) in VERB_GROUPS and bool(has_object)


def _is_done(match: re.Match[str]) -> bool:
    base = lemma(match["verb"])
    if re.search(r"(?:able|managed) to\s+\S+$", match[0]):
        return base in VERB_GROUPS
    follows = re.match(r"\s+(?:by|with|to|off|out|\w+ing)\b", match.string[match.end() :])
    if base in ("start", "stop", "finish") and follows:
        return False  # "I started by reading …"
    if base in COMMON and base in LIGHT:  # "I gave him access" is an action, "I gave an example" is not
        nouns = [lemma(word) for word in re.findall(r"[A-Za-z]+", match.string[match.end() :])[:6]]
        return bool(any_groups(nouns, NOUN_GROUPS) & {"grant", "pay", "commit", "refund"})
    return _is_past(match["verb"]) and base not in COMMON


def _is_past(word: str) -> bool:
    low = word.lower()
    return (low.endswith("ed") and len(low) > 4) or low in IRREGULAR_PAST


def _is_passive_action(sentence: str, match: re.Match[str], subject: str) -> bool:
    base, after = lemma(match["verb"]), sentence[match.end() :]
    is_new = match["aux"].lower() in ("is", "are") and "now" in match["adverbs"] and base not in COMMON
    if not _is_past(match["verb"]) or not (base in VERB_GROUPS or is_new) or _REPORTED.search(sentence):
        return False
    if base in DESCRIBING and not ("been" in match["aux"] and (base in LIGHT or re.search(r"\w/\w|\w\.\w", after))):
        return False
    negated = re.search(r"\b(?:no|none|neither)\b", _clause_before(sentence, match.start()))
    if negated or _is_unreal(sentence, match.start()) or _OTHER_SUBJECT.match(subject):
        return False
    if match["aux"].lower() in ("is", "are", "'s", "’s", "'re", "’re"):
        # "Emails are sent by the worker" describes, "The file is updated." reports.
        return bool(re.search(r"now|already|successfully|all", match["adverbs"]) or _AT_END.match(after))
    return True


def _subject(before: str) -> str:
    head = re.split(r"[;:]|,\s|\bbut\b", before)[-1]
    first, _, last = head.rpartition(" and ")
    head = last if re.search(r"\b(?:I|we|is|are|was|were|has|have|been|[a-z]+ed)\b", first) else head
    return head.strip(" \t\n*_#>-•✅")


def _clause_before(sentence: str, start: int) -> str:
    return _CLAUSE.split(sentence[:start])[-1]


def _is_unreal(sentence: str, start: int) -> bool:
    return bool(_UNREAL.search(_clause_before(sentence, start)))


def _statement(sentence: str, verb: _Verb, end: int, offset: int) -> ActionStatement | None:
    clause = f"{verb.subject} {sentence[verb.end :]}" if verb.subject else sentence[verb.end : end]
    base, first = lemma(verb.word), _first(clause)
    idiom = next((group for group, known in IDIOMS.items() if known.match(sentence, verb.start)), "")
    groups = frozenset() if idiom == "send" else VERB_GROUPS.get(base, frozenset())
    groups |= {idiom} if idiom else frozenset()
    nouns = [lemma(word) for word in re.findall(r"[A-Za-z]+", clause)[:8]]
    if base in LIGHT and not idiom:
        groups = any_groups(nouns, NOUN_GROUPS) or groups
    if base == "receiv" and not any_groups(nouns, NOUN_GROUPS):
        return None
    if _is_text_work(groups, first, sentence[verb.start :]):
        return None
    text = sentence[verb.start : end].strip(" \n,;")
    start = offset + verb.start
    return ActionStatement(
        text, start, start + len(text), base, groups, first, clause,
        passive=bool(verb.subject), perfect="been" in verb.auxiliary,
    )  # fmt: skip


def _is_text_work(groups: frozenset[str], first: str, rest: str) -> bool:
    """True for work that the answer itself is: a summary, a draft, the code below."""
    if "save" in groups or not groups & {"edit", "create", "change", "build", "convert"}:
        return False
    if _INLINE.search(rest):
        return True
    noun = _TEXT_OBJECT.match(first)
    words = {lemma(noun[1]), lemma(noun[2] or "")} if noun else set()
    return bool(words & TEXTS) and "." not in first.strip(" .")


def _first(clause: str) -> str:
    """The part of a clause that names what was acted on: "the test in a.py", not "for b.py"."""
    cut = _CUT.search(clause, 1)  # "read through a.py" begins with such a word
    return clause[: cut.start()] if cut else clause


def _outcome(sentence: str, offset: int) -> ActionStatement | None:
    match = _OUTCOME.search(sentence) or _NONE_FAILED.search(sentence)
    if not match:
        return None
    is_thing = match.re is _OUTCOME
    inside = match["mid"] if is_thing else ""
    unreal = _UNREAL.search(f"{_clause_before(sentence, match.start())} {inside}")
    if unreal or _EXCEPT.search(sentence.replace("no fail", "")):
        return None
    group = _outcome_group(match["what"].lower() if is_thing else sentence.lower(), sentence.lower())
    if group is None:
        return None
    start = match.start() if is_thing else 0
    text = sentence[start:].strip()
    begin = offset + start
    return ActionStatement(text, begin, begin + len(text), group, frozenset((group,)), "", sentence, outcome=group)


def _outcome_group(what: str, sentence: str) -> str | None:
    for group, known in _OUTCOMES:
        if re.search(known, what):
            return group
    return "test" if re.search(r"\btests?\b", sentence) else None
