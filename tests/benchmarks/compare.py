"""benchmarks/gpu/compare.py: the tables that it makes of two small runs of either side, and files that it refuses."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "gpu" / "compare.py"


def run_of(times, plain, **more):
    passes = [
        {"rows": rows, "device_seconds": on_device * 1e-3, "wall_seconds": wall * 1e-3}
        for rows, (on_device, wall) in times.items()
    ]
    results = {
        "device": "a GPU",
        "shape": "8b",
        "layers": 2,
        "context": 64,
        "passes": passes,
        "decoding": {"plain_rate": plain},
    }
    results["decoding"].update(more.pop("decoding", {}))
    return results | more


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, ours, theirs):
        names = {"--augur": [], "--torch": []}
        for side, runs in zip(names, (ours, theirs)):
            for place, run in enumerate(runs):
                file = self.folder / f"{side[2:]}-{place}.json"
                file.write_text(run if isinstance(run, str) else json.dumps(run), encoding="utf-8")
                names[side].append(str(file))
        command = [sys.executable, "-B", SCRIPT, *(part for side in names for part in (side, *names[side]))]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_medians_ratios_and_spreads(self):
        ahead = {"rate": 300, "length": 5, "acceptance": 0.8}
        ours = [run_of({1: (4, 5), 6: (1, 1), 8: (6, 8)}, 200, decoding=ahead) for _ in range(2)]
        ours[1]["passes"][0]["device_seconds"] = 6e-3
        theirs = [run_of({1: (10, 10), 8: (9, 12), 16: (1, 1)}, 100, failed={"compiled-sliced": "no such kernel"})] * 2
        run = self.call(ours, theirs)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        lines = run.stdout.splitlines()
        self.assertEqual("a GPU: 8b, 2 layers, context 64", lines[0])
        rows = [line for line in lines if line[:1] == "|" and line[1].isdigit()]
        self.assertEqual(
            [
                "|1|5.000|10.000|**2.00**|5.000|10.000|**2.00**|40.0%|",
                "|8|6.000|9.000|**1.50**|8.000|12.000|**1.50**|0.0%|",
            ],
            rows,
        )
        self.assertIn("|PyTorch|100.0|1.00|0.0%|", lines)
        self.assertIn("|augur, plain|200.0|2.00|0.0%|", lines)
        self.assertIn("|augur, ahead by 5, acceptance 0.80|300.0|3.00|0.0%|", lines)
        self.assertEqual(1, lines.count("PyTorch failed at compiled-sliced: no such kernel"))

    def test_ways_of_several_runs_in_lines(self):
        """Eager and compiled ways come from different runs, which were about other numbers of rows."""

        def way(name, times, plain):
            return {"name": name, "passes": run_of(times, plain)["passes"], "plain_rate": plain}

        def theirs(*ways, **more):
            return run_of({1: (1, 1)}, None, program="torch_decode", ways=list(ways), **more)

        ours = [run_of({1: (4, 5), 8: (6, 8)}, 200, program="bench_device") for _ in range(2)]
        others = [{"program": "bench_loop", "shape": "8b"}, run_of({1: (9, 9)}, 1, program="bench_device", shape="1b")]
        slow, fast = way("eager", {1: (10, 12), 8: (9, 12)}, 100), way("compiled", {1: (8, 9)}, None)
        runs = [theirs(slow), theirs(fast), theirs(slow, shape="1b")]
        files = [self.folder / "figures.jsonl", self.folder / "torch.jsonl"]
        for file, lines in zip(files, (ours + others, runs)):
            file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        command = [sys.executable, "-B", SCRIPT, "--shape", "8b", "--augur", files[0], "--torch", files[1]]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (run.returncode, run.stderr))
        lines = run.stdout.splitlines()
        self.assertIn("|1|4.000|8.000|**2.00**|5.000|9.000|**1.80**|0.0%|", lines)
        self.assertIn("|8|6.000|9.000|**1.50**|8.000|12.000|**1.50**|0.0%|", lines)
        self.assertIn("|PyTorch|100.0|1.00|0.0%|", lines)
        command[4] = "3b"
        self.assertRegex(
            subprocess.run(command, capture_output=True, text=True, check=False).stderr, "no run of the shape 3b"
        )

    def test_what_cannot_be_compared(self):
        plain = run_of({1: (1, 1)}, 10)
        for other, said in (
            (plain | {"shape": "1b"}, "shape is 8b in"),
            (plain | {"context": 65}, "and 65 in"),
            (plain | {"device": "another"}, "device is a GPU in"),
            ({key: plain[key] for key in plain if key != "passes"}, "has no 'passes'"),
            (run_of({1: (1, 1)}, None), "has no decoding"),
            ("{", "torch-0.json: "),
        ):
            run = self.call([plain], [other])
            self.assertEqual((2, ""), (run.returncode, run.stdout), said)
            self.assertRegex(run.stderr, rf"^compare: .*{said}.*\n$")


if __name__ == "__main__":
    unittest.main()
