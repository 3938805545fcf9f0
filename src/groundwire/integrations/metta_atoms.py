"""Conversion between groundwire's types and MeTTa atoms, by the types that predicates declare.

A record is an expression whose parts a program can match; its last part is a handle to the whole object, so that
nothing is lost on the way back. An expression written by hand, without a handle, is read from its visible parts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from groundwire._optional import load
from groundwire.detectors.wording import HistoryEvidence, KBEvidence, Signal
from groundwire.errors import InputError
from groundwire.types import (
    Action,
    ActionKind,
    Flag,
    HallucinationType,
    KnowledgeBase,
    Mention,
    Segment,
    TimeExpression,
    Triple,
    Turn,
)

if TYPE_CHECKING:
    from hyperon import Atom

T = TypeVar("T")
_RECORDS: dict[str, tuple[Any, str]] = {
    "HallucinationFlag": (Flag, "type start end content confidence suggestion evidence"),
    "ResponseSegment": (Segment, "index text start end"),
    "Claim": (Triple, "subject predicate object"),
    "EntityMention": (Mention, "text kind start end"),
    "TemporalExpression": (TimeExpression, "text start end first last tense"),
    "LinguisticSignal": (Signal, "kind strength text"),
    "KBEvidence": (KBEvidence, "contradicts unverifiable confidence"),
    "HistoryEvidence": (HistoryEvidence, "contradicts confidence"),
}
"""By the name of an expression: the record that it stands for, and its parts in order."""
_LEFT_OUT = {"HallucinationFlag": 2}  # how many of the last parts a program may leave out
_EVIDENCE = ("KBEvidence", "HistoryEvidence", "LinguisticSignal")
_LIST = "(List "


@dataclass(frozen=True, slots=True)
class Handle:
    """The object behind an expression. Programs can pass it on but not look inside."""

    what: object

    def __repr__(self) -> str:
        return f"<{type(self.what).__name__}>"


@dataclass(frozen=True, slots=True)
class DialogueTurns:
    """The value of a DialogueState atom."""

    turns: tuple[Turn, ...] = ()


def to_atom(value: Any, kind: str) -> Atom:
    """The atom of a value of a declared type."""
    if kind.startswith(_LIST):
        return _hyperon().E(*(to_atom(item, kind.removeprefix(_LIST)[:-1]) for item in value))
    if kind in _RECORDS:
        return _expression(kind, *(getattr(value, name) for name in _RECORDS[kind][1].split()), Handle(value))
    if kind == "MitigationAction":
        return action_atom(value)
    if kind == "(Maybe String)":
        return _expression("Just", value) if value else _symbol("Nothing")
    return value_atom(value, kind if kind == "String" else None)


def action_atom(action: Action) -> Atom:
    """Name the expression after the action's kind, with the parts of that kind."""
    span = (action.start, action.end)
    parts: dict[ActionKind, tuple[Any, ...]] = {
        ActionKind.FLAG: (*span, action.annotation),
        ActionKind.CORRECT: (*span, action.original, action.replacement, action.source),
        ActionKind.REMOVE: (*span, action.reason),
        ActionKind.REGENERATE: (action.guidance,),
        ActionKind.ESCALATE: (action.reason,),
    }
    return _expression(action.kind.value, *parts.get(action.kind, ()))


def value_atom(value: Any, type_name: str | None = None) -> Atom:
    return _hyperon().ValueAtom(value, type_name)


def handle_atom(value: object, type_name: str) -> Atom:
    return value_atom(Handle(value), type_name)


def error_atom(name: str, message: str) -> Atom:
    return _expression("Error", _symbol(name), message)


def from_atom(atom: Atom, kind: str) -> Any:
    """The value of an atom of a declared type; raises `InputError` if it has another."""
    if kind.startswith(_LIST):
        return [from_atom(item, kind.removeprefix(_LIST)[:-1]) for item in items(atom)]
    if kind == "String":
        return text_of(atom)
    if kind == "HallucinationType":
        return type_of(atom)
    if kind == "KnowledgeBase":
        return object_of(atom, KnowledgeBase, '(knowledge-base "file.db"), or give --kb for &kb')  # type: ignore[type-abstract]
    if kind == "DialogueState":
        return object_of(atom, DialogueTurns, '(dialogue-state ((turn "user" "…"))) or &dialogue')
    if kind in ("KBEvidence", "HistoryEvidence", "Evidence") and _name(atom) == "Nothing":
        return None
    if kind == "Evidence":
        kind = head_of(atom)
        if kind not in _EVIDENCE:
            raise InputError(f"{atom} is not evidence", hint="KBEvidence, HistoryEvidence or LinguisticSignal")
    return _record_of(atom, kind)


def _record_of(atom: Atom, kind: str) -> Any:
    record, names = _RECORDS[kind][0], _RECORDS[kind][1].split()
    children = _children(atom)
    if not children or _name(children[0]) != kind:
        raise InputError(f"{atom} is not a {kind}", hint="or write Nothing" if kind in _EVIDENCE[:2] else "")
    last = _value(children[-1])
    if isinstance(last, Handle) and isinstance(last.what, record):
        return last.what
    parts = [_name(part) or _value(part) for part in children[1:]]
    whole = [int(part) if isinstance(part, float) and part.is_integer() else part for part in parts]
    given: dict[str, Any] = dict(zip(names, whole, strict=False))
    if kind == "Claim" and len(parts) == len(names):
        text, subject, value = " ".join(map(str, parts)), len(str(parts[0])), len(str(parts[-1]))
        places = {"subject_span": (0, subject), "object_span": (len(text) - value, len(text))}
        given |= {"text": text, "start": 0, "end": len(text), **places}
    wrong = f"{atom} does not have the parts of a {kind}"
    if not len(names) - _LEFT_OUT.get(kind, 0) <= len(parts) <= len(names):
        raise InputError(wrong)
    try:
        return TypeAdapter(record).validate_json(json.dumps(given, default=repr), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(wrong, hint=f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def items(atom: Atom) -> list[Atom]:
    """Return the members of a list; an expression that begins with a symbol is a single item."""
    children = _children(atom)
    if children is None or (children and _name(children[0])):
        return [atom]
    return children


def turn_of(atom: Atom, number: int) -> Turn:
    """Read `(turn "user" "text")`, or the text alone."""
    children = _children(atom)
    if children is None:
        return Turn(number, "", text_of(atom))
    if len(children) != 3 or _name(children[0]) != "turn":
        raise InputError(f"{atom} is not a turn", hint='write (turn "user" "text")')
    return Turn(number, text_of(children[1]).lower(), text_of(children[2]))


def type_of(atom: Atom) -> HallucinationType:
    name = _name(atom) or text_of(atom)
    try:
        return HallucinationType(name)
    except ValueError:
        known = ", ".join(kind.value for kind in HallucinationType)
        raise InputError(f"{name} is not a type of hallucination", hint=known) from None


def text_of(atom: Atom) -> str:
    value = _value(atom)
    if isinstance(value, str):
        return value
    raise InputError(f"{atom} is not a String", hint='write it in quotes: "text"')


def object_of(atom: Atom, kind: type[T], made_by: str) -> T:
    value = _value(atom)
    what = value.what if isinstance(value, Handle) else value
    if isinstance(what, kind):
        return what
    raise InputError(f"{atom} cannot be used here", hint=f"make one with {made_by}")


def head_of(atom: Atom) -> str:
    """Return the symbol that an expression begins with, or the symbol itself."""
    children = _children(atom)
    return _name(atom) if children is None else _name(children[0]) if children else ""


def _hyperon() -> Any:
    """The library, an extra that is loaded when the first atom is made."""
    return load("hyperon", feature="MeTTa", extra="metta")


def _expression(head: str, *parts: Any) -> Atom:
    return _hyperon().E(_symbol(head), *map(_part, parts))


def _part(value: Any) -> Atom:
    if isinstance(value, _hyperon().Atom):
        return value
    if isinstance(value, StrEnum):
        return _symbol(value.value)
    # A moment is given to the day; one that is not known is empty.
    return value_atom(value.date().isoformat() if isinstance(value, datetime) else "" if value is None else value)


def _symbol(name: str) -> Atom:
    return _hyperon().S(name)


def _children(atom: Atom) -> list[Atom] | None:
    return list(atom.get_children()) if isinstance(atom, _hyperon().ExpressionAtom) else None


def _name(atom: Atom) -> str:
    return str(atom.get_name()) if isinstance(atom, _hyperon().SymbolAtom) else ""


def _value(atom: Atom) -> object:
    if not isinstance(atom, _hyperon().GroundedAtom):
        return None
    found = atom.get_object()
    return found.value if isinstance(found, _hyperon().atoms.ValueObject) else found
