#!/usr/bin/env python3
"""Small random EAGLE-3 layers in both published layouts, and what speculators says they answer.

    make_eagle3.py OUTPUT_FOLDER      (needs the packages torch, transformers and speculators)

Writes NAME.json for each: both config.json, the tensors' shapes, d2t, rows of logits after some of the text, and greedy drafts. Weights are no
part of it: make_dense.py's `weights` makes them from their names, and tests/llama/eagle_folder.hpp makes the same.
"""

import json
import pathlib
import sys

import torch
from make_dense import model_of, weights

IDS = [(i * i * 5 + i * 3 + 7) % 37 for i in range(24)]
AFTER = (2, 9, 24)  # tokens
DEPTH = 4
TARGET = {"vocab_size": 37, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "pad_token_id": 0, "tie_word_embeddings": False}  # fmt: skip
LAYER = {"vocab_size": 37, "hidden_size": 32, "intermediate_size": 40, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 10,
         "num_hidden_layers": 1, "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "tie_word_embeddings": False}  # fmt: skip
ROTARY = {"rope_parameters": {"rope_theta": 5000.0, "rope_type": "default"}}
CASES = {  # layout, the target's model type and layers, the layer's model type, flags, the states that it reads, the tokens it has
    "authors": ("authors", "llama", 7, "llama", {}, None, [0, 1, 2, 3, 5, 8, 13, 14, 15, 21, 22, 28, 30, 31, 34, 36]),
    "speculators": ("speculators", "qwen3", 4, "qwen3", {"norm_before_residual": True, "norm_output": True, "fc_norm": True}, [0, 1, 3],
                    [1, 2, 4, 6, 7, 9, 10, 16, 17, 18, 19, 20, 23, 24, 25, 26, 27, 29, 32, 33, 35]),
    "whole": ("speculators", "llama", 4, "llama", {"norm_before_fc": True}, [1, 2, 4], None),
}  # fmt: skip


def folder_name(layout, name):
    return name.replace("layers.0.", "midlayer.") if layout == "authors" else name


def layer_of(layout, model_type, flags, taps, tokens):
    from speculators.models.eagle3 import Eagle3DraftModel, Eagle3SpeculatorConfig
    from transformers import AutoConfig

    inner = AutoConfig.for_model(model_type, **LAYER, **ROTARY)
    inner._attn_implementation = "eager"
    config = Eagle3SpeculatorConfig(
        transformer_layer_config=inner, draft_vocab_size=len(tokens) if tokens else 37, eagle_aux_hidden_state_layer_ids=taps, **flags
    )
    layer = Eagle3DraftModel(config).eval()
    shapes = {}
    with torch.no_grad():
        for name, tensor in layer.state_dict().items():
            if name in ("d2t", "t2d") or name.startswith("verifier_") or (layout == "authors" and name.startswith("embed_tokens")):
                continue
            stored = folder_name(layout, name)
            shapes[stored] = list(tensor.shape)
            tensor.copy_(torch.from_numpy(weights(stored, tuple(tensor.shape), False)))
    return layer, shapes, config


def config_of(layout, model_type, config, taps, tokens, flags):
    inner = {"model_type": model_type, **LAYER, **ROTARY}
    if layout == "authors":
        return {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": len(tokens), **inner}
    verifier = {"name_or_path": "someone/a-small-one", "architectures": ["LlamaForCausalLM"]}
    methods = [{"proposal_type": "greedy", "speculative_tokens": 4}]
    return {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3", "draft_vocab_size": config.draft_vocab_size, **flags,
            "eagle_aux_hidden_state_layer_ids": taps, "target_hidden_size": None, "transformer_layer_config": inner,
            "speculators_config": {"algorithm": "eagle3", "default_proposal_method": "greedy", "proposal_methods": methods,
                                   "verifier": verifier}}  # fmt: skip


def states_of(target, taps):
    """Before the final norm, after so many layers, side by side."""
    seen = {}
    inner = target.model
    hooks = [inner.layers[0].register_forward_pre_hook(lambda module, args, kwargs: seen.update({0: args[0]}), with_kwargs=True)]
    for i, module in enumerate(inner.layers):
        hooks.append(module.register_forward_hook(lambda module, args, out, i=i: seen.update({i + 1: out[0] if isinstance(out, tuple) else out})))
    logits = target(torch.tensor([IDS]), use_cache=False).logits[0]
    for hook in hooks:
        hook.remove()
    return torch.cat([seen[tap] for tap in taps], dim=-1), logits


def row_of(layer, embedding, tokens, states):
    """Logits of the last input, and its own state."""
    count = len(tokens)
    both = torch.cat([embedding[torch.tensor(tokens)][None], states], dim=-1)
    places = torch.arange(count)[None]
    mask = torch.full((count, count), float("-inf")).triu(1)[None, None]
    turns = layer.rotary_emb(both, places)
    out = both
    for each in layer.layers:
        out = each(out, attention_mask=mask, position_ids=places, position_embeddings=turns)
    normed = layer.norm(out)
    return layer.lm_head(normed)[0, -1], (normed if layer.config.norm_output else out)[:, -1:]


@torch.no_grad()
def case_of(layout, target_type, layers, model_type, flags, taps, tokens):
    target_config, target = model_of(target_type, {**TARGET, "num_hidden_layers": layers, **ROTARY})
    layer, shapes, config = layer_of(layout, model_type, flags, taps, tokens)
    tapped, logits = states_of(target, taps or [2, layers // 2, layers - 3])
    if layer.input_norm is not None:
        tapped = layer.input_norm(tapped)
    if layer.fc_norm is not None:
        tapped = torch.cat([norm(part) for norm, part in zip(layer.fc_norm, tapped.chunk(3, dim=-1))], dim=-1)
    reduced = layer.fc(tapped)
    embedding = target.model.embed_tokens.weight if layout == "authors" else layer.embed_tokens.weight
    ids = tokens or list(range(37))
    rows, drafts = {}, {}
    for count in AFTER:
        # with n tokens committed, states up to n - 2 are known, each with the token after it
        inputs, states = list(IDS[1:count]), reduced[:, : count - 1]
        drafts[count] = []
        for depth in range(DEPTH):
            row, own = row_of(layer, embedding, inputs, states)
            if depth in (0, DEPTH - 1):
                rows[f"{count}.{depth}"] = [float(f"{value:.7g}") for value in row.tolist()]
            picked = ids[int(row.argmax())]
            drafts[count].append(picked)
            inputs.append(picked)
            states = torch.cat([states, own], dim=1)
    target_shapes = {name: list(tensor.shape) for name, tensor in target.state_dict().items()}
    return {"target": {"config": {"model_type": target_type, **TARGET, **({"head_dim": target_config.head_dim} if target_type == "qwen3" else {}),
                                  "num_hidden_layers": layers, **ROTARY},
                       "shapes": {name: shape for name, shape in target_shapes.items() if ".layers." not in name or ".layers.0." in name}},
            "layer": {"config": config_of(layout, model_type, config, taps, tokens, flags), "shapes": shapes},
            "d2t": [token - i for i, token in enumerate(tokens)] if tokens else [], "ids": IDS, "rows": rows, "drafts": drafts}  # fmt: skip


def main():
    output = pathlib.Path(sys.argv[1])
    for name, case in CASES.items():
        (output / f"{name}.json").write_text(json.dumps(case_of(*case)) + "\n")


if __name__ == "__main__":
    main()
