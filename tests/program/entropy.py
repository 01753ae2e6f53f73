#!/usr/bin/env python3
"""augur entropy: every number against one computed here from the rows that `augur logits` writes."""

import itertools
import math
import pathlib
import re
import signal
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FINGERPRINT, FOLDER, PROGRAM, TARGET, ProgramTest, environment, family  # noqa: E402

QUALIFIER = tiny_model.write(FOLDER / "between.gguf", seed=3, layers=1)
TEXT = "the cat, one two one"
MODELS = {"draft": DRAFT, "qualifier": QUALIFIER, "target": TARGET}
ALL = ("--draft", DRAFT, "--qualifier", QUALIFIER)


def softmax(row):
    weights = [math.exp(logit - max(row)) for logit in row]
    return [weight / sum(weights) for weight in weights]


def entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)


class Entropy(ProgramTest):
    def measure(self, *arguments, model=TARGET, **options):
        return self.object("entropy", "--model", model, *arguments, **options)

    def rows(self, model, ids):
        """What follows each prefix of these ids, by that model alone."""
        path = FOLDER / "row.f32"
        rows = []
        for length in range(1, len(ids) + 1):
            self.works("logits", "--model", model, "--prompt-ids", ",".join(map(str, ids[:length])), "--output", path)
            rows.append(softmax(struct.unpack(f"<{tiny_model.VOCABULARY}f", path.read_bytes())))
        return rows

    def check_rows(self, measured, rows, top):
        for at, found in enumerate(measured["positions"]):
            self.assertEqual(at + 1, found["position"])
            following = measured["ids"][at + 1] if at + 1 < len(measured["ids"]) else None
            self.assertEqual(following, found["id"])
            for each in found["models"]:
                row = rows[each["model"]][at]
                self.assertAlmostEqual(entropy(row), each["entropy_nats"], delta=1e-5)
                best = sorted(range(len(row)), key=lambda token: -row[token])[:top]
                self.assertEqual(best, [token["id"] for token in each["top"]])
                for token in each["top"]:
                    self.assertAlmostEqual(row[token["id"]], token["probability"], delta=1e-6)
                if following is None:
                    self.assertIsNone(each["next_probability"])
                else:
                    self.assertAlmostEqual(row[following], each["next_probability"], delta=1e-6)

    def check_pairs(self, measured, rows):
        names = [each["model"] for each in measured["models"]]
        for at, found in enumerate(measured["positions"]):
            self.assertEqual(list(itertools.combinations(names, 2)), [(pair["draft"], pair["target"]) for pair in found["pairs"]])
            for pair in found["pairs"]:
                draft, target = rows[pair["draft"]][at], rows[pair["target"]][at]
                both = list(zip(target, draft))
                self.assertEqual(draft.index(max(draft)) == target.index(max(target)), pair["agree"])
                for key, expected in {
                    "acceptance": sum(min(p, q) for p, q in both),
                    "total_variation": sum(abs(p - q) for p, q in both) / 2,
                    "kl_nats": sum(p * math.log(p / q) for p, q in both),
                    "reverse_kl_nats": sum(q * math.log(q / p) for p, q in both),
                }.items():
                    self.assertAlmostEqual(expected, pair[key], delta=1e-5, msg=key)

    def check_policies(self, measured, rows, edges, lengths, threshold, window, dwell):
        names = [each["model"] for each in measured["models"]]
        writer, written, recent = 0, 0, []
        for at, found in enumerate(measured["positions"]):
            nats = entropy(rows[names[0]][at])
            self.assertEqual(sum(edge <= nats for edge in edges), found["bin"])
            self.assertEqual(lengths[found["bin"]], found["length"])
            self.assertEqual((names[0], names[-1])[writer], found.get("writer", names[0]))
            recent = [*recent, entropy(rows[names[0] if writer == 0 else names[-1]][at]) / math.log(2)][-window:]
            mean = sum(recent) / len(recent)
            self.assertAlmostEqual(mean, found["rolling_bits"], delta=1e-4)
            written += 1
            if written >= dwell and len(names) > 1 and writer != int(mean > threshold):
                writer, written = int(mean > threshold), 0

    def check_means(self, measured, positions, means):
        self.assertEqual(len(positions), means["positions"])
        if not positions:
            return
        for model, mean in enumerate(means["models"]):
            of = [each["models"][model] for each in positions]
            self.assertAlmostEqual(sum(each["entropy_nats"] for each in of) / len(of), mean["entropy_nats"], delta=1e-9)
            nats = [-math.log(each["next_probability"]) for each in of if each["next_probability"] is not None]
            self.assertAlmostEqual(sum(nats) / len(nats), mean["next_nats"], delta=1e-9)
        for pair, mean in enumerate(means["pairs"]):
            of = [each["pairs"][pair] for each in positions]
            for key, from_key in {"agreement": "agree", "acceptance": "acceptance", "total_variation": "total_variation",
                                  "kl_nats": "kl_nats", "reverse_kl_nats": "reverse_kl_nats"}.items():  # fmt: skip
                self.assertAlmostEqual(sum(each[from_key] for each in of) / len(of), mean[key], delta=1e-9)

    def test_three_models_against_rows_of_logits(self):
        edges, lengths = [4.9, 5.1, 5.2], [7, 5, 2, 0]
        chosen = ("--bins", "4.9,5.1,5.2", "--bin-lengths", "7,5,2,0", "--threshold", 7.36, "--window", 3, "--dwell", 2, "--top", 4)
        measured = self.measure("-p", TEXT, *ALL, *chosen)
        self.assertEqual([{"model": name, "file": file} for name, file in MODELS.items()], measured["models"])
        self.assertEqual(measured["given"], len(measured["ids"]))
        self.assertEqual(len(measured["ids"]), len(measured["positions"]))
        rows = {name: self.rows(model, measured["ids"]) for name, model in MODELS.items()}
        self.check_rows(measured, rows, 4)
        self.check_pairs(measured, rows)
        self.check_policies(measured, rows, edges, lengths, 7.36, 3, 2)
        self.assertLess(1, len({found["bin"] for found in measured["positions"]}))
        self.assertEqual({"draft", "target"}, {found["writer"] for found in measured["positions"]})
        self.check_means(measured, measured["positions"], measured["means"])
        for index, means in enumerate(measured["by_bin"]):
            self.assertEqual((lengths[index], (edges + [None])[index]), (means["length"], means["below_nats"]))
            self.check_means(measured, [each for each in measured["positions"] if each["bin"] == index], means)
        written = sum(each["writer"] == "draft" for each in measured["positions"]) / len(measured["positions"])
        self.assertAlmostEqual(written, measured["means"]["written_by_draft"])

    def test_one_model_alone(self):
        measured = self.measure("--prompt-ids", "5,6,7,8")
        self.assertEqual([[], [], [], []], [each["pairs"] for each in measured["positions"]])
        self.assertNotIn("writer", measured["positions"][0])
        rows = {"target": self.rows(TARGET, measured["ids"])}
        self.check_rows(measured, rows, 5)
        self.check_policies(measured, rows, [0.5, 1.5, 2.5], [4, 3, 2, 1], 0.25, 5, 10)

    def test_one_token_is_a_text(self):
        measured = self.measure("--prompt-ids", "5", "--draft", DRAFT)
        self.assertEqual([None], [each["id"] for each in measured["positions"]])
        self.assertEqual([None, None], [each["next_nats"] for each in measured["means"]["models"]])

    def test_texts_longer_than_what_is_held_at_once(self):
        """Parts are read one after the other; a text has the rows of its beginning."""
        ids = [7 * at % 250 + 3 for at in range(100)]
        whole = self.measure("--prompt-ids", ",".join(map(str, ids)), "--draft", DRAFT)
        part = self.measure("--prompt-ids", ",".join(map(str, ids[:41])), "--draft", DRAFT)
        self.assertEqual(part["positions"][:40], whole["positions"][:40])
        self.assertEqual(list(range(1, 101)), [each["position"] for each in whole["positions"]])

    def test_goes_on_by_the_targets_best_tokens(self):
        known = self.generated("-p", TEXT, "-n", 40, "--scheme", "plain", "--ignore-eos")
        measured = self.measure("-p", TEXT, "--draft", DRAFT, "--continue", 40)
        self.assertEqual(known["prompt_ids"] + known["ids"], measured["ids"])
        self.assertEqual(len(known["prompt_ids"]), measured["given"])
        again = self.measure("--prompt-ids", ",".join(map(str, measured["ids"])), "--draft", DRAFT)
        self.assertEqual(again["positions"], measured["positions"])

    def test_members_of_the_family_by_name(self):
        folder = family("named", ["draft", "exit", "qualifier"])
        measured = self.measure("-p", TEXT, "--draft", "draft", "--qualifier", "qualifier", family=folder)
        self.assertEqual([str(folder / "tiny" / "draft.gguf"), str(folder / "tiny" / "qualifier.gguf"), TARGET],
                         [each["file"] for each in measured["models"]])  # fmt: skip
        self.measure("-p", TEXT, "--draft", "exit", family=folder)
        self.refuses(["--draft draft", "draft.gguf", FINGERPRINT], "entropy", "--model", TARGET, "-p", "a", "--draft", "draft")

    def test_table(self):
        done = self.works("entropy", "--model", TARGET, "-p", "the cat", *ALL)
        self.assertEqual(b"", done.stderr)
        measured = self.measure("-p", "the cat", *ALL)
        lines = done.stdout.decode().splitlines()
        for at in measured["positions"]:
            line = next(line for line in lines if re.match(rf" +{at['position']} ", line))
            for model in at["models"]:
                self.assertIn(f" {model['entropy_nats']:.3f} ", line)
            for pair in at["pairs"]:
                self.assertIn(f" {pair['acceptance']:.3f} ", line)
            self.assertTrue(line.endswith(at["writer"]))
        total = next(line for line in lines if line.startswith("  all"))
        self.assertIn(f" {measured['means']['models'][2]['entropy_nats']:.3f} ", total)
        self.assertIn(f" {100 * measured['means']['pairs'][1]['acceptance']:.1f} %", total)
        self.assertEqual(4, sum(bool(re.match(r"  (below|above)", line)) for line in lines))

    def test_chart_is_a_picture_that_needs_nothing_else(self):
        path = FOLDER / "chart.svg"
        measured = self.measure("-p", TEXT, *ALL, "--chart", path)
        text = path.read_text(encoding="utf-8")
        tree = xml.etree.ElementTree.fromstring(text)
        name = "{http://www.w3.org/2000/svg}"
        self.assertEqual(name + "svg", tree.tag)
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertNotRegex(text, r"(href|src|url\(|<script|@import)")
        self.assertEqual({"http://www.w3.org/2000/svg"}, set(re.findall(r"https?://[^'\"< ]+", text)))
        curves = [path.get("d") for path in tree.iter(name + "path")]
        self.assertEqual(3 + 3 + 1, len(curves))  # entropies, pairs, the window's mean
        self.assertEqual({len(measured["positions"])}, {len(re.findall("[ML]", curve)) for curve in curves})
        self.assertEqual(len(measured["positions"]), sum(each.get("class") == "hit" for each in tree.iter(name + "rect")))

    def test_chart_takes_text_for_text(self):
        path, odd = FOLDER / "odd.svg", FOLDER / "<b>&'\".gguf"
        odd.write_bytes(pathlib.Path(TARGET).read_bytes())
        self.measure("-p", "<script>alert(1)</script>\x01 & \"'", "--chart", path, model=odd)
        text = path.read_text(encoding="utf-8")
        xml.etree.ElementTree.fromstring(text)
        self.assertNotIn("<script", text)
        self.assertNotIn("<b>", text)

    def test_rows_that_are_no_numbers(self):
        spoiled = tiny_model.write(FOLDER / "spoiled.gguf", spoil=float("nan"))
        measured = self.measure("--prompt-ids", "5,6", "--draft", DRAFT, model=spoiled)
        for at in measured["positions"]:
            self.assertEqual((None, []), (at["models"][1]["entropy_nats"], at["models"][1]["top"]))
            self.assertEqual((False, None), (at["pairs"][0]["agree"], at["pairs"][0]["kl_nats"]))
        self.works("entropy", "--model", spoiled, "--prompt-ids", "5,6", "--draft", DRAFT, "--chart", FOLDER / "nan.svg")
        xml.etree.ElementTree.parse(FOLDER / "nan.svg")

    def test_without_a_tokenizer(self):
        path = tiny_model.write(FOLDER / "wordless.gguf", words=False)
        measured = self.measure("--prompt-ids", "5,6,7", model=path)
        self.assertNotIn("text", measured["positions"][0])
        self.works("entropy", "--model", path, "--prompt-ids", "5,6,7")
        self.refuses([path, "tokenizer"], "entropy", "--model", path, "-p", "a")

    def test_rows_of_no_token_are_not_there(self):
        padded = tiny_model.write(FOLDER / "padded.gguf", vocabulary=3 * tiny_model.VOCABULARY)
        noting = "the last 524 of 786 rows belong to no token"
        measured = self.object("entropy", "--model", padded, "--prompt-ids", "5,6,7", "--continue", 9, noting=noting)
        shown = [each for at in measured["positions"] for each in at["models"][0]["top"]]
        self.assertTrue(all(each["id"] < tiny_model.VOCABULARY for each in shown))

    def test_whoever_reads_may_leave(self):
        process = subprocess.Popen(
            [PROGRAM, "entropy", "-m", TARGET, "-p", "one two " * 20], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        process.stdout.close()
        self.assertEqual(b"", process.stderr.read())
        process.stderr.close()
        self.assertEqual(-signal.SIGPIPE, process.wait())

    def test_refusals(self):
        def refused(expected, *arguments, prompt=("-p", "the cat")):
            self.refuses(expected, "entropy", "--model", TARGET, *prompt, *arguments)

        refused(["absent.gguf", "No such file"], "--draft", FOLDER / "absent.gguf")
        refused(["300", "262"], "--draft", tiny_model.write(FOLDER / "more.gguf", vocabulary=300, words=False))
        swapped = tiny_model.write(FOLDER / "swapped.gguf", swapped=(40, 41))
        refused([swapped, TARGET], "--draft", swapped)
        short = tiny_model.write(FOLDER / "short.gguf", context=8)
        refused(["20 tokens", "draft", short, "8"], "--draft", short, prompt=("--prompt-ids", ",".join(["5"] * 20)))
        refused(["7 tokens", "--continue is 2", "8"], "--draft", short, "--continue", 2, prompt=("--prompt-ids", "5,5,5,5,5,5,5"))
        refused(["300 tokens", "256"], prompt=("--prompt-ids", ",".join(["5"] * 300)))
        refused(["token 1 is 999", "262"], prompt=("--prompt-ids", "5,999"))
        refused(["empty"], prompt=("-p", ""))
        refused(["0 were given", "augur entropy --help"], prompt=())
        broken = FOLDER / "broken.txt"
        broken.write_bytes(b"ab\xff")
        refused([str(broken), "0xff"], prompt=("--prompt-file", broken))
        refused(["3 edges make 4 bins", "2 lengths"], "--bin-lengths", "1,2")
        refused(["edges must rise"], "--bins", "2,1,3")
        refused(["window is 0"], "--window", 0)
        refused(["--top is 0"], "--top", 0)
        refused(["absent/chart.svg", "No such file"], "--chart", FOLDER / "absent" / "chart.svg")
        refused(["--chart", "--draft"][0], "--draft", DRAFT, "--chart", DRAFT)


if __name__ == "__main__":
    unittest.main()
