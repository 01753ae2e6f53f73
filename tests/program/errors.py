#!/usr/bin/env python3
"""Whatever is wrong is exit code 1 and one line that names the values at fault; nothing is left half-written."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import ngram_file  # noqa: E402
import tiny_model  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, HAS_LLAMA_CPP, TARGET, ProgramTest, family, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Generate(ProgramTest):
    def refused(self, expected, *arguments, prompt=("--prompt", "the cat"), model=TARGET):
        self.refuses(expected, "generate", "--model", model, *prompt, *arguments)

    def test_numbers(self):
        for arguments, expected in {
            ("--temperature", "-1"): ["temperature", "-1"],
            ("--temperature", "nan"): ["--temperature is 'nan'", "a number"],
            ("--temperature", "1e-46"): ["--temperature is '1e-46'", "a number that 32 bits hold"],
            ("--compare-seconds", "nan"): ["--compare-seconds is 'nan'", "a number"],
            ("--compare-seconds", "-1"): ["--compare-seconds is -1", "0 or more"],
            ("--temperature", "warm"): ["--temperature", "'warm'"],
            ("--top-p", "2"): ["top_p", "2"],
            ("--top-p", "0"): ["top_p", "0"],
            ("--min-p", "1.5"): ["min_p", "1.5"],
            ("--top-k", "-3"): ["--top-k", "'-3'"],
            ("--seed", "-1"): ["--seed", "'-1'"],
            ("--seed", str(2**64)): ["--seed", str(2**64), "64 bits hold"],
            ("--max-tokens", "1x"): ["--max-tokens", "'1x'"],
            ("--max-tokens", ""): ["--max-tokens", "''"],
            ("--length", "1.5"): ["--length", "'1.5'"],
            ("--threads", "65"): ["65", "64"],
            ("--context", "9999"): ["9999", "256"],
            ("--repetition-penalty", "0"): ["repetition", "0"],
            ("--presence-penalty", "inf"): ["presence", "inf"],
            ("--frequency-penalty", "nan"): ["frequency", "nan"],
            ("--logit-bias", "5"): ["--logit-bias", "'5'", "ID=VALUE"],
            ("--logit-bias", "999=1"): ["999", "262"],
            ("--logit-bias", "5=inf"): ["5", "inf"],
            ("--logit-bias", "5=1", "--logit-bias", "6=1", "--logit-bias", "5=2"): ["--logit-bias", "'5=1'", "'5=2'"],
            ("--lookup-min", "0"): ["min_n", "0"],
            ("--lookup-min", "9"): ["9", "8"],
        }.items():
            with self.subTest(arguments):
                self.refused(expected, *arguments)

    def test_an_error_in_a_value_names_its_option(self):
        """And the command's help, whichever part of the library refuses the value."""
        help_of = "(see augur generate --help)"
        sd = ("--scheme", "sd", "--draft", DRAFT)
        for arguments, expected in {
            ("--temperature", "-1"): "--temperature: temperature is -1",
            ("--top-p", "0"): "--top-p: top_p is 0",
            ("--min-p", "1.5"): "--min-p: min_p is 1.5",
            ("--repetition-penalty", "0"): "--repetition-penalty: ",
            ("--presence-penalty", "inf"): "--presence-penalty: ",
            ("--frequency-penalty", "inf"): "--frequency-penalty: ",
            ("--threads", "100000"): "--threads is 100000; it must be 0 to 64",
            ("--stop", ""): "--stop is ''",
            ("--lookup-min", "9", "--lookup-max", "3"): "--lookup-min and --lookup-max: prompt_lookup: min_n 9 exceeds",
            ("--scheme", "kangaroo", "--untrained", "--thresholds", "2"): "--thresholds and --length: confidence_stop",
            ("--scheme", "ead", "--draft", DRAFT, "--thresholds", "-1"): "--thresholds, --window and --dwell: rolling_entropy",
            ("--scheme", "fsd", "--draft", DRAFT, "--thresholds", "-1"): "--thresholds: ",
            ("--scheme", "eaad", "--draft", DRAFT, "--bins", "1,2", "--bin-lengths", "4,3"): "--bins and --bin-lengths: ",
            ("--scheme", "foo"): "--scheme 'foo' is unknown",
            ("--scheme", "psd_x"): "--scheme 'psd_x' is unknown",
            ("--accept", "exact", "--temperature", "1"): "--accept exact: accept::exact keeps greedy text only",
            (*sd, "--tree", "dynamic", "--accept", "exact", "--temperature", "1"): "--accept exact: accept::exact keeps greedy text",
        }.items():
            with self.subTest(arguments):
                self.refused([f"augur: error: {expected}", help_of], *arguments)

    def test_an_option_that_the_scheme_has_no_use_for_is_refused(self):
        """With its value, the scheme, and the schemes that use it; not ignored."""
        values = {
            "length": 3, "max-k": 3, "bins": "1,2", "bin-lengths": "2,1", "lookup-min": 2, "lookup-max": 6,
            "thresholds": 0.5, "lengths": "2,3", "window": 3, "dwell": 4,
        }  # fmt: skip
        of_draft = ("--draft", DRAFT)
        grammar = FOLDER / "any.gbnf"
        grammar.write_text('root ::= "a"')
        used_by = {
            "plain": ((), ()),
            "lookup": ((), ("length", "lookup-min", "lookup-max")),
            "suffix": ((), ("length",)),
            "merged": (of_draft, ("lookup-min", "lookup-max", "length")),  # the last is refused for its trees
            "sd": (of_draft, ("length",)),
            "eaad": (of_draft, ("length", "max-k", "bins", "bin-lengths")),
            "eaad_as_published": (of_draft, ("length", "max-k", "bins", "bin-lengths")),
            "hysteresis": (of_draft, ("length", "thresholds")),
            "fsd": (of_draft, ("length", "thresholds")),
            "psd_a": ((*of_draft, "--draft", TARGET), ("lengths", "thresholds")),
            "ead": (of_draft, ("length", "thresholds", "window", "dwell")),
            "kangaroo": (("--untrained",), ("length", "thresholds")),
        }
        if HAS_LLAMA_CPP:
            used_by["forced"] = (("--grammar", grammar), ("length", "lookup-min", "lookup-max"))
        for scheme, (more, uses) in used_by.items():
            for option, value in values.items():
                if option in uses:
                    continue
                with self.subTest(scheme=scheme, option=option):
                    said = [f"--{option} is {value}, but the scheme is '{scheme}'; ", " it (see augur generate --help)"]
                    self.refused(said, "--scheme", scheme, *more, f"--{option}", value)
        for scheme in ("lookup", "plain", "sd"):
            more = of_draft if scheme == "sd" else ()
            self.refused(f"--learn-bins is given, but the scheme is '{scheme}'; eaad", "--scheme", scheme, *more, "--learn-bins")
        self.refused("--thresholds is 0.5, but the scheme is 'auto'; fsd, ", "--thresholds", 0.5)
        self.refused("--thresholds is 0.5, but the scheme is 'eaad', chosen by auto; ", *of_draft, "--thresholds", 0.5)
        self.refuses("--window is 3, but the scheme is 'plain'; ead uses it", "chat", "--model", TARGET, "--scheme", "plain", "--window", 3)
        self.works("generate", "--model", TARGET, "--prompt", "a", "--max-tokens", 3, "--lookup-min", 2, "--length", 2)  # of auto

    def test_an_option_that_needs_another_is_refused_without_it(self):
        self.refused(["--task is 'poetry'", "--calibration"], "--task", "poetry")
        self.refused(["--compare-seconds is 3", "--compare was not given"], "--compare-seconds", 3)
        self.refused("scheme 'forced' drafts what a grammar leaves no choice about, but there is no grammar", "--scheme", "forced")

    def test_where_no_family_is_searched_that_is_said(self):
        self.refuses("AUGUR_FAMILY is empty, so no draft bundle was searched for a draft.gguf", "generate", "--model", TARGET,
                     "--prompt", "a", "--scheme", "sd", family="")  # fmt: skip

    def test_a_tree_that_is_read_is_not_written(self):
        tree = FOLDER / "read.json"
        tree.write_text("[[0],[1]]")
        for flag in ("--trace", "--record"):
            self.refused(["would overwrite", str(tree)], "--scheme", "lookup", "--tree", tree, flag, tree)
            self.assertEqual("[[0],[1]]", tree.read_text())

    def test_a_name_that_no_file_can_have_is_refused_before_anything_is_loaded(self):
        name = "w" * 300
        self.refuses(["cannot write", name], "widen", "--model", FOLDER / "none.gguf", "--shape", "64,128,8,4,16,3", "--output", name)
        self.refused(["cannot write", name], "--trace", name, model=FOLDER / "none.gguf")

    def test_one_file_is_not_written_twice_by_another_name(self):
        self.refused("is written to twice", "--record", FOLDER / "one.json", "--trace", f"{FOLDER}/./one.json")
        self.refused("no room", "--scheme", "lookup", "--tree", "auto", "--context", 1, prompt=("--prompt-ids", "1"))

    def test_names(self):
        self.refused(["'fast'", "auto, plain, lookup, forced, suffix, hybrid, merged, sd, eaad, eaad_as_published, hysteresis, medusa, hydra, entmtp, eagle, mtp, kangaroo, dvi, fsd, fsd_as_published, psd_a, psd_a_as_published, psd_f, psd_f_as_published, cascade, ead"], "--scheme", "fast")
        self.refused(["'lenient'", "exact, rejection_sampling, block, coupled"], "--accept", "lenient")
        self.refused(["'q3'", "keep, f32, f16, bf16, q8_0, q4_0, q4_1"], "--weights", "q3")
        self.refused(["'f8'", "f32, q8_0"], "--cache", "f8")
        self.refused(["a multiple of 32", "have 8"], "--cache", "q8_0")
        self.refused(["'tpu'", "cpu, cuda"], "--device", "tpu")

    def test_what_later_versions_have(self):
        self.refused(["CUDA"], "--device", "cuda")  # built without, or nothing to run on

    def test_bins_that_learn(self):
        eaad = ("--scheme", "eaad", "--draft", DRAFT, "--learn-bins")
        self.refused(["--length is 3", "--learn-bins"], *eaad, "--length", 3)
        self.refused(["--max-k is 3", "--learn-bins"], *eaad, "--max-k", 3)
        self.refused(["must fall", "4", "5"], *eaad, "--bins", "1", "--bin-lengths", "4,5")

    def test_most_tokens_of_bins(self):
        eaad = ("--scheme", "eaad", "--draft", DRAFT)
        self.refused(["--length is 2", "--max-k 3", "one of them"], *eaad, "--length", 2, "--max-k", 3)
        self.refused(["--max-k", "'x'"], *eaad, "--max-k", "x")
        self.refused(["--max-k", "2000", "1024"], *eaad, "--max-k", "2000")

    def test_eaad_as_published(self):
        published = ("--scheme", "eaad_as_published", "--draft", DRAFT)
        self.refused(["'eaad_as_published'", "exact match", "0.7", "--scheme eaad"], *published, "--temperature", "0.7")
        for rule in ("coupled", "rejection_sampling"):
            self.refused(["'eaad_as_published'", "exact match", f"'{rule}'"], *published, "--accept", rule)
        self.refused(["'eaad_as_published'", "fixed bins", "--learn-bins"], *published, "--learn-bins")
        self.refused(["2 edges make 3 bins", "2 lengths"], *published, "--bins", "1,2", "--bin-lengths", "2,1")

    def test_hysteresis(self):
        scheme = ("--scheme", "hysteresis", "--draft", DRAFT)
        self.refused(["on at 2.5", "off at 1.5", "must not be below"], *scheme, "--thresholds", "2.5,1.5")
        self.refused(["one threshold or two", "3"], *scheme, "--thresholds", "1,2,3")
        self.refused(["inf", "finite"], *scheme, "--thresholds", "1,inf")
        self.refused(["the long length is 1", "the short one 1"], *scheme, "--length", 1)

    def test_kangaroo(self):
        self.refused(["'kangaroo'", "--untrained", "exit.gguf", FINGERPRINT], "--scheme", "kangaroo")
        raw = ("--scheme", "kangaroo", "--untrained")
        self.refused(["--exit-layer is 0"], *raw, "--exit-layer", 0)
        self.refused(["after 2 layers", "target of 2", "1 to 1"], *raw, "--exit-layer", 2)
        self.refused(["--exit-layer", "'x'"], *raw, "--exit-layer", "x")
        self.refused(["threshold is 1.5"], *raw, "--thresholds", "1.5")
        self.refused(["one threshold", "2"], *raw, "--thresholds", "0.5,0.6")
        self.refused(["--exit-layer is 1", "'lookup'"], "--scheme", "lookup", "--exit-layer", 1)
        self.refused(["--untrained", "'auto'"], "--untrained")
        self.refused(["--tree", "'kangaroo'"], *raw, "--tree", "auto")
        path = tiny_model.write_checkpoint(FOLDER / "foreign_exit.gguf", "exit", "0123456789abcdef")
        self.refused([path, "exit", "0123456789abcdef", FINGERPRINT], "--scheme", "kangaroo", "--heads", path)
        own = tiny_model.write_checkpoint(FOLDER / "own_exit.gguf", "exit", FINGERPRINT)
        self.refused([own, "no exit after 2 layers", "after 1"], "--scheme", "kangaroo", "--heads", own, "--exit-layer", 2)
        asked = ("generate", "--model", TARGET, "--prompt", "a", "--scheme", "kangaroo", "--exit-layer", 2)
        self.refuses(["exit.gguf", "no exit after 2 layers"], *asked, family=family("with_an_exit", ["exit"]))

    def test_criterion_and_temperature(self):
        self.refused(["exact", "0.7"], "--accept", "exact", "--temperature", "0.7")

    def test_drafts(self):
        for scheme in ("sd", "eaad", "eaad_as_published", "hysteresis"):
            self.refused([f"'{scheme}'", "--draft"], "--scheme", scheme)
            self.refused([f"'{scheme}'", "2"], "--scheme", scheme, "--draft", DRAFT, "--draft", TARGET)
        other = tiny_model.write(FOLDER / "other.gguf", vocabulary=300, words=False)
        self.refused(["300", "262"], "--draft", other)
        self.refused("absent.gguf", "--draft", FOLDER / "absent.gguf")

    def test_switching(self):
        ead = ("--scheme", "ead", "--draft", DRAFT)
        self.refused(["'ead'", "--draft"], "--scheme", "ead")
        self.refused(["--thresholds holds 0 numbers", "'ead'", "2 draft models"], *ead, "--draft", TARGET)
        self.refused(["'exact'", "'ead'"], *ead, "--accept", "exact")
        self.refused(["--thresholds", "2"], *ead, "--thresholds", "0.25,0.5")
        self.refused(["-1"], *ead, "--thresholds", "-1")
        self.refused(["window", "0"], *ead, "--window", 0)
        self.refused(["dwell", "0"], *ead, "--dwell", 0)

    def test_fuzzy(self):
        self.refused(["'fsd'", "--draft"], "--scheme", "fsd")
        self.refused(["'coupled'", "'fsd'"], "--scheme", "fsd", "--draft", DRAFT, "--accept", "coupled")
        self.refused(["'fsd'", "2 times"], "--scheme", "fsd", "--draft", DRAFT, "--draft", TARGET)
        fsd = ("--scheme", "fsd", "--draft", DRAFT, "--accept", "fuzzy_greedy")
        self.refused(["fuzzy_greedy", "temperature 0", "0.8"], *fsd, "--temperature", "0.8")
        self.refused(["--divergence-temperature", "above 0", "0"], *fsd, "--divergence-temperature", "0")
        self.refused(["--divergence-temperature", "2", "fuzzy_greedy"], "--divergence-temperature", "2")
        self.refused(["'fuzzy_greedy'", "fsd", "psd_"], "--scheme", "sd", "--draft", DRAFT, "--accept", "fuzzy_greedy")
        psd = ("--scheme", "psd_f", "--draft", DRAFT)
        self.refused(["'psd_f'", "qualifier", "--draft"], *psd)
        self.refused(["--draft", "twice"], *psd, "--draft", DRAFT)
        third = tiny_model.write(FOLDER / "third.gguf", seed=7)
        self.refused(["'psd_f'", "3 times"], *psd, "--draft", TARGET, "--draft", third)
        self.refused(["--thresholds", "1", "2"], *psd, "--thresholds", "0.5")
        self.refused(["-1"], *psd, "--thresholds", "-1,0.5")
        self.refused(["nan"], *psd, "--thresholds", "nan,0.5")
        self.refused(["--lengths", "1"], *psd, "--lengths", "3")
        self.refused(["--lengths", "0"], *psd, "--lengths", "3,0")
        other = tiny_model.write(FOLDER / "wide_qualifier.gguf", vocabulary=300, words=False)
        self.refused(["262", "300"], *psd, "--draft", other)

    def test_hybrid(self):
        hybrid = ("--scheme", "hybrid")
        self.refused(["'hybrid'", "--heads", "ngram.gguf"], *hybrid)
        self.refused(["absent.gguf", "No such file"], *hybrid, "--heads", FOLDER / "absent.gguf")
        self.refused(["augur.member", "ngram"], *hybrid, "--heads", DRAFT)
        other = ngram_file.write(FOLDER / "other_ngrams.gguf", [[5, 262]])
        self.refused(["other_ngrams.gguf", "262"], *hybrid, "--heads", other)
        sound = ngram_file.write(FOLDER / "ngrams.gguf", [[5, 6]])
        self.refused(["--lookup-max", "1", "2"], *hybrid, "--heads", sound, "--lookup-max", "1")

    def test_trees(self):
        members = family("trees", ["hydra"])
        tree = FOLDER / "wrong_tree.json"
        for text, expected in {
            "[[0], [0, 1]]": ["[0, 1]", "no sibling before it, [0, 0]"],
            "[[0], [1, 0]]": ["[1, 0]", "no parent, [1]"],
            "[[0], [0]]": ["[0]", "twice"],
            "[[]]": ["empty path"],
            "[[0], 1]": ["1", "no path"],
            "[[-1]]": ["-1", "no rank"],
            '[["a"]]': ['"a"', "no rank"],
            "[[1024]]": ["1024", "1023"],
            "{}": ["no array"],
            "[[0]": [str(tree)],
        }.items():
            with self.subTest(text):
                tree.write_text(text)
                self.refuses(["--tree", str(tree), *expected], "generate", "--model", TARGET, "--prompt", "a", "--scheme", "hydra",
                             "--tree", tree, family=members)  # fmt: skip
        tree.write_text("[[0], [1]]")
        self.refused(["--tree", "'eaad'"], "--scheme", "eaad", "--draft", DRAFT, "--tree", tree)
        self.refused(["traversal", "--tree"], "--scheme", "sd", "--draft", DRAFT, "--accept", "traversal", "--temperature", "1")
        self.refused(["multipath_block", "sd", "'hydra'"], "--scheme", "hydra", "--tree", tree, "--accept", "multipath_block")
        self.refused(["'most'", "typical"], "--scheme", "hydra", "--tree", tree, "--accept", "most")
        typical = ("--scheme", "hydra", "--tree", tree, "--accept", "typical")
        for flag in ("--epsilon", "--delta"):
            for wrong in ("-0.1", "1.5", "inf"):
                self.refused([flag, wrong, "0 to 1"], *typical, flag, wrong)
            for wrong in ("much", "nan"):
                self.refused([flag, f"'{wrong}'", "a number"], *typical, flag, wrong)
            self.refused([flag, "0.2", "typical", "'exact'"], *typical[:4], "--accept", "exact", flag, "0.2")
            self.refused([flag, "0.2", "typical", "not given"], flag, "0.2")
        for text, expected in {
            "dynamic,depth": ["'dynamic,depth'", "'depth'", "'='"],
            "dynamic,": ["'dynamic,'", "'='"],
            "dynamic,height=3": ["'height'", "depth, width, nodes"],
            "dynamic,depth=0": ["--tree dynamic: depth is 0", "at least 1"],
            "dynamic,depth=65": ["depth is 65", "at most 64"],
            "dynamic,width=65": ["width is 65", "at most 64"],
            "dynamic,nodes=257": ["nodes is 257", "at most 256"],
            "dynamic,nodes=-1": ["nodes is '-1'", "whole number"],
            "dynamic,depth=2,nodes=x": ["nodes is 'x'"],
            "dynamics": ["--tree dynamics"],
            "dynamic,depth=4,width=2,depth=5": ["'dynamic,depth=4,width=2,depth=5'", "depth is given twice", "'4'", "'5'"],
        }.items():
            with self.subTest(text):
                self.refused(expected, "--scheme", "sd", "--draft", DRAFT, "--tree", text)
        dynamic = ("--tree", "dynamic,depth=3")
        for scheme in ("hydra", "lookup"):
            self.refused(["dynamic,depth=3,width=4,nodes=12", "sd, eagle, mtp and merged", f"'{scheme}'"], "--scheme", scheme, *dynamic)
        self.refused(["--tree", "'hybrid'"], "--scheme", "hybrid", *dynamic)
        sd = ("--scheme", "sd", "--draft", DRAFT, *dynamic)
        self.refused(["multipath_block", "dynamic,depth=3", "none is drawn"], *sd, "--accept", "multipath_block", "--temperature", "1")
        self.refused(["block", "chains", "dynamic,depth=3"], *sd, "--accept", "block", "--temperature", "1")
        self.refused(["--length is 2", "dynamic,depth=3"], *sd, "--length", 2)
        self.refused(["--bank", "'sd'", "--tree auto"], *sd, "--bank", FOLDER / "no.json")
        self.refused(["'merged'", "--heads or --draft", "eagle.gguf", FINGERPRINT], "--scheme", "merged")
        self.refused(["--lookup-max is 1", "merged"], "--scheme", "merged", "--draft", DRAFT, "--lookup-max", 1)
        self.refused(["'merged'", "2 times"], "--scheme", "merged", "--draft", DRAFT, "--draft", TARGET)
        self.refused(["--length is 2", "as they pay"], "--scheme", "merged", "--draft", DRAFT, "--length", 2)
        self.refuses(["dynamic,depth=3", "hydra.gguf", "heads"], "generate", "--model", TARGET, "--prompt", "a", "--scheme", "merged",
                     *dynamic, family=members)  # fmt: skip
        self.refused(["--length", "3", "2 nodes"], "--scheme", "hydra", "--tree", tree, "--length", "3")
        self.refused(["block", "2 nodes"], "--scheme", "hydra", "--tree", tree, "--accept", "block", "--temperature", "1")
        self.refused([str(FOLDER / "no.json")], "--scheme", "hydra", "--tree", FOLDER / "no.json")

    def test_members(self):
        for scheme in ("medusa", "hydra", "eagle"):
            self.refused([f"'{scheme}'", "--heads", f"{scheme}.gguf", FINGERPRINT], "--scheme", scheme)
        for kind in ("eagle", "medusa", "hydra", "draft"):
            path = tiny_model.write_checkpoint(FOLDER / f"foreign_{kind}.gguf", kind, "0123456789abcdef")
            self.refused([path, kind, "'a tiny one'", "0123456789abcdef", FINGERPRINT], "--heads", path)
        foreign = family("foreign", ["draft", "eagle"], "0123456789abcdef")
        self.refuses(
            ["'eagle'", str(foreign), FINGERPRINT], "generate", "--model", TARGET, "--prompt", "a", "--scheme", "eagle", family=foreign
        )
        self.refused([DRAFT, "''", "eagle, medusa, hydra"], "--heads", DRAFT)
        self.refused("absent.gguf", "--heads", FOLDER / "absent.gguf")
        eagle = tiny_model.write_checkpoint(FOLDER / "eagle.gguf", "eagle", FINGERPRINT)
        self.refused(["'hydra'", "--heads", "hydra.gguf"], "--heads", eagle, "--scheme", "hydra")
        self.refused([eagle, "'eagle'", "so is"], "--heads", eagle, "--heads", eagle)
        self.refused([eagle, "'eagle'", "'draft'"], "--draft", eagle, "--scheme", "sd")

    def test_a_broken_family_is_skipped_and_a_broken_file_that_is_named_is_not(self):
        found = family("half_broken", [])
        broken = found / "tiny" / "ngram.gguf"
        broken.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
        done = run("generate", "--model", TARGET, "--prompt", "a", "--json", family=found)
        self.assertEqual(0, done.returncode)
        self.assertRegex(done.stderr, rb"\Aaugur: warning: [^\n]*tiny/ngram.gguf[^\n]*\n\Z")
        self.assertEqual("lookup", json.loads(done.stdout)["scheme"])
        (found / "zweite").mkdir()
        sound = ngram_file.write(found / "zweite" / "ngram.gguf", [[5, 6]], target=FINGERPRINT)
        done = run("generate", "--model", TARGET, "--prompt", "a", "--json", family=found)
        self.assertEqual((0, 1), (done.returncode, done.stderr.count(b"\n")))
        result = json.loads(done.stdout)
        self.assertEqual(("hybrid", [sound]), (result["scheme"], result["settings"]["drafters"]))
        self.refused(["tiny/ngram.gguf", "not a GGUF file"], "--heads", broken)

    def test_models_that_decode_together_have_the_same_tokens(self):
        """Of one size: every scheme that runs a second model names the first token that differs, with both texts."""
        swapped = tiny_model.write(FOLDER / "swapped.gguf", seed=2, swapped=(100, 101))
        difference = [f"token 100 is 'b' in {swapped} and 'a' in {TARGET}"]
        for scheme in ("auto", "sd", "eaad", "fsd", "cascade"):
            self.refused(difference, "--scheme", scheme, "--draft", swapped)
        for scheme in ("psd_a", "psd_f"):
            self.refused(difference, "--scheme", scheme, "--draft", swapped, "--draft", DRAFT)
            self.refused(difference, "--scheme", scheme, "--draft", DRAFT, "--draft", swapped)
        unnamed = tiny_model.write(FOLDER / "unnamed.gguf", seed=2, words=False)
        for accepted in (unnamed, DRAFT):
            done = run("generate", "--model", TARGET, "--prompt", "a", "--max-tokens", 2, "--scheme", "sd", "--draft", accepted)
            self.assertEqual(0, done.returncode, done.stderr)

    def test_a_draft_that_writes_is_named_for_its_own_logits(self):
        spoiled = tiny_model.write(FOLDER / "spoiled_draft.gguf", seed=2, spoil=float("nan"))
        self.refused(["the draft's logit", "nan"], "--json", "--scheme", "ead", "--draft", spoiled)

    def test_bins(self):
        for edges, lengths, expected in (
            ("1,0.5,2", "4,3,2,1", ["1", "0.5", "rise"]),
            ("1,2", "4,3", ["2 edges", "2 lengths"]),
            ("1,nan", "4,3,2", ["nan"]),
            ("1,,2", "4,3,2", ["--bins is '1,,2'", "entry 2 is empty"]),
            ("1", "4,-3", ["--bin-lengths", "'-3'"]),
        ):
            self.refused(expected, "--draft", DRAFT, "--bins", edges, "--bin-lengths", lengths)

    def test_prompts(self):
        self.refused(["prompt is empty"], prompt=("--prompt", ""))
        self.refused(["--prompt-ids", "''"], prompt=("--prompt-ids", ""))
        self.refused(["--prompt-ids", "'x'"], prompt=("--prompt-ids", "1,x"))
        self.refused(["--prompt-ids is '1,,2'", "entry 2 is empty"], prompt=("--prompt-ids", "1,,2"))
        self.refused(["--prompt-ids is '1,2,'", "entry 3 is empty"], prompt=("--prompt-ids", "1,2,"))
        self.refused(["262", "token 1"], prompt=("--prompt-ids", "1,262"))
        self.refused(["-5"], prompt=("--prompt-ids", "-5"))
        self.refused(["7 tokens", "context of 7"], "--context", 7, prompt=("--prompt-ids", "1,2,3,4,5,6,7"))
        self.refused(["one of", "2 were given"], "--prompt-ids", "1")
        self.refused(["one of", "0 were given"], prompt=())

    def test_prompt_files(self):
        broken = FOLDER / "broken.txt"
        broken.write_bytes(b"abc\xff")
        self.refused([str(broken), "0xff", "offset 3"], prompt=("--prompt-file", broken))
        self.refused(["absent.txt", "No such file"], prompt=("--prompt-file", FOLDER / "absent.txt"))
        self.refused([str(FOLDER), "directory"], prompt=("--prompt-file", FOLDER))
        empty = FOLDER / "empty.txt"
        empty.touch()
        self.refused(["empty"], prompt=("--prompt-file", empty))

    def test_prompt_that_is_not_utf8(self):
        self.refused(["--prompt", "0xfe"], prompt=(b"--prompt".decode(), "\udcfe"))

    def test_chat(self):
        self.refused("--chat", "--chat", prompt=("--prompt-ids", "1"))
        self.refused("--chat", "--system", "x")
        untrained = tiny_model.write(FOLDER / "untrained.gguf", chat_template=None)
        self.refused("chat template", "--chat", model=untrained)

    def test_stop_strings(self):
        self.refused("empty", "--stop", "")

    def test_models(self):
        whole = pathlib.Path(TARGET).read_bytes()
        for name, content, expected in (
            ("cut.gguf", whole[:-100], "cut.gguf"),
            ("header.gguf", whole[:20], "header.gguf"),
            ("text.gguf", b"not a model", "not a GGUF file"),
            ("none.gguf", b"", "empty"),
        ):
            path = FOLDER / name
            path.write_bytes(content)
            self.refused([name, expected], model=path)
        self.refused(["absent.gguf", "No such file"], model=FOLDER / "absent.gguf")
        self.refused("config.json", model=FOLDER, prompt=("--prompt-ids", "1"))
        self.refused([str(FOLDER), "config.json is missing"], model=FOLDER)

    def test_logits_that_are_no_numbers(self):
        spoiled = tiny_model.write(FOLDER / "spoiled.gguf", spoil=float("nan"))
        self.refused(["position 5", "nan"], "--json", prompt=("--prompt", "the_cat"), model=spoiled)


class Arguments(ProgramTest):
    def test_errors_of_options_name_the_commands_help(self):
        for command in (("generate",), ("chat",), ("entropy",), ("tokenize",), ("logits",), ("bench", "verify"), ("tune",), ("learn",)):
            self.refuses(f"(see augur {' '.join(command)} --help)", *command)
        for command in ("generate", "chat", "entropy", "tokenize"):
            self.refuses(["--nonsense", f"(see augur {command} --help)"], command, "--model", TARGET, "--nonsense")
        self.refuses("(see augur --help)", "nonsense")
        self.refuses("(see augur bench --help)", "bench")
        self.refuses(["--temperature is 'x'", "(see augur generate --help)"], "generate", "-m", TARGET, "-p", "a", "--temperature", "x")
        self.refuses(["0 were given", "(see augur generate --help)"], "generate", "-m", TARGET)
        done = run("generate", "-m", FOLDER / "absent.gguf", "-p", "a")
        self.assertNotIn(b"--help", done.stderr)  # nothing is wrong with the options

    def test_parser_errors_are_one_line_too(self):
        self.refuses("subcommand")
        self.refuses("subcommand", "bench")
        self.refuses(["'generat' is no command of augur; valid are generate, answer, ", "(see augur --help)"], "generat", "-m", TARGET)
        self.refuses(["'verfy' is no command of augur bench; valid are verify, schemes", "(see augur bench --help)"], "bench", "verfy")
        self.refuses("'--nonsense' is no command of augur; ", "--nonsense")
        self.refuses("--model", "generate", "--prompt", "a")
        self.refuses("--speed", "generate", "--model", TARGET, "--prompt", "a", "--speed")
        self.refuses("--temperature", "generate", "--model", TARGET, "--prompt", "a", "--temperature")
        self.refuses("--model", "generate", "--model", TARGET, "--model", TARGET, "--prompt", "a")
        self.refuses("--prompt", "generate", "--model", TARGET, "--prompt", "a\nb", "--prompt", "c\nd")

    def test_help_is_no_error(self):
        for command in ((), ("generate",), ("chat",), ("entropy",), ("tokenize",), ("logits",), ("bench",), ("bench", "verify")):
            done = run(*command, "--help")
            self.assertEqual((0, b""), (done.returncode, done.stderr))
            self.assertIn(b"Usage: augur", done.stdout)

    def test_help_shows_the_everyday_options_in_groups_and_how_to_see_all(self):
        shown, every = (run("generate", "--help", *more).stdout.decode() for more in ((), ("all",)))
        for group in ("Model", "Prompt", "Text", "Output", "Drafting"):
            self.assertRegex(shown, rf"(?m)^{group}$")
        flags = [re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text) for text in (shown, every)]
        self.assertLess(set(flags[0]), set(flags[1]))
        self.assertRegex(shown, rf"\n{len(flags[1]) - len(flags[0])} more: augur generate --help all\n")
        self.assertEqual(len(flags[1]), len(set(flags[1])))
        self.assertEqual(3, len(re.findall(r"(?m)^  augur generate -m", shown)))
        self.assertLessEqual(max(map(len, every.splitlines())), 120)  # but for words that are longer
        self.assertIn("all", run("generate", "-m", "all", "--help").stdout.decode())

    def test_llama_cpps_names_of_options_are_taken(self):
        words = ("-p", "a", "-n", 9, "--scheme", "plain", "--json")
        ours = run("generate", "-m", TARGET, *words, "--context", 64, "--threads", 1, "--temperature", 0.7, "--seed", 3, "--top-p", 0.9)
        self.assertEqual(0, ours.returncode, ours.stderr)
        ids = json.loads(ours.stdout)["ids"]
        for theirs in (("-c", 64, "-t", 1, "--temp", 0.7, "-s", 3, "--top_p", 0.9), ("--ctx-size=64", "-t", 1, "--temp=0.7", "-s", 3, "--top_p=0.9")):
            done = run("generate", "-m", TARGET, *words, *theirs)
            self.assertEqual((0, b""), (done.returncode, done.stderr))
            self.assertEqual(ids, json.loads(done.stdout)["ids"])
        self.refuses(["--gpu-layers is 99", "llama.cpp"], "generate", "-m", TARGET, *words, "--engine", "augur", "-ngl", 99)
        text = run("generate", "-m", TARGET, "-p", "-t", "-n", 3, "--scheme", "plain", "--json")  # a value is no option
        same = run("generate", "-m", TARGET, "--prompt=-t", "-n", 3, "--scheme", "plain", "--json")
        self.assertEqual([0, 0], [text.returncode, same.returncode], text.stderr)
        self.assertEqual(*(json.loads(done.stdout)["ids"] for done in (text, same)))

    def test_an_option_that_is_not_there_names_the_nearest(self):
        for wrong, right in (("--temprature", "--temperature"), ("--max-token", "--max-tokens"), ("-seed", "--seed"), ("--promt-file", "--prompt-file")):
            self.refuses([f"'{wrong}' is no option of augur generate; did you mean {right}? (see"], "generate", "-m", TARGET, wrong, 1)
        for wrong in ("--nonsense", "-nlong", "-x", "-pa"):
            done = run("generate", "-m", TARGET, wrong, "1")
            self.assertEqual(f"augur: error: '{wrong}' is no option of augur generate (see augur generate --help)\n", done.stderr.decode())
        self.assertEqual(4, len(json.loads(run("generate", "-m", TARGET, "-p", "a", "-n4", "--ignore-eos", "--json").stdout)["ids"]))

    def test_shells_complete_commands_and_options(self):
        script = run("completion", "bash").stdout.decode()
        ask = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _augur; printf "%s\\n" "${COMPREPLY[@]}"'
        for words, expected in ((("augur", "gen"), ["generate"]), (("augur", "generate", "--max-t"), ["--max-tokens"]),
                                (("augur", "bench", "ver"), ["verify"]), (("augur", "bench", "verify", "--row"), ["--rows"])):  # fmt: skip
            done = subprocess.run(["bash", "-c", script + ask, "bash", *words], capture_output=True, text=True, check=True)
            self.assertEqual((expected, ""), (done.stdout.split(), done.stderr))
        for shell, word in (("zsh", "'--max-tokens:"), ("fish", "-l max-tokens -r")):
            script = run("completion", shell).stdout
            self.assertIn(word.encode(), script)
            if shutil.which(shell):
                subprocess.run([shell, "-n", "/dev/stdin"], input=script, check=True)
        self.refuses(["'tcsh'", "bash, zsh, fish"], "completion", "tcsh")
        page = run("man").stdout
        self.assertIn(b"\\fB\\-\\-max\\-tokens, \\-n\\fR N", page)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-z"], input=page, capture_output=True, check=True)
            self.assertEqual(b"", done.stderr)

    def test_help_shows_every_flag_of_the_contract(self):
        shown = run("generate", "--help", "all").stdout.decode()
        for flag in (
            "model draft prompt prompt-file prompt-ids chat scheme accept length max-tokens temperature top-k top-p min-p "
            "seed threads device compare json trace report record weights"
        ).split():
            self.assertIn(f"--{flag} ", shown)
        for pair in ("-m, --model", "-p, --prompt", "-n, --max-tokens"):
            self.assertIn(pair, shown)
        accept = ROOT / "include" / "augur" / "accept"
        others = {"concept", "walk"}
        for criterion in sorted({path.stem for path in accept.glob("*.hpp")} - others):
            self.assertRegex(shown, rf"\b{criterion}\b")

    def test_n_is_max_tokens_of_every_command_that_has_it(self):
        with_prompts = ("--prompts", FOLDER / "none.jsonl")
        for command in (
            ("generate",),
            ("chat",),
            ("answer", *with_prompts),
            ("learn", *with_prompts),
            ("bench", "schemes", "--scheme", "lookup", *with_prompts),
            ("tune", "--schemes", "sd", "--work", FOLDER / "none", "--output", FOLDER / "none.json", *with_prompts),
            ("grow", "--output", FOLDER / "none.json", *with_prompts),
        ):
            self.refuses("augur: error: --max-tokens is 'x'; it must be a whole number", *command, "--model", TARGET, "-n", "x")

    def test_version(self):
        done = self.works("--version")
        project = re.search(r"project\(augur VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        lines = done.stdout.decode().splitlines()
        self.assertEqual(f"augur {project}", lines[0])
        self.assertRegex(lines[1], r"\Acompiler  (g\+\+|clang) \d")
        here = re.fullmatch(r"kernels   portable, avx2, avx512, avx512_bf16, amx; on this machine (\w+)", lines[2])[1]
        self.assertIn(here, "portable, avx2, avx512, avx512_bf16, amx")
        self.assertRegex(lines[3], r"\Adevices   cpu")


class Outputs(ProgramTest):
    def test_a_member_that_a_search_may_find_is_not_written(self):
        """By whatever name; found before a model is looked at."""
        members = family("searched", ["draft", "eagle", "exit"])
        texts = FOLDER / "searched.jsonl"
        texts.write_text('{"prompt": "the cat"}\n')
        page = FOLDER / "searched.html"
        page.symlink_to(members / "tiny" / "draft.gguf")
        linked = FOLDER / "searched_too"
        linked.symlink_to(members)
        before = {path: path.read_bytes() for path in (members / "tiny").iterdir()}
        grow, learn = ("grow", "--prompts", texts), ("learn", "--prompts", texts)
        tune = ("tune", "--schemes", "sd", "--prompts", texts, "--work", FOLDER / "searched_work")
        for path in (members / "tiny" / "draft.gguf", linked / "tiny" / "eagle.gguf", page):
            commands = [("entropy", "-p", "a", "--draft", "draft", "--chart"), (*grow, "--output"), (*grow, "--output", FOLDER / "b", "--state"),
                        (*tune, "--output"), (*learn, "--output"), (*learn, "--replay"), ("generate", "-p", "a", "--state"), ("chat", "-p", "a", "--state")]  # fmt: skip
            if path == page:
                commands += [("generate", "-p", "a", "--report"), (*grow, "--output", FOLDER / "b", "--report"),
                             (*tune, "--output", FOLDER / "b", "--report"), (*learn, "--report")]  # fmt: skip
            for command in commands:
                with self.subTest(command=command, path=path):
                    self.refuses(["would overwrite", "which is read"], *command, path, "--model", FOLDER / "none.gguf", family=members)
        self.assertEqual(before, {path: path.read_bytes() for path in (members / "tiny").iterdir()})

    def test_tokens_of_a_head_that_are_read_are_not_written(self):
        own = tiny_model.write_checkpoint(FOLDER / "tokens.gguf", "exit", FINGERPRINT)
        texts = FOLDER / "tokens.jsonl"
        texts.write_text('{"prompt": "the cat"}\n')
        self.refuses(["would overwrite", own], "learn", "--model", TARGET, "--prompts", texts, "--head-tokens", own, "--output", own)

    def test_a_link_to_a_file_that_is_not_there_is_followed(self):
        folder = FOLDER / "linked"
        (folder / "there").mkdir(parents=True)
        texts = folder / "texts.jsonl"
        texts.write_text('{"prompt": "the cat"}\n')
        learn = ("learn", "--prompts", texts, "-n", 3)
        for number, command in enumerate((
            ("logits", "-p", "a", "--output"), ("entropy", "-p", "a", "--chart"), ("answer", "--prompts", texts, "-n", 3, "--output"),
            ("generate", "-p", "the the the the", "--scheme", "lookup", "--ignore-eos", "-n", 9, "--state"), (*learn, "--output"), (*learn, "--replay"),
        )):  # fmt: skip
            link, other, file = folder / f"link{number}", folder / "there" / f"other{number}", folder / "there" / f"file{number}"
            link.symlink_to(pathlib.Path("there") / other.name)
            other.symlink_to(file)
            with self.subTest(command):
                self.works(*command, link, "--model", TARGET)
                self.assertEqual((True, True, False), (link.is_symlink(), other.is_symlink(), file.is_symlink()))
                self.assertGreater(file.stat().st_size, 0)
        lost = folder / "lost"
        lost.symlink_to(folder / "none" / "file")
        for command in (("logits", "-p", "a", "--output"), (*learn, "--output")):
            self.refuses(["cannot write", "lost", "No such file"], *command, lost, "--model", TARGET)
        self.assertTrue(lost.is_symlink())

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            for more in ((), ("--json",)):
                done = run("generate", "--model", TARGET, "--prompt", "a", *more, stdout=full)
                self.assertEqual(1, done.returncode)
                self.assertEqual(b"augur: error: cannot write to standard output: No space left on device\n", done.stderr)
        self.refuses(
            ["/dev/full", "No space left"], "generate", "--model", TARGET, "--prompt", "a", "--json", "--trace", "/dev/full"
        )
        self.refuses(["/dev/full", "No space left"], "logits", "--model", TARGET, "--prompt", "a", "--output", "/dev/full")

    def test_folders_that_are_not_there(self):
        for arguments in (("logits", "--output"), ("generate", "--json", "--trace")):
            path = FOLDER / "absent" / "file"
            self.refuses([str(path), "No such file"], arguments[0], "--model", TARGET, "--prompt", "a", *arguments[1:], path)


if __name__ == "__main__":
    unittest.main()
