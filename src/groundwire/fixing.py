"""An answer repaired: what to do about each flag, done, and whether the corrections hold."""

from __future__ import annotations

from dataclasses import replace

from groundwire import pipeline
from groundwire.config import MitigationConfig
from groundwire.court import Court
from groundwire.types import Action, ActionKind, Case, Edit, Flag, HallucinationReport, Repair
from groundwire.verdicts.merge import budget_flags
from groundwire.verdicts.mitigate import annotate, dispute, mitigate
from groundwire.verdicts.repair import apply


async def fix(
    report: HallucinationReport, case: Case, court: Court, settings: MitigationConfig, attempt: int
) -> HallucinationReport:
    """Decide, apply, check again. A correction that does not hold becomes a remark."""
    actions = mitigate(all_flags(report), report.response, settings, attempt)
    corrections = [action for action in actions if action.kind is ActionKind.CORRECT]
    if corrections:
        instead = await _broken(apply(corrections, report.response), case, court)
        actions = tuple(instead.get(action, action) for action in actions)
    return replace(report, repair=apply(actions, report.response))


def all_flags(report: HallucinationReport) -> list[Flag]:
    """The detectors' flags, and the budget's where no detector speaks of the same words."""
    own = [f for f in budget_flags(report) if not any(_overlap(f, other) for other in report.flags)]
    return [*report.flags, *own]


def _overlap(one: Flag, other: Flag) -> bool:
    return one.start < other.end and other.start < one.end


async def _broken(repair: Repair, case: Case, court: Court) -> dict[Action, Action]:
    """What to do instead of the corrections that are flagged again."""
    again = await pipeline.check(replace(case, response=repair.text), court)
    bad = [(c.start, c.end) for c in again.claims if c.is_flagged] + [(f.start, f.end) for f in again.flags]
    otherwise = [flag.fix for flag in again.flags if flag.correction and flag.fix]
    return {
        edit.action: _instead(edit.action, any(_touches(edit, *place) for place in otherwise))
        for edit in repair.edits
        if any(_touches(edit, *place) for place in bad)
    }


def _touches(edit: Edit, start: int, end: int) -> bool:
    return start < edit.new_end and edit.new_start < end


def _instead(action: Action, disputed: bool) -> Action:
    """A remark; but a person is asked where another authority would put other words in the same place."""
    assert action.flag is not None
    return dispute(action.flag) if disputed else annotate(action.flag)
