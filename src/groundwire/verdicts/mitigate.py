"""Choose an action for each flag: nothing, annotate, correct, remove, regenerate, or escalate to a person."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from groundwire.config import MitigationConfig
from groundwire.text.sentences import sentences
from groundwire.types import Action, ActionKind, Flag, HallucinationType, Span

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
