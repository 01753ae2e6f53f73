#!/usr/bin/env python3
"""The program on a model that people use, against ids and logits that another implementation gave (tests/data/reference)."""

import json
import os
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, ProgramTest  # noqa: E402

MODEL = pathlib.Path(os.environ["AUGUR_MODEL_DIRECTORY"], "SmolLM2-135M-Instruct.Q4_1.gguf")
DATA = pathlib.Path(__file__).parents[1] / "data" / "reference"
REFERENCES = [json.loads(path.read_text()) for path in sorted(DATA.glob("*.json"))]

ONE_TURN = ("--compare-seconds", 0)  # texts are compared here, not speeds


class Reference(ProgramTest):
    def test_there_are_some(self):
        self.assertLess(2, len(REFERENCES))

    def test_greedy_ids_with_and_without_guesses(self):
        for known in REFERENCES:
            path = FOLDER / "prompt.txt"
            path.write_text(known["prompt"] + "\n", encoding="utf-8")
            arguments = ("--prompt-file", path, "--max-tokens", len(known["greedy_ids"]), "--ignore-eos", "--compare", *ONE_TURN)
            noting = None if "<|im_start|>" in known["prompt"] else "--chat"
            result = self.generated(*arguments, "--scheme", "lookup", "--weights", "f32", model=MODEL, noting=noting)
            self.assertEqual(known["prompt_ids"], result["prompt_ids"])
            self.assertEqual(known["greedy_ids"], result["ids"])
            self.assertEqual(known["greedy_ids"], result["plain"]["ids"])
            self.assertTrue(result["identical"])
            for weights in ("keep", "bf16", "q8_0", "q4_0"):
                result = self.generated(*arguments, "--scheme", "lookup", "--weights", weights, model=MODEL, noting=noting)
                self.assertTrue(result["identical"])
                self.assertEqual(len(known["greedy_ids"]), len(result["ids"]))

    def test_keys_and_values_in_q8_0_take_less_memory_and_change_no_text_of_a_scheme(self):
        plain, result = (
            self.generated("--prompt", REFERENCES[0]["prompt"], "--max-tokens", 16, "--ignore-eos", "--compare", *ONE_TURN,
                           "--scheme", "lookup", "--cache", cache, model=MODEL, noting="--chat")
            for cache in ("f32", "q8_0")
        )
        self.assertTrue(result["identical"])
        self.assertEqual(["f32", "q8_0"], [each["settings"]["cache"] for each in (plain, result)])
        self.assertLess(result["memory_bytes"], plain["memory_bytes"])

    def test_last_row(self):
        for known in REFERENCES:
            path = FOLDER / "row.f32"
            ids = ",".join(map(str, known["prompt_ids"]))
            self.works("logits", "--model", MODEL, "--weights", "f32", "--prompt-ids", ids, "--output", path)
            expected = (DATA / (known["name"] + ".logits.f32")).read_bytes()
            self.assertEqual(len(expected), path.stat().st_size)
            pairs = zip(struct.iter_unpack("<f", path.read_bytes()), struct.iter_unpack("<f", expected))
            self.assertLess(max(abs(ours - right) for (ours,), (right,) in pairs), 1e-3)


class Text(ProgramTest):
    def test_chat(self):
        """The template's own system message comes with it; the answer ends with the end token, which is no text."""
        question = "What is photosynthesis, and why is it important for life on Earth? Explain in a few paragraphs."
        known = next(each for each in REFERENCES if question in each["prompt"])
        result = self.generated("--chat", "--prompt", question, "--max-tokens", 1, model=MODEL)
        self.assertEqual(known["prompt_ids"], result["prompt_ids"])
        result = self.generated("--chat", "--prompt", "Say hello.", "--max-tokens", 100, model=MODEL)
        self.assertEqual("stop_token", result["finish_reason"])
        self.assertNotIn("<|", result["text"])

    def test_turns_by_entropy_with_the_family_that_ships(self):
        """Sampled; the draft is found by the model's fingerprint."""
        family = pathlib.Path(__file__).parents[2] / "examples" / "family"
        asked = ("--prompt", "The sky is", "--max-tokens", 40, "--ignore-eos", "--temperature", 0.7, "--scheme", "ead")
        result = self.generated(*asked, model=MODEL, family=family, noting="--chat")
        self.assertEqual([str(family / "smollm2-135m" / "draft.gguf")], result["settings"]["drafters"])
        self.assertEqual(40, sum(model["written"] for model in result["models"]))
        self.assertLessEqual(10, result["models"][0]["written"])  # it begins, and stays for the dwell
        self.assertLess(0.2, result["parameter_ratio"])
        self.assertTrue(all(seconds >= 0 for seconds in result["seconds"].values()), result["seconds"])

    def test_a_draft_is_held_in_four_bits_where_no_text_depends_on_it(self):
        family = pathlib.Path(__file__).parents[2] / "examples" / "family"
        asked = ("--prompt", "The sky is", "--max-tokens", 64, "--ignore-eos", "--temperature", 0.7)
        memory = lambda *scheme: self.generated(*asked, "--scheme", *scheme, model=MODEL, family=family, noting="--chat")["memory_bytes"]
        stored = (family / "smollm2-135m" / "draft.gguf").stat().st_size
        self.assertLess(memory("sd", "--accept", "coupled"), memory("ead", "--thresholds", 0.01, "--dwell", 1) - stored // 3)

    def test_the_familys_exits_draft_in_the_models_own_cache(self):
        family = pathlib.Path(__file__).parents[2] / "examples" / "family"
        asked = ("--prompt", "The sky is", "--max-tokens", 60, "--ignore-eos", "--scheme", "kangaroo", "--compare", *ONE_TURN)
        for layer in (6, 15, 24):
            result = self.generated(*asked, "--exit-layer", layer, model=MODEL, family=family, noting="--chat")
            self.assertEqual((True, layer), (result["identical"], result["settings"]["exit_layer"]))
            self.assertGreater(result["stages"][0]["accepted"], 5)
        self.assertEqual(24, self.generated(*asked, model=MODEL, family=family, noting="--chat")["settings"]["exit_layer"])

    def test_trees_that_rows_suggest_and_of_two_drafters(self):
        family = pathlib.Path(__file__).parents[2] / "examples" / "family"
        asked = ("--prompt", "1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1,", "--max-tokens", 24, "--ignore-eos", "--compare", *ONE_TURN)
        hydra = ("--heads", family / "smollm2-135m" / "hydra.gguf")
        for using in (("eagle", "--tree", "dynamic"), ("merged", "--tree", "dynamic"), ("merged", *hydra)):
            result = self.generated(*asked, "--scheme", *using, model=MODEL, family=family, noting="--chat")
            self.assertTrue(result["identical"], using)
            self.assertGreater(result["stages"][0]["accepted"], 0, using)
        drawn = ("--temperature", 0.8, "--seed", 2)
        result = self.generated(*asked, *drawn, "--scheme", "eagle", "--tree", "dynamic", model=MODEL, family=family, noting="--chat")
        self.assertEqual((True, "same text as plain sampling with the same seed"), (result["identical"], result["guarantee"]))

    def test_sampling_keeps_the_text_of_its_seed(self):
        for seed, temperature in ((1, 0.5), (2, 1.0)):
            drawn = ("--seed", seed, "--temperature", temperature, "--top-p", 0.95, "--max-tokens", 48, "--compare", *ONE_TURN)
            result = self.generated("--prompt", "1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1,", *drawn, model=MODEL, noting="--chat")
            self.assertEqual("same text as plain sampling with the same seed", result["guarantee"])
            self.assertTrue(result["identical"])


if __name__ == "__main__":
    unittest.main()
