"""Predicates that do not hold together: "is open" and "is closed", "is member" and "is non-member"."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import shorten

from groundwire.text.lexicon import expressions, word_table
from groundwire.text.tokens import normalise
from groundwire.verifiers.lexical import antonyms, content_norms
from groundwire.verifiers.logic.conditions import (
    ANYONE,
    EVERYONE,
    SMALL,
    Implication,
    Literal,
    lemma,
    literals,
    noun,
    read,
)
from groundwire.verifiers.rules import RuleLabel, RuleResult

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non-", "non", "ex-")
_SHORTEST = 4  # letters of a word that a prefix may negate: "even" and "uneven", but not "it" and "unit"
_OPPOSED = {frozenset(pair.split(":")) for pair in word_table("logic")["tables"]["opposed"].split()}


@lru_cache(maxsize=4096)
def opposed(a: str, b: str) -> bool:
    """Whether two predicates differ in one word only, and the two words are opposites.

    >>> opposed("is open", "is closed"), opposed("is open", "is open on Sunday")
    (True, False)
    """
    mine, theirs = a.split(), b.split()
    if len(mine) != len(theirs):
        return False
    other = [(x, y) for x, y in zip(mine, theirs, strict=True) if x != y]
    if len(other) != 1:
        return False
    short, long = sorted(other[0], key=len)
    prefixed = len(short) >= _SHORTEST and any(long == prefix + short for prefix in _PREFIXES)
    one, two = (antonyms().get(normalise(word), frozenset()) for word in other[0])
    return prefixed or frozenset(other[0]) in _OPPOSED or any((row, 1 - side) in two for row, side in one)


# Where the evidence states rules and facts, a plain claim is decided by inference.
#
# Catches: claims that the rules prove, disprove, leave open, or both prove and disprove. Misses: sentences
# that the grammar of clauses does not parse to the last word. Inference runs forwards; contraposition is used
# only where the evidence does not contradict itself, since otherwise almost anything would follow.

_MOST_STATEMENTS = 3000  # sentences of the evidence; more are not parsed, since each costs time
_MOST_PARTS = 30_000
"""Parts of rules, each for every thing it may be about. Larger sets of rules are not decided at all."""
_MOST_NAMED = 3  # statements that a reason quotes
_LONGEST = 120  # characters of each quotation
_READ = 0.5  # share of the sentences that must be parsed before something is said not to follow from them
_PREFIX = 3  # letters of a predicate's last word by which sentences about it are found, whatever its ending
_REFERS, _LIMITS, _OF_EACH = expressions("logic", "refers limits of_each")
_NO_SUCH = re.compile(r"is (?:non|adult$|child$|minor$)")
_UNLESS = re.compile(r"\bunless\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InferenceStep:
    """How a literal was concluded: the number of the rule and the premises that met its condition."""

    rule: int
    premises: tuple[Literal, ...]


Known = Mapping[Literal, InferenceStep]


def conclusions(rules: Sequence[Implication], *, about: Iterable[str] = (), backwards: bool = False) -> Known:
    """Everything that follows, with how; it may contain a literal and its opposite. Empty if there are too many.

    Conclusions are drawn for the things that the rules name and for those in `about`.
    """
    things = sorted({part.subject for rule in rules for part in rule.parts}.union(about) - {ANYONE})
    if sum(len(rule.parts) * (len(things) if _general(rule) else 1) for rule in rules) > _MOST_PARTS:
        return {}
    steps = [
        (InferenceStep(at, premises), conclusion)
        for at, rule in enumerate(rules)
        for ground in _of_things(rule, things)
        for premises, conclusion in _ways(ground, backwards)
    ]
    waits: dict[Literal, list[int]] = defaultdict(list)
    missing = [len(set(step.premises)) for step, _ in steps]
    for at, (step, _) in enumerate(steps):
        for premise in set(step.premises):
            waits[premise].append(at)
    known: dict[Literal, InferenceStep] = {}
    ready = deque(at for at, count in enumerate(missing) if not count)
    while ready:
        step, conclusion = steps[ready.popleft()]
        if conclusion in known:
            continue
        known[conclusion] = step
        for at in waits[conclusion]:
            missing[at] -= 1
            if not missing[at]:
                ready.append(at)
    return known


def _general(rule: Implication) -> bool:
    return any(part.subject == ANYONE for part in rule.parts)


def _of_things(rule: Implication, things: Sequence[str]) -> Iterator[Implication]:
    """One rule for each thing it applies to, *everyone* among them.

    A statement about everyone applies to things with a name, not to "the pump".
    """
    if not _general(rule):
        yield rule
        return
    for thing in things:
        if rule.body or not thing.startswith("the "):
            body, head = (
                tuple(replace(lit, subject=thing) if lit.subject == ANYONE else lit for lit in side)
                for side in (rule.body, rule.head)
            )
            yield Implication(body, head)


def _ways(rule: Implication, backwards: bool) -> Iterator[tuple[tuple[Literal, ...], Literal]]:
    """Each literal that a rule allows to conclude, with its premises."""
    not_head = tuple(lit.opposite() for lit in rule.head)
    for at, conclusion in enumerate(rule.head):
        yield rule.body + not_head[:at] + not_head[at + 1 :], conclusion
    if backwards and all(lit.subject != EVERYONE for lit in rule.body):
        for at, lit in enumerate(rule.body):
            yield rule.body[:at] + rule.body[at + 1 :] + not_head, lit.opposite()


@dataclass(frozen=True, slots=True)
class _Told:
    """The rules with their sentences, and the statements that could not be parsed."""

    rules: tuple[Implication, ...]
    texts: tuple[str, ...]
    unread: tuple[str, ...]
    count: int

    @classmethod
    def by(cls, statements: Sequence[str]) -> _Told:
        found = [(rule, s) for s in statements for rule in read(s)]
        unread = tuple(s for s in statements if not read(s))
        return cls(tuple(r for r, _ in found), tuple(t for _, t in found), unread, len(statements))

    @property
    def read(self) -> Iterator[tuple[Implication, str]]:
        return zip(self.rules, self.texts, strict=True)


def follows(claim: str, statements: Sequence[str]) -> RuleResult | None:
    """The verdict of the rules among the statements on a claim; None if none of them is about it."""
    wanted = literals(claim)
    if not wanted or len(statements) > _MOST_STATEMENTS or not _governed(wanted, statements):
        return None
    told = _Told.by(statements)
    named = {part.subject for rule in told.rules for part in rule.parts}
    known = _known(told.rules, frozenset(lit.subject for lit in wanted) - named)
    if not known or any(_retold(lit, told.unread) for lit in wanted) or _mixed(told.rules):
        return None
    label, on, reason = _decided(wanted, known, told.texts)
    if any(_excepted(lit, known, told) or _turned(lit, known) for lit in wanted):
        return None
    if label == "open":
        decided = on in known or _settled(wanted, known, told)
        return RuleResult(label, reason) if decided else None
    return RuleResult(label, reason)


def _governed(wanted: Sequence[Literal], statements: Sequence[str]) -> bool:
    """Whether a rule mentions what is claimed. Sentences without the predicate's word need not be parsed."""
    predicates = {lit.predicate for lit in wanted}
    words = {predicate.split()[-1][:_PREFIX] for predicate in predicates}
    return any(
        rule.body and any(part.predicate in predicates for part in rule.parts)
        for statement in statements
        if any(word in statement.lower() for word in words)
        for rule in read(statement)
    )


def _kinds(rules: Sequence[Implication], strangers: Iterable[str]) -> list[Implication]:
    """The facts that "the red pump" is a pump and a red pump."""
    named = {part.subject for rule in rules for part in rule.parts}.union(strangers)
    things = sorted(thing for thing in named if thing.startswith("the "))
    told = [(thing, thing.split()[1:]) for thing in things]
    kinds = {(thing, noun(words)) for thing, words in told}
    kinds |= {(thing, " ".join([*words[:-1], lemma(words[-1])])) for thing, words in told}
    return [Implication((), (Literal(thing, f"is {kind}"),)) for thing, kind in sorted(kinds)]


def _mixed(rules: Sequence[Implication]) -> bool:
    """Whether "Members can vote" was read of one with that name, and "member" is a word for others."""
    parts = {part for rule in rules for part in rule.parts}
    names = {part.subject for part in parts if not part.subject.startswith("the ")} - {ANYONE, EVERYONE, ""}
    kinds = {lemma(name.split()[-1]) for name in names} - {name.split()[-1] for name in names}
    if not kinds:
        return False
    words = {word for part in parts for word in (*part.predicate.split(), *part.subject.split())}
    return not kinds.isdisjoint(words)


def _excepted(lit: Literal, known: Known, told: _Told) -> bool:
    """Whether the conclusion is about a kind, which may have exceptions, and a rule says the opposite of others."""
    by = [known[side].rule for side in (lit, lit.opposite()) if side in known]
    kinds = [at for at in by if at < len(told.texts) and told.rules[at].body and not _OF_EACH.search(told.texts[at])]
    found = lit if lit in known else lit.opposite()
    against = (
        rule for rule in told.rules for head in rule.head
        if (head.predicate, head.holds) == (found.predicate, not found.holds)
        and head.subject in (ANYONE, found.subject)
    )  # fmt: skip
    return bool(kinds) and any(against)


def _turned(lit: Literal, known: Known) -> bool:
    """Whether a literal is known, and so is its opposite in other words."""
    return lit in known and any(
        other.subject == lit.subject and other.holds == lit.holds and opposed(other.predicate, lit.predicate)
        for other in known
    )


@lru_cache(maxsize=8)
def _known(told: tuple[Implication, ...], strangers: frozenset[str]) -> Known:
    """Everything that is known, the same for all claims about the things that the rules name.

    `strangers` are things that only the claim names.
    """
    rules = [*told, *_kinds(told, strangers)]
    sure = conclusions(rules, about=strangers)
    more = conclusions(rules, about=strangers, backwards=True) if _consistent(sure) else sure
    return more if _consistent(more) else sure


def _consistent(known: Known) -> bool:
    return not any(lit.opposite() in known for lit in known)


def _decided(wanted: Sequence[Literal], known: Known, texts: Sequence[str]) -> tuple[RuleLabel, Literal, str]:
    """The verdict, the literal that decides it, and the reason."""
    for lit in wanted:
        if lit not in known and lit.opposite() in known:
            return "contradicted", lit, _because(lit.opposite(), known, texts, "rule")
    for lit in wanted:
        if lit in known and lit.opposite() in known:
            so, not_so = _because(lit, known, texts, "make"), _because(lit.opposite(), known, texts, "rule")
            return "open", lit, f"the evidence contradicts itself: {so}, {not_so}"
    for lit in wanted:
        if lit not in known:
            return "open", lit, "the rules that the evidence states leave this open"
    return "supported", wanted[0], _because(wanted[0], known, texts, "make")


def _settled(wanted: Sequence[Literal], known: Known, told: _Told) -> bool:
    """Whether only the parsed statements could decide the claim: then it is open, otherwise unknown."""
    every = {part for rule in told.rules for part in rule.parts}
    things, predicates = {part.subject for part in every}, {part.predicate for part in every}
    governed = {part.predicate for rule in told.rules if rule.body for part in rule.parts}
    strange = any(lit.subject not in things for lit in wanted)
    if (strange and told.unread) or not all(lit.predicate in governed for lit in wanted if lit not in known):
        return False
    counted = any(word[0].isdigit() for predicate in predicates for word in predicate.split())
    if counted or _meets_opposite(every, known):
        return False
    if any(_UNLESS.search(text) and lit in rule.head for lit in wanted for rule, text in told.read):
        return False  # by logic "unless" leaves it open, but most writers mean "if not"
    things |= {lit.subject for lit in wanted}
    if len(told.unread) > (1 - _READ) * told.count or _overlap(things) or _overlap(map(_object, predicates)):
        return False
    matters = frozenset().union(*(content_norms(text) for text in things | predicates))
    return not any(_REFERS.match(s) or matters & content_norms(s) for s in told.unread)


def _meets_opposite(every: Iterable[Literal], known: Known) -> bool:
    """Whether a thing is known to be the opposite of something stated about it: outside, not inside."""
    said: dict[str, set[str]] = defaultdict(set)
    for part in every:
        said[part.subject].add(part.predicate)
    if len(known) * max(map(len, said.values()), default=0) > _MOST_PARTS:
        return True
    return any(
        opposed(lit.predicate, other)
        for lit in known
        for other in (said[lit.subject] | said[ANYONE] if _NO_SUCH.match(lit.predicate) else said[lit.subject])
    )


def _object(predicate: str) -> str:
    """A predicate without its verb, if anything is left."""
    return predicate.partition(" ")[2] or predicate


def _overlap(names: Iterable[str]) -> bool:
    """Whether two share a word: "the pump" may be "the red pump", "locked" follows from "locked by Ana"."""
    words = [word for name in names for word in set(name.split()) - SMALL]
    return len(words) > len(set(words))


def _retold(lit: Literal, unread: Sequence[str]) -> bool:
    """Whether a statement that could not be parsed is about the same matter: it may be an exception."""
    matter = content_norms(_object(lit.predicate))
    return any(matter & content_norms(s) or _LIMITS.match(s) for s in unread)


def _because(lit: Literal, known: Known, texts: Sequence[str], verb: str) -> str:
    """The sentences behind a conclusion: the rule that led to it, the facts, and what lies between."""
    used: dict[int, bool] = {}
    queue, seen = deque([lit]), {lit}
    while queue:
        step = known[queue.popleft()]
        if step.rule < len(texts):
            used.setdefault(step.rule, bool(step.premises))
        queue.extend(premise for premise in step.premises if premise not in seen)
        seen.update(step.premises)
    first, *rest = used
    order = [first, *sorted(rest, key=used.__getitem__)]
    quoted = dict.fromkeys(f"“{shorten(texts[at].rstrip('. '), _LONGEST, placeholder=' …')}”" for at in order)
    named = [*quoted][:_MOST_NAMED]
    named += [f"{len(quoted) - len(named)} more"] if len(quoted) > len(named) else []
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"{listed} {verb}{'s' if len(named) == 1 else ''} it {'so' if verb == 'make' else 'out'}"
