"""Models of one's own, made here: small ONNX files whose weights are set by hand, and our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.figures import figures as figures_of
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import ConfigError
from groundwire.types import Query, Span
from groundwire.verifiers.backends import open_backend
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.local.network import FOLDER
from groundwire.verifiers.model import ModelVerifier

WORDS = ["[CLS]", "[SEP]", "[UNK]", "tower", "tall", "not", "red", "the", "is", "."]
FACT = "the tower is tall ."
SUPPORTED = Query("the tower is tall .", "[S0] the tower is tall .")
DENIED = Query("the tower is tall .", "[S0] the tower is not tall .")
SILENT = Query("the tower is tall .", "[S0] [EVIDENCE REMOVED]")


def write(
    folder: Path, nodes: Sequence[Any], weights: dict[str, np.ndarray[Any, Any]], shape: list[Any], config: object
) -> str:
    """A model that sees token ids alone, its tokenizer and its configuration."""
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(list(nodes), "tiny", [ids], [out], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    folder.mkdir(exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def pair_model(folder: Path, classes: Mapping[str, Sequence[float]], bias: Sequence[float], config: object) -> str:
    """Adds up the weights of all words: `classes` gives the weight of a word for each class."""
    table = np.zeros((len(WORDS), len(bias)))
    for word, weights in classes.items():
        table[WORDS.index(word)] = weights
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axes"], ["sum"], keepdims=0),
        helper.make_node("Add", ["sum", "bias"], ["logits"]),
    ]
    axes = helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(np.array([1])))
    stored = {"table": table, "bias": np.array(bias)}
    return write(folder, [axes, *nodes], stored, [1, len(bias)], config)


@pytest.fixture
def nli(tmp_path: Path) -> Callable[..., str]:
    """Entailment where "tower" stands twice (in the context and in the claim), contradiction with "not"."""

    def make(order: Sequence[str]) -> str:
        weight = {"entailment": {"tower": 4.0, "not": -9.0}, "contradiction": {"not": 9.0}, "neutral": {}}
        classes = {word: [weight[label].get(word, 0.0) for label in order] for word in ("tower", "not")}
        bias = [-6.0 if label == "entailment" else 0.0 for label in order]
        config = {"architectures": ["BertForSequenceClassification"], "id2label": dict(enumerate(order))}
        return pair_model(tmp_path / "-".join(order), classes, bias, config)

    return make


@pytest.mark.parametrize(
    "order", [("entailment", "neutral", "contradiction"), ("contradiction", "entailment", "neutral")]
)
async def test_an_nli_model_is_read_in_the_label_order_of_its_own_config(
    nli: Callable[..., str], order: Sequence[str]
) -> None:
    yes, no, silent = await ModelVerifier(nli(order)).estimate([SUPPORTED, DENIED, SILENT])
    assert (round(yes.p_yes, 1), round(no.p_no, 1), round(silent.p_yes, 1)) == (0.8, 1.0, 0.1)
    assert yes.method == "model/nli"


async def test_labels_without_names_must_be_given(tmp_path: Path) -> None:
    config = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"},
    }
    path = pair_model(tmp_path / "m", {"tower": [0.0, 4.0, 0.0]}, [0.0, -6.0, 0.0], config)
    with pytest.raises(ConfigError, match=r"--labels contradiction,entailment,neutral"):
        ModelVerifier(path)
    labels = ("contradiction", "entailment", "neutral")
    (found,) = await ModelVerifier(path, labels=labels).estimate([SUPPORTED])
    assert found.p_yes > 0.7


def test_a_folder_without_config_json_is_refused_until_its_labels_are_named(nli: Callable[..., str]) -> None:
    order = ("contradiction", "entailment", "neutral")
    path = nli(order)
    Path(path, "config.json").unlink()
    check = ["check", FACT, "-s", FACT, "--model", path]
    refused = CliRunner().invoke(main.app, check)
    assert isinstance(refused.exception, ConfigError)
    assert "has no config.json" in str(refused.exception)
    assert "--labels contradiction,entailment,neutral" in str(refused.exception)
    read = CliRunner().invoke(main.app, [*check, "--labels", ",".join(order)])
    assert read.exit_code == 0, read.output
    assert "c1  supported" in read.output


def test_labels_that_do_not_fit_the_model_are_refused(nli: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"has 3 classes, but 2 labels are named: entailment, neutral"):
        ModelVerifier(nli(("entailment", "neutral", "contradiction")), labels=("entailment", "neutral"))


async def test_a_single_score_needs_no_config_json(tmp_path: Path) -> None:
    path = pair_model(tmp_path / "m", {"tower": [3.0]}, [-4.5], {})
    (tmp_path / "m" / "config.json").unlink()
    yes, silent = await ModelVerifier(path).estimate([SUPPORTED, SILENT])
    assert (round(yes.p_yes, 1), round(silent.p_yes, 1)) == (0.8, 0.2)


@pytest.mark.parametrize(
    ("labels", "weights"),
    [
        ({0: "LABEL_0"}, [3.0]),
        ({0: "LABEL_0", 1: "LABEL_1"}, [0.0, 3.0]),
        ({0: "consistent", 1: "hallucinated"}, [3.0, 0.0]),
    ],
)
async def test_pair_scorers_give_their_support_score(
    tmp_path: Path, labels: dict[int, str], weights: list[float]
) -> None:
    """One logit as HHEM, two classes as MiniCheck."""
    config = {"architectures": ["RobertaForSequenceClassification"], "id2label": labels}
    bias = [-4.5 if weight else 0.0 for weight in weights]
    path = pair_model(tmp_path / "m", {"tower": weights}, bias, config)
    yes, silent = await ModelVerifier(path).estimate([SUPPORTED, SILENT])
    assert yes.p_yes > 0.8
    assert silent.p_yes < 0.2
    assert yes.method == "model/score"


async def test_a_template_replaces_the_pair(tmp_path: Path) -> None:
    config = {"architectures": ["RobertaForSequenceClassification"], "id2label": {0: "LABEL_0"}}
    path = pair_model(tmp_path / "m", {"red": [5.0]}, [-4.0], config)
    (plain,) = await ModelVerifier(path).estimate([SUPPORTED])
    (said,) = await ModelVerifier(path, template="red {premise} is {hypothesis}").estimate([SUPPORTED])
    assert plain.p_yes < 0.1
    assert said.p_yes > 0.7


def token_model(folder: Path) -> str:
    """Says of "red", wherever it stands, that it is hallucinated."""
    table = np.zeros((len(WORDS), 2))
    table[:, 0], table[WORDS.index("red"), 1] = 2.0, 6.0
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["logits"])]
    config = {"architectures": ["ModernBertForTokenClassification"], "id2label": {0: "LABEL_0", 1: "LABEL_1"}}
    return write(folder, nodes, {"table": table}, [1, "n", 2], config)


async def test_a_token_classifier_marks_the_unsupported_words(tmp_path: Path) -> None:
    """A detector of the LettuceDetect kind, for which "red" is hallucinated."""
    path = token_model(tmp_path / "m")
    bad, good = await ModelVerifier(path).estimate([Query("the tower is red .", "the tower"), SUPPORTED])
    assert bad.p_yes < 0.1
    assert good.p_yes > 0.8
    ((start, end),) = [(span.start, span.end) for span in bad.spans]
    assert "the tower is red ."[start:end] == "red"
    assert good.spans == ()


@pytest.mark.parametrize("template", ["{premise} {hypothesis}", "{hypothesis} is not {premise}"])
async def test_a_token_classifier_with_a_prompt_of_one_segment_marks_them_too(tmp_path: Path, template: str) -> None:
    verifier = ModelVerifier(token_model(tmp_path / "m"), template=template)
    red = "the red tower {hypothesis} {premise}"
    bad, good = await verifier.estimate([Query("the tower is red .", red), Query("the tower is tall .", red)])
    assert (bad.p_yes < 0.1, good.p_yes > 0.8, good.spans) == (True, True, ())
    assert [("the tower is red ."[span.start : span.end]) for span in bad.spans] == ["red"]


async def test_a_claim_of_which_a_token_classifier_reads_nothing_is_unchecked(tmp_path: Path) -> None:
    (found,) = await ModelVerifier(token_model(tmp_path / "m")).estimate([Query(" ", FACT)])
    assert found.error == "the model read no word of the claim"


async def test_a_claim_is_as_supported_as_in_its_best_window(nli: Callable[..., str]) -> None:
    path = nli(("entailment", "neutral", "contradiction"))
    long = "the the the " * 300 + "the tower is tall . " + "is is is " * 300
    (found,) = await ModelVerifier(path, max_tokens=64).estimate([Query(SUPPORTED.claim, long)])
    assert found.p_yes > 0.7


@pytest.mark.parametrize("text", ["", "\ud800 x", "(" * 2000, "word " * 3000, "[S0] [EVIDENCE REMOVED]", "\x00"])
async def test_no_text_makes_it_fail(nli: Callable[..., str], text: str) -> None:
    verifier = ModelVerifier(nli(("entailment", "neutral", "contradiction")))
    for estimate in await verifier.estimate([Query(text, FACT), Query(FACT, text), Query(text, text)]):
        assert 0.0 <= estimate.p_yes <= 1.0
        assert estimate.p_yes + estimate.p_no <= 1.0 + 1e-6


async def test_a_report_with_a_model_of_ones_own(nli: Callable[..., str], tmp_path: Path) -> None:
    settings = {
        "model.path": nli(("entailment", "neutral", "contradiction")),
        "store.cache_path": str(tmp_path / "c.db"),
    }
    for _ in range(2):  # the second time from the cache
        async with Groundwire(Config.load(overrides=settings), backend="model") as engine:
            report = await engine.check("the tower is tall .", {"S0": "the tower is not tall ."})
        (claim,) = report.claims
        assert (report.backend, claim.status.value, claim.method) == ("model", "CONTRADICTED", "model/nli")
    figures = figures_of(engine.metrics)
    assert figures.cache_hits >= 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("./nowhere", "there is no model"), ("", "has no model"), ("{empty}", "does not have an ONNX file")],
)
def test_what_is_not_a_model_is_one_line_with_the_fix(tmp_path: Path, name: str, message: str) -> None:
    path = name.replace("{empty}", str(tmp_path))
    with pytest.raises(ConfigError, match=message):
        open_backend(Config.load(overrides={"model.path": path or None}), name="model")


async def test_our_own_weights_are_a_model_as_any_other() -> None:
    labels = ("entailment", "neutral", "contradiction")
    verifier = ModelVerifier(str(FOLDER), kind="nli", labels=labels, max_tokens=128)
    same, other = await verifier.estimate(
        [
            Query("The tower is 330 metres tall.", "The tower is 330 metres tall."),
            Query("The tower is 330 metres tall.", "Cats sleep most of the day."),
        ]
    )
    assert same.p_yes > other.p_yes
    assert same.p_yes > 0.5


def make(_: Config) -> FakeVerifier:
    return FakeVerifier()


class TestPlugins:
    """Backends of other packages: an entry point in the group `groundwire.verifiers`."""

    @pytest.fixture(autouse=True)
    def _installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        named = {"mine": f"{__name__}:make", "broken": "there_is_no_such_module:make"}
        entries = EntryPoints([EntryPoint(name, value, "groundwire.verifiers") for name, value in named.items()])

        def find(**wanted: Any) -> EntryPoints:
            return entries.select(**wanted)

        monkeypatch.setattr("groundwire.config.entry_points", find)
        monkeypatch.setattr("groundwire.verifiers.backends.entry_points", find)

    async def test_a_verifier_of_another_package_is_chosen_by_its_name(self) -> None:
        config = Config.load(overrides={"hallucination.backend.type": "mine"})
        async with Groundwire(config) as engine:
            report = await engine.check("The tower is tall.", "The tower is tall.")
        assert (report.backend, report.flagged) == ("mine", False)

    async def test_one_whose_package_is_broken_is_one_line_with_the_fix(self) -> None:
        config = Config.load(overrides={"hallucination.backend.type": "broken"})
        with pytest.raises(ConfigError, match=r"'broken' cannot be loaded .*: install its package again"):
            Groundwire(config)

    def test_an_unknown_name_lists_it_among_the_others(self) -> None:
        with pytest.raises(ConfigError, match="cascade, configurable, fake, broken, mine"):
            Config.load(overrides={"hallucination.backend.type": "yours"})


def test_neighbouring_tokens_are_one_span() -> None:
    from groundwire.verifiers.model import marked_spans

    assert marked_spans([(0, 1), (1, 2), (3, 4)], [0.9, 0.6, 0.1]) == (Span(0, 2, 0.9),)
