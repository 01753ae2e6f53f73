#!/usr/bin/env python3
"""augur learn, and what it writes in generate: the schemes kangaroo and dvi with an adapter."""

import array
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, PROGRAM, TARGET, ProgramTest, environment, family, run  # noqa: E402

TEXTS = [("a", "the cat the cat the"), ("b", "one two one two"), ("a", "0123456789")]
QUICK = ("--max-tokens", 24, "--share", "inf", "--every", 1, "--rate", 0.02, "--threshold", 0, "--length", 3)


def prompts(name="prompts.jsonl", texts=TEXTS):
    path = FOLDER / name
    path.write_text("".join(json.dumps({"task": task, "prompt": text}) + "\n" for task, text in texts), encoding="utf-8")
    return path


def learn(*arguments, every=1):
    quick = [every if before == "--every" else each for before, each in zip(("", *QUICK), QUICK)]
    return ("learn", "--model", TARGET, "--prompts", prompts(), *quick, *arguments)


class Learn(ProgramTest):
    def lines(self, *arguments, every=1, **options):
        done = self.works(*learn(*arguments, every=every), "--json", **options)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def test_it_learns_to_draft_what_the_model_says(self):
        reports = self.lines("--passes", 12, "--compare")
        self.assertEqual(12 * len(TEXTS), len(reports))
        self.assertEqual({True}, {line["identical"] for line in reports})
        rate = lambda lines: sum(line["accepted"] for line in lines) / sum(line["drafted"] for line in lines)
        first, last = reports[: len(TEXTS)], reports[-2 * len(TEXTS) :]
        self.assertGreater(rate(last), rate(first) + 0.2)
        self.assertGreater(reports[-1]["learning"]["updates"], 50)
        self.assertEqual(0, reports[-1]["learning"]["dropped"])
        self.assertEqual(sum(line["tokens"] for line in reports), reports[-1]["served"])
        self.assertLess(reports[-1]["learning"]["lambda"], reports[0]["learning"]["lambda"])

    def test_what_learning_takes_is_in_the_speed(self):
        reports = self.lines("--passes", 3)
        spent = lambda line: line["learning"]["training_seconds"] + line["learning"]["decoding_seconds"]
        for before, line in zip([None, *reports], reports):
            took = spent(line) - (spent(before) if before else 0)
            self.assertGreaterEqual(line["tokens"] / line["tokens_per_second"], 0.98 * took)

    def test_what_can_be_kept_is_kept_where_the_other_file_cannot(self):
        lost, kept = FOLDER / "lost", FOLDER / "kept"
        lost.mkdir()
        kept.mkdir()
        asked = learn("--output", lost / "a", "--replay", kept / "r", "--passes", 8)
        process = subprocess.Popen(
            [PROGRAM, *map(str, asked), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        process.stdout.readline()
        shutil.rmtree(lost)
        before = (kept / "r").read_bytes() if (kept / "r").exists() else b""
        said = process.communicate()[1]
        self.assertEqual(1, process.returncode)
        self.assertEqual(1, said.count("warning"))
        self.assertNotEqual(before, (kept / "r").read_bytes())

    def test_heads_and_ngrams_learn_to_draft_what_the_model_says(self):
        rate = lambda lines: sum(line["accepted"] for line in lines) / max(1, sum(line["drafted"] for line in lines))
        for scheme in ("medusa", "hydra", "ngram", "suffix"):
            reports = self.lines("--scheme", scheme, "--passes", 12, "--compare")
            self.assertEqual({True}, {line["identical"] for line in reports}, scheme)
            first, last = reports[: len(TEXTS)], reports[-2 * len(TEXTS) :]
            self.assertGreater(rate(last), rate(first) + 0.15, scheme)
            self.assertEqual(0, reports[-1]["learning"]["dropped"])
            self.assertEqual(sum(line["tokens"] for line in reports), reports[-1]["learning"]["tokens"])
        sampled = self.lines("--scheme", "hydra", "--temperature", 1, "--seed", 5, "--compare", "--passes", 2)
        self.assertEqual({True}, {line["identical"] for line in sampled})

    def test_heads_go_on_from_their_adapter_and_generate_drafts_with_it(self):
        for scheme in ("medusa", "hydra"):
            whole, parts = FOLDER / f"{scheme}.whole", FOLDER / f"{scheme}.parts"
            replays = [FOLDER / f"{scheme}.{name}.replay" for name in ("whole", "parts")]
            use = ("--scheme", scheme, "--head-count", 3)
            self.lines(*use, "--output", whole, "--replay", replays[0], "--passes", 12)
            self.lines(*use, "--output", parts, "--replay", replays[1], "--passes", 5)
            self.lines(*use, "--output", parts, "--replay", replays[1], "--passes", 7, "--seed", 5)
            self.assertEqual(whole.read_bytes(), parts.read_bytes())
            self.assertEqual(replays[0].read_bytes(), replays[1].read_bytes())
            draft = ("--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--compare")
            result = self.generated("--scheme", scheme, "--adapter", whole, *draft)
            self.assertTrue(result["identical"])
            self.assertGreater(result["acceptance"], 0.3)
            self.assertEqual([str(whole)], result["settings"]["drafters"])

    def test_an_eagle_layers_output_learns_and_generate_drafts_with_it(self):
        layer = family("of_eagle", ["eagle"]) / "tiny" / "eagle.gguf"
        adapter, use = FOLDER / "eagle.adapter", ("--scheme", "eagle", "--heads", layer)
        rate = lambda lines: sum(line["accepted"] for line in lines) / max(1, sum(line["drafted"] for line in lines))
        reports = self.lines(*use, "--output", adapter, "--passes", 12, "--compare")
        self.assertEqual({True}, {line["identical"] for line in reports})
        self.assertGreater(rate(reports[-2 * len(TEXTS) :]), rate(reports[: len(TEXTS)]) + 0.15)
        self.assertEqual(0, reports[-1]["learning"]["dropped"])
        draft = ("--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--compare", *use)
        untrained, trained = self.generated(*draft), self.generated(*draft, "--adapter", adapter)
        self.assertTrue(trained["identical"])
        self.assertGreater(trained["acceptance"], untrained["acceptance"] + 0.1)
        self.assertEqual([str(layer), str(adapter)], trained["settings"]["drafters"])
        sampled = self.lines(*use, "--temperature", 1, "--seed", 5, "--compare", "--passes", 2)
        self.assertEqual({True}, {line["identical"] for line in sampled})

    def test_refusals_of_an_eagle_layer(self):
        layer, exits = family("of_eagle_2", ["eagle", "medusa"]) / "tiny" / "eagle.gguf", FOLDER / "eagle.no"
        use = ("--scheme", "eagle", "--heads", layer)
        self.lines("--output", exits)
        self.refuses(["eagle", "--heads"], *learn("--scheme", "eagle"))
        self.refuses(["--bias"], *learn(*use, "--bias"))
        self.refuses(["--norm layer"], *learn(*use, "--norm", "layer"))
        self.refuses(["medusa", "eagle"], *learn("--scheme", "eagle", "--heads", layer.parent / "medusa.gguf"))
        self.refuses(["the model"], *learn(*use, "--output", exits))
        self.refuses(["the model"], "generate", "--model", TARGET, "--prompt", "a", *use, "--adapter", exits)

    def test_refusals_of_heads_and_ngrams(self):
        adapter = FOLDER / "medusa.of_this"
        self.lines("--scheme", "medusa", "--output", adapter)
        use = ("generate", "--model", TARGET, "--prompt", "a")
        other = tiny_model.write(FOLDER / "other_heads.gguf", seed=7, layers=2)
        trained = family("of_learn", ["medusa"]) / "tiny" / "medusa.gguf"
        self.assertEqual({True}, {line["identical"] for line in self.lines("--scheme", "medusa", "--heads", trained, "--compare")})
        self.refuses(["'greedy'", "dvi, medusa, hydra, eagle, ngram, suffix"], *learn("--scheme", "greedy"))
        self.refuses(["heads: 4", "2"], *learn("--scheme", "medusa", "--head-count", 2, "--output", adapter))
        self.refuses(["--head-count: ", "heads is 0", "1 and 64"], *learn("--scheme", "medusa", "--head-count", 0))
        self.refuses(["no checkpoint"], *learn("--output", adapter))
        self.refuses(["--exit-layer is 1", "'medusa'"], *learn("--scheme", "medusa", "--exit-layer", 1))
        self.refuses(["--heads", "'dvi'"], *learn("--heads", adapter))
        for scheme in ("ngram", "suffix"):
            self.refuses(["--replay", scheme], *learn("--scheme", scheme, "--replay", FOLDER / "n.replay"))
        self.refuses(["do not see", "hydra"], *use, "--scheme", "hydra", "--adapter", adapter)
        self.refuses(["the model"], "generate", "--model", other, "--prompt", "a", "--scheme", "medusa", "--adapter", adapter)
        self.refuses(["--heads", "--adapter"], *use, "--scheme", "medusa", "--adapter", adapter, "--heads", trained)

    def test_adapter_and_replay_are_two_files(self):
        new, kept, link = FOLDER / "new.adapter", FOLDER / "kept.adapter", FOLDER / "link.adapter"
        kept.write_text("kept")
        link.symlink_to(kept)
        for output, replay in ((new, new), (kept, kept), (kept, link)):
            self.refuses(["--replay", str(replay), "would overwrite", str(output)], *learn("--output", output, "--replay", replay))
        self.assertEqual((False, "kept"), (new.exists(), kept.read_text()))

    def test_every_switch_learns_and_keeps_the_text(self):
        switches = [
            ("--lambda", "constant", "--floor", 1),  # KL only
            ("--lambda", "constant", "--floor", 0, "--anchor", 0),  # the policy only
            ("--policy", "probability"),
            ("--policy", "margin"),
            ("--policy", "reward_masked"),
            ("--lambda", "decay_by_updates", "--tau-updates", 20),
            ("--teacher-temperature", "1.5,1,acceptance"),
            ("--top", 0),
            ("--policy", "none", "--lambda", "constant", "--floor", 0),  # the anchor only
            ("--kl", "reverse"),
            ("--anchor", "0.2,0,50"),
            ("--teacher-temperature", "1.5,1,50"),
            ("--lambda", "ramp", "--warm-up", 5, "--ramp", 20),
            ("--floor", 0),
            ("--norm", "none"),
            ("--scale", "none", "--fixed-norm"),
            ("--update", "output", "--weight-norm", "--bias"),
            ("--clamp", 1.5),
        ]
        for switch in switches:
            reports = self.lines(*switch, "--compare", "--passes", 2)
            self.assertEqual({True}, {line["identical"] for line in reports}, switch)
            self.assertGreater(reports[-1]["learning"]["updates"], 10, switch)
            self.assertEqual(0, reports[-1]["learning"]["dropped"], switch)
        anchors = [line["learning"]["anchor"] for line in self.lines("--anchor", "0.2,0,50", "--passes", 4)][1:]  # after an update
        self.assertEqual((0.0, anchors), (anchors[-1], sorted(anchors, reverse=True)))

    def test_lambda_and_what_is_annealed_follow_tokens_updates_or_acceptance(self):
        learned = lambda *more: [(line["served"], line["learning"]) for line in self.lines("--passes", 8, *more)[1:]]  # after an update
        for served, now in learned("--tau", 150):
            self.assertAlmostEqual(max(0.05, math.exp(-served / 150)), now["lambda"])
        for _, now in learned("--lambda", "decay_by_updates", "--tau-updates", 40, "--floor", 0.2):
            self.assertAlmostEqual(max(0.2, math.exp((1 - now["updates"]) / 40)), now["lambda"])
        low, high = 0.15, 0.3
        by_acceptance = learned("--lambda", "acceptance", "--acceptance-band", f"{low},{high}", "--anchor", "0.4,0,acceptance")
        for _, now in by_acceptance:
            share = min(1, max(0, (now["acceptance"] - low) / (high - low)))
            self.assertAlmostEqual(1 - 0.95 * share, now["lambda"])
            self.assertAlmostEqual(0.4 * (1 - share), now["anchor"])
        self.assertEqual((1, 0.05), (by_acceptance[0][1]["lambda"], by_acceptance[-1][1]["lambda"]))
        self.refuses(["--acceptance-band has 1 numbers", "LOW,HIGH"], *learn("--acceptance-band", 0.1))
        self.refuses(["--acceptance-band: ", "beginning is 0.3", "0.2"], *learn("--acceptance-band", "0.3,0.2"))
        self.refuses(["--tau-updates: ", "is 0"], *learn("--tau-updates", 0))
        self.refuses(["--anchor has 1 numbers before acceptance", "X,Y,acceptance"], *learn("--anchor", "1,acceptance"))

    def test_accepted_positions_alone_are_sampled_above_the_band_of_acceptance(self):
        learned = lambda *more: [line["learning"]["loss"] for line in self.lines("--passes", 16, *more)]
        switched = lambda band: learned("--accepted-only", "--accepted-from", "acceptance", "--acceptance-band", band)
        everything, accepted = learned(), learned("--accepted-only")
        self.assertNotEqual(everything, accepted)
        self.assertEqual((everything, accepted), (switched("0.999,1"), switched("0,0")))
        self.refuses(["--accepted-from is acceptance", "--accepted-only is not given"], *learn("--accepted-from", "acceptance"))

    def test_the_replay_holds_whole_rows_where_it_is_told_to_and_says_its_memory(self):
        width, vocabulary, positions = 32, tiny_model.VOCABULARY, 4096
        for top, numbers in ((), 2 * 64), (("--top", 8), 16), (("--top", 0), vocabulary):
            self.assertEqual(positions * (4 * (width + numbers) + 36), self.lines(*top)[-1]["learning"]["replay_bytes"])

    def test_accepted_positions_alone_are_sampled_once_there_are_many(self):
        enough, warm_up = 256, 200  # accepted positions, and updates before
        learned = lambda *more: [line["learning"] for line in self.lines("--passes", 16, *more)]
        said = lambda of: [of[key] for key in ("loss", "policy_loss", "agreement", "updates", "accepted_samples")]
        everything, accepted = learned(), learned("--accepted-only", "--compare")
        few = [i for i, of in enumerate(everything) if of["accepted_samples"] < enough or of["updates"] < warm_up]
        self.assertEqual(list(range(len(few))), few)
        self.assertTrue(len(TEXTS) < len(few) < len(everything) - 2, len(few))
        self.assertEqual([said(everything[i]) for i in few], [said(accepted[i]) for i in few])
        for i in range(len(few) + 1, len(everything)):  # of one text the updates are some of each
            self.assertNotEqual(said(everything[i])[:2], said(accepted[i])[:2])

    def test_of_the_newest_positions_accepted_ones_alone_are_sampled_too(self):
        for few in (("--newest", 64), ("--positions", 64)):
            learned = lambda *more: [line["learning"] for line in self.lines("--passes", 8, *few, *more)]
            everything, accepted = learned(), learned("--accepted-only")
            self.assertGreater(everything[-1]["updates"], 200)  # of which the warm-up samples all
            self.assertNotEqual(everything[-1]["loss"], accepted[-1]["loss"], few)

    def test_reinforce_learns_from_drafts_that_are_drawn_and_judged_as_drawn(self):
        drawn, record = ("--accept", "rejection_sampling", "--temperature", 0.8, "--seed", 5), FOLDER / "drawn.json"
        reinforce = ("--policy", "reinforce", "--newest", 64)
        reports = self.lines(*reinforce, *drawn, "--passes", 2, "--record", record)
        self.assertGreater(reports[-1]["learning"]["updates"], 10)
        self.assertEqual(0, reports[-1]["learning"]["dropped"])
        self.assertNotEqual({0}, {line["learning"]["policy_loss"] for line in reports})
        told = json.loads(record.read_text())["result"]
        self.assertEqual(("rejection_sampling", "same distribution as plain sampling"), (told["settings"]["accept"], told["guarantee"]))
        unlearned = self.lines(*drawn, "--layer-rank", 4, every=10**6)[0]["ids"]
        self.assertEqual(unlearned, self.lines(*drawn, every=10**6)[0]["ids"])
        generated = self.generated("--scheme", "dvi", *drawn, "--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--thresholds", 0)
        self.assertEqual(generated["ids"], unlearned)  # too short to learn from
        why = ["--policy is reinforce", "--accept rejection_sampling"]
        self.refuses([*why, "which is 0"], *learn(*reinforce))
        self.refuses([*why, "which is 1"], *learn(*reinforce, "--temperature", 1))
        self.refuses(["--accept is rejection_sampling", "--temperature is 0"], *learn(*reinforce, "--accept", "rejection_sampling"))
        self.refuses(["--accept is rejection_sampling", "'medusa'"], *learn("--scheme", "medusa", *drawn))
        self.refuses(["--accept is rejection_sampling", "--compare"], *learn(*drawn, "--compare"))
        self.refuses(["--accept is 'typical'", "coupled"], *learn("--accept", "typical", "--temperature", 1))
        self.refuses(["--accept is 'coupled'", "exact"], *learn("--accept", "coupled"))
        self.assertEqual(self.lines()[0]["ids"], self.lines("--accept", "exact")[0]["ids"])

    def test_idle_updates_are_made_between_texts(self):
        told = lambda lines: [(line["served"], line["learning"]["updates"]) for line in lines]
        never, idle = self.lines(every=10**6), self.lines("--updates", "idle", "--passes", 6, "--compare")
        self.assertEqual([0] * len(TEXTS), [updates for _, updates in told(never)])
        self.assertEqual(never[0]["accepted"], idle[0]["accepted"])  # in the first text nothing was learned yet
        self.assertNotEqual(never[-1]["accepted"], idle[len(TEXTS) - 1]["accepted"])
        self.assertGreater(self.lines()[-1]["learning"]["updates"], 0)  # between rounds there are some by then
        for served, updates in told(idle):
            self.assertIn(updates, (0, served))  # every token has had its own, once there are enough positions
        self.assertEqual(told(idle)[-1], (idle[-1]["served"], idle[-1]["served"]))
        self.assertEqual({True}, {line["identical"] for line in idle})
        every = told(self.lines("--updates", "idle", "--passes", 3, every=7))
        self.assertEqual(every[-1][0] // 7, every[-1][1])
        self.refuses(["--updates", "'never'", "rounds, idle"], *learn("--updates", "never"))
        self.refuses(["--updates and --background: ", "the background thread has none"], *learn("--updates", "idle", "--background"))
        self.refuses(["--updates is idle", "ngram"], *learn("--updates", "idle", "--scheme", "ngram"))

    def test_without_a_policy_the_anchor_alone_learns_what_the_policy_alone_does(self):
        alone = ("--lambda", "constant", "--floor", 0, "--passes", 3)
        policy = self.lines(*alone, "--anchor", 0)
        anchor = self.lines(*alone, "--policy", "none", "--anchor", 1)
        self.assertEqual([line["accepted"] for line in policy], [line["accepted"] for line in anchor])
        self.assertEqual({0}, {line["learning"]["policy_loss"] for line in anchor})

    def test_without_a_threshold_drafts_are_as_long_as_pays_and_every_token_teaches(self):
        free = [each for each in QUICK if each not in ("--threshold", 0)]
        record = FOLDER / "as_pays.json"
        for scheme, first in (("dvi", 3), ("hydra", 3), ("ngram", 0)):  # n-grams know nothing yet
            use = ("--passes", 8, "--scheme", scheme, "--compare", "--json", "--record", record)
            drafted_at_first = lambda: len(json.loads(record.read_text())["rounds"][0]["drafted"])
            lines = self.works("learn", "--model", TARGET, "--prompts", prompts(), *free, *use)
            reports = [json.loads(line) for line in lines.stdout.decode().splitlines()]
            self.assertEqual({True}, {line["identical"] for line in reports}, scheme)
            self.assertGreater(sum(line["drafted"] for line in reports), 0, scheme)
            self.assertEqual(0, drafted_at_first(), scheme)  # a plain pass is measured
            if scheme == "dvi":
                self.assertGreaterEqual(reports[-1]["learning"]["samples"], reports[-1]["served"])
            self.works(*learn(*use))
            self.assertEqual(first, drafted_at_first(), scheme)

    def test_the_head_has_rows_for_the_tokens_that_it_is_told(self):
        member = family("of_head_tokens", []) / "tiny"
        for kind in ("eagle", "exit"):
            tiny_model.write_checkpoint(member / f"{kind}.gguf", kind, FINGERPRINT, head_tokens=list(range(200)))
        adapters = {name: FOLDER / f"{name}.tokens" for name in ("family", "all", "file", "none", "warned", "unasked")}
        use = lambda name, *more, **options: self.works(*learn("--output", adapters[name], "--json", "--compare", *more), **options)
        use("family", family=member.parent)
        use("all", "--head-tokens", "all", family=member.parent)
        use("file", "--head-tokens", member / "eagle.gguf")
        use("none")
        sizes = {name: path.stat().st_size for name, path in adapters.items() if path.exists()}
        self.assertEqual((sizes["all"], sizes["family"]), (sizes["none"], sizes["file"]))
        self.assertGreater(sizes["family"], sizes["all"])  # it lists its tokens
        broken = family("of_broken_tokens", []) / "tiny" / "exit.gguf"
        tiny_model.write_checkpoint(broken, "exit", FINGERPRINT, head_tokens=[5, 3])
        done = use("warned", family=broken.parent.parent)
        self.assertRegex(done.stderr.decode(), r"augur: warning: skipped the draft bundle's [^\n]*ascending")
        self.assertEqual(sizes["all"], adapters["warned"].stat().st_size)
        done = use("unasked", "--head-tokens", "all", family=broken.parent.parent)
        self.assertEqual(b"", done.stderr)
        use("family")  # goes on, whatever families there are
        self.refuses(["tokens:"], *learn("--output", adapters["family"], "--head-tokens", "all"))
        self.refuses(["--head-tokens is all", "'eagle'"], *learn("--scheme", "eagle", "--heads", member / "eagle.gguf", "--head-tokens", "all"))
        self.refuses(["none.gguf"], *learn("--head-tokens", FOLDER / "none.gguf"))
        draft = ("--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--thresholds", 0, "--compare")
        for scheme in ("kangaroo", "dvi"):
            self.assertTrue(self.generated("--scheme", scheme, "--adapter", adapters["family"], *draft)["identical"])
        self.assertTrue(self.generated("--scheme", "dvi", "--prompt", TEXTS[0][1], "--max-tokens", 24, "--compare")["identical"])

    def test_new_heads_have_rows_for_the_tokens_that_they_are_told(self):
        member = family("of_new_heads", ["medusa"]) / "tiny"
        tiny_model.write_checkpoint(member / "eagle.gguf", "eagle", FINGERPRINT, head_tokens=list(range(200)))
        chosen = {"family": (), "file": ("--head-tokens", member / "eagle.gguf"), "all": ("--head-tokens", "all")}
        adapters = {name: FOLDER / f"{name}.new_heads" for name in chosen}
        use = ("--scheme", "hydra", "--json", "--compare")
        for name, tokens in chosen.items():
            self.works(*learn(*use, "--head-count", 3, *tokens, "--output", adapters[name]), family=member.parent)
        sizes = {name: path.stat().st_size for name, path in adapters.items()}
        self.assertEqual(sizes["family"], sizes["file"])
        self.assertGreater(sizes["family"], sizes["all"])  # it lists its tokens
        self.works(*learn(*use, "--output", adapters["file"], "--passes", 12))  # heads and tokens are the adapter's
        draft = ("--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--compare")
        result = self.generated("--scheme", "hydra", "--adapter", adapters["file"], *draft)
        self.assertTrue(result["identical"])
        self.assertGreater(result["acceptance"], 0)
        again = ("--scheme", "hydra", "--output", adapters["file"])
        self.refuses(["tokens:"], *learn(*again, "--head-tokens", "all"))
        self.refuses(["heads: 3", "4"], *learn(*again, "--head-count", 4))
        taken = ("--scheme", "medusa", "--heads", member / "medusa.gguf", "--head-tokens", "all")
        self.refuses(["--head-tokens is all", "medusa.gguf"], *learn(*taken))

    def test_texts_are_shown_as_tokens(self):
        plain = self.generated("--scheme", "plain", "--prompt", TEXTS[0][1], "--max-tokens", 24)["ids"]
        self.assertEqual(plain, self.lines()[0]["ids"])

    def test_sampled_texts_are_plain_samplings(self):
        reports = self.lines("--temperature", 1, "--seed", 5, "--compare", "--passes", 2)
        self.assertEqual({True}, {line["identical"] for line in reports})
        self.assertGreater(sum(line["drafted"] for line in reports), 0)

    def test_prompts_come_from_standard_input_too(self):
        with prompts().open("rb") as opened:
            arguments = ("learn", "--model", TARGET, "--prompts", "-", *QUICK, "--json")
            done = self.works(*arguments, stdin=opened)
        self.assertEqual(len(TEXTS), len(done.stdout.splitlines()))

    def test_it_goes_on_from_its_adapter(self):
        whole, parts = FOLDER / "whole.adapter", FOLDER / "parts.adapter"
        replays = [FOLDER / f"{name}.replay" for name in ("whole", "parts")]
        self.lines("--output", whole, "--replay", replays[0], "--passes", 2)
        self.lines("--output", parts, "--replay", replays[1])
        second = self.lines("--output", parts, "--replay", replays[1], "--seed", 1)
        self.assertEqual(whole.read_bytes(), parts.read_bytes())
        self.assertEqual(replays[0].read_bytes(), replays[1].read_bytes())
        self.assertGreater(second[0]["learning"]["updates"], len(TEXTS))

    def test_generate_drafts_with_it(self):
        adapter = FOLDER / "trained.adapter"
        self.lines("--output", adapter, "--passes", 12)
        draft = ("--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--thresholds", 0, "--compare")
        untrained = self.generated("--scheme", "kangaroo", "--untrained", *draft)
        before = adapter.read_bytes()
        for scheme in ("kangaroo", "dvi"):
            result = self.generated("--scheme", scheme, "--adapter", adapter, *draft)
            self.assertTrue(result["identical"])
            self.assertGreater(result["acceptance"], untrained["acceptance"] + 0.2)
            self.assertEqual([str(adapter)], result["settings"]["drafters"])
            self.assertEqual(1, result["settings"]["exit_layer"])
            self.assertEqual(before, adapter.read_bytes())

    def test_dvi_without_an_adapter_starts_as_the_models_own_head(self):
        draft = ("--prompt", "the cat", "--max-tokens", 12, "--length", 2, "--thresholds", 0)
        own = self.generated("--scheme", "kangaroo", "--untrained", *draft)
        result = self.generated("--scheme", "dvi", *draft)  # too short to learn from
        self.assertEqual((own["ids"], own["accepted_length"]), (result["ids"], result["accepted_length"]))

    def test_an_adapter_survives_a_kill(self):
        adapter = FOLDER / "killed.adapter"
        self.lines("--output", adapter)
        command = [PROGRAM, *map(str, learn("--output", adapter, "--passes", 100000, "--json"))]
        for wanted in range(1, 8):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))
            for _ in range(wanted):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            process.stdout.close()
            process.wait()
            result = self.generated("--scheme", "kangaroo", "--adapter", adapter, "--prompt", "the cat", "--max-tokens", 4)
            self.assertEqual(4, len(result["ids"]))

    def test_a_signal_while_files_are_written_leaves_none_of_them(self):
        folder = FOLDER / "signalled"
        folder.mkdir()
        files = ("--output", folder / "adapter", "--replay", folder / "replay")
        self.lines(*files, "--update", "full")
        unfinished = lambda: [each for each in os.scandir(folder) if each.name.endswith(".part")]
        command = [PROGRAM, *map(str, learn(*files, "--update", "full", "--passes", 100000, "--json"))]
        ended = []
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))
            while process.poll() is None:
                if not unfinished():
                    continue
                process.send_signal(signal.SIGSTOP)  # and see whether it is still there
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                caught = [each.stat().st_size for each in unfinished()]
                if caught and caught[0] > 0:
                    process.send_signal(number)
                    process.send_signal(signal.SIGCONT)
                    ended.append(-process.wait())
                else:
                    process.send_signal(signal.SIGCONT)
            self.assertEqual([], unfinished())
            self.assertGreater(len(list(folder.iterdir())), 1)
        self.assertEqual([signal.SIGTERM, signal.SIGHUP], ended)
        self.works(*learn(*files, "--update", "full"))  # both are whole

    def test_a_signal_at_any_moment_leaves_no_unfinished_file(self):
        folder = FOLDER / "at_any_moment"
        folder.mkdir()
        files = ("--output", folder / "adapter", "--replay", folder / "replay")
        command = [PROGRAM, *map(str, learn(*files, "--update", "full", "--passes", 100000, "--json"))]
        for wait in range(20):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))
            process.stdout.readline()  # from here on files are written again and again
            time.sleep(wait * 0.0007)
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            self.assertEqual(-signal.SIGTERM, process.wait())
            process.stdout.close()
            self.assertLessEqual({each.name for each in os.scandir(folder)}, {"adapter", "replay"})

    def test_an_interruption_keeps_what_was_learned(self):
        adapter = FOLDER / "interrupted.adapter"
        command = [PROGRAM, *map(str, learn("--output", adapter, "--passes", 100000, "--json"))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertEqual(0, process.returncode)
        self.assertGreater(adapter.stat().st_size, 0)

    def test_an_interruption_of_the_plain_text_to_compare_with_ends_it_as_any_other(self):
        report = FOLDER / "interrupted.html"
        command = [PROGRAM, *map(str, learn("--passes", 100000, "--json", "--compare", "--report", report))]
        for lines in range(1, 9):  # about half the time is the plain text's
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))
            for _ in range(lines):
                process.stdout.readline()
            process.send_signal(signal.SIGINT)
            self.assertEqual(b"", process.communicate()[1])
            self.assertEqual(0, process.returncode)
            self.assertIn("</html>", report.read_text(encoding="utf-8"))
            report.unlink()

    def test_lines_that_are_blank_are_no_prompts(self):
        texts = prompts("blank.jsonl", TEXTS[:2]).read_bytes()
        path = FOLDER / "blank.jsonl"
        for end in (b"\n", b"\r\n"):
            path.write_bytes(texts.replace(b"\n", end + end) + end)
            printed = self.works("learn", "--model", TARGET, "--prompts", path, *QUICK, "--json").stdout.decode().splitlines()
            self.assertEqual([1, 3], [json.loads(line)["line"] for line in printed])

    def test_a_batch_that_no_ring_holds_is_refused(self):
        self.refuses(["--batch and --positions: ", "batch is 65", "64"], *learn("--batch", 65, "--positions", 64))

    def learned_after_two_layers(self, deeper, adapter, *ranks):
        """Learns twice into the adapter, with which both schemes then draft; the command, for what it refuses."""
        use = ("learn", "--model", deeper, "--prompts", prompts(), *QUICK, "--exit-layer", 2, "--json", "--compare")
        asked = (*use, *ranks, "--output", adapter, "--passes", 6)
        reports = [json.loads(line) for _ in range(2) for line in self.works(*asked).stdout.decode().splitlines()]
        self.assertEqual({True}, {line["identical"] for line in reports})
        rate = lambda lines: sum(line["accepted"] for line in lines) / sum(line["drafted"] for line in lines)
        self.assertGreater(rate(reports[-2 * len(TEXTS) :]), rate(reports[: len(TEXTS)]) + 0.2)
        self.assertEqual(0, reports[-1]["learning"]["dropped"])
        draft = ("generate", "--model", deeper, "--prompt", TEXTS[0][1], "--max-tokens", 24, "--length", 3, "--thresholds", 0, "--json", "--compare")
        before = adapter.read_bytes()
        for scheme in ("kangaroo", "dvi"):
            got = json.loads(self.works(*draft, "--scheme", scheme, "--adapter", adapter).stdout)
            self.assertTrue(got["identical"])
            self.assertGreater(got["acceptance"], 0.3)
            self.assertEqual(2, got["settings"]["exit_layer"])
        self.assertEqual(before, adapter.read_bytes())
        return use

    def test_the_last_layer_that_drafts_learns_and_generate_drafts_with_it(self):
        adapter, plain, deeper = FOLDER / "layer.adapter", FOLDER / "no_layer.adapter", tiny_model.write(FOLDER / "layers.gguf", seed=1, layers=3)
        use = self.learned_after_two_layers(deeper, adapter, "--layer-rank", 4)
        self.works(*use, "--output", plain)
        sizes = ["hidden states of a size of"]
        self.refuses(sizes, *use, "--output", adapter)
        self.refuses(sizes, *use, "--layer-rank", 4, "--output", plain)
        self.refuses(["layer_rank 4", "here it is 3"], *use, "--layer-rank", 3, "--output", adapter)
        self.refuses(["after layer 2", "here it is 1"], *use[:-3], 1, "--layer-rank", 4, "--output", adapter)
        self.refuses(["layer_rank is 5000", "between 1 and"], *use, "--layer-rank", 5000)
        self.refuses(["--layer-rank is 4", "'medusa'"], *learn("--scheme", "medusa", "--layer-rank", 4))
        self.refuses(["1 layers", "of a target of 1"], "learn", "--model", DRAFT, "--prompts", prompts(), "--layer-rank", 4)

    def test_attention_of_the_last_layer_learns_and_the_adapter_drafts(self):
        adapter, deeper = FOLDER / "attention.adapter", tiny_model.write(FOLDER / "attends.gguf", seed=1, layers=3)
        ranks = ("--layer-rank", 4, "--attention-rank", 4)
        use = self.learned_after_two_layers(deeper, adapter, *ranks)
        self.refuses(["it is no checkpoint of augur"], *use, "--layer-rank", 4, "--output", adapter)
        self.refuses(["attention_rank 4", "here it is 3"], *use, "--layer-rank", 4, "--attention-rank", 3, "--output", adapter)
        self.refuses(["--attention-rank is 4", "--layer-rank is 0"], *use, "--attention-rank", 4)
        self.refuses(["--attention-rank is 4", "'medusa'"], *learn("--scheme", "medusa", "--attention-rank", 4))
        self.refuses(["--replay is", "--attention-rank is 4"], *use, *ranks, "--replay", FOLDER / "none")
        self.refuses(["--exit-layer is 1", "2 to 2"], *use[:-3], 1, *ranks)

    def test_slow_updates_move_the_verifier_between_texts(self):
        far = ("--slow-kl", 1000, "--slow-perplexity", 1000)
        slow = ("--slow-updates", "committed", "--slow-period", 8, "--slow-rate", 0.1, *far)
        sampled = ("--temperature", 1, "--seed", 5, "--passes", 4)
        for texts in (sampled, ("--passes", 4)):
            reports, own = self.lines(*slow, *texts, "--compare"), self.lines(*texts)
            self.assertEqual({True}, {line["identical"] for line in reports})  # plain decoding's by the verifier of that text
            self.assertEqual(own[0]["ids"], reports[0]["ids"])  # no period was before it
            told = [line["verifier"] for line in reports]
            self.assertEqual([n + 1 for n in range(len(reports))], [each["periods"] for each in told])
            self.assertEqual((len(reports), 0, 0), tuple(told[-1][key] for key in ("kept", "rolled_back", "dropped")))
            self.assertEqual({False}, {each["is_the_model"] for each in told})
            self.assertEqual(reports[-1]["served"], told[-1]["samples"] + told[-1]["held_back"])
            self.assertGreater(told[-1]["kl_of_model"], 0.01)
            self.assertGreater(reports[-1]["learning"]["updates"], 0)  # the draft learns, too
            self.assertNotIn("verifier", own[0])
            if texts is sampled:
                self.assertNotEqual([line["ids"] for line in own], [line["ids"] for line in reports])
        drawn = ("--accept", "rejection_sampling", *sampled)
        self.assertGreater(self.lines(*slow, *drawn)[-1]["verifier"]["kept"], 0)
        for ranks in (("--layer-rank", 4), ("--update", "output", "--layer-rank", 4)):
            self.assertEqual({True}, {line["identical"] for line in self.lines(*slow, *ranks, "--compare")}, ranks)

    def test_a_verifier_that_drifts_too_far_stays_the_model(self):
        slow = ("--slow-updates", "committed", "--slow-period", 8, "--slow-rate", 0.1)
        sampled = ("--temperature", 1, "--seed", 5, "--passes", 3)
        own, undone = self.lines(*sampled), self.lines(*slow, "--slow-kl", 0, *sampled)
        self.assertEqual([line["ids"] for line in own], [line["ids"] for line in undone])
        told = undone[-1]["verifier"]
        self.assertEqual((len(undone), 0, len(undone)), tuple(told[key] for key in ("periods", "kept", "rolled_back")))
        self.assertTrue(told["is_the_model"])
        told = self.lines("--slow-updates", "soft", "--slow-period", 8, *sampled)[-1]["verifier"]
        self.assertEqual((len(own), 0), (told["kept"], told["rolled_back"]))
        self.assertLess(told["kl_of_model"], 1e-3)  # its own rows hold it where it is
        record = FOLDER / "slow.json"
        done = self.works(*learn(*slow, "--slow-kl", 0, "--record", record, "--report", FOLDER / "slow.html"))
        said = done.stderr.decode()
        self.assertIn("a text is its own as it was during that text", said)
        self.assertEqual(len(TEXTS), said.count("is undone"))
        told = json.loads(record.read_text())["result"]
        self.assertEqual("same text as plain greedy decoding, of the verifier as slow updates left it", told["guarantee"])
        self.assertEqual(("committed", 8), (told["settings"]["slow_updates"]["target"], told["settings"]["slow_updates"]["period"]))

    def test_the_verifier_is_scored_on_texts_beside_the_model(self):
        texts = prompts("scored.jsonl", [("a", "the cat"), ("b", "a"), ("b", "one")])
        slow = ("--slow-updates", "committed", "--slow-period", 8, "--slow-rate", 0.1, "--score", texts)
        nats, first, row = [], [], FOLDER / "scored.row"
        for _, text in [json.loads(line).values() for line in texts.read_text().splitlines()]:
            ids = json.loads(self.works("tokenize", "--model", TARGET, "--prompt", text, "--json").stdout)["ids"]
            for end in range(1, len(ids)):
                asked = ("--prompt-ids", ",".join(map(str, ids[:end])), "--output", row)
                self.works("logits", "--model", TARGET, *asked)
                logits = array.array("f", row.read_bytes())
                nats.append(math.log(sum(math.exp(each - logits[ids[end]]) for each in logits)))
                first.append(max(logits) == logits[ids[end]])
        undone = self.lines(*slow, "--slow-kl", 0)[-1]["verifier"]["score"]
        self.assertEqual(len(nats), undone["tokens"])
        self.assertAlmostEqual(math.exp(sum(nats) / len(nats)) / undone["model_perplexity"], 1, places=4)
        self.assertAlmostEqual(sum(first) / len(first), undone["model_first_choice"])
        self.assertAlmostEqual(undone["model_perplexity"] / undone["perplexity"], 1, places=4)
        moved = self.lines(*slow, "--slow-kl", 1000, "--slow-perplexity", 1000)[-1]["verifier"]["score"]
        self.assertEqual(undone["model_perplexity"], moved["model_perplexity"])
        self.assertGreater(abs(math.log(moved["perplexity"] / moved["model_perplexity"])), 0.01)
        self.assertNotIn("score", self.lines(*slow[:-2])[-1]["verifier"])
        self.refuses(["--score is given", "--slow-updates is none"], *learn("--score", texts))
        self.refuses(["no text has two tokens"], *learn(*slow[:-1], prompts("short.jsonl", [("a", "a")])))

    def test_a_verifier_goes_on_from_its_file(self):
        verifier, adapter = FOLDER / "its.verifier", FOLDER / "its.adapter"
        slow = ("--slow-updates", "committed", "--slow-rate", 0.1, "--slow-kl", 1000, "--slow-perplexity", 1000)
        files = ("--verifier", verifier, "--output", adapter)
        moved = self.lines(*slow, "--slow-period", 8, "--passes", 3, *files)[-1]["verifier"]
        kept = verifier.read_bytes()
        again = self.lines(*slow, *files)  # the default period is longer than these texts
        self.assertEqual((False, 0), (again[0]["verifier"]["is_the_model"], again[-1]["verifier"]["periods"]))
        self.assertEqual(kept, verifier.read_bytes())
        drift = self.lines(*slow, "--slow-period", 8, *files)[0]["verifier"]["kl_of_model"]
        self.assertGreater(drift, moved["kl_of_model"] / 4)  # from the model, as before
        self.assertTrue(self.generated("--scheme", "dvi", "--adapter", adapter, "--prompt", "a", "-n", 9, "--compare")["identical"])
        self.refuses(["--slow-rank and --verifier", "rank 8", "here it is 4"], *learn(*slow, "--slow-rank", 4, *files))
        self.refuses(["--slow-rank and --verifier", "layer"], *learn(*slow, "--verifier", adapter))
        self.refuses(["--verifier", "would overwrite"], *learn(*slow, "--output", adapter, "--verifier", adapter))

    def test_what_slow_updates_cannot_do_is_refused(self):
        slow = ("--slow-updates", "committed")
        for scheme in ("medusa", "ngram"):
            self.refuses(["--slow-updates is committed", f"'{scheme}'", "only dvi"], *learn(*slow, "--scheme", scheme))
        for flag, value in (("--slow-beta", 1), ("--slow-rank", 8), ("--verifier", FOLDER / "none")):
            self.refuses([f"{flag} is given", "--slow-updates is none"], *learn(flag, value))
        self.refuses(["--slow-updates is 'always'", "none, committed, soft"], *learn("--slow-updates", "always"))
        for flag in ("--slow-rank", "--slow-period", "--slow-steps"):
            self.refuses([f"{flag} is 0", "at least 1"], *learn(*slow, flag, 0))
        self.refuses(["--slow-rank", "rank is 5000", "between 1 and"], *learn(*slow, "--slow-rank", 5000))
        self.refuses(["--slow-rate", "rate is 0"], *learn(*slow, "--slow-rate", 0))
        for flag, value in (("--slow-beta", -1), ("--slow-kl", -1), ("--slow-perplexity", 0.5)):
            self.refuses([f"{flag} is {value}", "or more"], *learn(*slow, flag, value))

    def test_refusals(self):
        adapter = FOLDER / "of_this.adapter"
        self.lines("--output", adapter)
        use = ("generate", "--model", TARGET, "--prompt", "a")
        other = tiny_model.write(FOLDER / "other.gguf", seed=7, layers=2)
        self.refuses(["the model"], "generate", "--model", other, "--prompt", "a", "--scheme", "kangaroo", "--adapter", adapter)
        deeper = tiny_model.write(FOLDER / "deeper.gguf", seed=1, layers=3)
        of_two = ("learn", "--model", deeper, "--prompts", prompts(), *QUICK, "--exit-layer")
        self.works(*of_two, 2, "--output", FOLDER / "of_two.adapter")
        self.refuses(["after layer 2", "here it is 1"], *of_two, 1, "--output", FOLDER / "of_two.adapter")
        self.refuses(["2 layers", "1 to 1"], *learn("--exit-layer", 2))
        self.refuses(["1 layers", "--exit-layer is 5"], *use, "--scheme", "dvi", "--adapter", adapter, "--exit-layer", 5)
        self.refuses(["rank", "32", "4"], *learn("--output", adapter, "--rank", 4))
        self.refuses(["--adapter", "'sd'"], *use, "--scheme", "sd", "--adapter", adapter)
        self.refuses(["--untrained", "dvi"], *use, "--scheme", "dvi", "--untrained")
        self.refuses(["'cubic'", "decay, decay_by_updates, acceptance, ramp, constant"], *learn("--lambda", "cubic"))
        self.refuses(["--anchor has 2 numbers", "X,Y,N"], *learn("--anchor", "0.2,0.1"))
        self.refuses(["anchor", "-1"], *learn("--anchor", "-1"))
        self.refuses(["temperature", "0"], *learn("--teacher-temperature", "1,0,100"))
        self.refuses(["share", "-1"], "learn", "--model", TARGET, "--prompts", prompts(), "--share", -1)
        self.refuses(["--passes"], *learn("--passes", 0))
        asked = ("learn", "--model", TARGET, "--prompts", prompts())
        for flag in ("--batch", "--every", "--positions", "--length"):
            self.refuses([f"augur: error: {flag} is 0; ", "at least 1 (see augur learn --help)"], *asked, flag, 0)
        for flag, value in (("--rate", -1), ("--tau", 0), ("--floor", 2), ("--anchor", -1), ("--teacher-temperature", 0), ("--entropy", -1),
                            ("--threshold", 3), ("--temperature", -1)):  # fmt: skip
            self.refuses([f"augur: error: {flag}: ", f" is {value}", "(see augur learn --help)"], *asked, flag, value)
        damaged = FOLDER / "damaged.adapter"
        content = bytearray(adapter.read_bytes())
        content[len(content) // 2] ^= 1
        damaged.write_bytes(content)
        self.refuses([str(damaged)], *use, "--scheme", "kangaroo", "--adapter", damaged)
        damaged.write_bytes(adapter.read_bytes()[:100])
        self.refuses([str(damaged)], *use, "--scheme", "kangaroo", "--adapter", damaged)

    def test_a_replay_of_another_vocabulary_or_model_is_refused(self):
        replay = FOLDER / "of_this.replay"
        self.lines("--replay", replay)
        before = replay.read_bytes()
        wider = tiny_model.write(FOLDER / "wider.gguf", seed=1, layers=2, words=tiny_model.sentencepiece(41), vocabulary=300)
        other = tiny_model.write(FOLDER / "other_replay.gguf", seed=7, layers=2)
        of = lambda model: ("learn", "--model", model, "--prompts", prompts(), *QUICK, "--replay", replay)
        self.refuses(["a vocabulary of 262", "here it is 300"], *of(wider))
        self.refuses(["the model"], *of(other))
        self.assertEqual(before, replay.read_bytes())

    def test_a_gradient_that_is_no_number_is_dropped_and_counted_and_texts_go_on(self):
        large = tiny_model.write(FOLDER / "large.gguf", seed=1, layers=2, spoil=1e38)  # what a large step makes of it overflows
        steps = [50 if before == "--rate" else each for before, each in zip(("", *QUICK), QUICK)]
        done = self.works("learn", "--model", large, "--prompts", prompts(), *steps, "--passes", 4, "--compare", "--json")
        reports = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual({True}, {line["identical"] for line in reports})
        first, last = reports[len(TEXTS)]["learning"], reports[-1]["learning"]
        self.assertGreater(first["dropped"], 0)
        self.assertGreater(last["dropped"], first["dropped"])
        self.assertEqual(first["updates"], last["updates"])

    def test_a_model_of_one_layer_has_none_to_draft_with(self):
        self.refuses(["after 1 layers", "a target of 1"], "learn", "--model", DRAFT, "--prompts", prompts(), *QUICK)

    def test_a_full_disk_leaves_the_old_adapter(self):
        adapter = FOLDER / "full.adapter"
        self.lines("--output", adapter)
        before = adapter.read_bytes()
        limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", PROGRAM, *map(str, learn("--output", adapter, "--json"))]
        done = subprocess.run(limited, capture_output=True, env=environment(AUGUR_FAMILY=str(FOLDER / "none")), check=False)
        self.assertEqual(1, done.returncode)
        told = done.stderr.decode()
        self.assertRegex(told, r"\Aaugur: warning: [^\n]+full\.adapter[^\n]*\naugur: error: [^\n]+full\.adapter[^\n]*\n\Z")
        self.assertEqual(len(TEXTS), len(done.stdout.splitlines()))  # decoding went on
        self.assertEqual(before, adapter.read_bytes())


if __name__ == "__main__":
    unittest.main()
