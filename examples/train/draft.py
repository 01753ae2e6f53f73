"""A draft model of its own: the target's first and last layer, taught to follow each other."""

import torch
from torch import nn

import llama
import training
from features import ahead
from path import Path

RATE = 1e-3


class Short(nn.Module):
    """Few layers that read tokens and predict the next: what draft and qualifier have in common."""

    def __init__(self, target, shared, layers, output_norm):
        super().__init__()
        self.embedding, self.frequencies = [target.token_embd], target.frequencies  # a list: not this member's parameters
        self.shared, self.blk, self.output_norm = shared, nn.ModuleList(layers), output_norm
        self.to(target.head.device)

    def step(self, path, token):
        return self.output_norm(path.step(self.embedding[0](token).float()))

    def loss(self, batch):  # a column's token, and what the target says follows it: the root is the column before
        hidden = self.step(Path(self.blk, self.frequencies), batch.tokens)
        wanted = self.shared.probabilities(batch.hidden)
        return training.soft_loss(self.shared, hidden, wanted, ahead(batch.known(1), -1))

    def chains(self, batch, count):
        path, token, drafted = Path(self.blk, self.frequencies), batch.tokens, []
        for _ in range(count):
            token = self.shared.tokens(self.shared(self.step(path, token)))
            drafted.append(token)
        return ahead(torch.stack(drafted, -1), 1)

    def export(self, file, kind):
        file.add_shape(self.blk[0].shape, len(self.blk))
        file.add_ids("augur.head.tokens", self.shared.ids.tolist())
        file.add_member(self, kind)

    def stored_name(self, name):
        return name


class Draft(Short):
    def __init__(self, target, shared):
        layers = llama.Layer(target.shape), llama.Layer(target.shape)
        layers[0].load_state_dict(target.blk[0].state_dict())
        layers[1].load_state_dict(target.blk[-1].state_dict())
        norm = nn.RMSNorm(target.shape.width, target.shape.epsilon)
        norm.load_state_dict(target.output_norm.state_dict())
        super().__init__(target, shared, layers, norm)
