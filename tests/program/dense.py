#!/usr/bin/env python3
"""The program's logits of every architecture that it reads, beside those of transformers, where torch is: all 64 positions' texts, from a
folder that transformers wrote, in one file and in shards, and from a GGUF file that gguf's writer wrote."""

import importlib.util
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, ProgramTest  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "llama"
sys.path.insert(0, str(DATA))
IS_THERE = all(importlib.util.find_spec(name) for name in ("torch", "transformers", "gguf"))
NEAR = 1e-5  # of the largest logit


@unittest.skipUnless(IS_THERE, "torch, transformers and gguf are not installed")
class Logits(ProgramTest):
    def row(self, path, ids, context, *more):
        import numpy

        output = FOLDER / "row.f32"
        given = ("--context", context) if context else ()
        self.works("logits", "--model", path, "--prompt-ids", ",".join(map(str, ids)), "--output", output, "--threads", 1, *given, *more)
        return numpy.fromfile(output, dtype=numpy.float32)

    def test_they_are_those_of_transformers(self):
        import make_dense

        for name, (model_type, settings, *context) in make_dense.CASES.items():
            family = make_dense.family_of(model_type)
            layout = make_dense.layout_of(name)
            config, model = make_dense.model_of(model_type, settings, layout)
            expected = make_dense.logits_of(model)
            folder = FOLDER / name
            model.save_pretrained(folder / "one")
            model.save_pretrained(folder / "shards", max_shard_size="20KB")
            files = [folder / "one", folder / "shards"]
            if layout == "joined":
                model.save_pretrained(folder / "joined", save_original_format=False)
                files.append(folder / "joined")
            self.assertGreater(len(list(files[1].glob("*.safetensors"))), 1)
            if make_dense.has_gguf(model_type, config):
                files.append(folder / "model.gguf")
                shapes = make_dense.stored_shapes(model, config, layout)
                make_dense.write_gguf(files[-1], model_type, family, config, shapes, layout)
            largest = float(abs(expected).max())
            stored = json.loads((DATA / "dense" / f"{name}.json").read_text())["rows"]
            for row, logits in stored.items():
                self.assertLess(float(abs(expected[int(row)] - logits).max()), NEAR * largest, (name, "stored"))
            for file in files:
                for count in (1, 20, 64):
                    exact = ("--weights", "f32") if layout == "blocks" else ()
                    got = self.row(file, make_dense.IDS[:count], *(context or [0]), *exact)
                    worst = float(abs(got - expected[count - 1]).max())
                    self.assertLess(worst, NEAR * largest, (name, file.name, count))


if __name__ == "__main__":
    unittest.main()
