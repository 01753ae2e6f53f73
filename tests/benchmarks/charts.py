#!/usr/bin/env python3
"""The charts of docs/charts: each is what its kept JSON gives, byte for byte, and is shown where its figures are told."""

import argparse
import json
import math
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import at_scale  # noqa: E402
import charts  # noqa: E402
import eaad  # noqa: E402
import svg  # noqa: E402
from runs import report  # noqa: E402

CHARTS = ROOT / "docs" / "charts"
BY_HAND = {"flow", "folders"}  # drawings without figures; tests/house/folders.py makes the latter


def taken(kind, *results, **options):
    names = [pathlib.Path(f"point{i}.json") for i in range(len(results))]
    return charts.KINDS[kind](results, argparse.Namespace(**{"results": names, "scheme": "auto", "peer": []} | options))


class Kept(unittest.TestCase):
    def test_each_chart_is_what_its_json_gives(self):
        data = sorted((CHARTS / "data").glob("*.json"))
        self.assertEqual({path.stem for path in CHARTS.glob("*.svg")}, {path.stem for path in data} | BY_HAND)
        for path in data:
            with self.subTest(path.name):
                picture = svg.drawing(json.loads(path.read_text(encoding="utf-8")))
                self.assertTrue(picture == (CHARTS / f"{path.stem}.svg").read_text(encoding="utf-8"), "run benchmarks/charts.py")

    def test_each_says_what_it_comes_from(self):
        for path in sorted((CHARTS / "data").glob("*.json")):
            chart = json.loads(path.read_text(encoding="utf-8"))
            source = chart.get("command") or chart["code"]
            self.assertTrue(chart["title"].strip() and chart["measured"].strip() and source.strip(), path.name)
            self.assertIn(source.split()[0], (CHARTS / f"{path.stem}.svg").read_text(encoding="utf-8"))

    def test_each_is_shown(self):
        pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        shown = {pathlib.PurePath(image).name for page in pages for image in re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", page.read_text(encoding="utf-8"))}
        self.assertEqual([], sorted(path.name for path in CHARTS.glob("*.svg") if path.name not in shown))

    def test_each_can_be_read_in_the_dark_and_loads_nothing(self):
        for path in sorted(CHARTS.glob("*.svg")):
            drawn = path.read_text(encoding="utf-8")
            self.assertIn("prefers-color-scheme:dark", drawn)
            self.assertEqual([], [each for each in re.findall(r"https?://[^\s\"']+", drawn) if each != "http://www.w3.org/2000/svg"])
            xml.etree.ElementTree.fromstring(drawn)

    def test_what_a_chart_says_lies_inside_of_it(self):
        for path in sorted(CHARTS.glob("*.svg")):
            root = xml.etree.ElementTree.fromstring(path.read_text(encoding="utf-8"))
            wide, tall = float(root.get("width")), float(root.get("height"))
            for part in root.iter("{http://www.w3.org/2000/svg}text"):
                x, y = float(part.get("x")), float(part.get("y"))
                self.assertTrue(0 <= x <= wide and 0 <= y <= tall, f"{path.name}: {part.text} at {x}, {y}")


class Taken(unittest.TestCase):
    def point(self, **speeds):
        return {"tasks": [{"task": task, "schemes": [{"scheme": "auto", "speedup": speed}]} for task, speed in speeds.items()]}

    def test_points_are_beside_each_other_and_what_one_lacks_has_no_bar(self):
        chart = taken("at_scale", self.point(code=1.5, maths=2), self.point(code=3), peer=["theirs=maths:1.25"])
        self.assertEqual(["code", "maths"], chart["groups"])
        self.assertEqual([[1.5, 2], [3, None], [None, 1.25]], [each["y"] for each in chart["series"]])
        bars = [sum(f'rx="2" class="f{i}"/>' in line and 'height="10"' not in line for line in svg.drawing(chart).splitlines()) for i in range(3)]
        self.assertEqual([2, 1, 1], bars)

    def test_a_scheme_that_a_point_lacks_is_an_error_with_its_name(self):
        with self.assertRaisesRegex(SystemExit, "point0.json has no scheme eagle"):
            taken("at_scale", self.point(code=1), scheme="eagle")

    def test_shares_within_a_threshold_rise_to_all(self):
        pair = {"target": "t", "draft": "d", "divergences": [0.4, 0.1, 0.3, 0.2]}
        line = taken("beta", {"divergence": "total_variation", "pairs": [pair]})["series"][0]
        at = lambda share: line["x"][line["y"].index(share)]
        self.assertEqual([0.1, 0.2, 0.4], [at(0.02), at(0.5), at(1.0)])

    def test_entropies_are_counted_in_quarters_of_a_nat(self):
        of = {"draft": [0, 0.25, 0.3], "qualifier": [1], "target": [6.99]}
        series = taken("entropies", {"entropies": of})["series"]
        self.assertEqual([1, 2], series[0]["y"][:2])
        self.assertEqual(1, series[2]["y"][27])

    def test_switching_shows_scores_and_where_there_are_none_perplexity(self):
        row = {"large_usage": 0.5, "threshold_bits": 0.25}
        self.assertEqual([90], taken("switching", [row | {"score": 0.9}])["series"][0]["y"])
        self.assertEqual([12.5], taken("switching", [row | {"perplexity": 12.5}])["series"][0]["y"])

    def test_rounds_after_long_texts_are_medians_of_runs_on_two_logarithmic_axes(self):
        run = lambda *times: [{"scheme": "plain", "tokens": tokens, "round_microseconds": time} for tokens, time in zip((1000, 10000), times)]
        names = [pathlib.Path(name) for name in ("before_1.json", "now_1.json", "before_2.json")]
        chart = taken("texts", run(2, 30), run(1, 1.5), run(4, 50), results=names)
        self.assertEqual(["plain (before)", "plain (now)"], [each["name"] for each in chart["series"]])
        self.assertEqual([[3, 40], [1, 1.5]], [each["y"] for each in chart["series"]])
        drawn = svg.drawing(chart | {"measured": "here", "command": "bench"})
        heights = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', drawn)]
        self.assertAlmostEqual((heights[0] - heights[1]) / math.log(40 / 3), (heights[2] - heights[3]) / math.log(1.5), delta=1)

    def test_text_is_data(self):
        run = {"origins": ["accepted", "correction"], "rounds": 1, "scheme": "lookup", "guarantee": "same text"}
        drawn = svg.drawing(taken("text", run, {"pieces": ["<script>alert(1)</script>", " & more\n"]}))
        self.assertNotIn("<script", drawn)
        shown = "".join(xml.etree.ElementTree.fromstring(drawn).itertext())
        self.assertIn("<script>alert(1)</script>", shown)
        self.assertIn(" & more", shown)

    def test_a_run_is_coloured_by_drafter_and_what_was_not_met_has_no_legend(self):
        tokens = [{"text": "a", "origin": "accepted", "drafter": 1}, {"text": "b", "origin": "bonus"}]
        record = {"drafters": ["prompt lookup", "EAGLE layer"], "tokens": tokens, "result": {"rounds": 1, "scheme": "hybrid"}}
        chart = taken("run", record)
        self.assertEqual([["a", "EAGLE layer"], ["b", "bonus"]], chart["pieces"])
        self.assertEqual(["EAGLE layer", "bonus"], list(chart["who"]))
        self.assertIn("proposed by EAGLE layer", svg.drawing(chart))

    def test_pieces_that_are_not_the_runs_are_refused(self):
        run = {"origins": ["accepted"], "rounds": 1, "scheme": "lookup", "guarantee": ""}
        with self.assertRaisesRegex(SystemExit, "2 pieces for 1 tokens"):
            taken("text", run, {"pieces": ["a", "b"]})


class Measured(unittest.TestCase):
    """The scripts that measure write charts as JSON, each with its drawing."""

    def written(self, write):
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder))
            for path in sorted(pathlib.Path(folder).glob("*.svg")):
                kept = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
                self.assertEqual(svg.drawing(kept), path.read_text(encoding="utf-8"))
                self.assertTrue(kept["command"])
            return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path(folder).glob("*.json")}

    def test_eaad(self):
        found = {"code": [{name: {"ms_per_token": 10 + i} for i, name in enumerate(eaad.GREEDY)}]}
        bins = {"code": {"below": (1.0, 3), "more": (0.2, 9)}, "all": {"below": (1.0, 3), "more": (0, 0)}}
        files = self.written(lambda folder: eaad.draw(found, bins, folder))
        self.assertEqual([[1.0, 0.2], [1.0, None]], [each["y"] for each in files["eaad_bins"]["series"]])
        self.assertEqual(round(10 / 11, 3), files["eaad_speed"]["series"][0]["y"][1])

    def test_at_scale(self):
        point = lambda *speeds: {"tasks": [{"task": "all", "schemes": [{"scheme": str(i), "speedup": s} for i, s in enumerate(speeds)]}]}
        files = self.written(lambda folder: at_scale.draw({"135m": point(1.2, 1.4), "1b": point(1.3)}, folder))
        self.assertEqual([["0", [1.2, 1.3]]], [[each["name"], each["y"]] for each in files["at_scale"]["series"]])

    def test_curves_beside_a_peers(self):
        median = lambda value: {"median": value, "low": value, "high": value}
        curve = {"1": {"augur": median(1), "llama.cpp": median(2)}, "4": {"augur": median(1.25), "llama.cpp": median(5)}}
        machine = dict.fromkeys(("date", "commit", "cpu", "threads", "cores", "system", "compiler", "peer"), "x")
        results = {"machine": machine | {"cpu_flags": [], "busy_before": 0}, "formats": {"BF16": {"curves": {"256": curve}}}}
        files = self.written(lambda folder: report.charts(results, folder))
        self.assertEqual([2, 4], files["speedup_256"]["series"][0]["y"])
        self.assertEqual([[1, 1.25], [2, 5]], [each["y"] for each in files["verify_256"]["panels"][0]["series"]])


class Drawn(unittest.TestCase):
    def test_a_long_token_is_cut_where_the_line_ends_and_nothing_is_lost(self):
        pieces = [["x" * 200, "a"], ["\n", "a"], ["tail", "b"]]
        parts = list(svg.wrapped_pieces(pieces, 86))
        self.assertEqual("x" * 200 + "tail", "".join(part for _, _, part, _ in parts))
        self.assertTrue(all(column + len(part) <= 86 for _, column, part, _ in parts))

    def test_ticks_are_round_and_within(self):
        self.assertEqual([0, 0.2, 0.4, 0.6, 0.8, 1], svg.ticks(0, 1))
        self.assertEqual([0, 200, 400, 600, 800], svg.ticks(0, 830))
        self.assertTrue(all(-3 <= tick <= 5 for tick in svg.ticks(-3, 5)))

    def test_what_is_drawn_is_what_was_kept(self):
        chart = {"kind": "lines", "title": "a < b", "x": "n", "y": "ms", "series": [{"name": "one", "x": [1, 2], "y": [0.5, 4]}], "command": "c"}
        with tempfile.TemporaryDirectory() as folder:
            svg.save(chart, pathlib.Path(folder), "it")
            self.assertEqual(chart, json.loads(pathlib.Path(folder, "it.json").read_text(encoding="utf-8")))
            self.assertEqual(svg.drawing(chart), pathlib.Path(folder, "it.svg").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
