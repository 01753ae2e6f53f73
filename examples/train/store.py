"""Files that are either whole or not there: written beside their name, then renamed. Work that is done is found by name."""

import contextlib
import fcntl
import os
import pathlib

import numpy
import torch


@contextlib.contextmanager
def whole(path):
    """A file to write that appears under its name once all of it is on the disk."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def claimed(path):
    """Whether this process alone makes `path` now: several may run the same command. A killed one's claim ends with it."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield not path.exists()


def save_arrays(path, **arrays):
    with whole(path) as file:
        numpy.savez(file, **arrays)


def save_rows(path, rows):
    """Token ids, or states in 16 bits, as numpy arrays: these can be mapped instead of read."""
    with whole(path) as file:
        numpy.save(file, (rows.to(torch.bfloat16).view(torch.int16) if rows.is_floating_point() else rows).numpy())


def map_rows(path):
    rows = torch.from_numpy(numpy.load(path, mmap_mode="c"))
    return rows.view(torch.bfloat16) if rows.dtype == torch.int16 else rows


def save_state(path, **state):
    with whole(path) as file:
        torch.save(state, file)


def load_state(path, device="cpu"):
    return torch.load(path, map_location=device, weights_only=True)
