"""The target without most of its layers, healed by low-rank changes of those that stay. Only the changes are stored."""

import copy
import json

import torch
import tqdm
from torch import nn

import llama
import store
from draft import Short

RANK = 32
RATE = 5e-4
SEARCHED = 6  # texts on which layers are tried


class Delta(nn.Module):
    """A frozen matrix and a learned change of low rank, nothing at first."""

    def __init__(self, matrix):
        super().__init__()
        self.matrix = [matrix]
        outputs, inputs = matrix.weight.shape
        self.delta_down, self.delta_up = nn.Linear(inputs, RANK, bias=False), nn.Linear(RANK, outputs, bias=False)
        nn.init.zeros_(self.delta_up.weight)

    def forward(self, x):
        return self.matrix[0](x) + self.delta_up(self.delta_down(x))


def changed(layer):
    """A layer whose norms are its own and whose matrices are the target's, changed."""
    copied = copy.deepcopy(layer)
    for name in llama.MATRICES:
        setattr(copied, name, Delta(getattr(layer, name)))
    copied.attn_norm.float().requires_grad_(True)
    copied.ffn_norm.float().requires_grad_(True)
    return copied


class Qualifier(Short):
    def __init__(self, target, shared, kept):
        norm = copy.deepcopy(target.output_norm).float().requires_grad_(True)
        super().__init__(target, shared, [changed(target.blk[i]) for i in kept], norm)
        self.kept = kept

    def export(self, file, kind):
        super().export(file, kind)
        file.add_ids("augur.layers", self.kept)


@torch.inference_mode()
def search(target, tried, options):
    """Which third of the layers to keep: again and again goes the layer that is missed least."""
    path = options.work / "qualifier.layers.json"
    kept = json.loads(path.read_text()) if path.exists() else list(range(target.shape.layers))
    mask = tried.known(0)
    goal = max(1, target.shape.layers // 3)
    with tqdm.tqdm(total=target.shape.layers - goal, initial=target.shape.layers - len(kept), desc="layers") as bar:
        while len(kept) > goal:
            worth = {i: agreement(target, tried, mask, [k for k in kept if k != i]) for i in kept}
            kept.remove(max(worth, key=worth.get))
            with store.whole(path) as file:
                file.write(json.dumps(kept).encode())
            bar.update()
    return kept


def agreement(target, batch, mask, kept):
    """How much of the target's probability the shortened target gives to what the target finds most probable."""
    x = target.token_embd(batch.tokens)
    turns = target.rope(torch.arange(x.shape[1], device=x.device))
    for i in kept:
        x = target.blk[i](x, turns)
    rows = target.output_norm(x[mask]) @ target.head.T
    return float(rows.float().log_softmax(-1).gather(1, batch.best[mask][:, None]).mean())
