"""Runs the program under test, with tiny models that are made for it once."""

import atexit
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import tiny_model

PROGRAM = os.environ["AUGUR_PROGRAM"]
_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
FOLDER = pathlib.Path(_folder.name)
TARGET = tiny_model.write(FOLDER / "target.gguf", seed=1, layers=2)
FINGERPRINT = tiny_model.fingerprint(tiny_model.model_tensors(1, 2, 32, tiny_model.VOCABULARY))  # of the target
DRAFT = tiny_model.write(FOLDER / "draft.gguf", seed=2, layers=1)
HAS_LLAMA_CPP = b"not in this build" not in subprocess.run([PROGRAM, "--version"], capture_output=True, check=True).stdout
PROMPTS = ("the cat", "one two one two one two", "0123456789" * 8, "Grüße, 世界!\n")


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    return {**kept, **changes}


def family(folder, kinds, target=FINGERPRINT):
    """A folder with a family of these members in it."""
    (FOLDER / folder / "tiny").mkdir(parents=True)
    for kind in kinds:
        tiny_model.write_checkpoint(FOLDER / folder / "tiny" / f"{kind}.gguf", kind, target)
    return FOLDER / folder


def run(*arguments, **options):
    """The finished process, its output as bytes. `family`: where it looks for members; nowhere if there is none."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        timeout=300,
        env=environment(AUGUR_FAMILY=str(options.pop("family", FOLDER / "none"))),
        check=False,
        **options,
    )


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def works(self, *arguments, **options):
        """What it printed; it must have ended well."""
        done = run(*arguments, **options)
        self.assertEqual((0, b""), (done.returncode, done.stderr if done.returncode else b""), arguments)
        return done

    def object(self, *arguments, **options):
        """The one JSON object that it printed; nothing else may be there, but one note that holds the text `noting`."""
        noting = options.pop("noting", None)
        done = self.works(*arguments, "--json", **options)
        if noting is None:
            self.assertEqual(b"", done.stderr)
        else:
            self.assertRegex(done.stderr, rb"\Aaugur: note: [^\n]*%s[^\n]*\n\Z" % re.escape(noting.encode()))
        self.assertEqual(1, done.stdout.count(b"\n"))
        return json.loads(done.stdout.decode("utf-8"))

    def generated(self, *arguments, model=TARGET, **options):
        return self.object("generate", "--model", model, *arguments, **options)

    def refuses(self, expected, *arguments, printed=b"", **options):
        """Exit code 1 and one line on standard error that holds every one of the expected texts."""
        done = run(*arguments, **options)
        message = done.stderr.decode("utf-8")
        self.assertEqual((1, printed), (done.returncode, done.stdout), message)
        self.assertRegex(message, r"\Aaugur: error: [^\n]+\n\Z")
        for text in [expected] if isinstance(expected, str) else expected:
            self.assertIn(text, message)
