"""Repair a response: choose an action for each flag, and apply the actions.

The actions are: nothing, annotate, correct, remove, regenerate, or escalate to a person. The original can be restored
from the edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import combinations

from groundwire.config import MitigationConfig
from groundwire.text.dates import dates
from groundwire.text.numbers import numbers
from groundwire.text.sentences import sentences
from groundwire.types import Action, ActionKind, Edit, Flag, HallucinationType, Repair, Span

# ---- which action

_ISSUES = {
    HallucinationType.FABRICATED_FACT: "Verify the fact: '{content}'",
    HallucinationType.NONEXISTENT_ENTITY: "Check if '{content}' exists",
    HallucinationType.WRONG_ATTRIBUTE: "Verify attribute: '{content}'",
    HallucinationType.CONTRADICTS_FACT: "Correct: '{content}' - {evidence}",
    HallucinationType.CONTRADICTS_PRIOR: "Consistent with earlier: '{content}'",
}
_OTHER = "Address: '{content}'"
_ASK_AGAIN = "Please regenerate your response, addressing these issues:"
_ISSUES_NAMED = 5  # issues listed in the guidance; a longer list is followed worse
_CLAUSE = 4  # words from which a part of a sentence may be a statement of its own


def mitigate(flags: Sequence[Flag], response: str, settings: MitigationConfig, attempt: int = 0) -> tuple[Action, ...]:
    """Return one action per flag, highest confidence first; a single one if the response should be replaced.

    Args:
        flags: the findings in the response.
        settings: the thresholds and limits of `mitigation`.
        attempt: number of times the response has been regenerated.
    """
    ordered = sorted(flags, key=lambda flag: (-flag.confidence, flag.start))
    severe = [flag for flag in ordered if flag.confidence >= settings.regenerate_threshold]
    if len(severe) >= settings.severe_flags:
        return (_start_over(ordered, len(severe), settings, attempt),)
    disputed = _disputed(ordered)
    actions: list[Action] = []
    corrections = 0
    extents = sentences(response)
    for flag in ordered:
        may = corrections < settings.max_corrections
        action = dispute(flag) if flag in disputed else _action(flag, response, extents, settings, may)
        corrections += action.kind is ActionKind.CORRECT
        actions.append(action)
    return tuple(actions)


def guidance(flags: Sequence[Flag]) -> str:
    """The instruction to a model to regenerate the response, with the issues to address."""
    lines = [
        f"{number}. "
        + _ISSUES.get(flag.type, _OTHER).format(
            content=flag.content, evidence=flag.evidence or "contradicts known facts"
        )
        for number, flag in enumerate(flags[:_ISSUES_NAMED], start=1)
    ]
    return "\n".join((_ASK_AGAIN, *lines))


def _start_over(flags: Sequence[Flag], severe: int, settings: MitigationConfig, attempt: int) -> Action:
    if attempt < settings.max_regenerations:
        return Action(ActionKind.REGENERATE, guidance=guidance(flags))
    times = "1 regeneration" if attempt == 1 else f"{attempt} regenerations"
    again = f" after {times}" if attempt else ""
    return Action(ActionKind.ESCALATE, reason=f"{severe} severe flags{again}: needs review by a person")


def _action(
    flag: Flag, response: str, extents: Sequence[Span], settings: MitigationConfig, may_correct: bool
) -> Action:
    if flag.confidence < settings.flag_threshold:
        return Action(ActionKind.NONE, flag.start, flag.end, flag=flag)
    if flag.confidence < settings.auto_correct_threshold or not may_correct:
        return annotate(flag)
    if flag.correction:
        return _correct(flag, response)
    covered = [s for s in extents if s.start < flag.end and flag.start < s.end]
    if len(covered) != 1:
        return annotate(flag)  # a conflict between sentences: either may be wrong
    start, end = covered[0].start, covered[0].end
    if _says_more(response[start:end], flag.start - start, flag.end - start):
        return annotate(flag)  # the rest of the sentence may be right
    return Action(ActionKind.REMOVE, start, end, response[start:end], reason=flag.type.description, flag=flag)


def _says_more(sentence: str, start: int, end: int) -> bool:
    """Return True if the sentence has another clause: "It opened in 1990, and Mr Nobody runs it." """
    from groundwire.openie.tense import clause_around  # imported late: only repairs need the grammar

    left, right = clause_around(sentence, max(0, start), min(end, len(sentence)))
    return any(len(part.split()) >= _CLAUSE for part in (sentence[:left], sentence[right:]))


def annotate(flag: Flag) -> Action:
    """Annotate the flagged text with the description of its type."""
    return Action(ActionKind.FLAG, flag.start, flag.end, annotation=f"[{flag.type.description}.]", flag=flag)


def _correct(flag: Flag, response: str) -> Action:
    start, end = flag.fix or (flag.start, flag.end)
    return Action(
        ActionKind.CORRECT,
        start,
        end,
        original=response[start:end],
        replacement=flag.correction,
        source=flag.source or "Automated correction",
        reason=flag.type.description,
        flag=flag,
    )


def dispute(flag: Flag) -> Action:
    """Escalate to a person: two sources want different corrections."""
    reason = f"two authorities disagree about '{flag.content}': needs review by a person"
    return Action(ActionKind.ESCALATE, flag.start, flag.end, reason=reason, flag=flag)


def _disputed(flags: Sequence[Flag]) -> list[Flag]:
    """Flags whose corrections of the same text differ."""
    wrong: list[Flag] = []
    for one, other in combinations([f for f in flags if f.correction and f.fix], 2):
        assert one.fix is not None
        assert other.fix is not None
        overlap = one.fix[0] < other.fix[1] and other.fix[0] < one.fix[1]
        if overlap and one.correction.casefold() != other.correction.casefold():
            wrong += [one, other]
    return wrong


# ---- applying the actions

_WORD_START = re.compile(r"\b[Aa]n?\s+\Z")
_EMPTY_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])?[ \t]*\Z")
_NEXT = re.compile(r"[ \t]*(?:\n|\Z)|\s+[\"“(]?[A-Z]")
_MARKS = re.compile(r"[.!?]?(?:[ \t]?\[[^\[\]\n]{1,40}\])*")
_COUNT = re.compile(r"\d[\d.,]*")
_HALF = re.compile(r"\d\s?[ap]\.m\Z", re.IGNORECASE)
_TIE = re.compile(r"\b(in|on)\s+\Z", re.IGNORECASE)
_RANK = {ActionKind.REMOVE: 0, ActionKind.CORRECT: 1, ActionKind.FLAG: 2}


@dataclass(frozen=True, slots=True)
class _Change:
    start: int
    end: int
    after: str
    action: Action


def apply(actions: Sequence[Action], response: str) -> Repair:
    """Apply actions to the text. If two overlap, removal wins over correction, correction over annotation."""
    pieces: list[str] = []
    edits: list[Edit] = []
    at = length = 0
    for change in _changes(actions, response):
        unchanged = response[at : change.start]
        begin = length + len(unchanged)
        pieces += [unchanged, change.after]
        length = begin + len(change.after)
        before = response[change.start : change.end]
        edits.append(Edit(change.start, change.end, begin, length, before, change.after, change.action))
        at = change.end
    text = "".join((*pieces, response[at:]))
    return Repair(response, text, tuple(edits), tuple(actions))


def restore(text: str, edits: Sequence[Edit]) -> str:
    """Restore the original from the repaired text and its edits."""
    pieces: list[str] = []
    at = 0
    for edit in edits:
        pieces += [text[at : edit.new_start], edit.before]
        at = edit.new_end
    return "".join((*pieces, text[at:]))


def diff(repair: Repair) -> str:
    """The changes as a unified diff, one sentence per line."""
    lines = unified_diff(
        _by_sentence(repair.original), _by_sentence(repair.text), "answer", "repaired", n=0, lineterm=""
    )
    return "\n".join(lines)


def _by_sentence(text: str) -> list[str]:
    return [" ".join(text[s.start : s.end].split()) for s in sentences(text)]


def _changes(actions: Sequence[Action], response: str) -> Iterator[_Change]:
    """The changes in text order, without overlaps."""
    wanted = [_change(action, response) for action in actions if action.kind in _RANK]
    taken: list[_Change] = []
    for change in sorted(wanted, key=lambda c: (_RANK[c.action.kind], c.start)):
        if not any(_meet(change, other) for other in taken):
            taken.append(change)
    return iter(sorted(taken, key=lambda c: (c.start, c.end)))


def _meet(one: _Change, other: _Change) -> bool:
    """Return True if `one` overlaps `other`, which has precedence."""
    if one.action.kind is not ActionKind.FLAG:
        return one.start < other.end and other.start < one.end
    if other.action.kind is ActionKind.FLAG:
        return (one.start, one.after) == (other.start, other.after)
    gone = other.action.kind is ActionKind.REMOVE and one.action.start < other.end
    return (gone and one.action.end > other.start) or other.start < one.start < other.end


def _change(action: Action, response: str) -> _Change:
    if action.kind is ActionKind.FLAG:
        # Behind the sentence that the remark is about, with its full stop and its citations.
        held = [s.end for s in sentences(response) if s.start < action.end <= s.end]
        end = max(held[0] if held else action.end, action.end)
        marks = _MARKS.match(response, end)
        end = marks.end() if marks else end
        return _Change(end, end, f" {action.annotation}", action)
    if action.kind is ActionKind.CORRECT:
        return _corrected(action, response)
    return _removed(action, response)


def _corrected(action: Action, response: str) -> _Change:
    """Replace the value, and adapt the article or preposition before it."""
    end = action.end
    if _HALF.search(response, action.start, end) and response.startswith(".", end):
        end += 1  # "9 a.m" ends with another period
    bare = _uncounted(action.replacement, response[action.start : end], response[end:])
    value = _pointed(bare, response[action.start : end], response[end:])
    tie = _TIE.search(response, max(0, action.start - 4), action.start)
    found = dates(action.replacement)
    is_date = len(found) == 1 and (found[0].start, found[0].end) == (0, len(action.replacement)) and found[0].years <= 1
    if tie and is_date:
        fitting = "on" if found[0].day else "in"  # on a day, in a month or a year
        fitting = fitting.capitalize() if tie[1][0].isupper() else fitting
        return _Change(tie.start(1), end, f"{fitting} {value}", action)
    article = _WORD_START.search(response, max(0, action.start - 4), action.start)
    first = action.replacement[:1].lower()
    if not article or not first.isalpha():
        return _Change(action.start, end, value, action)
    letter = article.group()[0]
    new = f"{letter}n " if first in "aeiou" else f"{letter} "
    return _Change(article.start(), end, new + value, action)


def _uncounted(value: str, before: str, rest: str) -> str:
    """Drop the noun of "420 people" when it replaces the 600 of "600 employees"."""
    found = numbers(value)
    counts = len(found) == 1 and found[0].start == 0 and not found[0].unit and found[0].kind == "number"
    if counts and _COUNT.fullmatch(before) and re.match(r"[ -][a-z]", rest):
        return value[: found[0].end]
    return value


def _pointed(value: str, before: str, rest: str) -> str:
    """End the sentence with one period, also after an abbreviation ("2 p.m.")."""
    if rest.startswith("."):
        return value.removesuffix(".")
    closes = before.endswith(".") and not value.endswith(".") and _NEXT.match(rest)
    return f"{value}." if closes else value


def _removed(action: Action, response: str) -> _Change:
    """Remove the sentence and the space after it; a list item that becomes empty is removed with its line."""
    start, end = action.start, action.end
    line = response.rfind("\n", 0, start) + 1
    stop = response.find("\n", end)
    stop = len(response) if stop < 0 else stop
    if _EMPTY_ITEM.match(response[line:start]) and not response[end:stop].strip():
        return _Change(line, min(stop + 1, len(response)), "", action)
    if response[end:stop].strip():
        end += len(response[end:stop]) - len(response[end:stop].lstrip())
    else:
        start -= len(response[line:start]) - len(response[line:start].rstrip())
    return _Change(start, end, "", action)
