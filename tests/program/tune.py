#!/usr/bin/env python3
"""What `augur tune` measures, keeps and finds, and what `augur generate --calibration` makes of it."""

import fcntl
import itertools
import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from calibration_text import compact, parsed, with_checksum  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, PROGRAM, TARGET, ProgramTest, environment, run  # noqa: E402

TASKS = ("code", "talk")
NAMES = map("tune{}".format, itertools.count())


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def keys_of(lines):
    return [(line["scheme"], json.dumps(line["settings"]), line["prompt"]) for line in lines if "scheme" in line]


class Tune(ProgramTest):
    def setUp(self):
        self.folder = FOLDER / next(NAMES)
        self.folder.mkdir()
        self.work = self.folder / "work"
        self.output = self.folder / "calibration.json"
        self.prompts = self.folder / "prompts.jsonl"
        entries = [{"task": TASKS[i % 2], "prompt": f"one two {i} one two"} for i in range(4)]
        self.prompts.write_text("".join(json.dumps(entry) + "\n" for entry in entries))

    def command(self, *more, schemes="sd,fsd", candidates=4, first=1):
        return (
            "tune", "--model", TARGET, "--draft", DRAFT, "--schemes", schemes, "--prompts", self.prompts, "--work", self.work,
            "--output", self.output, "--candidates", candidates, "--first", first, "--max-tokens", 6, "--threads", 1,
            "--temperature", 1, *more,
        )  # fmt: skip

    def found(self, *more, **options):
        self.works(*self.command(*more, **options))
        return parsed(self.output.read_text())

    def test_every_scheme_and_task_has_an_entry(self):
        found = self.found("--per-task", schemes="sd,eaad,fsd,ead")
        self.assertEqual(FINGERPRINT, found["identity"]["target"])
        expected = set(itertools.product(("sd", "eaad", "fsd", "ead"), ("all", *TASKS)))
        self.assertEqual(expected, {(entry["scheme"], entry["task"]) for entry in found["entries"]})
        for entry in found["entries"]:
            self.assertEqual(4 if entry["task"] == "all" else 2, entry["prompts"])
            front = [(each["divergence"], each["speedup"]) for each in entry["front"]]
            self.assertEqual(sorted(set(front)), front)
            self.assertIn((entry["divergence"], entry["speedup"]), front)
            if entry["scheme"] in ("sd", "eaad"):
                self.assertEqual((0, 1), (entry["divergence"], len(front)))
        self.assertFalse(list(self.folder.glob("*.part")))

    def test_the_fastest_within_the_distance_is_chosen(self):
        found = self.found("--max-divergence", 1, schemes="fsd")["entries"][0]
        self.assertEqual(max(each["speedup"] for each in found["front"]), found["speedup"])
        strict = self.found("--max-divergence", 0, schemes="fsd")["entries"][0]
        self.assertEqual(min(each["divergence"] for each in strict["front"]), strict["divergence"])
        self.assertLessEqual(strict["divergence"], found["divergence"])

    def test_what_was_measured_is_not_measured_again(self):
        first = self.found()
        before = (self.work / "all.jsonl").read_bytes()
        self.assertEqual(first, self.found())
        self.assertEqual(before, (self.work / "all.jsonl").read_bytes())
        keys = keys_of(lines_of(self.work / "all.jsonl"))
        self.assertEqual(len(set(keys)), len(keys))

    def test_it_goes_on_after_being_killed(self):
        journal = self.work / "all.jsonl"
        command = [PROGRAM, *map(str, self.command(candidates=8))]
        for wanted in (3, 8, 14):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
            while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > wanted):
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
            kept = journal.read_bytes()
            self.assertGreater(kept.count(b"\n"), wanted)
            self.assertFalse(self.output.exists() and process.returncode != 0)
            journal.write_bytes(kept + b'{"scheme":"sd","sett')  # a line that was being written
        self.works(*command[1:])
        self.assertTrue(journal.read_bytes().startswith(kept))
        keys = keys_of(lines_of(journal))
        self.assertEqual(len(set(keys)), len(keys))
        self.assertTrue(self.output.exists())

    def test_shards_measure_apart_and_what_they_have_is_enough(self):
        for shard in ("1/2", "2/2"):
            done = run(*self.command("--shard", shard))
            self.assertEqual((0, b""), (done.returncode, done.stdout))
            self.assertFalse(self.output.exists())
        parts = [keys_of(lines_of(self.work / f"{i}_of_2.jsonl")) for i in (1, 2)]
        self.assertTrue(parts[0] and parts[1])
        self.assertFalse(set(parts[0]) & set(parts[1]))
        self.assertEqual({"sd", "fsd"}, {entry["scheme"] for entry in self.found()["entries"]})
        own = keys_of(lines_of(self.work / "all.jsonl"))
        self.assertFalse(set(own) & set(parts[0] + parts[1]))

    def test_a_journal_has_one_writer_and_one_subject(self):
        self.found()
        with open(self.work / "all.jsonl", "ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.refuses("another process", *self.command())
        self.refuses(["line 1", '"seed":7', "--work"], *self.command("--seed", 7))
        self.refuses(["line 1", '"context":256', '"context":64', "--work"], *self.command("--context", 64))
        with open(self.work / "all.jsonl", "ab") as file:
            file.write(b"what?\n")
        self.refuses(["all.jsonl, line"], *self.command())

    def test_generate_uses_what_was_found(self):
        found = self.found(schemes="sd")["entries"][0]["settings"]["length"]
        arguments = ("--prompt", "one two one two", "--scheme", "sd", "--draft", DRAFT, "--threads", 1, "--temperature", 1)
        calibrated = (*arguments, "--calibration", self.output)
        self.assertEqual(f"fixed_length{{.tokens={found}}}", self.generated(*calibrated)["settings"]["policy"])
        given = self.generated(*calibrated, "--length", 7)
        self.assertEqual("fixed_length{.tokens=7}", given["settings"]["policy"])

    def test_auto_takes_the_fastest_lossless_scheme_of_a_calibration(self):
        found = self.found(schemes="sd,eaad,fsd")
        entries = {entry["scheme"]: entry for entry in found["entries"]}
        arguments = ("--prompt", "one two one two", "--draft", DRAFT, "--threads", 1, "--temperature", 1, "--calibration", self.output)
        for speeds, scheme in (((1.5, 1.2, 9), "sd"), ((1.1, 1.2, 9), "eaad"), ((0.9, 1.01, 9), "eaad")):
            for name, speed in zip(("sd", "eaad", "fsd"), speeds):
                entries[name]["speedup"] = speed
            self.output.write_text(with_checksum(compact(found)))
            result = self.generated(*arguments)
            self.assertEqual((scheme, "auto"), (result["scheme"], result["settings"]["requested_scheme"]))
            if scheme == "sd":
                self.assertEqual(f"fixed_length{{.tokens={entries['sd']['settings']['length']}}}", result["settings"]["policy"])
                self.assertEqual("fixed_length{.tokens=7}", self.generated(*arguments, "--length", 7)["settings"]["policy"])
        entries["eaad"]["speedup"] = entries["sd"]["speedup"] = 0.9
        self.output.write_text(with_checksum(compact(found)))
        self.assertEqual("eaad", self.generated(*arguments, noting="no lossless scheme")["scheme"])  # what auto is with --draft
        self.refuses(["task 'poetry'", str(self.output)], "generate", "--model", TARGET, *arguments, "--task", "poetry")

    def test_generate_says_what_does_not_fit(self):
        self.found(schemes="sd")
        arguments = ("generate", "--model", TARGET, "--prompt", "one", "--draft", DRAFT, "--calibration", self.output)
        done = run(*arguments, "--scheme", "sd", "--threads", 2)
        self.assertEqual(0, done.returncode)
        self.assertIn(b"threads was 1 and is 2", done.stderr)
        self.assertIn(b"temperature was 1.0 and is 0.0", done.stderr)
        same = ("--threads", 1, "--temperature", 1)
        self.refuses(["'eaad'", "'all'"], *arguments, *same, "--scheme", "eaad")
        self.refuses(["'sd'", "'poetry'"], *arguments, *same, "--scheme", "sd", "--task", "poetry")
        other = tiny_model.write(FOLDER / "other.gguf", seed=3, layers=2)
        self.refuses(["target", FINGERPRINT], "generate", "--model", other, *arguments[3:], *same, "--scheme", "sd")
        self.refuses(["draft"], *arguments[:-4], "--draft", other, *arguments[-2:], *same, "--scheme", "sd")

    def test_drafts_in_folders_are_told_apart(self):
        drafts = [tiny_model.write_folder(self.folder / f"draft{seed}", seed=seed) for seed in (5, 6)]
        with_draft = [[drafts[i] if each == DRAFT else each for each in self.command(schemes="sd", candidates=1)] for i in (0, 1)]
        self.works(*with_draft[0])
        self.refuses(["line 1", '"draft":', "--work"], *with_draft[1])
        arguments = ("generate", "--model", TARGET, "--prompt", "one", "--scheme", "sd", "--calibration", self.output, "--draft")
        self.works(*arguments, drafts[0])
        self.refuses([str(self.output), "draft"], *arguments, drafts[1])

    def test_a_damaged_calibration_is_refused(self):
        text = json.dumps(self.found(schemes="sd"))
        arguments = ("generate", "--model", TARGET, "--prompt", "one", "--scheme", "sd", "--draft", DRAFT, "--threads", 1)
        for damaged, message in (
            (text.replace('"length": ', '"length": 1'), "checksum"),
            (text[:-2], "parse error"),
            (text.replace('"augur.calibration": 1', '"augur.calibration": 2'), "version"),
            ("{}", "augur.calibration"),
            ("", "it is empty"),
        ):
            self.assertNotEqual(text, damaged)
            self.output.write_text(damaged)
            self.refuses([str(self.output), message], *arguments, "--calibration", self.output)
        self.refuses("cannot read", *arguments, "--calibration", self.folder / "none.json")

    def test_numbers_of_calibrations_have_the_ranges_of_flags(self):
        text = compact(self.found(schemes="sd"))
        arguments = ("generate", "--model", TARGET, "--prompt", "one", "--scheme", "sd", "--draft", DRAFT, "--threads", 1)
        calibration = ("--calibration", self.output)
        length = json.loads(text)["entries"][0]["settings"]["length"]
        for number in ("1e+30", "-1", "1.5", "1025", "1.8446744073709552e+19", "null", '"3"', "[3]"):
            self.output.write_text(with_checksum(text.replace(f'"length":{length}', f'"length":{number}')))
            self.refuses([str(self.output), "entry 0", "length"], *arguments, *calibration)
        self.output.write_text(with_checksum(text.replace('"speedup":', '"speedup":1e+308,"old":')))
        self.refuses([str(self.output), "speedup", "1e+308"], *arguments, *calibration)
        self.output.write_text(with_checksum(text.replace('"scheme":"sd"', '"scheme":"sd\\u001b[2J"')))
        self.refuses([str(self.output), "\\x1b[2J"], *arguments, *calibration)
        self.output.write_text(with_checksum(text.replace(FINGERPRINT, "f" * 1_000_000)))
        self.refuses([str(self.output), "target", "(1000002 bytes)"], *arguments, *calibration)
        self.output.write_text(with_checksum(text))
        self.works(*arguments, *calibration)
        for flag, number in (("--length", 1025), ("--lookup-max", 65), ("--window", 4097), ("--thresholds", "1e300")):
            self.refuses([flag, "at most"], *arguments, flag, number)

    def test_bad_options(self):
        for more, expected in (
            (("--shard", "3/2"), "3/2"),
            (("--shard", "0/2"), "0/2"),
            (("--shard", "2"), "'2'"),
            (("--factor", "1"), ["--factor: the factor is 1", "(see augur tune --help)"]),
            (("--first", "0"), ["--first: ", "0 problems"]),
            (("--candidates", "0"), "--candidates is 0"),
            (("--max-tokens", "0"), "--max-tokens is 0"),
            (("--max-divergence", "-1"), "-1"),
            (("--temperature", "-1"), "--temperature: temperature is -1"),
        ):
            command = self.command()
            if more[0] in command:
                place = command.index(more[0])
                command = command[:place] + command[place + 2 :]
            self.refuses(expected, *command, *more)
        self.refuses("'plain'", *self.command(schemes="plain"))
        self.refuses("--schemes names 'sd' twice", *self.command(schemes="sd,fsd,sd"))
        self.prompts.write_text('{"prompt": "one"}\n{"text": "two"}\n')
        self.refuses(["line 2", "prompt"], *self.command())
        self.prompts.write_text("")
        self.refuses("no prompts", *self.command())
        self.prompts.unlink()
        self.prompts.mkdir()
        self.refuses([str(self.prompts), "is a directory"], *self.command())
        self.refuses(["1000001", "1000000"], *self.command("--factor", 1000001))
        self.assertFalse(self.work.exists())

    def test_a_prompt_that_is_too_long_is_found_before_the_first_measurement(self):
        lines = self.prompts.read_text().splitlines(keepends=True)
        with_long = [*lines[:2], json.dumps({"task": "code", "prompt": "one two " * 200}) + "\n", *lines[2:]]
        self.prompts.write_text("".join(with_long))
        self.refuses([f"{self.prompts}, line 3", "256", "--skip-long"], *self.command())
        self.assertFalse(self.work.exists())
        done = self.works(*self.command("--skip-long", schemes="sd"))
        self.assertRegex(done.stderr, rb"\Aaugur: note: [^\n]*1 of 5 prompts[^\n]*256[^\n]*line 3\n")
        self.assertEqual(4, json.loads(self.output.read_text())["entries"][0]["prompts"])
        before = (self.work / "all.jsonl").read_bytes()
        self.prompts.write_text("".join(lines))  # the same prompts as far as they count
        self.found(schemes="sd")
        self.assertEqual(before, (self.work / "all.jsonl").read_bytes())
        self.prompts.write_text(with_long[2])
        self.refuses(["no prompts", "256"], *self.command("--skip-long"))

    def test_the_shorter_context_counts_where_the_draft_writes(self):
        short = tiny_model.write(FOLDER / "short.gguf", seed=2, layers=1, context=64)
        self.prompts.write_text(json.dumps({"prompt": "0123456789" * 10}) + "\n")
        command = [short if each == DRAFT else each for each in self.command(schemes="ead", candidates=1)]
        self.refuses(["line 1", "context of 64"], *command)
        self.works(*[short if each == DRAFT else each for each in self.command(schemes="sd", candidates=1)])

    def test_prompts_may_lie_among_the_journals(self):
        self.work.mkdir()
        self.prompts = self.prompts.rename(self.work / "prompts.jsonl")
        self.found(schemes="sd")
        self.found(schemes="sd")
        self.prompts = self.prompts.rename(self.work / "all.jsonl")
        kept = self.prompts.read_bytes()
        self.refuses(["--prompts", "all.jsonl"], *self.command())
        self.assertEqual(kept, self.prompts.read_bytes())

    def test_a_calibration_may_lie_among_the_journals(self):
        self.output = self.work / "calibration.json"
        self.found(schemes="sd")
        self.found(schemes="sd")

    def test_ctrl_c_keeps_what_was_measured_and_nothing_else(self):
        journal = self.work / "all.jsonl"
        command = [PROGRAM, *map(str, self.command(candidates=8))]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        self.assertEqual(1, process.returncode)
        self.assertRegex(said, rb"augur: error: interrupted; [^\n]+\n\Z")
        self.assertIn(str(self.work).encode(), said)
        self.assertTrue(journal.read_bytes().endswith(b"\n"))
        self.assertFalse(self.output.exists())
        self.works(*command[1:])

    def test_figures_of_journals_have_ranges(self):
        self.found(schemes="sd", candidates=1)
        journal = self.work / "all.jsonl"
        header, line = journal.read_text().splitlines()[:2]
        figures = json.loads(line)
        for key, value in (("prompt", -1), ("prompt", 1.5), ("tokens", 1e30), ("tokens", "3"), ("seconds", -1.0), ("seconds", 1e-300),
                           ("plain_seconds", 1e308), ("divergence", 1e300), ("divergence", None), ("settings", 3)):  # fmt: skip
            (self.work / "2_of_2.jsonl").write_text(header + "\n" + json.dumps({**figures, key: value}) + "\n")
            self.refuses(["2_of_2.jsonl, line 2", key], *self.command(schemes="sd", candidates=1))


if __name__ == "__main__":
    unittest.main()
