"""Compare what an agent says it did with its tool calls.

Catches: no such call; another file, recipient, time, amount or number; a call that failed; tests that failed;
a result that reports no change. Misses: whether the content of an edit is what is said of it, and actions of
tools that can do anything. Costs no model call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from groundwire.actions.calls import Ledger, LedgerCall, has_path, paths
from groundwire.actions.compare import StatementComparison, related, touches
from groundwire.actions.statements import ActionStatement, find_statements
from groundwire.actions.values import read
from groundwire.actions.words import (
    GENERIC,
    NOUN_GROUPS,
    OBJECTS,
    TEXTS,
    THINGS,
    VERB_GROUPS,
    any_groups,
    content_words,
    pattern,
)
from groundwire.text.lexicon import expressions
from groundwire.types import ActionLedger, ActionStatus, ActionVerdict

_BROAD = frozenset(("read", "search", "edit", "create", "change"))
_OUTWARD = frozenset(("send", "pay", "refund", "book", "deploy", "push", "start", "play"))
_BARE_FILE = re.compile(r"\b(README|Makefile|Dockerfile|LICENSE)\b(?!\.\w)", re.IGNORECASE)  # names without a suffix
_RUN_NAMES = {"test": "tests", "build": "build", "lint": "linter", "types": "type checker"}
_RUN_OBJECTS = (
    ("test", r"\btests?\b|suite|\bspecs?\b"),
    ("types", r"type[- ]?check|mypy|pyright|tsc"),
    ("lint", r"\blint|eslint|ruff"),
    ("build", r"\bbuild\b"),
    ("migrate", r"migration"),
)
_GIVEN, _PASSED, _SAID_COUNT, _ADMITTED, _PARTIAL, _PAST_STATE, _ALL_OF, _NAMED_PROGRAM = expressions(
    "actions", "given passed said_count admitted partial past_state all_of named_program"
)
_NOTHING_DONE, _NONE_FAILED, _UNFINISHED, _UNFINISHED_SAID = map(
    pattern, ("nothing_done", "none_failed", "unfinished", "unfinished_said")
)
_PRONOUN = re.compile(r"\s*(?:it|them|him|her|you|this|that|these|those|they)\b", re.IGNORECASE)
_LONG = 40  # words: a request of this length contains what it asks about

Outcome = tuple[ActionStatus, str, str]
_OK: Outcome = (ActionStatus.PERFORMED, "", "")


def check_actions(ledger: ActionLedger) -> list[ActionVerdict]:
    """A verdict on every action that the agent's messages state, with offsets into each message."""
    found = Ledger(ledger.calls)
    return [
        verdict for message in ledger.messages for verdict in _check(message.text, found, ledger.request, message.calls)
    ]


def check_answer(answer: str, ledger: ActionLedger) -> list[ActionVerdict]:
    """The same for one answer that follows all calls of the ledger."""
    return _check(answer, Ledger(ledger.calls), ledger.request)


def _check(text: str, ledger: Ledger, request: str, count: int | None = None) -> list[ActionVerdict]:
    judge = _Judge(ledger, request, text, ledger.calls[:count])
    verdicts = [(s, ActionVerdict(s.text, s.start, s.end, *judge.verdict(s))) for s in find_statements(text)]
    return sorted((v for s, v in verdicts if v.is_flagged or not s.is_report), key=lambda verdict: verdict.start)


@dataclass(frozen=True)
class _Judge:
    """The calls before a message, the request it answers, and the message."""

    ledger: Ledger
    request: str
    answer: str
    calls: Sequence[LedgerCall]

    def verdict(self, statement: ActionStatement) -> Outcome:
        if statement.is_report:
            return self._report(statement)
        program = _NAMED_PROGRAM.search(statement.rest)
        if program and not any(program[1].lower() in call.low for call in self.calls):
            return _unperformed(f"no call runs {program[1]}")
        if statement.outcome:
            return self._run(statement)
        if statement.groups and statement.groups <= {"read", "search"}:
            return self._looked(statement)
        able = [call for call in self.calls if _could_do(statement, call)]
        return self._compared(statement, able) if able else self._absent(statement)

    def _targets(self, statement: ActionStatement, places: Iterable[int]) -> list[int]:
        """The calls that have most in common with a statement; those that change something rather than others."""
        scores = {place: related(statement.rest, self.ledger, place) for place in places}
        most = max(scores.values(), default=0.0)
        effects = {place: score for place, score in scores.items() if not self.calls[place].is_reading}
        most_effect = max(effects.values(), default=0.0)
        if most_effect and most_effect >= 0.6 * most and not _PAST_STATE.search(statement.rest):
            scores, most = effects, most_effect
        return [place for place, score in scores.items() if most and score >= 0.97 * most]

    def _compared(self, statement: ActionStatement, able: list[LedgerCall]) -> Outcome:
        """The calls that may have performed it: what they act on, their values, their results."""
        missing = self._missing_target(statement, able) or self._missing_object(statement, able)
        if missing:
            return ActionStatus.UNPERFORMED, missing, able[-1].record.name
        places = [call.place for call in _on_targets(statement, able)]
        targets = self._targets(statement, places) or places
        text = statement.rest if statement.passive else f"x {statement.rest}"
        other = StatementComparison(text, targets, self.ledger, self.request, statement.verb).difference()
        bad = self._bad_outcome(statement, targets)
        name = self.calls[targets[-1]].record.name
        if other and not (bad and bad[0] is ActionStatus.FAILED):
            return ActionStatus.CONTRADICTED, other, name
        return bad or (ActionStatus.PERFORMED, "", name)

    def _report(self, statement: ActionStatement) -> Outcome:
        """How things are said to be: the calls that the statement is about must not say otherwise."""
        targets = self._targets(statement, range(len(self.calls)))
        if not targets and read(statement.rest).stems & read(self.request).stems:
            targets = [place for place, call in enumerate(self.calls) if not call.is_reading]
        if not targets:
            return _OK
        bad = self._bad_outcome(statement, targets)
        if bad:
            return bad
        other = StatementComparison(statement.rest, targets, self.ledger, self.request, is_report=True).difference()
        return (ActionStatus.CONTRADICTED, other, self.calls[targets[-1]].record.name) if other else _OK

    # ---- whether such a call is there

    def _absent(self, statement: ActionStatement) -> Outcome:
        reported = statement.passive and self._is_reported(statement)
        written = not self.calls and self._is_text_work(statement)
        return _OK if reported or written else _unperformed("no call does this")

    def _is_reported(self, statement: ActionStatement) -> bool:
        """True if a result mentions such an action: the agent reports what it read.

        "has been sent" is more often said of the agent's own work, so the result must be about the same.
        """
        said = content_words(statement.rest) - {statement.verb}
        about = said - set(VERB_GROUPS) - set(NOUN_GROUPS)
        groups = _narrowed(statement) - _BROAD
        for call in (call for call in self.calls if call.is_reading or not statement.perfect):
            for words in map(content_words, re.split(r"[\n;}]", call.record.result)):
                named = statement.verb in words or any_groups(words & set(VERB_GROUPS), VERB_GROUPS) & groups
                if not statement.perfect and (named or len(said & words) * 2 > len(said)):
                    return True
                if named and (_PRONOUN.match(statement.rest) or about & (words | content_words(call.text))):
                    return True
        return False

    def _is_text_work(self, statement: ActionStatement) -> bool:
        """Without any call, a text can still be edited: in the answer itself."""
        words = content_words(statement.rest)
        if statement.groups & _OUTWARD or words & (THINGS | set(OBJECTS)) or paths(statement.object):
            return False
        asked = content_words(self.request)
        return bool((words | asked) & TEXTS) or (not statement.groups and not asked & THINGS)

    def _missing_target(self, statement: ActionStatement, able: Sequence[LedgerCall]) -> str:
        """A file of the statement that no such call names."""
        for path in [*paths(statement.object), *_saved_as(statement)]:
            if not any(has_path(call, path) for call in able):
                return f"no such call names {path}"
        for name in _BARE_FILE.findall(statement.object):
            if all(call.is_file_tool and name.lower() not in call.text.lower() for call in able):
                return f"no such call names {name}"
        return ""

    def _missing_object(self, statement: ActionStatement, able: Sequence[LedgerCall]) -> str:
        """Nothing of what was acted on is in such a call, nor was it asked for."""
        nouns = self._nouns(statement)
        opaque = any(call.is_shell or call.is_file_tool or "any" in call.groups for call in able)
        if opaque or not nouns or read(statement.object).values:
            return ""
        kinds = any_groups(nouns, OBJECTS)
        if any(kinds & any_groups(call.name_words, OBJECTS) for call in able):
            return ""  # an issue is a ticket
        if any(touches(self.ledger, call.place, noun) for call in able for noun in nouns):
            return ""
        return f"no such call is about {min(nouns)}"

    def _nouns(self, statement: ActionStatement) -> Set[str]:
        """The things that a statement is about; none if the request named one of them, or for "it"."""
        head = re.split(r"[:;,]|\b(?:and|which|that|so)\b", statement.object)[0]
        nouns = read(head).stems - GENERIC - set(VERB_GROUPS) - {statement.verb}
        asked = read(self.request).stems
        return frozenset() if nouns & asked or _PRONOUN.match(head) else nouns

    # ---- how the calls went

    def _bad_outcome(self, statement: ActionStatement, targets: Sequence[int]) -> Outcome | None:
        if _NONE_FAILED.search(statement.sentence):
            return self._exception([place for place, call in enumerate(self.calls) if not call.is_reading])
        if _ADMITTED.search(statement.sentence):
            return None
        exception = self._exception(targets) if _ALL_OF.search(statement.sentence) else None
        last = self.calls[targets[-1]]
        if exception or last.is_reading:
            return exception
        if last.failed:
            return ActionStatus.FAILED, last.quote(), last.record.name
        nothing = self._nothing_done(last)
        if nothing:
            return ActionStatus.CONTRADICTED, f"its result says: {last.line(nothing.start())}", last.record.name
        return None

    def _exception(self, targets: Sequence[int]) -> Outcome | None:
        """What speaks against "all": a call of the same tool that failed for good, or a result that lists failures."""
        tools = {self.calls[place].record.name for place in targets}
        last: dict[str, LedgerCall] = {}
        for call in self.calls:
            if call.record.name in tools and not call.is_shell:
                last[call.record.arguments] = call
        bad = next((call for call in last.values() if call.failed or _PARTIAL.search(call.result)), None)
        return (ActionStatus.CONTRADICTED, bad.quote(), bad.record.name) if bad else None

    def _nothing_done(self, call: LedgerCall) -> re.Match[str] | None:
        """Where the result says that nothing was done, or not yet, unless the answer or a later call says otherwise."""
        found = None if call.is_file_tool else _NOTHING_DONE.search(call.result)
        if not found or (_UNFINISHED.search(found[0]) and _UNFINISHED_SAID.search(self.answer)):
            return None
        keys = {value.key for value in call.content.values if value.kind == "id"}
        later = [one for one in self.calls[call.place + 1 :] if any(value.key in keys for value in one.given.values)]
        settled = later and not later[-1].failed and not _NOTHING_DONE.search(later[-1].result)
        return None if settled else found

    # ---- statements that no particular call performs

    def _looked(self, statement: ActionStatement) -> Outcome:
        """ "I checked …": any call will do, unless the statement names a file or a value."""
        for path in paths(statement.object):
            base = path.rsplit("/", 1)[-1]
            named = [call for call in self.calls if has_path(call, path) or base in call.record.result]
            if not named:
                return _unperformed(f"no call names {path}")
            if all(call.failed for call in named):
                return ActionStatus.FAILED, named[-1].quote(), named[-1].record.name
        if self.calls:
            return self._unseen(statement)
        in_request = _GIVEN.search(statement.object) and content_words(statement.object) & content_words(self.request)
        is_quoted = re.search(r"[:\"“]\s*\S+ \S+", self.request)
        is_given = len(self.request.split()) > _LONG or (statement.groups <= {"read"} and (in_request or is_quoted))
        return _OK if is_given else _unperformed("no call was made")

    def _unseen(self, statement: ActionStatement) -> Outcome:
        """A value that is said to have been found, and that no call shows."""
        targets = self._targets(statement, range(len(self.calls))) or list(range(len(self.calls)))
        last = self.calls[targets[-1]]
        if all(self.calls[place].failed for place in targets) and not _ADMITTED.search(statement.sentence):
            return ActionStatus.FAILED, last.quote(), last.record.name
        comparison = StatementComparison(f"x {statement.rest}", targets, self.ledger, self.request, is_report=True)
        other = comparison.difference()
        return (ActionStatus.CONTRADICTED, other, last.record.name) if other else _OK

    def _run(self, statement: ActionStatement) -> Outcome:
        """ "All tests pass": the last such run decides."""
        runs = [call for call in self.calls if statement.outcome in call.groups]
        runs = runs or [call for call in self.calls if _shows_runs(call)]
        if not runs:
            return _unperformed(f"no call runs the {_RUN_NAMES[statement.outcome]}")
        last = runs[-1]
        name = last.record.name
        if bad := last.failed_run:
            return ActionStatus.CONTRADICTED, f"its result says: {last.line(bad.start())}", name
        counts = {int(next(filter(None, one))) for one in _PASSED.findall(last.record.result) if any(one)}
        said = _SAID_COUNT.search(statement.rest)
        if said and counts and int(said[1]) not in counts:
            return ActionStatus.CONTRADICTED, f"its result counts {max(counts)}", name
        return ActionStatus.PERFORMED, "", name


def _unperformed(reason: str) -> Outcome:
    return ActionStatus.UNPERFORMED, reason, ""


def _could_do(statement: ActionStatement, call: LedgerCall) -> bool:
    """True if a call may have performed what is stated."""
    groups = _narrowed(statement)
    if call.groups & groups:
        if call.is_shell and call.is_reading and "run" in groups:
            return bool(content_words(statement.object) & content_words(call.text))  # "I ran sha256sum", not `ls`
        changes = call.is_shell or call.is_file_tool or not call.is_reading
        return changes or bool(groups & {"read", "search", "fetch", "run"})
    if "any" in call.groups or statement.verb in call.name_words:
        return "any" in call.groups or not call.is_reading or not groups
    if call.is_reading:
        return False
    if call.is_shell and statement.verb in call.command_words:
        return True
    if call.is_shell and (groups & {"commit", "push"} or statement.verb in ("reload", "restart")):
        return False
    if statement.groups and call.groups - {"run", "read"}:
        # A known tool that does something else, unless an argument does it too: `"assignee": "ola"`.
        return any(key.lower().startswith(statement.verb[:5]) and not key.endswith("id") for key in call.fields)
    return _shares_a_value(statement, call)


def _shares_a_value(statement: ActionStatement, call: LedgerCall) -> bool:
    """A name, number or file that both have, where a table does not know the verb or the tool."""
    if content_words(statement.object) & (content_words(call.text) | set(call.name_words)):
        return True
    mine = set(re.findall(r"[A-Z][a-z]{2,}|\d[\d.:-]*\d|\d|\w+\.\w+", statement.rest)) - {"I"}
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", call.text, re.IGNORECASE) for word in mine)


def _narrowed(statement: ActionStatement) -> frozenset[str]:
    """Fewer groups where the object says which: run the tests, open a door, open a pull request."""
    groups, words = statement.groups, statement.object.lower()
    if "run" in groups:
        found = next((group for group, known in _RUN_OBJECTS if re.search(known, words)), None)
        if found:
            return frozenset((found,))
    if "read" in groups and "change" in groups and any_groups(content_words(words), OBJECTS) & {"device"}:
        return groups - {"read"}  # to open a door is not to look at it
    if "pr" in groups:
        return frozenset(("pr",)) if re.search(r"\bpr\b|pull request", words) else groups - {"pr"}
    return groups


def _saved_as(statement: ActionStatement) -> list[str]:
    """The file that something is said to be saved as."""
    found = re.search(r"\b(?:as|to|into)\s+(\S+)", statement.rest) if "save" in statement.groups else None
    return paths(found[1]) if found else []


def _on_targets(statement: ActionStatement, able: list[LedgerCall]) -> list[LedgerCall]:
    """The calls that name the files of the statement, if it names any."""
    wanted = paths(statement.object)
    exact = [call for call in able if all(has_path(call, path) for path in wanted)]
    return exact or [call for call in able if any(has_path(call, path) for path in wanted)] or able


def _shows_runs(call: LedgerCall) -> bool:
    """True for a tool that shows the results of runs elsewhere."""
    return bool(re.search(r"check|\bci\b|workflow|pipeline|build|status|test", call.text.replace("_", " "), re.I))
