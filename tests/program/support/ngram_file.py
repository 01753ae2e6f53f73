"""Counts n-grams of a few ids and writes them as GGUF files, from the standard library alone: docs/draft/ngram_table.md."""

import collections
import struct

from tiny_model import STRING, U32, pair, text

I32_TENSOR, U64 = 26, 10
BITS = (1 << 64) - 1


def key_of(context):
    key = 0x9E3779B97F4A7C15 * len(context) & BITS
    for token in context:
        key = (key ^ token) * 0x100000001B3 & BITS
        key ^= key >> 32
    return key


def write(path, texts, orders=(1, 2), member="ngram", target=None):
    """`target`: the fingerprint of the model that it is made for."""
    following = collections.defaultdict(collections.Counter)
    for ids in texts:
        for order in orders:
            for end in range(order, len(ids)):
                following[tuple(ids[end - order : end])][ids[end]] += 1
    slots = 2
    while len(following) > 0.7 * slots:
        slots *= 2
    check, after = [0] * slots, [-1] * slots
    for context, counts in following.items():
        key = key_of(context)
        slot = key % slots
        while after[slot] != -1:
            slot = (slot + 1) % slots
        check[slot], after[slot] = key >> 32, min(counts, key=lambda token: (-counts[token], token))
    pairs = [
        pair("augur.member", STRING, member),
        pair("augur.ngram.order_min", U32, min(orders)),
        pair("augur.ngram.order_max", U32, max(orders)),
        text("augur.ngram.slots") + struct.pack("<IQ", U64, slots),
    ]
    if target:
        pairs.append(pair("augur.target.fingerprint", STRING, target))
    directory, data = b"", b""
    for name, stored in (("check", struct.pack(f"<{slots}I", *check)), ("next", struct.pack(f"<{slots}i", *after))):
        directory += text(f"augur.ngram.{name}") + struct.pack("<IQIQ", 1, slots, I32_TENSOR, len(data))
        data += stored + b"\0" * (-len(stored) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, len(pairs)) + b"".join(pairs) + directory
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + data)
    return str(path)
