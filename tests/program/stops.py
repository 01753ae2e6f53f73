#!/usr/bin/env python3
"""Where texts end: stop ids from all of a model's files, stop strings that are control tokens, under every scheme; and files whose flaws
do no harm."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, TARGET, ProgramTest  # noqa: E402

END, START, IM_END = 0, 1, 2  # control tokens of tiny_model
SCHEMES = {
    "plain": (),
    "lookup": (),
    "suffix": (),
    "sd": ("--draft", DRAFT),
    "eaad": ("--draft", DRAFT),
    "hysteresis": ("--draft", DRAFT),
    "merged": ("--draft", DRAFT),
    "kangaroo": ("--untrained",),
    "dvi": (),
    "fsd": ("--draft", DRAFT),
    "psd_a": ("--draft", DRAFT, "--draft", TARGET),
    "ead": ("--draft", DRAFT),
}


EXACT_AT_ZERO = {"fsd", "psd_a"}  # which a note says


def noting(scheme):
    return {"noting": "at temperature 0 rows are points"} if scheme in EXACT_AT_ZERO else {}


def folder_model(name, words=True, **configurations):
    """A folder of safetensors with a tokenizer (two control tokens, of which none ends texts by its name), and these files."""
    path = FOLDER / name
    tiny_model.write_folder(path)
    names = ["<|a|>", "<|b|>", "<|c|>"]
    tokens = names + tiny_model.byte_letters() + [merge.replace(" ", "") for merge in tiny_model.MERGES]
    added = [{"id": i, "content": text, "special": True} for i, text in enumerate(names)]
    step = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    model = {"type": "BPE", "vocab": {text: i for i, text in enumerate(tokens)}, "merges": tiny_model.MERGES}
    if words:
        (path / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "pre_tokenizer": step, "model": model}))
    for file, content in configurations.items():
        path.joinpath(f"{file}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def with_config(path, **values):
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **values}))
    return path


class StopIds(ProgramTest):
    def ends(self, model, *more):
        result = self.generated("--prompt-ids", "50", "--max-tokens", 4, "--scheme", "plain", *more, model=model)
        return result["stop_ids"], result["ids"], result["finish_reason"]

    def test_the_union_of_a_folder(self):
        model = with_config(folder_model("union", generation_config={"eos_token_id": [9, 1]}, tokenizer_config={"eos_token": {"content": "<|c|>"}}),
                            eos_token_id=7, text_config={"eos_token_id": [8]})  # fmt: skip
        for stop in (1, 2, 7, 8, 9):
            self.assertEqual(([1, 2, 7, 8, 9], [stop], "stop_token"), self.ends(model, "--logit-bias", f"{stop}=200"))
        self.assertEqual(([], [9] * 4, "max_tokens"), self.ends(model, "--logit-bias", "9=200", "--ignore-eos"))

    def test_no_file_says_anything(self):
        self.assertEqual(([], [9] * 4, "max_tokens"), self.ends(folder_model("silent"), "--logit-bias", "9=200"))

    def test_a_folder_without_a_tokenizer(self):
        model = folder_model("wordless", words=False, generation_config={"eos_token_id": 9})
        self.assertEqual(([9], [9], "stop_token"), self.ends(model, "--logit-bias", "9=200"))

    def test_every_scheme_stops(self):
        for scheme, needed in SCHEMES.items():
            result = self.generated("--prompt", "a", "--max-tokens", 5, "--scheme", scheme, *needed, "--logit-bias", f"{IM_END}=200",
                                  **noting(scheme))  # fmt: skip
            self.assertEqual(([IM_END], "stop_token"), (result["ids"], result["finish_reason"]), scheme)
            self.assertEqual([END, IM_END], result["stop_ids"])

    def test_what_is_no_id_is_refused(self):
        for i, value in enumerate(("'</s>'", True, 1.5, -2, 2**31, [1, "2"], {})):
            model = folder_model(f"flaw{i}", generation_config={"eos_token_id": value})
            self.refuses(["generation_config.json", "eos_token_id"], "generate", "--model", model, "--prompt", "a")
        for i, text in enumerate(("", "[]", "{", '{"eos_token_id": 1, "eos_token_id": 2}')):
            model = folder_model(f"broken{i}", generation_config=text)
            self.refuses(["generation_config.json"], "generate", "--model", model, "--prompt", "a")

    def test_ids_that_the_model_has_no_rows_for(self):
        model = folder_model("beyond", generation_config={"eos_token_id": [9, 5000]})
        result = self.generated("--prompt", "a", "--max-tokens", 1, model=model, noting="5000")
        self.assertEqual([9], result["stop_ids"])
        result = self.generated("--prompt", "a", "--max-tokens", 1, model=folder_model("none", generation_config={"eos_token_id": -1}), noting="is -1")
        self.assertEqual([], result["stop_ids"])


class StopStrings(ProgramTest):
    def test_a_control_token_under_every_scheme(self):
        for scheme, needed in SCHEMES.items():
            result = self.generated("--prompt", "a", "--max-tokens", 5, "--scheme", scheme, *needed, "--stop", "<|im_start|>",
                                  "--logit-bias", f"{START}=200", **noting(scheme))  # fmt: skip
            self.assertEqual(([START], "", "stop_string", "<|im_start|>"), (result["ids"], result["text"], result["finish_reason"], result["stop_string"]), scheme)

    def test_an_end_token_is_one_first(self):
        result = self.generated("--prompt", "a", "--stop", "<|im_end|>", "--logit-bias", f"{IM_END}=200", "--max-tokens", 5)
        self.assertEqual(([IM_END], "stop_token"), (result["ids"], result["finish_reason"]))
        result = self.generated("--prompt", "a", "--stop", "<|im_end|>", "--logit-bias", f"{IM_END}=200", "--max-tokens", 5, "--ignore-eos")
        self.assertEqual(([IM_END], "stop_string"), (result["ids"], result["finish_reason"]))

    def test_a_name_beside_text_is_refused(self):
        for text in ("<|im_end|>\n", "a<|im_start|>", "<|im_end|><|im_start|>"):
            self.refuses(["--stop", "(token ", "alone"], "generate", "--model", TARGET, "--prompt", "a", "--stop", text)


class Flaws(ProgramTest):
    def written(self, name, *pairs, without=()):
        own = [pair for pair in tiny_model.tokenizer(None) if not any(key.encode() in pair for key in without)]
        return tiny_model.write(FOLDER / name, layers=1, words=own + list(pairs))

    def test_ids_that_nothing_needs(self):
        sound = self.generated("--prompt", "the cat", "--max-tokens", 5, model=self.written("sound.gguf"))
        for key, number in (("unknown_token_id", 2**32 - 1), ("eot_token_id", 262), ("eom_token_id", 999)):
            model = self.written(f"{key}.gguf", tiny_model.pair(f"tokenizer.ggml.{key}", tiny_model.U32, number))
            result = self.generated("--prompt", "the cat", "--max-tokens", 5, model=model, noting=f"tokenizer.ggml.{key} is {number}")
            self.assertEqual(sound["ids"], result["ids"])
        needed = self.written("needed.gguf", tiny_model.pair("tokenizer.ggml.eos_token_id", tiny_model.U32, 2**32 - 1),
                              tiny_model.pair("tokenizer.ggml.add_eos_token", tiny_model.BOOL, True), without=("eos_token_id",))  # fmt: skip
        self.refuses(["eos_token_id is 4294967295", "eos behind texts"], "generate", "--model", needed, "--prompt", "a")

    def test_merges_of_no_tokens(self):
        merges = tiny_model.array("tokenizer.ggml.merges", tiny_model.STRING, ["zq qz", *tiny_model.MERGES])
        model = self.written("merge.gguf", merges, without=("ggml.merges",))
        sound = self.generated("--prompt", "the cat", "--max-tokens", 5, model=self.written("sound.gguf"))
        result = self.generated("--prompt", "the cat", "--max-tokens", 5, model=model, noting="merge 0 of 'zq' and 'qz'")
        self.assertEqual((sound["ids"], sound["prompt_ids"]), (result["ids"], result["prompt_ids"]))


if __name__ == "__main__":
    unittest.main()
