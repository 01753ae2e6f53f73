#!/usr/bin/env python3
"""Writes tests/data/transform/vectors.txt: what the logits processors of Hugging Face transformers, in the order in which
its generate() arranges them, make of random rows. Needs: pip install torch transformers.
Usage: tests/data/transform/make_vectors.py tests/data/transform/vectors.txt

One case per four lines:
  settings temperature T top_k K top_p P min_p M repetition R
  tokens ID...                 prompt and output so far
  bias ID:VALUE...             may be empty
  row LOGIT:PROBABILITY...     probability 0: removed"""
import itertools
import pathlib
import sys

import numpy as np
import torch
import transformers

VOCABULARY = 48


def processors_of(**settings):
    """As generate() would build them; the model only lends the method."""
    shape = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=8, n_embd=4, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(shape)
    config = transformers.GenerationConfig(do_sample=True, num_beams=1, **settings)
    return model._get_logits_processor(config, input_ids_seq_length=1)


def probabilities(logits, tokens, bias, **settings):
    if bias:
        settings["sequence_bias"] = {(token,): value for token, value in bias.items()}
    scores = torch.tensor(logits, dtype=torch.float64).unsqueeze(0)
    scores = processors_of(**settings)(torch.tensor([tokens]), scores)
    return torch.softmax(scores, dim=-1)[0].tolist()


def cases(random):
    choices = itertools.product((1.0, 0.6, 1.7), (0, 7), (1.0, 0.85), (0.0, 0.05))
    for number, (temperature, top_k, top_p, min_p) in enumerate(choices):
        logits = random.normal(0, 3, VOCABULARY).astype(np.float32)
        if top_k and top_p == 1 and not min_p:  # ties with the k-th
            logits = np.round(logits)
        tokens = random.integers(0, VOCABULARY, 9).tolist()
        bias = {}
        if number % 3 == 0:
            bias = {int(token): float(np.float32(random.normal(0, 2))) for token in random.choice(VOCABULARY, 3, replace=False)}
        settings = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
        settings["repetition_penalty"] = (1.0, 1.3, 0.8)[number // 2 % 3]
        yield settings, tokens, bias, logits


def main(path):
    random = np.random.default_rng(7)
    with path.open("w", encoding="ascii") as out:
        for settings, tokens, bias, logits in cases(random):
            rows = probabilities(logits, tokens, bias, **settings)
            named = {name.replace("_penalty", ""): value for name, value in settings.items()}
            print("settings", *(f"{name} {value}" for name, value in named.items()), file=out)
            print("tokens", *tokens, file=out)
            print("bias", *(f"{token}:{value:.9g}" for token, value in bias.items()), file=out)
            print("row", *(f"{logit:.9g}:{value:.9g}" for logit, value in zip(logits, rows)), file=out)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
