"""The part of the target's head that members share: the rows of the tokens that it writes most."""

import numpy
import torch
from torch import nn


def frequent(written, count, vocabulary):
    """The ids, ascending, of the tokens that occur most in the answers; of all where count is 0."""
    if not 0 < count < vocabulary:
        return numpy.arange(vocabulary)
    answers = numpy.concatenate([text.tokens[text.answer :] for text in written])
    often = numpy.bincount(answers, minlength=vocabulary)
    return numpy.sort(numpy.argsort(-often, kind="stable")[:count])


class Head(nn.Module):
    """Frozen rows of the target: logits of normalised hidden states."""

    def __init__(self, target, ids):
        super().__init__()
        self.register_buffer("ids", torch.from_numpy(ids).to(target.head.device), persistent=False)
        self.register_buffer("rows", target.head[self.ids], persistent=False)

    def forward(self, hidden):
        return hidden.to(self.rows.dtype) @ self.rows.T

    def probabilities(self, hidden):
        with torch.no_grad():
            return self(hidden).float().softmax(-1)

    def tokens(self, logits):
        """The most probable tokens."""
        return self.ids[logits.argmax(-1)]
