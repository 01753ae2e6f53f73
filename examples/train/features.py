"""What members learn from: the target's hidden states over its texts, and the token that each finds most probable."""

import dataclasses

import torch
import tqdm

import store
import texts

CHUNK = 16  # texts in one pass


@dataclasses.dataclass
class Lesson:
    """A text, and what the target makes of it where that is stored."""

    text: texts.Text
    hidden: torch.Tensor | None = None  # [positions, width] after the last norm
    best: torch.Tensor | None = None  # [positions] the most probable next token
    between: dict | None = None  # layer: [positions, width]


@dataclasses.dataclass
class Batch:
    """Texts side by side. A root is a position whose hidden state is known, and the token after it."""

    tokens: torch.Tensor  # [texts, positions]
    answer: torch.Tensor  # [texts, 1]
    length: torch.Tensor
    hidden: torch.Tensor  # [texts, positions, width]
    best: torch.Tensor
    between: dict

    def known(self, offset):
        """Roots t, from the prompt's end on, whose text goes on at least to the token t + 1 + offset."""
        columns = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return (columns >= self.answer - 1) & (columns + 1 + offset < self.length)


def pad(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def ahead(rows, count):
    """Each position's row `count` positions later; what reaches beyond the end wraps, and is masked by `known`."""
    return rows.roll(-count, 1)


class Features:
    """Hidden states of all texts: kept on the disk within a budget, else computed again for every batch."""

    def __init__(self, target, folder, budget, layers=()):
        self.target, self.folder, self.budget, self.layers = target, folder, budget, tuple(layers)
        self.device = target.head.device

    def files(self, path):
        return [self.folder / f"{path.stem}.{name}.npy" for name in ("best", "hidden", *(f"layer{i}" for i in self.layers))]

    def used(self):
        return sum(file.stat().st_size for file in self.folder.glob("*.npy"))

    def keep(self, path, shard, rows):
        """Stores the states that came with a shard's texts, of all tokens but the last of each, within the budget."""
        if self.used() + rows.nbytes > self.budget:
            return
        parts = rows.split([length - 1 for length in shard["lengths"]])
        none = rows.new_zeros(1, rows.shape[1])
        store.save_rows(self.folder / f"{path.stem}.hidden.npy", torch.cat([row for part in parts for row in (part, none)]))

    def fill(self, shards):
        """Stores what is missing of these shards, as far as the budget reaches."""
        used, width = self.used(), self.target.shape.width
        for path in tqdm.tqdm(shards, desc="features", unit="shard", miniters=1):
            best, *states = self.files(path)
            if all(file.exists() for file in states):
                if not best.exists():
                    store.save_rows(best, self.best_of_written(texts.read(path), store.map_rows(states[0])))
                continue
            tokens = [torch.from_numpy(text.tokens).long() for text in texts.read(path)]
            missing = [file for file in self.files(path) if not file.exists()]
            needed = sum(map(len, tokens)) * sum(4 if file == best else 2 * width for file in missing)
            if used + needed > self.budget:
                continue  # a shorter shard may fit
            used += needed
            for file, rows in zip(self.files(path), self.rows(tokens)):
                if file in missing:
                    store.save_rows(file, rows)

    def rows(self, tokens):
        """Best tokens, hidden states and those between, of several texts in a row."""
        parts = []
        for begin in range(0, len(tokens), CHUNK):
            chunk = tokens[begin : begin + CHUNK]
            states = self.compute(pad(chunk).to(self.device))
            parts.append([torch.cat([row[: len(text)] for row, text in zip(state, chunk)]).cpu() for state in states])
        return [torch.cat(column) for column in zip(*parts)]

    @torch.inference_mode()
    def compute(self, tokens):
        hidden, between = self.target(tokens, self.layers)
        return self.best(hidden.flatten(0, 1)).view(tokens.shape), hidden, *(between[i] for i in self.layers)

    @torch.inference_mode()
    def best(self, hidden):
        return torch.cat([(rows.to(self.target.head.dtype) @ self.target.head.T).argmax(-1) for rows in hidden.split(1024)]).int()

    def best_of_written(self, written, hidden):
        """The same of texts with states of their own: of answers, whose greedy ones are the best tokens themselves."""
        parts = []
        for text, rows in zip(written, hidden.split([len(text.tokens) for text in written])):
            best = torch.from_numpy(text.tokens).int().roll(-1)
            if text.temperature > 0:
                best[text.answer - 1 :] = self.best(rows[text.answer - 1 :].to(self.device)).cpu()
            parts.append(best)
        return torch.cat(parts)

    def lessons(self, path):
        """The texts of a shard, with their states where they are stored."""
        read = texts.read(path)
        if not all(file.exists() for file in self.files(path)):
            return [Lesson(text) for text in read]
        lengths = [len(text.tokens) for text in read]
        split = zip(*(store.map_rows(file).split(lengths) for file in self.files(path)))
        return [
            Lesson(text, hidden, best, dict(zip(self.layers, between))) for text, (best, hidden, *between) in zip(read, split)
        ]

    def batch(self, lessons):
        column = lambda values: torch.tensor(values, device=self.device)[:, None]
        tokens = pad([torch.from_numpy(lesson.text.tokens).long() for lesson in lessons]).to(self.device)
        if any(lesson.hidden is None for lesson in lessons):
            best, hidden, *between = (state.clone() for state in self.compute(tokens))  # no longer of inference alone
            between = dict(zip(self.layers, between))
        else:
            best = pad([lesson.best for lesson in lessons]).to(self.device)
            hidden = pad([lesson.hidden for lesson in lessons]).to(self.device)
            between = {i: pad([lesson.between[i] for lesson in lessons]).to(self.device) for i in self.layers}
        answers, lengths = [lesson.text.answer for lesson in lessons], [len(lesson.text.tokens) for lesson in lessons]
        return Batch(tokens, column(answers), column(lengths), hidden, best, between)
