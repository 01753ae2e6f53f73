#!/usr/bin/env python3
"""`augur advise`: which schemes and hierarchies it speaks of, what it makes of files and models, and what it refuses. (Times are
not asserted.)"""

import itertools
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, TARGET, ProgramTest, family, run  # noqa: E402

SHAPE = "64,128,2,2,32,3"
SHORT = ("--context", 8, "--turns", 2)
MEMBERS = family("advised", ["eagle", "hydra", "medusa"])


def entry(name, rounds=10, positions=((10, 5), (10, 2)), **more):
    stages = [{"rounds": rounds, "positions": [{"drafted": drafted, "accepted": accepted} for drafted, accepted in positions]}]
    return {"scheme": name, "speedup": 1.5, "draft_seconds": 0.5, "drafted": 20, "stages": stages, **more}


class Advise(ProgramTest):
    def setUp(self):
        self.path = FOLDER / f"{self.id().rpartition('.')[2]}.json"

    def command(self, *entries, weights="f32", shape=SHAPE, prompts=2):
        self.path.write_text(json.dumps({"prompts": [{"schemes": list(entries)} for _ in range(prompts)]}))
        return ("advise", "--shape", shape, "--weights", weights, "--acceptance", self.path, "--vocabulary", 99, "--threads", 1)

    def advice(self, *entries, **options):
        found = self.object(*self.command(*entries, **options), *SHORT)
        return found, {of["scheme"]: of for of in found["schemes"]}

    def test_every_kind_of_draft_has_its_costs(self):
        names = ("lookup:length=2", "sd", "eaad", "eagle:length=2", "hydra", "medusa", "kangaroo", "hybrid")
        for weights in ("f32", "bf16", "q8_0", "q4_0"):
            found, of = self.advice(entry("plain"), *map(entry, names), weights=weights)
            self.assertEqual(set(names), set(of))
            self.assertEqual((weights, 1, 3, 2), tuple(found[key] for key in ("weights", "threads", "different_layers", "prompts")))
            self.assertGreater(found["plain_milliseconds"], 0)
            for each in of.values():
                self.assertAlmostEqual(1.7, each["tokens_per_round"])
                self.assertEqual(1, each["round_costs"][0])
                self.assertEqual(3, len(each["round_costs"]))
                self.assertAlmostEqual(each["speedup"], 1.7 / each["round_costs"][2])
                self.assertLessEqual(each["low"], each["speedup"])
                self.assertLessEqual(each["speedup"], each["high"])
                self.assertIn(each["best"]["length"], (0, 1, 2))
                self.assertGreaterEqual(each["best"]["speedup"], max(1, each["speedup"]) - 1e-9)

    def test_of_a_hybrid_the_network_drafts_as_much_as_its_time_says(self):
        _, of = self.advice(entry("eagle"), entry("hybrid", draft_seconds=0.125), entry("lookup"))
        self.assertAlmostEqual(0.25, of["hybrid"]["drafted_by_it"])
        self.assertEqual(1, of["eagle"]["drafted_by_it"])
        _, of = self.advice(entry("hybrid"))
        self.assertEqual(1, of["hybrid"]["drafted_by_it"])

    def test_drafts_that_are_never_accepted_are_advised_against(self):
        _, of = self.advice(entry("sd", positions=((10, 0), (10, 0))))
        self.assertEqual((0, 1), (of["sd"]["best"]["length"], of["sd"]["best"]["speedup"]))

    def test_what_has_no_rounds_of_its_own_here_is_left_out_and_named(self):
        done = self.works(*self.command(entry("sd"), entry("eagle:tree=auto"), entry("psd_a"), entry("ead")), *SHORT, "--json")
        self.assertEqual(["eagle:tree=auto", "psd_a", "ead"], json.loads(done.stdout)["left_out"])
        for name in (b"eagle:tree=auto", b"psd_a", b"ead"):
            self.assertIn(b"note: rounds of '" + name, done.stderr)

    def test_figures_of_bench_schemes_are_read_as_they_are(self):
        prompts = FOLDER / "advised.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": f"one two {i} one two"}) + "\n" for i in range(2)))
        schemes = [word for name in ("lookup:length=3", "sd:length=2", "eagle", "hydra:length=2") for word in ("--scheme", name)]
        measured = self.works("bench", "schemes", "--model", TARGET, "--draft", DRAFT, "--prompts", prompts, *schemes, "--json",
                              "--max-tokens", 12, "--repetitions", 1, family=MEMBERS)  # fmt: skip
        command = self.command()
        self.path.write_bytes(measured.stdout)
        found = self.object(*command, *SHORT)
        self.assertEqual(4, len(found["schemes"]))
        table = self.works(*command, *SHORT).stdout.decode()
        for name in ("lookup:length=3", "sd:length=2", "x plain", "90 %"):
            self.assertIn(name, table)

    def test_speedups_that_the_file_has_stand_beside_the_advice(self):
        _, of = self.advice(entry("sd"), {key: value for key, value in entry("eagle").items() if key != "speedup"})
        self.assertEqual(1.5, of["sd"]["measured_there"])
        self.assertNotIn("measured_there", of["eagle"])

    def test_the_family_of_the_library_has_figures_of_its_own(self):
        found = self.object("advise", "--shape", SHAPE, "--weights", "f32", "--vocabulary", 99, "--threads", 1, *SHORT)
        self.assertEqual(28, found["prompts"])
        self.assertTrue({"lookup:length=8", "sd:length=6", "eagle:length=6"} <= {of["scheme"] for of in found["schemes"]})

    def test_what_cannot_be_is_refused_with_its_value(self):
        def refuses(expected, *entries, **options):
            self.refuses(expected, *self.command(*entries, **options))

        refuses("shape 'huge'", entry("sd"), shape="huge")
        refuses(["--weights 'q3'", "q4_k"], entry("sd"), weights="q3")
        expected = ["--weights q4_k packs blocks of 256", f"the width, 64, of --shape {SHAPE}", "use one of f32, f16, bf16, q8_0, q4_0, q4_1"]
        refuses(expected, entry("sd"), weights="q4_k")
        refuses(["--weights q6_k", "the width, 576, of --shape 135m"], entry("sd"), weights="q6_k", shape="135m")
        refuses("no scheme", entry("plain"))
        refuses("no scheme", entry("ead"))
        refuses(["no scheme"], prompts=0)
        refuses("11 were drafted", entry("sd", positions=((11, 1),)))
        refuses("6 accepted", entry("sd", positions=((5, 6),)))
        refuses("0 rounds", entry("sd", rounds=0, positions=()))
        refuses(["speedup", "-1"], entry("sd", speedup=-1))
        refuses(["draft_seconds", '"x"'], entry("sd", draft_seconds="x"))
        refuses("no stages", entry("sd", stages=[]))
        refuses(["40 tokens"], entry("sd", rounds=1, positions=[(1, 1)] * 40))
        for flag in ("--turns", "--context"):
            self.refuses(f"{flag} is 0", *self.command(entry("sd")), flag, 0)
        for layer in (3, 4):
            self.refuses([f"--exit-layer is {layer}", "3 layers"], *self.command(entry("kangaroo")), "--exit-layer", layer)
        self.works(*self.command(entry("kangaroo")), *SHORT, "--exit-layer", 2)

    def test_weights_are_those_that_the_rows_of_the_shape_pack(self):
        """Where none are asked for: q4_k is for rows of whole blocks of 256."""
        for shape, expected in ((SHAPE, "q4_0"), ("256,256,4,4,64,1", "q4_k"), ("40,96,2,2,20,2", "bf16")):
            command = [*self.command(entry("lookup"), shape=shape)]
            at = command.index("--weights")
            found = self.object(*command[:at], *command[at + 2 :], *SHORT)
            self.assertEqual(expected, found["weights"], shape)

    def test_memory_is_checked_before_it_is_taken(self):
        def needed(name):
            command = self.command(entry(name), weights="f32", shape="65536,262144,512,64,128,400")
            self.refuses(["bytes, more than the"], *command)
            return int(re.search(rb"take (\d+) bytes", run(*command).stderr).group(1))

        layer = 65536 * 128 * (2 * 512 + 2 * 64) + 3 * 65536 * 262144
        two_in_q4_0 = 1.05 * 18 / 32 * (2 * layer + 99 * 65536)
        self.assertAlmostEqual(two_in_q4_0, needed("sd") - needed("lookup"), delta=1000)


class Hierarchy(ProgramTest):
    MODELS = (DRAFT, tiny_model.write(FOLDER / "hierarchy.gguf", seed=3, layers=1), TARGET)
    ASKED = ("advise", "--hierarchy", "--model", TARGET, "--draft", MODELS[0], "--draft", MODELS[1], "--prompt", "a b, one two")
    SHORT = ("--longest", 3, "--turns", 1, "--context", 8, "--threads", 1, "--max-tokens", 24)

    def above(self, below, passes, accepted, length):
        """Seconds until a verifier has proposed 1, 2, ... tokens: its rounds, one by one."""

        def left(wanted):
            drafts = min(length, wanted - 1)
            stands = [1, *accepted[:drafts], 0]
            later = sum((stands[n] - stands[n + 1]) * left(wanted - n - 1) for n in range(drafts + 1) if wanted > n + 1)
            return passes[drafts] + (below[drafts - 1] if drafts else 0) + later

        return [below[0] + passes[1], *(left(wanted) for wanted in range(2, len(below) + 1))]

    def seconds(self, found, models, lengths):
        passes = [model["pass_seconds"] for model in found["models"]]
        accepted = {(pair["drafter"], pair["verifier"]): pair["accepted"] for pair in found["pairs"]}
        if not lengths:
            return passes[-1][0]
        below = [(i + 1) * passes[models[0]][0] for i in range(found["longest"])]
        for lower, upper, length in zip(models, models[1:-1], lengths):
            below = self.above(below, passes[upper], accepted[lower, upper], length)
        last = accepted[models[-2], models[-1]][: lengths[-1]]
        return (below[lengths[-1] - 1] + passes[-1][lengths[-1]]) / (1 + sum(last))

    def every(self, found, most):
        """The seconds of every hierarchy of at most so many draft models."""
        for count in range(most + 1):
            for drafts in itertools.permutations(range(2), count):
                for lengths in itertools.product(range(1, found["longest"] + 1), repeat=count):
                    yield self.seconds(found, [*drafts, 2], lengths)

    def test_the_fastest_hierarchy_is_found_and_runs(self):
        for temperature in (0, 1.5):
            found = self.object(*self.ASKED, *self.SHORT, "--temperature", temperature, "--seed", 3)
            self.assertEqual([str(path) for path in self.MODELS], [model["file"] for model in found["models"]])
            for each in found["hierarchies"]:
                least = min(self.every(found, len(each["lengths"])))
                self.assertAlmostEqual(1, self.seconds(found, each["models"], each["lengths"]) * each["tokens_per_second"])
                self.assertAlmostEqual(1, least * each["tokens_per_second"])
            best = found["hierarchies"][found["best"]]
            self.assertAlmostEqual(1, min(self.every(found, 2)) * best["tokens_per_second"])
            using = ("--prompt", "a b, one two", "--max-tokens", 24, "--ignore-eos", "--json")
            result = json.loads(self.works("generate", *found["arguments"], *using).stdout)
            self.assertEqual(len(best["lengths"]), len(result["stages"]) if best["lengths"] else 0)
            if temperature == 0:
                self.assertEqual(result["ids"], self.object("generate", "--model", TARGET, "--scheme", "plain", *using[:-1])["ids"])

    def test_acceptance_is_what_entropy_says_of_the_same_text(self):
        found = self.object(*self.ASKED, *self.SHORT, "--temperature", 1, "--seed", 5)
        text = self.object("generate", "--model", TARGET, "--prompt", "a b, one two", "--scheme", "plain", "--max-tokens", 24,
                           "--temperature", 1, "--seed", 5)  # fmt: skip
        ids = ",".join(map(str, text["prompt_ids"] + text["ids"]))
        seen = self.object("entropy", "--model", TARGET, "--draft", self.MODELS[0], "--qualifier", self.MODELS[1], "--prompt-ids", ids)
        first = len(text["prompt_ids"]) - 1
        self.assertEqual(len(text["ids"]), found["positions"])
        rates = {}
        for position in seen["positions"][first:-1]:
            for place, pair in enumerate(position["pairs"]):  # draft and qualifier, draft and target, qualifier and target
                rates.setdefault([(0, 1), (0, 2), (1, 2)][place], []).append(pair["acceptance"])
        self.assertEqual({(0, 1), (1, 0), (0, 2), (1, 2)}, {(pair["drafter"], pair["verifier"]) for pair in found["pairs"]})
        for pair in found["pairs"]:
            all_rates = rates[tuple(sorted((pair["drafter"], pair["verifier"])))]
            self.assertAlmostEqual(sum(all_rates) / len(all_rates), pair["accepted"][0], delta=1e-5)
            both = [one * other for one, other in itertools.pairwise(all_rates)]
            expected = pair["accepted"][0] * sum(both) / sum(all_rates[:-1])
            self.assertAlmostEqual(expected, pair["accepted"][1], delta=1e-5)

    def test_a_table_says_how_to_run_the_best(self):
        table = self.works(*self.ASKED, *self.SHORT).stdout.decode()
        for part in ("hierarchy.gguf", "plain", "x plain", f"augur generate --model {TARGET} --scheme "):
            self.assertIn(part, table)

    def test_options_of_other_advice_and_texts_that_are_too_short_are_refused(self):
        self.refuses(["--shape is '1b'", "--hierarchy"], *self.ASKED, "--shape", "1b")
        self.refuses(["--draft is", "only --hierarchy"], "advise", "--shape", SHAPE, "--draft", DRAFT)
        self.refuses("name one by --model", "advise", "--hierarchy")
        self.refuses(["--prompts is 'x.jsonl'", "give one"], *self.ASKED, "--prompts", "x.jsonl")
        self.refuses(["longest text has 2 tokens", "drafts of 8"], *self.ASKED, "--max-tokens", 2)
        self.refuses(["--max-tokens is 100000", "context"], *self.ASKED, "--max-tokens", 100000)
        for flag in ("--turns", "--longest"):
            self.refuses(f"{flag} is 0", *self.ASKED, flag, 0)


if __name__ == "__main__":
    unittest.main()
