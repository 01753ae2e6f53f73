#!/usr/bin/env python3
"""A pass of two widely used shapes with random weights, on the bundled forward pass and on llama.cpp, from the same files.

    benchmarks/shapes.py --program build/dev/bin/augur --model $MODEL --output files [--shapes NAMES] [--formats NAMES]

Shapes: a Qwen3 of 0.6 billion parameters (norms of queries and keys, heads of 128), and a SmolLM3 of 1.7 billion (its widths, every fourth
layer without rotary embedding, 18 of its 36 layers). What a pass costs depends on shapes, not on values; the tokenizer is that of $MODEL,
with unused tokens up to the shape's vocabulary. Needs Python's `gguf`. Files stay in the folder of --output: 1.2 and 3.4 GB in BF16.

In turns A B and B A: the medians of `augur bench verify` of each turn, and of all turns. Writes shapes.json and shapes.md.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ENGINES = ("augur", "llama.cpp")
SHAPES = {
    "qwen3-0.6b": {
        "architecture": "qwen3", "layers": 28, "width": 1024, "heads": 16, "key_value_heads": 8, "head": 128, "feed_forward": 3072,
        "vocabulary": 151936, "context": 40960, "base": 1e6, "epsilon": 1e-6, "norms": True,
    },
    "smollm3-1.7b": {
        "architecture": "smollm3", "layers": 18, "width": 2048, "heads": 16, "key_value_heads": 4, "head": 128, "feed_forward": 11008,
        "vocabulary": 128256, "context": 65536, "base": 5e6, "epsilon": 1e-6, "norms": False,
    },
}  # fmt: skip


def matrices(shape):
    """Names and shapes (rows, columns) of what is multiplied; the head is tied to the embedding."""
    width, queries, keys = shape["width"], shape["heads"] * shape["head"], shape["key_value_heads"] * shape["head"]
    yield "token_embd.weight", (shape["vocabulary"], width)
    for layer in range(shape["layers"]):
        for name, rows, columns in (
            ("attn_q", queries, width),
            ("attn_k", keys, width),
            ("attn_v", keys, width),
            ("attn_output", width, queries),
            ("ffn_gate", shape["feed_forward"], width),
            ("ffn_up", shape["feed_forward"], width),
            ("ffn_down", width, shape["feed_forward"]),
        ):
            yield f"blk.{layer}.{name}.weight", (rows, columns)


def norms(shape):
    for layer in range(shape["layers"]):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", shape["width"]
        for name in ("attn_q_norm", "attn_k_norm") if shape["norms"] else ():
            yield f"blk.{layer}.{name}.weight", shape["head"]
    yield "output_norm.weight", shape["width"]


def write_keys(writer, shape, tokenizer):
    """The configuration, and the tokenizer of another file with unused tokens behind its own."""
    import gguf

    writer.add_context_length(shape["context"])
    writer.add_embedding_length(shape["width"])
    writer.add_block_count(shape["layers"])
    writer.add_feed_forward_length(shape["feed_forward"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["key_value_heads"])
    writer.add_key_length(shape["head"])
    writer.add_value_length(shape["head"])
    writer.add_rope_dimension_count(shape["head"])
    writer.add_rope_freq_base(shape["base"])
    writer.add_layer_norm_rms_eps(shape["epsilon"])
    writer.add_vocab_size(shape["vocabulary"])
    read = {key: field.contents() for key, field in gguf.GGUFReader(tokenizer).fields.items() if key.startswith("tokenizer.ggml.")}
    missing = shape["vocabulary"] - len(read["tokenizer.ggml.tokens"])
    writer.add_tokenizer_model(read["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(read["tokenizer.ggml.pre"])
    writer.add_token_list(read["tokenizer.ggml.tokens"] + [f"[UNUSED {i}]" for i in range(missing)])
    writer.add_token_types(list(read["tokenizer.ggml.token_type"]) + [gguf.TokenType.UNUSED] * missing)
    writer.add_token_merges(read["tokenizer.ggml.merges"])
    writer.add_bos_token_id(read["tokenizer.ggml.bos_token_id"])
    writer.add_eos_token_id(read["tokenizer.ggml.eos_token_id"])


def write(path, shape, kind, tokenizer):
    """A GGUF file with weights of a normal distribution in this format, one tensor in memory at a time."""
    import gguf
    import numpy

    generator = numpy.random.default_rng(1)
    sizes = dict(matrices(shape))
    part = path.with_suffix(".part")
    writer = gguf.GGUFWriter(part, shape["architecture"])
    write_keys(writer, shape, tokenizer)
    for name, (rows, columns) in sizes.items():
        bytes_of = gguf.quants.quant_shape_to_byte_shape((rows, columns), kind)
        writer.add_tensor_info(name, bytes_of, numpy.dtype(numpy.uint8), rows * bytes_of[1], raw_dtype=kind)
    for name, size in norms(shape):
        writer.add_tensor_info(name, (size,), numpy.dtype(numpy.float32), 4 * size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for rows, columns in sizes.values():
        values = generator.standard_normal((rows, columns), dtype=numpy.float32) * numpy.float32(0.03)
        writer.write_tensor_data(gguf.quants.quantize(values, kind).view(numpy.uint8))
    for _, size in norms(shape):
        writer.write_tensor_data(numpy.ones(size, numpy.float32))
    writer.close()
    part.rename(path)


def measured(chosen, engine, model):
    """Milliseconds of a pass by its number of rows."""
    words = [chosen.program, "bench", "verify", "--engine", engine, "--model", model, "--threads", chosen.threads, "--json"]
    words += ["--rows", ",".join(map(str, chosen.rows)), "--context", chosen.context, "--repetitions", chosen.repetitions]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"shapes.py: error: {' '.join(map(str, words))}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    return dict(zip(result["rows"], result["milliseconds"]))


def line_of(name, kind, found, rows):
    def of(engine, count):
        return statistics.median(turn[count] for turn in found[engine])

    cells = [name, kind.upper()]
    cells += [f"{of(engine, rows[0]):.1f}" for engine in ENGINES]
    cells += [f"{of(engine, count) / of(engine, rows[0]):.2f}" for engine in ENGINES for count in rows[1:]]
    cells += [f"{of('llama.cpp', count) / of('augur', count):.2f}" for count in rows]
    return "|" + "|".join(cells) + "|"


def head_of(rows):
    cells = ["shape", "format", *(f"T({rows[0]}), ms, {engine}" for engine in ENGINES)]
    cells += [f"T({count})/T({rows[0]}), {engine}" for engine in ENGINES for count in rows[1:]]
    cells += [f"T({count}), llama.cpp over augur" for count in rows]
    return ["|" + "|".join(cells) + "|", "|" + "-|" * len(cells)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--program", type=pathlib.Path, required=True)
    add("--model", type=pathlib.Path, required=True, help="a GGUF file, for its tokenizer")
    add("--output", type=pathlib.Path, required=True)
    add("--shapes", type=lambda text: text.split(","), default=list(SHAPES))
    add("--formats", type=lambda text: text.split(","), default=["bf16", "q8_0", "q4_0"])
    add("--rows", type=lambda text: [int(each) for each in text.split(",")], default=[1, 4, 8])
    add("--context", type=int, default=256)
    add("--repetitions", type=int, default=7, help="passes of each kind in a turn")
    add("--turns", type=int, default=4)
    add("--threads", type=int, default=2)
    chosen = parser.parse_args()
    import gguf

    chosen.output.mkdir(parents=True, exist_ok=True)
    lines, all_found = head_of(chosen.rows), []
    for name in chosen.shapes:
        for kind in chosen.formats:
            model = chosen.output / f"{name}.{kind}.gguf"
            if not model.exists():
                write(model, SHAPES[name], gguf.GGMLQuantizationType[kind.upper()], chosen.model)
            found = {engine: [] for engine in ENGINES}
            for turn in range(chosen.turns):
                for engine in ENGINES if turn % 2 == 0 else ENGINES[::-1]:
                    found[engine].append(measured(chosen, engine, model))
            all_found.append({"shape": name, "format": kind, "turns": found})
            lines.append(line_of(name, kind, found, chosen.rows))
            print(lines[-1], flush=True)
            (chosen.output / "shapes.json").write_text(json.dumps(all_found, indent=1) + "\n")
    (chosen.output / "shapes.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
