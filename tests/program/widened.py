#!/usr/bin/env python3
"""A model's text at the cost of a larger one: augur widen, --shape and --draft-shape."""

import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROMPTS, TARGET, ProgramTest, family  # noqa: E402

SHAPE = "64,128,8,4,16,3"  # of the tiny models: 32,64,4,2,8,2
TOLD = "64 x 128, 8 heads (4) of 16, 3 layers"
ORIGINAL = "32 x 64, 4 heads (2) of 8, 2 layers"
DRAWN = ("--prompt", PROMPTS[1], "--max-tokens", 50, "--ignore-eos", "--weights", "f32")


class Shape(ProgramTest):
    def test_text_and_settings(self):
        for more in ((), ("--temperature", 0.8, "--accept", "coupled")):
            plain = self.generated(*DRAWN, *more, "--scheme", "plain")
            wide = self.generated(*DRAWN, *more, "--scheme", "plain", "--shape", SHAPE, noting=TOLD)
            self.assertEqual(plain["ids"], wide["ids"])
            self.assertGreater(wide["memory_bytes"], 2 * plain["memory_bytes"])
            self.assertEqual((TOLD, ORIGINAL), (wide["settings"]["shape"], wide["settings"]["widened_from"]))
            self.assertEqual((ORIGINAL, ""), (plain["settings"]["shape"], plain["settings"]["widened_from"]))

    def test_the_family_is_widened_with_its_target(self):
        members = family("widened", ["eagle", "medusa", "hydra", "draft", "exit", "qualifier"])
        plain = self.generated(*DRAWN, "--scheme", "plain")["ids"]
        for scheme in ("eagle", "medusa", "hydra", "eaad"):
            narrow = self.generated(*DRAWN, "--scheme", scheme, "--length", 3, family=members)
            wide = self.generated(*DRAWN, "--scheme", scheme, "--length", 3, "--shape", SHAPE, family=members, noting=TOLD)
            self.assertEqual(plain, wide["ids"], scheme)
            self.assertEqual(narrow["stages"][0]["drafted"], wide["stages"][0]["drafted"], scheme)
            self.assertEqual(narrow["stages"][0]["accepted"], wide["stages"][0]["accepted"], scheme)
            self.assertGreater(wide["stages"][0]["drafted"], 0, scheme)

    def test_a_draft_has_a_shape_of_its_own(self):
        drawn = (*DRAWN, "--scheme", "sd", "--length", 3, "--draft", DRAFT)
        narrow = self.generated(*drawn)
        wide = self.generated(*drawn, "--draft-shape", SHAPE)
        self.assertEqual((narrow["ids"], narrow["stages"]), (wide["ids"], wide["stages"]))
        self.assertGreater(wide["memory_bytes"], narrow["memory_bytes"])

    def test_other_commands(self):
        self.assertEqual(
            self.object("logits", "--model", TARGET, "--prompt-ids", "5,6", "--weights", "f32")["top"][0]["id"],
            self.object("logits", "--model", TARGET, "--prompt-ids", "5,6", "--weights", "f32", "--shape", SHAPE)["top"][0]["id"],
        )
        self.works("bench", "verify", "--model", TARGET, "--context", 8, "--repetitions", 1, "--shape", SHAPE)

    def test_refusals(self):
        def refused(expected, *arguments):
            self.refuses(expected, "generate", "--model", TARGET, "--prompt", "a", *arguments)

        refused(["'9b'", "360m, 1b, 3b, 8b"], "--shape", "9b")
        refused(["'64,128,8,4,16'", "key_value_heads"], "--shape", "64,128,8,4,16")
        refused([ORIGINAL, "32 x 64, 4 heads (2) of 8, 1 layers"], "--shape", "32,64,4,2,8,1")
        refused([ORIGINAL, "of 12"], "--shape", "64,128,8,4,12,3")
        members = family("widened_draft", ["draft"])
        member = str(members / "tiny" / "draft.gguf")
        refused(["--draft-shape", TOLD, member], "--scheme", "sd", "--draft", member, "--draft-shape", SHAPE)


class Widen(ProgramTest):
    def written(self, name, *more, model=TARGET):
        path = FOLDER / name
        done = self.works("widen", "--model", model, "--shape", SHAPE, "--output", path, *more)
        self.assertRegex(done.stderr.decode(), rf"\Aaugur: note: [^\n]*{path.stat().st_size} bytes[^\n]*\n\Z")
        return str(path)

    def test_the_file_writes_the_same_text(self):
        path = self.written("wide.gguf", "--weights", "f32")
        plain = self.generated(*DRAWN, "--scheme", "plain")["ids"]
        wide = self.generated(*DRAWN, "--scheme", "plain", model=path, noting=TOLD)
        self.assertEqual((plain, TOLD, ORIGINAL), (wide["ids"], wide["settings"]["shape"], wide["settings"]["widened_from"]))
        in_memory = self.generated(*DRAWN, "--scheme", "plain", "--shape", SHAPE, noting=TOLD)
        self.assertEqual(in_memory["ids"], wide["ids"])

    def test_the_file_finds_the_family(self):
        members = family("of_a_file", ["eagle"])
        drawn = (*DRAWN, "--scheme", "eagle", "--length", 3)
        wide = self.generated(*drawn, model=self.written("found.gguf"), family=members, noting=TOLD)
        self.assertEqual([str(members / "tiny" / "eagle.gguf")], wide["settings"]["drafters"])
        self.assertGreater(wide["stages"][0]["drafted"], 0)

    def test_refusals_leave_nothing_behind(self):
        wide = self.written("once.gguf")
        output = FOLDER / "never.gguf"
        folder = tiny_model.write_folder(FOLDER / "to_widen")
        for expected, model, shape, more in (
            (["'9b'"], TARGET, "9b", ()),
            ([ORIGINAL, "16 x 64"], TARGET, "16,64,4,2,8,2", ()),
            (["'q3'"], TARGET, SHAPE, ("--weights", "q3")),
            ([TARGET, "rows of 72", "q4_0", "blocks of 32"], TARGET, "72,64,4,2,8,2", ("--weights", "q4_0")),
            (["widened", wide, ORIGINAL], wide, "128,256,8,4,16,3", ()),
            (["safetensors", str(folder)], folder, SHAPE, ()),
        ):
            with self.subTest(expected):
                self.refuses(expected, "widen", "--model", model, "--shape", shape, "--output", output, *more)
                self.assertEqual([], list(FOLDER.glob("never.gguf*")))
        before = pathlib.Path(TARGET).read_bytes()
        self.refuses(["--output", TARGET], "widen", "--model", TARGET, "--shape", SHAPE, "--output", TARGET)
        self.assertEqual(before, pathlib.Path(TARGET).read_bytes())


class Adapter(ProgramTest):
    """What an exit of the original learned, on the model that was widened from it."""

    @classmethod
    def setUpClass(cls):
        cls.texts = FOLDER / "to_learn.jsonl"
        cls.texts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS[:3]), encoding="utf-8")
        cls.drawn = (*DRAWN, "--thresholds", 0, "--length", 3)

    def learned(self, name, *more, passes=8):
        path = FOLDER / name
        use = ("--weights", "f32", "--max-tokens", 24, "--share", "inf", "--every", 1, "--rate", 0.02, "--threshold", 0, "--length", 3)
        done = self.works("learn", "--model", TARGET, "--prompts", self.texts, *use, "--passes", passes, "--output", path, "--json", *more)
        return path, [json.loads(line) for line in done.stdout.decode().splitlines()], done.stderr.decode()

    def test_it_drafts_what_it_drafted(self):
        for more in ((), ("--update", "output", "--bias"), ("--update", "full", "--scale", "per_class")):
            adapter, _, _ = self.learned("narrow" + "".join(map(str, more)), *more)
            file = FOLDER / "wide_to_draft.gguf"
            self.works("widen", "--model", TARGET, "--shape", SHAPE, "--output", file, "--weights", "f32")
            for scheme, sampled in (("kangaroo", ()), ("dvi", ()), ("kangaroo", ("--temperature", 0.8, "--seed", 3))):
                use = (*self.drawn, "--scheme", scheme, "--adapter", adapter, *sampled)
                narrow, in_memory = self.generated(*use), self.generated(*use, "--shape", SHAPE, noting=TOLD)
                of_file = self.generated(*use, model=file, noting=TOLD)
                said = lambda made: (made["ids"], made["stages"], made["settings"]["exit_layer"])
                self.assertEqual((said(narrow), said(narrow)), (said(in_memory), said(of_file)))
                self.assertGreater(narrow["stages"][0]["accepted"], 5)

    def test_learning_goes_on_at_the_larger_models_cost(self):
        adapter, before, told = self.learned("to_go_on")
        self.assertNotIn("note", told)
        copy = FOLDER / "gone_on"
        shutil.copy(adapter, copy)
        _, made, told = self.learned("gone_on", "--shape", SHAPE, "--compare", passes=4)
        self.assertRegex(told, rf"augur: note: {copy} was learned on [^\n]*32 x 64[^\n]*64 x 128[^\n]*\n")
        rate = lambda lines: sum(line["accepted"] for line in lines) / sum(line["drafted"] for line in lines)
        self.assertEqual({True}, {line["identical"] for line in made})
        self.assertGreater(made[-1]["learning"]["updates"], before[-1]["learning"]["updates"] + 10)
        self.assertGreater(rate(made), rate(before[:3]) + 0.2)
        _, _, told = self.learned("gone_on", "--shape", SHAPE, passes=1)
        self.assertNotIn("was learned on", told)  # it is the wide model's by now
        use = ("generate", "--model", TARGET, "--prompt", "a", "--scheme", "kangaroo", "--adapter", copy)
        self.refuses(["a size of 64, but here it is 32"], *use)
        self.refuses(["a size of 64, but here it is 96"], *use, "--shape", "96,128,8,4,16,3")
        self.assertEqual(adapter.stat().st_size, self.learned("to_compare", passes=1)[0].stat().st_size)

    def test_what_does_not_follow_is_refused(self):
        for name, more, told in (
            ("lengths", ("--update", "output", "--weight-norm"), "weight_norm is on"),
            ("mean", ("--norm", "layer"), "the norm is layer"),
            ("layer", ("--layer-rank", 4), "layer_rank is 4"),
        ):
            adapter, _, _ = self.learned(name, *more, passes=1)
            use = ("generate", "--model", TARGET, "--prompt", "a", "--scheme", "kangaroo", "--adapter", adapter, "--shape", SHAPE)
            self.refuses([str(adapter), "cannot be converted for a widened model", told], *use)
        other = tiny_model.write(FOLDER / "another.gguf", seed=7, layers=2)
        adapter, _, _ = self.learned("of_target", passes=1)
        use = ("generate", "--model", other, "--prompt", "a", "--scheme", "kangaroo", "--adapter", adapter)
        self.refuses(["the model"], *use, "--shape", SHAPE)
        learned = ("learn", "--model", TARGET, "--prompts", self.texts, "--output", adapter, "--shape", SHAPE)
        self.refuses(["rank 32", "here it is 4"], *learned, "--rank", 4)


if __name__ == "__main__":
    unittest.main()
