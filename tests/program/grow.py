"""augur grow, and decoding with the bank that it writes."""

import json
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from calibration_text import fnv  # noqa: E402
from program import FOLDER, PROGRAM, PROMPTS, TARGET, ProgramTest, environment, family, run  # noqa: E402

MEMBERS = family("grown", ["hydra", "medusa"])
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
        self.assertEqual([each[:3] for each in whole["measured"]], [each[:3] for each in resumed["measured"]])

    def test_a_finished_state_is_not_measured_again(self):
        before = self.bank.read_text()
        self.works(*command(self.bank))
        self.assertEqual(before, self.bank.read_text())

    def test_a_state_of_others_or_damaged_is_refused(self):
        other = [4 if each == 5 else each for each in command(self.bank)]
        self.refuses(["--state", "nodes was 5 and is 4"], *other)
        state = FOLDER / "damaged.json.state"
        state.write_text(pathlib.Path(f"{self.bank}.state").read_text().replace('"nodes":5', '"nodes":4'))
        self.refuses(["--state", "damaged", "checksum"], *command(FOLDER / "damaged.json"))

    def test_depths_beyond_the_heads_are_refused(self):
        self.refuses(["--depths", "4", "3 heads"], *command(FOLDER / "deep.json", "--depths", "2,4"))

    def test_entmtp_and_the_static_best_keep_the_text(self):
        for prompt in PROMPTS:
            using = ("--prompt", prompt, "--max-tokens", 50, "--ignore-eos", "--heads", HEADS)
            plain = self.generated("--prompt", prompt, "--max-tokens", 50, "--ignore-eos", "--scheme", "plain")
            made = self.generated(*using, "--scheme", "entmtp", "--bank", self.bank)
            self.assertEqual(plain["ids"], made["ids"])
            static = self.generated(*using, "--scheme", "hydra", "--tree", "auto", "--bank", self.bank)
            self.assertEqual(plain["ids"], static["ids"])

    def test_it_switches_between_two_trees_by_the_path_value(self):
        """A bank by hand: on the tiny model plain decoding is the fastest, so that the one that is grown has one tree."""
        content = json.loads(self.bank.read_text())
        del content["checksum"]
        figures = {"accepted_length": 1.0, "scored_length": 1.0, "tokens_per_second": 1.0}
        content["trees"] = [{"paths": paths, **figures} for paths in ([[0]], [[0], [1], [0, 0]])]
        content.update(depth=2, threshold=1e-4, conservative=0, aggressive=1)
        content["checksum"] = fnv(json.dumps(content, separators=(",", ":")).encode())
        bank, trace = FOLDER / "two.json", FOLDER / "two.jsonl"
        bank.write_text(json.dumps(content))
        using = ("--prompt", PROMPTS[1], "--max-tokens", 80, "--ignore-eos")
        made = self.generated(*using, "--heads", HEADS, "--scheme", "entmtp", "--bank", bank, "--trace", trace)
        self.assertEqual(self.generated(*using, "--scheme", "plain")["ids"], made["ids"])
        rounds = [json.loads(line) for line in trace.read_text().splitlines()]
        self.assertEqual({0, 1}, {each["tree"] for each in rounds})
        for each in rounds[:-4]:
            self.assertEqual((1, 3)[each["tree"]], len(each["drafted"]))

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
        path = FOLDER / "other_hydra.gguf"
        data = bytearray(HEADS.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
        return path


if __name__ == "__main__":
    unittest.main()
