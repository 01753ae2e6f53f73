#!/usr/bin/env python3
"""Converts Andrej Karpathy's stories260K (MIT licence, llama2.c's layout) and computes a greedy continuation with numpy.

    make_stories.py stories260K.bin OUTPUT_FOLDER      (needs the packages gguf and numpy)

Writes stories260K.gguf (float32, without a tokenizer) and stories260K.json: {"prompt": ids, "greedy": ids, "logits": the row
that follows the prompt}. The numpy model shares no code with augur and works in double precision.
"""

import json
import pathlib
import struct
import sys

import gguf
import numpy as np

PROMPT = [1, 403, 407, 261, 378]
STEPS = 40


def read(path):
    raw = pathlib.Path(path).read_bytes()
    names = ("dim", "hidden", "layers", "heads", "kv_heads", "vocab", "context")
    shape = dict(zip(names, struct.unpack("7i", raw[:28])))
    assert shape["vocab"] > 0, "a separate classifier is not expected"
    numbers, at = np.frombuffer(raw, "<f4", offset=28), 0

    def take(*dimensions):
        nonlocal at
        count = int(np.prod(dimensions))
        at += count
        return numbers[at - count : at].reshape(dimensions)

    d, f, n = shape["dim"], shape["hidden"], shape["layers"]
    kv = d * shape["kv_heads"] // shape["heads"]
    tensors = {"token_embd": take(shape["vocab"], d), "attn_norm": take(n, d), "attn_q": take(n, d, d), "attn_k": take(n, kv, d),
               "attn_v": take(n, kv, d), "attn_output": take(n, d, d), "ffn_norm": take(n, d), "ffn_gate": take(n, f, d),
               "ffn_down": take(n, d, f), "ffn_up": take(n, f, d), "output_norm": take(d)}
    return shape, tensors


def write(path, shape, tensors):
    out = gguf.GGUFWriter(path, "llama")
    out.add_block_count(shape["layers"])
    out.add_context_length(shape["context"])
    out.add_embedding_length(shape["dim"])
    out.add_feed_forward_length(shape["hidden"])
    out.add_head_count(shape["heads"])
    out.add_head_count_kv(shape["kv_heads"])
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(shape["dim"] // shape["heads"])
    out.add_rope_freq_base(10000.0)
    for name, tensor in tensors.items():
        if name in ("token_embd", "output_norm"):
            out.add_tensor(f"{name}.weight", tensor)
        else:
            for layer in range(shape["layers"]):
                out.add_tensor(f"blk.{layer}.{name}.weight", tensor[layer])
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def logits(shape, tensors, ids):
    """The row after the last of `ids`, everything computed anew."""
    t = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    heads, kv_heads = shape["heads"], shape["kv_heads"]
    size, n = shape["dim"] // heads, len(ids)
    angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(0, size, 2) / size))

    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight

    def turn(x):
        pair = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)[:, None, :]
        return np.stack([pair.real, pair.imag], -1).reshape(x.shape)

    x = t["token_embd"][ids]
    for i in range(shape["layers"]):
        h = norm(x, t["attn_norm"][i])
        q = turn((h @ t["attn_q"][i].T).reshape(n, heads, size))
        k = turn((h @ t["attn_k"][i].T).reshape(n, kv_heads, size)).repeat(heads // kv_heads, 1)
        v = (h @ t["attn_v"][i].T).reshape(n, kv_heads, size).repeat(heads // kv_heads, 1)
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(size) + np.triu(np.full((n, n), -np.inf), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhd->ihd", weights, v).reshape(n, -1) @ t["attn_output"][i].T
        h = norm(x, t["ffn_norm"][i])
        gate = h @ t["ffn_gate"][i].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ t["ffn_up"][i].T)) @ t["ffn_down"][i].T
    return norm(x[-1], t["output_norm"]) @ t["token_embd"].T


def main():
    source, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shape, tensors = read(source)
    write(folder / "stories260K.gguf", shape, tensors)
    first, ids = logits(shape, tensors, PROMPT), list(PROMPT)
    for _ in range(STEPS):
        ids.append(int(logits(shape, tensors, ids).argmax()))
    result = {"prompt": PROMPT, "greedy": ids[len(PROMPT) :], "logits": [round(float(v), 6) for v in first]}
    (folder / "stories260K.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
