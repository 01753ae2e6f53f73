#!/usr/bin/env python3
"""benchmarks/gpu_structure.py without nvcc: what it reads from SASS, and the launches that bench_gpu_structure lists."""

import collections
import importlib.util
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("gpu_structure", ROOT / "benchmarks" / "gpu_structure.py")
structure = importlib.util.module_from_spec(spec)
spec.loader.exec_module(structure)

LOOP = [
    (0x00, "S2R R0, SR_TID.X"),
    (0x10, "@!P0 LDG.E.EF.128 R4, desc[UR4][R2.64]"),
    (0x20, "LDG.E.64 R8, desc[UR4][R10.64+0x10]"),
    (0x30, "HMMA.16816.F32.BF16 R4, R36, R46, R4"),
    (0x40, "@!P0 BRA 0x10"),
    (0x50, "LD.E.U16 R9, desc[UR6][R12.64]"),
    (0x60, "LDG.E R9, desc[UR6][R12.64]"),
    (0x70, "EXIT"),
]


def a_launch(**given):
    fields = {"name": "k", "blocks": 132, "threads": 256, "shared": 0, "weights": 0, "inputs": 0, "cache": 0, "seen": 0}
    return structure.launch(**{**fields, **given})


class Kernels(unittest.TestCase):
    def test_widths_of_loads(self):
        self.assertEqual([16, 8, 2, 4], structure.kernel(lines=LOOP).loads())

    def test_loops_end_in_a_branch_back(self):
        of = structure.kernel(lines=LOOP)
        self.assertEqual([LOOP[1:5]], of.reading_loops())
        self.assertEqual(4 / (16 * 32), structure.instructions_per_byte(LOOP[1:5], of))

    def test_of_nested_loops_the_inner_counts(self):
        of = structure.kernel(lines=[*LOOP[:5], (0x50, "@P1 BRA 0x0"), *LOOP[6:]])
        self.assertEqual([LOOP[1:5]], of.loops())

    def test_names_are_short(self):
        name = "augur::backend::device::skinny_product<augur::backend::device::tiled_view<augur::backend::device::bfloat16>, 8u, "
        self.assertEqual("skinny_product<8,add_sums>", structure.short(name + "augur::backend::device::add_sums>"))
        self.assertEqual("attend<4>", structure.short("augur::llama::device::attend<augur::backend::device::bfloat16, 4u>"))


class Model(unittest.TestCase):
    on, of = structure.machine(), structure.kernel(lines=LOOP)

    def seconds(self, overlapped=False, **given):
        return structure.seconds(a_launch(**given), self.of, self.on, overlapped)

    def test_bytes_from_memory_take_their_time(self):
        rest = self.on.edge + self.on.fill
        self.assertAlmostEqual(3e9 / self.on.copy + rest, self.seconds(weights=3_000_000_000), places=6)

    def test_blocks_that_do_not_divide_take_longer(self):
        self.assertGreater(self.seconds(weights=10**9, blocks=133), 1.9 * self.seconds(weights=10**9))

    def test_overlapping_saves_an_edge_and_for_products_the_start(self):
        saved = self.seconds(weights=10**8) - self.seconds(weights=10**8, overlapped=True)
        self.assertAlmostEqual(self.on.edge - self.on.overlapped_edge + self.on.fill, saved)


@unittest.skipUnless("AUGUR_BENCH_GPU_STRUCTURE" in os.environ, "bench_gpu_structure is not built")
class Launches(unittest.TestCase):
    def listed(self, *arguments):
        program = os.environ["AUGUR_BENCH_GPU_STRUCTURE"]
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)

    def test_a_layer_takes_five_launches(self):
        done = self.listed("8b", "4096", "1", "8")
        self.assertEqual(0, done.returncode, done.stderr)
        lines = [line.split(" ") for line in done.stdout.splitlines()]
        for rows in ("1", "8"):
            graphs = [line for line in lines if line[:2] == [rows, "graph"]]
            self.assertEqual([str(5 * 32 + 3)], [line[2] for line in graphs])
            counts = collections.Counter(line[1] for line in lines if line[0] == rows)
            self.assertEqual(1, sum("attend" in name and count == 32 for name, count in counts.items()))

    def test_a_pass_reads_every_weight_once(self):
        lines = [line.split(" ") for line in self.listed("8b", "4096", "8").stdout.splitlines()]
        layer = 4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336
        self.assertEqual(2 * (32 * layer + 128256 * 4096), sum(int(line[5]) for line in lines))

    def test_what_it_does_not_know_is_an_error(self):
        done = self.listed("7b", "4096", "1")
        self.assertEqual(1, done.returncode)
        self.assertIn("there is no shape 7b", done.stderr)


if __name__ == "__main__":
    unittest.main()
