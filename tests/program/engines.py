#!/usr/bin/env python3
"""The program on llama.cpp: every scheme that scores suffice for, those that they do not, files of other families, and what is refused."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import ngram_file  # noqa: E402
import tiny_families  # noqa: E402
import tiny_model  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, PROGRAM, TARGET, ProgramTest  # noqa: E402

MODEL = pathlib.Path(os.environ.get("AUGUR_MODEL_DIRECTORY", ""), "SmolLM2-135M-Instruct.Q4_1.gguf")
HERE = ("--engine", "llama.cpp", "--threads", 1, "--gpu-layers", 0)
PROMPT = ("--prompt", "one two one two one two", "--max-tokens", 40, "--ignore-eos")
VERSION = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
IS_THERE = "not in this build" not in VERSION

COPY = tiny_model.write(FOLDER / "copy.gguf", seed=1, layers=2)  # of the target: it drafts what that writes
QWEN = tiny_families.write_qwen3(FOLDER / "qwen3.gguf")
MAMBA = tiny_families.write_mamba(FOLDER / "mamba.gguf")
TREE = FOLDER / "tree.json"
TREE.write_text("[[0], [1], [0, 0], [0, 1], [0, 0, 0]]")
NGRAMS = FOLDER / "ngram.gguf"

DRAFTING = {  # with whom, and whether that is a copy of the target
    ("sd",): True,
    ("sd", "--tree", TREE): True,
    ("sd", "--tree", "auto"): True,
    ("sd", "--tree", "dynamic"): True,
    ("eaad",): True,
    ("eaad", "--learn-bins"): True,
    ("eaad_as_published",): True,
    ("hysteresis",): True,
    ("merged",): True,
    ("merged", "--tree", "dynamic"): True,
    ("fsd",): True,
    ("lookup", "--length", 4): False,
    ("lookup",): False,
    ("lookup", "--tree", TREE): False,
    ("suffix",): False,
    ("suffix", "--tree", TREE): False,
}
OF_THREE = ("psd_a", "psd_f", "psd_f_as_published")
TREES = ("exact", "rejection_sampling", "coupled", "traversal", "multipath_block", "typical")
CHAINS = ("exact", "rejection_sampling", "block", "coupled")
LACKING = {
    "medusa": "hidden states",
    "hydra": "hidden states",
    "eagle": "hidden states",
    "mtp": "hidden states",
    "kangaroo": "first layers",
    "dvi": "first layers",
}


class EngineTest(ProgramTest):
    def made(self, *arguments, model=TARGET, noting=None):
        """A run on llama.cpp, and whatever notes it prints."""
        done = self.works("generate", "--model", model, *PROMPT, *HERE, *arguments, "--json")
        if noting is not None:
            self.assertIn(noting.encode(), done.stderr)
        got = json.loads(done.stdout)
        self.assertEqual("llama.cpp", got["settings"]["engine"])
        return got


@unittest.skipUnless(IS_THERE, "the program has no llama.cpp")
class Schemes(EngineTest):
    def test_greedy_texts_equal_plain_decoding_s_in_fewer_rounds(self):
        plain = self.made("--scheme", "plain")
        self.assertEqual(40, len(plain["ids"]))
        self.assertIn("numerics", plain["guarantee"])
        for scheme, is_copy in DRAFTING.items():
            with self.subTest(scheme):
                got = self.made("--scheme", *scheme, *(("--draft", COPY) if is_copy else ()))
                self.assertEqual(plain["ids"], got["ids"])
                if is_copy and "auto" not in scheme and scheme != ("merged",):
                    self.assertLess(got["rounds"], 30)
                self.assertLessEqual(got["rounds"], 40)

    def test_the_bundled_engine_writes_the_same_text(self):
        bundled = self.generated(*PROMPT, "--scheme", "plain", "--engine", "augur")
        self.assertEqual("augur", bundled["settings"]["engine"])
        self.assertEqual(bundled["ids"], self.made("--scheme", "plain")["ids"])

    def test_cascades_of_three(self):
        plain = self.made("--scheme", "plain")
        for scheme in OF_THREE:
            got = self.made("--scheme", scheme, "--draft", DRAFT, "--draft", COPY, noting="at temperature 0 rows are points")
            self.assertEqual(plain["ids"], got["ids"], scheme)
            self.assertLess(got["rounds"], 40, scheme)

    def test_models_that_take_turns(self):
        got = self.made("--scheme", "ead", "--draft", DRAFT, "--thresholds", 8)
        self.assertEqual(40, len(got["ids"]))

    def test_counted_n_grams(self):
        plain = self.made("--scheme", "plain")
        ngram_file.write(NGRAMS, [plain["prompt_ids"] + plain["ids"]], target=FINGERPRINT)
        got = self.made("--heads", NGRAMS)
        self.assertEqual("hybrid", got["scheme"])
        self.assertEqual(plain["ids"], got["ids"])
        other = FOLDER / "other.gguf"
        ngram_file.write(other, [plain["ids"]], target="0123456789abcdef")
        self.refuses("0123456789abcdef", "generate", "--model", TARGET, *PROMPT, *HERE, "--heads", other)

    def test_every_criterion(self):
        for accept in CHAINS:
            heat = 0 if accept == "exact" else 1
            for scheme in (("lookup", "--length", 2), ("sd", "--draft", COPY)):
                got = self.made("--scheme", *scheme, "--accept", accept, "--temperature", heat)
                self.assertEqual(40, len(got["ids"]), (accept, scheme))
        for accept in TREES:
            heat = 0 if accept == "exact" else 1
            got = self.made("--scheme", "sd", "--draft", COPY, "--tree", TREE, "--accept", accept, "--temperature", heat)
            self.assertEqual(40, len(got["ids"]), accept)

    def test_coupled_texts_are_those_of_plain_sampling_with_the_same_seed(self):
        drawn = ("--temperature", 1, "--seed", 7)
        plain = self.made("--scheme", "plain", *drawn)
        for scheme in (("lookup", "--length", 3), ("sd", "--draft", COPY), ("sd", "--draft", DRAFT)):
            self.assertEqual(plain["ids"], self.made("--scheme", *scheme, *drawn)["ids"], scheme)

    def test_records_comparisons_and_stops(self):
        files = [FOLDER / f"run.{ending}" for ending in ("html", "json", "jsonl")]
        names = ("--report", files[0], "--record", files[1], "--trace", files[2])
        got = self.made("--scheme", "sd", "--draft", COPY, "--compare", "--compare-seconds", 0, *names)
        self.assertTrue(got["identical"])
        self.assertEqual(got["ids"], json.loads(files[1].read_text())["result"]["ids"])
        self.assertEqual(got["rounds"], len(files[2].read_text().splitlines()))
        cut = got["text"][10:14]
        stopped = self.made("--scheme", "sd", "--draft", COPY, "--stop", cut)
        self.assertEqual("stop_string", stopped["finish_reason"])
        self.assertEqual(got["text"][: got["text"].index(cut)], stopped["text"])

    def test_chat(self):
        done = self.works("chat", "--model", TARGET, *HERE, "--max-tokens", 5, "--prompt", "the", "--scheme", "lookup")
        self.assertRegex(done.stderr, rb"5 tokens")


@unittest.skipUnless(IS_THERE, "the program has no llama.cpp")
class Refusals(EngineTest):
    def refused(self, expected, *arguments, model=TARGET):
        self.refuses(expected, "generate", "--model", model, *PROMPT, *arguments)

    def test_schemes_that_need_more_than_scores(self):
        for scheme, needed in LACKING.items():
            self.refused((scheme, needed, "llama.cpp does not show"), *HERE, "--scheme", scheme)

    def test_options_of_the_other_engine(self):
        self.refused(("--gpu-layers is 3", "'augur', chosen by auto", "llama.cpp uses it"), "--gpu-layers", 3)
        self.refused(("--rpc is a:1", "'augur'; llama.cpp uses it"), "--engine", "augur", "--rpc", "a:1,b:2")
        self.refused(("--weights is q8_0", "as the file has them"), *HERE, "--weights", "q8_0")

    def test_values(self):
        self.refused(("--engine 'other' is unknown", "auto, augur, llama.cpp"), "--engine", "other")
        self.refused(("--rpc is 'a:1,'", "a server is missing"), "--engine", "llama.cpp", "--rpc", "a:1,")
        self.refused(("127.0.0.1:1",), "--engine", "llama.cpp", "--rpc", "127.0.0.1:1")
        self.refused("--gpu-layers is 'all'", "--gpu-layers", "all")

    def test_drafts(self):
        self.refused(("'sd' needs a draft model", "give --draft"), *HERE, "--scheme", "sd")
        self.refused("needs a qualifier", *HERE, "--scheme", "psd_a", "--draft", DRAFT)
        lost = FOLDER / "lost.gguf"
        self.refused(f"cannot open {lost}: No such file", *HERE, "--scheme", "sd", "--draft", lost)  # and no note that it runs
        swapped = tiny_model.write(FOLDER / "swapped.gguf", seed=2, swapped=(100, 101))
        self.refused("token 100", *HERE, "--scheme", "sd", "--draft", swapped)


@unittest.skipUnless(IS_THERE, "the program has no llama.cpp")
class OtherFamilies(EngineTest):
    def test_auto_takes_llama_cpp_where_the_bundled_engine_does_not_read_the_file(self):
        arguments = ("generate", "--model", MAMBA, *PROMPT, "--threads", 1, "--json")
        plain = self.works(*arguments, "--scheme", "plain")
        self.assertIn(b"note: llama.cpp runs this model, which the bundled engine does not read", plain.stderr)
        plain = json.loads(plain.stdout)
        self.assertEqual("llama.cpp", plain["settings"]["engine"])
        for scheme in (("lookup", "--length", 3), ("sd", "--draft", MAMBA), ("lookup", "--tree", TREE)):
            got = json.loads(self.works(*arguments, "--scheme", *scheme).stdout)
            self.assertEqual(plain["ids"], got["ids"], scheme)
            if "sd" in scheme:
                self.assertLess(got["rounds"], 20)

    def test_auto_takes_the_bundled_engine_where_that_reads_the_file_and_both_write_the_same(self):
        arguments = ("generate", "--model", QWEN, *PROMPT, "--threads", 1, "--json")
        ours = json.loads(self.works(*arguments, "--scheme", "plain").stdout)
        self.assertEqual("augur", ours["settings"]["engine"])
        self.assertEqual(ours["ids"], self.made("--scheme", "plain", model=QWEN)["ids"])
        for scheme in (("lookup", "--length", 3), ("sd", "--draft", QWEN), ("lookup", "--tree", TREE)):
            got = self.made("--scheme", *scheme, model=QWEN)
            self.assertEqual(ours["ids"], got["ids"], scheme)
            if "sd" in scheme:
                self.assertLess(got["rounds"], 20)

    def test_values_that_the_bundled_engine_refuses_change_no_engine(self):
        self.refuses("--threads is 65", "generate", "--model", TARGET, *PROMPT, "--threads", 65)

    def test_what_is_no_file_is_opened_by_neither(self):
        pipe = FOLDER / "engines_pipe.gguf"
        os.mkfifo(pipe)
        self.addCleanup(pipe.unlink)
        for engine in ("auto", "llama.cpp"):
            self.refuses("engines_pipe.gguf", "generate", "--model", pipe, *PROMPT, "--engine", engine)

    def test_the_bundled_engine_refuses_them(self):
        self.refuses(("mamba", "--engine llama.cpp"), "generate", "--model", MAMBA, *PROMPT, "--engine", "augur")

    def test_a_file_without_words_takes_ids(self):
        none = [
            tiny_model.pair("tokenizer.ggml.model", tiny_model.STRING, "no_vocab"),
            tiny_model.pair("qwen3.vocab_size", tiny_model.U32, tiny_model.VOCABULARY),
        ]
        path = tiny_families.write_qwen3(FOLDER / "no_words.gguf", words=none)
        done = self.works("generate", "--model", path, "--prompt-ids", "3,4,5", "--max-tokens", 4, *HERE, "--json")
        self.assertEqual(4, len(json.loads(done.stdout)["ids"]))
        self.refuses("no tokenizer", "generate", "--model", path, "--prompt", "a", *HERE)


@unittest.skipUnless(IS_THERE and MODEL.exists(), "the program has no llama.cpp, or there is no model")
class RealModel(EngineTest):
    def test_lookup_writes_plain_decoding_s_text_in_fewer_rounds(self):
        asked = ("--prompt", "Repeat three times: the quick brown fox jumps over the lazy dog.", "--chat", "--max-tokens", 32)
        both = [
            json.loads(self.works("generate", "--model", MODEL, *asked, *HERE, "--scheme", *scheme, "--json").stdout)
            for scheme in (("plain",), ("lookup", "--length", 4))
        ]
        self.assertEqual(both[0]["ids"], both[1]["ids"])
        self.assertLess(both[1]["rounds"], len(both[1]["ids"]))


@unittest.skipUnless(IS_THERE, "the program has no llama.cpp")
class OtherCommands(EngineTest):
    def setUp(self):
        self.prompts = FOLDER / "engines.jsonl"
        entries = ({"prompt": "one two one two"}, {"prompt": "the cat", "temperature": 1, "seed": 5}, {"prompt": "a"})
        self.prompts.write_text("".join(json.dumps(entry) + "\n" for entry in entries))

    def test_answer(self):
        for model in (TARGET, QWEN, MAMBA):
            done = self.works("answer", "--model", model, "--prompts", self.prompts, *HERE, "--together", 2, "-n", 9, "--ignore-eos")
            made = [json.loads(line) for line in done.stdout.decode().splitlines()]
            for asked, answer in zip(("one two one two", "the cat", "a"), made, strict=True):
                drawn = ("--temperature", 1, "--seed", 5) if asked == "the cat" else ()
                alone = ("generate", "--model", model, "--prompt", asked, *HERE, *drawn, "-n", 9, "--ignore-eos", "--scheme", "plain", "--json")
                self.assertEqual(json.loads(self.works(*alone).stdout)["ids"], answer["ids"], (model, asked))
        given = ("answer", "--model", TARGET, "--prompts", self.prompts, *HERE)
        self.refuses(("--states is", "hidden states"), *given, "--states", FOLDER / "states")
        self.refuses("--together is 257", *given, "--together", 257)

    def test_entropy(self):
        given = ("entropy", "--model", TARGET, "--draft", DRAFT, "--prompt", "one two one", "--continue", 3, "--json")
        ours = json.loads(self.works(*given, "--threads", 1).stdout)
        there = json.loads(self.works(*given, *HERE, "--cache", "f32").stdout)
        self.assertEqual(ours["ids"], there["ids"])
        for one, other in zip(ours["positions"], there["positions"], strict=True):
            for mine, its in zip(one["models"], other["models"], strict=True):
                self.assertAlmostEqual(mine["entropy_nats"], its["entropy_nats"], 3)
        swapped = tiny_model.write(FOLDER / "changed.gguf", seed=2, swapped=(100, 101))
        self.refuses("token 100", "entropy", "--model", TARGET, "--draft", swapped, "--prompt", "a", *HERE)
        for flag, name in (("--draft", "draft"), ("--draft", "exit"), ("--qualifier", "qualifier")):
            smaller = ("--draft", DRAFT) if flag == "--qualifier" else ()
            expected = (f"{flag} {name}: there is no such file", "draft bundles are for the bundled engine")
            self.refuses(expected, "entropy", "--model", TARGET, *smaller, flag, name, "--prompt", "a", *HERE)

    def test_bench(self):
        got = json.loads(self.works("bench", "verify", "--model", TARGET, *HERE, "--rows", "1,3", "--context", 8, "--json").stdout)
        self.assertEqual(("llama.cpp", 2), (got["engine"], len(got["milliseconds"])))
        schemes = ("plain", "lookup", "sd:length=3", f"sd:tree={TREE}")
        named = [word for scheme in schemes for word in ("--scheme", scheme)]
        given = ("bench", "schemes", "--model", TARGET, "--draft", COPY, "--prompts", self.prompts, *HERE)
        got = json.loads(self.works(*given, *named, "-n", 12, "--repetitions", 1, "--nats", "--json").stdout)
        self.assertEqual(("llama.cpp", "keep"), (got["engine"], got["weights"]))
        for prompt in got["prompts"]:
            self.assertEqual([True] * 4, [each["identical"] for each in prompt["schemes"]])
            self.assertLess(prompt["schemes"][3]["rounds"], 12)
        self.refuses(("--splits", "first layers"), *given, "--scheme", "sd", "--splits")

    def test_tune_and_its_calibration(self):
        output = FOLDER / "engines_calibration.json"
        searched = ("--schemes", "sd,ead", "--candidates", 2, "--max-tokens", 4, "--output", output, "--work", FOLDER / "engines_work")
        self.works("tune", "--model", TARGET, "--draft", DRAFT, "--prompts", self.prompts, *HERE, *searched)
        found = json.loads(output.read_text())
        self.assertEqual(FINGERPRINT, found["identity"]["target"])
        self.assertIn("llama.cpp", found["identity"]["engine"])
        entry = next(entry for entry in found["entries"] if entry["scheme"] == "sd")
        given = ("--scheme", "sd", "--draft", DRAFT, "--calibration", output)
        self.assertEqual(f"fixed_length{{.tokens={entry['settings']['length']}}}", self.made(*given)["settings"]["policy"])
        other = self.works("generate", "--model", TARGET, *PROMPT, "--threads", 1, *given)
        self.assertRegex(other.stderr, rb"engine was [^ ]*llama\.cpp")

    def test_a_state_is_of_its_engine(self):
        state = FOLDER / "engines_state.json"
        for texts in (0, 1):
            got = self.made("--scheme", "lookup", "--state", state)
            self.assertEqual(texts, got["settings"]["state_texts"])
        self.refuses("engine", "generate", "--model", TARGET, *PROMPT, "--threads", 1, "--scheme", "lookup", "--state", state)

    def test_chat_in_a_vocabulary_that_only_llama_cpp_reads(self):
        named = tiny_model.pair("tokenizer.ggml.pre", tiny_model.STRING, "gpt-2")
        words = tiny_model.tokenizer(tiny_model.CHATML)
        words[words.index(named)] = tiny_model.pair("tokenizer.ggml.pre", tiny_model.STRING, "mpt")
        path = tiny_families.write_qwen3(FOLDER / "mpt.gguf", words=words)
        given = ("--model", path, *HERE, "--max-tokens", 5, "--scheme", "lookup")
        says = FOLDER / "says.txt"
        says.write_text("the cat\nthe\n")
        with says.open() as piped:
            done = self.works("chat", *given, stdin=piped)
        first = json.loads(self.works("generate", *given, "--prompt", "the cat", "--chat", "--json").stdout)["text"]
        self.assertTrue(done.stdout.decode().startswith(first))
        contexts = [int(found) for found in re.findall(rb"context (\d+) of", done.stderr)]
        self.assertEqual(2, len(contexts), done.stderr)
        self.assertGreater(contexts[1], contexts[0] + 5)


class Formats(ProgramTest):
    def test_one_that_the_bundled_engine_does_not_read_is_named_with_who_may(self):
        name = b"output_norm.weight"
        image = bytearray(pathlib.Path(TARGET).read_bytes())
        at = image.index(name) + len(name) + 4 + 8  # behind the number of dimensions, and one of them
        image[at : at + 4] = (16).to_bytes(4, "little")
        path = FOLDER / "iq2_xxs.gguf"
        path.write_bytes(image)
        expected = ("'output_norm.weight' has type 16 iq2_xxs", "not supported by the bundled engine; --engine llama.cpp may run it")
        self.refuses(expected, "generate", "--model", path, *PROMPT, "--engine", "augur")


class Without(ProgramTest):
    @unittest.skipIf(IS_THERE, "the program has llama.cpp")
    def test_a_program_without_it_says_how_to_get_it(self):
        self.refuses(("--engine llama.cpp", "augur_LLAMA_CPP"), "generate", "--model", TARGET, *PROMPT, "--engine", "llama.cpp")

    def test_the_version_names_the_backends(self):
        self.assertRegex(VERSION, r"\nllama\.cpp (not in this build|.*CPU)")


if __name__ == "__main__":
    unittest.main()
