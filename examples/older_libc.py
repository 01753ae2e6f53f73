"""Lets a shared library that was built with the newest C library run with older ones.

Since C23, strtol and its like read binary numbers (0b101), and compilers call them by new names, which glibc has from
2.38 on only. A library that uses nothing else of 2.38 runs with older ones if it calls the functions by the names they
always had: the only difference is that binary numbers are not read.
"""

import struct

DYNAMIC_STRINGS, NEEDED_VERSIONS = 3, 0x6FFFFFFE  # section types: SHT_STRTAB, SHT_GNU_verneed
FIRST_VERSION = b"GLIBC_2.2.5"  # of x86-64, the only processor whose libraries come here
NEW_VERSION, NEW_PREFIX = b"GLIBC_2.38", b"__isoc23_"


def elf_hash(name):
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value


def sections(library):
    """Yields (type, start, size, linked section) of a 64-bit little-endian ELF file."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (start,) = struct.unpack_from("<Q", library, 40)
    size, count = struct.unpack_from("<HH", library, 58)
    for i in range(count):
        fields = struct.unpack_from("<IIQQQQII", library, start + i * size)
        yield fields[1], fields[4], fields[5], fields[6]


def with_older_names(library):
    """The same library, calling __isoc23_strtol as strtol, and so on."""
    out, table = bytearray(library), list(sections(library))
    for kind, start, _, linked in table:
        if kind != NEEDED_VERSIONS:
            continue
        _, strings, size, _ = table[linked]
        older = library.index(b"\0" + FIRST_VERSION + b"\0", strings, strings + size) + 1 - strings
        rename(out, strings, strings + size)
        need = start
        while True:
            _, count, _, first, following = struct.unpack_from("<HHIII", library, need)
            version = need + first
            for _ in range(count):
                _, _, _, name, step = struct.unpack_from("<IHHII", library, version)
                if library.startswith(NEW_VERSION + b"\0", strings + name):
                    struct.pack_into("<I", out, version, elf_hash(FIRST_VERSION))
                    struct.pack_into("<I", out, version + 8, older)
                version += step
            if following == 0:
                break
            need += following
    return bytes(out)


def rename(out, start, end):
    """Each name moves over the prefix, so that names that are the end of another stay where they are."""
    at = out.find(NEW_PREFIX, start, end)
    while at >= 0:
        name = bytes(out[at + len(NEW_PREFIX) : out.index(b"\0", at) + 1])
        if len(name) > len(NEW_PREFIX):
            raise ValueError(f"{name[:-1].decode()} is too long to be renamed in place")
        out[at : at + len(name)] = name
        at = out.find(NEW_PREFIX, at, end)
