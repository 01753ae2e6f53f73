#!/usr/bin/env python3
"""What people see: text alone in a pipe; on a terminal colours, a legend, a live rate; a table at the end of both."""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROGRAM, PROMPTS, TARGET, ProgramTest, environment, run  # noqa: E402

ESCAPE = b"\x1b"
COLOURS = {"accepted": "\x1b[32m", "correction": "\x1b[33m", "bonus": "\x1b[36m"}
# Nothing but letters is said, and the draft guesses well enough for every origin to appear.
LETTERS = [f"{token}=60" for token in range(3 + 65, 3 + 91)]
ARGUMENTS = ["generate", "--model", TARGET, "--draft", DRAFT, "--scheme", "sd", "--length", "2", "--prompt", "a", "--temperature",
             "0.9", "--accept", "rejection_sampling", "--max-tokens", "150"]  # fmt: skip
ARGUMENTS += [word for bias in LETTERS for word in ("--logit-bias", bias)]
ENDLESS = ["generate", "--model", tiny_model.write(FOLDER / "endless.gguf", context=1 << 24), "--prompt", "a", "--ignore-eos",
           "--max-tokens", str(1 << 23)]  # fmt: skip


def on_terminal(*arguments, interrupt_at=None, **changes):
    """Exit code and everything that appears, both streams being one terminal. Ctrl-C comes once `interrupt_at` is there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    variables = environment(**{"TERM": "xterm-256color", **changes})
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, env=variables)
    os.close(slave)
    seen = b""
    while True:
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:  # how Linux says that nobody holds the other end any more
            break
        if not chunk:
            break
        seen += chunk
        if interrupt_at and interrupt_at in seen:
            process.send_signal(signal.SIGINT)
            interrupt_at = None
    os.close(master)
    return process.wait(), seen.decode("utf-8").replace("\r\n", "\n")


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

    def test_table_compares(self):
        table = self.works("generate", "--model", TARGET, "--prompt", PROMPTS[1], "--compare").stderr.decode()
        self.assertRegex(table, r"text +identical to plain decoding, 128 tokens")
        self.assertRegex(table, r"\n +plain +lookup\n +tokens per second +\d+\.\d +\d+\.\d +\d+\.\d\d x\n")
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


class Terminal(ProgramTest):
    def test_tokens_are_coloured_by_origin_below_a_legend(self):
        code, seen = on_terminal(*ARGUMENTS)
        self.assertEqual(0, code)
        origins = set(self.object(*ARGUMENTS)["origins"])
        self.assertLessEqual({"accepted", "correction", "bonus"}, origins)
        legend, rest = seen.split("\n", 1)
        for name, colour in COLOURS.items():
            self.assertIn(f"{colour}\u25cf {name}", legend)
            self.assertEqual(name in origins, colour in rest, name)

    def test_text_is_the_same_below_the_paint(self):
        text = self.object(*ARGUMENTS)["text"]
        self.assertRegex(text, r"\A[A-Z]{100,}\Z")
        _, seen = on_terminal(*ARGUMENTS)
        painted = re.findall("\x1b\\[3[236]m([A-Z]+)\x1b\\[0m", seen)
        self.assertEqual(text, "".join(painted))

    def test_no_color(self):
        _, seen = on_terminal(*ARGUMENTS, NO_COLOR="1")
        self.assertNotRegex(seen, "\x1b\\[[0-9;]*m")
        self.assertNotIn("\u25cf", seen)

    def test_dumb_terminal(self):
        _, seen = on_terminal(*ARGUMENTS, TERM="dumb")
        self.assertNotIn("\x1b", seen)
        self.assertTrue(seen.startswith(self.object(*ARGUMENTS)["text"] + "\n"))

    def test_json_stays_json(self):
        _, seen = on_terminal(*ARGUMENTS, "--json")
        self.assertRegex(seen.split("\x1b[K")[-1], r"\A\{[^\x1b]*\}\n\Z")

    def test_a_model_cannot_drive_the_terminal(self):
        """The model says nothing but one byte, or two in turn; a byte's letter is the token 3 + byte."""
        for bytes_said in ((0x1B,), (0xC2, 0x9B)):
            said = [word for byte in bytes_said for word in ("--logit-bias", f"{3 + byte}=1000")]
            if len(bytes_said) == 2:
                said += ["--frequency-penalty", 10]
            _, seen = on_terminal("generate", "--model", TARGET, "--prompt", "a", *said, "--max-tokens", 6, NO_COLOR="1")
            self.assertIn("?", seen)
            self.assertNotIn("\x1b\x1b", seen)
            self.assertNotIn("\x9b", seen)

    def test_live_rate(self):
        """It stands below the text and is wiped before more text comes, at the end too."""
        code, seen = on_terminal(*ENDLESS, interrupt_at=b"tokens/s")
        self.assertEqual(0, code)
        self.assertRegex(seen, "\x1bD\x1bM\x1b7\x1b\\[B\r\x1b\\[2m\\d+\\.\\d tokens/s, \\d+ tokens\x1b\\[0m\x1b\\[K\x1b8")
        self.assertEqual(seen.count("\x1b8"), seen.count("\x1b8\x1b[J"))


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
