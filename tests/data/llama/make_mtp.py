#!/usr/bin/env python3
"""Small random models with layers for multi-token prediction, and what the published module answers.

    make_mtp.py OUTPUT_FOLDER      (needs the packages torch and transformers)

Writes NAME.json for each: config.json, the tensors' shapes, rows of the model's own logits, rows of the layers' logits after some of the
text, and greedy drafts. Weights are no part of it: make_dense.py's `weights` makes them from their names. The layer is MiMo's, as XiaomiMiMo
publishes it beside its weights (modeling_mimo.py); of several, layer k reads the state of layer k - 1 and the token k places on
(DeepSeek-V3, section 2.2), and the last one goes on with its own state. No cache is kept: every row is computed anew.
"""

import json
import pathlib
import sys

import torch
from make_dense import EVEN, ODD, model_of, weights

IDS = [(i * i * 5 + i * 3 + 7) % 37 for i in range(24)]
AFTER = (2, 9, 24)  # tokens
DEPTH = 5
CASES = {  # what the configuration says, layers for multi-token prediction
    "one": ({**EVEN, "tie_word_embeddings": False, "rope_parameters": {"rope_theta": 5000.0, "rope_type": "default"}}, 1),
    "odd": (ODD, 1),
    "tied": ({**EVEN, "head_dim": 16, "tie_word_embeddings": True}, 1),
    "three": ({**EVEN, "tie_word_embeddings": False}, 3),
}


def layer_of(config, index):
    from transformers.models.qwen2.modeling_qwen2 import Qwen2MLP, Qwen2Attention, Qwen2RMSNorm

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            norms = ("input_layernorm", "post_attention_layernorm", "token_layernorm", "hidden_layernorm", "final_layernorm")
            for norm in norms:
                setattr(self, norm, Qwen2RMSNorm(config.hidden_size, eps=config.rms_norm_eps))
            self.input_proj = torch.nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
            self.self_attn = Qwen2Attention(config, layer_idx=0)
            self.mlp = Qwen2MLP(config)

        def forward(self, embeddings, states, turns):
            count = embeddings.shape[1]
            mask = torch.full((count, count), float("-inf")).triu(1)[None, None]
            out = self.input_proj(torch.cat([self.hidden_layernorm(states), self.token_layernorm(embeddings)], dim=-1))
            out = out + self.self_attn(self.input_layernorm(out), position_embeddings=turns, attention_mask=mask)[0]
            out = out + self.mlp(self.post_attention_layernorm(out))
            return self.final_layernorm(out)

    layer, shapes = Layer().eval(), {}
    for name, tensor in layer.state_dict().items():
        stored = f"model.mtp_layers.{index}.{name}"
        shapes[stored] = list(tensor.shape)
        tensor.copy_(torch.from_numpy(weights(stored, tuple(tensor.shape), False)))
    return layer, shapes


def row_of(model, layers, tokens, known):
    """After `tokens`, of whose first `known` the model's states are there: the last layer's logits."""
    embedded = model.model.embed_tokens(torch.tensor([tokens]))
    states = model.model(torch.tensor([tokens[:known]]), use_cache=False).last_hidden_state
    turns = model.model.rotary_emb(embedded, torch.arange(len(tokens))[None])

    def run(layer, first, states):
        count = states.shape[1]
        return layer(embedded[:, first : first + count], states, tuple(part[:, :count] for part in turns))

    drafted = len(tokens) - known  # the token after the last state, too
    used = layers[:drafted]
    for k, layer in enumerate(used):
        before, states = states, run(layer, k + 1, states)
    for _ in range(drafted - len(used)):
        before = torch.cat([before, states[:, -1:]], dim=1)
        states = run(used[-1], len(used), before)
    return model.lm_head(states)[0, -1]


@torch.no_grad()
def case_of(settings, count):
    config, model = model_of("qwen2", settings)
    made = [layer_of(config, i) for i in range(count)]
    layers = [layer for layer, _ in made]
    rows, drafts = {}, {}
    for after in AFTER:
        tokens = list(IDS[:after])
        for depth in range(DEPTH):
            row = row_of(model, layers, tokens, after - 1)
            rows[f"{after}.{depth}"] = [float(f"{value:.7g}") for value in row.tolist()]
            tokens.append(int(row.argmax()))
        drafts[after] = tokens[after:]
    own = model(torch.tensor([IDS]), use_cache=False).logits[0, -1]
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()
              if not (settings["tie_word_embeddings"] and name == "lm_head.weight")}  # fmt: skip
    for _, more in made:
        shapes |= more
    said = {"architectures": ["MiMoForCausalLM"], "model_type": "mimo", **settings, "attention_bias": True, "use_sliding_window": False,
            "num_nextn_predict_layers": count}  # fmt: skip
    return {"config": said, "shapes": shapes, "ids": IDS, "own": [float(f"{value:.7g}") for value in own.tolist()], "rows": rows, "drafts": drafts}


def main():
    output = pathlib.Path(sys.argv[1])
    output.mkdir(exist_ok=True)
    for name, case in CASES.items():
        (output / f"{name}.json").write_text(json.dumps(case_of(*case)) + "\n")


if __name__ == "__main__":
    main()
