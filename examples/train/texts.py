"""What the target has written, as the other stages see it."""

import dataclasses

import numpy


@dataclasses.dataclass
class Text:
    tokens: numpy.ndarray
    answer: int  # where the answer begins
    kind: int  # an index of prompts.KINDS
    temperature: float
    held_out: bool


def shard(folder, index):
    return folder / f"{index:05}.npz"


def shards(folder):
    return sorted(folder.glob("[0-9]*.npz"))


def count(path):
    """Tokens of a shard that the target wrote as answers."""
    with numpy.load(path) as stored:
        return int(stored["lengths"].sum() - stored["answers"].sum())


def written(folder):
    return sum(map(count, shards(folder)))


def read(path):
    with numpy.load(path) as stored:
        columns = [stored[name] for name in ("answers", "kinds", "temperatures", "held_out")]
        split = numpy.split(stored["tokens"].astype(numpy.int32), numpy.cumsum(stored["lengths"])[:-1])
    return [Text(tokens, int(a), int(k), float(t), bool(h)) for tokens, a, k, t, h in zip(split, *columns)]


def first(lessons, tokens):
    """The first lessons that hold a number of written tokens together."""
    chosen, held = [], 0
    for lesson in lessons:
        if held >= tokens:
            break
        chosen.append(lesson)
        held += len(lesson.text.tokens) - lesson.text.answer
    return chosen
