"""MeTTa predicates: `register` adds them to a MeTTa runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from groundwire._loop import run
from groundwire.detectors import wording
from groundwire.detectors.context import DetectionContext, read_dialogue, segment_response
from groundwire.detectors.kb_lookup import fetch_snapshot
from groundwire.detectors.registry import DETECTORS, load_detector
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.integrations import metta_atoms as atoms
from groundwire.integrations.metta_runner import below, operation
from groundwire.openie.lexicon import mentions
from groundwire.openie.tense import times
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Action, ActionKind, Flag, KnowledgeBase, Segment, Turn
from groundwire.verdicts.repair import guidance, mitigate

if TYPE_CHECKING:
    from hyperon import Atom, MeTTa

_KB_HINT = '(knowledge-base "file.db"), or give --kb for &kb'
_DIALOGUE_HINT = '(dialogue-state ((turn "user" "…"))) or &dialogue'
_CONTRADICTIONS = ("kb_contradictions", "wrong_attributes")
_FLAGS, _SEGMENTS = "(List HallucinationFlag)", "(List ResponseSegment)"
TYPES: dict[str, str] = {
    "detect-hallucinations": f"(-> String DialogueState KnowledgeBase {_FLAGS})",
    "hallucination-confidence": "(-> HallucinationFlag Number)",
    "hallucination-severity": "(-> HallucinationType Number)",
    "detect-fabricated-facts": f"(-> {_SEGMENTS} KnowledgeBase {_FLAGS})",
    "detect-nonexistent-entities": f"(-> {_SEGMENTS} DialogueState KnowledgeBase {_FLAGS})",
    "detect-wrong-attributes": f"(-> {_SEGMENTS} KnowledgeBase {_FLAGS})",
    "detect-kb-contradictions": f"(-> {_SEGMENTS} KnowledgeBase {_FLAGS})",
    "detect-history-contradictions": f"(-> {_SEGMENTS} DialogueState {_FLAGS})",
    "detect-unsupported-claims": f"(-> {_SEGMENTS} KnowledgeBase {_FLAGS})",
    "detect-temporal-errors": f"(-> {_SEGMENTS} {_FLAGS})",
    "detect-logical-inconsistencies": f"(-> {_SEGMENTS} {_FLAGS})",
    "segment-response": f"(-> String {_SEGMENTS})",
    "extract-claims": "(-> String (List Claim))",
    "extract-entities": "(-> String (List EntityMention))",
    "extract-temporals": "(-> String (List TemporalExpression))",
    "entity-exists": "(-> String KnowledgeBase Bool)",
    "attribute-matches": "(-> String String String KnowledgeBase Bool)",
    "contradicts-kb": "(-> Claim KnowledgeBase Bool)",
    "contradicts-history": "(-> Claim DialogueState Bool)",
    "mitigate-hallucination": "(-> HallucinationFlag KnowledgeBase MitigationAction)",
    "find-correction": "(-> HallucinationFlag KnowledgeBase (Maybe String))",
    "generate-regeneration-guidance": f"(-> {_FLAGS} String)",
    "score-hallucination-confidence": (
        f"(-> HallucinationFlag KBEvidence HistoryEvidence (List LinguisticSignal) {_FLAGS} Number)"
    ),
    "linguistic-signals": "(-> String (List LinguisticSignal))",
    "evidence-strength": "(-> Evidence Number)",
}
"""The declared type of every predicate; Number, since MeTTa compares and adds only those."""


@dataclass(frozen=True, slots=True)
class DialogueTurns:
    """The value of a DialogueState atom."""

    turns: tuple[Turn, ...] = ()


@dataclass(slots=True)
class MettaPredicates:
    """The predicates as functions on atoms, with the engine, the reference time and the opened stores.

    If `folder` is set, programs can open only stores below it.
    """

    engine: Groundwire
    now: datetime
    folder: Path | None = None
    opened: list[Knowledge] = field(default_factory=list)

    def knowledge_base(self, path: Atom) -> Atom:
        name = atoms.text_of(path)
        url = name if self.folder is None else str(below(self.folder, name))
        self.opened.append(Knowledge.open(url, create=False))
        return atoms.value_atom(atoms.Handle(self.opened[-1]), "KnowledgeBase")

    def dialogue_state(self, turns: Atom) -> Atom:
        said = [atoms.turn_of(atom, number) for number, atom in enumerate(atoms.items(turns), start=1)]
        return atoms.value_atom(atoms.Handle(DialogueTurns(tuple(said))), "DialogueState")

    def detect_hallucinations(self, response: Atom, state: Atom, kb: Atom) -> Atom:
        found = run(self.engine.detect(atoms.text_of(response), history=_turns(state), kb=_base(kb), now=self.now))
        if found.errors:
            raise InputError("; ".join(found.errors))
        return atoms.list_atom(found.flags, atoms.flag_atom)

    def detect_one(self, name: str, segments: Atom, state: Atom | None = None, kb: Atom | None = None) -> Atom:
        parts = [atoms.segment_of(atom) for atom in atoms.items(segments)]
        turns = _turns(state) if state is not None else ()
        flags = self.flags(name, parts, turns, None if kb is None else _base(kb))
        return atoms.list_atom(flags, atoms.flag_atom)

    def flags(
        self, name: str, parts: Sequence[Segment], turns: tuple[Turn, ...], kb: KnowledgeBase | None
    ) -> list[Flag]:
        view = DetectionContext(
            _rebuild_response(parts),
            tuple(parts),
            self.now,
            read_dialogue(turns, self.now),
            fetch_snapshot(kb, parts) if kb is not None else None,
            verifier=self.engine.backend.verifier,
        )
        return run(load_detector(name)(view))

    def segment_response(self, response: Atom) -> Atom:
        return atoms.list_atom(segment_response(atoms.text_of(response), self.now), atoms.segment_atom)

    def extract_claims(self, text: Atom) -> Atom:
        found = [claim for part in segment_response(atoms.text_of(text), self.now) for claim in part.claims]
        return atoms.list_atom(found, atoms.claim_atom)

    def extract_entities(self, text: Atom) -> Atom:
        return atoms.list_atom(mentions(atoms.text_of(text)), atoms.mention_atom)

    def extract_temporals(self, text: Atom) -> Atom:
        return atoms.list_atom(times(atoms.text_of(text), 0, self.now), atoms.time_atom)

    def entity_exists(self, name: Atom, kb: Atom) -> Atom:
        wanted = atoms.text_of(name)
        return atoms.value_atom(wanted in _base(kb).find([wanted], fuzzy=False))

    def attribute_matches(self, name: Atom, attribute: Atom, value: Atom, kb: Atom) -> Atom:
        """True if the knowledge base has exactly this value for the entity's attribute."""
        claim = f"{atoms.text_of(name)}'s {atoms.text_of(attribute)} is {atoms.text_of(value)}."
        known = _base(kb).find([atoms.text_of(name)], fuzzy=False).get(atoms.text_of(name))
        held = known.entity.values_of(atoms.text_of(attribute), self.now.date()) if known else []
        wrong = self.flags("wrong_attributes", segment_response(claim, self.now), (), _base(kb))
        return atoms.value_atom(bool(held) and not wrong)

    def contradicts_kb(self, claim: Atom, kb: Atom) -> Atom:
        parts = [_segment_of(claim)]
        found = (self.flags(name, parts, (), _base(kb)) for name in _CONTRADICTIONS)
        return atoms.value_atom(any(found))

    def contradicts_history(self, claim: Atom, state: Atom) -> Atom:
        found = self.flags("history_contradictions", [_segment_of(claim)], _turns(state), None)
        return atoms.value_atom(bool(found))

    def mitigate_hallucination(self, flag: Atom, kb: Atom) -> Atom:
        _base(kb)
        return atoms.action_atom(self._action(atoms.flag_of(flag)))

    def _action(self, flag: Flag) -> Action:
        return mitigate([flag], " " * flag.start + flag.content, self.engine.config.mitigation)[0]

    def find_correction(self, flag: Atom, kb: Atom) -> Atom:
        _base(kb)
        sure = replace(atoms.flag_of(flag), confidence=1.0)
        action = self._action(sure)
        return atoms.maybe_atom(action.replacement if action.kind is ActionKind.CORRECT else "")

    def generate_regeneration_guidance(self, flags: Atom) -> Atom:
        return atoms.value_atom(guidance([atoms.flag_of(atom) for atom in atoms.items(flags)]), "String")

    def score_hallucination_confidence(self, flag: Atom, kb: Atom, history: Atom, signals: Atom, others: Atom) -> Atom:
        value = wording.score(
            atoms.flag_of(flag),
            atoms.kb_evidence_of(kb),
            atoms.history_evidence_of(history),
            [atoms.signal_of(atom) for atom in atoms.items(signals)],
            [atoms.flag_of(atom) for atom in atoms.items(others)],
            self.engine.config.detectors.evidence_weights,
        )
        return atoms.value_atom(value)

    def linguistic_signals(self, text: Atom) -> Atom:
        return atoms.list_atom(wording.linguistic_signals(atoms.text_of(text)), atoms.signal_atom)

    def evidence_strength(self, evidence: Atom) -> Atom:
        """How strongly evidence indicates a hallucination, 0 to 1: its confidence if it contradicts."""
        match atoms.head_of(evidence):
            case "KBEvidence" | "Nothing":
                kb = atoms.kb_evidence_of(evidence)
                return atoms.value_atom(kb.confidence if kb and kb.contradicts else 0.0)
            case "HistoryEvidence":
                said = atoms.history_evidence_of(evidence)
                return atoms.value_atom(said.confidence if said and said.contradicts else 0.0)
            case "LinguisticSignal":
                return atoms.value_atom(atoms.signal_of(evidence).strength)
        raise InputError(f"{evidence} is not evidence", hint="KBEvidence, HistoryEvidence or LinguisticSignal")

    def hallucination_confidence(self, flag: Atom) -> Atom:
        return atoms.value_atom(atoms.flag_of(flag).confidence)

    def hallucination_severity(self, kind: Atom) -> Atom:
        return atoms.value_atom(atoms.type_of(kind).base_severity)

    def detector(self, name: str, declared: str) -> Callable[..., Atom]:
        """A detector as a predicate: of segments, the dialogue and the knowledge base, as its type declares."""
        match "DialogueState" in declared, "KnowledgeBase" in declared:
            case True, True:
                return lambda segments, state, kb: self.detect_one(name, segments, state, kb)
            case True, False:
                return lambda segments, state: self.detect_one(name, segments, state)
            case False, True:
                return lambda segments, kb: self.detect_one(name, segments, None, kb)
        return lambda segments: self.detect_one(name, segments)

    def close(self) -> None:
        for store in self.opened:
            store.close()


def predicates(own: MettaPredicates) -> dict[str, Callable[..., Atom]]:
    """All predicates by name, and the two constructors of their arguments. Each is the method of its name."""
    found: dict[str, Callable[..., Atom]] = {}
    for name in ("knowledge-base", "dialogue-state", *TYPES):
        method = name.replace("-", "_")
        detects = method.removeprefix("detect_")
        found[name] = own.detector(detects, TYPES[name]) if detects in DETECTORS else getattr(own, method)
    return found


def _turns(state: Atom) -> tuple[Turn, ...]:
    return atoms.object_of(state, DialogueTurns, _DIALOGUE_HINT).turns


def _base(atom: Atom) -> KnowledgeBase:
    return atoms.object_of(atom, KnowledgeBase, _KB_HINT)  # type: ignore[type-abstract]


def _segment_of(claim: Atom) -> Segment:
    found = atoms.claim_of(claim)
    return Segment(0, str(found), found.start, found.end, (found,))


def _rebuild_response(parts: Sequence[Segment]) -> str:
    """Rebuild the response from its segments, each at its offset."""
    text = ""
    for part in sorted(parts, key=lambda s: s.start):
        text = text.ljust(part.start) + part.text
    return text


def register(
    metta: MeTTa,
    engine: Groundwire | None = None,
    *,
    kb: KnowledgeBase | None = None,
    history: Sequence[Turn] = (),
    now: datetime | None = None,
    folder: Path | None = None,
) -> MettaPredicates:
    """Register every predicate with a MeTTa runner; `&kb` and `&dialogue` refer to the arguments given here.

    `knowledge-base` opens any store, or only those below `folder` if it is given.
    Call `close()` on the result when the runner is no longer used.
    """
    own = MettaPredicates(engine or Groundwire(), now or datetime.now(UTC).replace(tzinfo=None), folder)
    for name, function in predicates(own).items():
        declared = metta.parse_single(TYPES[name]) if name in TYPES else None
        metta.register_atom(name, operation(name, function, declared))
    if kb is not None:
        metta.register_atom("&kb", atoms.value_atom(atoms.Handle(kb), "KnowledgeBase"))
    state = atoms.value_atom(atoms.Handle(DialogueTurns(tuple(history))), "DialogueState")
    metta.register_atom("&dialogue", state)
    return own
