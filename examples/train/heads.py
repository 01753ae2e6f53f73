"""Heads that each draft one offset from the target's hidden state: alone (Medusa), or after tokens (Hydra)."""

import torch
from torch import nn

import training
from features import ahead

OFFSETS = 4
RATE = 1e-3


class Block(nn.Module):
    """What a head adds to the hidden state: nothing, at first."""

    def __init__(self, inputs, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, inputs))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return nn.functional.silu(nn.functional.linear(x, self.weight, self.bias))


class Heads(nn.Module):
    """Head i drafts the token at offset i + 1; it sees the i + 1 tokens before that (`sees_tokens`), or none."""

    def __init__(self, target, shared, sees_tokens):
        super().__init__()
        self.embedding, self.shared, self.sees_tokens = [target.token_embd], shared, sees_tokens
        width = target.shape.width
        self.blocks = nn.ModuleList(Block(width * (i + 2 if sees_tokens else 1), width) for i in range(OFFSETS))
        self.to(target.head.device)

    def step(self, i, hidden, tokens):
        """The hidden state that head i makes."""
        hidden = hidden.float()
        seen = [self.embedding[0](token).float() for token in tokens] if self.sees_tokens else []
        return hidden + self.blocks[i](torch.cat([hidden, *seen], -1))

    def loss(self, batch):
        """A head's label counts where the text up to it is what the target finds most probable: chains come nowhere else."""
        total, likely = 0, torch.ones_like(batch.tokens, dtype=torch.bool)
        tokens = [ahead(batch.tokens, i + 1) for i in range(OFFSETS)]
        probabilities = self.shared.probabilities(batch.hidden)
        for i in range(OFFSETS):
            hidden, wanted = self.step(i, batch.hidden, tokens[: i + 1]), ahead(probabilities, i + 1)
            total = total + training.soft_loss(self.shared, hidden, wanted, batch.known(i + 1) & likely)
            likely = likely & (ahead(batch.best, i + 1) == ahead(batch.tokens, i + 2))
        return total / OFFSETS

    def chains(self, batch, count):
        tokens = [ahead(batch.tokens, 1)]
        for i in range(count):
            tokens.append(self.shared.tokens(self.shared(self.step(i, batch.hidden, tokens))))
        return torch.stack(tokens[1:], -1)

    def export(self, file, kind):
        file.add_ids("augur.head.tokens", self.shared.ids.tolist())
        file.add_member(self, kind)

    def stored_name(self, name):
        return name.replace("blocks", "augur.head")


def medusa(target, shared):
    return Heads(target, shared, sees_tokens=False)


def hydra(target, shared):
    return Heads(target, shared, sees_tokens=True)
