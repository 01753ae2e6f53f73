"""Exits: after some of its layers the target says what it would say after all of them."""

import torch
from torch import nn

import llama
import training
from features import ahead
from path import Path

RANK = 128
RATE = 1e-3


def depths(shape):
    """After how many layers: a fifth, a half and four fifths of them."""
    return tuple(sorted({max(1, round(shape.layers * part)) for part in (0.2, 0.5, 0.8)}))


class Exit(nn.Module):
    def __init__(self, target):
        super().__init__()
        width = target.shape.width
        self.norm = nn.RMSNorm(width, target.shape.epsilon)
        self.norm.load_state_dict(target.output_norm.state_dict())
        self.down, self.up = nn.Linear(width, RANK, bias=False), nn.Linear(RANK, width, bias=False)
        self.scale = nn.Parameter(torch.ones(1))
        nn.init.zeros_(self.up.weight)

    def forward(self, hidden):
        """What the head makes logits of."""
        x = self.norm(hidden.float())
        return self.scale * (x + self.up(self.down(x)))


class Exits(nn.Module):
    def __init__(self, target, shared):
        super().__init__()
        self.target, self.shared = [target], shared
        self.exits = nn.ModuleDict({str(depth): Exit(target) for depth in depths(target.shape)})
        self.judged = max(depths(target.shape))
        self.to(target.head.device)

    def loss(self, batch):
        wanted, mask = self.shared.probabilities(batch.hidden), ahead(batch.known(1), -1)
        rows = [exit(batch.between[int(depth)]) for depth, exit in self.exits.items()]
        return sum(training.soft_loss(self.shared, hidden, wanted, mask) for hidden in rows) / len(rows)

    def chains(self, batch, count):
        """Drafts of the exit at depth `judged`: the target's first layers go on from their own tokens."""
        target, exit = self.target[0], self.exits[str(self.judged)]
        path, token, drafted = Path(target.blk[: self.judged], target.frequencies), batch.tokens, []
        for _ in range(count):
            token = self.shared.tokens(self.shared(exit(path.step(target.token_embd(token)))))
            drafted.append(token)
        return ahead(torch.stack(drafted, -1), 1)

    def export(self, file, kind):
        file.add_ids("augur.head.tokens", self.shared.ids.tolist())
        file.add_ids("augur.exits", [int(depth) for depth in self.exits])
        file.add_member(self, kind)

    def stored_name(self, name):
        return name.replace("exits", "augur.exit")
