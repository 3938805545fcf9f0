"""MeTTa predicates: `register` adds them to a MeTTa runner."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire._loop import run
from groundwire.detectors import wording
from groundwire.detectors.context import DetectionContext, read_dialogue, segment_response
from groundwire.detectors.kb_lookup import fetch_snapshot
from groundwire.detectors.registry import DETECTORS, load_detector
from groundwire.detectors.wording import HistoryEvidence, KBEvidence, Signal
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.integrations import metta_atoms as atoms
from groundwire.integrations.metta_atoms import DialogueTurns
from groundwire.integrations.metta_runner import below, operation
from groundwire.openie.lexicon import mentions
from groundwire.openie.tense import times
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Action, ActionKind, Flag, KnowledgeBase, Segment, TimeExpression, Triple, Turn
from groundwire.verdicts.repair import guidance, mitigate

if TYPE_CHECKING:
    from hyperon import Atom, MeTTa

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
"""The declared type of every predicate; Number, since MeTTa compares and adds only those.

By these types arguments are converted to values and results to atoms, so the predicates themselves know no atoms."""
_TYPE = re.compile(r"\(\w+ \w+\)|\w+")
_WITHOUT_STATE: dict[str, Callable[..., Any]] = {
    "hallucination-confidence": attrgetter("confidence"),
    "hallucination-severity": attrgetter("base_severity"),
    "extract-entities": mentions,
    "generate-regeneration-guidance": guidance,
    "linguistic-signals": wording.linguistic_signals,
    "evidence-strength": wording.strength,
}


@dataclass(slots=True)
class MettaPredicates:
    """The predicates that need the engine or the reference time, and the stores that programs opened.

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
        return atoms.handle_atom(self.opened[-1], "KnowledgeBase")

    def dialogue_state(self, turns: Atom) -> Atom:
        said = [atoms.turn_of(atom, number) for number, atom in enumerate(atoms.items(turns), start=1)]
        return atoms.handle_atom(DialogueTurns(tuple(said)), "DialogueState")

    def detect_hallucinations(self, response: str, state: DialogueTurns, kb: KnowledgeBase) -> Sequence[Flag]:
        found = run(self.engine.detect(response, history=state.turns, kb=kb, now=self.now))
        if found.errors:
            raise InputError("; ".join(found.errors))
        return found.flags

    def detect(self, name: str, parts: Sequence[Segment], *context: DialogueTurns | KnowledgeBase) -> Sequence[Flag]:
        """The flags of one detector, given the dialogue and the knowledge base where it reads them."""
        turns = next((one.turns for one in context if isinstance(one, DialogueTurns)), ())
        kb = next((one for one in context if not isinstance(one, DialogueTurns)), None)
        view = DetectionContext(
            _rebuild_response(parts),
            tuple(parts),
            self.now,
            read_dialogue(turns, self.now),
            fetch_snapshot(kb, parts) if kb is not None else None,
            verifier=self.engine.backend.verifier,
        )
        return run(load_detector(name)(view))

    def segment_response(self, response: str) -> Sequence[Segment]:
        return segment_response(response, self.now)

    def extract_claims(self, text: str) -> list[Triple]:
        return [claim for part in segment_response(text, self.now) for claim in part.claims]

    def extract_temporals(self, text: str) -> list[TimeExpression]:
        return times(text, 0, self.now)

    def entity_exists(self, name: str, kb: KnowledgeBase) -> bool:
        return name in kb.find([name], fuzzy=False)

    def attribute_matches(self, name: str, attribute: str, value: str, kb: KnowledgeBase) -> bool:
        """True if the knowledge base has exactly this value for the entity's attribute."""
        known = kb.find([name], fuzzy=False).get(name)
        held = known.entity.values_of(attribute, self.now.date()) if known else []
        claim = segment_response(f"{name}'s {attribute} is {value}.", self.now)
        return bool(held) and not self.detect("wrong_attributes", claim, kb)

    def contradicts_kb(self, claim: Triple, kb: KnowledgeBase) -> bool:
        return any(self.detect(name, [_segment_of(claim)], kb) for name in _CONTRADICTIONS)

    def contradicts_history(self, claim: Triple, state: DialogueTurns) -> bool:
        return bool(self.detect("history_contradictions", [_segment_of(claim)], state))

    def mitigate_hallucination(self, flag: Flag, kb: KnowledgeBase) -> Action:  # noqa: ARG002 (a flag has its correction)
        return mitigate([flag], " " * flag.start + flag.content, self.engine.config.mitigation)[0]

    def find_correction(self, flag: Flag, kb: KnowledgeBase) -> str:
        action = self.mitigate_hallucination(replace(flag, confidence=1.0), kb)
        return action.replacement if action.kind is ActionKind.CORRECT else ""

    def score_hallucination_confidence(
        self,
        flag: Flag,
        kb: KBEvidence | None,
        history: HistoryEvidence | None,
        signals: Sequence[Signal],
        others: Sequence[Flag],
    ) -> float:
        return wording.score(flag, kb, history, signals, others, self.engine.config.detectors.evidence_weights)

    def close(self) -> None:
        for store in self.opened:
            store.close()


def predicates(own: MettaPredicates) -> dict[str, Callable[..., Atom]]:
    """All predicates by name, and the two constructors of their arguments, as functions on atoms."""
    found: dict[str, Callable[..., Atom]] = {"knowledge-base": own.knowledge_base, "dialogue-state": own.dialogue_state}
    for name, declared in TYPES.items():
        method = name.replace("-", "_")
        detects = method.removeprefix("detect_")
        plain = partial(own.detect, detects) if detects in DETECTORS else None
        function = plain or _WITHOUT_STATE.get(name) or getattr(own, method)
        found[name] = partial(_call, function, _TYPE.findall(declared))
    return found


def _call(function: Callable[..., Any], types: Sequence[str], *arguments: Atom) -> Atom:
    *taken, returned = types
    values = [atoms.from_atom(atom, kind) for atom, kind in zip(arguments, taken, strict=True)]
    return atoms.to_atom(function(*values), returned)


def _segment_of(claim: Triple) -> Segment:
    return Segment(0, str(claim), claim.start, claim.end, (claim,))


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
        metta.register_atom("&kb", atoms.handle_atom(kb, "KnowledgeBase"))
    metta.register_atom("&dialogue", atoms.handle_atom(DialogueTurns(tuple(history)), "DialogueState"))
    return own
