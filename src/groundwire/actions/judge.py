"""Compare what an agent says it did with its tool calls.

Catches: no such call; another file, recipient, time, amount or number; a call that failed; tests that failed;
a result that reports no change. Misses: whether the content of an edit is what is said of it. Costs no model
call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from groundwire.actions.calls import BAD_STATE, LedgerCall, has_path, paths
from groundwire.actions.compare import StatementComparison, related, touches
from groundwire.actions.ledger import Ledger
from groundwire.actions.statements import INLINE, ActionStatement, find_statements
from groundwire.actions.values import read
from groundwire.actions.words import (
    FINE_GROUPS,
    NOUN_GROUPS,
    OBJECTS,
    TEXTS,
    THINGS,
    VERB_GROUPS,
    any_groups,
    content_words,
    lemma,
    pattern,
)
from groundwire.text.lexicon import expressions
from groundwire.types import ActionLedger, ActionStatus, ActionVerdict

_RUN_GROUPS = frozenset(("run", "test", "build", "lint", "types", "format"))  # a run that fails is still a run
_OBJECT_GROUPS = frozenset(("create", "change", "remove", "pay", "book"))
_BROAD = frozenset(("read", "search", "edit", "create", "change"))
_BY_COMMAND = frozenset(
    ("commit", "push", "merge", "test", "lint", "types", "start", "install")
)  # whose commands the tables know
_OUTWARD = frozenset(("send", "pay", "refund", "book", "deploy", "push", "start", "play"))
_MEDIA = frozenset(("email", "chat"))
_BARE_FILE = re.compile(r"\b(README|Makefile|Dockerfile|LICENSE)\b(?!\.\w)", re.IGNORECASE)  # names without a suffix
_RUN_NAMES = {"test": "tests", "build": "build", "lint": "linter", "types": "type checker"}
_RUN_OBJECTS = (
    ("test", r"\btests?\b|suite|\bspecs?\b"),
    ("types", r"type[- ]?check|mypy|pyright|tsc"),
    ("lint", r"\blint|eslint|ruff"),
    ("build", r"\bbuild\b"),
    ("migrate", r"migration"),
)
_ALL, _WEB, _BROWSER, _CODE, _GIVEN, _LOCAL_SEARCH, _PASSED, _SAID_COUNT = expressions(
    "actions", "all web browser code given local_search passed said_count"
)
_ADMITTED, _UNDO, _PARTIAL, _PAST_STATE, _ALL_OF, _NAMED_PROGRAM = expressions(
    "actions", "admitted undo partial past_state all_of named_program"
)
_NOTHING_DONE = pattern("nothing_done")
_NONE_FAILED = pattern("none_failed")
_UNFINISHED = pattern("unfinished")
_UNFINISHED_SAID = pattern("unfinished_said")
_VERIFY = frozenset(map(lemma, ["compare", "verify", "confirm", "validate", "test", "measure", "reproduce"]))
_COMMON_VERBS = frozenset(
    map(
        lemma,
        [
            "update",
            "change",
            "set",
            "make",
            "do",
            "add",
            "put",
            "create",
            "give",
            "get",
            "edit",
            "adjust",
            "modify",
            "fix",
            "handle",
            "write",
            "take",
            "bring",
            "apply",
        ],
    )
)
_PRONOUN = re.compile(r"\s*(?:it|them|him|her|you|this|that|these|those|they)\b", re.IGNORECASE)
_LONG = 40  # words: a request of this length contains what it asks about, an answer of it is an answer

_GENERIC = frozenset(
    map(
        lemma,
        [
            "change",
            "changes",
            "new",
            "old",
            "it",
            "everything",
            "result",
            "results",
            "value",
            "values",
            "thing",
            "things",
            "issue",
            "problem",
            "request",
            "way",
            "part",
            "one",
            "ones",
            "other",
            "others",
            "item",
            "items",
            "details",
            "information",
            "code",
            "work",
            "task",
            "step",
            "steps",
            "place",
            "first",
            "last",
            "whole",
            "data",
            "line",
            "case",
            "time",
            "times",
            "copy",
            "version",
            "option",
            "answer",
            "error",
            "cause",
            "reason",
            "root",
            "state",
            "page",
            "two",
            "three",
            "four",
            "five",
            "ago",
            "moment",
            "please",
            "know",
            "minute",
            "far",
            "well",
            "argument",
            "response",
        ],
    )
)
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
    found = [ActionVerdict(s.text, s.start, s.end, *judge.verdict(s)) for s in judge.statements if not s.is_report]
    reports = [ActionVerdict(s.text, s.start, s.end, *judge.report(s)) for s in judge.statements if s.is_report]
    return sorted([*found, *(one for one in reports if one.is_flagged)], key=lambda one: one.start)


@dataclass(frozen=True)
class _Judge:
    """The calls before a message, the request it answers, and the message."""

    ledger: Ledger
    request: str
    answer: str
    calls: Sequence[LedgerCall]

    @cached_property
    def statements(self) -> list[ActionStatement]:
        return find_statements(self.answer)

    def report(self, statement: ActionStatement) -> Outcome:
        """How things are said to be: the calls that the statement is about must not say otherwise."""
        targets = self._targets(statement, range(len(self.calls)))
        if not targets and read(statement.rest).stems & read(self.request).stems:
            targets = [place for place, call in enumerate(self.calls) if not call.is_reading]
        if not targets:
            return _OK
        bad = self._bad_outcome(statement, targets)
        if bad:
            return bad
        comparison = StatementComparison(statement.rest, targets, self.ledger, self.request, is_report=True)
        other = comparison.difference() or comparison.swapped() or comparison.keyed() or comparison.other_choice()
        return (ActionStatus.CONTRADICTED, other, self.calls[targets[-1]].record.name) if other else _OK

    def _targets(self, statement: ActionStatement, places: Iterable[int]) -> list[int]:
        """The calls that have most in common with a statement; those that change something rather than others."""
        scores = {place: related(statement.rest, self.ledger, place) for place in places}
        most = max(scores.values(), default=0.0)
        effects = {place: score for place, score in scores.items() if not self.calls[place].is_reading}
        most_effect = max(effects.values(), default=0.0)
        if most_effect and most_effect >= 0.6 * most and not _PAST_STATE.search(statement.rest):
            scores, most = effects, most_effect
        return [place for place, score in scores.items() if most and score >= 0.97 * most]

    def _bad_outcome(self, statement: ActionStatement, targets: Sequence[int]) -> Outcome | None:
        if _NONE_FAILED.search(statement.sentence):
            return self._exception([place for place, call in enumerate(self.calls) if not call.is_reading])
        if _ADMITTED.search(statement.sentence):
            return None
        if _ALL_OF.search(statement.sentence):
            bad = self._exception(targets)
            if bad:
                return bad
        last = self.calls[targets[-1]]
        if last.is_reading:
            return None
        if last.failed and not _is_first_part(_narrowed(statement), last):
            return ActionStatus.FAILED, last.quote(), last.record.name
        nothing = self._nothing_done(statement, last) if statement.is_report else None
        if nothing:
            return ActionStatus.CONTRADICTED, f"its result says: {last.line(nothing.start())}", last.record.name
        return self._denied(statement, last) or self._undone(statement, targets) or self._failed_later(targets[-1])

    def _exception(self, targets: Sequence[int]) -> Outcome | None:
        """What speaks against "all": a call of the same tool that failed for good, or a result that lists failures."""
        tools = {self.calls[place].record.name for place in targets}
        last: dict[str, LedgerCall] = {}
        for call in self.calls:
            if call.record.name in tools and not call.is_shell:
                last[call.record.arguments] = call
        bad = next((call for call in last.values() if call.failed or _PARTIAL.search(call.result)), None)
        return (ActionStatus.CONTRADICTED, bad.quote(), bad.record.name) if bad else None

    def _denied(self, statement: ActionStatement, call: LedgerCall) -> Outcome | None:
        said = read(statement.rest).stems | {statement.verb}
        for key, (asked, came) in call.denied.items():
            if read(asked).stems & said or any(
                not v.forms.isdisjoint(w.forms) for v in read(asked).values for w in read(statement.rest).values
            ):
                return ActionStatus.CONTRADICTED, f"its result says {key}: {came}", call.record.name
        return None

    def _failed_later(self, place: int) -> Outcome | None:
        """What was begun, and is shown to have failed by a later look at it."""
        keys = {value.key for value in self.calls[place].content.values if value.kind == "id"}
        later = [one for one in self.calls[place + 1 :] if any(value.key in keys for value in one.given.values)]
        bad = BAD_STATE.search(later[-1].result) if later else None
        return (
            (ActionStatus.FAILED, f"its result says: {later[-1].line(bad.start())}", later[-1].record.name)
            if bad
            else None
        )

    def _undone(self, statement: ActionStatement, targets: Sequence[int]) -> Outcome | None:
        """A later call that takes it back."""
        for place in targets:
            keys = {
                v.key
                for v in self.calls[place].content.values
                if v.kind in ("id", "path", "email") or (isinstance(v.key, float | int) and v.key >= 10)
            }
            for later in self.calls[place + 1 :]:
                undoes = any(_UNDO.search(word) for word in later.name_words) and not later.failed
                same = {v.key for v in later.given.values} & keys
                if (
                    undoes
                    and same
                    and not set(later.name_words)
                    & (read(statement.sentence).stems | {statement.verb}) - set(self.calls[place].name_words)
                ) and not any(_UNDO.search(word) for word in self.calls[place].name_words):
                    return ActionStatus.CONTRADICTED, "a later call takes it back", later.record.name
        return None

    def verdict(self, statement: ActionStatement) -> Outcome:
        program = _NAMED_PROGRAM.search(statement.rest)
        if program and not any(program[1].lower() in call.low for call in self.calls):
            return _unperformed(f"no call runs {program[1]}")
        if statement.outcome:
            return self._outcome(statement)
        if statement.verb == "done":
            return self._done()
        if statement.groups and statement.groups <= {"read", "search"}:
            return self._looked(statement)
        found = [call for call in self.calls if _could_do(statement, call)]
        return self._compared(statement, found) if found else self._absent(statement)

    def _absent(self, statement: ActionStatement) -> Outcome:
        if statement.passive and self._is_reported(statement):
            return _OK
        if not statement.groups and self._unclaimed(statement):
            return _OK  # a verb that is in no table: some call that nothing else describes may have done it
        if not self.calls and self._is_text_work(statement):
            return _OK
        if any(self._may_describe(statement, call) for call in self.calls):
            return _OK
        return _unperformed("no call does this")

    def _unclaimed(self, statement: ActionStatement) -> bool:
        """True if a call that changes something is not what another statement is about."""
        others = [one for one in self.statements if one.start != statement.start]
        claimed = {place for one in others for place in self._about(one)}
        return any(not call.is_reading and place not in claimed for place, call in enumerate(self.calls))

    def _about(self, statement: ActionStatement) -> list[int]:
        able = [place for place, call in enumerate(self.calls) if not statement.groups or _could_do(statement, call)]
        return self._targets(statement, able)

    def _may_describe(self, statement: ActionStatement, call: LedgerCall) -> bool:
        """True if a call is about the same and no other statement describes it: perhaps this one does.

        The tables cannot know every tool, and a wrong accusation is worse than a missed one.
        """
        precise = statement.groups & _BY_COMMAND if call.is_shell else call.groups & FINE_GROUPS
        if precise or call.is_reading or call.is_file_tool or call.failed or "draft" in call.text.lower():
            return False
        if (
            _removes_whole(statement)
            or _other_kind(statement, call)
            or any(not has_path(call, path) for path in paths(statement.rest))
        ):
            return False
        shared = content_words(statement.rest) & (content_words(call.text) | set(call.name_words))
        others = (s for s in self.statements if s.start != statement.start and s.groups - {"read", "search"})
        mine = related(statement.rest, self.ledger, call.place)
        return bool(shared) and not any(
            _could_do(other, call) and related(other.rest, self.ledger, call.place) >= mine for other in others
        )

    def _is_reported(self, statement: ActionStatement) -> bool:
        """True if a result mentions such an action: the agent reports what it read.

        "has been sent" is more often said of the agent's own work, so the result must be about the same.
        """
        said = content_words(statement.rest) - {statement.verb}
        about = said - set(VERB_GROUPS) - set(NOUN_GROUPS)
        pronoun = re.match(r"\s*(?:it|this|that|these|they)\b", statement.rest, re.IGNORECASE)
        groups = _narrowed(statement) - _BROAD
        for call in (call for call in self.calls if call.is_reading or not statement.perfect):
            for words in map(content_words, re.split(r"[\n;}]", call.record.result)):
                named = statement.verb in words or any_groups(words & set(VERB_GROUPS), VERB_GROUPS) & groups
                if not statement.perfect and (named or len(said & words) * 2 > len(said)):
                    return True
                if named and (pronoun or about & (words | content_words(call.text))):
                    return True
        return False

    def _is_text_work(self, statement: ActionStatement) -> bool:
        """Without any call, a text can still be edited: in the answer itself."""
        words = content_words(statement.rest)
        if statement.groups & _OUTWARD or words & (THINGS | set(OBJECTS)) or paths(statement.object):
            return False
        asked = content_words(self.request)
        return bool((words | asked) & TEXTS) or (not statement.groups and not asked & THINGS)

    def _compared(self, statement: ActionStatement, found: list[LedgerCall]) -> Outcome:
        missing = self._missing_target(statement, found) or self._missing_object(statement, found)
        missing = missing or self._other_verb(statement, found)
        if missing:
            return ActionStatus.UNPERFORMED, missing, found[-1].record.name
        best = _on_targets(statement, found)
        places = [call.place for call in best]
        targets = self._targets(statement, places) or places
        text = statement.rest if statement.passive else f"x {statement.rest}"
        comparison = StatementComparison(text, targets, self.ledger, self.request, statement.verb)
        checks = (
            comparison.difference(),
            comparison.swapped(),
            comparison.other_object(statement.object),
            comparison.keyed(),
            comparison.other_choice(),
            comparison.other_record(),
        )
        other = next(filter(None, checks), "")
        bad = self._bad_outcome(statement, targets)
        if other and not (bad and bad[0] is ActionStatus.FAILED):
            return ActionStatus.CONTRADICTED, other, self.calls[targets[-1]].record.name
        return bad or self._result(statement, [self.calls[place] for place in targets])

    def _other_verb(self, statement: ActionStatement, found: Sequence[LedgerCall]) -> str:
        """Every such call is named by the verb of another statement, none by this one's: archived, not unsubscribed."""
        others = {one.verb for one in self.statements if one.start != statement.start} - {"", statement.verb}
        if statement.verb in _COMMON_VERBS or statement.passive:
            return ""
        taken = all(
            not (call.is_shell or call.is_file_tool)
            and others & set(call.name_words)
            and statement.verb not in call.low
            and not any(call.covers(noun) for noun in read(statement.object).stems)
            for call in found
        )
        return "such calls are what other statements describe" if taken else ""

    def _missing_object(self, statement: ActionStatement, found: Sequence[LedgerCall]) -> str:
        """Nothing of what was acted on is in such a call, nor was it asked for."""
        nouns = self._nouns(statement)
        opaque = any(call.is_shell or call.is_file_tool or "any" in call.groups for call in found)
        if opaque or not nouns or read(statement.object).values:
            return ""
        kinds = any_groups(nouns, OBJECTS)
        if any(kinds & any_groups(call.name_words, OBJECTS) for call in found):
            return ""  # an issue is a ticket
        if any(touches(self.ledger, call.place, noun) for call in found for noun in nouns):
            return ""
        return f"no such call is about {min(nouns)}"

    def _nouns(self, statement: ActionStatement) -> Set[str]:
        """The things that a statement is about; none if the request named one of them, or for "it"."""
        head = re.split(r"[:;,]|\b(?:and|which|that|so)\b", statement.object)[0]
        nouns = read(head).stems - _GENERIC - set(VERB_GROUPS) - {statement.verb}
        asked = read(self.request).stems
        return frozenset() if nouns & asked or _PRONOUN.match(head) else nouns

    def _missing_target(self, statement: ActionStatement, found: Sequence[LedgerCall]) -> str:
        """A file or identifier of the statement that no such call names."""
        for path in [*paths(statement.object), *_saved_as(statement)]:
            if not any(has_path(call, path) for call in found):
                return f"no such call names {path}"
        for name in _BARE_FILE.findall(statement.object):
            if all(call.is_file_tool and name.lower() not in call.text.lower() for call in found):
                return f"no such call names {name}"
        for code in _CODE.findall(statement.object):
            word = code.strip("()")
            known = any(word in call.all_text for call in self.calls) or word in self.request
            if not known and not paths(code):
                return f"no call names {code}"
        return ""

    def _result(self, statement: ActionStatement, same: Sequence[LedgerCall]) -> Outcome:
        last, groups = same[-1], _narrowed(statement)
        name = last.record.name
        failed = last.failed or (_ALL.search(statement.object) and any(_final_failures(same)))
        only_run = groups & last.groups and groups & last.groups <= _RUN_GROUPS and not statement.success
        if _is_first_part(groups, last):
            return ActionStatus.PERFORMED, "", name
        if failed and not only_run:
            return ActionStatus.FAILED, last.quote(), name
        nothing = None if only_run or last.is_reading else self._nothing_done(statement, last)
        if nothing:
            return ActionStatus.CONTRADICTED, f"its result says: {last.line(nothing.start())}", name
        return ActionStatus.PERFORMED, "", name

    def _nothing_done(self, statement: ActionStatement, call: LedgerCall) -> re.Match[str] | None:
        found = None if call.is_file_tool else _NOTHING_DONE.search(call.result)
        if not found or not _concerns(found[0].lower(), statement.groups):
            return None
        admitted = _UNFINISHED.search(found[0]) and _UNFINISHED_SAID.search(self.answer)
        return None if admitted or self._settled(call) else found

    def _settled(self, call: LedgerCall) -> bool:
        """True if a later call about the same thing shows no such state any more."""
        keys = {value.key for value in call.content.values if value.kind == "id"}
        later = self.calls[call.place + 1 :]
        same = [one for one in later if any(value.key in keys for value in one.given.values)]
        return bool(same) and not same[-1].failed and not _NOTHING_DONE.search(same[-1].result)

    # ---- statements that no particular call performs

    def _looked(self, statement: ActionStatement) -> Outcome:
        """ "I checked …": any call will do, unless the statement names a file or the web."""
        if _WEB.search(statement.rest) and "search" in statement.groups:
            return _OK if any(map(_is_web, self.calls)) else _unperformed("no call searches the web")
        if _BROWSER.search(statement.rest) and not any(map(_is_web, self.calls)):
            return _unperformed("no call opens a browser")
        for path in paths(statement.object):
            base = path.rsplit("/", 1)[-1]
            named = [call for call in self.calls if has_path(call, path) or base in call.record.result]
            if not named:
                return _unperformed(f"no call names {path}")
            if all(call.failed for call in named):
                return ActionStatus.FAILED, named[-1].quote(), named[-1].record.name
        nouns = self._nouns(statement) if statement.verb in _VERIFY else frozenset()
        everywhere = range(len(self.calls))
        if (
            self.calls
            and nouns
            and not any(touches(self.ledger, place, noun) for place in everywhere for noun in nouns)
        ):
            return _unperformed(f"no call is about {min(nouns)}")
        if self.calls:
            return self._all_failed() or self._unseen(statement) or _OK
        in_request = _GIVEN.search(statement.object) and content_words(statement.object) & content_words(self.request)
        is_quoted = re.search(r"[:\"“]\s*\S+ \S+", self.request)
        is_given = len(self.request.split()) > _LONG or (statement.groups <= {"read"} and (in_request or is_quoted))
        return _OK if is_given else _unperformed("no call was made")

    def _unseen(self, statement: ActionStatement) -> Outcome | None:
        """A value that is said to have been found, and that no call shows."""
        targets = self._targets(statement, range(len(self.calls))) or list(range(len(self.calls)))
        last = self.calls[targets[-1]]
        if all(self.calls[place].failed for place in targets) and not _ADMITTED.search(statement.sentence):
            return ActionStatus.FAILED, last.quote(), last.record.name
        other = StatementComparison(
            f"x {statement.rest}", targets, self.ledger, self.request, is_report=True
        ).difference()
        return (ActionStatus.CONTRADICTED, other, last.record.name) if other else None

    def _all_failed(self) -> Outcome | None:
        last = self.calls[-1]
        all_failed = all(call.failed for call in self.calls)
        return (ActionStatus.FAILED, last.quote(), last.record.name) if all_failed else None

    def _done(self) -> Outcome:
        effects = [call for call in self.calls if not call.is_reading]
        if effects and effects[-1].failed:
            return ActionStatus.FAILED, effects[-1].quote(), effects[-1].record.name
        if self.calls:
            return self._all_failed() or _OK
        is_answer = len(self.answer.split()) > _LONG or "```" in self.answer or bool(INLINE.search(self.answer))
        return _OK if is_answer else _unperformed("no call was made")

    def _outcome(self, statement: ActionStatement) -> Outcome:
        """ "All tests pass": the last such run decides, and every failed run must have been repeated."""
        runs = [call for call in self.calls if statement.outcome in call.groups]
        runs = runs or [call for call in self.calls if _may_run_all(call) or _shows_runs(call)]
        if not runs:
            return _unperformed(f"no call runs the {_RUN_NAMES[statement.outcome]}")
        last = runs[-1]
        name = last.record.name
        if bad := last.failed_run:
            return ActionStatus.CONTRADICTED, f"its result says: {last.line(bad.start())}", name
        left = _unrepeated(runs) if _ALL.search(statement.rest) else None
        if left is not None:
            return ActionStatus.CONTRADICTED, "an earlier run failed and was not repeated", left.record.name
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
        if call.is_shell or call.is_file_tool:
            return not ("remove" in groups and "edit" in groups & call.groups and _removes_whole(statement))
        return (not call.is_reading or bool(groups & {"read", "search", "fetch", "run"})) and not _other_kind(
            statement, call
        )
    if "any" in call.groups or statement.verb in call.name_words:
        return "any" in call.groups or not call.is_reading or not groups
    if call.is_reading:
        return False
    if call.is_shell and statement.verb in call.command_words:
        return True
    if call.is_shell and (groups & {"commit", "push"} or statement.verb in ("reload", "restart")):
        return False
    if call.is_file_tool or _removes_whole(statement) or _other_kind(statement, call):
        return False
    if statement.groups and call.groups - {"run", "read"}:
        # A known tool that does something else, unless an argument does it too: `"assignee": "ola"`.
        return any(key.lower().startswith(statement.verb[:5]) and not key.endswith("id") for key in call.fields)
    return _shares_a_value(statement, call)


def _shares_a_value(statement: ActionStatement, call: LedgerCall) -> bool:
    """A name, number or file that both have, where a table does not know the verb or the tool."""
    if statement.verb in content_words(call.text):
        return True
    mine = set(re.findall(r"[A-Z][a-z]{2,}|\d[\d.:-]*\d|\d|\w+\.\w+", statement.rest)) - {"I"}
    if content_words(statement.object) & (content_words(call.text) | set(call.name_words)):
        return True
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", call.text, re.IGNORECASE) for word in mine)


def _narrowed(statement: ActionStatement) -> frozenset[str]:
    """Fewer groups where the object says which: run the tests, delete the file, open a pull request."""
    groups, words = statement.groups, statement.object.lower()
    if "run" in groups:
        found = next((group for group, known in _RUN_OBJECTS if re.search(known, words)), None)
        if found:
            return frozenset((found,))
    if "read" in groups and "change" in groups and any_groups(content_words(words), OBJECTS) & {"device"}:
        return groups - {"read"}  # to open a door is not to look at it
    if "pr" in groups:
        return frozenset(("pr",)) if re.search(r"\bpr\b|pull request", words) else groups - {"pr"}
    if "install" in groups and statement.verb not in ("install", "uninstall"):
        return groups if re.search(r"dependenc|package|librar|version", words) else groups - {"install"}
    return groups


def _saved_as(statement: ActionStatement) -> list[str]:
    """The file that something is said to be saved as."""
    found = re.search(r"\b(?:as|to|into)\s+(\S+)", statement.rest) if "save" in statement.groups else None
    return paths(found[1]) if found else []


def _removes_whole(statement: ActionStatement) -> bool:
    """True for a deleted file, folder or branch, which no edit deletes."""
    whole = r"\s*(?:the |all |old |those |these |remote |local |\d+ )*(?:file|folder|director|backup|log|branch)"
    return "remove" in statement.groups and bool(re.match(whole, statement.object, re.IGNORECASE))


def _other_kind(statement: ActionStatement, call: LedgerCall) -> bool:
    """True if both name a kind of object, and not the same: an email is no chat message."""
    if "send" not in statement.groups and read(statement.object).stems & call.given.stems:
        return False  # the same thing by name
    words = [lemma(word) for word in re.findall(r"[A-Za-z-]+", statement.object)[:6]]
    mine = any_groups([*words, statement.verb], OBJECTS)
    theirs = any_groups(call.name_words, OBJECTS)
    if not statement.groups & _OBJECT_GROUPS or "send" in statement.groups:
        mine, theirs = mine & _MEDIA, theirs & _MEDIA
    return bool(mine and theirs and not mine & theirs)


def _on_targets(statement: ActionStatement, found: list[LedgerCall]) -> list[LedgerCall]:
    """The calls that name the files of the statement, if it names any."""
    wanted = paths(statement.object)
    exact = [call for call in found if all(has_path(call, path) for path in wanted)]
    return exact or [call for call in found if any(has_path(call, path) for path in wanted)] or found


def _nearest(statement: ActionStatement, found: list[LedgerCall]) -> list[LedgerCall]:
    """The calls that share most words with the statement."""
    words = content_words(statement.rest) | {statement.verb}
    scores = [len(words & (content_words(call.text) | set(call.name_words))) for call in found]
    most = max(scores)
    return [call for call, score in zip(found, scores, strict=True) if score == most]


def _is_first_part(groups: frozenset[str], call: LedgerCall) -> bool:
    """`git commit … && git push`: the commit succeeded if only the push was rejected."""
    pushed = re.search(r"rejected|failed to push", call.record.result)
    return "commit" in groups and "push" in call.groups and bool(pushed)


def _final_failures(calls: Iterable[LedgerCall]) -> list[bool]:
    """Whether the last call on each target failed."""
    last: dict[str, bool] = {}
    for call in calls:
        key = next(iter(paths(call.text)), "") if call.is_file_tool else call.record.arguments
        last[key] = call.failed
    return list(last.values())


def _concerns(phrase: str, groups: frozenset[str]) -> bool:
    """True if a phrase of a result denies this action, and not another one of the same call."""
    if "draft" in phrase or phrase in ("not sent", "unsent"):
        return bool(groups & {"send", "push"})
    if "up-to-date" in phrase:
        return "push" in groups
    return "commit" in groups if phrase == "nothing to commit" else True


def _is_web(call: LedgerCall) -> bool:
    if call.groups & {"web", "any"}:
        return True
    return "search" in call.groups and not call.is_shell and not _LOCAL_SEARCH.search(call.record.name)


def _may_run_all(call: LedgerCall) -> bool:
    runs_script = call.is_shell and re.search(r"\.sh\b|\bmake\b|\bjust\b|npm run", call.text)
    return "any" in call.groups or bool(runs_script)


def _shows_runs(call: LedgerCall) -> bool:
    """True for a tool that shows the results of runs elsewhere."""
    return bool(re.search(r"check|\bci\b|workflow|pipeline|build|status|test", call.text.replace("_", " "), re.I))


def _unrepeated(runs: Sequence[LedgerCall]) -> LedgerCall | None:
    """A failed run that no later successful run covers."""
    for number, run in enumerate(runs):
        if run.failed_run:
            wanted = set(paths(run.text))
            later = [set(paths(call.text)) for call in runs[number + 1 :] if not call.failed_run]
            if not any(not named or (wanted and wanted <= named) for named in later):
                return run
    return None
