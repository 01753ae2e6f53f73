#!/usr/bin/env python3
"""What `augur generate` decodes, and what its JSON says about it."""

import itertools
import json
import math
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import ngram_file  # noqa: E402
import tiny_model  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, PROMPTS, TARGET, ProgramTest, family, run  # noqa: E402

SCHEMA = {
    "text": str,
    "ids": list,
    "prompt_ids": list,
    "finish_reason": str,
    "seed": int,
    "scheme": str,
    "guarantee": str,
    "tokens_per_second": float,
    "accepted_length": float,
    "acceptance": float,
    "rounds": int,
    "stages": list,
    "seconds": dict,
    "memory_bytes": int,
    "origins": list,
    "settings": dict,
}
COMPARED = {"plain": dict, "identical": bool, "speedup": float, "first_difference": (int, type(None))}


class Object(ProgramTest):
    def check_types(self, result, schema):
        for key, kind in schema.items():
            self.assertIsInstance(result[key], kind, key)

    def check_sums(self, result):
        """The counts agree with each other and with the ids."""
        stage = result["stages"][-1]
        origins = result["origins"]
        self.assertEqual(len(result["ids"]), len(origins))
        self.assertLessEqual(set(origins), {"accepted", "correction", "bonus", "plain"})
        self.assertEqual(stage["accepted"], origins.count("accepted"))
        self.assertEqual(stage["drafted"], sum(at["drafted"] for at in stage["positions"]))
        self.assertEqual(stage["accepted"], sum(at["accepted"] for at in stage["positions"]))
        self.assertEqual(result["rounds"], stage["rounds"])
        self.assertAlmostEqual(result["accepted_length"], len(result["ids"]) / result["rounds"])
        self.assertAlmostEqual(result["acceptance"], stage["accepted"] / stage["drafted"] if stage["drafted"] else 0)
        self.assertEqual({"load", "prefill", "draft", "verify", "accept", "other"}, set(result["seconds"]))
        for name, seconds in result["seconds"].items():
            self.assertGreaterEqual(seconds, 0, name)

    def test_has_every_key_of_the_contract(self):
        result = self.generated("--prompt", "the cat", "--max-tokens", 20)
        self.check_types(result, SCHEMA)
        self.check_sums(result)
        self.assertNotIn("plain", result)
        self.assertEqual(20, len(result["ids"]))
        self.assertEqual("max_tokens", result["finish_reason"])
        self.assertEqual({"name", "rounds", "drafted", "accepted", "acceptance", "positions"}, set(result["stages"][0]))
        self.assertGreater(result["memory_bytes"], os.path.getsize(TARGET) // 2)

    def test_compare_adds_the_plain_run(self):
        result = self.generated("--prompt", "the cat", "--compare")
        self.check_types(result, {**SCHEMA, **COMPARED})
        self.check_sums(result)
        self.assertTrue(result["identical"])
        self.assertIsNone(result["first_difference"])
        self.assertEqual(result["ids"], result["plain"]["ids"])
        self.assertAlmostEqual(result["speedup"], result["tokens_per_second"] / result["plain"]["tokens_per_second"])

    def test_compare_takes_turns_until_the_ratio_is_known(self):
        """The interval is Student's, of the logarithms of the pairs' ratios."""
        students = {2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 29: 2.045}
        for seconds in (0, 1e7):
            result = self.generated("--prompt", "the cat", "-n", 30, "--compare", "--compare-seconds", seconds)
            compared = result["compared"]
            ratios = [math.log(ours / plain) for ours, plain in zip(compared["rates"], compared["plain_rates"])]
            count, mean = len(ratios), sum(ratios) / len(ratios)
            self.assertEqual(compared["pairs"], count)
            self.assertAlmostEqual(math.exp(mean), result["speedup"])
            self.assertAlmostEqual(result["speedup"], result["tokens_per_second"] / result["plain"]["tokens_per_second"])
            self.assertEqual((0.95, 0.05), (compared["confidence"], compared["margin"]))
            if seconds == 0:
                self.assertEqual((1, None, None, False), tuple(compared[key] for key in ("pairs", "low", "high", "known")))
                continue
            self.assertIn(count, range(3, 31))
            self.assertEqual(compared["known"], compared["high"] <= 1.05 * result["speedup"])
            self.assertTrue(compared["known"] or count == 30)
            deviation = math.sqrt(sum((each - mean) ** 2 for each in ratios) / (count - 1) / count)
            half = math.log(compared["high"] / result["speedup"])
            self.assertAlmostEqual(half, math.log(result["speedup"] / compared["low"]))
            if count - 1 in students:
                self.assertAlmostEqual(students[count - 1] * deviation, half, delta=1e-9)
            self.assertGreater(half, 1.9 * deviation)

    def test_compare_of_a_text_that_is_empty(self):
        result = self.generated("--prompt", "a", "-n", 0, "--compare")
        self.assertEqual((True, 0, 0), (result["identical"], result["speedup"], result["compared"]["pairs"]))

    def test_compare_says_where_texts_part(self):
        """Rejection sampling keeps the distribution, not the text."""
        result = self.generated("--prompt", "the cat", "--compare", "--temperature", 2, "--accept", "rejection_sampling")
        self.assertFalse(result["identical"])
        plain, at = result["plain"]["ids"], result["first_difference"]
        self.assertEqual(result["ids"][:at], plain[:at])
        self.assertNotEqual(result["ids"][at : at + 1], plain[at : at + 1])

    def test_counts_agree_for_every_scheme(self):
        for scheme, accept, temperature in itertools.product(
            ("plain", "lookup", "suffix", "sd", "eaad", "hysteresis"), ("exact", "coupled", "rejection_sampling", "block"), (0, 0.8)
        ):
            if accept == "exact" and temperature > 0:
                continue
            with self.subTest(scheme=scheme, accept=accept, temperature=temperature):
                arguments = ["--prompt", PROMPTS[1], "--max-tokens", 40, "--temperature", temperature]
                arguments += ["--draft", DRAFT] if scheme in ("sd", "eaad", "hysteresis") else []
                result = self.generated(*arguments, "--scheme", scheme, "--accept", accept)
                self.check_sums(result)
                self.assertEqual(scheme, result["scheme"])

    def test_text_is_utf8_whatever_the_model_says(self):
        """A random model writes random bytes; assertions on decoding are in object()."""
        for seed in range(3):
            result = self.generated("--prompt", "a", "--temperature", 3, "--seed", seed)
            self.assertIn("\N{REPLACEMENT CHARACTER}", result["text"])

    def test_eaad_reports_its_bins(self):
        result = self.generated("--prompt", "a", "--draft", DRAFT, "--bins", "1,3,5.4", "--bin-lengths", "5,4,3,2")
        self.assertEqual("eaad", result["scheme"])
        self.assertEqual([5, 4, 3, 2], [each["length"] for each in result["bins"]])
        self.assertEqual([1, 3, 5.4, None], [each["below_nats"] for each in result["bins"]])
        stage = result["stages"][0]
        for key in ("drafted", "accepted"):
            self.assertEqual(stage[key], sum(each[key] for each in result["bins"]))

    def test_max_k_bounds_what_is_drafted(self):
        for scheme, flag in itertools.product(("eaad", "eaad_as_published"), ("--max-k", "--length")):
            result = self.generated("--prompt", "a", "--draft", DRAFT, "--scheme", scheme, flag, 2, "--bins", "6", "--bin-lengths", "5,5")
            self.assertEqual(2, len(result["stages"][0]["positions"]))
            self.assertIn(".max_k=2", result["settings"]["policy"])

    def test_eaad_as_published_is_greedy_and_by_the_published_entropy(self):
        published = ("--prompt", "a b", "--draft", DRAFT, "--scheme", "eaad_as_published", "--max-tokens", 60, "--ignore-eos")
        result = self.generated(*published, "--compare")
        self.assertEqual("eaad_as_published", result["scheme"])
        self.assertEqual("exact", result["settings"]["accept"])
        self.assertTrue(result["identical"])
        self.assertEqual(
            "entropy_bins{.edges_nats={0.5, 1.5, 2.5}, .lengths={4, 3, 2, 1}, .max_k=4, .form=offset}", result["settings"]["policy"]
        )
        self.assertEqual([4, 3, 2, 1], [each["length"] for each in result["bins"]])
        self.assertGreater(sum(each["rounds"] for each in result["bins"]), 0)
        own = self.generated(*published, "--bins", "1,5.4", "--bin-lengths", "9,2,1")
        self.assertEqual([1, 5.4, None], [each["below_nats"] for each in own["bins"]])
        self.assertLessEqual(len(own["stages"][0]["positions"]), 4)

    def test_hysteresis_reports_its_switches(self):
        scheme = ("--prompt", "a", "--draft", DRAFT, "--scheme", "hysteresis", "--max-tokens", 60, "--ignore-eos", "--compare")
        result = self.generated(*scheme, "--thresholds", "5.2,5.3", "--length", 3)
        self.assertTrue(result["identical"])
        self.assertTrue(result["settings"]["policy"].startswith("hysteresis{.by=draft_entropy, .on=5.2, .off=5.3, .long_length=3,"))
        switches = result["switches"]
        self.assertEqual(result["rounds"], switches["long_rounds"] + switches["short_rounds"])
        self.assertIn(switches["to_long"] - switches["to_short"], (0, 1))
        self.assertIn("on=1.5, .off=2.5, .long_length=4", self.generated(*scheme)["settings"]["policy"])
        one = self.generated(*scheme, "--thresholds", "100")
        self.assertEqual((0, 1), (one["switches"]["short_rounds"], one["switches"]["to_long"]))

    def test_bins_that_learn_begin_where_they_are_told(self):
        eaad = ("--prompt", "a", "--draft", DRAFT, "--scheme", "eaad", "--max-tokens", 60, "--ignore-eos", "--compare")
        result = self.generated(*eaad, "--learn-bins", "--bins", "1,3,5.4", "--bin-lengths", "5,4,3,2")
        self.assertTrue(result["identical"])
        self.assertTrue(result["settings"]["policy"].startswith("learned_bins{"))
        self.assertEqual([5, 4, 3, 2], [each["length"] for each in result["bins"]])
        edges = [each["below_nats"] for each in result["bins"][:-1]]
        self.assertEqual(sorted(edges), edges)
        self.assertNotEqual([1, 3, 5.4], edges)
        for begun, edge in zip((1, 3, 5.4), edges):
            self.assertLessEqual(abs(edge - begun), 0.02 * result["rounds"] + 1e-9)


class SameText(ProgramTest):
    def ids(self, *arguments):
        return self.generated("--max-tokens", 80, "--ignore-eos", *arguments)["ids"]

    def test_greedy(self):
        for prompt in PROMPTS:
            plain = self.ids("--prompt", prompt, "--scheme", "plain")
            self.assertEqual(80, len(plain))
            for scheme in ("lookup", "sd", "eaad"):
                for length in (1, 7):
                    arguments = ["--prompt", prompt, "--scheme", scheme, "--length", length]
                    arguments += ["--draft", DRAFT] if scheme != "lookup" else []
                    self.assertEqual(plain, self.ids(*arguments), arguments)

    def test_coupled_at_every_seed_and_temperature(self):
        texts = set()
        for seed, temperature in itertools.product((1, 2, 3), (0.3, 1.2)):
            drawn = ["--prompt", PROMPTS[1], "--seed", seed, "--temperature", temperature]
            plain = self.ids(*drawn, "--scheme", "plain")
            texts.add(tuple(plain))
            self.assertEqual(plain, self.ids(*drawn, "--scheme", "lookup", "--accept", "coupled"))
            self.assertEqual(plain, self.ids(*drawn, "--scheme", "sd", "--accept", "coupled", "--draft", DRAFT))
        self.assertEqual(6, len(texts))

    def test_under_every_transform(self):
        for more in (
            ("--top-k", 5), ("--top-p", 0.8), ("--min-p", 0.05), ("--repetition-penalty", 1.5),
            ("--presence-penalty", 2), ("--frequency-penalty", 0.5), ("--logit-bias", "100=3", "--logit-bias", "101=-inf"),
        ):  # fmt: skip
            drawn = ["--prompt", PROMPTS[0], "--temperature", 1, *more]
            plain = self.ids(*drawn, "--scheme", "plain")
            self.assertNotEqual(plain, self.ids("--prompt", PROMPTS[0], "--temperature", 1, "--scheme", "plain"), more)
            self.assertEqual(plain, self.ids(*drawn, "--scheme", "lookup"), more)

    def test_threads_and_repetition(self):
        one = self.ids("--prompt", "a", "--threads", 1, "--temperature", 1, "--seed", 2**64 - 1)
        self.assertEqual(one, self.ids("--prompt", "a", "--threads", 2, "--temperature", 1, "--seed", 2**64 - 1))

    def test_the_model_drafting_for_itself_is_always_right(self):
        result = self.generated("--prompt", "a", "--draft", TARGET, "--scheme", "sd", "--length", 3, "--max-tokens", 40)
        self.assertEqual(1, result["acceptance"])
        self.assertEqual(4, result["accepted_length"])


class Reference(ProgramTest):
    def test_ids_of_another_implementation(self):
        """tests/data/llama/make_stories.py says which."""
        folder = pathlib.Path(__file__).parents[1] / "data" / "llama"
        known = json.loads((folder / "stories260K.json").read_text())
        prompt = ",".join(map(str, known["prompt"]))
        for scheme in ("plain", "lookup"):
            arguments = ("--prompt-ids", prompt, "--scheme", scheme, "--max-tokens", len(known["greedy"]))
            self.assertEqual(known["greedy"], self.generated(*arguments, model=folder / "stories260K.gguf")["ids"])


class Members(ProgramTest):
    """Drafters that were made for the target, named or found."""

    SCHEMES = {"eagle": "eagle", "medusa": "medusa", "hydra": "hydra", "sd": "draft", "eaad": "draft", "kangaroo": "exit"}

    @classmethod
    def setUpClass(cls):
        cls.family = family("members", ["eagle", "medusa", "hydra", "draft", "exit", "qualifier"])

    def member(self, kind):
        return str(self.family / "tiny" / f"{kind}.gguf")

    def test_the_text_is_that_of_plain_decoding(self):
        for temperature in (0, 0.8):
            drawn = ["--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos", "--temperature", temperature]
            plain = self.generated(*drawn, "--scheme", "plain")["ids"]
            for scheme, kind in self.SCHEMES.items():
                result = self.generated(*drawn, "--scheme", scheme, family=self.family)
                self.assertEqual(plain, result["ids"], scheme)
                self.assertEqual([self.member(kind)], result["settings"]["drafters"])
                result = self.generated(*drawn, "--scheme", scheme, "--length", 3, family=self.family)
                self.assertEqual(plain, result["ids"], scheme)
                self.assertGreater(result["stages"][0]["drafted"], 0)

    def test_heads_choose_the_scheme(self):
        for kind in ("eagle", "medusa", "hydra"):
            self.assertEqual(kind, self.generated("--prompt", "a b", "--heads", self.member(kind))["scheme"])
        self.assertEqual("eaad", self.generated("--prompt", "a b", "--heads", self.member("draft"))["scheme"])
        self.assertEqual("sd", self.generated("--prompt", "a", "--draft", self.member("draft"), "--scheme", "sd")["scheme"])

    def test_exits_and_qualifiers_draft(self):
        for kind in ("exit", "qualifier"):
            for option in ("--draft", "--heads"):
                drawn = ["--prompt", PROMPTS[1], "--max-tokens", 30, "--ignore-eos", "--temperature", 0.8]
                result = self.generated(*drawn, option, self.member(kind), "--scheme", "sd", "--length", 3)
                self.assertEqual(self.generated(*drawn, "--scheme", "plain")["ids"], result["ids"])
                self.assertEqual([self.member(kind)], result["settings"]["drafters"])
                self.assertGreater(result["stages"][0]["drafted"], 0)
        two = ("--heads", self.member("exit"), "--heads", self.member("draft"))
        self.refuses(["exit.gguf", "'draft'", "draft.gguf"], "generate", "--model", TARGET, "--prompt", "a", *two)

    def test_the_models_first_layers_draft(self):
        drawn = ("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", "--scheme", "kangaroo", "--compare")
        for accept in ("exact", "coupled", "rejection_sampling", "block"):
            result = self.generated(*drawn, "--untrained", "--accept", accept, "--thresholds", 0)
            self.assertTrue(result["identical"], accept)
            self.assertEqual(("kangaroo", [], 1), (result["scheme"], result["settings"]["drafters"], result["settings"]["exit_layer"]))
            self.assertGreater(result["stages"][0]["drafted"], 4 * result["rounds"])  # of 6, but where there is less room
        result = self.generated(*drawn, "--heads", self.member("exit"), "--exit-layer", 1, "--length", 2, "--thresholds", 0)
        self.assertEqual((True, [self.member("exit")]), (result["identical"], result["settings"]["drafters"]))
        self.assertLessEqual(result["stages"][0]["drafted"], 2 * result["rounds"])
        result = self.generated(*drawn, "--untrained", "--thresholds", 1)  # never sure: one token at a time
        self.assertLessEqual(result["stages"][0]["drafted"], result["rounds"])
        self.assertTrue(result["identical"])

    def test_what_learned_while_it_drafted_is_in_the_json(self):
        """Counters, losses and lambda of the learner, and acceptance over the text in parts of as many rounds."""
        drawn = ("--prompt", PROMPTS[1], "--ignore-eos", "--length", 3, "--thresholds", 0)
        for tokens, rounds_a_part in ((20, 1), (150, 2)):  # at most 64 parts, so that those of a longer text are of more rounds
            result = self.generated(*drawn, "--max-tokens", tokens, "--scheme", "dvi")
            learner, parts, stage = result["learner"], result["learner"]["parts"], result["stages"][0]
            self.assertEqual((rounds_a_part, tokens), (learner["rounds_a_part"], learner["tokens"]))
            self.assertEqual(-(-result["rounds"] // rounds_a_part), len(parts))
            for key in ("drafted", "accepted"):
                self.assertEqual(stage[key], sum(part[key] for part in parts))
            self.assertEqual([part["accepted"] / max(1, part["drafted"]) for part in parts], [part["acceptance"] for part in parts])
            self.assertTrue(0 < learner["samples"] <= tokens)
            self.assertLessEqual(learner["accepted_samples"], min(stage["accepted"], learner["samples"]))
            self.assertEqual((0, 0), (learner["dropped"], learner["refused_samples"]))
            self.assertTrue(0.05 <= learner["lambda"] <= 1 and learner["updates"] <= tokens // 8)
            for key in ("loss", "policy_loss", "kl", "anchor_loss", "acceptance", "agreement", "training_seconds"):
                self.assertGreaterEqual(learner[key], 0)
        self.assertNotIn("learner", self.generated(*drawn, "--max-tokens", 4, "--scheme", "kangaroo", "--untrained"))

    def test_what_learns_a_text_is_compared_on_it_once(self):
        result = self.generated("--prompt", PROMPTS[1], "--max-tokens", 20, "--ignore-eos", "--scheme", "dvi", "--compare")
        self.assertEqual((True, 1), (result["identical"], result["compared"]["pairs"]))

    def test_auto_takes_the_familys_ngrams(self):
        found = family("with_ngrams", ["eagle"])
        heads = ngram_file.write(found / "tiny" / "ngram.gguf", [[5, 6, 7]], orders=(2,), target=FINGERPRINT)
        prompt = ("--prompt", "a b")
        plain = self.generated(*prompt, "--scheme", "plain")["ids"]
        result = self.generated(*prompt, family=found)
        self.assertEqual(("hybrid", plain, [heads, str(found / "tiny" / "eagle.gguf")]),
                         (result["scheme"], result["ids"], result["settings"]["drafters"]))  # fmt: skip
        self.assertEqual("lookup", self.generated(*prompt, "--lookup-max", 1, family=found)["scheme"])
        self.assertEqual("lookup", self.generated(*prompt, family=self.family)["scheme"])

    def test_lengths_that_pay_start_from_measured_passes(self):
        measured = self.generated("--prompt", "a b", "--scheme", "lookup")["settings"]["verify_seconds"]
        self.assertEqual(17, len(measured))  # the last token, and chains of up to 16
        self.assertGreater(min(measured), 0)
        for fixed in (("lookup", "--length", 2), ("plain",)):
            self.assertNotIn("verify_seconds", self.generated("--prompt", "a b", "--scheme", *fixed)["settings"])

    def test_what_is_named_goes_before_what_is_found(self):
        result = self.generated("--prompt", "a b", "--scheme", "sd", "--draft", DRAFT, family=self.family)
        self.assertEqual([DRAFT], result["settings"]["drafters"])

    def test_hybrid_goes_on_with_a_network(self):
        """The table knows nothing of this text, so that all drafts are lookup's and the layer's."""
        heads = ngram_file.write(FOLDER / "nothing.gguf", [[5, 6]], orders=(2,))
        for more in ((), ("--temperature", 0.8, "--accept", "coupled")):
            drawn = ["--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", *more]
            plain = self.generated(*drawn, "--scheme", "plain")["ids"]
            drawn += ["--length", 3]
            alone = self.generated(*drawn, "--heads", heads)
            result = self.generated(*drawn, "--heads", heads, "--heads", self.member("eagle"))
            self.assertEqual([("hybrid", plain)] * 2, [(each["scheme"], each["ids"]) for each in (alone, result)])
            self.assertEqual([heads, self.member("eagle")], result["settings"]["drafters"])
            self.assertGreater(result["stages"][0]["drafted"], alone["stages"][0]["drafted"])

    def test_trees(self):
        tree, trace = FOLDER / "tree.json", FOLDER / "tree.jsonl"
        tree.write_text("[[0], [1], [0, 0], [0, 1], [1, 0], [0, 0, 0]]")
        for more in ((), ("--temperature", 0.8), ("--temperature", 0.8, "--accept", "rejection_sampling")):
            drawn = ["--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos", *more]
            plain = self.generated(*drawn, "--scheme", "plain")["ids"]
            for scheme in ("medusa", "hydra"):
                result = self.generated(*drawn, "--scheme", scheme, "--tree", tree, "--trace", trace, family=self.family)
                if "rejection_sampling" not in more:
                    self.assertEqual(plain, result["ids"], scheme)
                rounds = [json.loads(line) for line in trace.read_text().splitlines()]
                self.assertIn([-1, -1, 0, 0, 1, 2], [each.get("parents") for each in rounds])
                for each in rounds:
                    path = each.get("path", [])
                    self.assertEqual(each["accepted"] if "parents" in each else 0, len(path))
                    parents = [each["parents"][node] for node in path]
                    self.assertEqual([-1, *path][: len(parents)], parents)
                    self.assertEqual([each["drafted"][node] for node in path], each["committed"][: len(path)])

    def test_trees_of_others_than_heads(self):
        tree, trace = FOLDER / "tree.json", FOLDER / "other_tree.jsonl"
        tree.write_text("[[0], [1], [0, 0], [0, 1], [1, 0], [0, 0, 0]]")
        schemes = {"lookup": (), "sd": ("--draft", DRAFT), "eagle": (), "hydra": ()}
        greedy = ("--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos")
        for more in ((), ("--temperature", 0.8)):
            plain = self.generated(*greedy, *more, "--scheme", "plain")["ids"]
            for scheme, members in schemes.items():
                result = self.generated(*greedy, *more, "--scheme", scheme, *members, "--tree", tree, "--trace", trace, family=self.family)
                self.assertEqual(plain, result["ids"], scheme)
                rounds = [json.loads(line) for line in trace.read_text().splitlines()]
                self.assertTrue(any(each.get("parents", []).count(-1) > 1 for each in rounds), scheme)
        for scheme, members in schemes.items():
            result = self.generated(*greedy, "--scheme", scheme, *members, "--tree", "auto", "--trace", trace, family=self.family)
            self.assertEqual(self.generated(*greedy, "--scheme", "plain")["ids"], result["ids"], scheme)
            weighed = scheme in ("eagle", "sd")
            self.assertIn("cost_aware<grown_tree>" if weighed else "cost_aware<tree>", json.dumps(result["settings"]), scheme)
        promises = {"rejection_sampling": "same distribution", "traversal": "same distribution", "typical": "min(0.09, 0.3"}
        for accept, promise in [*promises.items(), ("multipath_block", "same distribution")]:
            for scheme in ["sd"] if accept == "multipath_block" else schemes:
                using = (*greedy, "--scheme", scheme, *schemes[scheme], "--tree", tree, "--accept", accept)
                result = self.generated(*using, "--temperature", 0.8, family=self.family)
                self.assertIn(promise, result["guarantee"], scheme)
                self.assertEqual(60, len(result["ids"]))
                greedy_text = self.generated(*greedy, "--scheme", "plain")["ids"]
                self.assertEqual(greedy_text, self.generated(*using, family=self.family)["ids"], f"{scheme} {accept} at temperature 0")

    def test_typical_takes_its_thresholds(self):
        tree = FOLDER / "typical.json"
        tree.write_text("[[0], [1], [0, 0]]")
        using = ["--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos", "--scheme", "hydra", "--tree", tree, "--temperature", 1]
        using += ["--accept", "typical"]

        def accepted(epsilon, delta):
            result = self.generated(*using, "--epsilon", epsilon, "--delta", delta, family=self.family)
            self.assertIn(f"min({epsilon}, {delta} exp(-entropy_nats))", result["guarantee"])
            self.assertEqual((epsilon, delta), (result["settings"]["epsilon"], result["settings"]["delta"]))
            return result["acceptance"]

        self.assertGreater(accepted(0, 0), 0.4)  # a path of two among three nodes, every round
        self.assertLess(accepted(1, 1), accepted(0, 0))
        self.assertEqual(accepted(0, 0.5), accepted(0.5, 0))
        own = self.generated(*using, family=self.family)
        self.assertIn("min(0.09, 0.3 exp(-entropy_nats))", own["guarantee"])
        self.assertEqual((0.09, 0.3), (own["settings"]["epsilon"], own["settings"]["delta"]))

    def test_trees_that_rows_suggest(self):
        trace, limits = FOLDER / "dynamic.jsonl", "dynamic,depth=3,width=2,nodes=5"
        greedy = ("--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos")
        text = self.generated(*greedy, "--scheme", "plain")["ids"]
        drawn = self.generated(*greedy, "--temperature", 0.8, "--scheme", "plain")["ids"]
        for using in (("sd", "--draft", DRAFT), ("eagle",), ("merged",), ("merged", "--draft", DRAFT)):
            using = (*greedy, "--scheme", *using, "--tree", limits, "--trace", trace)
            self.assertEqual(drawn, self.generated(*using, "--temperature", 0.8, family=self.family)["ids"], using)
            result = self.generated(*using, family=self.family)
            self.assertEqual((text, limits), (result["ids"], result["settings"]["trees"]), using)
            self.assertIn("fixed_length{.tokens=3}", result["settings"]["policy"])
            rounds = [json.loads(line) for line in trace.read_text().splitlines()]
            shapes = {tuple(each.get("parents", [])) for each in rounds}
            self.assertGreater(len(shapes), 2, using)  # not the same every round
            self.assertEqual(5, max(map(len, shapes)))
            self.assertLessEqual(max(self.depth(shape) for shape in shapes), 3)
            for accept, promise in (("rejection_sampling", "same distribution"), ("traversal", "same distribution"), ("typical", "min(0.09")):
                result = self.generated(*using, "--accept", accept, "--temperature", 0.8, family=self.family)
                self.assertIn(promise, result["guarantee"], using)
        result = self.generated(*greedy, "--scheme", "eagle", "--tree", "dynamic", family=self.family)
        self.assertEqual((text, "dynamic,depth=5,width=4,nodes=12"), (result["ids"], result["settings"]["trees"]))
        # What is left of the values, one child and one depth, is a chain.
        using = (*greedy, "--scheme", "eagle", "--trace", trace)
        self.generated(*using, "--tree", "dynamic,width=1,depth=3", family=self.family)
        one = [json.loads(line)["drafted"] for line in trace.read_text().splitlines()]
        self.generated(*using, "--length", 3, family=self.family)
        self.assertEqual([json.loads(line)["drafted"] for line in trace.read_text().splitlines()], one)

    def depth(self, parents):
        depths = []
        for parent in parents:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return max(depths, default=0)

    def first_round(self, *arguments):
        trace = FOLDER / "first.jsonl"
        self.generated(*arguments, "--trace", trace, family=self.family)
        return json.loads(trace.read_text().splitlines()[0])["drafted"]

    def test_trees_of_two_drafters_in_one(self):
        tree = FOLDER / "merged_tree.json"
        tree.write_text("[[0], [1], [2], [0, 0], [0, 1], [1, 0], [2, 0]]")
        prompt = ("--prompt", PROMPTS[1], "--ignore-eos", "--max-tokens", 60)
        text = self.generated(*prompt, "--scheme", "plain")["ids"]
        lookup = self.first_round(*prompt, "--scheme", "lookup", "--lookup-min", 2, "--tree", tree)
        self.assertTrue(0 < len(lookup) < 7, lookup)
        for scheme, *member in (("eagle",), ("sd", "--draft", DRAFT), ("hydra", "--heads", self.member("hydra"))):
            alone = self.first_round(*prompt, "--scheme", scheme, *member, "--tree", tree)
            both = self.first_round(*prompt, "--scheme", "merged", *member, "--tree", tree)
            self.assertEqual(lookup, both[: len(lookup)])
            self.assertEqual(7, len(both))
            self.assertLessEqual(set(both[len(lookup) :]), set(alone))
            for more in ((), ("--tree", tree)):
                result = self.generated(*prompt, "--scheme", "merged", *member, *more, family=self.family)
                self.assertEqual(("merged", text), (result["scheme"], result["ids"]))
                self.assertIn("tree_static{7 nodes" if more else "cost_aware<tree>", result["settings"]["policy"])
                self.assertEqual([scheme if scheme != "sd" else "draft"], [pathlib.Path(each).stem for each in result["settings"]["drafters"]])
        drawn = (*prompt, "--temperature", 0.8, "--seed", 3)
        text = self.generated(*drawn, "--scheme", "plain")["ids"]
        for member in ((), ("--draft", DRAFT)):
            result = self.generated(*drawn, "--scheme", "merged", *member, family=self.family)
            self.assertEqual((text, "coupled"), (result["ids"], result["settings"]["accept"]))
            result = self.generated(*drawn, "--scheme", "merged", *member, "--tree", tree, "--accept", "rejection_sampling", family=self.family)
            self.assertIn("same distribution", result["guarantee"])

    def test_a_chain_as_a_tree_is_the_chain(self):
        tree = FOLDER / "chain.json"
        tree.write_text("[[0], [0, 0], [0, 0, 0]]")
        drawn = ["--prompt", PROMPTS[0], "--max-tokens", 60, "--ignore-eos", "--scheme", "hydra"]
        chain = self.generated(*drawn, "--length", 3, family=self.family)
        result = self.generated(*drawn, "--tree", tree, family=self.family)
        self.assertEqual((chain["ids"], chain["stages"]), (result["ids"], result["stages"]))

    def test_length(self):
        for scheme, most in (("eagle", 6), ("hydra", 3)):  # three heads
            result = self.generated("--prompt", "a b", "--scheme", scheme, "--length", 6, family=self.family)
            self.assertEqual(most, len(result["stages"][0]["positions"]))

    def test_published_eagle_layers_draft(self):
        drawn = ("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos")
        layers = tiny_model.write_published_eagle(FOLDER / "eagle3"), tiny_model.write_published_eagle(FOLDER / "eagle1", taps=None)
        for temperature in (0, 0.8):
            plain = self.generated(*drawn, "--temperature", temperature, "--scheme", "plain")["ids"]
            for layer in layers:
                for more in ((), ("--tree", "dynamic")):
                    asked = (*drawn, "--temperature", temperature, "--scheme", "eagle", "--heads", layer, *more)
                    result = self.generated(*asked)
                    self.assertEqual(plain, result["ids"], asked)
                    self.assertEqual([layer], result["settings"]["drafters"])
        other = tiny_model.write_published_eagle(FOLDER / "eagle_of_another", vocabulary=300)
        self.refuses(["config.json", "the vocabulary is 300", str(tiny_model.VOCABULARY)],
                     "generate", "--model", TARGET, "--heads", other, "--scheme", "eagle", "--prompt", "a")  # fmt: skip

    def test_the_model_s_own_prediction_layer_drafts(self):
        model = tiny_model.write_mimo(FOLDER / "mimo")
        drawn = ("--prompt-ids", "5,9,30,9", "--max-tokens", 40, "--ignore-eos")
        for temperature in (0, 0.8):
            plain = self.generated(*drawn, "--temperature", temperature, "--scheme", "plain", model=model)["ids"]
            for more in (("--length", 3), ("--tree", "dynamic"), ("--tree", "auto")):
                result = self.generated(*drawn, "--temperature", temperature, "--scheme", "mtp", *more, model=model)
                self.assertEqual(("mtp", plain, [model]), (result["scheme"], result["ids"], result["settings"]["drafters"]), more)
                self.assertTrue(more[1] == "auto" or result["stages"][0]["positions"], more)
        asked = ("--prompt-ids", "5", "--scheme", "mtp", "--model")
        self.refuses([TARGET, "multi-token prediction", "GGUF"], "generate", *asked, TARGET)
        none = tiny_model.write_folder(FOLDER / "no_prediction")
        self.refuses(["config.json", "no layers for multi-token prediction"], "generate", *asked, none)

    def test_heads_that_are_not_used_are_refused_unless_auto_chose_the_scheme(self):
        asked = ("generate", "--model", TARGET, "--heads", self.member("eagle"), "--prompt", "a")
        self.refuses(["--heads is ", "the scheme is 'lookup'"], *asked, "--scheme", "lookup", "--json")
        done = self.works(*asked, "--heads", self.member("medusa"), "--json")
        self.assertRegex(done.stderr, rb"\Aaugur: note: [^\n]*--heads[^\n]*\n\Z")


class Switching(ProgramTest):
    """EAD: the draft and the model take turns."""

    def decoded(self, *more):
        return self.generated("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", *more)

    def test_thresholds_that_are_never_reached_leave_the_draft_alone(self):
        for drawn in ((), ("--temperature", 0.8, "--seed", 3)):
            alone = self.generated("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", "--scheme", "plain", *drawn, model=DRAFT)
            result = self.decoded("--scheme", "ead", "--draft", DRAFT, "--thresholds", 99, *drawn)
            self.assertEqual(alone["ids"], result["ids"])
            self.assertEqual([40, 0], [model["written"] for model in result["models"]])
            self.assertEqual("none", result["guarantee"].split()[0].strip(":,"))

    def test_shares_and_the_parameter_ratio_are_told(self):
        for drawn in ((), ("--temperature", 0.7, "--seed", 5)):
            result = self.decoded("--scheme", "ead", "--draft", DRAFT, "--thresholds", 0, "--dwell", 10, *drawn)
            self.assertEqual([0.25, 0.75], [model["share"] for model in result["models"]])
            block, others = 32 + 32 * 32 + 2 * 32 * 16 + 32 * 32 + 32 + 3 * 32 * 64, 32 * tiny_model.VOCABULARY + 32
            self.assertEqual([block + others, 2 * block + others], [model["parameters"] for model in result["models"]])
            ratio = (0.25 * (block + others) + 0.75 * (2 * block + others)) / (2 * block + others)
            self.assertAlmostEqual(ratio, result["parameter_ratio"], places=12)
            self.assertTrue(all(model["seconds"] > 0 for model in result["models"]))
        self.assertNotIn("parameter_ratio", self.generated("--prompt", "a", "--scheme", "sd", "--draft", DRAFT))

    def test_the_table_tells_them_too(self):
        done = self.works("generate", "--model", TARGET, "--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos",
                          "--scheme", "ead", "--draft", DRAFT, "--thresholds", 0, "--dwell", 10)  # fmt: skip
        table = done.stderr.decode("utf-8")
        self.assertRegex(table, r"\n  the draft +10 +25\.0 % ")
        self.assertRegex(table, r"\n  the model +30 +75\.0 % ")
        self.assertRegex(table, r"\n  parameter ratio +[0-9]{2}\.[0-9] % ")
        self.assertNotRegex(table, r"-[0-9.]+ s")

    def test_the_model_writes_after_the_dwell_and_drafts_change_nothing(self):
        result = self.decoded("--scheme", "ead", "--draft", DRAFT, "--thresholds", 0, "--dwell", 7)
        self.assertEqual([7, 33], [model["written"] for model in result["models"]])
        self.assertEqual(len(result["prompt_ids"]) + 6, result["models"][1]["caught_up"])
        drafted = self.decoded("--scheme", "ead", "--draft", DRAFT, "--thresholds", 0, "--dwell", 7, "--length", 3)
        self.assertEqual(result["ids"], drafted["ids"])
        self.assertGreater(drafted["models"][0]["drafted"], 0)
        self.assertIn("window=5", result["settings"]["policy"])
        for part, seconds in result["seconds"].items():
            self.assertGreaterEqual(seconds, 0, part)


class Fuzzy(ProgramTest):
    """FSD and PyramidSD."""

    QUALIFIER = tiny_model.write(FOLDER / "qualifier.gguf", seed=3, layers=1)

    def decoded(self, scheme, *more, drafts=(DRAFT, QUALIFIER)):
        models = [part for path in drafts[: 1 if scheme.startswith("fsd") else 2] for part in ("--draft", path)]
        exact = "--temperature" not in more and "fuzzy_greedy" not in more
        note = {"noting": "temperature 0"} if exact else {}
        return self.generated("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", "--scheme", scheme, *models, *more, **note)

    def test_greedy_text_is_the_models(self):
        plain = self.generated("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", "--scheme", "plain")["ids"]
        for scheme in ("fsd", "psd_a", "psd_f", "fsd_as_published", "psd_a_as_published", "psd_f_as_published"):
            result = self.decoded(scheme)
            self.assertEqual(plain, result["ids"], scheme)
            bound = "bounded divergence per token: total_variation of at most 0.5"
            self.assertEqual("none" if scheme.startswith("psd") and scheme.endswith("published") else bound, result["guarantee"])
            self.assertTrue(all(stage["drafted"] > 0 for stage in result["stages"]), result["stages"])
            self.assertEqual(["target"] if scheme.startswith("fsd") else ["qualifier", "target"], [stage["name"] for stage in result["stages"]])

    def test_with_every_divergence_allowed_all_that_is_drafted_stands(self):
        drawn = ("--temperature", 0.8)
        self.assertEqual(1.0, self.decoded("fsd", "--thresholds", "inf", *drawn)["acceptance"])
        result = self.decoded("psd_f", "--thresholds", "inf,inf", "--lengths", "2,6", *drawn)
        self.assertEqual([1.0, 1.0], [stage["acceptance"] for stage in result["stages"]])
        self.assertLess(self.decoded("psd_f", "--thresholds", "0,0", *drawn)["acceptance"], 1)

    def test_temperature_zero_is_noted_and_has_a_rule_of_its_own(self):
        prompt = ("generate", "--model", TARGET, "--prompt", PROMPTS[1], "--max-tokens", 4, "--scheme", "fsd", "--draft", DRAFT)
        self.object(*prompt, noting="; --accept fuzzy_greedy")
        for quiet in (("--temperature", 0.8), ("--accept", "fuzzy_greedy")):
            self.assertEqual(b"", self.works(*prompt, "--json", *quiet).stderr)
        plain = self.generated("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", "--scheme", "plain")["ids"]
        rule = ("--accept", "fuzzy_greedy", "--thresholds")
        for scheme in ("fsd", "psd_a", "psd_f", "psd_a_as_published", "psd_f_as_published"):
            both = scheme.startswith("psd_f")
            self.assertEqual(plain, self.decoded(scheme, *rule, "0,0" if both else "0")["ids"], scheme)
            result = self.decoded(scheme, *rule, "inf,inf" if both else "inf", "--divergence-temperature", 2)
            self.assertNotEqual(plain, result["ids"], scheme)
            self.assertTrue(all(stage["drafted"] > 0 for stage in result["stages"]), result["stages"])
            self.assertEqual(("fuzzy_greedy", 2), (result["settings"]["accept"], result["settings"]["divergence_temperature"]))
        result = self.decoded("psd_f", *rule, "0.2,0.3")
        self.assertEqual("most probable in a row of bounded divergence: total_variation of at most 0.3", result["guarantee"])

    def test_as_published_the_qualifiers_rows_are_compared(self):
        drawn = ("--temperature", 0.8, "--lengths", "2,6", "--thresholds", "inf,0.3")
        result = self.decoded("psd_f_as_published", *drawn)
        self.assertEqual(("none", "fuzzy"), (result["guarantee"], result["settings"]["accept"]))
        self.assertEqual(1.0, result["stages"][0]["acceptance"])
        self.assertNotEqual(result["ids"], self.decoded("psd_f", *drawn)["ids"])

    def test_any_divergence_judges_by_its_name_and_within_its_range(self):
        drawn, lengths = ("--temperature", 0.8), ("--lengths", "2,4")
        divergences = ("total_variation", "kl", "reverse_kl", "jensen_shannon", "hellinger")
        for scheme, more in (("fsd", ("--thresholds", 0.4)), ("fsd_as_published", ("--thresholds", 0.4, "--length", 4)),
                             ("psd_a_as_published", (*lengths, "--thresholds", 0.4)), ("psd_f", (*lengths, "--thresholds", "0.4,0.4"))):
            shares = {}
            for divergence in divergences:
                result = self.decoded(scheme, *more, *drawn, "--divergence", divergence)
                shares[divergence] = result["acceptance"]
                said = "none" if scheme.startswith("psd_a") else f"bounded divergence per token: {divergence} of at most 0.4"
                self.assertEqual((said, divergence), (result["guarantee"], result["settings"]["divergence"]))
            # jensen_shannon <= total_variation, so that at one threshold it accepts no less often; of FSD alone, whose texts hardly differ.
            if scheme == "fsd_as_published":
                self.assertGreaterEqual(shares["jensen_shannon"], shares["total_variation"])
            self.assertGreater(len(set(shares.values())), 1, shares)
        self.assertEqual(self.decoded("fsd", *drawn)["ids"], self.decoded("fsd", *drawn, "--divergence", "total_variation")["ids"])
        self.refuses(["'euclid'", ", ".join(divergences)], "generate", "--model", TARGET, "--prompt", "a", "--scheme", "fsd", "--draft", DRAFT, "--divergence", "euclid")

    def test_as_published_lengths_and_thresholds_are_the_papers(self):
        settings = self.decoded("psd_f_as_published")["settings"]
        self.assertEqual(([15, 25], [0.4, 0.5], "fuzzy"), (settings["lengths"], settings["thresholds"], settings["accept"]))
        self.assertEqual((15, [0.5]), tuple(self.decoded("fsd_as_published")["settings"][key] for key in ("length", "thresholds")))
        self.assertEqual([0.5, 0.2], self.decoded("psd_f_as_published", "--thresholds", "0.5,0.2")["settings"]["thresholds"])

    def test_a_cascade_has_any_number_of_models_and_a_rule_for_each_link(self):
        more = [tiny_model.write(FOLDER / f"cascade{seed}.gguf", seed=seed, layers=1) for seed in (4, 5)]
        files = [DRAFT, self.QUALIFIER, *more]
        using = ("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos")
        plain = self.generated(*using, "--scheme", "plain")["ids"]
        for count in (1, 2, 3, 4):
            models = [part for path in files[:count] for part in ("--draft", path)]
            result = self.generated(*using, "--scheme", "cascade", *models)
            self.assertEqual((plain, count), (result["ids"], len(result["stages"])))
            self.assertIn("same distribution as plain sampling", result["guarantee"])
            self.assertEqual(([4] * count, "rejection_sampling"), (result["settings"]["lengths"], result["settings"]["accept"]))
            self.assertTrue(all(stage["drafted"] > 0 for stage in result["stages"]), result["stages"])
        three = [part for path in files[:2] for part in ("--draft", path)]
        drawn = (*using, "--temperature", 0.8, *three)
        # One rule for each link: fuzzy inside and lossless last is lossless; the paper's names are cascades, too.
        mixed = self.generated(*drawn, "--scheme", "cascade", "--accept", "fuzzy,rejection_sampling", "--thresholds", "inf", "--lengths", "2,6")
        self.assertEqual(("same distribution as plain sampling, within numerics", 1.0), (mixed["guarantee"], mixed["stages"][0]["acceptance"]))
        named = self.generated(*drawn, "--scheme", "psd_f", "--thresholds", "0.2,0.1", "--lengths", "2,4")
        spelt = self.generated(*drawn, "--scheme", "cascade", "--accept", "rejection_then_fuzzy", "--thresholds", "0.2,0.1", "--lengths", "2,4")
        self.assertEqual(named["ids"], spelt["ids"])
        asked = ("generate", "--model", TARGET, "--prompt", "a", "--scheme", "cascade", *three)
        self.refuses(["3 rules", "2 links"], *asked, "--accept", "fuzzy,fuzzy,fuzzy")
        self.refuses(["'coupled'", "rejection_sampling, fuzzy, rejection_then_fuzzy"], *asked, "--accept", "coupled")
        self.refuses(["--thresholds holds 0", "takes 1"], *asked, "--accept", "fuzzy,rejection_sampling")
        self.refuses(["--lengths holds 3", "takes 2"], *asked, "--lengths", "1,2,3")
        self.refuses(["at most 5", "6 times"], "generate", "--model", TARGET, "--prompt", "a", "--scheme", "cascade", *(["--draft", DRAFT] + [part for i in range(5) for part in ("--draft", f"{i}.gguf")]))

    def test_models_take_turns_in_any_number(self):
        files = [DRAFT, self.QUALIFIER]
        models = [part for path in files for part in ("--draft", path)]
        using = ("--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos", "--scheme", "ead", *models, "--window", 2, "--dwell", 3)
        result = self.generated(*using, "--thresholds", "5,6")
        self.assertEqual(3, len(result["models"]))
        self.assertEqual(60, sum(each["written"] for each in result["models"]))
        small = self.generated(*using, "--thresholds", "98,99")
        self.assertEqual([60, 0, 0], [each["written"] for each in small["models"]])
        self.assertEqual(small["ids"], self.generated("--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos", "--scheme", "plain", model=DRAFT)["ids"])
        self.refuses(["--thresholds holds 0", "takes 2 with 2 draft models"], "generate", "--model", TARGET, "--prompt", "a", "--scheme", "ead", *models)

    def test_a_family_has_both(self):
        found = family("pyramid", ["draft", "qualifier"])
        result = self.generated("--prompt", "a b", "--scheme", "psd_a", family=found, noting="fuzzy_greedy")
        self.assertEqual([str(found / "tiny" / f"{name}.gguf") for name in ("draft", "qualifier")], result["settings"]["drafters"])


TREE = FOLDER / "generate_tree.json"
TREE.write_text("[[0], [1], [0, 0]]")
REPEATED = family("repeated", ("eagle", "hydra", "medusa")) / "tiny"
NGRAMS = ngram_file.write(REPEATED / "ngram.gguf", [[5, 6, 7]], orders=(2,), target=FINGERPRINT)


class Repeated(ProgramTest):
    """Each scheme again, from the settings of its own JSON."""

    NOT_FLAGS = {"model", "requested_scheme", "shape", "threads", "drafters", "policy", "trees", "verify_seconds"}
    # Of schemes that need more than a draft: what, and settings that are none of its defaults.
    SCHEMES = {
        "plain": ("--accept", "coupled"),
        "lookup": ("--lookup-min", 2, "--lookup-max", 4, "--length", 3),
        "sd": ("--draft", DRAFT, "--length", 3, "--accept", "rejection_sampling"),
        "eaad": ("--draft", DRAFT, "--bins", "4,5", "--bin-lengths", "5,3,1", "--max-k", 4, "--signal", "target_entropy", "--accept", "block"),
        "hysteresis": ("--draft", DRAFT, "--thresholds", "0.2,0.01", "--length", 5, "--signal", "acceptance", "--accept", "rejection_sampling"),
        "kangaroo": ("--untrained", "--exit-layer", 1, "--thresholds", 0.01, "--length", 3, "--accept", "rejection_sampling"),
        "fsd": ("--draft", DRAFT, "--thresholds", 0.3, "--divergence", "hellinger", "--length", 3),
        "psd_a": ("--draft", DRAFT, "--draft", Fuzzy.QUALIFIER, "--thresholds", 0.2, "--lengths", "2,3"),
        "psd_f": ("--draft", DRAFT, "--draft", Fuzzy.QUALIFIER, "--thresholds", "inf,0.1", "--lengths", "2,3", "--divergence", "kl"),
        "fsd_as_published": ("--draft", DRAFT, "--thresholds", 0.3),
        "psd_a_as_published": ("--draft", DRAFT, "--draft", Fuzzy.QUALIFIER),
        "psd_f_as_published": ("--draft", DRAFT, "--draft", Fuzzy.QUALIFIER, "--thresholds", "0.5,0.2"),
        "cascade": ("--draft", DRAFT, "--draft", Fuzzy.QUALIFIER, "--accept", "fuzzy,rejection_sampling", "--thresholds", 0.3, "--lengths", "3,5"),
        "ead": ("--draft", DRAFT, "--thresholds", 6.5, "--window", 2, "--dwell", 3, "--length", 2),
        "hybrid": ("--heads", NGRAMS, "--lookup-min", 1, "--lookup-max", 3, "--length", 4),
        "medusa": ("--heads", REPEATED / "medusa.gguf", "--length", 2),
        "hydra": ("--heads", REPEATED / "hydra.gguf", "--length", 2, "--accept", "rejection_sampling"),
        "eagle": ("--heads", REPEATED / "eagle.gguf", "--length", 3, "--accept", "block"),
        "dvi": ("--exit-layer", 1, "--thresholds", 0.01, "--length", 3, "--accept", "rejection_sampling"),
    }

    def flags_of(self, result):
        flags = ["--prompt-ids", ",".join(map(str, result["prompt_ids"])), "--scheme", result["scheme"], "--seed", result["seed"]]
        for key, value in result["settings"].items():
            flag = "--" + key.replace("_", "-")
            if key in self.NOT_FLAGS or value is False or value == []:
                continue
            if value is True:
                flags.append(flag)
            elif key in ("draft", "heads", "stop", "logit_bias"):
                flags += [part for each in value for part in (flag, each)]
            elif key == "tree" and isinstance(value, list):
                (FOLDER / "repeated_tree.json").write_text(json.dumps(value))
                flags += [flag, FOLDER / "repeated_tree.json"]
            else:
                flags += [flag, ",".join(map(str, value)) if isinstance(value, list) else value]
        return [each for i, each in enumerate(flags) if (each, flags[i - 1 : i]) != ("none", ["--accept"]) and (each, flags[i + 1 : i + 2]) != ("--accept", ["none"])]

    def test_every_setting_is_in_the_json(self):
        using = ("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos", "--temperature", 0.8, "--top-k", 50, "--seed", 7, "--logit-bias", "5=1.5", "--context", 200)
        for scheme, needs in self.SCHEMES.items():
            with self.subTest(scheme):
                first = self.generated(*using, "--scheme", scheme, *needs)
                again = self.generated(*self.flags_of(first))
                self.assertEqual(first["ids"], again["ids"])
                same = [{k: v for k, v in each["settings"].items() if k not in ("requested_scheme", "verify_seconds")} for each in (first, again)]
                self.assertEqual(*same)
                missing = {each[2:].replace("-", "_") for each in needs if isinstance(each, str) and each.startswith("--")} - set(first["settings"])
                self.assertEqual(set(), missing)
        greedy = (*using[:5], "--scheme")
        for scheme, needs in {"eaad_as_published": ("--draft", DRAFT, "--bins", "4,5", "--bin-lengths", "5,3,1"), "psd_f": (*self.SCHEMES["psd_f"], "--accept", "fuzzy_greedy", "--divergence-temperature", 2), "sd": ("--draft", DRAFT, "--tree", TREE, "--accept", "typical", "--epsilon", 0.01)}.items():
            with self.subTest(scheme, greedy=True):
                first = self.generated(*greedy, scheme, *needs)
                self.assertEqual(first["ids"], self.generated(*self.flags_of(first))["ids"])


class Choices(ProgramTest):
    def test_auto(self):
        self.assertEqual("lookup", self.generated("--prompt", "a")["scheme"])
        self.assertEqual("eaad", self.generated("--prompt", "a", "--draft", DRAFT)["scheme"])

    def test_hybrid(self):
        """A table of the target's own text is right wherever the text comes by."""
        prompt = ("--prompt", "the cat", "--max-tokens", 40)
        plain = self.generated(*prompt, "--scheme", "plain")
        text = plain["prompt_ids"] + plain["ids"]
        heads = ngram_file.write(FOLDER / "own.gguf", [text], orders=(2, 3, 4))
        for more in ((), ("--length", 4), ("--temperature", 0.8, "--seed", 3)):
            expected = self.generated(*prompt, "--scheme", "plain", *(() if "--length" in more else more))["ids"]
            result = self.generated(*prompt, "--scheme", "hybrid", "--heads", heads, *more)
            self.assertEqual(("hybrid", expected), (result["scheme"], result["ids"]))
        result = self.generated(*prompt, "--scheme", "hybrid", "--heads", heads, "--length", 4)
        self.assertGreater(result["acceptance"], 0.5)
        for key, value in (("accept", "exact"), ("policy", "fixed_length{.tokens=4}")):
            self.assertEqual(value, result["settings"][key])

    def test_criterion_follows_the_temperature(self):
        promises = {
            (): "same text as plain greedy decoding",
            ("--temperature", 1): "same text as plain sampling with the same seed",
            ("--temperature", 1, "--accept", "rejection_sampling"): "same distribution as plain sampling",
        }
        for arguments, promise in promises.items():
            self.assertEqual(promise, self.generated("--prompt", "a", *arguments)["guarantee"])

    def test_length_is_the_most_that_is_drafted(self):
        for scheme, length in itertools.product(("sd", "eaad"), (0, 1, 2)):
            bins = ("--bins", 100, "--bin-lengths", "9,1") if scheme == "eaad" else ()  # the first for every entropy there can be
            result = self.generated("--prompt", "a", "--draft", DRAFT, "--scheme", scheme, "--length", length, *bins)
            self.assertEqual(length, len(result["stages"][0]["positions"]))

    def test_a_draft_that_is_not_used_is_refused_unless_auto_chose_the_scheme(self):
        asked = ("generate", "--model", TARGET, "--draft", DRAFT, "--prompt", "a")
        self.refuses([f"--draft is {DRAFT}", "the scheme is 'lookup'"], *asked, "--scheme", "lookup", "--json")
        heads = family("unused_draft", ("eagle",)) / "tiny/eagle.gguf"
        done = self.works(*asked, "--heads", heads, "--json")
        self.assertRegex(done.stderr, rb"\Aaugur: note: [^\n]*--draft[^\n]*\n\Z")

    def test_prompt_by_text_file_and_ids(self):
        path = FOLDER / "prompt.txt"
        path.write_text(PROMPTS[3] + "\n", encoding="utf-8")
        by_text = self.generated("-p", PROMPTS[3])
        self.assertEqual(by_text["ids"], self.generated("--prompt-file", path)["ids"])
        ids = ",".join(map(str, by_text["prompt_ids"]))
        self.assertEqual(by_text["ids"], self.generated("--prompt-ids", ids)["ids"])

    def test_a_prompt_that_a_shell_has_opened(self):
        """Standard input, and <(command)."""
        expected = self.generated("--prompt", PROMPTS[3])["ids"]
        for name in ("-", "/dev/stdin", "/dev/fd/0"):
            reading, writing = os.pipe()
            os.write(writing, PROMPTS[3].encode("utf-8") + b"\n")
            os.close(writing)
            with open(reading, "rb") as piped:
                self.assertEqual(expected, self.generated("--prompt-file", name, stdin=piped)["ids"])

    def test_a_files_last_line_feed_is_no_part_of_the_prompt(self):
        path = FOLDER / "lines.txt"
        expected = self.generated("-p", "a")["prompt_ids"]
        for content, same in ((b"a", True), (b"a\n", True), (b"a\r\n", True), (b"a\n\n", False), (b"a\r", False), (b"\na\n", False)):
            path.write_bytes(content)
            self.assertEqual(same, expected == self.generated("--prompt-file", path)["prompt_ids"], content)
        path.write_bytes(b"\n")
        self.refuses(["empty", str(path)], "generate", "--model", TARGET, "--prompt-file", path)

    def test_short_options(self):
        known = self.generated("--prompt", "a", "--max-tokens", 7)
        result = self.object("generate", "-m", TARGET, "-p", "a", "-n", 7)
        self.assertEqual((7, known["ids"]), (len(result["ids"]), result["ids"]))

    def test_a_model_for_conversations_without_chat_is_noted_once(self):
        for name, is_noted in (("tiny-Instruct.Q4", True), ("Tiny_Chat-2", True), ("tiny-2b-it", True), ("italic-chatter", False)):
            path = tiny_model.write(FOLDER / f"{name}.gguf")
            done = self.works("generate", "-m", path, "-p", "a", "-n", 2)
            self.assertEqual(int(is_noted), done.stderr.count(b"--chat"), name)
            self.assertNotIn(b"--chat", self.works("generate", "-m", path, "-p", "a", "-n", 2, "--chat").stderr)
            wrapped = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
            self.assertNotIn(b"--chat", self.works("generate", "-m", path, "-p", wrapped, "-n", 2).stderr)
            self.assertNotIn(b"--chat", self.works("generate", "-m", path, "--prompt-ids", "5", "-n", 2).stderr)
        without = tiny_model.write(FOLDER / "bare-instruct.gguf", chat_template=None)
        self.assertNotIn(b"--chat", self.works("generate", "-m", without, "-p", "a", "-n", 2).stderr)

    def test_chat_wraps_the_prompt(self):
        wrapped = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
        result = self.generated("--chat", "--system", "Be brief.", "--prompt", "Hi")
        self.assertEqual(self.generated("--prompt", wrapped)["prompt_ids"], result["prompt_ids"])
        self.assertEqual(1, result["prompt_ids"][0])

    def test_weights(self):
        keep, f32, bf16 = (self.generated("--prompt", "a", "--weights", w) for w in ("keep", "f32", "bf16"))
        self.assertEqual(keep["ids"], f32["ids"])
        self.assertLess(bf16["memory_bytes"], f32["memory_bytes"])


class Ends(ProgramTest):
    def test_stop_string(self):
        result = self.generated("--prompt", "the cat")
        start = result["text"].index("\N{REPLACEMENT CHARACTER}") + 1
        stop = result["text"][start : start + 3]
        stopped = self.generated("--prompt", "the cat", "--stop", "never said", "--stop", stop)
        self.assertEqual("stop_string", stopped["finish_reason"])
        self.assertEqual(stop, stopped["stop_string"])
        self.assertEqual(result["text"][: result["text"].index(stop)], stopped["text"])

    def test_end_token(self):
        biased = ("--prompt", "the cat", "--logit-bias", "2=1000", "--max-tokens", 5)
        result = self.generated(*biased)
        self.assertEqual(("stop_token", [2], ""), (result["finish_reason"], result["ids"], result["text"]))
        result = self.generated(*biased, "--ignore-eos")
        self.assertEqual(("max_tokens", [2] * 5), (result["finish_reason"], result["ids"]))

    def test_limits(self):
        self.assertEqual([], self.generated("--prompt", "a", "--max-tokens", 0)["ids"])
        result = self.generated("--prompt-ids", "5,6,7", "--context", 16)
        self.assertEqual(("context", 13), (result["finish_reason"], len(result["ids"])))


class WithoutTokenizer(ProgramTest):
    def test_ids_in_ids_out(self):
        path = tiny_model.write(FOLDER / "wordless.gguf", layers=2, words=False)
        result = self.generated("--prompt-ids", "5,6,7", "--max-tokens", 6, model=path)
        self.assertEqual("", result["text"])
        done = run("generate", "--model", path, "--prompt-ids", "5,6,7", "--max-tokens", 6)
        self.assertEqual(result["ids"], [int(word) for word in done.stdout.split()])
        self.refuses([path, "tokenizer"], "generate", "--model", path, "--prompt", "a")
        self.refuses([path, "tokenizer", "--stop"], "generate", "--model", path, "--prompt-ids", 1, "--stop", "x")


class Trace(ProgramTest):
    def test_one_line_per_round(self):
        path = FOLDER / "trace.jsonl"
        result = self.generated("--prompt", PROMPTS[1], "--trace", path)
        rounds = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual(result["rounds"], len(rounds))
        self.assertEqual(result["ids"], [token for each in rounds for token in each["committed"]])
        position = len(result["prompt_ids"])
        for each in rounds:
            self.assertEqual(position, each["position"])
            self.assertEqual(each["drafted"][: each["accepted"]], each["committed"][: each["accepted"]])
            self.assertEqual({"draft", "verify", "accept", "other"}, set(each["seconds"]))
            position += len(each["committed"])
        self.assertFalse((FOLDER / "trace.jsonl.part").exists())

    def test_nothing_is_left_of_a_trace_that_failed(self):
        path = FOLDER / "half.jsonl"
        spoiled = tiny_model.write(FOLDER / "spoiled.gguf", spoil=float("nan"))
        self.refuses("nan", "generate", "--model", spoiled, "--prompt", "a", "--json", "--trace", path)
        self.assertEqual([], [file.name for file in FOLDER.glob("half*")])


if __name__ == "__main__":
    unittest.main()
