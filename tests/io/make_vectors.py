#!/usr/bin/env python3
"""Writes tests/data/io with the formats' own Python packages: TYPE.blocks (stored bytes) and TYPE.floats (what they
dequantise to), quantize.floats and TYPE.quantized (the bytes they become), reference.gguf and reference.safetensors. Needs: pip install gguf safetensors.
Usage: tests/io/make_vectors.py tests/data/io"""
import pathlib
import sys

import gguf
import numpy as np
import safetensors.numpy

SCALES = [0x3C00, 0xB555, 0x8000, 0x0000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00]
# Where a block keeps its binary16 numbers.
SCALE_OFFSETS = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
                 "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
LAST = ["Q2_K", "Q3_K", "IQ4_NL", "IQ4_XS", "MXFP4"]  # that numbers are drawn for
EXPONENTS = [0, 1, 2, 3, 104, 120, 127, 128, 252, 254, 0, 255]  # an MXFP4 block's scale
FLOATS = [0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]


def quantised(name, random):
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    scales = SCALES[:8] if name.endswith("_K") else SCALES
    if name in LAST and size > 32:
        scales = [0x3C00, 0xB555, 0x0001, 0x7BFF, 0x7C00, 0x0000]
    blocks = random.integers(0, 256, (len(scales), size), dtype=np.uint8)
    blocks[-1], blocks[-2] = 0xFF, 0x00  # every field at its extremes
    for i, scale in enumerate(scales):
        for nth, offset in enumerate(SCALE_OFFSETS[name]):
            value = scales[(i + 5 * nth) % len(scales)]
            blocks[i, offset : offset + 2] = np.array([value], dtype="<u2").view(np.uint8)
        if name == "MXFP4":
            blocks[i, 0] = EXPONENTS[i]
    return blocks.reshape(-1)


def reference_models(folder):
    """One value of every kind and tensors 0, 1, 2, ... under names that tests/io know."""
    writer = gguf.GGUFWriter(folder / "reference.gguf", "llama")
    writer.add_block_count(2)
    writer.add_rope_freq_base(10000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_token_list(["<s>", "\u2581a", "b"])
    writer.add_token_types([3, 1, 1])
    writer.add_tensor("token_embd.weight", np.arange(6, dtype=np.float32).reshape(3, 2))
    writer.add_tensor("output_norm.weight", np.arange(5, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensors = {"embed": np.arange(6, dtype=np.float32).reshape(3, 2), "norm": np.arange(5, dtype=np.float16),
               "ids": np.arange(3, dtype=np.int64), "mask": np.array([True, False])}
    safetensors.numpy.save_file(tensors, folder / "reference.safetensors", metadata={"format": "np"})


def numbers_to_quantise():
    """Blocks of 32: of ordinary size, all zero, of one sign, equal, tiny, large, and ties between two quants."""
    random = np.random.default_rng(5)
    blocks = [random.normal(size=32) * scale for scale in (1, 1e-3, 300, 1e-7)]
    blocks += [np.zeros(32), np.full(32, 0.25), -np.arange(32.0), np.linspace(-127, 127, 32) / 2, np.arange(32) % 16 + 0.5]
    return np.concatenate(blocks).astype("<f4")


def main(folder):
    random = np.random.default_rng(20240607)
    vectors = {name: quantised(name, random) for name in SCALE_OFFSETS if name not in LAST}
    vectors["F32"] = np.array(FLOATS, dtype="<u4").view(np.uint8)
    vectors["BF16"] = np.array([f >> 16 for f in FLOATS], dtype="<u2").view(np.uint8)
    vectors["F16"] = np.concatenate([np.array(SCALES, dtype="<u2"), random.integers(0, 1 << 16, 64, dtype="<u2")]).view(np.uint8)
    vectors |= {name: quantised(name, random) for name in LAST}
    for name, blocks in vectors.items():
        with np.errstate(all="ignore"):
            floats = gguf.quants.dequantize(blocks.reshape(1, -1), gguf.GGMLQuantizationType[name])
        (folder / f"{name.lower()}.blocks").write_bytes(blocks.tobytes())
        (folder / f"{name.lower()}.floats").write_bytes(floats.astype("<f4").tobytes())
    numbers = numbers_to_quantise()
    (folder / "quantize.floats").write_bytes(numbers.tobytes())
    for name in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1"):
        blocks = gguf.quants.quantize(numbers.reshape(1, -1), gguf.GGMLQuantizationType[name])
        (folder / f"{name.lower()}.quantized").write_bytes(blocks.tobytes())
    reference_models(folder)


main(pathlib.Path(sys.argv[1]))
