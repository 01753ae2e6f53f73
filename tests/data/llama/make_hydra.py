#!/usr/bin/env python3
"""Small random heads of Hydra++ (prefix-mlp, arXiv 2402.05109) as its authors publish them, and what they answer.

    make_hydra.py OUTPUT_FOLDER      (needs the packages torch and transformers)

Writes plus.json: the target's config.json and the shapes of its tensors, those of the heads', rows of logits after some of the text, and
greedy drafts. Weights are no part of it: make_dense.py's `weights` makes them from their names, and tests/llama/eagle_folder.hpp the same.
"""

import copy
import json
import pathlib
import sys

import torch
from make_dense import model_of, weights
from make_eagle3 import AFTER, IDS, ROTARY, TARGET
from torch import nn
from transformers import LlamaModel

HEADS = 3


class ResBlock(nn.Module):
    def __init__(self, width, tokens):
        super().__init__()
        self.linear = nn.Linear(width * (tokens + 1), width)
        self.res_connection = nn.Linear(width * (tokens + 1), width) if tokens else nn.Identity()

    def forward(self, x):
        return self.res_connection(x) + nn.functional.silu(self.linear(x))


class PrefixHeads(nn.Module):
    """With a dropout before each block and each output, which gives the tensors their numbers."""

    def __init__(self, config):
        super().__init__()
        one_layer = copy.deepcopy(config)
        one_layer.num_hidden_layers = 1
        width = config.hidden_size
        self.prefix_embeding_layer = LlamaModel(one_layer)
        self.hydra_mlp = nn.ModuleList(
            nn.Sequential(nn.Dropout(0), ResBlock(width, n + 1), nn.Dropout(0), ResBlock(width, 0)) for n in range(HEADS)
        )
        self.hydra_lm_head = nn.ModuleList(nn.Sequential(nn.Dropout(0), nn.Linear(width, config.vocab_size)) for _ in range(HEADS))

    def forward(self, states, embeddings):
        """The last row of head n, for embeddings of n + 1 tokens."""
        prefix = self.prefix_embeding_layer(inputs_embeds=states, use_cache=False)[0][:, -1]
        n = len(embeddings) - 1
        return self.hydra_lm_head[n](self.hydra_mlp[n](torch.cat([prefix, embeddings.reshape(1, -1)], dim=-1)))[0]


@torch.no_grad()
def main():
    settings = {**TARGET, "num_hidden_layers": 2, **ROTARY}
    config, target = model_of("llama", settings)
    heads = PrefixHeads(config).eval()
    for name, tensor in heads.state_dict().items():
        tensor.copy_(torch.from_numpy(weights(name, tuple(tensor.shape), False)))
    states = target.model(torch.tensor([IDS]), use_cache=False)[0]
    rows, drafts = {}, {}
    for count in AFTER:
        tokens = [IDS[count - 1]]
        for n in range(HEADS):
            row = heads(states[:, : count - 1], target.model.embed_tokens.weight[torch.tensor(tokens)])
            rows[f"{count}.{n}"] = [float(f"{value:.7g}") for value in row.tolist()]
            tokens.append(int(row.argmax()))
        drafts[count] = tokens[1:]
    shapes = {name: list(tensor.shape) for name, tensor in target.state_dict().items()}
    case = {"target": {"config": {"model_type": "llama", **settings}, "shapes": shapes},
            "heads": {name: list(tensor.shape) for name, tensor in heads.state_dict().items()},
            "ids": IDS, "rows": rows, "drafts": drafts}  # fmt: skip
    (pathlib.Path(sys.argv[1]) / "plus.json").write_text(json.dumps(case) + "\n")


if __name__ == "__main__":
    main()
