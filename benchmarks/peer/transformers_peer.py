#!/usr/bin/env python3
"""The side of transformers (PyTorch, on the CPU) in a comparison: answers the questions of serve.hpp.

    transformers_peer.py MODEL.gguf THREADS        needs benchmarks/peer/transformers.txt
"""

import importlib.util
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [each for each in sys.path if pathlib.Path(each or ".").resolve() != HERE]  # transformers has its own gguf
ours = importlib.util.spec_from_file_location("peer_gguf", HERE / "gguf.py")
gguf = importlib.util.module_from_spec(ours)
ours.loader.exec_module(gguf)

DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}


class Failure(Exception):
    """Ends the program with one line."""


def some_tokens(count, vocabulary):
    return [(i * 7919 + 13) % vocabulary for i in range(count)]


class Engine:
    def __init__(self, path, threads):
        formats = gguf.formats_of(path)
        if len(formats) != 1 or formats[0] not in DTYPES:
            raise Failure(f"{path} is in {', '.join(formats)}; transformers is asked about {', '.join(DTYPES)}")
        import torch
        from transformers import AutoModelForCausalLM, DynamicCache

        self.torch, self.make_cache = torch, DynamicCache
        torch.set_num_threads(threads)
        self.model = AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=getattr(torch, DTYPES[formats[0]])
        ).eval()
        self.vocabulary = self.model.config.vocab_size
        self.cache, self.length = self.make_cache(), 0

    def weight_bytes(self):
        return sum(each.numel() * each.element_size() for each in self.model.parameters())

    def extend(self, tokens, rows):
        ids = self.torch.tensor([tokens])
        with self.torch.inference_mode():
            logits = self.model(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=rows).logits
        if logits.shape[1] != rows:
            raise Failure(f"transformers made {logits.shape[1]} rows where {rows} were wanted")
        self.length += len(tokens)

    def truncate(self, length):
        if length == 0:
            self.cache = self.make_cache()
        else:
            self.cache.crop(length - self.length)  # so many tokens fewer
        self.length = length


class Server:
    def __init__(self, engine):
        self.engine, self.context = engine, 0

    def timed(self, tokens, rows, to):
        """Milliseconds of passes over these tokens, `rows` of each with logits; afterwards `to` tokens are held."""
        start = time.perf_counter()
        for part in tokens:
            self.engine.extend(part, rows)
        taken = 1000 * (time.perf_counter() - start)
        if self.engine.length != to:
            self.engine.truncate(to)
        return taken

    def once(self, question, count):
        tokens = some_tokens(count, self.engine.vocabulary)
        if question == "pass":
            return self.timed([tokens], count, self.context)
        if question == "decode":
            return self.timed([[each] for each in tokens], 1, self.context)
        self.engine.truncate(0)
        self.context = count if question == "context" else 0
        return self.timed([tokens], 1, self.context)

    def answer(self, line):
        question, count, *times = line.split()
        if question not in ("context", "pass", "decode", "prefill") or int(count) < 1:
            raise Failure(f"not a question: {line}")
        if question == "context":
            self.once(question, int(count))
            return {"context": [self.context]}
        runs = [self.once(question, int(count)) for _ in range(1 + int((times or [1])[0]))]
        return {"milliseconds": runs[1:]}


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        start = time.perf_counter()
        server = Server(Engine(pathlib.Path(arguments[0]), int(arguments[1])))
        server.once("pass", 1)
        loaded = 1000 * (time.perf_counter() - start)
        print(json.dumps({"loaded": [loaded, server.engine.weight_bytes()]}), flush=True)
        for line in sys.stdin:
            print(json.dumps(server.answer(line)), flush=True)
    except (Failure, ValueError, OSError, ImportError) as problem:
        print(f"transformers_peer: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
