"""Train the cross-encoder on weighted pools of pairs; resumable, checkpointed every few minutes.

python -m training.train_pairs --run NAME --minutes 40 --mix stage1
Learning rate: warm-up, then constant, then linear decay over the last `--decay` share of the minutes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from training.data import WORK
from training.mixes import mix
from training.model import CrossEncoder
from training.pairs import ENTAILED, NOT_ENTAILED, Coded, load

CHECKPOINT_SECONDS = 75
FRESH_SECONDS = 300


class Pools:
    """Draws label-balanced examples: first a pool by weight, then supported or not with even odds."""

    def __init__(self, mix: dict[str, float], folder: Path, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        names = list(mix)
        self.weights = np.array([mix[name] for name in names]) / sum(mix.values())
        self.pools = [self._sides(load(folder / f"{name}.pkl")) for name in names]
        self.names = names

    @staticmethod
    def _sides(pool: list[Coded]) -> list[list[Coded]]:
        """Supported / neutral / contradicted / unknown kind of unsupported."""
        return [[item for item in pool if item.target == kind] for kind in range(4)]

    def draw(self) -> Coded:
        sides = self.pools[self.random.choice(len(self.pools), p=self.weights)]
        bad = [side for side in sides[1:] if side]
        if sides[0] and (not bad or self.random.random() < 0.5):
            side = sides[0]
        else:
            sizes = np.sqrt([len(s) for s in bad])
            side = bad[self.random.choice(len(bad), p=sizes / sizes.sum())]
        return side[self.random.integers(len(side))]

    def batches(self, size: int, window: int = 24) -> list[list[Coded]]:
        """A window of batches, each of similar length, in random order."""
        items = sorted((self.draw() for _ in range(size * window)), key=lambda item: len(item.ids))
        cut = [items[i : i + size] for i in range(0, len(items), size)]
        self.random.shuffle(cut)  # type: ignore[arg-type]
        return cut


def collate(batch: list[Coded]) -> tuple[Tensor, ...]:
    width = max(len(item.ids) for item in batch)
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
    marks = torch.full((len(batch), width), -1.0)
    for i, item in enumerate(batch):
        n = len(item.ids)
        ids[i, :n] = torch.from_numpy(item.ids.astype(np.int64))
        mask[i, :n] = 1
        types[i, item.claim_from : n] = 1
        if item.marks is not None:
            marks[i, item.claim_from : item.claim_from + len(item.marks)] = torch.from_numpy(
                item.marks.astype(np.float32)
            )
    targets = torch.tensor([item.target for item in batch])
    weights = torch.tensor([item.weight for item in batch])
    return ids, mask, types, marks, targets, weights


def loss_of(pair: Tensor, token: Tensor, marks: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Pair loss (unknown kinds share neutral and contradiction) plus the token loss where spans are known."""
    logp = F.log_softmax(pair.float(), dim=-1)
    known = targets != NOT_ENTAILED
    picked = logp.gather(1, targets.clamp(max=2).unsqueeze(1)).squeeze(1)
    either = torch.logsumexp(logp[:, 1:], dim=-1)
    pair_loss = -(torch.where(known, picked, either) * weights).sum() / weights.sum()
    use = marks >= 0
    if not use.any():
        return pair_loss
    # supported rows are many and all zero: they count half, so that marks are not drowned
    bad_row = (targets != ENTAILED).unsqueeze(1).expand_as(marks)
    scale = torch.where(bad_row, 1.0, 0.5) * torch.where(marks > 0, 1.5, 1.0)
    token_loss = F.binary_cross_entropy_with_logits(token.float()[use], marks[use], weight=scale[use])
    return pair_loss + 0.5 * token_loss


def rate(done: float, step: int, options: argparse.Namespace) -> float:
    peak, decay = options.peak, options.decay
    warm = min(1.0, (step + 1) / options.warm)
    return peak * warm * min(1.0, max(0.02, (1 - done) / decay) if decay > 0 else 1.0)


def save_state(
    path: Path, model: CrossEncoder, optimiser: torch.optim.Optimizer, seen: dict[str, float]
) -> None:
    part = path.with_suffix(".part")
    torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "seen": seen}, part)
    part.replace(path)


def meet(model: CrossEncoder, own: Path, other: Path) -> None:
    """Average the weights with another run that trains the same thing on other batches.

    Two runs of one thread use two busy cores better than one run of two threads that wait for each other.
    """
    share, theirs = own.with_suffix(".share"), other.with_suffix(".share")
    part = share.with_suffix(".share-part")
    torch.save({name: p for name, p in model.state_dict().items() if "word_embeddings" not in name}, part)
    part.replace(share)
    if theirs.exists() and time.time() - theirs.stat().st_mtime < FRESH_SECONDS:
        weights = torch.load(theirs, weights_only=True)
        with torch.no_grad():
            for name, p in model.state_dict().items():
                if name in weights and p.dtype.is_floating_point:
                    p.lerp_(weights[name], 0.5)


def parameters(model: CrossEncoder, peak: float) -> list[dict[str, object]]:
    head = [p for name, p in model.named_parameters() if not name.startswith("encoder.")]
    body = [p for name, p in model.named_parameters() if name.startswith("encoder.") and p.requires_grad]
    return [{"params": body, "scale": 1.0, "lr": peak}, {"params": head, "scale": 2.0, "lr": peak}]


def train(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    path = WORK / "checkpoints" / f"{options.run}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    model = CrossEncoder()
    optimiser = torch.optim.AdamW(parameters(model, options.peak), weight_decay=0.01, fused=True)
    seen = {"step": 0.0, "pairs": 0.0, "seconds": 0.0}
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        seen = state["seen"]
    elif options.start:
        model.load_state_dict(torch.load(options.start, weights_only=True)["model"])
    pools = Pools(mix(options.mix), WORK / "pools", options.seed + int(seen["step"]))
    loop(options, model, optimiser, pools, seen, path)


def loop(
    options: argparse.Namespace,
    model: CrossEncoder,
    optimiser: torch.optim.Optimizer,
    pools: Pools,
    seen: dict[str, float],
    path: Path,
) -> None:
    """Steps until the run's minutes are used up, counted over all its restarts."""
    model.train()
    saved = clock = time.monotonic()
    running, count = 0.0, 0
    while seen["seconds"] < options.minutes * 60:
        for batch in pools.batches(options.batch):
            done = seen["seconds"] / (options.minutes * 60)
            for group in optimiser.param_groups:
                group["lr"] = rate(done, int(seen["step"]), options) * group["scale"]
            ids, mask, types, marks, targets, weights = collate(batch)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                pair, token = model(ids, mask, types)
            loss = loss_of(pair, token, marks, targets, weights)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            running, count = running + loss.item(), count + 1
            now = time.monotonic()
            seen["seconds"] += now - clock
            seen["step"] += 1
            seen["pairs"] += len(batch)
            clock = now
            if seen["step"] % 50 == 0:
                print(
                    f"{seen['step']:.0f} pairs {seen['pairs']:.0f} {seen['seconds'] / 60:.1f} min "
                    f"loss {running / count:.4f}",
                    flush=True,
                )
                running, count = 0.0, 0
            if now - saved > CHECKPOINT_SECONDS:
                if options.partner:
                    meet(model, path, path.with_name(f"{options.partner}.pt"))
                save_state(path, model, optimiser, seen)
                saved = clock = time.monotonic()
            if done >= 1:
                break
    save_state(path, model, optimiser, seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--mix", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--start", default="")
    parser.add_argument(
        "--partner", default="", help="another run to average weights with at each checkpoint"
    )
    parser.add_argument("--peak", type=float, default=2e-4)
    parser.add_argument("--decay", type=float, default=0.3)
    parser.add_argument("--warm", type=float, default=300, help="steps until the rate is at its peak")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
