#!/usr/bin/env python3
"""`--state FILE`: what a scheme learned in earlier texts, and `bench schemes --keep`."""

import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from calibration_text import compact, parsed, with_checksum  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, TARGET, ProgramTest, family, run  # noqa: E402

OTHER = tiny_model.write(FOLDER / "other.gguf", seed=9, layers=2)
MEMBERS = family("with_eagle", ["eagle"])
SHAPE = "64,128,8,4,16,3"  # of the tiny models: 32,64,4,2,8,2
ASKED = ("--prompt", "one two one two one two", "--max-tokens", 32, "--ignore-eos")


def asked(*more):
    """The request with these settings; by one thread and lookup unless they say otherwise."""
    others = [word for flag, value in (("--threads", 1), ("--scheme", "lookup")) if flag not in more for word in (flag, value)]
    return (*ASKED, *others, *more)


class State(ProgramTest):
    def setUp(self):
        self.folder = FOLDER / self.id().rpartition(".")[2]
        self.folder.mkdir()
        self.path = self.folder / "state.json"

    def text(self, *more, **options):
        words = asked("--state", self.path, *more)
        if "--max-tokens" in more:
            at = words.index("--max-tokens")
            words = words[:at] + words[at + 2 :]
        return self.generated(*words, **options)

    def kept(self):
        return parsed(self.path.read_text())

    def stays(self, expected, *more, model=TARGET, **options):
        """Refused, with nothing printed, and the file is as it was."""
        before = self.path.read_bytes()
        self.refuses(expected, "generate", "--model", model, *asked("--state", self.path, "--json", *more), **options)
        self.assertEqual(before, self.path.read_bytes())
        self.assertEqual([self.path], list(self.folder.iterdir()))

    def test_a_state_is_made_and_goes_on_from_text_to_text(self):
        plainly = self.generated(*asked())
        for texts in range(3):
            result = self.text()
            self.assertEqual(plainly["ids"], result["ids"])
            self.assertEqual(texts, result["settings"]["state_texts"])
            self.assertEqual(texts + 1, self.kept()["texts"])
            if texts > 0:  # nothing is measured at the start
                self.assertEqual(before["verify_seconds"], result["settings"]["verify_seconds"])
            before = self.kept()
            self.assertEqual([self.path], list(self.folder.iterdir()))
        self.assertEqual(FINGERPRINT, before["about"]["target"])
        self.assertEqual("lookup", before["about"]["scheme"])
        self.assertEqual(["chains"], list(before["policies"]))
        self.assertNotIn("state_texts", plainly["settings"])

    def test_a_comparison_begins_with_what_the_text_began_with(self):
        for texts in (0, 1):
            result = self.text("--compare", "--compare-seconds", 0)
            self.assertEqual(texts, result["settings"]["state_texts"])
            self.assertEqual(texts, result["compared"]["state_texts"])

    def test_its_costs_decide_in_the_first_round(self):
        """Rows that are said to cost nothing are drafted in the first round, which else waits for a plain one's time; rows
        that are said to cost a thousand passes are not drafted at all."""
        trace = self.folder / "trace.jsonl"
        self.text()
        state = self.kept()
        drafted = {}
        for name, row in (("cheap", 0.0), ("dear", 1.0)):
            state["policies"]["chains"] = {
                **state["policies"]["chains"],
                "passes": [[0.001 + row * n, 1e6] for n in range(11)],
                "drafting": [[0, 0]] * 4,
                "accepted": [[] for _ in range(48)],
            }
            self.path.write_text(with_checksum(compact(state)))
            self.text("--trace", trace)
            drafted[name] = [len(json.loads(line)["drafted"]) for line in trace.read_text().splitlines()]
        self.assertGreater(drafted["cheap"][0], 0)
        self.assertEqual(0, drafted["dear"][0])

    def test_trees_and_chains_are_kept_beside_each_other(self):
        self.text()
        chains = self.kept()["policies"]["chains"]
        self.text("--tree", "auto")
        self.assertEqual(["chains", "trees"], sorted(self.kept()["policies"]))
        self.assertEqual(chains, self.kept()["policies"]["chains"])
        self.text()
        self.assertEqual(3, self.kept()["texts"])

    def test_other_circumstances_are_refused_with_both_values(self):
        self.text()
        self.stays(["target was", FINGERPRINT, "and is"], model=OTHER)
        self.stays(["threads was '1' and is '2'"], "--threads", 2)
        self.stays(["weights was", "keep", "and is", "f32"], "--weights", "f32")
        self.stays(["scheme was", "lookup", "and is", "eagle"], "--scheme", "eagle", family=MEMBERS)
        for key in ("processor", "instructions", "device"):
            state = self.kept()
            self.assertIn(key, state["about"])
            state["about"][key] = "something else"
            good = self.path.read_bytes()
            self.path.write_text(with_checksum(compact(state)))
            self.stays([f"{key} was", "something else", "and is"])
            self.path.write_bytes(good)

    def test_a_widened_file_is_another_model_than_its_original(self):
        wide = self.folder.parent / "wide.gguf"
        self.works("widen", "--model", TARGET, "--shape", SHAPE, "--output", wide)
        self.text()
        self.stays(["target was", FINGERPRINT, "and is"], model=wide)
        self.path.unlink()
        self.text(model=wide)
        self.stays(["target was", "and is", FINGERPRINT])
        self.assertEqual(1, self.text(model=wide)["settings"]["state_texts"])

    def test_auto_draws_chains_under_rejection_sampling(self):
        """Where rows cost so little that it drafts trees by every other criterion, and at temperature 0."""
        layer = ("--scheme", "auto", "--heads", MEMBERS / "tiny" / "eagle.gguf")
        self.text(*layer)
        state = self.kept()
        state["verify_seconds"] = [0.001] * 17
        cheap = with_checksum(compact(state))
        drawn = ("--temperature", 1, "--accept")
        for more, policy in (
            ((), "cost_aware<grown_tree>{"),
            (("--accept", "rejection_sampling"), "cost_aware<grown_tree>{"),
            ((*drawn, "coupled"), "cost_aware<grown_tree>{"),
            ((*drawn, "rejection_sampling"), "cost_aware{"),
            ((*drawn, "block"), "cost_aware{"),
        ):
            self.path.write_text(cheap)
            result = self.text(*layer, *more)
            self.assertEqual("eagle", result["scheme"])
            self.assertTrue(result["settings"]["policy"].startswith(policy), (more, result["settings"]["policy"]))

    def test_no_text_is_none_that_was_learned_from(self):
        self.text("--max-tokens", 0)
        self.assertEqual([], list(self.folder.iterdir()))
        self.text()
        before = self.path.read_bytes()
        self.text("--max-tokens", 0)
        self.assertEqual(before, self.path.read_bytes())

    def test_the_drafter_is_part_of_it(self):
        using = {"family": MEMBERS}
        self.text("--scheme", "eagle", **using)
        self.assertIn("eagle", self.kept()["about"])
        state = self.kept()
        state["about"]["eagle"] = "0123456789abcdef"
        self.path.write_text(with_checksum(compact(state)))
        self.stays(["eagle was", "0123456789abcdef"], "--scheme", "eagle", **using)

    def test_temperature_and_seed_may_change(self):
        self.text()
        self.text("--temperature", 1, "--seed", 5)
        self.assertEqual(2, self.kept()["texts"])

    def test_a_damaged_file_is_refused_and_stays(self):
        self.text()
        good = self.path.read_bytes()
        for bad in (b"", b"{", good[: len(good) // 2], good.replace(b'"texts":1', b'"texts":2'), b"\0" * 64, b"[]", b"{}", b"\xff"):
            self.path.write_bytes(bad)
            self.stays(["--state", str(self.path)])
        empty, no_json = "it is empty", "it cannot be read as JSON"
        for bad, expected in ((b"", empty), (b" \n", empty), (b"{", no_json), (b"text", no_json)):
            self.path.write_bytes(bad)
            self.stays(f"--state {self.path}: {expected}")
            told = run("generate", "--model", TARGET, *asked("--state", self.path)).stderr
            self.assertNotIn(b"json.exception", told)

    def test_numbers_that_cannot_be_are_refused_with_their_value(self):
        self.text()
        state = compact(self.kept())
        chains = self.kept()["policies"]["chains"]
        first = compact(chains["passes"][0])
        for bad, expected in (
            ("[-1,4]", "-1 seconds"),
            ("[1e+300,4]", "1e+300 seconds"),
            ("[1e-300,4]", "1e-300 seconds"),
            ("[0.5,-4]", "the weight -4"),
            ("[1e999,4]", "--state"),
            ("[NaN,4]", "--state"),
            ("[null,4]", "must be a number"),
            ('["1",4]', "must be a number"),
            ("[0.5]", "has 1 numbers"),
        ):
            self.path.write_text(with_checksum(state.replace(f'"passes":[{first}', f'"passes":[{bad}', 1)))
            self.assertIn(bad, self.path.read_text())
            self.stays([expected, str(self.path)])
        for change, expected in (
            ({"accepted": [[[3, 2]], *chains["accepted"][1:]]}, "3 tokens accepted of 2 judged"),
            ({"accepted": chains["accepted"][1:]}, "47 groups"),
            ({"looks": [-1, *chains["looks"][1:]]}, "met -1 times"),
            ({"drafting": []}, "0 drafters"),
        ):
            changed = parsed(state)
            changed["policies"]["chains"].update(change)
            self.path.write_text(with_checksum(compact(changed)))
            self.stays([expected, str(self.path)])
        for change, expected in (
            ({"augur.state": 1}, "its version is 1"),
            ({"verify_seconds": [-1]}, "-1"),
            ({"policies": {"bushes": {"passes": [], "drafting": [], "accepted": [], "looks": []}}}, "bushes"),
        ):
            self.path.write_text(with_checksum(compact({**parsed(state), **change})))
            self.stays([expected, str(self.path)])

    def test_schemes_that_learn_nothing_are_told_so(self):
        for scheme in ("plain", "sd"):
            given = asked("--scheme", scheme, "--draft", DRAFT, "--state", self.path)
            self.refuses(["--state", scheme], "generate", "--model", TARGET, *given)
        self.refuses(["--state", "lookup"], "generate", "--model", TARGET, *asked("--length", 4, "--state", self.path))
        self.assertEqual([], list(self.folder.iterdir()))

    def test_it_is_no_other_file(self):
        copy = self.folder / "model.gguf"
        copy.write_bytes(pathlib.Path(TARGET).read_bytes())
        self.refuses(["--state", "would overwrite"], "generate", "--model", copy, *asked("--state", copy))
        self.refuses(["--trace", "would overwrite"], "generate", "--model", copy, *asked("--state", self.path, "--trace", self.path))
        self.refuses(["--state", "directory"], "generate", "--model", copy, *asked("--state", self.folder))
        self.refuses(["cannot write", "none"], "generate", "--model", copy, *asked("--state", self.folder / "none" / "state.json"))
        self.refuses(["--state"], "generate", "--model", copy, *asked("--state", os.devnull))
        self.assertEqual([copy], list(self.folder.iterdir()))

    def test_a_bench_keeps_what_was_learned_where_it_is_asked_to(self):
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": f"one two {i} one two"}) + "\n" for i in range(3)))
        asked = ("bench", "schemes", "--model", TARGET, "--prompts", prompts, "--scheme", "lookup", "--max-tokens", 12, "--threads", 1)
        for keep in (False, True):
            result = self.object(*asked, *(["--keep"] if keep else []))
            self.assertEqual(keep, result["keep"])
            self.assertTrue(all(of["identical"] for prompt in result["prompts"] for of in prompt["schemes"]))


if __name__ == "__main__":
    unittest.main()
