#!/usr/bin/env python3
"""A model's text at the cost of a larger one: augur widen, and what it writes for its drafts."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROMPTS, TARGET, ProgramTest, family  # noqa: E402

SHAPE = "64,128,8,4,16,3"  # of the tiny models: 32,64,4,2,8,2
TOLD = "64 x 128, 8 heads (4) of 16, 3 layers"
ORIGINAL = "32 x 64, 4 heads (2) of 8, 2 layers"
DRAWN = ("--prompt", PROMPTS[1], "--max-tokens", 50, "--ignore-eos", "--weights", "f32")


class WidenTest(ProgramTest):
    def written(self, name, *more, model=TARGET, **options):
        """FOLDER/name/wide.gguf, with what drafts for it in FOLDER/name/wide; a note for each file."""
        path = FOLDER / name / "wide.gguf"
        path.parent.mkdir()
        done = self.works("widen", "--model", model, "--shape", SHAPE, "--output", path, *more, **options)
        first, *others = done.stderr.decode().splitlines()
        self.assertRegex(first, rf"\Aaugur: note: [^\n]*{path.stat().st_size} bytes[^\n]*\Z")
        told = [f"augur: note: {each}: drafts for it" for each in sorted((path.parent / "wide").glob("*"))]
        self.assertEqual(told, sorted(others))
        return path


class Widen(WidenTest):
    def test_text_and_settings(self):
        wide_file = self.written("text", "--weights", "f32")
        for more in ((), ("--temperature", 0.8, "--accept", "coupled")):
            plain = self.generated(*DRAWN, *more, "--scheme", "plain")
            wide = self.generated(*DRAWN, *more, "--scheme", "plain", model=wide_file)
            self.assertEqual(plain["ids"], wide["ids"])
            self.assertGreater(wide["memory_bytes"], 2 * plain["memory_bytes"])
            self.assertEqual((TOLD, ORIGINAL), (wide["settings"]["shape"], plain["settings"]["shape"]))

    def test_drafts_are_widened_with_their_target(self):
        members = family("widened", ["eagle", "medusa", "hydra", "draft", "exit", "qualifier"])
        plain = self.generated(*DRAWN, "--scheme", "plain")["ids"]
        wide_file = self.written("drafts", "--weights", "f32", "--draft", "all", family=members)
        for scheme in ("eagle", "medusa", "hydra", "eaad"):
            narrow = self.generated(*DRAWN, "--scheme", scheme, "--length", 3, family=members)
            wide = self.generated(*DRAWN, "--scheme", scheme, "--length", 3, model=wide_file, family=wide_file.parent)
            self.assertEqual(plain, wide["ids"], scheme)
            self.assertEqual(narrow["stages"][0]["drafted"], wide["stages"][0]["drafted"], scheme)
            self.assertEqual(narrow["stages"][0]["accepted"], wide["stages"][0]["accepted"], scheme)
            self.assertGreater(wide["stages"][0]["drafted"], 0, scheme)

    def test_a_draft_that_is_named_is_written_and_no_other(self):
        members = family("named", ["eagle", "hydra"])
        wide_file = self.written("one", "--draft", members / "tiny" / "eagle.gguf")
        found = wide_file.parent / "wide" / "eagle.gguf"
        self.assertEqual([found], list(found.parent.iterdir()))
        wide = self.generated(*DRAWN, "--scheme", "eagle", "--length", 3, model=wide_file, family=wide_file.parent)
        self.assertEqual([str(found)], wide["settings"]["drafters"])
        self.assertGreater(wide["stages"][0]["drafted"], 0)
        drawn = ("generate", "--prompt", "a", "--scheme", "eagle", "--model")
        self.refuses(["was made for", str(found)], *drawn, TARGET, "--heads", found)
        self.refuses(["was made for"], *drawn, wide_file, "--heads", members / "tiny" / "eagle.gguf")

    def test_a_draft_model_has_a_shape_of_its_own(self):
        drawn = (*DRAWN, "--scheme", "sd", "--length", 3, "--draft")
        narrow = self.generated(*drawn, DRAFT)
        wide = self.generated(*drawn, self.written("draft", "--weights", "f32", model=DRAFT))
        self.assertEqual((narrow["ids"], narrow["stages"]), (wide["ids"], wide["stages"]))
        self.assertGreater(wide["memory_bytes"], narrow["memory_bytes"])

    def test_it_can_be_widened_again(self):
        wide = self.written("once", "--weights", "f32")
        again = self.written("twice", "--weights", "f32", model=wide)
        of = lambda model: self.generated(*DRAWN, "--scheme", "plain", model=model)["ids"]
        self.assertEqual(of(TARGET), of(again))

    def test_refusals_leave_nothing_behind(self):
        output = FOLDER / "never.gguf"
        folder = tiny_model.write_folder(FOLDER / "to_widen")
        heads = tiny_model.write_published_heads(FOLDER / "published.safetensors", "medusa")
        another = family("of_another", ["eagle"], target="0123456789abcdef") / "tiny" / "eagle.gguf"
        two = [family(name, ["eagle"]) / "tiny" / "eagle.gguf" for name in ("first", "second")]
        for expected, model, shape, more in (
            (["'9b'", "360m, 1b, 3b, 8b"], TARGET, "9b", ()),
            (["'64,128,8,4,16'", "key_value_heads"], TARGET, "64,128,8,4,16", ()),
            ([ORIGINAL, "16 x 64"], TARGET, "16,64,4,2,8,2", ()),
            ([ORIGINAL, "32 x 64, 4 heads (2) of 8, 1 layers"], TARGET, "32,64,4,2,8,1", ()),
            ([ORIGINAL, "of 12"], TARGET, "64,128,8,4,12,3", ()),
            (["'q3'"], TARGET, SHAPE, ("--weights", "q3")),
            ([TARGET, "rows of 72", "q4_0", "blocks of 32"], TARGET, "72,64,4,2,8,2", ("--weights", "q4_0")),
            (["safetensors", str(folder)], folder, SHAPE, ()),
            ([str(another), "was made for", "0123456789abcdef"], TARGET, SHAPE, ("--draft", another)),
            ([DRAFT, "augur.member is ''", "--model"], TARGET, SHAPE, ("--draft", DRAFT)),
            ([str(heads), "published heads (medusa)"], TARGET, SHAPE, ("--draft", heads)),
            ([str(two[1]), "from another one already"], TARGET, SHAPE, ("--draft", two[0], "--draft", two[1])),
        ):
            with self.subTest(expected):
                self.refuses(expected, "widen", "--model", model, "--shape", shape, "--output", output, *more)
                self.assertEqual([], list(FOLDER.glob("never*")))
        bare = FOLDER / "bare"
        self.refuses([str(bare), "no ending"], "widen", "--model", TARGET, "--shape", SHAPE, "--draft", two[0], "--output", bare)
        self.assertFalse(bare.exists())
        before = pathlib.Path(TARGET).read_bytes()
        self.refuses(["--output", TARGET], "widen", "--model", TARGET, "--shape", SHAPE, "--output", TARGET)
        self.assertEqual(before, pathlib.Path(TARGET).read_bytes())


class Adapter(WidenTest):
    """What an exit of the original learned, written for the model that was widened from it."""

    @classmethod
    def setUpClass(cls):
        cls.texts = FOLDER / "to_learn.jsonl"
        cls.texts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS[:3]), encoding="utf-8")
        cls.drawn = (*DRAWN, "--thresholds", 0, "--length", 3)

    def learned(self, path, *more, passes=8, model=TARGET):
        use = ("--weights", "f32", "--max-tokens", 24, "--share", "inf", "--every", 1, "--rate", 0.02, "--threshold", 0, "--length", 3)
        done = self.works("learn", "--model", model, "--prompts", self.texts, *use, "--passes", passes, "--output", path, "--json", *more)
        return path, [json.loads(line) for line in done.stdout.decode().splitlines()]

    def test_it_drafts_what_it_drafted(self):
        for number, more in enumerate(((), ("--update", "output", "--bias"), ("--update", "full", "--scale", "per_class"))):
            adapter, _ = self.learned(FOLDER / f"narrow{number}", *more)
            wide_file = self.written(f"to_draft{number}", "--weights", "f32", "--adapter", adapter)
            wide_adapter = wide_file.parent / "wide" / adapter.name
            for scheme, sampled in (("kangaroo", ()), ("dvi", ()), ("kangaroo", ("--temperature", 0.8, "--seed", 3))):
                use = (*self.drawn, "--scheme", scheme, *sampled, "--adapter")
                narrow, wide = self.generated(*use, adapter), self.generated(*use, wide_adapter, model=wide_file)
                said = lambda run: (run["ids"], run["stages"], run["settings"]["exit_layer"])
                self.assertEqual(said(narrow), said(wide))
                self.assertGreater(narrow["stages"][0]["accepted"], 5)
            use = ("generate", "--prompt", "a", "--scheme", "kangaroo", "--model", TARGET, "--adapter", wide_adapter)
            self.refuses(["a size of 64, but here it is 32"], *use)

    def test_learning_goes_on_at_the_larger_models_cost(self):
        adapter, before = self.learned(FOLDER / "to_go_on")
        wide_file = self.written("gone_on", "--weights", "f32", "--adapter", adapter)
        _, after = self.learned(wide_file.parent / "wide" / adapter.name, "--compare", passes=4, model=wide_file)
        rate = lambda lines: sum(line["accepted"] for line in lines) / sum(line["drafted"] for line in lines)
        self.assertEqual({True}, {line["identical"] for line in after})
        self.assertGreater(after[-1]["learning"]["updates"], before[-1]["learning"]["updates"] + 10)
        self.assertGreater(rate(after), rate(before[:3]) + 0.2)

    def test_what_does_not_follow_is_refused(self):
        use = ("widen", "--model", TARGET, "--shape", SHAPE, "--output", FOLDER / "unwritten.gguf", "--adapter")
        for name, more, told in (
            ("lengths", ("--update", "output", "--weight-norm"), "weight_norm is on"),
            ("mean", ("--norm", "layer"), "the norm is layer"),
            ("layer", ("--layer-rank", 4), "layer_rank is 4"),
        ):
            adapter, _ = self.learned(FOLDER / name, *more, passes=1)
            self.refuses([str(adapter), "cannot be converted for a widened model", told], *use, adapter)
        heads, _ = self.learned(FOLDER / "heads", "--scheme", "medusa", "--head-count", 2, passes=1)
        self.refuses([str(heads), "checkpoint of draft heads is not converted"], *use, heads)
        adapter, _ = self.learned(FOLDER / "learned_elsewhere", passes=1, model=tiny_model.write(FOLDER / "another.gguf", seed=7, layers=2))
        self.refuses([str(adapter), "the model"], *use, adapter)
        self.assertEqual([], list(FOLDER.glob("unwritten*")))


if __name__ == "__main__":
    unittest.main()
