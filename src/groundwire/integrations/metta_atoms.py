"""Conversion between groundwire's types and MeTTa atoms.

A structured result is an expression whose parts a program can match; its last part is a handle to the whole
object, so that nothing is lost on the way back. An expression written by hand, without a handle, is read from
its visible parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire._optional import load
from groundwire.detectors.wording import HistoryEvidence, KBEvidence, Signal
from groundwire.errors import InputError
from groundwire.types import Action, ActionKind, Flag, HallucinationType, Mention, Segment, TimeExpression, Triple, Turn

if TYPE_CHECKING:
    from hyperon import Atom

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Handle:
    """The object behind an expression. Programs can pass it on but not look inside."""

    what: object

    def __repr__(self) -> str:
        return f"<{type(self.what).__name__}>"


def flag_atom(flag: Flag) -> Atom:
    parts = (flag.start, flag.end, flag.content, flag.confidence, flag.suggestion, flag.evidence)
    return _expression("HallucinationFlag", _symbol(flag.type.value), *parts, Handle(flag))


def segment_atom(segment: Segment) -> Atom:
    parts = (segment.index, segment.text, segment.start, segment.end)
    return _expression("ResponseSegment", *parts, Handle(segment))


def claim_atom(claim: Triple) -> Atom:
    return _expression("Claim", claim.subject, claim.predicate, claim.object, Handle(claim))


def mention_atom(mention: Mention) -> Atom:
    kind = _symbol(mention.kind.value)
    return _expression("EntityMention", mention.text, kind, mention.start, mention.end, Handle(mention))


def time_atom(found: TimeExpression) -> Atom:
    first, last = (moment.date().isoformat() if moment else "" for moment in (found.first, found.last))
    parts = (found.text, found.start, found.end, first, last)
    return _expression("TemporalExpression", *parts, _symbol(found.tense.value), Handle(found))


def signal_atom(signal: Signal) -> Atom:
    kind = _symbol(signal.kind.value)
    return _expression("LinguisticSignal", kind, signal.strength, signal.text, Handle(signal))


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


def maybe_atom(value: str) -> Atom:
    return _expression("Just", value) if value else _symbol("Nothing")


def list_atom(items: Iterable[T], each: Callable[[T], Atom]) -> Atom:
    return _hyperon().E(*(each(item) for item in items))


def value_atom(value: Any, type_name: str | None = None) -> Atom:
    return _hyperon().ValueAtom(value, type_name)


def error_atom(name: str, message: str) -> Atom:
    return _expression("Error", _symbol(name), message)


def items(atom: Atom) -> list[Atom]:
    """Return the members of a list; an expression that begins with a symbol is a single item."""
    children = _children(atom)
    if children is None or (children and _name(children[0])):
        return [atom]
    return children


def flag_of(atom: Atom) -> Flag:
    def read(kind: Atom, start: Atom, end: Atom, content: Atom, confidence: Atom, *rest: Atom) -> Flag:
        said, evidence = (*(text_of(part) for part in rest[:2]), "", "")[:2]
        place = int(number_of(start)), int(number_of(end))
        return Flag(type_of(kind), *place, text_of(content), number_of(confidence), said, evidence)

    return _read(atom, "HallucinationFlag", Flag, read)


def segment_of(atom: Atom) -> Segment:
    def read(index: Atom, text: Atom, start: Atom, end: Atom) -> Segment:
        return Segment(int(number_of(index)), text_of(text), int(number_of(start)), int(number_of(end)))

    return _read(atom, "ResponseSegment", Segment, read)


def claim_of(atom: Atom) -> Triple:
    def read(subject: Atom, predicate: Atom, value: Atom) -> Triple:
        who, does, what = (text_of(part) for part in (subject, predicate, value))
        text = f"{who} {does} {what}"
        places = (0, len(who)), (len(text) - len(what), len(text))
        return Triple(who, does, what, 0, len(text), *places, text=text)

    return _read(atom, "Claim", Triple, read)


def signal_of(atom: Atom) -> Signal:
    def read(*_: Atom) -> Signal:
        raise InputError("a LinguisticSignal must come from linguistic-signals")

    return _read(atom, "LinguisticSignal", Signal, read)


def turn_of(atom: Atom, number: int) -> Turn:
    """Read `(turn "user" "text")`, or the text alone."""
    children = _children(atom)
    if children is None:
        return Turn(number, "", text_of(atom))
    if len(children) != 3 or _name(children[0]) != "turn":
        raise InputError(f"{atom} is not a turn", hint='write (turn "user" "text")')
    return Turn(number, text_of(children[1]).lower(), text_of(children[2]))


def kb_evidence_of(atom: Atom) -> KBEvidence | None:
    parts = _evidence(atom, "KBEvidence", 3)
    return KBEvidence(bool_of(parts[0]), bool_of(parts[1]), number_of(parts[2])) if parts else None


def history_evidence_of(atom: Atom) -> HistoryEvidence | None:
    parts = _evidence(atom, "HistoryEvidence", 2)
    return HistoryEvidence(bool_of(parts[0]), number_of(parts[1])) if parts else None


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


def number_of(atom: Atom) -> float:
    value = _value(atom)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"{atom} is not a Number")


def bool_of(atom: Atom) -> bool:
    value = _value(atom)
    if isinstance(value, bool):
        return value
    raise InputError(f"{atom} is not a Bool")


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


def _read(atom: Atom, head: str, kind: type[T], read: Callable[..., T]) -> T:
    children = _children(atom)
    if not children or _name(children[0]) != head:
        raise InputError(f"{atom} is not a {head}")
    last = _value(children[-1])
    if isinstance(last, Handle) and isinstance(last.what, kind):
        return last.what
    try:
        return read(*children[1:])
    except TypeError:
        raise InputError(f"{atom} does not have the parts of a {head}") from None


def _evidence(atom: Atom, head: str, parts: int) -> Sequence[Atom] | None:
    if _name(atom) == "Nothing":
        return None
    children = _children(atom)
    if not children or len(children) != parts + 1 or _name(children[0]) != head:
        raise InputError(f"{atom} is not a {head}", hint="or write Nothing")
    return children[1:]


def _hyperon() -> Any:
    """The library, an extra that is loaded when the first atom is made."""
    return load("hyperon", feature="MeTTa", extra="metta")


def _expression(head: str, *parts: Any) -> Atom:
    made = (part if isinstance(part, _hyperon().Atom) else value_atom(part) for part in parts)
    return _hyperon().E(_symbol(head), *made)


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
