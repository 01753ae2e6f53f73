#!/usr/bin/env python3
"""augur tokenize, augur logits and augur bench."""

import json
import math
import pathlib
import statistics
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROMPTS, TARGET, ProgramTest  # noqa: E402

THE = tiny_model.VOCABULARY - 2  # "the", made by two merges


class Tokenize(ProgramTest):
    def tokenize(self, *arguments):
        return self.works("tokenize", "--model", TARGET, *arguments).stdout.decode()

    def test_ids(self):
        self.assertEqual(f"{THE},{THE + 1}\n", self.tokenize("--prompt", "the the"))
        self.assertEqual(f"1,{THE}\n", self.tokenize("--prompt", "<|im_start|>the"))
        self.assertLess(1 + 1, self.tokenize("--prompt", "<|im_start|>the", "--no-special").count(","))

    def test_there_and_back(self):
        for prompt in PROMPTS:
            ids = self.tokenize("--prompt", prompt).strip()
            self.assertEqual(prompt + "\n", self.tokenize("--decode", "--ids", ids))
            path = FOLDER / "text.txt"
            path.write_text(prompt + "\n", encoding="utf-8")
            self.assertEqual(ids + "\n", self.tokenize("--prompt-file", path))

    def test_object(self):
        printed = self.object("tokenize", "--model", TARGET, "--prompt", "<|im_start|>the é")
        self.assertEqual("<|im_start|>the é", printed["text"])
        self.assertEqual([1, THE], printed["ids"][:2])
        self.assertEqual(["<|im_start|>", "the", " ", "\ufffd", "\ufffd"], printed["pieces"])

    def test_refusals(self):
        self.refuses("--ids", "tokenize", "--model", TARGET, "--decode")
        self.refuses("--decode", "tokenize", "--model", TARGET, "--ids", "1")
        self.refuses(["999", "262"], "tokenize", "--model", TARGET, "--decode", "--ids", "999")
        for flag in ("--prompt", "--prompt-file"):
            self.refuses([f"{flag} is 'none'", "--decode", "--ids"], "tokenize", "--model", TARGET, "--decode", "--ids", "5", flag, "none")
        self.refuses("0 were given", "tokenize", "--model", TARGET)
        wordless = tiny_model.write(FOLDER / "wordless.gguf", words=False)
        self.refuses([wordless, "no tokenizer"], "tokenize", "--model", wordless, "--prompt", "a")


class Logits(ProgramTest):
    def test_row_and_largest(self):
        path = FOLDER / "row.f32"
        printed = self.object("logits", "--model", TARGET, "--prompt-ids", "5,6,7", "--output", path)
        row = struct.unpack(f"<{tiny_model.VOCABULARY}f", path.read_bytes())
        best = sorted(range(len(row)), key=lambda token: -row[token])[:10]
        self.assertEqual(best, [each["id"] for each in printed["top"]])
        self.assertEqual([row[token] for token in best], [each["logit"] for each in printed["top"]])
        self.assertEqual((tiny_model.VOCABULARY, [5, 6, 7]), (printed["vocabulary"], printed["prompt_ids"]))
        self.assertFalse((FOLDER / "row.f32.part").exists())
        greedy = self.generated("--prompt-ids", "5,6,7", "--max-tokens", 1)["ids"]
        self.assertEqual(best[:1], greedy)

    def test_row_that_is_no_numbers(self):
        spoiled = tiny_model.write(FOLDER / "spoiled.gguf", spoil=float("nan"))
        printed = self.object("logits", "--model", spoiled, "--prompt", "a")
        self.assertEqual([(token, None) for token in range(10)], [(each["id"], each["logit"]) for each in printed["top"]])

    def test_texts_are_those_that_the_tokens_stand_for(self):
        """Of SentencePiece's words with the space; nothing of what the tokenizer lacks."""
        pieces = tiny_model.write(FOLDER / "pieces.gguf", words=tiny_model.sentencepiece(), vocabulary=tiny_model.sentencepiece_size())
        padded = tiny_model.write(FOLDER / "padded.gguf", vocabulary=3 * tiny_model.VOCABULARY)
        words = [each for each in self.object("logits", "--model", pieces, "--prompt-ids", "5,6")["top"] if each["id"] >= 259]
        self.assertEqual([f" {each['id'] - 259}" for each in words], [each["text"] for each in words])
        of_padded = self.object("logits", "--model", padded, "--prompt-ids", "5,6", noting="the last 524 of 786 rows")["top"]
        self.assertTrue(all(each["id"] < tiny_model.VOCABULARY for each in of_padded))
        self.assertTrue(words)

    def test_needs_somewhere_to_write(self):
        self.refuses(["--output", "--json"], "logits", "--model", TARGET, "--prompt", "a")


class BenchVerify(ProgramTest):
    def test_one_median_per_number_of_rows(self):
        printed = self.object(
            "bench", "verify", "--model", TARGET, "--weights", "bf16", "--rows", "1,3", "--context", 64, "--threads", 1
        )
        self.assertEqual(([1, 3], 64, "bf16", 1), tuple(printed[key] for key in ("rows", "context", "weights", "threads")))
        self.assertEqual(2, len(printed["milliseconds"]))
        self.assertGreater(min(printed["milliseconds"]), 0)

    def test_table(self):
        lines = self.works("bench", "verify", "--model", TARGET, "--context", 8, "--repetitions", 1).stdout.splitlines()
        self.assertEqual([b"1", b"2", b"4", b"8"], [line.split()[0] for line in lines[1:]])

    def test_refusals(self):
        bench = ("bench", "verify", "--model", TARGET)
        self.refuses(["--rows", "0"], *bench, "--rows", "1,0")
        self.refuses("--repetitions", *bench, "--repetitions", 0)
        self.refuses(["256", "context"], *bench, "--context", 250)


class BenchSchemes(ProgramTest):
    def bench(self, *arguments, model=TARGET):
        path = FOLDER / "several.jsonl"
        entries = [{"task": task, "prompt": text} for task in ("a", "b") for text in ("the cat the cat", "the the", "cat")]
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
        return ("bench", "schemes", "--model", model, "--prompts", path, "--max-tokens", 12, *arguments)

    def test_every_scheme_decodes_every_prompt_in_every_turn(self):
        printed = self.object(*self.bench("--scheme", "lookup:length=3", "--scheme", "lookup", "--limit", 2, "--repetitions", 3))
        self.assertEqual(["a", "a", "b", "b"], [prompt["task"] for prompt in printed["prompts"]])
        self.assertEqual([1, 2, 4, 5], [prompt["line"] for prompt in printed["prompts"]])
        for prompt in printed["prompts"]:
            self.assertEqual(["plain", "lookup:length=3", "lookup"], [of["scheme"] for of in prompt["schemes"]])
            self.assertEqual([3] * 3, [len(of["milliseconds_per_token"]) for of in prompt["schemes"]])
            self.assertEqual([True] * 3, [of["identical"] for of in prompt["schemes"]])
            self.assertEqual(1, prompt["schemes"][0]["speedup"])
            self.assertEqual(0, prompt["schemes"][0]["stages"][-1]["drafted"])
            for of in prompt["schemes"][:2]:  # what the third drafts depends on the time that passes take: turns differ
                self.assertEqual(of["tokens"], 3 * of["stages"][-1]["accepted"] + of["rounds"])
        self.assertGreater(sum(prompt["schemes"][1]["stages"][-1]["drafted"] for prompt in printed["prompts"]), 0)
        self.assertEqual([("a", 2), ("b", 2), ("all", 4)], [(task["task"], task["prompts"]) for task in printed["tasks"]])
        self.assertEqual([4] * 3, [of["identical"] for of in printed["tasks"][-1]["schemes"]])

    def test_the_models_first_layers_draft(self):
        printed = self.object(*self.bench("--scheme", "kangaroo:untrained=1:thresholds=0:length=3", "--limit", 1, "--repetitions", 1))
        self.assertEqual([2, 2], [of["identical"] for of in printed["tasks"][-1]["schemes"]])
        for prompt in printed["prompts"]:
            self.assertGreater(prompt["schemes"][1]["drafted"], prompt["schemes"][1]["rounds"])
            self.assertGreater(prompt["schemes"][1]["predicted"], 0)

    def test_splits_are_compared_by_what_they_cost_and_what_is_accepted(self):
        deep = tiny_model.write(FOLDER / "deep.gguf", seed=1, layers=4)
        exits = [f"kangaroo:untrained=1:thresholds=0:exit-layer={layer}:length={length}" for layer, length in ((1, 3), (3, 2))]
        named = [word for name in exits for word in ("--scheme", name)]
        use = self.bench(*named, "--splits", "--limit", 1, "--repetitions", 1, model=deep)
        printed = self.object(*use)
        splits = printed["splits"]
        self.assertEqual(exits, [of["scheme"] for of in splits["exits"]])
        self.assertEqual([(1, 4), (3, 3)], [(of["layer"], len(of["rest_seconds"])) for of in splits["exits"]])
        for at, exit_ in enumerate(splits["exits"], 1):
            counts = [prompt["schemes"][at]["stages"][-1]["positions"] for prompt in printed["prompts"]]
            shares = [sum(of[i]["accepted"] for of in counts) / sum(of[i]["drafted"] for of in counts) for i in range(len(exit_["rest_seconds"]) - 1)]
            rates = [b / a if a else 0 for a, b in zip([1, *shares], shares)]
            for found, expected in zip(exit_["acceptance"], rates):
                self.assertAlmostEqual(min(1, expected), found)
        speeds = [of["tokens_per_second"] for of in splits["choices"]]
        self.assertEqual(sorted(speeds, reverse=True), speeds)
        self.assertEqual(splits["best"], splits["choices"][0])
        whole = {of["layer"]: of for of in splits["exits"]}
        self.assertIn(("plain", 0, 0, 1), [tuple(of[key] for key in ("scheme", "layer", "length", "speedup")) for of in splits["choices"]])
        for choice in splits["choices"]:
            self.assertAlmostEqual(choice["speedup"], choice["tokens_per_second"] * splits["plain_seconds"])
            if choice["layer"] == 0:
                continue
            of, length = whole[choice["layer"]], choice["length"]
            tokens, stands = 1, 1
            for rate in of["acceptance"][:length]:
                stands *= rate
                tokens += stands
            seconds = length * (of["first_seconds"] + of["head_seconds"]) + of["first_seconds"] + of["rest_seconds"][length]
            self.assertAlmostEqual(tokens / seconds, choice["tokens_per_second"], delta=1e-6 * speeds[0])
        table = self.works(*use).stdout.decode()
        for text in ("splits, fastest first", *exits):
            self.assertIn(text, table)

    def test_refusals_of_splits(self):
        whole = "kangaroo:untrained=1:thresholds=0:length=2"
        for expected, *schemes in (
            (["'lookup'", "kangaroo and dvi"], whole, "lookup"),
            (["drafts of one length", "'kangaroo:untrained=1:length=2'", "a threshold"], "kangaroo:untrained=1:length=2"),
            (["drafts of one length", "none"], "kangaroo:untrained=1:thresholds=0"),
            (["both draft after 1 layers"], whole, f"{whole}:exit-layer=1"),
            (["no --scheme beside plain"], "plain"),
        ):
            named = [word for name in schemes for word in ("--scheme", name)]
            self.refuses(expected, *self.bench(*named, "--splits"))

    def test_trees_that_rows_suggest_and_of_two_drafters(self):
        schemes = ("sd:tree=dynamic,depth=3,width=2,nodes=4", "sd:tree=dynamic,depth=1,nodes=1", "merged:tree=dynamic", "merged")
        named = [word for scheme in schemes for word in ("--scheme", scheme)]
        printed = self.object(*self.bench(*named, "--draft", DRAFT, "--limit", 1, "--repetitions", 1))
        self.assertEqual([2] * 5, [of["identical"] for of in printed["tasks"][-1]["schemes"]])
        for prompt in printed["prompts"]:
            _, dynamic, one, merged, paying = prompt["schemes"]
            self.assertLess(one["drafted"], dynamic["drafted"])
            self.assertLessEqual(dynamic["drafted"], 4 * dynamic["rounds"])
            self.assertEqual(["fixed_length{.tokens=3}", "fixed_length{.tokens=5}"], [of["policy"] for of in (dynamic, merged)])
            self.assertIn("cost_aware<tree>", paying["policy"])
        self.refuses(["dynamic: depth is 0"], *self.bench("--scheme", "sd:tree=dynamic,depth=0", "--draft", DRAFT))

    def test_medians_are_those_of_the_prompts(self):
        """Of two in the middle, the mean: of six prompts as of two turns."""
        printed = self.object(*self.bench("--scheme", "lookup", "--repetitions", 2))
        of_all = printed["tasks"][-1]["schemes"][1]
        for prompt in printed["prompts"]:
            plain, lookup = (of["milliseconds_per_token"] for of in prompt["schemes"])
            speedups = [a / b for a, b in zip(plain, lookup)]
            self.assertAlmostEqual(statistics.median(speedups), prompt["schemes"][1]["speedup"])
        all_of = lambda what: [what(prompt["schemes"][1]) for prompt in printed["prompts"]]
        rate = statistics.median(all_of(lambda of: 1000 / statistics.median(of["milliseconds_per_token"])))
        self.assertAlmostEqual(rate, of_all["tokens_per_second"], delta=1e-6 * rate)
        for key in ("speedup", "accepted_length", "predicted"):
            self.assertAlmostEqual(statistics.median(all_of(lambda of: of[key])), of_all[key])

    def test_nats_are_those_of_the_targets_row(self):
        path, row = FOLDER / "one.jsonl", FOLDER / "one.f32"
        path.write_text('{"prompt": "the cat"}\n', encoding="utf-8")
        self.works("logits", "--model", TARGET, "--prompt", "the cat", "--output", row)
        logits = struct.unpack(f"<{tiny_model.VOCABULARY}f", row.read_bytes())
        for temperature in (0, 0.5):
            scored = ("--scheme", "lookup", "--nats", "--temperature", temperature, "--repetitions", 1)
            printed = self.object("bench", "schemes", "--model", TARGET, "--prompts", path, "--max-tokens", 1, *scored)
            per_token = [of["nats_per_token"] for of in printed["tasks"][0]["schemes"]]
            drawn = self.generated("--prompt", "the cat", "--max-tokens", 1, "--temperature", temperature)["ids"][0]
            scaled = [logit / (temperature or 1) for logit in logits]
            expected = math.log(sum(math.exp(x - max(scaled)) for x in scaled)) + max(scaled) - scaled[drawn]
            for nats in per_token:
                self.assertAlmostEqual(expected, nats, delta=1e-4)

    def test_turns_have_seeds_of_their_own(self):
        printed = self.object(*self.bench("--scheme", "lookup", "--temperature", 2, "--nats", "--repetitions", 1))
        again = self.object(*self.bench("--scheme", "lookup", "--temperature", 2, "--nats", "--repetitions", 2))
        first, both = (of["prompts"][0]["schemes"][0] for of in (printed, again))
        self.assertNotAlmostEqual(first["nats_per_token"], both["nats_per_token"])

    def test_table(self):
        lines = self.works(*self.bench("--scheme", "lookup", "--limit", 1, "--repetitions", 1)).stdout.decode().splitlines()
        self.assertEqual(["a", "b", "all"], [line.split(" (")[0] for line in lines if "prompts)" in line])
        self.assertEqual(3, sum(line.split()[:1] == ["lookup"] for line in lines))

    def test_refusals(self):
        self.refuses("--scheme", "bench", "schemes", "--model", TARGET, "--prompts", FOLDER / "several.jsonl")
        self.refuses(["nonsense"], *self.bench("--scheme", "nonsense"))
        self.refuses(["lookup", "twice"], *self.bench("--scheme", "lookup", "--scheme", "lookup"))
        self.refuses(["depth", "length, max-k"], *self.bench("--scheme", "lookup:depth=3"))
        self.refuses(["length", "'='"], *self.bench("--scheme", "lookup:length"))
        self.refuses(["length", "-1"], *self.bench("--scheme", "lookup:length=-1"))
        self.refuses(["'lookup:length=2:length=3'", "'length' is given twice", "'2'", "'3'"], *self.bench("--scheme", "lookup:length=2:length=3"))
        for text, empty in (("lookup:", 1), ("lookup::length=2", 1), ("lookup:length=2:", 2)):
            self.refuses([f"--scheme '{text}': its setting {empty} is empty"], *self.bench("--scheme", text))
        self.refuses(["--temperature: temperature is -1", "(see augur bench schemes --help)"], *self.bench("--scheme", "lookup", "--temperature", -1))
        self.refuses("--repetitions", *self.bench("--scheme", "lookup", "--repetitions", 0))
        self.refuses("--max-tokens", *self.bench("--scheme", "lookup", "--max-tokens", 0))


if __name__ == "__main__":
    unittest.main()
