"""The target writes its training text: it ends prompts that were begun for it, and answers all."""

import json
import subprocess
import tempfile

import numpy
import torch
from torch.nn import functional

import llama
import prompts
import store

TEMPERATURES = (0.0, 0.7, 0.0, 1.0)  # of the answers, in turn
PROMPT_LIMIT = 64
TOGETHER = 64  # texts that the program writes at a time


class Torch:
    """Writes with the target in PyTorch."""

    def __init__(self, model):
        self.model = model

    @torch.inference_mode()
    def write(self, prompts, temperatures, seed, limit, end, on_token=lambda count: None):
        """The texts, prompts included, each up to and with its end; and no states, which are then computed later."""
        device = self.model.head.device
        random = torch.Generator(device).manual_seed(seed)
        batch = Batch(self.model, prompts, limit, end)
        return batch.write(torch.tensor(temperatures, device=device), random, on_token), None


class Program:
    """Writes with the program `augur`; its states come with the texts."""

    def __init__(self, program, model, threads, width):
        self.command = [program, "answer", "--model", model, "--threads", str(threads), "--together", str(TOGETHER)]
        self.width = width

    def write(self, prompts, temperatures, seed, limit, end, on_token=lambda count: None):
        with tempfile.TemporaryDirectory() as folder:
            asked, answered, states = (f"{folder}/{name}" for name in ("prompts.jsonl", "answers.jsonl", "states"))
            with open(asked, "w") as file:
                for i, (prompt, temperature) in enumerate(zip(prompts, temperatures)):
                    own = dict(prompt_ids=prompt, temperature=temperature, seed=(seed << 20) + i)
                    print(json.dumps(own), file=file)
            files = ["--prompts", asked, "--output", answered, "--states", states, "--max-tokens", str(limit)]
            done = subprocess.run([*self.command, *files], stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{self.command[0]} ended with {done.returncode}: {done.stderr.strip()}")
            with open(answered) as file:
                answers = [json.loads(line)["ids"] for line in file]
            rows = torch.from_numpy(numpy.fromfile(states, numpy.int16)).view(torch.bfloat16).view(-1, self.width)
        on_token(sum(map(len, answers)))
        return [prompt + answer for prompt, answer in zip(prompts, answers)], rows


class Batch:
    """Texts that grow together. Their prompts end at the same place; what pads them in front is never attended to."""

    def __init__(self, model, prompts, limit, end):
        device = model.head.device
        longest = max(map(len, prompts))
        self.model, self.end, self.used = model, end, longest
        self.tokens = torch.full((len(prompts), longest + limit), end, device=device)
        self.first = torch.tensor([longest - len(p) for p in prompts], device=device)
        for row, prompt in enumerate(prompts):
            self.tokens[row, longest - len(prompt) : longest] = torch.tensor(prompt, device=device)
        cache = (len(prompts), model.shape.kv_heads, longest + limit, model.shape.head)
        empty = lambda: torch.zeros(cache, dtype=model.head.dtype, device=device)
        self.keys = [empty() for _ in model.blk]
        self.values = [empty() for _ in model.blk]

    def forward(self, begin, finish):
        """Normalised hidden states at the last of the columns [begin, finish), whose keys and values are kept."""
        columns = torch.arange(begin, finish, device=self.tokens.device)
        turns = self.model.rope((columns[None] - self.first[:, None]).clamp(min=0))
        before = torch.arange(finish, device=self.tokens.device)
        seen = (before <= columns[:, None]) & (before >= self.first[:, None, None])
        seen |= before == columns[:, None]  # padding sees itself: a row of nothing has no softmax
        x = self.model.token_embd(self.tokens[:, begin:finish])
        for layer, keys, values in zip(self.model.blk, self.keys, self.values):
            q, k, v = layer.project(x, turns)
            keys[:, :, begin:finish], values[:, :, begin:finish] = k, v
            x = layer.finish(x, attend(q, keys[:, :, :finish], values[:, :, :finish], seen[:, None]))
        return self.model.output_norm(x[:, -1])

    def write(self, temperatures, random, on_token=lambda count: None):
        """The texts, without padding, each up to and with its end."""
        texts = [None] * len(self.tokens)
        row_of = torch.arange(len(self.tokens), device=self.tokens.device)  # of what is left, its place in `texts`
        active = torch.ones_like(row_of, dtype=torch.bool)
        begin = 0
        for used in range(self.used, self.tokens.shape[1]):
            chosen = choose(self.forward(begin, used), self.model.head, temperatures, random)
            self.tokens[:, used] = torch.where(active, chosen, self.end)
            on_token(int(active.sum()))
            active &= chosen != self.end
            begin = used
            if active.sum() <= 0.75 * len(active):
                self.collect(texts, row_of, ~active)
                temperatures, row_of = temperatures[active], row_of[active]
                self.keep(active)
                active = active[active]
                if not len(active):
                    break
        self.collect(texts, row_of, torch.ones_like(row_of, dtype=torch.bool))
        return texts

    def keep(self, rows):
        """Forgets the other rows."""
        self.tokens, self.first = self.tokens[rows], self.first[rows]
        for i in range(len(self.keys)):
            self.keys[i], self.values[i] = self.keys[i][rows], self.values[i][rows]

    def collect(self, texts, row_of, rows):
        for row in rows.nonzero()[:, 0].tolist():
            text = self.tokens[row, self.first[row] :].tolist()
            start = self.used - int(self.first[row])
            stop = text.index(self.end, start) + 1 if self.end in text[start:] else len(text)
            texts[int(row_of[row])] = text[:stop]


def attend(q, k, v, seen):
    if q.shape[2] > 1:
        return functional.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)
    folded = q.reshape(len(q), k.shape[1], -1, q.shape[-1])  # heads that share keys become rows of one head
    return functional.scaled_dot_product_attention(folded, k, v, seen).reshape(q.shape)


def choose(hidden, head, temperatures, random):
    """The most probable token where the temperature is 0, else a sampled one."""
    logits = hidden @ head.T
    best = logits.topk(4).indices  # 16-bit logits tie: the best few are compared in 32 bits
    chosen = best.gather(1, (head[best].float() @ hidden[..., None].float())[..., 0].argmax(-1, keepdim=True))[:, 0]
    sampled = temperatures > 0
    if sampled.any():
        mass = (logits[sampled].float() / temperatures[sampled, None]).softmax(-1).cumsum(-1)
        drawn = torch.rand((len(mass), 1), generator=random, device=mass.device) * mass[:, -1:]
        chosen[sampled] = torch.searchsorted(mass, drawn, right=True)[:, 0].clamp(max=mass.shape[-1] - 1)
    return chosen


def chat_ids(tokenizer, prompt):
    """Token ids of a chat whose user has said `prompt`, and where the answer begins."""
    if tokenizer.chat_template is None:
        return tokenizer(prompt)["input_ids"]
    chat = [{"role": "user", "content": prompt}]
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def opening_ids(tokenizer, opening):
    """Token ids of a chat whose user is about to go on."""
    if tokenizer.chat_template is None:
        return tokenizer(opening)["input_ids"]
    text = tokenizer.apply_chat_template([{"role": "user", "content": "\0"}], tokenize=False)
    return tokenizer(text[: text.index("\0")] + opening, add_special_tokens=False)["input_ids"]


def make_prompts(writer, tokenizer, seed, count, end):
    planned = prompts.plan(seed, count)
    begun = [opening_ids(tokenizer, opening) for _, _, opening in planned if opening]
    ended = iter(writer.write(begun, [1.0] * len(begun), seed, PROMPT_LIMIT, end)[0])
    pairs = []
    for kind, prompt, opening in planned:
        if opening:
            said = next(ended)[len(opening_ids(tokenizer, opening)) :]
            prompt = opening + tokenizer.decode([token for token in said if token != end])
        pairs.append((kind, prompt.strip()))
    return pairs


def temperature(i):
    """Of answer i of a shard: each kind of prompt has all of them in turn."""
    turn = 2 * len(prompts.KINDS)  # prompts of all kinds, from openings and templates
    return TEMPERATURES[(i // 2 + i // turn) % len(TEMPERATURES)]


def write_shard(writer, tokenizer, seed, batch, limit, on_token):
    """Texts, where their answers begin, their kinds and temperatures; and the writer's states, if it has any."""
    end = tokenizer.eos_token_id
    pairs = make_prompts(writer, tokenizer, seed, batch, end)
    asked = [chat_ids(tokenizer, prompt) for _, prompt in pairs]
    temperatures = [temperature(i) for i in range(batch)]
    texts, states = writer.write(asked, temperatures, seed + 1, limit, end, on_token)
    shard = dict(
        tokens=sum(texts, []),
        lengths=[len(text) for text in texts],
        answers=[len(prompt) for prompt in asked],
        kinds=[prompts.KINDS.index(kind) for kind, _ in pairs],
        temperatures=temperatures,
        held_out=[prompts.held_out(prompt) for _, prompt in pairs],
    )
    return shard, states
