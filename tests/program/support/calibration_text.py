"""Calibrations as text, so that numbers can be written in ways in which no writer of JSON would."""

import json
import re


class Number(float):
    """A number that keeps the digits in which it was written: the program's are not always the fewest, as Python's are."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def parsed(text):
    """JSON whose numbers `compact` writes as they were."""
    return json.loads(text, parse_float=Number)


def compact(content):
    """JSON without white space, as the program writes it."""
    if isinstance(content, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{compact(value)}" for key, value in content.items()) + "}"
    if isinstance(content, (list, tuple)):
        return "[" + ",".join(map(compact, content)) + "]"
    return content.text if isinstance(content, Number) else json.dumps(content)


def fnv(data):
    """FNV-1a of 64 bits, as hexadecimal digits."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return f"{state:016x}"


def with_checksum(text):
    """A calibration without white space, with the checksum that it should have."""
    content = re.sub(r',"checksum":"[0-9a-f]*"}\Z', "}", text)
    return f'{content[:-1]},"checksum":"{fnv(content.encode())}"}}'
