#!/usr/bin/env python3
"""The page of --report in a browser: its console is silent, and what it says is what the record says."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, PROMPTS, ProgramTest  # noqa: E402
from record_runs import GROW, LEARN, TEXTS, TUNE, given, prompts  # noqa: E402
from report_runs import HOSTILE, LENGTH, SCHEMES  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


class InABrowser(ProgramTest):
    def opened(self, path):
        """The page's elements once its script has run, and what its console said."""
        with_log = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=4000")
        done = subprocess.run([BROWSER, *with_log, "--dump-dom", path.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        console = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
        return done.stdout.decode("utf-8"), console

    def drawn(self, path):
        """The page's elements; it was drawn to its end, and its console is silent."""
        shown, console = self.opened(path)
        self.assertEqual([], console)
        self.assertIn('data-ready="yes"', shown)
        return shown.split('id="record"')[0]

    def drawn_of(self, name, command):
        path, record = FOLDER / f"{name}.html", FOLDER / f"{name}.json"
        self.works(*command, "--report", path, "--record", record)
        return self.drawn(path), json.loads(record.read_text())

    @staticmethod
    def text_of(markup):
        return html.unescape(re.sub(r"<[^>]*>", "", markup))

    def figure(self, shown, key):
        return html.unescape(re.search(rf'data-key="{key}">(.*?)<', shown, re.DOTALL).group(1))

    def check(self, name, *arguments):
        path, record = FOLDER / f"{name}.html", FOLDER / f"{name}.json"
        result = self.generated(*LENGTH, *arguments, "--report", path, "--record", record)
        shown = self.drawn(path)
        said = lambda pattern: html.unescape(re.search(pattern, shown, re.DOTALL).group(1))
        text = said(r'<span id="generated">(.*?)</span></div>')
        plain = html.unescape(re.sub(r"<[^>]*>", "", re.search(r'<span id="generated">(.*?)</span></div>', shown, re.DOTALL).group(1)))
        self.assertEqual(result["text"], plain, text[:200])
        self.assertEqual(result["guarantee"], said(r'id="guarantee">(.*?)<'))
        self.assertEqual(f"{result['tokens_per_second']:.1f}", said(r'data-key="tokens_per_second">(.*?)<'))
        self.assertEqual(f"{result['accepted_length']:.2f}", said(r'data-key="accepted_length">(.*?)<'))
        if result["stages"][-1]["drafted"]:
            self.assertEqual(f"{100 * result['acceptance']:.1f} %", said(r'data-key="acceptance">(.*?)<'))
        shown_counts = [int(each.replace(",", "")) for each in re.findall(r'<li data-kind=.*?<b>([\d,]+)</b>', shown)]
        self.assertEqual(len(result["ids"]), sum(shown_counts))
        count = len(result["prompt_ids"])
        self.assertIn(f'<details class="fold"><summary>prompt, {count} token{"s" if count > 1 else ""}</summary>', shown)  # closed
        self.assertEqual("plain" not in result and result["scheme"] != "plain", 'id="how"' in shown)
        return shown

    def test_what_it_says_is_what_the_record_says(self):
        for scheme in ("plain", "lookup", "sd", "psd_f", "ead"):
            with self.subTest(scheme):
                temperature = ("--temperature", 1) if scheme == "psd_f" else ()
                self.check(f"shown_{scheme}", "--prompt", PROMPTS[1], "--scheme", scheme, *SCHEMES[scheme], *temperature)

    def test_a_prompt_that_looks_like_a_script_is_shown(self):
        shown = self.check("shown_hostile", "--prompt", HOSTILE, "--compare")
        self.assertIn("&lt;/script&gt;&lt;script&gt;alert(1)", shown)

    def test_seeds_are_whole_and_a_speedup_says_how_well_it_is_known(self):
        shown = self.check("shown_seed", "--prompt", "a", "--seed", 2**64 - 1, "--compare", "--compare-seconds", 0)
        self.assertIn("18446744073709551615", shown)
        self.assertIn("× (one pair of runs), not known to 5 %", shown)
        compared = json.loads((FOLDER / "shown_seed.json").read_text())["result"]["compared"]
        self.assertFalse(compared["known"])

    def test_learning(self):
        texts = prompts("shown_learn.jsonl", [*TEXTS, ("<b>", HOSTILE)])
        shown, record = self.drawn_of("shown_learn", given(LEARN, "--passes", 2, "--prompts", texts))
        result, last = record["result"], record["texts"][-1]
        self.assertEqual(result["guarantee"], re.search(r'id="guarantee">(.*?)<', shown)[1])
        self.assertEqual(f"{result['tokens_per_second']:.1f}", self.figure(shown, "tokens_per_second"))
        self.assertEqual(f"{result['accepted_length']:.2f}", self.figure(shown, "accepted_length"))
        self.assertEqual(f"{100 * result['acceptance']:.1f} %", self.figure(shown, "acceptance"))
        self.assertEqual(f"{100 * last['acceptance']:.1f} %", self.figure(shown, "last_acceptance"))
        self.assertEqual(f"{last['learning']['updates']:,}", self.figure(shown, "updates"))
        counts = dict(re.findall(r'<span class="generated" data-text="(\d+)">(.*?)</span></div>', shown, re.DOTALL))
        self.assertEqual([*map(str, range(len(record["texts"])))], [*counts])
        for number, text in enumerate(record["texts"]):
            own = record["tokens"][text["first_token"] :][: text["tokens"]]
            self.assertEqual("".join(token["text"] for token in own), self.text_of(counts[str(number)]))
        self.assertIn("&lt;/script&gt;&lt;script&gt;alert(1)", shown)
        figures = re.findall(r'<figure data-figure="([^"]*)"', shown)
        for name in ("Acceptance", "Losses", "Lambda and alpha", "Spread of the logits", "Updates", "Where the time goes"):
            self.assertIn(name, figures)
        dots = re.search(r'<figure data-figure="Acceptance">.*?</figure>', shown, re.DOTALL)[0].count("<circle") - 1  # the legend's
        self.assertEqual(sum(text["drafted"] > 0 for text in record["texts"]), dots)

    def test_tuning(self):
        work = ("--work", FOLDER / "shown_work", "--output", FOLDER / "shown_calibration.json")
        shown, record = self.drawn_of("shown_tune", (*TUNE, *work))
        parts = dict(re.findall(r'<section data-search="(.*?)">(.*?)</section>', shown, re.DOTALL))
        self.assertEqual(["sd all", "fsd all"], [*parts])
        for search, part in zip(record["searches"], parts.values(), strict=True):
            chosen = search["candidates"][search["chosen"]]
            self.assertEqual(f"{chosen['speedup']:.2f}", self.figure(part, "speedup"))
            distance = lambda each: f"{each['divergence']:.4f}" if each["divergence"] else "0"
            self.assertEqual(distance(chosen), self.figure(part, "divergence"))
            self.assertEqual(str(chosen["settings"]["length"]), self.figure(part, "length"))
            rows = re.findall(r'<tr data-candidate="\d+".*?</tr>', part)
            for each, row in zip(search["candidates"], rows, strict=True):
                cells = [self.text_of(cell) for cell in re.findall(r"<td>.*?</td>", row)]
                self.assertEqual([f"{each['speedup']:.2f}", distance(each), str(each["prompts"]), str(each["tokens"])], cells[-5:-1])
            self.assertEqual([search["chosen"]], [i for i, row in enumerate(rows) if "chosen" in row])
            self.assertIn('data-figure="Speed by length"', part)
            lossy = any(each["divergence"] > 0 for each in search["candidates"])
            self.assertEqual(lossy, 'data-figure="Speed against divergence"' in part)
            last = search["rungs"][-1]["prompts"]
            alone = sum(each["prompts"] == last for each in search["candidates"]) == 1
            self.assertRegex(part, "the only one measured on all" if alone else "a divergence of" if lossy else "the fastest of the")

    def test_growing(self):
        shown, record = self.drawn_of("shown_grow", (*GROW, "--output", FOLDER / "shown_bank.json"))
        trees = record["result"]["trees"]
        fastest = trees[record["result"]["aggressive"]]
        self.assertEqual(str(len(record["measured"])), self.figure(shown, "measured"))
        self.assertEqual(str(len(trees)), self.figure(shown, "kept"))
        self.assertEqual(f"{fastest['tokens_per_second']:.1f}", self.figure(shown, "tokens_per_second"))
        drawn = dict(re.findall(r'<figure data-tree="(\d+)">(.*?)</figure>', shown, re.DOTALL))
        self.assertEqual(len(trees), len(drawn))
        for place, tree in enumerate(trees):
            self.assertIn(f"{tree['tokens_per_second']:.1f} tokens/s", drawn[str(place)])
            self.assertEqual(len(tree["paths"]) + 1, drawn[str(place)].count("<circle"))
        dots = re.search(r'<figure data-figure="Accepted length by nodes">.*?</figure>', shown, re.DOTALL)[0].count("<circle") - 1
        self.assertEqual(len(record["measured"]), dots)


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium is installed")
        sys.exit(77)
    unittest.main()
