"""The metadata of GGUF files: what a tokenizer is made of, read and written."""

import struct

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            each, count = self.take("I"), self.take("Q")
            return [self.value(each) for _ in range(count)]
        return self.take(SCALARS[kind])


def read(data):
    """All keys with their values."""
    reader = Reader(data)
    magic, _, _, count = reader.take("I"), reader.take("I"), reader.take("Q"), reader.take("Q")
    if magic != 0x46554747:
        raise ValueError("not a GGUF file")
    return {reader.text(): reader.value(reader.take("I")) for _ in range(count)}


def kind_of(value):
    for kind, number in ((bool, 7), (int, 5), (float, 6), (str, STRING), (list, ARRAY)):
        if isinstance(value, kind):
            return number
    raise TypeError(value)


def packed(value):
    if isinstance(value, str):
        return struct.pack("<Q", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return struct.pack("<IQ", kind_of(value[0]), len(value)) + b"".join(map(packed, value))
    return struct.pack("<" + SCALARS[kind_of(value)], value)


def written(values):
    """A file with these keys and no tensors."""
    body = b"".join(packed(key) + struct.pack("<I", kind_of(value)) + packed(value) for key, value in values.items())
    return struct.pack("<IIQQ", 0x46554747, 3, 0, len(values)) + body
