"""Layers that draft behind every root of a text at once: what they draft attends to the text up to its root and to its path."""

import torch

import llama


class Path:
    def __init__(self, layers, frequencies):
        self.layers, self.frequencies, self.steps = layers, frequencies, 0
        self.cache = [[] for _ in layers]  # of each layer, keys and values of each step

    def step(self, x):
        """The layers' output for x [texts, roots, width]: the text's own entries first, then a drafted token per root."""
        positions = torch.arange(x.shape[1], device=x.device) + self.steps
        turns = llama.rope(positions, self.frequencies, x.dtype)
        for layer, cache in zip(self.layers, self.cache):
            q, k, v = layer.project(x, turns)
            repeat = layer.shape.heads // layer.shape.kv_heads
            cache.append((k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)))
            x = layer.finish(x, attend(q, cache))
        self.steps += 1
        return x


def attend(q, cache):
    (keys, values), own = cache[0], cache[1:]
    if not own:
        return torch.nn.functional.scaled_dot_product_attention(q, keys, values, is_causal=True)
    scale = q.shape[-1] ** -0.5
    text = (q @ keys.transpose(-1, -2)).float() * scale
    hidden = torch.ones(text.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    text = text.masked_fill(hidden, -torch.inf)
    drafted = [(q * k).sum(-1, keepdim=True).float() * scale for k, _ in own]
    weights = torch.cat([text, *drafted], -1).softmax(-1).to(values.dtype)
    out = weights[..., : text.shape[-1]] @ values
    for i, (_, v) in enumerate(own):
        out = out + weights[..., text.shape[-1] + i, None] * v
    return out
