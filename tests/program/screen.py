#!/usr/bin/env python3
"""What people see where there is no terminal: text alone in a pipe, and a table at the end. See terminal.py for the other."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROGRAM, PROMPTS, TARGET, ProgramTest, environment  # noqa: E402

ESCAPE = b"\x1b"
# Nothing but letters is said, and the draft guesses well enough for every origin to appear.
LETTERS = [f"{token}=60" for token in range(3 + 65, 3 + 91)]
ARGUMENTS = ["generate", "--model", TARGET, "--draft", DRAFT, "--scheme", "sd", "--length", "2", "--prompt", "a", "--temperature",
             "0.9", "--accept", "rejection_sampling", "--max-tokens", "150"]  # fmt: skip
ARGUMENTS += [word for bias in LETTERS for word in ("--logit-bias", bias)]
ENDLESS = ["generate", "--model", tiny_model.write(FOLDER / "endless.gguf", context=1 << 24), "--prompt", "a", "--ignore-eos",
           "--max-tokens", str(1 << 23)]  # fmt: skip


class Pipe(ProgramTest):
    def test_text_alone_on_standard_output(self):
        done = self.works(*ARGUMENTS)
        self.assertEqual(self.object(*ARGUMENTS)["text"], done.stdout.decode())
        self.assertNotIn(ESCAPE, done.stdout + done.stderr)

    def test_table(self):
        table = self.works("generate", "--model", TARGET, "--prompt", PROMPTS[1]).stderr.decode()
        for expected in (r"scheme +lookup \(chosen by auto\), length as it pays, accept exact", "same text as plain greedy decoding",
                         r"tokens per second +\d+\.\d", r"accepted length +\d\.\d\d", r"acceptance .*\d+ of \d+ drafted",
                         *(rf"{part} +\d+\.\d\d\d s" for part in ("prefill", "draft", "verify", "accept", "other"))):  # fmt: skip
            self.assertRegex(table, expected)
        self.assertNotRegex(table, r"\bplain +lookup\b")

    def test_table_says_who_drafts_why_it_stopped_and_which_bound_holds(self):
        letters = [word for bias in LETTERS for word in ("--logit-bias", bias)]
        last = self.generated("-p", "a", *letters, "-n", 20)["text"][-1]
        for more, expected in (
            (("-n", 5), r"\nended +at --max-tokens 5\n"),
            (("--logit-bias", "2=1000"), r"\nended +the model's end token <\|im_end\|>\n"),
            (("--context", 16), r"\nended +the context of 16 tokens is full\n"),
            ((*letters, "--stop", last, "-n", 20), rf"\nended +before --stop '{last}'\n"),
            (("--scheme", "sd", "--draft", DRAFT), rf"\ndrafter +{re.escape(DRAFT)}\n"),
            (("--scheme", "fsd", "--draft", DRAFT, "--thresholds", 0.3), r"\npromise +.*total_variation of at most 0\.3\n"),
        ):
            table = self.works("generate", "-m", TARGET, "-p", "a", *more).stderr.decode()
            self.assertRegex(table, expected)

    def test_table_compares(self):
        table = self.works("generate", "--model", TARGET, "--prompt", PROMPTS[1], "--compare").stderr.decode()
        self.assertRegex(table, r"text +identical to plain decoding, 128 tokens")
        self.assertRegex(table, r"speed +\d+\.\d\d times plain decoding's \(\d+\.\d\d to \d+\.\d\d with 95 % confidence, \d+ pairs of runs(\)| in \d+ s\): not known to 5 %)\n")
        one = self.works("generate", "-m", TARGET, "-p", "a", "--compare", "--compare-seconds", 0).stderr.decode()
        self.assertRegex(one, r"speed +\d+\.\d\d times plain decoding's, from one pair of runs: not known to 5 %\n")
        self.assertRegex(table, r"\n +plain +lookup\n +tokens per second +\d+\.\d +\d+\.\d +\d+\.\d\d x\n")
        published = ("--scheme", "eaad_as_published", "--draft", DRAFT, "--max-tokens", 20)
        table = self.works("generate", "--model", TARGET, "--prompt", PROMPTS[1], *published, "--compare").stderr.decode()
        self.assertRegex(table, r"\n +plain +eaad_as_published\n +tokens per second +\d+\.\d +\d+\.\d +\d+\.\d\d x\n")
        table = self.works(*ARGUMENTS, "--compare").stderr.decode()
        self.assertRegex(table, r"text +differs from plain decoding from token \d+ on")

    def test_table_shows_bins(self):
        table = self.works("generate", "--model", TARGET, "--prompt", "a", "--draft", DRAFT).stderr.decode()
        self.assertRegex(table, r"below 0\.50 +4 +\d+")
        self.assertRegex(table, r"above +1 +\d+")

    def test_whoever_reads_may_leave(self):
        process = subprocess.Popen([PROGRAM, *ARGUMENTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        process.stdout.close()
        self.assertEqual(b"", process.stderr.read())
        process.stderr.close()
        self.assertEqual(-signal.SIGPIPE, process.wait())


def caught(process):
    """The signals for which a process has handlers, as bits."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"SigCgt:\s*([0-9a-f]+)", status)[1], 16)


class ControlC(ProgramTest):
    def test_ends_with_what_there_is(self):
        process = subprocess.Popen(
            [PROGRAM, *ENDLESS, "--compare"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0
        )
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, table = process.communicate(timeout=60)
        self.assertEqual(0, process.returncode)
        (first + rest).decode("utf-8")
        self.assertIn(b"by Ctrl-C", table)
        self.assertIn(b"tokens per second", table)
        self.assertNotIn(b"identical", table)

    def test_is_heard_while_a_long_prompt_is_read(self):
        """It would take a quarter of an hour. Signals are caught from then on."""
        path = FOLDER / "long.txt"
        path.write_text("ab" * 200_000)
        command = [PROGRAM, "generate", "--model", ENDLESS[2], "--prompt-file", path, "--scheme", "plain", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        while not caught(process.pid) & 1 << (signal.SIGINT - 1):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=120)
        self.assertEqual((0, b""), (process.returncode, said))
        result = json.loads(printed)
        self.assertEqual(("cancelled", [], 0), (result["finish_reason"], result["ids"], result["rounds"]))

    def test_object_too(self):
        """The trace goes to a pipe, whose first byte tells that decoding has begun."""
        path = FOLDER / "rounds"
        os.mkfifo(path)
        process = subprocess.Popen([PROGRAM, *ENDLESS, "--json", "--trace", path], stdout=subprocess.PIPE, env=environment())
        with open(path, "rb", buffering=0) as trace:
            trace.read(1)
            process.send_signal(signal.SIGINT)
            while trace.read(1 << 16):
                pass
        printed, _ = process.communicate(timeout=60)
        self.assertEqual((0, "cancelled"), (process.returncode, json.loads(printed)["finish_reason"]))


if __name__ == "__main__":
    unittest.main()
