"""Store the findings of a conversation turn as values by path, and patterns that recur across turns.

/hallucination/{session}/{turn}/detection|mitigation|metrics/…     findings, actions and measurements
/hallucination_patterns/{pattern}/…                                frequency, last occurrence and examples
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from groundwire.errors import InputError
from groundwire.stores.paths import PathEntry, PathStore, PathWriter, Scalar, path_of
from groundwire.text.names import names
from groundwire.types import HIGH_CONFIDENCE, Action, ActionKind, Detection, Flag, HallucinationType

MEDIUM = 0.5  # confidence from which a flag is counted as medium; a convention
EXAMPLES = 5  # stored per pattern
MAX_NAME = 512  # bytes of a session's or a turn's name; paths are database keys
_EVIDENCE = ("kb_lookup", "history_match", "linguistic")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LONGEST_SHAPE = 200  # characters; enough to tell sentences apart


def record(
    store: PathStore,
    session: str,
    turn: str | int,
    detection: Detection,
    actions: Sequence[Action] = (),
    *,
    now: datetime | None = None,
) -> str:
    """Store one turn in one transaction; returns its path prefix.

    Args:
        session, turn: names of the session and of the turn in it.
        detection: the findings.
        actions: the actions taken on them.
        now: the time of the findings, by default the current time.

    A turn that is stored again is replaced; patterns that it had before are not counted twice. Raises
    `InputError` if a name is too long.
    """
    root = path_of("hallucination", _named(session, "session"), _named(str(turn), "turn"))
    values = turn_values(detection, actions)
    with store.writing() as writer:
        # Every turn has this path: writing it first makes a concurrent writer of the same turn wait here.
        writer.put({f"{root}/detection/total_flags": len(detection.flags)})
        before = Counter(_patterns_of(writer.scan(f"{root}/")))
        writer.delete(f"{root}/")
        writer.put({f"{root}/{name}": value for name, value in values.items()})
        _learn(writer, detection.flags, before, now or datetime.now(UTC))
    return f"{root}/"


def turn_values(detection: Detection, actions: Sequence[Action]) -> dict[str, Scalar]:
    """The values of one turn, by their path below the turn."""
    confidences = [flag.confidence for flag in detection.flags]
    kinds = [action.kind for action in actions]
    values: dict[str, Scalar] = {
        "detection/total_flags": len(confidences),
        "detection/high_confidence": detection.high_confidence,
        "detection/medium_confidence": sum(MEDIUM <= c < HIGH_CONFIDENCE for c in confidences),
        "mitigation/action_count": sum(kind is not ActionKind.NONE for kind in kinds),
        "mitigation/corrections_applied": kinds.count(ActionKind.CORRECT),
        "mitigation/regeneration_needed": ActionKind.REGENERATE in kinds,
        "metrics/detection_time_ms": round(detection.seconds * 1000, 3),
        "metrics/segments_analyzed": len(detection.segments),
        "metrics/claims_checked": detection.claims_checked,
        "metrics/entities_verified": detection.entities_verified,
    }
    for index, flag in enumerate(detection.flags):
        values |= _under(f"detection/flag/{index}", _flag_values(flag))
    for index, action in enumerate(actions):
        values |= _under(f"mitigation/action/{index}", _action_values(action))
    return values


def _flag_values(flag: Flag) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {
        "span_start": flag.start,
        "span_end": flag.end,
        "content": flag.content,
        "type": flag.type.value,
        "confidence": round(flag.confidence, 6),
    }
    known = {"suggestion": flag.suggestion, "evidence": flag.evidence}
    # A flag that others were merged into has the lookups of all of them, its own first.
    related = {f"evidence/{kind}": "; ".join(text for name, text in flag.related if name == kind) for kind in _EVIDENCE}
    return values | {name: text for name, text in (known | related).items() if text}


def _action_values(action: Action) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {
        "type": action.kind.value,
        "span_start": action.start,
        "span_end": action.end,
        "original": action.original,
    }
    if action.kind is ActionKind.CORRECT:
        values["replacement"] = action.replacement
    return values | ({"reason": action.reason} if action.reason else {})


def _under(prefix: str, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {f"{prefix}/{name}": value for name, value in values.items()}


def shape(content: str) -> str:
    """The shape of a text: its words, with placeholders for names and numbers.

    >>> shape("Acme Corp was founded in 1987.")
    '<name> was founded in <number>'
    >>> shape("Initech was founded in 2,004") == shape("Acme Corp was founded in 1987.")
    True
    """
    text, at, parts = unicodedata.normalize("NFKC", content), 0, []
    for name in names(text):
        parts += [text[at : name.start].lower(), " <name> "]
        at = name.end
    result = _NUMBER.sub(" <number> ", "".join([*parts, text[at:].lower()]))
    return " ".join(re.sub(r"[^\w<>\s]", " ", result).split())[:_LONGEST_SHAPE]


def pattern_id(kind: HallucinationType, content: str) -> str:
    """The id of a pattern: equal for equal kind and shape, stable across processes and releases."""
    digest = hashlib.sha256(f"{kind.value}\n{shape(content)}".encode(errors="surrogatepass"))
    return f"{kind.value}-{digest.hexdigest()[:12]}"


def _patterns_of(entries: Iterable[PathEntry]) -> list[str]:
    """The patterns of a stored turn, from its flags."""
    flags: dict[str, dict[str, Scalar]] = {}
    for entry in entries:
        stem, _, name = entry.path.rpartition("/")
        if name in ("type", "content") and stem.rpartition("/")[0].endswith("/detection/flag"):
            flags.setdefault(stem, {})[name] = entry.value
    return [
        pattern_id(HallucinationType(str(flag["type"])), str(flag["content"]))
        for flag in flags.values()
        if len(flag) == 2
    ]


def _learn(writer: PathWriter, flags: Sequence[Flag], before: Counter[str], now: datetime) -> None:
    named = [(pattern_id(flag.type, flag.content), flag) for flag in flags]
    fresh = Counter(name for name, _ in named) - before
    for name in sorted(fresh):  # sorted, so that two writers cannot deadlock
        alike = [flag for pattern, flag in named if pattern == name]
        root = path_of("hallucination_patterns", name)
        seen = writer.add(f"{root}/frequency", fresh[name])
        values: dict[str, Scalar] = {
            f"{root}/type": alike[0].type.value,
            f"{root}/description": f"{alike[0].type.description}: {shape(alike[0].content)}",
            f"{root}/last_seen": now.astimezone(UTC).isoformat(timespec="seconds"),
        }
        stored = {entry.value for entry in writer.scan(f"{root}/examples/")}
        new = [c for c in dict.fromkeys(flag.content for flag in alike) if c not in stored]
        # The counter's row is locked until the commit, so these slots are free; the oldest is overwritten.
        places = {f"{root}/examples/{(seen + n) % EXAMPLES}": c for n, c in enumerate(new[-EXAMPLES:])}
        writer.put(values | places)


def _named(name: str, what: str) -> str:
    if len(name.encode(errors="surrogatepass")) > MAX_NAME:
        raise InputError(f"the {what}'s name is longer than {MAX_NAME} bytes", hint="use a shorter name")
    return name
