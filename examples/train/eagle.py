"""One layer that goes on from the target's hidden state and the token after it, then from its own (EAGLE)."""

import torch
from torch import nn

import head
import llama
import training
from features import ahead
from path import Path

UNROLLED = 3  # drafted tokens in training
RATE = 1e-3


class Eagle(nn.Module):
    def __init__(self, target, shared):
        super().__init__()
        self.embedding, self.frequencies = [target.token_embd], target.frequencies  # a list: not this member's parameters
        self.shared = shared
        width = target.shape.width
        self.fusion = nn.Linear(2 * width, width, bias=False)
        self.fusion_embedding_norm = nn.RMSNorm(width, target.shape.epsilon)
        self.fusion_hidden_norm = nn.RMSNorm(width, target.shape.epsilon)
        self.blk = nn.ModuleList([llama.Layer(target.shape)])
        self.output_norm = nn.RMSNorm(width, target.shape.epsilon)
        self.blk[0].load_state_dict(target.blk[-1].state_dict())
        self.output_norm.load_state_dict(target.output_norm.state_dict())
        with torch.no_grad():  # begins as the target's last layer on its hidden state
            self.fusion.weight.normal_(std=0.02)
            self.fusion.weight[:, width:] += torch.eye(width)
        self.to(target.head.device)

    def step(self, path, token, hidden):
        """The hidden state that follows a token; its logits predict the token after it."""
        parts = self.fusion_embedding_norm(self.embedding[0](token).float()), self.fusion_hidden_norm(hidden.float())
        return self.output_norm(path.step(self.fusion(torch.cat(parts, -1)).float()))

    def loss(self, batch):
        path, hidden, total = Path(self.blk, self.frequencies), batch.hidden, 0
        probabilities = self.shared.probabilities(batch.hidden)
        for i in range(1, UNROLLED + 1):
            hidden = self.step(path, ahead(batch.tokens, i), hidden)
            mask, wanted = batch.known(i), ahead(batch.hidden, i)
            near = nn.functional.smooth_l1_loss(hidden[mask].float(), wanted[mask].float())
            sure = training.soft_loss(self.shared, hidden, ahead(probabilities, i), mask)
            total = total + 0.8 ** (i - 1) * (sure + near)
        return total / UNROLLED

    def chains(self, batch, count):
        """`count` drafted tokens behind every root, [texts, positions, count]."""
        path, hidden, token, drafted = Path(self.blk, self.frequencies), batch.hidden, ahead(batch.tokens, 1), []
        for _ in range(count):
            hidden = self.step(path, token, hidden)
            token = self.shared.tokens(self.shared(hidden))
            drafted.append(token)
        return torch.stack(drafted, -1)

    def export(self, file, kind):
        file.add_shape(self.blk[0].shape, 1)
        file.add_ids("augur.head.tokens", self.shared.ids.tolist())
        file.add_member(self, kind)

    def stored_name(self, name):
        return f"augur.{name.replace('fusion_', 'fusion.')}" if name.startswith("fusion") else name
