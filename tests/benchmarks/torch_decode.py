"""benchmarks/gpu/torch_decode.py on the processor: the model beside one written out, what it writes and refuses.

Exit code 77 where PyTorch is not installed."""

import contextlib
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "gpu" / "torch_decode.py"
if importlib.util.find_spec("torch") is None:
    print("torch_decode: skipped, PyTorch is not installed")
    sys.exit(77)
sys.path.insert(0, str(SCRIPT.parent))
import torch  # noqa: E402
import torch_decode  # noqa: E402

CONTEXT, ROWS, CAPACITY = 21, 5, 64


def small_model(capacity=CAPACITY, dtype=torch.float32):
    return torch_decode.Llama(torch_decode.Shape("tiny"), capacity, "cpu", dtype)


def written_out(model, text):
    """Rows of logits for every token of text, by the formulas alone: no cache, each head by itself, complex turns."""
    shape, size = model.shape, model.shape.head_size

    def norm(of, weight):
        return of / (of.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    turns = 500000.0 ** (-2 * torch.arange(size // 2) / size) * torch.arange(len(text))[:, None]

    def rotate(of):
        turned = torch.complex(of[:, : size // 2], of[:, size // 2 :]) * torch.polar(torch.ones_like(turns), turns)
        return torch.cat((turned.real, turned.imag), -1)

    state = model.embedding[text]
    for layer in model.layers:
        heads = (norm(state, layer.norms[0]) @ layer.query_key_value.T).split(size, -1)
        queries, rest = heads[: shape.heads], heads[shape.heads :]
        keys, values = rest[: shape.key_value_heads], rest[shape.key_value_heads :]
        mixed = []
        for i, query in enumerate(queries):
            shared = i * shape.key_value_heads // shape.heads
            scores = rotate(query) @ rotate(keys[shared]).T / size**0.5
            weights = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf")).softmax(-1)
            mixed.append(weights @ values[shared])
        state = state + torch.cat(mixed, -1) @ layer.attention_output.T
        gate, up = (norm(state, layer.norms[1]) @ layer.gate_up.T).split(shape.feed_forward, -1)
        state = state + (gate * gate.sigmoid() * up) @ layer.down.T
    return norm(state, model.norm) @ model.head.T


@torch.no_grad()
def rows_after_context(model, way, sizes):
    """Rows for ROWS tokens after a context, in passes of these sizes."""
    text = torch_decode.some_text(model.shape, CONTEXT + ROWS)
    model.read(text[:CONTEXT])
    found, at = [], CONTEXT
    for size in sizes:
        found.append(model(text[at : at + size], torch.tensor([at]), way, at + size))
        at += size
    return torch.cat(found)


class Model(unittest.TestCase):
    def test_rows_are_those_of_the_formulas_however_many_are_in_a_pass(self):
        model = small_model()
        with torch.no_grad():
            expected = written_out(model, torch_decode.some_text(model.shape, CONTEXT + ROWS))[CONTEXT:]
        for way in torch_decode.WAYS[:2]:
            for sizes in ([ROWS], [1] * ROWS, [2, 3]):
                found = rows_after_context(model, way, sizes)
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, msg=f"{way} {sizes}")

    def test_rows_in_bf16(self):
        for way in torch_decode.WAYS[:2]:
            model = small_model(dtype=torch.bfloat16)
            together, alone = rows_after_context(model, way, [ROWS]), rows_after_context(model, way, [1] * ROWS)
            torch.testing.assert_close(together, alone, rtol=0.05, atol=0.05, msg=way)

    def test_compiled_rows_and_one_compilation_for_all_layers(self):
        model = small_model()
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        expected = rows_after_context(model, "eager-masked", [ROWS])
        options = {"fullgraph": True, "dynamic": False, "backend": "aot_eager"}  # all but the making of kernels
        model.compiled = {name: torch.compile(part, **options) for name, part in model.eager.items()}
        found = rows_after_context(model, "compiled-masked", [ROWS])
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        self.assertEqual(3, torch._dynamo.utils.counters["stats"]["unique_graphs"])
        sliced = rows_after_context(model, "compiled-sliced", [ROWS])
        torch.testing.assert_close(sliced, expected, rtol=1e-4, atol=1e-4)

    def test_a_prompt_is_read_in_chunks(self):
        text = torch_decode.some_text(torch_decode.Shape("tiny"), 30)
        models = [small_model() for _ in range(2)]
        with torch.no_grad():
            models[0].read(text)
            for at, token in enumerate(text):
                models[1](token[None], torch.tensor([at]), "eager-masked", at + 1)
            chunk, torch_decode.CHUNK = torch_decode.CHUNK, 7
            self.addCleanup(setattr, torch_decode, "CHUNK", chunk)
            again = small_model()
            again.read(text)
        for other in (models[1], again):
            for mine, its in zip(models[0].layers, other.layers):
                torch.testing.assert_close(mine.keys, its.keys, rtol=1e-4, atol=1e-4)
                torch.testing.assert_close(mine.values, its.values, rtol=1e-4, atol=1e-4)

    def test_weights_that_a_pass_reads(self):
        tied = small_model().weight_bytes()
        torch_decode.SHAPES["untied"] = torch_decode.SHAPES["tiny"][:-1] + (False,)
        self.addCleanup(torch_decode.SHAPES.pop, "untied")
        untied = torch_decode.Llama(torch_decode.Shape("untied"), CAPACITY, "cpu", torch.float32)
        self.assertEqual(tied, untied.weight_bytes())
        self.assertNotEqual(untied.head.data_ptr(), untied.embedding.data_ptr())


class Decoding(unittest.TestCase):
    def test_both_ways_decode_what_passes_over_the_whole_text_say(self):
        chosen = torch_decode.options_of("--device cpu --shape tiny --context 21 --rows 1 --tokens 6".split())
        model = small_model()
        with torch.no_grad():
            model.read(torch_decode.some_text(model.shape, CONTEXT))
            text = torch.cat((torch_decode.some_text(model.shape, CONTEXT), torch_decode.some_text(model.shape, 1)))
            for _ in range(chosen.tokens):
                text = torch.cat((text, written_out(model, text)[-1:].argmax(-1)))
            for name in chosen.ways:
                way = torch_decode.Way(name, model, chosen, None)
                for _ in range(2):  # the second starts where the first did
                    self.assertEqual(text[CONTEXT + 1 :].tolist(), way.decode(chosen.tokens), name)


class Program(unittest.TestCase):
    def call(self, *options):
        command = [sys.executable, "-B", SCRIPT, *map(str, options)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "torch.json"
            options = "--device cpu --shape tiny --layers 1 --context 30 --rows 4,2 --tokens 3 --repeat 2".split()
            run = self.call(*options, "--json", file)
            self.assertEqual(0, run.returncode, run.stderr)
            found = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual([1, 2, 4], [each["rows"] for each in found["passes"]])
        self.assertEqual(["eager-masked", "eager-sliced"], [way["name"] for way in found["ways"]])
        for place, each in enumerate(found["passes"]):
            self.assertEqual({"rows", "device_seconds", "wall_seconds", "ratio", "bandwidth_share", "way"}, set(each))
            self.assertEqual(
                min(way["passes"][place]["device_seconds"] for way in found["ways"]), each["device_seconds"]
            )
            self.assertAlmostEqual(each["device_seconds"] / found["passes"][0]["device_seconds"], each["ratio"])
            share = found["weight_bytes"] / each["device_seconds"] / found["copy_bytes_per_second"]
            self.assertAlmostEqual(share, each["bandwidth_share"])
        self.assertEqual(max(way["plain_rate"] for way in found["ways"]), found["decoding"]["plain_rate"])
        self.assertEqual(("tiny", 1, 30, {}), tuple(found[key] for key in ("shape", "layers", "context", "failed")))
        self.assertEqual(torch.__version__, found["versions"]["torch"])
        self.assertIn(f"plain {found['decoding']['plain_rate']:.1f} tokens/s", run.stdout)

    def test_figures_are_written_after_every_turn(self):
        """A run that ends on its way has left those of the turns before, and says that it is not complete."""
        options = "--device cpu --shape tiny --layers 1 --context 30 --rows 1,2 --tokens 2 --repeat 3".split()
        decode, calls = torch_decode.Way.decode, []

        def third_turn_ends(way, count):
            calls.append(way.name)
            if calls.count(way.name) > 3:  # the first warms up
                raise MemoryError("gone")
            return decode(way, count)

        self.addCleanup(setattr, torch_decode.Way, "decode", decode)
        torch_decode.Way.decode = third_turn_ends
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "torch.json"
            with self.assertRaises(MemoryError):
                torch_decode.run(torch_decode.options_of([*options, "--json", str(file)]))
            found = json.loads(file.read_text(encoding="utf-8"))
        self.assertIs(found["complete"], False)
        self.assertEqual([1, 2], [each["rows"] for each in found["passes"]])
        self.assertGreater(found["decoding"]["plain_rate"], 0)

    def test_refusals(self):
        for options, said in (
            ("--shape 9b", "invalid choice: '9b'"),
            ("--context 0", "--context 0 and what follows exceed 1 ... 512"),
            ("--context 500 --rows 16", "--context 500 and what follows exceed"),
            ("--layers 3", "the shape tiny has 2 layers, not 3"),
            ("--rows 1,x", "--rows 1,x is no list"),
            ("--rows 0,2", "--rows has 0"),
            ("--tokens 0", "--tokens 0 is below 1"),
            ("--ways eager-masked,fast", "--ways has fast"),
        ):
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()) as errors:
                torch_decode.main(["--device", "cpu", "--shape", "tiny", *options.split()])
            self.assertEqual(2, end.exception.code, options)
            self.assertRegex(errors.getvalue(), rf"\Atorch_decode: .*{re.escape(said)}.*\n\Z")

    def test_a_way_that_fails_is_told_and_the_others_are_measured(self):
        options = "--device cpu --shape tiny --layers 1 --context 30 --rows 1 --tokens 1 --repeat 1".split()
        whole, problem = torch_decode.attend, RuntimeError("no such kernel\nand more")

        def masked_fails(query, keys, values, mask, length):
            if not length:
                raise problem
            return whole(query, keys, values, mask, length)

        self.addCleanup(setattr, torch_decode, "attend", whole)
        torch_decode.attend = masked_fails
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            found = torch_decode.run(torch_decode.options_of(options))
            self.assertEqual({"eager-masked": "RuntimeError: no such kernel"}, found["failed"])
            self.assertEqual("eager-sliced", found["decoding"]["way"])
            alone = torch_decode.main([*options, "--ways", "eager-masked"])
        self.assertEqual(1, alone)
        self.assertRegex(errors.getvalue(), r"torch_decode: no way could be measured\n\Z")

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_no_gpu(self):
        run = self.call()
        self.assertEqual((77, "torch_decode: there is no GPU that PyTorch can use\n"), (run.returncode, run.stderr))


if __name__ == "__main__":
    unittest.main()
