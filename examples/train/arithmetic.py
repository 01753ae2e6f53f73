#!/usr/bin/env python3
"""Trains the arithmetic models from nothing: three small Llamas that write one character at a time, on a task with truth.

    arithmetic.py --out DIR [--steps N]

All read an expression and write its steps and its answer (arithmetic_problems.py). A run that was killed goes on from
its last checkpoint. Test problems are never trained on.
"""

import argparse
import json
import math
import pathlib
import random
import time

import arithmetic_problems as tasks

END = "\n"
LIMIT = 80  # characters that a model writes
SIZES = {
    "large": dict(width=192, inner=512, layers=6, heads=6),
    "medium": dict(width=128, inner=384, layers=4, heads=4),
    "small": dict(width=64, inner=192, layers=4, heads=4),
}
STEPS = {"large": 2500, "medium": 1300, "small": 1350}  # the lesser ones shall be good, but not good enough
CHECKPOINT_SECONDS = 60
SHAPES = 16  # texts are padded to multiples of so many characters: every length is compiled once


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", required=True, type=pathlib.Path, help="where the files go")
    add("--work", type=pathlib.Path, help="where checkpoints are kept (OUT/work)")
    add("--sizes", nargs="+", default=list(SIZES), choices=SIZES, help="which to train (all)")
    add("--steps", type=int, help="of training (2500 for the large one, 1300 for the medium one, 1350 for the small one)")
    add("--batch", type=int, default=64, help="problems in a step (%(default)s)")
    add("--rate", type=float, default=2e-3, help="the highest learning rate (%(default)s)")
    add("--tests", type=int, default=400, help="problems to be judged by (%(default)s)")
    add("--device", default="auto", help="auto, cpu, cuda, ...")
    add("--compile", action="store_true", help="PyTorch's compiler: three times faster on a CPU, needs a C++ compiler")
    add("--threads", type=int, default=0, help="on the CPU; 0 for one per core")
    add("--seed", type=int, default=1)
    options = parser.parse_args()
    options.work = options.work or options.out / "work"
    return options


def encode(text):
    return [tasks.ALPHABET.index(letter) for letter in text]


def batch(draw_from, count, device):
    """Rows of characters, and which of them are to be learned: what follows the colon."""
    import torch
    from features import pad

    texts = [tasks.text(next(draw_from)) for _ in range(count)]
    rows = pad([torch.tensor(encode(asked + said)) for asked, said in texts]).to(device)
    rows = torch.nn.functional.pad(rows, (0, -(rows.shape[1] - 1) % SHAPES))  # without the last column: few shapes
    columns = torch.arange(rows.shape[1], device=device)
    bounds = torch.tensor([(len(asked), len(asked) + len(said)) for asked, said in texts], device=device)
    return rows, (columns >= bounds[:, :1]) & (columns < bounds[:, 1:])


def make(size, device):
    import llama
    import torch

    numbers = SIZES[size]
    shape = llama.Shape(
        kv_heads=numbers["heads"],
        head=numbers["width"] // numbers["heads"],
        vocabulary=len(tasks.ALPHABET),
        context=256,
        rope_base=10000.0,
        epsilon=1e-5,
        **numbers,
    )
    model = llama.Llama(shape)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            deep = math.sqrt(2 * shape.layers) if name.endswith(("attn_output.weight", "ffn_down.weight")) else 1
            torch.nn.init.normal_(parameter, std=0.02 * math.sqrt(576 / shape.width) / deep)
    return model.to(device)


def train(size, steps, options, device):
    import store
    import torch
    import tqdm
    import training

    model = make(size, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.98), weight_decay=0.01)
    path = options.work / f"arithmetic-{size}.checkpoint"
    step, seconds, characters = 0, 0.0, 0
    if path.exists():
        state = store.load_state(path, device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step, seconds, characters = state["step"], state["seconds"], state["characters"]
    run = torch.compile(model, dynamic=False) if options.compile else model
    began = saved = time.monotonic()
    # The fused attention's gradient in BF16 is slow on CPUs: two thirds of a step.
    attention = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with attention, tqdm.tqdm(total=steps, initial=step, desc=size, unit="step", miniters=1, mininterval=5) as bar:
        while step < steps:
            draw_from = tasks.problems(random.Random(f"{options.seed} {step}"), tests=False)
            rows, learned = batch(draw_from, options.batch, device)
            optimizer.param_groups[0]["lr"] = options.rate * training.schedule(step, steps)
            with torch.autocast(torch.device(device).type, torch.bfloat16):
                hidden, _ = run(rows[:, :-1])
                logits = (hidden @ model.head.T)[learned[:, 1:]].float()
            loss = torch.nn.functional.cross_entropy(logits, rows[:, 1:][learned[:, 1:]])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            characters += int(learned.sum())
            bar.set_postfix(loss=f"{loss.item():.4f}", refresh=False)
            bar.update()
            if time.monotonic() - saved > CHECKPOINT_SECONDS or step == steps:
                saved = time.monotonic()
                progress = dict(step=step, seconds=seconds + saved - began, characters=characters)
                store.save_state(path, model=model.state_dict(), optimizer=optimizer.state_dict(), **progress)
    return model, dict(seconds=round(seconds + time.monotonic() - began), characters=characters)


def judge(model, options, device):
    """The share of test problems whose answer is right, written greedily."""
    import torch
    import write

    draw_from = tasks.problems(random.Random(options.seed), tests=True)
    asked = [next(draw_from) for _ in range(options.tests)]
    with torch.inference_mode():
        batch = write.Batch(model, [encode(tasks.text(task)[0]) for task in asked], LIMIT, encode(END)[0])
        texts = batch.write(torch.zeros(len(asked), device=device), None)
    said = ["".join(tasks.ALPHABET[token] for token in text) for text in texts]
    return sum(tasks.answer_of(text) == task[2] for text, task in zip(said, asked)) / len(asked)


def save(model, size, options, figures):
    import export
    import gguf

    written = {" ": "Ġ", "\n": "Ċ"}  # in byte-level vocabularies
    letters = [written.get(letter, letter) for letter in tasks.ALPHABET]
    about = dict(licence="apache-2.0", tokens=figures["characters"], data="arithmetic_problems.py")
    file = export.Member(options.out / f"arithmetic-{size}.gguf", f"arithmetic-{size}", about, "llama")
    file.add_shape(model.shape, model.shape.layers)
    add = file.writer
    add.add_tokenizer_model("gpt2")
    add.add_tokenizer_pre("default")
    add.add_token_list(letters)
    add.add_token_types([gguf.TokenType.NORMAL] * len(letters))
    add.add_token_merges([])
    add.add_eos_token_id(encode(END)[0])
    file.add_weights(model.state_dict(), "f16")
    return file.close()


def main():
    options = arguments()
    import store
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    device = options.device if options.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    for size in options.sizes:
        steps = options.steps or STEPS[size]
        model, trained = train(size, steps, options, device)
        parameters = sum(p.numel() for p in model.parameters())
        figures = dict(parameters=parameters, problems=steps * options.batch, **trained)
        figures["right"] = judge(model, options, device)
        figures["bytes"] = save(model, size, options, figures)
        with store.whole(options.out / f"arithmetic-{size}.json") as out:
            out.write(json.dumps(figures, indent=1).encode() + b"\n")
        print(size, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
