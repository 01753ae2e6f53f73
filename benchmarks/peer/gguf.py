"""What the comparison needs of GGUF: which formats a file's matrices have, and a Llama with random weights.

K-quants come in blocks of 256 values. The small model that is fetched has rows of 576, for which llama-quantize takes other formats
without saying so in the file's name: for K-quants there is a model of as many parameters with rows of 768 and 2048. What a pass
costs depends on shapes, not on values. What is not a shape (the tokenizer above all) is copied from the fetched file.
"""

import math
import mmap
import struct

WIDTH, FEED_FORWARD, LAYERS, HEADS, KEY_VALUE_HEADS, HEAD_SIZE = 768, 2048, 16, 12, 4, 64
SHAPE = {
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": FEED_FORWARD,
    "llama.block_count": LAYERS,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KEY_VALUE_HEADS,
    "llama.rope.dimension_count": HEAD_SIZE,
}
ALIGNMENT = 32
U32, STRING, ARRAY, F32 = 4, 8, 9, 0  # the numbers of the format; F32 is a type of tensor, the others of values
TENSOR_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    30: "BF16",
}
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, kind):
        value = struct.unpack_from("<" + kind, self.data, self.at)[0]
        self.at += struct.calcsize("<" + kind)
        return value

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            of, count = self.number("I"), self.number("Q")
            if of in SIZES:
                self.at += SIZES[of] * count
            else:
                for _ in range(count):
                    self.skip(of)
        else:
            self.at += SIZES[kind]


def header_of(path):
    """The metadata of a GGUF file as (key, bytes of type and value), and its tensors as (name, shape, type)."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != b"GGUF" or struct.unpack_from("<I", data, 4)[0] not in (2, 3):
            raise ValueError(f"{path} is not a GGUF file of version 2 or 3")
        reader = Reader(data)
        reader.at = 8
        tensor_count, value_count = reader.number("Q"), reader.number("Q")
        values, tensors = [], []
        for _ in range(value_count):
            key, start = reader.text(), reader.at
            reader.skip(reader.number("I"))
            values.append((key, data[start : reader.at]))
        for _ in range(tensor_count):
            name, shape = reader.text(), [reader.number("Q") for _ in range(reader.number("I"))]
            tensors.append((name, shape, reader.number("I")))
            reader.number("Q")  # where it is
    return values, tensors


def formats_of(path):
    """The names of the formats that the matrices of a file have."""
    kinds = {kind for _, shape, kind in header_of(path)[1] if len(shape) == 2}
    return sorted(TENSOR_TYPES.get(kind, f"type {kind}") for kind in kinds)


def tensors_of(vocabulary):
    """Names and shapes, fastest dimension first; the head is tied to the embedding."""
    keys = KEY_VALUE_HEADS * HEAD_SIZE
    yield "token_embd.weight", (WIDTH, vocabulary)
    for layer in range(LAYERS):
        for name, shape in (
            ("attn_norm", (WIDTH,)),
            ("attn_q", (WIDTH, HEADS * HEAD_SIZE)),
            ("attn_k", (WIDTH, keys)),
            ("attn_v", (WIDTH, keys)),
            ("attn_output", (HEADS * HEAD_SIZE, WIDTH)),
            ("ffn_norm", (WIDTH,)),
            ("ffn_gate", (WIDTH, FEED_FORWARD)),
            ("ffn_up", (WIDTH, FEED_FORWARD)),
            ("ffn_down", (FEED_FORWARD, WIDTH)),
        ):
            yield f"blk.{layer}.{name}.weight", shape
    yield "output_norm.weight", (WIDTH,)


def write(source, destination):
    """Writes the model in F32, with the metadata of the file `source` wherever it is not a shape."""
    import numpy

    values, existing = header_of(source)
    vocabulary = next(shape[1] for name, shape, _ in existing if name == "token_embd.weight")
    tensors = list(tensors_of(vocabulary))
    generator = numpy.random.default_rng(1)
    values = [(key, struct.pack("<II", U32, SHAPE[key]) if key in SHAPE else value) for key, value in values]
    values = [(key, value) for key, value in values if key != "general.file_type"]
    with open(destination, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)))
        for key, value in values:
            file.write(text(key) + value)
        offset = 0
        for name, shape in tensors:
            file.write(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, F32, offset))
            offset += 4 * math.prod(shape)  # a multiple of the alignment: every shape is one of 256
        file.write(b"\0" * (-file.tell() % ALIGNMENT))
        for _, shape in tensors:
            size = math.prod(shape)
            weights = generator.standard_normal(size, dtype=numpy.float32) * numpy.float32(0.03)
            (weights if len(shape) == 2 else numpy.ones(size, numpy.float32)).tofile(file)
