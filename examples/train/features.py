"""What members learn from: the target's hidden states over its texts, and the token that each finds most probable."""

import dataclasses

import numpy
import torch
import tqdm

import store
import texts

CHUNK = 16  # texts in one pass


@dataclasses.dataclass
class Lesson:
    text: texts.Text
    hidden: torch.Tensor  # [positions, width] after the last norm
    best: numpy.ndarray  # [positions] the most probable next token
    between: dict  # layer: [positions, width]


def pad(rows, value=0):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)


class Features:
    """Of the shards that make up a number of tokens; kept on the disk within a budget, else computed when asked for."""

    def __init__(self, options, target, layers=()):
        self.target, self.layers, self.folder = target, tuple(layers), options.work / "features"
        self.budget = options.disk_budget * 1e9
        self.shards = texts.first(options.work / "texts", options.tokens)

    def names(self, path):
        return [self.folder / f"{path.stem}.{name}.npy" for name in ("hidden", *(f"layer{i}" for i in self.layers))]

    def best(self, path):
        return self.folder / f"{path.stem}.best.npz"

    def fill(self):
        """Computes what is missing, as far as the budget reaches."""
        used = sum(file.stat().st_size for file in self.folder.glob("*.np[yz]"))
        for path in tqdm.tqdm(self.shards, desc="features", unit="shard"):
            missing = [name for name in (self.best(path), *self.names(path)) if not name.exists()]
            need = sum(map(len, (text.tokens for text in texts.read(path)))) * self.target.shape.width * 2 * len(missing)
            if missing and used + need <= self.budget:
                computed = self.compute(path)
                for name, rows in zip(self.names(path), computed[1:]):
                    store.save_tensor(name, rows)
                store.save_arrays(self.best(path), best=computed[0])
                used += need

    @torch.inference_mode()
    def compute(self, path):
        """The best next tokens, the hidden states and those between, each for all texts of a shard in a row."""
        tokens = [torch.from_numpy(text.tokens).long() for text in texts.read(path)]
        parts = []
        for begin in range(0, len(tokens), CHUNK):
            chunk = tokens[begin : begin + CHUNK]
            hidden, between = self.target(pad(chunk).to(self.target.head.device), self.layers)
            cut = lambda rows: torch.cat([row[: len(text)] for row, text in zip(rows, chunk)])
            states = [cut(hidden), *(cut(between[i]) for i in self.layers)]
            best = torch.cat([(rows @ self.target.head.T).argmax(-1) for rows in states[0].split(1024)])
            parts.append([best, *states])
        best, *states = [torch.cat(column).cpu() for column in zip(*parts)]
        return best.numpy().astype(numpy.int32), *states

    def lessons(self):
        """All texts with their hidden states."""
        made = []
        for path in self.shards:
            read = texts.read(path)
            if all(name.exists() for name in (self.best(path), *self.names(path))):
                best = numpy.load(self.best(path))["best"]
                states = [store.map_tensor(name) for name in self.names(path)]
            else:
                best, *states = self.compute(path)
            lengths = [len(text.tokens) for text in read]
            best = numpy.split(best, numpy.cumsum(lengths)[:-1])
            split = zip(*(state.split(lengths) for state in states))
            for text, choice, (hidden, *between) in zip(read, best, split):
                made.append(Lesson(text, hidden, choice, dict(zip(self.layers, between))))
        return made


@dataclasses.dataclass
class Batch:
    """Texts side by side. A root is a position whose hidden state is known, and the token after it."""

    tokens: torch.Tensor  # [texts, positions]
    hidden: torch.Tensor  # [texts, positions, width]
    best: torch.Tensor
    between: dict
    answer: torch.Tensor  # [texts, 1]
    length: torch.Tensor

    def known(self, offset):
        """At which positions t the token t + 1 + offset is part of the answer, and so is t + 1 or t its prompt's end."""
        columns = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return (columns >= self.answer - 1) & (columns + 1 + offset < self.length)


def batch(lessons, device):
    column = lambda values: torch.tensor(values, device=device)[:, None]
    return Batch(
        tokens=pad([torch.from_numpy(x.text.tokens).long() for x in lessons]).to(device),
        hidden=pad([x.hidden for x in lessons]).to(device),
        best=pad([torch.from_numpy(x.best).long() for x in lessons]).to(device),
        between={i: pad([x.between[i] for x in lessons]).to(device) for i in lessons[0].between},
        answer=column([x.text.answer for x in lessons]),
        length=column([len(x.text.tokens) for x in lessons]),
    )


def ahead(rows, count):
    """Each position's row `count` positions later; what reaches beyond the end wraps, and is masked by `known`."""
    return rows.roll(-count, 1)
