"""A Llama in PyTorch whose parameters carry the names and the order of rows that they have in a GGUF file.

It reads a GGUF file (dequantised) or a folder of safetensors. Its layers are what the members of a family are made of, so
a member's state is its file. Rotary embeddings turn neighbouring pairs of rows, as in GGUF; a folder's rows are reordered.
"""

import dataclasses
import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional

MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    inner: int  # of the feed-forward part
    heads: int
    kv_heads: int
    head: int  # elements of one head
    vocabulary: int
    context: int
    rope_base: float
    epsilon: float


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.attn_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.attn_q = linear(shape.width, shape.heads * shape.head)
        self.attn_k = linear(shape.width, shape.kv_heads * shape.head)
        self.attn_v = linear(shape.width, shape.kv_heads * shape.head)
        self.attn_output = linear(shape.heads * shape.head, shape.width)
        self.ffn_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.ffn_gate = linear(shape.width, shape.inner)
        self.ffn_up = linear(shape.width, shape.inner)
        self.ffn_down = linear(shape.inner, shape.width)

    def project(self, x, rope):
        """Queries, keys and values [batch, heads, positions, head] of x [batch, positions, width]."""
        y = self.attn_norm(x)
        split = lambda z: z.unflatten(-1, (-1, self.shape.head)).transpose(1, 2)
        return rotate(split(self.attn_q(y)), rope), rotate(split(self.attn_k(y)), rope), split(self.attn_v(y))

    def finish(self, x, attended):
        """The layer's output, from its input and what its heads attended to."""
        x = x + self.attn_output(attended.transpose(1, 2).flatten(2))
        y = self.ffn_norm(x)
        return x + self.ffn_down(functional.silu(self.ffn_gate(y)) * self.ffn_up(y))

    def forward(self, x, rope):
        """Over whole texts that start at the first position; what pads a text stands behind it, where nothing looks."""
        q, k, v = self.project(x, rope)
        return self.finish(x, functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))


class Llama(nn.Module):
    def __init__(self, shape, tied=True):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary, shape.width)
        self.blk = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.output_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.output = None if tied else nn.Linear(shape.width, shape.vocabulary, bias=False)
        self.register_buffer("frequencies", rope_frequencies(shape), persistent=False)

    @property
    def head(self):
        """The rows that make logits of a normalised hidden state."""
        return self.token_embd.weight if self.output is None else self.output.weight

    def rope(self, positions):
        return rope(positions, self.frequencies, self.head.dtype)

    def forward(self, tokens, layers=()):
        """The normalised hidden states [batch, positions, width] of texts, and those after some layers (1: the first)."""
        turns = self.rope(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.token_embd(tokens)
        between = {}
        for i, layer in enumerate(self.blk):
            x = layer(x, turns)
            if i + 1 in layers:
                between[i + 1] = x
        return self.output_norm(x), between


def rope_frequencies(shape):
    return shape.rope_base ** (-torch.arange(0, shape.head, 2, dtype=torch.float32) / shape.head)


def rope(positions, frequencies, dtype):
    """Cosines and sines, [..., positions, head / 2], shaped to multiply [batch, heads, positions, head / 2]."""
    angles = positions[..., None].float() * frequencies
    if positions.dim() == 2:
        angles = angles[:, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, rope):
    cosines, sines = rope
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cosines - odd * sines, even * sines + odd * cosines), -1).flatten(-2)


def load(path, device="cpu", dtype=torch.bfloat16):
    """The target, frozen."""
    path = pathlib.Path(path)
    shape, tensors, factors = read_folder(path) if path.is_dir() else read_gguf(path)
    with torch.device("meta"):
        model = Llama(shape, tied="output.weight" not in tensors)
    model.frequencies = rope_frequencies(shape) / factors
    model.load_state_dict({name: tensor.to(dtype) for name, tensor in tensors.items()}, assign=True)
    model.to(device).requires_grad_(False).eval()
    return model


def read_gguf(path):
    import gguf

    reader = gguf.GGUFReader(path)
    value = lambda key: reader.fields["llama." + key].contents()
    architecture = reader.fields["general.architecture"].contents()
    if architecture != "llama":
        raise SystemExit(f"{path}: architecture {architecture}, only llama is known here")
    tensors = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
    factors = tensors.pop("rope_freqs.weight", torch.ones(1))
    heads = value("attention.head_count")
    shape = Shape(
        layers=value("block_count"),
        width=value("embedding_length"),
        inner=value("feed_forward_length"),
        heads=heads,
        kv_heads=value("attention.head_count_kv"),
        head=value("embedding_length") // heads,
        vocabulary=len(tensors["token_embd.weight"]),
        context=value("context_length"),
        rope_base=value("rope.freq_base"),
        epsilon=value("attention.layer_norm_rms_epsilon"),
    )
    return shape, tensors, factors


FOLDER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def read_folder(path):
    from safetensors.torch import load_file

    config = json.loads((path / "config.json").read_text())
    heads = config["num_attention_heads"]
    rotation = config.get("rope_parameters") or config.get("rope_scaling") or {}
    stored = {}
    for file in sorted(path.glob("*.safetensors")):
        stored.update(load_file(file))
    shape = Shape(
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        inner=config["intermediate_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads", heads),
        head=config.get("head_dim") or config["hidden_size"] // heads,
        vocabulary=len(stored["model.embed_tokens.weight"]),
        context=config["max_position_embeddings"],
        rope_base=config.get("rope_theta") or rotation.get("rope_theta", 10000.0),
        epsilon=config["rms_norm_eps"],
    )
    tensors = {
        "token_embd.weight": stored["model.embed_tokens.weight"],
        "output_norm.weight": stored["model.norm.weight"],
    }
    if "lm_head.weight" in stored and not config.get("tie_word_embeddings"):
        tensors["output.weight"] = stored["lm_head.weight"]
    for i in range(shape.layers):
        for theirs, ours in FOLDER_NAMES.items():
            weight = stored[f"model.layers.{i}.{theirs}.weight"]
            if ours in ("attn_q", "attn_k"):  # halves of a head become neighbouring pairs
                weight = weight.unflatten(0, (-1, 2, shape.head // 2)).transpose(1, 2).flatten(0, 2)
            tensors[f"blk.{i}.{ours}.weight"] = weight
    return shape, tensors, rope_factors(shape, rotation)


def rope_factors(shape, rotation):
    """What divides each frequency, by a folder's `rope_scaling`."""
    kind = rotation.get("rope_type", rotation.get("type", "default"))
    if kind == "default":
        return torch.ones(1)
    if kind == "linear":
        return torch.tensor([rotation["factor"]])
    if kind != "llama3":
        raise SystemExit(f"rope scaling {kind}, only linear and llama3 are known here")
    turns = rotation["original_max_position_embeddings"] * rope_frequencies(shape) / (2 * math.pi)
    low, high = rotation["low_freq_factor"], rotation["high_freq_factor"]
    blend = ((turns - low) / (high - low)).clamp(0, 1)
    return 1 / (blend + (1 - blend) / rotation["factor"])


def load_tokenizer(path):
    from transformers import AutoTokenizer

    path = pathlib.Path(path)
    if path.is_dir():
        return AutoTokenizer.from_pretrained(path)
    return AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def name(path):
    """What the target calls itself."""
    return described(path, "general.name", "_name_or_path") or pathlib.Path(path).stem


def licence(path):
    """Its licence, where its file says."""
    return described(path, "general.license", "license") or "unknown"


def described(path, key, entry):
    path = pathlib.Path(path)
    if path.is_dir():
        return json.loads((path / "config.json").read_text()).get(entry)
    import gguf

    field = gguf.GGUFReader(path).fields.get(key)
    return field and field.contents()
