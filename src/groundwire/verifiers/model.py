"""The backend `model`: an ONNX cross-encoder, pair scorer or token classifier, by folder or by name.

The kind of a model is read from its `config.json`, or from the labels that the user names; each kind has an
adapter of a few lines:

    nli      P(entailment), P(contradiction) of a natural language inference model
    score    one support score: a single logit, or the class that means "supported"
    tokens   unsupported words of the claim, from a token classifier

Long contexts are read in overlapping windows: a claim is as supported as in its best window.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from groundwire._optional import load
from groundwire.errors import BackendDown, ConfigError
from groundwire.text.structure import MARKERS
from groundwire.types import Estimate, Query, Span

Floats = NDArray[np.float32]
ModelKind = Literal["nli", "score", "tokens"]

_FEATURE = "the backend 'model'"
_FILES = ("config.json", "tokenizer.json", "model.onnx", "onnx/model.onnx")
_MAX_TOKENS = 512  # what most encoders were trained for, where the configuration does not say
_OVERLAP = 4  # neighbouring windows share a fourth of their tokens, so that no sentence is only seen in part
_MIN_WINDOW = 32  # tokens of context beside the longest templates
_SPECIAL = 8  # tokens that separate the segments
_MARKED = 0.5
_HEADER = re.compile(r"^\[[^\]\n]{1,64}\] ", re.MULTILINE)
_DENIES = re.compile(r"contra|refut", re.IGNORECASE)
_NOT = re.compile(r"not|non|un|in(?=consist)|halluc|fabric|refut|contra", re.IGNORECASE)
_SUPPORTS = re.compile(r"entail|support|consist|faithful|ground|factual", re.IGNORECASE)
_FIELD = re.compile(r"\{(premise|question|hypothesis)\}")
_LABELS_HINT = "name them in the model's order, such as --labels contradiction,entailment,neutral (model.labels)"
_INPUTS = {
    "ids": ("input_ids", "ids"),
    "attention_mask": ("attention_mask", "mask"),
    "type_ids": ("token_type_ids", "types"),
}


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model's files are, and its `config.json`."""

    name: str
    onnx: Path
    tokenizer: Path
    config: Mapping[str, Any]

    @property
    def labels(self) -> tuple[str, ...]:
        named = self.config.get("id2label") or {}
        return tuple(named[key] for key in sorted(named, key=int))

    @property
    def max_tokens(self) -> int:
        stated = self.config.get("max_position_embeddings")
        return min(stated, _MAX_TOKENS) if isinstance(stated, int) and stated > 0 else _MAX_TOKENS


def locate(name: str) -> ModelFiles:
    """The files of a model: a folder, an .onnx file, or a name on Hugging Face, which is downloaded once."""
    path = Path(name).expanduser()
    folder = path.parent if path.suffix == ".onnx" else path
    if not path.exists():
        if path.suffix == ".onnx" or name.count("/") != 1 or name[0] in "./~":
            raise ConfigError(f"there is no model at {name}", hint="give a folder, an .onnx file or OWNER/NAME")
        folder = _download(name)
    if folder.name == "onnx" and not (folder / "tokenizer.json").exists():
        folder = folder.parent
    found = [path] if path.suffix == ".onnx" else [folder / file for file in reversed(_FILES[2:])]
    onnx = next((file for file in (*found, *sorted(folder.glob("*.onnx"))) if file.exists()), None)
    tokenizer = folder / "tokenizer.json"
    if onnx is None or not tokenizer.exists():
        missing = "an ONNX file" if onnx is None else "a tokenizer.json"
        raise ConfigError(
            f"{name} does not have {missing}",
            hint=f"export it: optimum-cli export onnx --model {name} FOLDER, then --model FOLDER",
        )
    config = folder / "config.json"
    stated = json.loads(config.read_text(encoding="utf-8")) if config.exists() else {}
    return ModelFiles(name, onnx, tokenizer, stated)


def _download(name: str) -> Path:
    hub = load("huggingface_hub", feature=f"the model '{name}'", extra="hub")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(_FILES)))
    except Exception as error:  # the hub raises its own, its HTTP library's and the file system's errors
        raise ConfigError(f"cannot download {name} from Hugging Face: {type(error).__name__}") from error


def kind_of(architecture: str, labels: Sequence[str], rank: int = 2) -> ModelKind:
    """The kind of a model, by its architecture, its labels and the dimensions of its output.

    >>> kind_of("BertForTokenClassification", ["LABEL_0", "LABEL_1"])
    'tokens'
    >>> kind_of("DebertaV2ForSequenceClassification", ["contradiction", "entailment", "neutral"])
    'nli'
    >>> kind_of("RobertaForSequenceClassification", ["LABEL_0", "LABEL_1"])
    'score'
    >>> kind_of("", ["supported", "hallucinated"], rank=3)
    'tokens'
    """
    if architecture.endswith("TokenClassification") or rank == 3:
        return "tokens"
    return "nli" if any("entail" in label.lower() for label in labels) or len(labels) == 3 else "score"


def supporting(labels: Sequence[str]) -> int:
    """The index of the label that means "supported"; the last one if none is named so.

    >>> supporting(["entailment", "not_entailment"]), supporting(["LABEL_0", "LABEL_1"])
    (0, 1)
    >>> supporting(["hallucinated", "consistent"]), supporting(["consistent", "hallucinated"])
    (1, 0)
    """
    named = [i for i, label in enumerate(labels) if _SUPPORTS.search(label) and not _NOT.search(label)]
    return named[0] if named else len(labels) - 1


@dataclass(frozen=True, slots=True)
class WindowReading:
    """What a model says of one window: P(yes), P(no) and, for `tokens`, P(unsupported) per claim token."""

    yes: float
    no: float = 0.0
    tokens: tuple[float, ...] = ()


Adapter = Callable[[Floats, Sequence[str], Sequence[int]], WindowReading]
"""From a model's logits, its labels and the positions of the claim's tokens to a reading."""


def read_nli(logits: Floats, labels: Sequence[str], _: Sequence[int]) -> WindowReading:
    shares = _softmax(logits)
    denied = [i for i, label in enumerate(labels) if _DENIES.search(label)]
    return WindowReading(float(shares[supporting(labels)]), float(sum(shares[i] for i in denied)))


def read_score(logits: Floats, labels: Sequence[str], _: Sequence[int]) -> WindowReading:
    if logits.size == 1:
        return WindowReading(float(1.0 / (1.0 + np.exp(-float(logits.reshape(-1)[0])))))
    return WindowReading(float(_softmax(logits)[supporting(labels)]))


def read_tokens(logits: Floats, labels: Sequence[str], claim: Sequence[int]) -> WindowReading:
    """Class 1 of a detector is "hallucinated" unless its labels say otherwise."""
    named = [i for i, label in enumerate(labels) if _NOT.search(label)]
    bad = tuple(float(_softmax(logits[at])[named[0] if named else 1]) for at in claim)
    return WindowReading(1.0 - max(bad, default=0.0), 0.0, bad)


ADAPTERS: dict[ModelKind, Adapter] = {"nli": read_nli, "score": read_score, "tokens": read_tokens}


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits.astype(np.float64) - float(logits.max()))
    found: Floats = (shifted / shifted.sum()).astype(np.float32)
    return found


class ModelVerifier:
    """A verifier over a model that the user provides.

    Args:
        name: see `locate`.
        kind: the kind of model; by default read from its configuration.
        labels: names of its classes in order, where the configuration has none or wrong ones.
        template: the input, with {premise}, {question} and {hypothesis}; without {hypothesis} it is the first
            of two segments, the claim the second.
    """

    def __init__(
        self,
        name: str,
        *,
        kind: ModelKind | None = None,
        labels: Sequence[str] = (),
        template: str = "{premise}",
        max_tokens: int | None = None,
    ) -> None:
        self.files = locate(name)
        architecture = str((self.files.config.get("architectures") or [""])[0])
        self.labels = tuple(labels) or self.files.labels
        shape = self._session.get_outputs()[0].shape
        self.kind: ModelKind = kind or kind_of(architecture, self.labels, len(shape))
        self._check_labels(shape[-1] if isinstance(shape[-1], int) else None, stated=kind is not None)
        self._template = template
        self._max_tokens = max_tokens or self.files.max_tokens
        self.method = f"model/{self.kind}"

    def _check_labels(self, classes: int | None, *, stated: bool) -> None:
        """Refuse a model whose classes cannot be told apart: read in the wrong order, they would mean the opposite.

        Args:
            classes: how many the model has, if the file says so.
            stated: the user named the kind, and with it the usual order of its classes.
        """
        name, labels = self.files.name, self.labels
        if labels and classes is not None and len(labels) != classes:
            whose = f"has {classes} classes, but {len(labels)} labels are named: {', '.join(labels)}"
            raise ConfigError(f"{name} {whose}", hint=_LABELS_HINT)
        if not labels and classes != 1 and not self.files.config and not stated:
            unknown = "has no config.json, so nothing says what its classes mean"
            raise ConfigError(f"{name} {unknown}", hint=_LABELS_HINT)
        unnamed = self.kind == "nli" and not any(_SUPPORTS.search(label) for label in labels)
        if unnamed or (not labels and (classes or 1) > 2):
            raise ConfigError(f"the labels of {name} have no names", hint=_LABELS_HINT)

    @cached_property
    def identity(self) -> str:
        """Part of cache keys: the weights themselves and everything that changes how they are read."""
        weights = hashlib.sha256(self.files.onnx.read_bytes()).hexdigest()[:16]
        return f"{self.method}|{weights}|{','.join(self.labels)}|{self._template}|{self._max_tokens}"

    @cached_property
    def _session(self) -> Any:
        onnxruntime = load("onnxruntime", feature=_FEATURE, extra="local")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(str(self.files.onnx), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no common base class for its errors
            raise BackendDown(f"cannot load {self.files.onnx}: {type(error).__name__}") from error

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers = load("tokenizers", feature=_FEATURE, extra="local")
        found = tokenizers.Tokenizer.from_file(str(self.files.tokenizer))
        found.no_truncation()
        found.no_padding()
        return found

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return [self._judge(query) for query in queries]

    def _judge(self, query: Query) -> Estimate:
        claim, room = self._fitted(_clean(query.claim))
        readings: list[WindowReading] = []
        offsets: list[tuple[int, int]] = []
        for window in self._windows(_evidence(query.context), room):
            reading, offsets = self._read(window, claim, _clean(query.question))
            readings.append(reading)
        if self.kind == "tokens" and not offsets:
            return Estimate.failed("the model read no word of the claim", self.method)
        if self.kind == "tokens":
            # A word is unsupported if no window supports it.
            bad = [min(column) for column in zip(*(r.tokens for r in readings), strict=False)]
            yes, spans = 1.0 - max(bad, default=0.0), marked_spans(offsets[: len(bad)], bad)
        else:
            yes, spans = max(reading.yes for reading in readings), ()
        no = min(max(reading.no for reading in readings), 1.0 - yes)
        return Estimate.point(yes, no, self.method, spans=spans)

    def _fitted(self, claim: str) -> tuple[str, int]:
        """The claim, cut where it would take more than half of the input, and the tokens left for context."""
        offsets = self._tokenizer.encode(claim, add_special_tokens=False).offsets[: self._max_tokens // 2]
        rest = self._max_tokens - len(offsets) - len(self._tokenizer.encode(self._template).ids) - _SPECIAL
        return claim[: offsets[-1][1]] if offsets else claim, max(_MIN_WINDOW, rest)

    def _windows(self, context: str, room: int) -> list[str]:
        offsets = self._tokenizer.encode(context, add_special_tokens=False).offsets
        if len(offsets) <= room:
            return [context]
        step = room - room // _OVERLAP
        parts = [offsets[at : at + room] for at in range(0, max(1, len(offsets) - room // _OVERLAP), step)]
        return [context[part[0][0] : part[-1][1]] for part in parts]

    def _read(self, window: str, claim: str, question: str) -> tuple[WindowReading, list[tuple[int, int]]]:
        values = {"premise": window, "question": question, "hypothesis": claim}
        before, within, _ = self._template.partition("{hypothesis}")
        # In one pass: a source that writes "{hypothesis}" means nothing by it.
        filled = _FIELD.sub(lambda field: values[field[1]], self._template)
        if within:
            # One segment: the claim's tokens are those that lie where it was put in.
            encoded, at = self._tokenizer.encode(filled), len(_FIELD.sub(lambda field: values[field[1]], before))
            own = [i for i, (a, b) in enumerate(encoded.offsets) if at <= a < b <= at + len(claim)]
        else:
            encoded, at = self._tokenizer.encode(filled, claim), 0
            own = [i for i, segment in enumerate(encoded.sequence_ids) if segment == 1]
        own = [i for i in own if i < self._max_tokens]
        feed = {
            node.name: np.array([getattr(encoded, field)[: self._max_tokens]], np.int64)
            for node in self._session.get_inputs()
            for field, names in _INPUTS.items()
            if node.name in names
        }
        logits = self._session.run(None, feed)[0][0]
        reading = ADAPTERS[self.kind](logits, self.labels, own)
        return reading, [(encoded.offsets[i][0] - at, encoded.offsets[i][1] - at) for i in own]


def marked_spans(offsets: Sequence[tuple[int, int]], bad: Sequence[float]) -> tuple[Span, ...]:
    """Ranges of neighbouring tokens that are more likely unsupported than not.

    >>> marked_spans([(0, 3), (4, 9), (9, 10), (11, 14)], [0.1, 0.9, 0.7, 0.2])
    (Span(start=4, end=10, score=0.9),)
    """
    spans: list[Span] = []
    previous = -2
    for i, ((start, end), score) in enumerate(zip(offsets, bad, strict=True)):
        if score <= _MARKED:
            continue
        if spans and i == previous + 1:
            spans[-1] = Span(spans[-1].start, end, max(spans[-1].score, score))
        else:
            spans.append(Span(start, end, score))
        previous = i
    return tuple(spans)


def _evidence(context: str) -> str:
    """The context without source ids and markers of removed evidence, which other models do not know."""
    for marker in MARKERS:
        context = context.replace(marker, "")
    return _clean(_HEADER.sub("", context)).strip()


def _clean(text: str) -> str:
    """Lone surrogates cannot be encoded; they are replaced one by one, so that offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")
