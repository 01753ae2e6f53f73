#!/usr/bin/env python3
"""Texts of a grammar and JSON of a schema: what they hold, equal by every scheme, and what is refused."""

import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, HAS_LLAMA_CPP, TARGET, ProgramTest  # noqa: E402

SCHEMAS = {
    "person": {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 6}, "age": {"type": "integer"}, "state": {"enum": ["in", "out", None]}},
        "required": ["name", "age"],
    },
    "list": {"type": "array", "items": {"anyOf": [{"type": "boolean"}, {"const": {"thethe": 1}}]}, "minItems": 2, "maxItems": 3},
}
SCHEMES = {"plain": (), "lookup": ("--length", 3), "forced": ("--length", 3), "auto": (), "sd": ("--draft", DRAFT), "eaad": ("--draft", DRAFT)}


def file_of(name, content):
    path = FOLDER / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def admits(name, value):
    if name == "list":
        return isinstance(value, list) and 2 <= len(value) <= 3 and all(each in (True, False, {"thethe": 1}) for each in value)
    wanted = {"name", "age"}
    return (
        wanted <= set(value) <= wanted | {"state"}
        and len(value["name"]) <= 6
        and isinstance(value["age"], int)
        and value.get("state") in ("in", "out", None)
    )


@unittest.skipUnless(HAS_LLAMA_CPP, "the program has no llama.cpp")
class Grammars(ProgramTest):
    def test_json_is_what_the_schema_admits_and_equal_by_every_scheme(self):
        for name, schema in SCHEMAS.items():
            path = file_of(f"{name}.schema", schema)
            for temperature in (0, 1):
                plain = None
                for scheme, more in SCHEMES.items():
                    with self.subTest(schema=name, temperature=temperature, scheme=scheme):
                        got = self.generated(
                            "--prompt", "the", "--max-tokens", 120, "--temperature", temperature, "--seed", 3,
                            "--scheme", scheme, *more, "--json-schema", path,
                        )  # fmt: skip
                        self.assertTrue(admits(name, json.loads(got["text"])), got["text"])
                        plain = plain or got
                        self.assertEqual(plain["ids"], got["ids"])
                        self.assertEqual(str(path), got["settings"]["json_schema"])
                        if scheme == "forced":
                            self.assertLess(got["rounds"], plain["rounds"])

    def test_a_grammar_says_what_the_text_is(self):
        path = file_of("some.gbnf", 'root ::= "the " ("cat" | "dog") [!.]{2}')
        for scheme in (("plain",), ("forced",), ("forced", "--engine", "llama.cpp"), ("ead", "--draft", DRAFT, "--thresholds", 8)):
            got = self.generated("--prompt", "a", "--scheme", *scheme, "--grammar", path)
            self.assertRegex(got["text"], r"\Athe (cat|dog)[!.]{2}\Z")
            self.assertEqual((scheme[0], "stop_token"), (got["scheme"], got["finish_reason"]))

    def test_every_answer_of_a_conversation_is_of_the_grammar(self):
        path = file_of("answer.gbnf", 'root ::= ("yes" | "no") "!"')
        reading, writing = os.pipe()
        os.write(writing, b"A\nB\n/scheme forced\nC\n/scheme auto\nD\n")
        os.close(writing)
        with open(reading, "rb") as piped:
            done = self.works("chat", "--model", TARGET, "--scheme", "plain", "--grammar", path, stdin=piped)
        self.assertRegex(done.stdout.decode(), r"\A((yes|no)!\n){4}\Z")
        self.assertEqual(2, done.stderr.count(b"the scheme is forced"), done.stderr)

    def test_what_cannot_be_is_refused(self):
        def refused(expected, *arguments):
            self.refuses(expected, "generate", "--model", TARGET, "--prompt", "a", *arguments)

        good = file_of("good.gbnf", 'root ::= "a"')
        refused("--json-schema: JSON schema, at '#': 'minimum' is not supported here",
                "--json-schema", file_of("bad.schema", {"type": "integer", "minimum": 3}))  # fmt: skip
        refused(["--grammar is ", " and --json-schema "], "--grammar", good, "--json-schema", file_of("any.schema", "{}"))
        refused("--ignore-eos is given, but the end of a text is part of its grammar", "--grammar", good, "--ignore-eos")
        other = tiny_model.write(FOLDER / "other.gguf", words=tiny_model.sentencepiece(), vocabulary=tiny_model.sentencepiece_size())
        refused(["--grammar is ", "good.gbnf, a grammar of one vocabulary's tokens", "different vocabularies"],
                "--grammar", good, "--scheme", "ead", "--draft", other)  # fmt: skip
        refused("--grammar: ", "--grammar", FOLDER / "none.gbnf")
        folder = tiny_model.write_folder(FOLDER / "folder") or FOLDER / "folder"
        self.refuses("a grammar needs the vocabulary of a GGUF file", "generate", "--model", folder, "--prompt-ids", "1",
                     "--grammar", good)  # fmt: skip


@unittest.skipIf(HAS_LLAMA_CPP, "the program has llama.cpp")
class WithoutLlamaCpp(ProgramTest):
    def test_that_is_said_in_a_line(self):
        self.refuses("--grammar and --json-schema need llama.cpp, and this program was built without it", "generate", "--model", TARGET,
                     "--prompt", "a", "--grammar", file_of("good.gbnf", 'root ::= "a"'))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
