"""Calibrations as text, so that numbers can be written in ways in which no writer of JSON would."""

import re


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
