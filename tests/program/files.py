#!/usr/bin/env python3
"""Model files as people have them: what is left over refuses them, what is sure is taken, with a note."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import FOLDER, ProgramTest  # noqa: E402

PLAIN = ("--prompt-ids", "5,6,7", "-n", 5, "--scheme", "plain", "--temperature", 0, "--ignore-eos")
NORM = {"model.layers.0.self_attn.q_norm.weight": ([8], [1.0] * 8)}


def folder(name, more=None, config=None, shards=1):
    """A folder of safetensors with more tensors and keys, in so many files."""
    path = FOLDER / name
    tiny_model.write_folder(path)
    tensors = {tiny_model.folder_name(each): held for each, held in tiny_model.model_tensors(1, 1, 32, tiny_model.VOCABULARY).items()}
    tensors.update(more or {})
    (path / "config.json").write_text(json.dumps({**json.loads((path / "config.json").read_text()), **(config or {})}))
    if shards == 1:
        tiny_model.save_safetensors(path / "model.safetensors", tensors)
        return path
    (path / "model.safetensors").unlink()
    places = {}
    for shard in range(shards):
        held = dict(list(tensors.items())[shard::shards])
        tiny_model.save_safetensors(path / f"{shard}.safetensors", held)
        places.update({each: f"{shard}.safetensors" for each in held if each not in NORM})
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return path


class Files(ProgramTest):
    def refused(self, expected, model):
        self.refuses(expected, "generate", "--model", model, *PLAIN)

    def test_a_tensor_that_is_left_over_refuses_the_folder(self):
        name = next(iter(NORM))
        self.refused(["1 tensor is not understood", name], folder("qwen_as_llama", NORM))
        self.refused(["1 tensor is not understood", name], folder("sharded_qwen", NORM, shards=2))
        self.refused(["layers.1.mlp"], folder("more_layers", {"model.layers.1.mlp.up_proj.weight": ([32, 64], [0.0] * 2048)}))
        expected = self.generated(*PLAIN, model=folder("sound"))["ids"]
        idle = {"model.layers.0.self_attn.rotary_emb.inv_freq": ([4], [1.0] * 4)}
        self.assertEqual(expected, self.generated(*PLAIN, model=folder("idle", idle))["ids"])
        self.assertEqual(expected, self.generated(*PLAIN, model=folder("sharded", shards=3))["ids"])

    def test_a_head_that_is_tied_must_be_the_embedding(self):
        shape, numbers = tiny_model.model_tensors(1, 1, 32, tiny_model.VOCABULARY)["token_embd.weight"]
        same, other = {"lm_head.weight": (shape, numbers)}, {"lm_head.weight": (shape, [each + 1 for each in numbers])}
        self.assertEqual(self.generated(*PLAIN, model=folder("tied"))["ids"], self.generated(*PLAIN, model=folder("twice", same))["ids"])
        self.refused(["tie_word_embeddings", "lm_head.weight"], folder("torn", other))
        self.generated(*PLAIN, model=folder("untied", other, {"tie_word_embeddings": False}))

    def test_quantizations_of_others_are_called_by_their_names(self):
        for method in ("gptq", "awq", "fp8", "bitsandbytes", "compressed-tensors"):
            path = folder(method, config={"quantization_config": {"quant_method": method, "bits": 4}})
            self.refused(["quantization_config", method], path)

    def test_models_padded_to_other_rows_draft_for_each_other(self):
        plain = tiny_model.write(FOLDER / "of_262.gguf")
        padded = tiny_model.write(FOLDER / "of_272.gguf", seed=2, vocabulary=tiny_model.VOCABULARY + 10)
        noting = "the last 10 of 272 rows belong to no token"
        drafts = ("-p", "the cat", "-n", 12, "--temperature", 0, "--ignore-eos", "--scheme", "sd", "--draft")
        for target, draft in ((plain, padded), (padded, plain)):
            alone = ("-p", "the cat", "-n", 12, "--temperature", 0, "--ignore-eos", "--scheme", "plain")
            expected = self.generated(*alone, model=target, **({"noting": noting} if target == padded else {}))
            self.assertEqual(expected["ids"], self.generated(*drafts, draft, model=target, noting=noting)["ids"])

    def test_a_stale_vocabulary_size_is_noted(self):
        words = [tiny_model.pair("llama.vocab_size", tiny_model.U32, 200), *tiny_model.tokenizer(None)]
        stale = tiny_model.write(FOLDER / "stale.gguf", words=words)
        result = self.generated("-p", "a", "-n", 3, "--scheme", "plain", model=stale, noting="llama.vocab_size is 200, and is passed over")
        self.assertEqual(self.generated("-p", "a", "-n", 3, "--scheme", "plain", model=tiny_model.write(FOLDER / "fresh.gguf"))["ids"], result["ids"])


if __name__ == "__main__":
    unittest.main()
