#!/usr/bin/env python3
"""What learn, tune and grow leave in --record and --report: what they print and write, and no more is said than that."""

import json
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, PROGRAM, TARGET, ProgramTest, environment  # noqa: E402
from record_runs import GROW, LEARN, TEXTS, TUNE, given, prompts  # noqa: E402
from report_page import check_page  # noqa: E402
from report_runs import HOSTILE  # noqa: E402


class Records(ProgramTest):
    def setUp(self):
        self.folder = FOLDER / "_".join(self.id().split(".")[-2:])
        self.folder.mkdir()
        self.record, self.page = self.folder / "record.json", self.folder / "page.html"
        self.files = ("--record", self.record, "--report", self.page)

    def written(self, command):
        record = json.loads(self.record.read_text())
        self.assertEqual(("augur run", 1, command), (record["format"], record["version"], record["command"]))
        self.assertEqual(("target", TARGET), tuple(record["models"][-1].values()))
        check_page(self, record, self.page.read_text(encoding="utf-8"))
        self.assertEqual([], [*self.folder.glob("*.part")])
        return record


class Learn(Records):
    def learned(self, *arguments):
        """The record, and the objects that were printed."""
        done = self.works(*given(LEARN, *arguments), "--json", *self.files)
        return self.written("learn"), [json.loads(line) for line in done.stdout.decode().splitlines()]

    def check_texts(self, record, held):
        """Tokens and rounds are those of the held texts, one after the other."""
        texts, tokens, rounds = record["texts"], record["tokens"], record["rounds"]
        self.assertEqual(held, [number for number, text in enumerate(texts) if "first_token" in text])
        first = 0
        for number in held:
            self.assertEqual(first, texts[number]["first_token"])
            first += texts[number]["tokens"]
        self.assertEqual(len(tokens), first)
        self.assertEqual(len(rounds), sum(texts[number]["rounds"] for number in held))
        self.assertEqual([each["id"] for each in tokens], [token for each in rounds for token in each["committed"]])
        self.assertEqual([i for i, each in enumerate(rounds) for _ in each["committed"]], [each["round"] for each in tokens])
        self.assertEqual(sum(texts[number]["accepted"] for number in held), sum(each["origin"] == "accepted" for each in tokens))
        for times in ([each["seconds"] for each in tokens], [each["start"] for each in rounds]):
            self.assertEqual(sorted(times), times)

    def test_texts_are_what_is_printed(self):
        record, printed = self.learned("--passes", 3, "--compare")
        self.assertEqual(9, len(printed))
        written = [each["id"] for each in record["tokens"]]
        for line, text in zip(printed, record["texts"], strict=True):
            self.assertEqual(line.pop("ids"), written[text["first_token"] :][: text["tokens"]])
            self.assertEqual(line, {key: text[key] for key in line})
        self.assertEqual([0] * 3 + [1] * 3 + [2] * 3, [text["pass"] for text in record["texts"]])
        self.check_texts(record, [*range(9)])
        result = record["result"]
        for total in ("tokens", "rounds", "drafted", "accepted"):
            self.assertEqual(sum(text[total] for text in record["texts"]), result[total])
        self.assertEqual(printed[-1]["served"], result["tokens"])
        self.assertAlmostEqual(result["accepted"] / result["drafted"], result["acceptance"])
        self.assertAlmostEqual(result["tokens"] / result["rounds"], result["accepted_length"])
        self.assertAlmostEqual(sum(text["seconds"]["draft"] for text in record["texts"]), result["seconds"]["draft"])
        self.assertGreater(printed[-1]["learning"]["updates"], 0)
        self.assertEqual(self.generated("--prompt", "a", "--scheme", "dvi", "--max-tokens", 1)["guarantee"], result["guarantee"])

    def test_texts_are_those_of_generate(self):
        record, _ = self.learned()
        for text, (_, prompt) in zip(record["texts"], TEXTS, strict=True):
            plain = self.generated("--prompt", prompt, "--scheme", "plain", "--max-tokens", text["tokens"])
            own = record["tokens"][text["first_token"] :][: text["tokens"]]
            self.assertEqual(plain["ids"], [each["id"] for each in own])
            self.assertEqual(plain["text"], "".join(each["text"] for each in own))
            self.assertEqual(prompt, text["prompt"])

    def test_a_text_is_data(self):
        record, _ = self.learned("--prompts", prompts("hostile.jsonl", [("<b>", HOSTILE)]))
        self.assertEqual(HOSTILE, record["texts"][0]["prompt"])
        page = self.page.read_text(encoding="utf-8")
        self.assertNotIn("alert(1)</script>", page)
        self.assertNotIn("\u2028", page)

    def test_what_is_held_does_not_grow_with_what_is_served(self):
        record, _ = self.learned("--passes", 17, "--max-tokens", 220, "--every", 1_000_000)
        texts = record["texts"]
        held = [number for number, text in enumerate(texts) if "first_token" in text]
        self.assertGreater(sum(text["tokens"] for text in texts), 10_000)
        self.assertLessEqual(len(record["tokens"]), 10_000)
        self.assertEqual([0, *range(len(texts) - len(held) + 1, len(texts))], held)
        self.check_texts(record, held)

    def test_ctrl_c_leaves_what_was_learned_until_then(self):
        command = [PROGRAM, *map(str, (*LEARN, "--json", "--passes", 100000, *self.files))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(AUGUR_FAMILY=str(FOLDER / "none")))
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        printed = [first, *map(json.loads, process.communicate()[0].splitlines())]
        self.assertEqual(0, process.returncode)
        self.assertEqual([line["served"] for line in printed], [text["served"] for text in self.written("learn")["texts"]])

    def test_paths_are_refused_before_work_begins(self):
        for files, expected in (
            (("--report", self.folder / "x.txt"), ["--report", "x.txt", ".html"]),
            (("--record", self.folder / "x.html"), ["--record", "x.html", ".json"]),
            (("--report", self.folder / "none" / "x.html"), ["No such file"]),
            (("--report", self.folder), ["--report", "directory"]),
            (("--record", self.folder / "a.json", "--output", self.folder / "a.json"), ["--record", "a.json"]),
            (("--record", self.folder / "a.json", "--replay", self.folder / "a.json"), ["--record", "a.json"]),
        ):
            self.refuses(expected, *given(LEARN, *(() if "--output" in files else ("--output", self.folder / "adapter")), *files))
            self.assertEqual([], [*self.folder.iterdir()])


class Tune(Records):
    def setUp(self):
        super().setUp()
        self.output, self.work = self.folder / "calibration.json", self.folder / "work"

    def command(self, *arguments):
        return (*TUNE, "--work", self.work, "--output", self.output, *arguments)

    def test_searches_are_what_was_measured_and_chosen(self):
        self.works(*self.command(*self.files))
        record = self.written("tune")
        self.assertEqual(json.loads(self.output.read_text()), record["result"])
        measured = {}
        for line in map(json.loads, (self.work / "all.jsonl").read_text().splitlines()):
            if "scheme" in line:
                measured.setdefault((line["scheme"], json.dumps(line["settings"])), []).append(line)
        for search, entry in zip(record["searches"], record["result"]["entries"], strict=True):
            candidates = search["candidates"]
            self.assertEqual((entry["scheme"], entry["task"]), (search["scheme"], search["task"]))
            self.assertEqual(search["rungs"][0]["candidates"], len(candidates))
            for each in candidates:
                lines = measured[search["scheme"], json.dumps(each["settings"])]
                self.assertEqual(len(lines), each["prompts"])
                self.assertEqual(sum(line["tokens"] for line in lines), each["tokens"])
                self.assertAlmostEqual(sum(line["plain_seconds"] for line in lines) / sum(line["seconds"] for line in lines), each["speedup"])
            chosen = candidates[search["chosen"]]
            for key in ("settings", "speedup", "divergence", "prompts", "tokens"):
                self.assertEqual(entry[key], chosen[key])
            front = [{key: candidates[place][key] for key in ("settings", "speedup", "divergence")} for place in search["front"]]
            self.assertEqual(entry["front"], front)
            self.assertIn(search["chosen"], search["front"])
            self.assertEqual(search["rungs"][-1]["prompts"], chosen["prompts"])

    def test_a_second_run_measures_nothing_and_says_the_same(self):
        self.works(*self.command())
        self.works(*self.command(*self.files))
        first = self.written("tune")
        self.works(*self.command(*self.files))
        self.assertEqual(first, self.written("tune"))

    def test_paths_are_refused_before_work_begins(self):
        for files, expected in (
            (("--report", self.folder / "x.csv"), ["--report", "x.csv", ".html"]),
            (("--record", self.output), ["--record", "calibration.json"]),
            (("--record", self.folder / "none" / "x.json"), ["No such file"]),
            (("--report", self.page, "--shard", "1/2"), ["--report", "--shard 1/2"]),
        ):
            self.refuses(expected, *self.command(*files))
            self.assertEqual([], [*self.folder.iterdir()])


class Grow(Records):
    def setUp(self):
        super().setUp()
        self.bank = self.folder / "bank.json"

    def test_the_record_is_the_bank_and_the_state(self):
        self.works(*GROW, "--output", self.bank, *self.files)
        record, state = self.written("grow"), json.loads(pathlib.Path(f"{self.bank}.state").read_text())
        self.assertEqual(json.loads(self.bank.read_text()), record["result"])
        for key in ("growths", "measured", "candidates", "swept"):
            self.assertEqual(state[key], record[key])
        self.assertEqual(["hydra", "target"], [each["role"] for each in record["models"]])
        for kept in record["result"]["trees"]:
            self.assertIn(kept, record["measured"])
        self.assertEqual(5, record["settings"]["nodes"])

    def test_paths_are_refused_before_work_begins(self):
        state = self.folder / "state.json"
        for files, expected in (
            (("--report", self.folder / "x.md"), ["--report", "x.md", ".html"]),
            (("--record", self.bank), ["--record", "bank.json"]),
            (("--record", state, "--state", state), ["--record", state.name]),
        ):
            self.refuses(expected, *GROW, "--output", self.bank, *files)
            self.assertEqual([], [*self.folder.iterdir()])


if __name__ == "__main__":
    unittest.main()
