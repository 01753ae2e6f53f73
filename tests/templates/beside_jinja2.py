#!/usr/bin/env python3
"""Chat templates as people have them, on conversations with systems, turns, blanks, tools and parts: the text is Jinja2's.

    beside_jinja2.py           renders them with AUGUR_RENDER_TEMPLATE and compares with what Jinja2 wrote, which is stored
                               (expected.json: the first 8 digits of each text's SHA-256, `-` where Jinja2 refuses), and,
                               where it can be imported, with what it writes now
    beside_jinja2.py --write   stores that anew; needs Jinja2

Those of published/ are always there: Mistral's and Phi's, as llama.cpp's test of chat templates has them. The files that llama.cpp
ships are in llama-templates of AUGUR_MODEL_DIRECTORY, if examples/fetch.py vectors has put them there.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

import conversations

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
FOLDER = pathlib.Path(os.environ.get("AUGUR_MODEL_DIRECTORY", "")) / "llama-templates"
REQUESTS = [(case, prompt) for case in conversations.CASES for prompt in (True, False)]


def sources():
    return {path.name: path.read_bytes().decode() for folder in (HERE / "published", FOLDER) for path in sorted(folder.glob("*.jinja"))}


def is_fetched():
    return any(FOLDER.glob("*.jinja"))


def mark(text):
    return "-" if text is None else hashlib.sha256(text.encode()).hexdigest()[:8]


def by_jinja(template):
    compiled = conversations.environment().from_string(template)
    return [conversations.rendered_by_jinja(conversations.asked(template, *each), compiled) for each in REQUESTS]


def by_augur(template):
    """The same by the library; None where it refuses."""
    lines = "".join(json.dumps(conversations.asked(template, *each)) + "\n" for each in REQUESTS)
    done = subprocess.run(
        [os.environ["AUGUR_RENDER_TEMPLATE"]], input=lines, capture_output=True, text=True, timeout=300, check=True
    )
    return [json.loads(line).get("text") for line in done.stdout.split("\n")[:-1]]


def write():
    stored = {name: " ".join(map(mark, by_jinja(text))) for name, text in sources().items()}
    EXPECTED.write_text(json.dumps(stored, indent=0) + "\n", encoding="utf-8")


class Templates(unittest.TestCase):
    def compare(self, name, template, expected, rendered):
        self.assertEqual(len(REQUESTS), len(rendered))
        for request, theirs, ours in zip(REQUESTS, expected, map(mark, rendered)):
            self.assertEqual(theirs, ours, (name, request))

    def test_every_text_is_what_jinja2_wrote(self):
        stored = json.loads(EXPECTED.read_text(encoding="utf-8"))
        if is_fetched():
            self.assertEqual(sorted(stored), sorted(sources()))
        self.assertGreater(len(sources()), 9)
        written = refused = 0
        for name, template in sources().items():
            marks = stored[name].split()
            self.assertEqual(len(REQUESTS), len(marks))
            self.assertTrue(set(marks) != {"-"}, name + " is refused whatever is said")
            rendered = by_augur(template)
            with self.subTest(name):
                self.compare(name, template, marks, rendered)
                if conversations.jinja2:
                    self.compare(name, template, list(map(mark, by_jinja(template))), rendered)
            written += len(REQUESTS) - marks.count("-")
            refused += marks.count("-")
        beside = "and beside Jinja2 " + conversations.jinja2.__version__ if conversations.jinja2 else "(no Jinja2 here)"
        print(f"{len(sources())} templates, {written} texts equal, {refused} refused by both, {beside}")
        if not is_fetched():
            print(f"without those of llama.cpp, which are not in {FOLDER} (examples/fetch.py vectors)")


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--write"] else unittest.main()
