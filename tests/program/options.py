#!/usr/bin/env python3
"""Every option of `augur generate` under every scheme: the scheme uses it, or it is refused with one line that names it. An option that
is added is a line here."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, HAS_LLAMA_CPP, TARGET, ProgramTest, family, run  # noqa: E402

TREE = FOLDER / "options_tree.json"
TREE.write_text("[[0], [1], [0, 0]]")
OTHER = tiny_model.write(FOLDER / "options_other.gguf", seed=3, layers=1)
GRAMMAR = FOLDER / "options.gbnf"
GRAMMAR.write_text('root ::= "ab" [a-z]*')
HEADS = family("options", ("medusa", "hydra", "eagle"), FINGERPRINT)

# What each scheme needs to decode here; the others are tried by what they refuse.
SCHEMES = {
    "plain": (),
    "lookup": (),
    "suffix": (),
    "merged": ("--draft", DRAFT),
    "sd": ("--draft", DRAFT),
    "eaad": ("--draft", DRAFT),
    "eaad_as_published": ("--draft", DRAFT),
    "hysteresis": ("--draft", DRAFT),
    "medusa": ("--heads", HEADS / "tiny/medusa.gguf"),
    "hydra": ("--heads", HEADS / "tiny/hydra.gguf"),
    "eagle": ("--heads", HEADS / "tiny/eagle.gguf"),
    "kangaroo": ("--untrained",),
    "dvi": (),
    "fsd": ("--draft", DRAFT),
    "psd_a": ("--draft", DRAFT, "--draft", TARGET),
    "psd_f": ("--draft", DRAFT, "--draft", TARGET),
    "psd_f_as_published": ("--draft", DRAFT, "--draft", TARGET),
    "fsd_as_published": ("--draft", DRAFT),
    "psd_a_as_published": ("--draft", DRAFT, "--draft", TARGET),
    "cascade": ("--draft", DRAFT, "--draft", OTHER),
    "ead": ("--draft", DRAFT),
    **({"forced": ("--grammar", GRAMMAR)} if HAS_LLAMA_CPP else {}),
}
ALL = set(SCHEMES)
OF_THREE = {"psd_a", "psd_a_as_published", "psd_f", "psd_f_as_published"}
LOSSY = OF_THREE | {"fsd", "fsd_as_published", "cascade"}

# Of options for some schemes: a value, and the schemes that decode with it.
OF_SCHEMES = {
    "--accept": ("coupled", ALL - LOSSY - {"ead", "eaad_as_published"}),  # plain: how its one draw is made
    "--divergence-temperature": (2, set()),  # with --accept fuzzy_greedy alone
    "--epsilon": (0.1, set()),  # with --accept typical alone
    "--delta": (0.1, set()),
    "--length": (3, ALL - OF_THREE - {"plain", "merged", "cascade"}),
    "--divergence": ("hellinger", LOSSY),
    "--signal": ("target_entropy", {"eaad", "hysteresis"}),
    "--tree": (TREE, {"lookup", "suffix", "sd", "medusa", "hydra", "eagle", "merged"}),
    "--bank": (FOLDER / "no_bank.json", set()),
    "--tree-policy": ("ladder", set()),  # with a bank
    "--tree-feature": ("entropy", set()),
    "--max-k": (3, {"eaad", "eaad_as_published"}),
    "--bins": ("0.5,1,2", {"eaad", "eaad_as_published"}),
    "--bin-lengths": ("4,3,2,2", {"eaad", "eaad_as_published"}),
    "--learn-bins": (None, {"eaad"}),
    "--lookup-min": (2, {"lookup", "forced", "merged"}),
    "--lookup-max": (6, {"lookup", "forced", "merged"}),
    "--thresholds": ("0.5", {"hysteresis", "kangaroo", "dvi", "fsd", "fsd_as_published", "psd_a", "psd_a_as_published", "ead"}),
    "--exit-layer": (1, {"kangaroo", "dvi"}),
    "--adapter": (FOLDER / "no_adapter", set()),
    "--untrained": (None, {"kangaroo"}),
    "--lengths": ("1,3", OF_THREE | {"cascade"}),
    "--window": (3, {"ead"}),
    "--dwell": (4, {"ead"}),
    "--draft": (DRAFT, {"merged", "sd", "eaad", "eaad_as_published", "hysteresis", "fsd", "fsd_as_published", "ead"}),
    "--heads": (HEADS / "tiny/eagle.gguf", {"eagle", "merged"}),  # the latter with --heads or --draft
}
# What says something whatever the scheme is (sampling at temperature 0 is harmless), or needs another option (errors.py).
OF_ALL = """--help --model --weights --cache --threads --context --prompt --prompt-file --prompt-ids --chat --system --scheme
--max-tokens --temperature --top-k --top-p --min-p --seed --repetition-penalty --presence-penalty --frequency-penalty --logit-bias --stop
--grammar --json-schema --ignore-eos --device --engine --gpu-layers --rpc --compare --compare-seconds --json --report --record --trace --state --calibration --task""".split()


class Options(ProgramTest):
    def test_all_options_are_in_the_table(self):
        listed = set(re.findall(r"(--[a-z][a-z-]*)", self.works("generate", "--help", "all").stdout.decode()))
        known = set(OF_SCHEMES) | set(OF_ALL)
        declared = {option for option in listed if option in known}
        self.assertEqual(known, declared | {"--help"}, "no longer an option of generate")
        lines = self.works("generate", "--help", "all").stdout.decode().splitlines()
        own = {match[1] for line in lines if (match := re.match(r"\s+(?:-\w,\s*)?(--[a-z][a-z-]*)", line))}
        self.assertEqual(set(), own - known, "an option that the table does not know")

    def test_an_option_is_used_or_refused(self):
        for option, (value, users) in OF_SCHEMES.items():
            for scheme, needed in SCHEMES.items():
                more = [option] if value is None else [option, value]
                if option in needed and (option == "--untrained" or list(needed[-2:]) == [option, value]):
                    continue
                if scheme in users and option in needed:
                    continue
                if (option, scheme) == ("--heads", "merged"):
                    needed = ()
                with self.subTest(option=option, scheme=scheme):
                    done = run("generate", "--model", TARGET, "--prompt", "a", "--max-tokens", 2, "--scheme", scheme, *needed, *more)
                    said = done.stderr.decode()
                    if scheme in users:
                        self.assertEqual((0, False), (done.returncode, "error" in said), said)
                    else:
                        self.assertEqual((1, b""), (done.returncode, done.stdout), said)
                        self.assertRegex(said, r"\Aaugur: error: [^\n]+\n\Z")
                        self.assertTrue(option.lstrip("-") in said or str(value) in said, said)


if __name__ == "__main__":
    unittest.main()
