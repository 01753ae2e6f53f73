#!/usr/bin/env python3
"""Small random Llamas with Llama 3's rotary scaling and with linear scaling, and what transformers says they answer.

    make_rotary.py OUTPUT_FOLDER      (needs the packages torch, transformers and safetensors)

Writes rotary_llama3/ and rotary_linear/: config.json, model.safetensors and logits.json {"ids", "last": the row after them}.
"""

import json
import pathlib
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SCALINGS = {
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    "linear": {"rope_type": "linear", "factor": 4.0},
}


def main():
    for name, scaling in SCALINGS.items():
        torch.manual_seed(7)
        config = LlamaConfig(vocab_size=61, hidden_size=48, intermediate_size=52, num_hidden_layers=2, num_attention_heads=6,
                             num_key_value_heads=2, head_dim=10, max_position_embeddings=512, rms_norm_eps=1e-5,
                             tie_word_embeddings=False, initializer_range=0.25)
        # newer releases hold the base among the parameters, older ones beside them
        config.rope_parameters = {"rope_theta": 500.0, **scaling}
        model = LlamaForCausalLM(config).eval()
        folder = pathlib.Path(sys.argv[1]) / f"rotary_{name}"
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        ids = [(i * 37 + 5) % 61 for i in range(200)]
        with torch.no_grad():
            last = model.double()(torch.tensor([ids])).logits[0, -1]
        (folder / "logits.json").write_text(json.dumps({"ids": ids, "last": [round(v, 6) for v in last.tolist()]}) + "\n")


if __name__ == "__main__":
    main()
