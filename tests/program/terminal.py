#!/usr/bin/env python3
"""What people see on a terminal: colours, a legend, a live rate, a table at the end. Skipped where none can be opened."""

import fcntl
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

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from screen import ARGUMENTS, ENDLESS  # noqa: E402
from program import PROGRAM, TARGET, ProgramTest, environment  # noqa: E402

COLOURS = {"accepted": "\x1b[32m", "correction": "\x1b[33m", "bonus": "\x1b[36m"}


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

    def test_nor_can_it_drive_a_dumb_one(self):
        said = ("--logit-bias", f"{3 + 0x1B}=1000", "--max-tokens", 6)
        _, seen = on_terminal("generate", "--model", TARGET, "--prompt", "a", *said, TERM="dumb")
        self.assertTrue(seen.startswith("??????"), seen)
        _, seen = on_terminal("tokenize", "--model", TARGET, "--decode", "--ids", f"{3 + 0x1B},{3 + 0xC2},{3 + 0x9B}")
        self.assertEqual("??\n", seen)
        _, seen = on_terminal("tokenize", "--model", TARGET, "--decode", "--json", "--ids", f"{3 + 0x1B},{3 + 0xC2},{3 + 0x9B}")
        self.assertIn('"text":"\\u001b\\u009b"', seen)
        self.assertNotIn("\x9b", seen)

    def test_live_rate(self):
        """It stands below the text and is wiped before more text comes, at the end too."""
        code, seen = on_terminal(*ENDLESS, interrupt_at=b"tokens/s")
        self.assertEqual(0, code)
        self.assertRegex(seen, "\x1bD\x1bM\x1b7\x1b\\[B\r\x1b\\[2m\\d+\\.\\d tokens/s, \\d+ tokens\x1b\\[0m\x1b\\[K\x1b8")
        self.assertEqual(seen.count("\x1b8"), seen.count("\x1b8\x1b[J"))


if __name__ == "__main__":
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as problem:
        print(f"skipped: no terminal can be opened here ({problem})")
        sys.exit(77)
    unittest.main()
