"""Tiny models of families other than Llama's, with the tokenizer of tiny_model: for the program on llama.cpp."""

import tiny_model
from tiny_model import F32, STRING, U32, pair

WIDTH, LAYERS, CONTEXT = 32, 2, 256


def save(path, family, pairs, shapes, seed, words, constants=()):
    general = [
        pair("general.architecture", STRING, family),
        pair(f"{family}.block_count", U32, LAYERS),
        pair(f"{family}.embedding_length", U32, WIDTH),
        pair(f"{family}.context_length", U32, CONTEXT),
        pair(f"{family}.attention.layer_norm_rms_epsilon", F32, 1e-5),
    ]
    names = tiny_model.tokenizer(tiny_model.CHATML) if words is True else words
    tensors = tiny_model.random_tensors(shapes, seed, WIDTH)
    tensors.update(constants)
    return tiny_model.save(path, general + pairs + names, tensors)


def write_qwen3(path, *, seed=1, words=True):
    """A Llama with norms of queries and keys."""
    shapes = {"token_embd.weight": (WIDTH, tiny_model.VOCABULARY), "output_norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        shapes.update({f"blk.{layer}.{name}.weight": shape for name, shape in tiny_model.block(WIDTH, WIDTH // 4, 2 * WIDTH).items()})
        shapes[f"blk.{layer}.attn_q_norm.weight"] = shapes[f"blk.{layer}.attn_k_norm.weight"] = (WIDTH // 4,)
    pairs = [
        pair("qwen3.attention.head_count", U32, 4),
        pair("qwen3.attention.head_count_kv", U32, 2),
        pair("qwen3.attention.key_length", U32, WIDTH // 4),
        pair("qwen3.attention.value_length", U32, WIDTH // 4),
        pair("qwen3.feed_forward_length", U32, 2 * WIDTH),
    ]
    return save(path, "qwen3", pairs, shapes, seed, words)


def write_mamba(path, *, seed=1, words=True):
    """Its memory is a state, of which no token can be taken back."""
    kernel, state, rank, inner = 4, 16, 4, 2 * WIDTH
    shapes = {"token_embd.weight": (WIDTH, tiny_model.VOCABULARY), "output_norm.weight": (WIDTH,)}
    constants = {}
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        shapes.update({at + "attn_norm.weight": (WIDTH,), at + "ssm_in.weight": (WIDTH, 2 * inner)})
        shapes.update({at + "ssm_conv1d.weight": (kernel, inner), at + "ssm_conv1d.bias": (inner,)})
        shapes.update({at + "ssm_x.weight": (inner, rank + 2 * state), at + "ssm_dt.weight": (rank, inner), at + "ssm_dt.bias": (inner,)})
        shapes.update({at + "ssm_d": (inner,), at + "ssm_out.weight": (inner, WIDTH)})
        constants[at + "ssm_a"] = (state, inner), [-float(i % state + 1) for i in range(state * inner)]
    pairs = [
        pair("mamba.feed_forward_length", U32, 0),
        pair("mamba.attention.head_count", U32, 0),
        pair("mamba.ssm.conv_kernel", U32, kernel),
        pair("mamba.ssm.inner_size", U32, inner),
        pair("mamba.ssm.state_size", U32, state),
        pair("mamba.ssm.time_step_rank", U32, rank),
    ]
    return save(path, "mamba", pairs, shapes, seed, words, constants)
