"""The cross-encoders that are trained: a base encoder with a three-way head and a token head.

Input: `[CLS] window [SEP] claim [SEP]`. Output: logits for entailment, neutral and contradiction, and one
logit per token that says whether the token is unsupported. Two bases: gte-small, which is small enough for
the wheel, and MPNet, which reads better and teaches it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class Shape:
    """What differs between the bases."""

    name: str
    width: int
    layers: int
    vocabulary: int
    positions: int
    first_position: int
    relative_buckets: int
    epsilon: float
    pad: int
    heads: int = 12

    def ids(self, bert: NDArray[np.int64]) -> NDArray[np.int64]:
        """Token ids of BERT's vocabulary in the base's own, which for MPNet is the same moved by four."""
        if not self.relative_buckets:
            return bert
        return np.where(bert == CLS, 0, np.where(bert == SEP, 2, bert + 4))


CLS, SEP = 101, 102  # of BERT's vocabulary
GTE_SMALL = Shape("gte-small", 384, 12, 30522, 512, 0, 0, 1e-12, 0)
MPNET = Shape("mpnet", 768, 12, 30527, 514, 2, 32, 1e-5, 1)
SHAPES = {shape.name: shape for shape in (GTE_SMALL, MPNET)}
MAX_DISTANCE = 128
"""MPNet's relative positions beyond this distance share a bucket."""


class Layer(nn.Module):
    """One BERT layer with a fused query-key-value projection. No dropout: every pair is seen about once."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_attention = nn.LayerNorm(width, eps=shape.epsilon)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm_output = nn.LayerNorm(width, eps=shape.epsilon)

    def forward(self, states: Tensor, bias: Tensor) -> Tensor:
        batch, length, width = states.shape
        size = width // self.heads
        heads = self.qkv(states).view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        # Written out: in bfloat16 on a CPU the fused kernel trains at two thirds of the speed of this.
        scores = heads[0] @ heads[1].transpose(-1, -2) / math.sqrt(size) + bias.to(heads.dtype)
        mixed = scores.softmax(-1).to(heads.dtype) @ heads[2]
        states = self.norm_attention(states + self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        return self.norm_output(states + self.down(F.gelu(self.up(states))))


class Encoder(nn.Module):
    def __init__(self, shape: Shape = GTE_SMALL) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        # MPNet has no segments of its own: these start at zero and learn which part is the claim.
        self.token_type = nn.Embedding(2, shape.width)
        self.norm = nn.LayerNorm(shape.width, eps=shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.relative = nn.Embedding(shape.relative_buckets, shape.heads) if shape.relative_buckets else None
        # Frozen word vectors keep words that training never shows in their place, and make updates cheaper.
        self.word.weight.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.word(ids) + self.position(places + self.shape.first_position) + self.token_type(types)
        states = self.norm(states)
        bias = (1.0 - mask[:, None, None, :].to(states.dtype)) * -1e4
        if self.relative is not None:
            buckets = relative_buckets(places, self.shape.relative_buckets)
            bias = bias + self.relative(buckets).permute(2, 0, 1)
        for layer in self.layers:
            states = layer(states, bias)
        return states


def relative_buckets(places: Tensor, buckets: int) -> Tensor:
    """MPNet's bucket of each (query, key) distance: exact when near, logarithmic when far."""
    distance = places[:, None] - places[None, :]
    half = buckets // 2
    exact = half // 2
    size = distance.abs()
    scale = (half - exact) / math.log(MAX_DISTANCE / exact)
    far = exact + (torch.log(size.clamp(min=1).float() / exact) * scale).long()
    return (distance < 0).long() * half + torch.where(size < exact, size, far.clamp(max=half - 1))


class CrossEncoder(nn.Module):
    def __init__(self, shape: Shape = GTE_SMALL) -> None:
        super().__init__()
        self.encoder = Encoder(shape)
        self.mix = nn.Linear(2 * shape.width, shape.width)
        self.pair = nn.Linear(shape.width, 3)
        self.token = nn.Linear(shape.width, 1)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        """Pair logits (entailment, neutral, contradiction) and one logit per token."""
        states = self.encoder(ids, mask, types)
        claim = types.unsqueeze(-1).to(states.dtype)
        pooled = (states * claim).sum(1) / claim.sum(1).clamp(min=1)
        joint = torch.tanh(self.mix(torch.cat([states[:, 0], pooled], dim=-1)))
        return self.pair(joint), self.token(states).squeeze(-1)
