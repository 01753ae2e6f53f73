"""augur grow, and decoding with the bank that it writes."""

import json
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import ngram_file  # noqa: E402
import tiny_model  # noqa: E402
from calibration_text import compact, fnv, parsed  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, PROGRAM, PROMPTS, TARGET, ProgramTest, environment, family, run  # noqa: E402

MEMBERS = family("grown", ["hydra", "medusa", "eagle", "draft"])
SUM = 0.004  # a sum of path values that the tiny heads are above and below
HEADS = MEMBERS / "tiny" / "hydra.gguf"
TEXTS = FOLDER / "texts.jsonl"
TEXTS.write_text("".join(json.dumps({"prompt": prompt, "task": "a" if i % 2 else "b"}) + "\n" for i, prompt in enumerate(PROMPTS)))
SETTINGS = ("--heads", HEADS, "--prompts", TEXTS, "--max-tokens", 60, "--nodes", 5, "--parts", 2, "--thresholds", 2)


def command(output, *more):
    return ("grow", "--model", TARGET, *SETTINGS, "--output", output, *more)


class Grow(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.bank = FOLDER / "bank.json"
        done = run(*command(cls.bank))
        assert done.returncode == 0, done.stderr

    def state(self, path):
        return json.loads(pathlib.Path(f"{path}.state").read_text())

    def test_a_bank_goes_from_plain_decoding_to_the_fastest_tree(self):
        bank = json.loads(self.bank.read_text())
        sizes = [len(tree["paths"]) for tree in bank["trees"]]
        self.assertEqual(0, sizes[0])
        self.assertEqual(sorted(set(sizes)), sizes)
        speeds = [tree["tokens_per_second"] for tree in bank["trees"]]
        self.assertEqual(sorted(speeds), speeds)
        grown = self.state(self.bank)["growths"][0]
        self.assertEqual(3, grown["depth"])
        self.assertGreater(len(grown["order"]), 1)
        self.assertLessEqual(len(grown["order"]), 5)
        self.assertEqual(sorted(grown["lengths"]), grown["lengths"])

    def test_a_state_of_other_weights_is_refused(self):
        asked = command(FOLDER / "other.json", "--state", f"{self.bank}.state", "--weights", "bf16")
        self.refuses(["weights was", "and is"], *asked)

    def test_a_state_of_another_context_is_refused(self):
        """Texts may end where it is full."""
        self.refuses(["--state", "context was '256' and is '128'"], *command(self.bank, "--context", 128))

    def test_a_run_that_was_killed_goes_on_to_the_same_trees(self):
        output = FOLDER / "killed.json"
        state = pathlib.Path(f"{output}.state")
        for _ in range(8):  # each time once it has gone a step further
            before = state.read_text() if state.exists() else ""
            process = subprocess.Popen(
                [PROGRAM, *map(str, command(output))], stderr=subprocess.DEVNULL, env=environment(AUGUR_FAMILY=str(FOLDER / "none"))
            )
            while process.poll() is None and (state.read_text() if state.exists() else "") == before:
                pass
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.works(*command(output))
        whole, resumed = self.state(self.bank), self.state(output)
        self.assertEqual(whole["growths"], resumed["growths"])
        for each in (*whole["measured"], *resumed["measured"]):
            del each["tokens_per_second"]
        self.assertEqual(whole["measured"], resumed["measured"])

    def shards(self, output, count=3):
        return [f"{output}.state.{i}_of_{count}" for i in range(1, count + 1)]

    def grown_by_shards(self, output, wait, count=3):
        """Finished, in no order; the first ones are killed once they have gone a step further."""
        def begun(i):
            arguments = command(output, "--shard", f"{i}/{count}", "--wait", wait)
            return subprocess.Popen([PROGRAM, *map(str, arguments)], stderr=subprocess.PIPE, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))

        processes = [begun(i) for i in range(1, count + 1)]
        file = pathlib.Path(self.shards(output, count)[1])
        for _ in range(3):
            before = file.read_text() if file.exists() else ""
            while processes[1].poll() is None and (file.read_text() if file.exists() else "") == before:
                pass
            processes[1].send_signal(signal.SIGKILL)
            processes[1].communicate()
            processes[1] = begun(2)
        for process in processes:
            self.assertEqual((0, b""), (process.wait(), process.stderr.read() if process.returncode else b""))
            process.stderr.close()

    def test_shards_grow_the_trees_of_one_process(self):
        output = FOLDER / "sharded.json"
        self.grown_by_shards(output, 60)
        self.works(*command(output, "--merge", *self.shards(output)))
        one, many = self.state(self.bank), self.state(output)
        self.assertEqual(one["growths"], many["growths"])
        self.assertEqual(one["about"], many["about"])
        for each in (*one["measured"], *many["measured"]):
            del each["tokens_per_second"]
        self.assertEqual(one["measured"], many["measured"])
        # One after the other, none of which waits: each goes a step further than those before it, to the same files.
        turns = FOLDER / "turns.json"
        for i in (1, 2):
            self.refuses(["waited 0 seconds for shard", "of 3 at step 0", "goes on"], *command(turns, "--shard", f"{i}/3", "--wait", 0))
            for wrong in ("nan", "-1"):
                self.refuses(["--wait is", wrong], *command(turns, "--shard", f"{i}/3", "--wait", wrong))
        for _ in range(8):
            ended = [run(*command(turns, "--shard", f"{i}/3", "--wait", 0)).returncode for i in (3, 1, 2)]
        self.assertEqual([0, 0, 0], ended)
        for mine, other in zip(self.shards(turns), self.shards(output)):
            self.assertEqual(pathlib.Path(other).read_text(), pathlib.Path(mine).read_text())
        # What was measured is kept, and goes with these trees only.
        before = self.state(output)
        self.works(*command(output, "--merge", *self.shards(turns)))
        self.assertEqual(before, self.state(output))

    def test_shards_that_do_not_fit_together_are_refused(self):
        output, other = FOLDER / "refused.json", FOLDER / "refused_two.json"
        files, two = self.shards(output), self.shards(other, 2)
        for i in (1, 2, 3):
            run(*command(output, "--shard", f"{i}/3", "--wait", 0))
        run(*command(other, "--shard", "1/2", "--wait", 0))
        merge = (*command(output), "--merge")
        self.refuses(["refused.json.state.1_of_3", "depth 3", "has 1 steps, and step 1 is needed"], *merge, *files)
        self.refuses(["of 3 shards there are 2", "shard 3 is missing"], *merge, *files[:2])
        self.refuses(["1_of_3", "both shard 1 of 3"], *merge, files[0], *files)
        self.refuses(["1_of_2", "one of 2 shards", "1_of_3", "one of 3"], *merge, files[0], two[0])
        fewer = [4 if each == 5 else each for each in merge]
        self.refuses(["--merge", "1_of_3", "nodes was '5' and is '4'"], *fewer, *files)
        for expected, change in (
            (["damaged", "checksum"], lambda text: text.replace('"shard":1', '"shard":3')),
            (["damaged", "checksum"], lambda text: text.replace('"rounds":', '"rounds":1')),
            (["it has 5 steps, of 4 nodes"], lambda text: self.sealed(text, lambda of: of["growths"][0].update(steps=of["growths"][0]["steps"] * 5), nodes=4)),
            (["counts 2 nodes that could be added, but there are 1"], lambda text: self.sealed(text, lambda of: of["growths"][0]["steps"][0]["gained"].append(0))),
            (["gained has 999", "rounds"], lambda text: self.sealed(text, lambda of: of["growths"][0]["steps"][0].update(gained=[999]))),
            (["growths"], lambda text: self.sealed(text, lambda of: of.update(growths=[]))),
            (["shard must be", "1..3", "'4'"], lambda text: self.sealed(text, lambda of: of.update(shard=4))),
            (["version is 2"], lambda text: self.sealed(text, lambda of: of.update({"augur.growth_shard": 2}))),
        ):
            with self.subTest(expected):
                damaged = FOLDER / "damaged_shard"
                damaged.write_text(change(pathlib.Path(files[0]).read_text()))
                asked = fewer if "of 4 nodes" in expected[0] else merge
                self.refuses(["damaged_shard", *expected], *asked, damaged, *files[1:])
        own = FOLDER / "own.json"
        pathlib.Path(self.shards(own)[0]).write_text(pathlib.Path(files[1]).read_text())
        for i in (1, 2):  # as its own file, and as another's
            self.refuses(["own.json.state.1_of_3", "shard 2 of 3", "of 1 of 3"], *command(own, "--shard", f"{i}/3", "--wait", 0))
        self.refuses(["--shard is 4/3", "1 to 3"], *command(own, "--shard", "4/3"))
        self.refuses(["--shard is 'half'", "2/8"], *command(own, "--shard", "half"))
        self.refuses(["--shard is 1/5", "4 prompts"], *command(own, "--shard", "1/5"))
        self.refuses(["--merge", "--shard 1/3"], *command(own, "--shard", "1/3", "--merge", *files))
        self.refuses(["--report", "--shard 1/3"], *command(own, "--shard", "1/3", "--report", FOLDER / "page.html"))

    def sealed(self, text, change, nodes=None):
        content = parsed(text)
        del content["checksum"]
        change(content)
        if nodes:
            content["about"]["nodes"] = nodes
        content["checksum"] = fnv(compact(content).encode())
        return compact(content) + "\n"

    def test_above_temperature_0_it_grows_by_the_draws_of_the_seed(self):
        growths = []
        for name, *more in (("cold", "--temperature", 0), ("warm", "--temperature", 0.8, "--seed", 3), ("again", "--temperature", 0.8, "--seed", 3)):
            self.works(*command(FOLDER / f"{name}.json", *more))
            growths.append(self.state(FOLDER / f"{name}.json")["growths"])
        self.assertEqual(self.state(self.bank)["growths"], growths[0])
        self.assertNotEqual(growths[0], growths[1])
        self.assertEqual(growths[1], growths[2])
        self.refuses(["temperature was '0.800", "is '0.0'"], *command(FOLDER / "warm.json", "--seed", 3))
        self.refuses(["seed was '3' and is '0'"], *command(FOLDER / "warm.json", "--temperature", 0.8))
        self.refuses("--temperature: temperature is -1", *command(FOLDER / "cool.json", "--temperature", -1))

    def test_layers_and_draft_models_have_banks_too(self):
        for kind, scheme in (("eagle", "eagle"), ("draft", "sd")):
            who, bank = MEMBERS / "tiny" / f"{kind}.gguf", FOLDER / f"{kind}.json"
            for more in (("--temperature", 0.8, "--state", FOLDER / f"warm_{kind}.state"), ()):
                self.works(*[who if each == HEADS else each for each in command(bank, "--depths", "2,4", *more)])
            grown = self.state(bank)
            self.assertEqual([2, 4], [of["depth"] for of in grown["growths"]])
            self.assertEqual(256, json.loads(bank.read_text())["head_count"])
            two = self.two_trees(f"{kind}_two.json", bank=bank)
            policy, trees = self.switches(two, "--thresholds", 0, heads=who)
            self.assertIn("tree_hysteresis{.by=path_value", policy)
            self.assertEqual({1}, set(trees[1:]))
            _, trees = self.switches(two, "--thresholds", 1, heads=who)
            self.assertEqual({0}, set(trees))
            using = ("--prompt", "a", "--max-tokens", 30, "--ignore-eos")
            static = self.generated(*using, "--scheme", scheme, "--tree", "auto", "--bank", two, "--heads", who)
            self.assertEqual(self.generated(*using, "--scheme", "plain")["ids"], static["ids"])
            self.assertIn("tree_static", static["settings"]["policy"])
            self.refuses(["the heads"], "generate", "--model", TARGET, *using, "--scheme", "entmtp", "--heads", self.other(who), "--bank", two)
        draft = ("grow", "--model", TARGET, *SETTINGS[2:], "--output", FOLDER / "no.json")
        self.works(*draft, "--draft", DRAFT, "--depths", 1)
        self.refuses(["257", "at most 256"], *draft, "--draft", DRAFT, "--depths", 257)
        self.refuses(["--draft", "2 times"], *draft, "--draft", DRAFT, "--draft", TARGET)
        self.refuses(["no hydra.gguf, medusa.gguf, eagle.gguf or draft.gguf"], *draft)

    def test_a_finished_state_is_not_measured_again(self):
        before = self.bank.read_text()
        self.works(*command(self.bank))
        self.assertEqual(before, self.bank.read_text())

    def test_a_state_of_others_or_damaged_is_refused(self):
        other = [4 if each == 5 else each for each in command(self.bank)]
        self.refuses(["--state", "nodes was '5' and is '4'"], *other)
        state = FOLDER / "damaged.json.state"
        state.write_text(pathlib.Path(f"{self.bank}.state").read_text().replace('"nodes":5', '"nodes":4'))
        self.refuses(["--state", "damaged", "checksum"], *command(FOLDER / "damaged.json"))

    def test_depths_beyond_the_heads_are_refused(self):
        self.refuses(["--depths", "4", "3 heads"], *command(FOLDER / "deep.json", "--depths", "2,4"))

    def test_entmtp_and_the_static_best_keep_the_text(self):
        bank = json.loads(self.bank.read_text())
        one_tree = bank["threshold"] == 0 or bank["conservative"] == bank["aggressive"]  # as this machine measured
        said = "one tree is best" if one_tree else None
        for prompt in PROMPTS:
            using = ("--prompt", prompt, "--max-tokens", 50, "--ignore-eos", "--heads", HEADS)
            plain = self.generated("--prompt", prompt, "--max-tokens", 50, "--ignore-eos", "--scheme", "plain")
            result = self.generated(*using, "--scheme", "entmtp", "--bank", self.bank, noting=said)
            self.assertEqual(plain["ids"], result["ids"])
            static = self.generated(*using, "--scheme", "hydra", "--tree", "auto", "--bank", self.bank)
            self.assertEqual(plain["ids"], static["ids"])

    def two_trees(self, name, paths=([[0]], [[0], [1], [0, 0]]), bank=None, **changes):
        """A bank by hand: on the tiny model plain decoding is the fastest, so that the one that is grown has one tree."""
        content = parsed((bank or self.bank).read_text())
        del content["checksum"]
        figures = {"accepted_length": 1.0, "scored_length": 1.0, "tokens_per_second": 1.0}
        content["trees"] = [{"paths": each, **figures} for each in paths]
        content.update({"depth": 2, "threshold": 1e-4, "feature": "path_value_sum", "conservative": 0, "aggressive": 1, **changes})
        content["checksum"] = fnv(compact(content).encode())
        (FOLDER / name).write_text(compact(content))
        return FOLDER / name

    def switches(self, bank, *more, heads=HEADS):
        """The rounds of a decoding that keeps plain decoding's text; each drafts the tree that the trace says."""
        trace = FOLDER / "switches.jsonl"
        using = ("--prompt", PROMPTS[1], "--max-tokens", 80, "--ignore-eos")
        result = self.generated(*using, "--heads", heads, "--scheme", "entmtp", "--bank", bank, "--trace", trace, *more)
        self.assertEqual(self.generated(*using, "--scheme", "plain")["ids"], result["ids"])
        rounds = [json.loads(line) for line in trace.read_text().splitlines()]
        trees = [len(each["paths"]) for each in json.loads(bank.read_text())["trees"]]
        for each in rounds[:-4]:
            self.assertEqual(trees[each["tree"]], len(each["drafted"]))
        return result["settings"]["policy"], [each["tree"] for each in rounds]

    def test_it_switches_between_two_trees_by_the_path_value(self):
        by_product = self.two_trees("product.json", feature="path_value")  # as its bank says
        policy, trees = self.switches(by_product)
        self.assertIn("tree_hysteresis{.by=path_value, .on=0.0001, .off=0.0001", policy)
        self.assertEqual({0, 1}, set(trees))
        policy, trees = self.switches(self.two_trees("two.json", threshold=SUM))
        self.assertIn(f"tree_hysteresis{{.by=path_value_sum, .on={SUM}", policy)
        self.assertEqual({0, 1}, set(trees))
        using = ("generate", "--model", TARGET, "--prompt", "a", "--heads", HEADS, "--scheme", "entmtp", "--bank")
        self.refuses(["path_value_sum", "product.json", "is of path_value", "--thresholds"], *using, by_product, "--tree-feature", "path_value_sum")
        self.refuses(["path_value", "two.json", "is of path_value_sum"], *using, FOLDER / "two.json", "--tree-feature", "path_value")

    def test_the_trees_of_a_bank_are_in_the_json(self):
        using = ("--prompt", PROMPTS[1], "--max-tokens", 80, "--ignore-eos", "--heads", HEADS, "--scheme", "entmtp", "--bank")
        two = self.two_trees("two.json", threshold=SUM)
        result = self.generated(*using, two)
        self.assertEqual([(1, 1), (3, 2)], [(each["nodes"], each["depth"]) for each in result["trees"]])
        self.assertEqual(result["rounds"], sum(each["rounds"] for each in result["trees"]))
        self.assertTrue(all(each["rounds"] > 0 for each in result["trees"]), result["trees"])
        self.assertGreater(result["tree_switches"], 0)
        wanted = {"trees": "1 or 3 nodes", "bank": str(two), "tree_policy": "hysteresis", "tree_feature": "path_value_sum", "thresholds": [SUM]}
        self.assertEqual(wanted, {key: result["settings"][key] for key in wanted})
        never = self.two_trees("never.json", threshold=0.0)
        result = self.generated(*using, never, noting="one tree is best for this task and machine")
        self.assertEqual([0, result["rounds"]], [each["rounds"] for each in result["trees"]])
        self.assertEqual((0, "3 nodes, always"), (result["tree_switches"], result["settings"]["trees"]))
        self.assertGreater(self.generated(*using, never, "--thresholds", SUM)["tree_switches"], 0)
        alone = self.two_trees("alone.json", conservative=1)
        self.refuses(["--thresholds", "alone.json", "one tree"], "generate", "--model", TARGET, *using, alone, "--thresholds", SUM)

    def test_trees_grow_by_typical_acceptance(self):
        typical = ("--accept", "typical", "--temperature", 0.8, "--epsilon", 0.001, "--delta", 0.001)
        done = self.works(*command(FOLDER / "typical.json", *typical))
        state = self.state(FOLDER / "typical.json")
        self.assertEqual("typical, epsilon 0.001, delta 0.001", state["about"]["accept"])
        # Nearly every token is likely enough for thresholds so low: of each pass more is accepted than by exact match.
        self.assertGreater(state["growths"][0]["lengths"][-1], self.state(self.bank)["growths"][0]["lengths"][-1])
        for each in state["measured"]:
            self.assertAlmostEqual(each["scored_length"], each["accepted_length"], delta=0.5)
        best = b"one tree is best" in done.stderr
        self.assertEqual(best, json.loads((FOLDER / "typical.json").read_text())["threshold"] == 0)
        self.refuses(["--epsilon is 0.5", "typical"], *command(FOLDER / "no.json", "--epsilon", 0.5))
        self.refuses(["--accept is 'block'", "typical"], *command(FOLDER / "no.json", "--accept", "block"))

    def test_the_policy_and_its_feature_are_flags(self):
        two = self.two_trees("two.json")
        three = self.two_trees("three.json", ([[0]], [[0], [1]], [[0], [1], [0, 0]]))
        policy, trees = self.switches(three, "--tree-policy", "ladder", "--thresholds", "0.00005,0.0002", "--tree-feature", "path_value")
        self.assertIn("tree_ladder{.by=path_value, .thresholds={5e-05, 0.0002}, 3 trees}", policy)
        self.assertEqual({0, 1, 2}, set(trees))
        self.assertEqual(self.switches(two), self.switches(two, "--tree-policy", "hysteresis", "--thresholds", "0.0001"))
        for feature, low, high in (("path_value", 0, 1), ("path_value_sum", 0, 900), ("target_confidence", 0, 1), ("accepted_length", 1, 1.9), ("entropy", 900, 0)):
            with self.subTest(feature):
                using = ("--tree-feature", feature, "--thresholds")
                policy, trees = self.switches(two, *using, low)
                self.assertIn(f"tree_hysteresis{{.by={feature}, .on={low}", policy)
                self.assertEqual({1}, set(trees[1:]))  # what is measured in a round decides from the next one on
                _, trees = self.switches(two, *using, high)
                self.assertEqual({0}, set(trees))
                policy, trees = self.switches(three, *using, f"{low},{high}" , "--tree-policy", "ladder")
                self.assertIn(f"tree_ladder{{.by={feature}, .thresholds={{{low}, {high}}}", policy)
                self.assertEqual({1}, set(trees[1:]))

    def test_schedulers_that_cannot_be_are_refused(self):
        using = ("generate", "--model", TARGET, "--prompt", "a", "--heads", HEADS, "--scheme")
        entmtp = (*using, "entmtp", "--bank", self.two_trees("two.json"))
        features = "path_value, path_value_sum, target_confidence, entropy, accepted_length"
        for expected, *more in (
            (["'stairs'", "hysteresis, ladder"], *entmtp, "--tree-policy", "stairs"),
            (["'mood'", features], *entmtp, "--tree-feature", "mood"),
            (["ladder needs --thresholds"], *entmtp, "--tree-policy", "ladder"),
            (["--tree-feature entropy needs --thresholds"], *entmtp, "--tree-feature", "entropy"),
            (["one threshold or two", "3"], *entmtp, "--thresholds", "0.1,0.2,0.3"),
            (["path_value", "0.2", "0.4"], *entmtp, "--thresholds", "0.2,0.4"),
            (["2 thresholds", "3 bins", "2 trees"], *entmtp, "--tree-policy", "ladder", "--thresholds", "0.1,0.2"),
            (["0.5", "follows 0.5"], *using, "entmtp", "--bank", self.two_trees("three.json", ([[0]], [[0], [1]], [[0], [1], [2]])), "--tree-policy", "ladder", "--thresholds", "0.5,0.5"),
            (["1.5", "[0, 1]"], *entmtp, "--thresholds", "1.5", "--tree-feature", "path_value"),
            (["accepted_length", "0.5", "[1, 1024]"], *entmtp, "--tree-feature", "accepted_length", "--thresholds", "0.5"),
            (["--tree-policy ladder is for entmtp", "'hydra'"], *using, "hydra", "--tree-policy", "ladder"),
            (["--tree-feature entropy is for entmtp", "'hydra'"], *using, "hydra", "--tree-feature", "entropy"),
        ):
            with self.subTest(expected):
                self.refuses(expected, *more)

    def test_medusas_heads_have_banks_too(self):
        heads, bank = MEMBERS / "tiny" / "medusa.gguf", FOLDER / "medusa.json"
        asked = [heads if each == HEADS else each for each in command(bank)]
        self.works(*asked)
        self.assertNotEqual(json.loads(self.bank.read_text())["heads"], json.loads(bank.read_text())["heads"])
        policy, trees = self.switches(self.two_trees("medusa_two.json", bank=bank, feature="path_value"), heads=heads)
        self.assertIn("path_value", policy)
        self.assertEqual({0, 1}, set(trees))
        using = ("--prompt", "a", "--max-tokens", 30, "--ignore-eos", "--heads", heads)
        static = self.generated(*using, "--scheme", "medusa", "--tree", "auto", "--bank", bank)
        self.assertEqual(self.generated(*using[:-2], "--scheme", "plain")["ids"], static["ids"])
        self.refuses(["the heads"], "generate", "--model", TARGET, *using, "--scheme", "entmtp", "--bank", self.bank)
        # Of a family that has both Hydra's are taken, and those that there are of one that has not.
        for kinds, own in ((["hydra", "medusa"], self.two_trees("two.json")), (["medusa"], self.two_trees("medusa_two.json", bank=bank))):
            members = family("+".join(kinds), kinds)
            result = self.generated(*using[:-2], "--scheme", "entmtp", "--bank", own, family=members)
            self.assertEqual([str(members / "tiny" / f"{kinds[0]}.gguf")], result["settings"]["drafters"])
        self.refuses(["needs heads", "no hydra.gguf, medusa.gguf, eagle.gguf or draft.gguf"], "generate", "--model", TARGET, *using[:-2], "--scheme", "entmtp", "--bank", bank)

    def test_auto_drafts_trees_by_a_layer_where_rows_cost_little(self):
        """Which it is depends on the machine; that it follows from what was measured does not."""
        using = ("--prompt", PROMPTS[1], "--max-tokens", 60, "--ignore-eos")
        plain = self.generated(*using, "--scheme", "plain")
        eagle = (*using, "--heads", MEMBERS / "tiny" / "eagle.gguf")
        result = self.generated(*eagle)
        seconds = result["settings"]["verify_seconds"]
        self.assertEqual(("eagle", 17), (result["scheme"], len(seconds)))
        pays = seconds[7] < 2 * seconds[0]
        self.assertTrue(result["settings"]["policy"].startswith("cost_aware<grown_tree>{.max_nodes=10" if pays else "cost_aware{"))
        self.assertEqual(plain["ids"], result["ids"])
        chains = ((*eagle, "--scheme", "eagle"), (*eagle, "--accept", "block", "--temperature", "1"), (*eagle, "--length", "2"), (*using, "--heads", HEADS))
        for arguments in chains:
            self.assertNotRegex(self.generated(*arguments)["settings"]["policy"], "tree|value")

    def test_a_hybrid_drafts_chains_and_trees(self):
        members, state = family("hybrid_trees", ["eagle"]), FOLDER / "hybrid.state"
        ngram_file.write(members / "tiny" / "ngram.gguf", [[5, 6, 7]], orders=(2,), target=FINGERPRINT)
        using = ("--prompt", PROMPTS[1], "--max-tokens", 120, "--ignore-eos", "--temperature", 0.7, "--accept", "coupled")
        plain = self.generated(*using, "--scheme", "plain")
        hybrid = (*using, "--scheme", "hybrid", "--tree", "auto")
        result = self.generated(*hybrid, "--state", state, family=members)
        self.assertEqual(plain["ids"], result["ids"])
        self.assertIn("cost_aware<chain, grown_tree>{.chains=2", result["settings"]["policy"])
        self.assertGreater(result["stages"][0]["drafted"], 0)
        self.assertEqual(["chains and trees"], list(json.loads(state.read_text())["policies"]))
        self.assertEqual(plain["ids"], self.generated(*hybrid, "--state", state, family=members)["ids"])
        alone = family("hybrid_alone", [])
        ngram_file.write(alone / "tiny" / "ngram.gguf", [[5, 6, 7]], orders=(2,), target=FINGERPRINT)
        self.refuses(["'hybrid'", "no eagle"], "generate", "--model", TARGET, *hybrid, family=alone)
        tree = FOLDER / "one.json"
        tree.write_text("[[0]]")
        self.refuses(["'hybrid'", "with auto for hybrid"], "generate", "--model", TARGET, *using, "--scheme", "hybrid", "--tree", tree, family=members)

    def test_published_heads_are_heads(self):
        for kind in ("medusa", "hydra"):
            heads, bank = tiny_model.write_published_heads(FOLDER / f"{kind}_lm_head.safetensors", kind), FOLDER / f"{kind}_published.json"
            self.works(*[heads if each == HEADS else each for each in command(bank)])
            using = ("--prompt", PROMPTS[1], "--max-tokens", 40, "--ignore-eos")
            plain = self.generated(*using, "--scheme", "plain")
            result = self.generated(*using, "--heads", heads)  # auto takes what is named
            self.assertEqual((kind, plain["ids"]), (result["scheme"], result["ids"]))
            self.switches(self.two_trees("published_two.json", bank=bank, threshold=0.5), heads=heads)
        other = {"hydra": "medusa", "medusa": "hydra"}
        for kind in other:
            self.refuses(["needs heads"], "generate", "--model", TARGET, "--prompt", "a", "--scheme", other[kind], "--heads", FOLDER / f"{kind}_lm_head.safetensors")
        prefixed = tiny_model.write_published_heads(FOLDER / "prefix.safetensors", "hydra", prefix_embeding_layer=True)
        result = self.generated(*using, "--heads", prefixed)  # of Hydra++
        self.assertEqual(("hydra", plain["ids"]), (result["scheme"], result["ids"]))
        self.assertGreater(result["stages"][0]["drafted"], 0)
        prompts = FOLDER / "prefix.jsonl"
        prompts.write_text('{"prompt": "a"}\n')
        self.refuses(["prefix.safetensors", "Hydra++", "not trained"], "learn", "--model", TARGET, "--prompts", prompts, "--scheme", "hydra", "--heads", prefixed)

    def test_a_bank_of_others_is_refused_with_both_values(self):
        using = ("generate", "--model", TARGET, "--prompt", "a", "--scheme", "entmtp")
        bank = json.loads(self.bank.read_text())
        self.refuses(["bank.json", repr(bank["heads"]), "the heads"], *using, "--heads", self.other_heads(), "--bank", self.bank)
        self.refuses(["'entmtp'", "--bank"], *using, "--heads", HEADS)
        damaged = FOLDER / "damaged_bank.json"
        damaged.write_text(self.bank.read_text().replace('"task": "all"', '"task": "any"'))
        self.refuses([str(damaged), "damaged", "checksum"], *using, "--heads", HEADS, "--bank", damaged)
        self.refuses(["--bank", "'hydra'", "--tree auto"], *using[:-1], "hydra", "--heads", HEADS, "--bank", self.bank)
        self.refuses(["--tree auto", "entmtp"], *using[:-1], "entmtp", "--heads", HEADS, "--bank", self.bank, "--tree", "auto")

    def other_heads(self):
        return self.other(HEADS)

    def other(self, member):
        path = FOLDER / f"other_{member.name}"
        data = bytearray(member.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
        return path


if __name__ == "__main__":
    unittest.main()
