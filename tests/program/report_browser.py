#!/usr/bin/env python3
"""The page of --report in a browser: its console is silent, and what it says is what the record says."""

import html
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, PROMPTS, ProgramTest  # noqa: E402
from report_runs import HOSTILE, LENGTH, SCHEMES  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


class InABrowser(ProgramTest):
    def opened(self, path):
        """The page's elements once its script has run, and what its console said."""
        with_log = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=4000")
        done = subprocess.run([BROWSER, *with_log, "--dump-dom", path.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        console = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
        return done.stdout.decode("utf-8"), console

    def check(self, name, *arguments):
        path, record = FOLDER / f"{name}.html", FOLDER / f"{name}.json"
        made = self.generated(*LENGTH, *arguments, "--report", path, "--record", record)
        shown, console = self.opened(path)
        self.assertEqual([], console)
        self.assertIn('data-ready="yes"', shown)
        said = lambda pattern: html.unescape(re.search(pattern, shown, re.DOTALL).group(1))
        text = said(r'<span id="generated">(.*?)</span></div>')
        plain = html.unescape(re.sub(r"<[^>]*>", "", re.search(r'<span id="generated">(.*?)</span></div>', shown, re.DOTALL).group(1)))
        self.assertEqual(made["text"], plain, text[:200])
        self.assertEqual(made["guarantee"], said(r'id="guarantee">(.*?)<'))
        self.assertEqual(f"{made['tokens_per_second']:.1f}", said(r'data-key="tokens_per_second">(.*?)<'))
        self.assertEqual(f"{made['accepted_length']:.2f}", said(r'data-key="accepted_length">(.*?)<'))
        if made["stages"][-1]["drafted"]:
            self.assertEqual(f"{100 * made['acceptance']:.1f} %", said(r'data-key="acceptance">(.*?)<'))
        shown_counts = [int(each.replace(",", "")) for each in re.findall(r'<li data-kind=.*?<b>([\d,]+)</b>', shown)]
        self.assertEqual(len(made["ids"]), sum(shown_counts))
        return shown

    def test_what_it_says_is_what_the_record_says(self):
        for scheme in ("plain", "lookup", "sd", "psd_f", "ead"):
            with self.subTest(scheme):
                temperature = ("--temperature", 1) if scheme == "psd_f" else ()
                self.check(f"shown_{scheme}", "--prompt", PROMPTS[1], "--scheme", scheme, *SCHEMES[scheme], *temperature)

    def test_a_prompt_that_looks_like_a_script_is_shown(self):
        shown = self.check("shown_hostile", "--prompt", HOSTILE, "--compare")
        self.assertIn("&lt;/script&gt;&lt;script&gt;alert(1)", shown.split('id="record"')[0])


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium is installed")
        sys.exit(77)
    unittest.main()
