#!/usr/bin/env python3
"""Small random decoders of every architecture that the bundled engine reads, and what transformers says they answer.

    make_dense.py OUTPUT_FOLDER [NAME]...      (needs the packages torch, transformers and gguf)

Writes NAME.json for each: what config.json holds, the tensors of both kinds of files, the keys of a GGUF file, and rows of logits. Weights
are no part of it: `number` makes them from their names, and tests/llama/dense_case.hpp makes the same.
"""

import json
import pathlib
import sys

import numpy as np

IDS = [(i * i * 7 + i * 3 + 5) % 37 for i in range(64)]
ROWS = (0, 1, 7, 15, 16, 31, 47, 63)
EVEN = {"vocab_size": 40, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "pad_token_id": 0}  # fmt: skip
ODD = {"vocab_size": 37, "hidden_size": 40, "intermediate_size": 52, "num_hidden_layers": 2, "num_attention_heads": 3,
       "num_key_value_heads": 1, "head_dim": 14, "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "pad_token_id": 0,
       "tie_word_embeddings": False}  # fmt: skip


def rope(**parameters):
    return {"rope_parameters": {"rope_theta": 5000.0, **parameters}}


def named(values):
    """Factors of pairs."""
    return [round(1 + 0.25 * value, 2) for value in values]


YARN = rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=32)
WARM = rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1)
LONG = {"rope_type": "longrope", "long_factor": named(range(4)), "short_factor": named((0, 1, 1, 2))}
TIED = {"tie_word_embeddings": True}  # as all that llama.cpp's format knows of a Gemma
GRANITE = {"embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2, "logits_scaling": 2.5}
LAYER_NORMS = {**EVEN, "rms_norm_eps": None}
SINKS = {**YARN["rope_parameters"], "truncate": False}
CASES = {  # model type, what the configuration says beside that, a context to ask for
    "mistral_even": ("mistral", {**EVEN, "sliding_window": None, "tie_word_embeddings": True, **rope(rope_type="default")}),
    "mistral_odd": ("mistral", {**ODD, "sliding_window": 16}),
    "ministral3_even": ("ministral3", {**EVEN, "head_dim": 12, "tie_word_embeddings": True, **WARM}),
    "ministral3_odd": ("ministral3", {**ODD, **rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=16,
                                                    llama_4_scaling_beta=0.3)}),
    "qwen2_even": ("qwen2", {**EVEN, "tie_word_embeddings": True, "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}),
    "qwen2_odd": ("qwen2", {**ODD, **rope(rope_type="dynamic", factor=2.0)}),
    "qwen3_even": ("qwen3", {**EVEN, "head_dim": 12, "tie_word_embeddings": True}),
    "qwen3_odd": ("qwen3", {**ODD, **YARN}),
    "phi3_even": ("phi3", {**EVEN, "sliding_window": None, "original_max_position_embeddings": 96, "partial_rotary_factor": 0.7,
                           **rope(**LONG, partial_rotary_factor=0.7)}),
    "phi3_long": ("phi3", {**EVEN, "hidden_size": 40, "num_attention_heads": 5, "num_key_value_heads": 1, "sliding_window": 20,
                           "tie_word_embeddings": False, "original_max_position_embeddings": 48, **rope(**LONG)}, 128),
    "smollm3_even": ("smollm3", {**EVEN, "num_hidden_layers": 5, "tie_word_embeddings": True, "no_rope_layer_interval": 4}),
    "smollm3_odd": ("smollm3", {**ODD, "num_hidden_layers": 4, **YARN}),
    "granite_even": ("granite", {**EVEN, **GRANITE, "tie_word_embeddings": True}),
    "granite_odd": ("granite", {**ODD, **GRANITE, "attention_bias": True, "mlp_bias": True}),
    "olmo2_even": ("olmo2", {**EVEN, "tie_word_embeddings": False}),
    "olmo2_odd": ("olmo2", ODD),
    "gemma_even": ("gemma", {**EVEN, "head_dim": 16}),
    "gemma_odd": ("gemma", {**ODD, **TIED}),
    "gemma2_even": ("gemma2", {**EVEN, "head_dim": 16, "num_hidden_layers": 3, "sliding_window": 11, "query_pre_attn_scalar": 16,
                               "attn_logit_softcapping": 5.0, "final_logit_softcapping": 4.0}),
    "gemma2_odd": ("gemma2", {**ODD, **TIED, "num_attention_heads": 5, "sliding_window": 32, "query_pre_attn_scalar": 14}),
    "gemma3_even": ("gemma3_text", {**EVEN, "head_dim": 12, "num_hidden_layers": 7, "sliding_window": 11, "query_pre_attn_scalar": 12,
                                    "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 50000.0},
                                                        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}),
    "gemma3_odd": ("gemma3_text", {**ODD, **TIED, "num_attention_heads": 5, "sliding_window": 16, "query_pre_attn_scalar": 14}),
    "olmo3_even": ("olmo3", {**EVEN, "num_hidden_layers": 5, "sliding_window": 11, "tie_word_embeddings": False,
                             "rope_parameters": {"full_attention": YARN["rope_parameters"],
                                                 "sliding_attention": {"rope_type": "default", "rope_theta": 5000.0}}}),
    "olmo3_odd": ("olmo3", {**ODD, "sliding_window": 16, "layer_types": ["full_attention", "sliding_attention"]}),
    "stablelm_even": ("stablelm", {**LAYER_NORMS, "num_attention_heads": 6, "use_qkv_bias": True, "tie_word_embeddings": False}),
    "stablelm_odd": ("stablelm", {**LAYER_NORMS, "vocab_size": 37, "hidden_size": 42, "intermediate_size": 52, "num_attention_heads": 3,
                                  "num_key_value_heads": 1, "layer_norm_eps": 1e-3, "partial_rotary_factor": 0.6,
                                  "tie_word_embeddings": False}),
    "starcoder2_even": ("starcoder2", {**LAYER_NORMS, "norm_epsilon": 1e-5, "tie_word_embeddings": True}),
    "starcoder2_odd": ("starcoder2", {**ODD, "rms_norm_eps": None, "norm_epsilon": 1e-3, "use_bias": False, "sliding_window": 16}),
    "qwen2_moe_even": ("qwen2_moe", {**EVEN, "num_hidden_layers": 4, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                                     "shared_expert_intermediate_size": 80, "decoder_sparse_step": 2, "mlp_only_layers": [3],
                                     "norm_topk_prob": True, "tie_word_embeddings": True}),
    "qwen2_moe_odd": ("qwen2_moe", {**ODD, "hidden_size": 42, "num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 20,
                                    "shared_expert_intermediate_size": 28}),
    "mixtral_even": ("mixtral", {**EVEN, "num_local_experts": 4, "num_experts_per_tok": 2, "tie_word_embeddings": True,
                                 **rope(rope_type="default")}),
    "mixtral_odd": ("mixtral", {**ODD, "num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 16}),
    "qwen3_moe_even": ("qwen3_moe", {**EVEN, "num_hidden_layers": 3, "head_dim": 12, "num_experts": 6, "num_experts_per_tok": 2,
                                     "moe_intermediate_size": 32, "mlp_only_layers": [1], "tie_word_embeddings": True}),
    "qwen3_moe_odd": ("qwen3_moe", {**ODD, "num_experts": 7, "num_experts_per_tok": 3, "moe_intermediate_size": 20,
                                    "norm_topk_prob": True}),
    "olmoe_even": ("olmoe", {**EVEN, "num_experts": 4, "num_experts_per_tok": 2, "tie_word_embeddings": False}),
    "olmoe_odd": ("olmoe", {**ODD, "hidden_size": 42, "num_experts": 3, "num_experts_per_tok": 3, "norm_topk_prob": True}),
    "gpt_oss_even": ("gpt_oss", {**EVEN, "head_dim": 12, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 11,
                                 **rope(rope_type="default")}),
    "gpt_oss_odd": ("gpt_oss", {**ODD, "num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 16, "swiglu_limit": 0.75,
                                "swiglu_alpha": 1.3, "rope_parameters": SINKS}),
    "gpt_oss_blocks": ("gpt_oss", {**EVEN, "hidden_size": 64, "intermediate_size": 32, "num_local_experts": 3, "num_experts_per_tok": 2,
                                   "head_dim": 16, "sliding_window": 9, "rope_parameters": SINKS}),
}  # fmt: skip
JOINED = ("mixtral_odd", "qwen2_moe_odd", "qwen3_moe_odd", "olmoe_odd")  # stored as transformers 5 has experts in memory; other safetensors one by one
BLOCKS = ("gpt_oss_blocks",)  # stored in MXFP4
PERMUTED = ("mistral", "mixtral", "ministral3", "smollm3", "granite")  # llama.cpp's writer puts the components of rotary pairs next to each other


def number(name, count):
    """The first `count` numbers of a tensor: uniform in [-1, 1), 24 bits each, from a hash of its name and of their places."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        x = np.uint64(hashed) + np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return ((x >> np.uint64(40)).astype(np.float64) / 2**23 - 1).astype(np.float32)


def weights(name, shape, is_shifted):
    """As safetensors hold them. Norms are about 1, or of Gemma about 0, where 1 is added to them."""
    values = number(name, int(np.prod(shape))) * np.float32(0.5 if "embed_tokens" in name else 0.25)
    if "norm" in name and not is_shifted and not name.endswith(".bias"):
        values = np.float32(1) + values
    return values.reshape(shape)


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=np.float32)


def stored_bytes(name, shape):
    """Of MXFP4: any blocks, and scales of 1/32 and 1/16."""
    values = (number(name, int(np.prod(shape))) + np.float32(1)) * np.float32(128 if name.endswith("_blocks") else 1)
    return (values.astype(np.uint8) + np.uint8(0 if name.endswith("_blocks") else 122)).reshape(shape)


def unpacked(name, shape):
    """Experts by inputs by outputs, as transformers has them."""
    experts, inputs, outputs = shape
    blocks = stored_bytes(name + "_blocks", (experts, outputs, inputs // 32, 16))
    scales = stored_bytes(name + "_scales", (experts, outputs, inputs // 32)).astype(np.int32) - 127
    pairs = np.stack([FP4[blocks & 15], FP4[blocks >> 4]], axis=-1).reshape(experts, outputs, inputs // 32, 32)
    return np.ldexp(pairs, scales[..., None]).reshape(experts, outputs, inputs).swapaxes(1, 2)


def expert_sources(name, layout):
    """Of experts in memory, what the file calls their matrices: of gate and up, or of down."""
    stem, kind = name.rsplit(".", 1)
    if layout == "numbered":
        stem = stem.replace(".mlp.", ".block_sparse_moe.")
        return [f"{stem}.*.{which}.weight" for which in (("w1", "w3") if kind == "gate_up_proj" else ("w2",))]
    return [f"{stem}.*.{which}.weight" for which in (("gate_proj", "up_proj") if kind == "gate_up_proj" else ("down_proj",))]


def layout_of(case):
    if case in BLOCKS:
        return "blocks"
    if CASES[case][0] == "gpt_oss":
        return "alternating"
    return "joined" if case in JOINED else "numbered" if CASES[case][0] == "mixtral" else "separate"


def is_of_experts(name):
    return name.endswith(("experts.gate_up_proj", "experts.down_proj"))


def values_of(name, shape, model_type, layout):
    """Of what a model has in memory."""
    if is_of_experts(name) and layout == "blocks":
        return unpacked(name, shape)
    if is_of_experts(name) and layout in ("separate", "numbered"):
        sources = expert_sources(name, layout)
        part = (shape[1] // len(sources), shape[2])
        return np.stack([np.concatenate([weights(source.replace("*", str(expert)), part, False) for source in sources])
                         for expert in range(shape[0])])  # fmt: skip
    if layout == "numbered" and name.endswith("mlp.gate.weight"):
        name = name.replace(".mlp.", ".block_sparse_moe.")
    return weights(name, shape, "gemma" in model_type)


def model_of(model_type, settings, layout="separate"):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(model_type, **settings)
    plain = {"attn_implementation": "eager", "experts_implementation": "eager"}
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, **plain).eval()
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name == "lm_head.weight" and config.tie_word_embeddings:
                continue
            tensor.copy_(torch.from_numpy(values_of(name, tuple(tensor.shape), model_type, layout).copy()))
    model.tie_weights()
    return config, model


def logits_of(model):
    import torch

    with torch.no_grad():
        return model(torch.tensor([IDS]), use_cache=False).logits[0].float().numpy()


def are_alike(config):
    return not getattr(config, "mlp_only_layers", None) and getattr(config, "decoder_sparse_step", 1) == 1


def kept(name, config):
    """Whether it is of layer 0, or of none, where layers are alike."""
    return not are_alike(config) or not name.startswith("model.layers.") or name.startswith("model.layers.0.")


def stored_shapes(model, config, layout="separate"):
    """By the names of safetensors."""
    shapes = {}
    for name, tensor in model.state_dict().items():
        shape = list(tensor.shape)
        if is_of_experts(name) and layout in ("separate", "numbered"):
            sources = expert_sources(name, layout)
            for expert in range(shape[0]):
                for source in sources:
                    shapes[source.replace("*", str(expert))] = [shape[1] // len(sources), shape[2]]
        elif is_of_experts(name) and layout == "blocks":
            shapes[name + "_blocks"] = [shape[0], shape[2], shape[1] // 32, 16]
            shapes[name + "_scales"] = [shape[0], shape[2], shape[1] // 32]
        elif layout == "numbered" and name.endswith("mlp.gate.weight"):
            shapes[name.replace(".mlp.", ".block_sparse_moe.")] = shape
        elif not (config.tie_word_embeddings and name == "lm_head.weight"):
            shapes[name] = shape
    return shapes


def gguf_experts(name, layout):
    """Of the first tensor of an expert those that GGUF makes of it and of its fellows; nothing of the fellows; else None."""
    if ".experts." not in name:
        return None
    prefix = f"blk.{name.split('.')[2]}.ffn_"
    if layout in ("separate", "numbered"):
        expert, which = name.split(".experts.")[1].split(".")[:2]
        kind = {"gate_proj": "gate", "w1": "gate", "up_proj": "up", "w3": "up"}.get(which, "down")
        return {f"{prefix}{kind}_exps.weight": [name.replace(".experts.0.", ".experts.*."), "stack"]} if expert == "0" else {}
    if name.endswith("_scales"):
        return {}
    end = "bias" if name.endswith("_bias") else "weight"
    how = "bias" if end == "bias" else layout
    if ".down_proj" in name:
        return {f"{prefix}down_exps.{end}": [name, how]}
    return {f"{prefix}{kind}_exps.{end}": [name, f"{how} {kind}"] for kind in ("gate", "up")}


def gguf_tensors(family, shapes, layers, layout="separate"):
    """Of each GGUF tensor the one in safetensors, and how it is stored: as it is, with pairs together, with 1 added, or as experts are."""
    import gguf

    arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == family)
    names = gguf.get_tensor_name_map(arch, layers)
    out = {}
    for name in shapes:
        experts = gguf_experts(name, layout)
        if experts is not None:
            out.update(experts)
            continue
        of_weights = name + ".weight" if name.endswith("sinks") else name
        stored = names.get_name(of_weights, try_suffixes=(".weight", ".bias"))
        is_row = "shared_expert_gate" in name  # which some versions of the writer store as a matrix, others as a vector
        out[stored] = [name, "flat" if is_row else "shifted" if family.startswith("gemma") and "norm" in name else ""]
    return out


def expert_values(name, how, shapes, experts):
    """What GGUF has of experts: floats, or bytes of MXFP4."""
    how, *kind = how.split(" ")
    if how == "stack":
        return np.stack([weights(name.replace("*", str(expert)), shapes[name.replace("*", "0")], False) for expert in range(experts)])
    if how == "blocks":
        blocks = stored_bytes(name, shapes[name])
        scales = stored_bytes(name.replace("_blocks", "_scales"), shapes[name.replace("_blocks", "_scales")])
        numbers = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(*blocks.shape[:-1], 32)
        packed = np.concatenate([scales[..., None], numbers[..., :16] | numbers[..., 16:] << 4], axis=-1)
        values = packed.reshape(*packed.shape[:2], -1)
    else:
        values = weights(name, shapes[name], False)
    if how == "alternating":
        values = values.swapaxes(1, 2)
    if not kind:
        return np.ascontiguousarray(values)
    if how == "joined":
        half = values.shape[1] // 2
        return values[:, :half] if kind == ["gate"] else values[:, half:]
    return np.ascontiguousarray(values[:, 0 if kind == ["gate"] else 1 :: 2])


def gguf_keys(family, config):
    """As llama.cpp's writer has them."""
    said = config.to_dict()
    size = said.get("head_dim") or config.hidden_size // config.num_attention_heads
    parameters = said["rope_parameters"]
    parameters = parameters.get("full_attention", parameters)
    keys = {
        "block_count": config.num_hidden_layers, "context_length": config.max_position_embeddings, "vocab_size": config.vocab_size,
        "embedding_length": config.hidden_size, "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads, "attention.head_count_kv": config.num_key_value_heads,
        "attention.key_length": size, "attention.value_length": size,
        "rope.dimension_count": int(size * parameters.get("partial_rotary_factor", 1)), "rope.freq_base": float(parameters["rope_theta"]),
    }  # fmt: skip
    if family == "stablelm":
        keys["use_parallel_residual"] = True  # as the writer has it of a config.json that does not say it
    if family in ("stablelm", "starcoder2"):
        keys["attention.layer_norm_epsilon"] = config.layer_norm_eps if family == "stablelm" else config.norm_epsilon
    else:
        keys["attention.layer_norm_rms_epsilon"] = config.rms_norm_eps
    if said["model_type"] == "olmo3":
        keys["attention.sliding_window_pattern"] = [kind == "sliding_attention" for kind in config.layer_types]
    windowed = ("llama", "phi3", "gemma2", "gemma3", "gpt-oss", "starcoder2", "olmo2")
    if family in windowed and getattr(config, "sliding_window", None):
        keys["attention.sliding_window"] = config.sliding_window
    if family == "granite":
        keys.update({"attention.scale": config.attention_multiplier, "embedding_scale": config.embedding_multiplier,
                     "residual_scale": config.residual_multiplier, "logit_scale": config.logits_scaling})  # fmt: skip
    if family == "gemma2":
        keys["attn_logit_softcapping"] = config.attn_logit_softcapping
        keys["final_logit_softcapping"] = config.final_logit_softcapping
    if family == "gemma3":
        keys["rope.freq_base_swa"] = float(said["rope_parameters"]["sliding_attention"]["rope_theta"])
    if hasattr(config, "num_experts_per_tok"):
        keys["expert_count"] = config.num_experts
        keys["expert_used_count"] = config.num_experts_per_tok
    if family == "qwen2moe":
        keys["expert_shared_feed_forward_length"] = config.shared_expert_intermediate_size
    if family in ("qwen2moe", "qwen3moe"):
        keys["expert_feed_forward_length"] = config.moe_intermediate_size
    if family == "gpt-oss":
        keys["expert_feed_forward_length"] = config.intermediate_size
    kind = parameters["rope_type"]
    if kind in ("linear", "yarn"):
        keys.update({"rope.scaling.type": kind, "rope.scaling.factor": float(parameters["factor"])})
    if kind == "yarn":
        keys["rope.scaling.original_context_length"] = parameters["original_max_position_embeddings"]
    if family == "mistral3":
        keys["attention.temperature_scale"] = parameters["llama_4_scaling_beta"]
        keys["attention.temperature_length"] = parameters["original_max_position_embeddings"]
        if "mscale_all_dim" in parameters:
            keys["rope.scaling.yarn_log_multiplier"] = parameters["mscale_all_dim"]
    if kind == "longrope":
        original = parameters.get("original_max_position_embeddings") or config.original_max_position_embeddings
        keys["rope.scaling.original_context_length"] = original
        keys["rope.scaling.attn_factor"] = float(np.sqrt(1 + np.log(config.max_position_embeddings / original) / np.log(original)))
    return {f"{family}.{key}": value for key, value in keys.items()}


def longrope_tensors(config):
    parameters = config.to_dict()["rope_parameters"]
    if parameters.get("rope_type") != "longrope":
        return {}
    return {f"rope_factors_{kind}.weight": parameters[f"{kind}_factor"] for kind in ("long", "short")}


def permuted(values, heads):
    """As llama.cpp's writer does it."""
    return values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def heads_of(name, config):
    return config.num_attention_heads if ".q_proj" in name else config.num_key_value_heads


def write_gguf(path, model_type, family, config, shapes, layout="separate"):
    """With gguf's own writer."""
    import gguf

    writer = gguf.GGUFWriter(str(path), family)
    for key, value in gguf_keys(family, config).items():
        adds = {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string, bool: writer.add_bool, list: writer.add_array}
        adds[type(value)](key, value)
    writer.add_tokenizer_model("no_vocab")
    for stored, (name, how) in gguf_tensors(family, shapes, config.num_hidden_layers, layout).items():
        if "exps" in stored:
            values = expert_values(name, how, shapes, config.num_experts)
            mxfp4 = gguf.GGMLQuantizationType.MXFP4 if values.dtype == np.uint8 else None
            writer.add_tensor(stored, values, raw_dtype=mxfp4)
            continue
        values = weights(name, shapes[name], model_type.startswith("gemma"))
        if model_type in PERMUTED and (".q_proj" in name or ".k_proj" in name):
            values = permuted(values, heads_of(name, config))
        writer.add_tensor(stored, np.float32(1) + values if how == "shifted" else values.reshape(-1) if how == "flat" else values)
    for name, values in longrope_tensors(config).items():
        writer.add_tensor(name, np.array(values, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def has_gguf(model_type, config):
    """Whether a GGUF file can say it all: of these, windows it cannot."""
    if model_type in ("qwen2_moe", "qwen3_moe", "olmoe"):  # llama.cpp has one rule for the shares of each
        return are_alike(config) and config.norm_topk_prob == (model_type == "qwen3_moe")
    if model_type == "gpt_oss":
        return config.swiglu_limit == 7
    return model_type != "qwen2" or not config.use_sliding_window


def family_of(model_type):
    others = {"mistral": "llama", "mixtral": "llama", "ministral3": "mistral3", "gemma3_text": "gemma3", "olmo3": "olmo2"}
    return {**others, "qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe", "gpt_oss": "gpt-oss"}.get(model_type, model_type)


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or CASES:
        model_type, settings, *context = CASES[name]
        family = family_of(model_type)
        layout = layout_of(name)
        config, model = model_of(model_type, settings, layout)
        shapes = stored_shapes(model, config, layout)
        rows = logits_of(model)
        gguf_keys_here = gguf_keys(family, config)
        tensors = gguf_tensors(family, shapes, config.num_hidden_layers, layout) if has_gguf(model_type, config) else {}
        case = {
            "are_alike": are_alike(config),
            "config": json.loads(config.to_json_string(use_diff=True)),
            "context_length": context[0] if context else 0,
            "family": family,
            "has_gguf": has_gguf(model_type, config),
            "is_permuted": model_type in PERMUTED,
            "keys": gguf_keys_here,
            "shapes": {name: shape for name, shape in shapes.items() if kept(name, config)},
            "gguf": {stored: source for stored, source in tensors.items() if kept(source[0], config)},
            "factors": longrope_tensors(config),
            "ids": IDS,
            "rows": {str(row): [round(float(value), 6) for value in rows[row]] for row in ROWS},
        }
        if layout == "blocks":
            case["config"]["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
        text = json.dumps(case, sort_keys=True)
        (folder / f"{name}.json").write_text(text + "\n")
        print(name, len(text), "bytes, logits within", float(np.abs(rows).max()))


if __name__ == "__main__":
    main()
