"""Train the cross-encoder on weighted pools of pairs. Resumable: a run continues from its own checkpoint.

python -m training.train --run a1 --base mpnet --mix short --minutes 60 [--start CHECKPOINT] [--partner a2]

Learning rate: linear warm-up, constant, then linear decay over the last `--decay` share of the minutes.
With `--partner`, two runs of one thread each average their weights at every checkpoint: on two busy cores
they see more pairs than one run of two threads, whose threads wait for each other.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from training.base_model import BASE
from training.data import WORK
from training.export import load_model
from training.mixes import MIXES
from training.network import GTE_SMALL, SHAPES, CrossEncoder, Shape
from training.pairs import ENTAILMENT, NOT_ENTAILED, TokenPair, load

CHECKPOINTS = WORK / "checkpoints"
CHECKPOINT_SECONDS = 240
STALE_SECONDS = 400
TOKENS_PER_BATCH = 1792
LONGEST_BATCH = 32
TWIN_WEIGHT = 0.5
"""Of the loss over twins, beside the cross-entropy of each pair."""


class Pools:
    """Draws pairs: a pool by its weight, then a label with even odds for supported and unsupported.

    A pair that has a twin is drawn with it, into the same batch.
    """

    def __init__(self, mix: dict[str, float], seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.weights = np.array(list(mix.values())) / sum(mix.values())
        pools = [load(name) for name in mix]
        self.pools = [self._by_label(pool) for pool in pools]
        self.twins = [self._by_number(pool) for pool in pools]

    @staticmethod
    def _by_label(pool: list[TokenPair]) -> list[list[TokenPair]]:
        return [[item for item in pool if item.label == label] for label in range(4)]

    @staticmethod
    def _by_number(pool: list[TokenPair]) -> dict[int, list[TokenPair]]:
        found: dict[int, list[TokenPair]] = {}
        for item in pool:
            if twins_of(item) >= 0:
                found.setdefault(item.twins, []).append(item)
        return {number: items for number, items in found.items() if len(items) == 2}

    def draw(self) -> list[TokenPair]:
        chosen = self.random.choice(len(self.pools), p=self.weights)
        labels = self.pools[chosen]
        wrong = [items for items in labels[1:] if items]
        # Three-way pools give a third to entailment, so that no label is rare; two-way ones a half.
        share = 0.4 if len(wrong) > 1 else 0.5
        if labels[0] and (not wrong or self.random.random() < share):
            items = labels[0]
        else:
            sizes = np.sqrt([len(items) for items in wrong])
            items = wrong[self.random.choice(len(wrong), p=sizes / sizes.sum())]
        item = items[self.random.integers(len(items))]
        return self.twins[chosen].get(twins_of(item), [item])

    def batches(self, count: int = 96) -> list[list[TokenPair]]:
        """Batches of similar length, in random order. Of 24 at a time instead of 96, a sixth was padding."""
        drawn = sorted((self.draw() for _ in range(LONGEST_BATCH * count)), key=longest)
        cut: list[list[TokenPair]] = [[]]
        for items in drawn:
            size = len(cut[-1]) + len(items)
            if cut[-1] and (size > LONGEST_BATCH or longest(items) * size > TOKENS_PER_BATCH):
                cut.append([])
            cut[-1] += items
        order = self.random.permutation(len(cut))
        return [cut[i] for i in order if cut[i]]


def longest(items: list[TokenPair]) -> int:
    return max(len(item.ids) for item in items)


def twins_of(item: TokenPair) -> int:
    """Pools that were written before twins were numbered lack the field."""
    return getattr(item, "twins", -1)


def collate(batch: list[TokenPair], shape: Shape) -> tuple[Tensor, ...]:
    width = max(len(item.ids) for item in batch)
    ids = torch.full((len(batch), width), shape.pad, dtype=torch.long)
    mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
    marks = torch.full((len(batch), width), -1.0)
    for i, item in enumerate(batch):
        n = len(item.ids)
        ids[i, :n] = torch.from_numpy(shape.ids(item.ids.astype(np.int64)))
        mask[i, :n] = 1
        types[i, item.claim_start : n] = 1
        if item.marks is not None:
            end = item.claim_start + len(item.marks)
            marks[i, item.claim_start : end] = torch.from_numpy(item.marks.astype(np.float32))
    labels = torch.tensor([item.label for item in batch])
    weights = torch.tensor([item.weight for item in batch])
    twins = torch.tensor([twins_of(item) for item in batch])
    return ids, mask, types, marks, labels, weights, twins


def loss_of(pair: Tensor, token: Tensor, marks: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy of the pair head (NOT_ENTAILED: either wrong label) plus that of the token head."""
    logp = F.log_softmax(pair, dim=-1)
    picked = logp.gather(1, labels.clamp(max=2).unsqueeze(1)).squeeze(1)
    either = torch.logsumexp(logp[:, 1:], dim=-1)
    chosen = torch.where(labels == NOT_ENTAILED, either, picked)
    pair_loss = -(chosen * weights).sum() / weights.sum()
    marked = marks >= 0
    if not marked.any():
        return pair_loss
    # Supported claims are many and all zero: they count half, so that they do not drown the marked words.
    wrong = (labels != ENTAILMENT).unsqueeze(1).expand_as(marks)
    scale = torch.where(wrong, 1.0, 0.5) * torch.where(marks > 0, 1.5, 1.0)
    token_loss = F.binary_cross_entropy_with_logits(token[marked], marks[marked], weight=scale[marked])
    return pair_loss + 0.5 * token_loss


def twin_loss(pair: Tensor, labels: Tensor, twins: Tensor) -> Tensor:
    """How far twins are from being in order: the supported one should have the higher odds of entailment."""
    odds = pair[:, 0] - torch.logsumexp(pair[:, 1:], dim=-1)
    good = (labels == ENTAILMENT).unsqueeze(1)
    same = (twins.unsqueeze(1) == twins.unsqueeze(0)) & (twins >= 0).unsqueeze(1)
    ordered = same & good & ~good.T
    if not ordered.any():
        return pair.new_zeros(())
    return F.softplus(odds.unsqueeze(0) - odds.unsqueeze(1))[ordered].mean()


def learning_rate(done: float, step: int, options: argparse.Namespace) -> float:
    warm = min(1.0, (step + 1) / options.warm)
    decay = max(0.02, (1 - done) / options.decay) if options.decay > 0 else 1.0
    return float(options.peak * warm * min(1.0, decay))


def save_checkpoint(path: Path, model: CrossEncoder, optimiser: torch.optim.Optimizer, seen: dict[str, float]) -> None:
    part = path.with_suffix(".part")
    base = model.encoder.shape.name
    state = {"base": base, "model": model.state_dict(), "optimiser": optimiser.state_dict(), "seen": seen}
    torch.save(state, part)
    part.replace(path)


def average_with(model: CrossEncoder, own: Path, partner: Path) -> None:
    """Publish this run's weights and take the mean with the partner's, if those are fresh."""
    shared, theirs = own.with_suffix(".share"), partner.with_suffix(".share")
    part = shared.with_suffix(".share-part")
    torch.save({name: p for name, p in model.state_dict().items() if name != "encoder.word.weight"}, part)
    part.replace(shared)
    if theirs.exists() and time.time() - theirs.stat().st_mtime < STALE_SECONDS:
        weights = torch.load(theirs, weights_only=True)
        with torch.no_grad():
            for name, p in model.state_dict().items():
                if name in weights:
                    p.lerp_(weights[name], 0.5)


def open_model(start: str, base: str, layers: int) -> CrossEncoder:
    """The network to train: a checkpoint's, or a base's with its lowest `layers` layers (0: all)."""
    if start:
        return load_model(Path(start))
    shape = SHAPES[base]
    model = CrossEncoder(replace(shape, layers=layers) if layers else shape)
    state = torch.load(BASE / base / "encoder.pt", weights_only=True)
    model.encoder.load_state_dict({name: state[name] for name in model.encoder.state_dict()})
    return model


def freeze(model: CrossEncoder, layers: int) -> None:
    """Keep the embeddings and the lowest layers as they are: with 4 of 12 a step takes a fifth less time."""
    kept = [model.encoder.position, model.encoder.token_type, model.encoder.norm, *model.encoder.layers[:layers]]
    for part in kept if layers else ():
        part.requires_grad_(False)


def train(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    path = CHECKPOINTS / f"{options.run}.pt"
    model = open_model(options.start, options.base, options.layers)
    freeze(model, options.freeze)
    heads = [p for name, p in model.named_parameters() if not name.startswith("encoder.")]
    body = [p for name, p in model.named_parameters() if name.startswith("encoder.") and p.requires_grad]
    groups = [{"params": body, "scale": 1.0}, {"params": heads, "scale": 3.0}]
    optimiser = torch.optim.AdamW(groups, lr=options.peak, weight_decay=0.01, fused=True)
    seen = {"step": 0.0, "pairs": 0.0, "tokens": 0.0, "seconds": 0.0}
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        seen = state["seen"]
    pools = Pools(MIXES[options.mix], options.seed + int(seen["step"]))
    run(options, model, optimiser, pools, seen, path)


def run(
    options: argparse.Namespace,
    model: CrossEncoder,
    optimiser: torch.optim.Optimizer,
    pools: Pools,
    seen: dict[str, float],
    path: Path,
) -> None:
    """Train until the run's minutes are used up, counted over all its restarts."""
    model.train()
    saved = clock = time.monotonic()
    running, count = 0.0, 0
    while seen["seconds"] < options.minutes * 60:
        for batch in pools.batches():
            done = seen["seconds"] / (options.minutes * 60)
            if done >= 1:
                break
            for group in optimiser.param_groups:
                group["lr"] = learning_rate(done, int(seen["step"]), options) * group["scale"]
            ids, mask, types, marks, labels, weights, twins = collate(batch, model.encoder.shape)
            # bfloat16 doubles the speed where the processor has it; elsewhere it is emulated and slow.
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not options.fp32):
                pair, token = model(ids, mask, types)
            pair, token = pair.float(), token.float()
            loss = loss_of(pair, token, marks, labels, weights)
            loss = loss + TWIN_WEIGHT * twin_loss(pair, labels, twins)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            running, count = running + loss.item(), count + 1
            now = time.monotonic()
            seen["seconds"] += now - clock
            seen["step"] += 1
            seen["pairs"] += len(batch)
            seen["tokens"] += int(mask.sum())
            clock = now
            if seen["step"] % 50 == 0:
                print(
                    f"step {seen['step']:.0f} pairs {seen['pairs']:.0f} tokens {seen['tokens']:.0f} "
                    f"minutes {seen['seconds'] / 60:.1f} loss {running / count:.4f}",
                    flush=True,
                )
                running, count = 0.0, 0
            if now - saved > CHECKPOINT_SECONDS:
                if options.partner:
                    average_with(model, path, path.with_name(f"{options.partner}.pt"))
                save_checkpoint(path, model, optimiser, seen)
                saved = clock = time.monotonic()
    save_checkpoint(path, model, optimiser, seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--mix", required=True, choices=sorted(MIXES))
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--start", default="", help="a checkpoint; default: the base's published weights")
    parser.add_argument("--base", default=GTE_SMALL.name, choices=sorted(SHAPES))
    parser.add_argument("--layers", type=int, default=0, help="lowest layers of the base to keep; 0: all")
    parser.add_argument("--partner", default="", help="another run to average weights with")
    parser.add_argument("--peak", type=float, default=1.2e-4)
    parser.add_argument("--decay", type=float, default=0.3)
    parser.add_argument("--warm", type=float, default=200, help="steps until the rate is at its peak")
    parser.add_argument("--freeze", type=int, default=0, help="lowest layers that are not trained")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fp32", action="store_true", help="for processors without AVX-512 bfloat16")
    parser.add_argument("--seed", type=int, default=7)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
