#!/usr/bin/env python3
"""Hostile inputs, by class. Whatever they are, the program ends in time and memory, says what is wrong in one line that cannot drive a
terminal, and leaves the folder as it was. A class is a generator of attempts: to add one, write a function with @attack.
AUGUR_ATTACKS multiplies how many inputs of each random class are tried. The table at the end says what was tried and found."""

import dataclasses
import functools
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import ngram_file  # noqa: E402
import tiny_model  # noqa: E402
from calibration_text import compact, fnv, parsed, with_checksum  # noqa: E402
from program import DRAFT, FINGERPRINT, PROGRAM, TARGET, environment  # noqa: E402

MEMORY = 2 << 30  # of addresses; a run needs a tenth
PATIENCE = 120  # seconds, after which a run counts as one that hangs
EFFORT = int(os.environ.get("AUGUR_ATTACKS", "1"))
ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b31m"  # clears a terminal, renames it, colours it
DICE = random.Random(19)
WHOLE = pathlib.Path(TARGET).read_bytes()
CLASSES = {}


@dataclasses.dataclass
class Attempt:
    """One command. It must end with this code; `says`: texts of the error, or of the warning if the code is 0."""

    arguments: tuple
    code: int = 1
    says: tuple = ()
    family: str = "none"
    pollutes: tuple = ()  # names that may be there afterwards, or have another content
    stdout: object = subprocess.PIPE
    closed: tuple = ()
    file_limit: int = resource.RLIM_INFINITY
    lines_of: tuple = ()  # files that must then hold a JSON object in each line


def attack(function):
    CLASSES[function.__name__.replace("_", " ")] = function
    return function


def generate(*more, model=TARGET, **options):
    defaults = {"--scheme": "plain", "--max-tokens": "2"}
    if not {"--prompt", "--prompt-file", "--prompt-ids"} & {*map(str, more)}:
        defaults["--prompt"] = "a"
    added = [word for flag, value in defaults.items() if flag not in more for word in (flag, value)]
    return Attempt(("generate", "--model", model, *added, *more), **options)


def numbers(*more, **options):
    """The value of a flag that takes numbers."""
    return generate(*more, "--draft", DRAFT, **options)


def tune(folder, *more, **options):
    named = {"--prompts": folder / "prompts.jsonl", "--work": folder / "work", "--output": folder / "calibration.json"}
    named.update(zip(more[::2], more[1::2]))
    pairs = [word for pair in named.items() for word in pair]
    options.setdefault("pollutes", ("work", "work/all.jsonl"))
    return Attempt(("tune", "--model", TARGET, "--draft", DRAFT, "--schemes", "sd", "--candidates", "2", "--first", "1",
                    "--max-tokens", "2", "--threads", "1", *pairs), **options)  # fmt: skip


# ------------------------------------------------------------------ files that are no files, and texts that are no texts


def odd_files(path):
    """Makes `path` each of these in turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    devices = [device for device in ("/dev/zero", "/dev/tty") if os.path.exists(device)]  # a minimal system lacks some
    for make in (os.mkfifo, os.mkdir, *(functools.partial(os.symlink, device) for device in devices), lambda p: os.symlink(p, p)):
        make(path)
        yield make
        path.rmdir() if path.is_dir() else path.unlink()


def deep(levels):
    yield "[" * levels
    yield "[" * levels + "]" * levels
    yield '{"a":' * levels + "1" + "}" * levels


def damaged(content, count):
    """Cut off, or with bytes that are others."""
    for _ in range(count * EFFORT):
        if DICE.random() < 0.4:
            yield content[: DICE.randrange(len(content))]
            continue
        changed = bytearray(content)
        for _ in range(DICE.choice((1, 2, 8))):
            changed[DICE.randrange(len(changed))] = DICE.choice((0, 1, 0x1B, 0x7F, 0x80, 0xFF, DICE.randrange(256)))
        yield bytes(changed)


# ---------------------------------------------------------------------------------------------------------- calibrations


def calibration(settings='{"length":3}', scheme="sd", speedup="1.5", divergence="0.0", more="", identity=None):
    """With the checksum that it should have, whatever it says: numbers are given as they are written."""
    entry = (
        f'{{"scheme":"{scheme}","task":"all","settings":{settings},"speedup":{speedup},"divergence":{divergence},'
        f'"prompts":1,"tokens":1,"front":[{{"settings":{settings},"speedup":1.5,"divergence":0.0}}{more}]}}'
    )
    identity = identity or f'{{"target":"{FINGERPRINT}"}}'
    return with_checksum(f'{{"augur.calibration":1,"identity":{identity},"entries":[{entry}]}}')


HOSTILE_NUMBERS = ("-1", "1.5", "1e+30", "18446744073709551616", "-9223372036854775809", "1e+308", '"3"', "null", "true", "[3]", "{}")


@attack
def calibrations(folder):
    path = folder / "calibration.json"
    using = generate("--draft", DRAFT, "--scheme", "sd", "--calibration", path)
    for _ in odd_files(path):
        yield using
    texts = [calibration(f'{{"length":{number}}}') for number in (*HOSTILE_NUMBERS, "1025")]
    for name in ("window", "dwell", "lengths", "thresholds", "bins", "bin-lengths"):
        values = [*HOSTILE_NUMBERS, "[-1]", "[1e+300]", "[1,null]", "[" * 60 + "]" * 60]
        texts += [calibration(f'{{"{name}":{number}}}') for number in values]
    texts += [calibration(scheme="ead", settings=f'{{"thresholds":[{number}],"window":5,"dwell":10}}') for number in ("-1.0", "1e+300", "0.5,0.25")]
    texts += [calibration(speedup=number) for number in (*HOSTILE_NUMBERS[:1], *HOSTILE_NUMBERS[5:], "1e+7")]
    texts += [calibration(divergence=number) for number in ("-0.1", "1.5", "null", '"0"')]
    texts += [calibration(more=more) for more in (',null', ',{"settings":{"length":-1},"speedup":1,"divergence":0}')]
    texts += [calibration(identity=identity) for identity in ("[]", "null", '"x"', '{"target":"\\u001b[2J"}', '{"target":"' + "f" * 5_000_000 + '"}')]
    texts += [calibration(scheme="\\u001b[2J"), calibration(f'{{"{json.dumps(ESCAPE)[1:-1]}":1}}'), calibration('{"length":1,"length":2}')]
    texts += [*deep(75_000), "", "null", "[]", "{}", '{"augur.calibration":1}', '{"augur.calibration":1,"checksum":3}']
    texts += ['{"augur.calibration":1,"entries":[' + "0," * 300_000 + "0]}", " " * (20 << 20)]
    for text in texts:
        path.write_text(text)
        yield using
    for text in damaged(calibration().encode(), 20):
        path.write_bytes(text)
        yield using


# --------------------------------------------------------------------------------------------------- journals and prompts


def write_prompts(path, prompts=("one two", "two three")):
    path.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))


@attack
def journals(folder):
    write_prompts(folder / "prompts.jsonl")
    run(tune(folder), folder)
    sound = (folder / "work" / "all.jsonl").read_text()
    header = sound.splitlines()[0]
    (folder / "calibration.json").unlink()
    path = folder / "work" / "other.jsonl"
    for _ in odd_files(path):
        yield tune(folder)
    line = {"scheme": "sd", "settings": {"length": 4}, "prompt": 0, "tokens": 2, "seconds": 1.0, "plain_seconds": 1.0, "divergence": 0.0}
    raw = json.dumps(line)
    lines = [raw.replace(f'"{key}": {value}', f'"{key}": {number}') for key, value in (("prompt", 0), ("tokens", 2)) for number in HOSTILE_NUMBERS]
    floats = ("-1.0", "1e+308", '"1"', "null", "[]", "1e+400")
    lines += [raw.replace(f'"{key}": {value}', f'"{key}": {number}') for key, value in (("seconds", 1.0), ("plain_seconds", 1.0), ("divergence", 0.0)) for number in floats]
    lines += [raw.replace('"seconds": 1.0', '"seconds": 1e-300'), raw.replace('{"length": 4}', "[]"), raw.replace('"sd"', "3"), "[]", "1", "{}"]
    lines += [*deep(100_000), '"' + ESCAPE, raw[:-1] + ', "' + "k" * 5_000_000 + '": 1, "' + "k" * 5_000_000 + '": 2}']
    for each in lines:
        path.write_text(header + "\n" + each + "\n")
        yield tune(folder, says=("line 2",))
    for each in (raw, "{}", '{"augur.journal":1,"about":[]}', '{"augur.journal":1,}', *deep(1000), header.replace("seed", ESCAPE), header.replace("prompts", "p" * 3_000_000)):
        path.write_text(each + "\n")
        yield tune(folder, says=("line 1",))
    path.unlink()
    own = folder / "work" / "all.jsonl"
    for each in ("a poem\nof two lines, the second of which has no end", "[", "\n", '{"augur.journal":2,'):
        own.write_text(each)  # nobody's journal: it stays what it is
        yield tune(folder, says=("no journal",), pollutes=())
    own.unlink()
    for _ in odd_files(own):
        yield tune(folder)


# ------------------------------------------------------------------------------------------ banks of trees, and their states


def grow(folder, **options):
    return Attempt(("grow", "--model", TARGET, "--heads", folder / "hydra.gguf", "--prompts", folder / "prompts.jsonl", "--max-tokens", "8",
                    "--nodes", "3", "--parts", "2", "--thresholds", "1", "--threads", "1", "--output", folder / "bank.json"), **options)  # fmt: skip


def grown(folder):
    """A sound bank and its state, less their checksums. The bank is gone, the state is there."""
    write_prompts(folder / "prompts.jsonl")
    tiny_model.write_checkpoint(folder / "hydra.gguf", "hydra", FINGERPRINT)
    done = run(grow(folder), folder)
    assert done.returncode == 0, done.stderr
    both = [parsed((folder / name).read_text()) for name in ("bank.json", "bank.json.state")]
    (folder / "bank.json").unlink()
    for each in both:
        del each["checksum"]
    return both


def sealed(content, was="", becomes=""):
    """With the checksum that it should have, once a text in it is another."""
    text = compact(content)
    assert was in text, (was, text)
    return with_checksum(text.replace(was, becomes, 1))


def hostile_values(content, values, sound=()):
    """The content with each of these values, which are part of it, in turn any of the hostile numbers; but for what is sound."""
    for key, value in values.items():
        own = compact({key: value})[1:-1]
        for number in HOSTILE_NUMBERS:
            if (key, number) not in sound:
                yield sealed(content, own, f'"{key}":{number}')


NO_TREES = {"[[0,0]]": "no parent", "[[1]]": "no sibling", "[[0],[0]]": "twice", "[[]]": "empty path", "[[0],[0,0],[0,0,0],[0,0,0,0]]": "deep",
            "[[-1]]": "-1", "[[1.5]]": "1.5", "[[257]]": "257", "[0]": "paths", "[[[0]]]": "paths", '"x"': "paths", "{}": "paths", "null": "paths",
            json.dumps([[i] for i in range(257)]): "257"}  # fmt: skip


@attack
def banks(folder):
    bank, _ = grown(folder)
    path = folder / "other.json"
    using = generate("--scheme", "entmtp", "--heads", folder / "hydra.gguf", "--bank", path)
    for _ in odd_files(path):
        yield using
    figures = {"accepted_length": 1.0, "scored_length": 1.0, "tokens_per_second": 1.0}
    trees = [{"paths": [], **figures}, {"paths": [[0]], **figures}, {"paths": [[0], [1]], **figures}]
    bank.update(trees=trees, conservative=0, aggressive=1, depth=2)
    path.write_text(sealed(bank))
    yield dataclasses.replace(using, code=0)
    for text in hostile_values(bank, bank, sound=(("task", '"3"'), ("threshold", "1.5"))):
        path.write_text(text)
        yield using
    for paths, word in NO_TREES.items():
        path.write_text(sealed(bank, '"paths":[[0]]', f'"paths":{paths}'.replace(" ", "")))
        yield dataclasses.replace(using, says=("--bank", word))
    for figure in figures:
        for number in ("-1.0", "1e+30", '"1"', "null", "[]"):
            path.write_text(sealed(bank, f'"{figure}":1.0', f'"{figure}":{number}'))
            yield dataclasses.replace(using, says=(figure,))
    changes = {"few to many": {"trees": trees[::-1]}, "are the same": {"trees": [trees[1]] * 2}, "0 trees": {"trees": []}, "trees": {"trees": trees * 100},
               "'ffffffffffffffff'": {"target": "f" * 16}, "'eeeeeeeeeeeeeeee'": {"heads": "e" * 16}, "head count of 4": {"head_count": 4},
               "vocabulary of 263": {"vocabulary_size": 263}, "3 trees": {"aggressive": 2, "conservative": 2, "trees": trees + [3]},
               "conservative": {"aggressive": 0, "conservative": 1}, "version is 2": {"augur.bank": 2}, "threshold": {"threshold": 2.5}}  # fmt: skip
    for word, change in changes.items():
        path.write_text(sealed({**bank, **change}))
        yield dataclasses.replace(using, says=() if word == "3 trees" else (word,))
    whole = sealed(bank)
    texts = [*deep(75_000), "", "null", "[]", "{}", '{"augur.bank":1}', whole[:-1], whole.replace('"task"', '"t\u001b"'), whole.replace("all", ESCAPE), whole * 2]
    for text in (*texts, whole.replace('"trees":[', '"trees":[' + "0," * 300_000), whole.replace("all", "a" * (20 << 20))):
        path.write_text(text)
        yield using
    for text in damaged(whole.encode(), 20):
        path.write_bytes(text)
        yield using


@attack
def states_of_trees_that_grow(folder):
    _, state = grown(folder)
    path = folder / "bank.json.state"
    path.unlink()
    for _ in odd_files(path):
        yield grow(folder)
    growth = {**state["growths"][0], "order": [[0], [1]], "lengths": [1.25, 1.5], "rounds": 4, "committed": 5, "gained": [3], "parts": 1}
    state.update(growths=[growth], measured=state["measured"][:1], candidates=[0.5], swept=[1.5])
    hostile = hostile_values(state, {key: state[key] for key in state if key != "about"}, sound=(("swept", "[3]"), ("candidates", "[3]")))
    for text in (*hostile, *hostile_values(state, growth, sound=(("gained", "[3]"), ("done", "true")))):
        path.write_text(text)
        yield grow(folder, says=("--state",))
    for key in state["about"]:
        own = compact({key: state["about"][key]})[1:-1]
        path.write_text(sealed(state, own, f'"{key}":"other"'))
        yield grow(folder, says=("--state", key, "'\"other\"'"))
    for paths, word in NO_TREES.items():
        path.write_text(sealed(state, '"order":[[0],[1]]', f'"order":{paths}'.replace(" ", "")))
        yield grow(folder, says=("--state",))
        path.write_text(sealed(state, '"paths":[]', f'"paths":{paths}'.replace(" ", "")))
        yield grow(folder, says=("--state", word))
    order = {"order": [[0], [1], [2], [3]], "lengths": [1.0] * 4}
    for change in (order, *({"lengths": [1.25, 1.5, 1.75][:count]} for count in (0, 1, 3)), {"lengths": [-1.25, 1.5]}, {"order": [[1], [0]]},
                   {"gained": [5]}, {"gained": [-1]}, {"depth": 2}, {"parts": 3}):  # fmt: skip
        path.write_text(sealed({**state, "growths": [{**growth, **change}]}))
        yield grow(folder, says=("--state", "growth 0"))
    for change in ({"swept": [1.5, 1.5]}, {"swept": [-1.5]}, {"candidates": [99.5]}, {"growths": []}, {"growths": [growth] * 2}):
        path.write_text(sealed({**state, **change}))
        yield grow(folder, says=("--state", *change))
    whole = sealed(state)
    for text in (*deep(75_000), "", "null", "[]", "{}", '{"augur.growth":2}', whole[:-1], whole * 2, whole.replace("all", ESCAPE)):
        path.write_text(text)
        yield grow(folder)
    for text in damaged(whole.encode(), 20):
        path.write_bytes(text)
        yield grow(folder)


@attack
def shards_of_trees_that_grow(folder):
    write_prompts(folder / "prompts.jsonl", ("a", "b c"))
    tiny_model.write_checkpoint(folder / "hydra.gguf", "hydra", FINGERPRINT)
    one, two = (folder / f"bank.json.state.{i}_of_2" for i in (1, 2))

    def shard(number, **options):
        return Attempt((*grow(folder).arguments, "--shard", number, "--wait", "0"), **options)

    for _ in range(4):
        done = [run(shard(number), folder).returncode for number in ("1/2", "2/2")]
    assert done == [0, 0], done
    merge = Attempt((*grow(folder).arguments, "--merge", one, two), says=("--merge",))
    state = parsed(two.read_text())
    del state["checksum"]
    two.unlink()
    for number in ("0/2", "3/2", "1/0", "1/", "/2", "-1/2", "1/99999999999999999999", "1/3", "2", "", ESCAPE):
        yield shard(number, says=("--shard",))
    for _ in odd_files(two):
        yield merge
        yield shard("1/2")
    tally = state["growths"][0]["steps"][0]
    for text in (*hostile_values(state, {key: state[key] for key in state if key != "about"}), *hostile_values(state, tally, sound=(("gained", "[3]"),))):
        two.write_text(text)
        yield merge
        yield shard("1/2", says=("--shard",))
    for key in state["about"]:
        own = compact({key: state["about"][key]})[1:-1]
        two.write_text(sealed(state, own, f'"{key}":"other"'))
        yield dataclasses.replace(merge, says=("--merge", key, "'\"other\"'"))
    whole = sealed(state)
    for text in (*deep(75_000), "", "null", "[]", "{}", '{"augur.growth_shard":1}', whole[:-1], whole * 2, whole.replace("all", ESCAPE)):
        two.write_text(text)
        yield merge
    for text in damaged(whole.encode(), 20):
        two.write_bytes(text)
        yield merge


@attack
def prompts_of_tune(folder):
    path = folder / "prompts.jsonl"
    for _ in odd_files(path):
        yield tune(folder)
    texts = ["", "\n\n", "\0", "[]", "null", "{}", '{"prompt":3}', '{"prompt":null}', '{"prompt":""}', '{"prompt":"a","task":3}', '{"prompt":"a","prompt":"b"}']
    texts += ['{"prompt":"\\ud800"}', '{"prompt":"a"} x', *deep(100_000), '{"prompt":"a","x":[' + "0," * 200_000 + "0]}"]
    for text in texts:
        path.write_text(text)
        yield tune(folder, pollutes=())
    path.write_bytes(b'{"prompt":"\xff"}')
    yield tune(folder, says=("line 1",), pollutes=())
    write_prompts(path, ("a", "b c " * 300, "b"))
    yield tune(folder, says=("line 2", "256", "--skip-long"), pollutes=())
    write_prompts(path, ("b c " * 300,))
    path.write_text(path.read_text())
    yield Attempt((*tune(folder).arguments, "--skip-long"), says=("256",))


@attack
def prompts(folder):
    path = folder / "prompt.txt"
    for _ in odd_files(path):
        yield generate("--prompt-file", path)
        yield Attempt(("tokenize", "--model", TARGET, "--prompt-file", path))
    for content in (b"", b"\xff", b"a\xed\xa0\x80", b"a" * 5_000_000, "<|im_start|>".encode() * 100_000):
        path.write_bytes(content)
        yield generate("--prompt-file", path)
    for text in ("", "\udcff", "a" * 100_000):
        yield generate("--prompt", text)
    for ids in ("", ",", "1,,2", "-1", "9" * 100, "1e3", "1," * 5000 + "1"):
        yield Attempt(("logits", "--model", TARGET, "--json", "--prompt-ids", ids))


# ------------------------------------------------------------------------------------------------- models, members, words


@attack
def models(folder):
    path = folder / "model.gguf"
    for _ in odd_files(path):
        yield generate(model=path)
    metadata = len(WHOLE) - WHOLE[::-1].find(b"\0" * 8)  # weights are not what is attacked
    contents = [b"", b"GGUF", b"\0" * 100, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"]
    contents += [WHOLE[:size] for size in (5, 24, 100, 1000, len(WHOLE) // 2, len(WHOLE) - 1)]
    for content in contents:
        path.write_bytes(content)
        yield generate(model=path)
    head = WHOLE[: min(metadata, 12_000)]
    for changed in damaged(head, 60):
        path.write_bytes(changed + WHOLE[len(head) :] if len(changed) == len(head) else changed)
        yield Attempt(generate(model=path).arguments, code=None)
    for pairs in (
        [tiny_model.pair("general.architecture", tiny_model.STRING, ESCAPE)],
        [tiny_model.pair(ESCAPE, tiny_model.STRING, "a")] * 2,
        [tiny_model.pair("general.architecture", tiny_model.STRING, "x" * 5_000_000)],
    ):
        tiny_model.save(path, pairs, {})
        yield generate("--prompt-ids", "1", model=path)
    tensors = tiny_model.model_tensors(1, 1, 32, tiny_model.VOCABULARY)
    tiny_model.save(path, tiny_model.architecture(1, 32, 256), {**tensors, ESCAPE: tensors["output_norm.weight"]})
    yield Attempt(("logits", "--model", path, "--json", "--prompt-ids", "1"), code=None)


SPLIT_KEYS = ("split.no", "split.count", "split.tensors.count")


def write_parts(folder, *, numbers=(0, 1, 2), counts=(3, 3, 3), sums=None, extra=()):
    """A model in three parts; what they say of themselves may be untrue."""
    pairs = tiny_model.architecture(1, 32, 256) + tiny_model.tokenizer(None)
    tensors = list(tiny_model.model_tensors(1, 1, 32, tiny_model.VOCABULARY).items())
    for part in range(3):
        said = (numbers[part], counts[part], (sums or (len(tensors),) * 3)[part])
        own = [tiny_model.pair(key, tiny_model.U32, value) for key, value in zip(SPLIT_KEYS, said) if value is not None]
        held = dict(tensors[part::3] + [each for place, each in extra if place == part])
        tiny_model.save(folder / f"m-{part + 1:05}-of-00003.gguf", (pairs if part == 0 else []) + own, held)
    return folder / "m-00001-of-00003.gguf"


@attack
def split_models(folder):
    first = write_parts(folder)
    for part in (1, 2, 3):
        yield generate(model=folder / f"m-{part:05}-of-00003.gguf", code=0)
    huge = 4_294_967_295
    spare = ("spare", ([2], [1.0, 2.0]))
    for untrue in (
        *({"numbers": numbers} for numbers in ((0, 0, 2), (0, 2, 1), (0, 1, huge), (3, 1, 2), (huge, 1, 2), (None, 1, 2), (0, None, 2))),
        *({"counts": counts} for counts in ((3, 3, 4), (3, 2, 3), (2, 3, 3), (65535, 3, 3), (huge, 3, 3), (3, None, 3), (3, 1, 3))),
        *({"sums": sums} for sums in ((10, 10, 10), (12, 12, 12), (11, 11, huge), (huge,) * 3, (0, 0, 0), (None, 11, 11))),
        {"extra": [(1, spare)], "sums": (12, 12, 12)},
        {"extra": [(1, ("token_embd.weight", spare[1]))], "sums": (12, 12, 12)},
    ):
        write_parts(folder, **untrue)
        yield generate(model=first)
    write_parts(folder)
    last = folder / "m-00003-of-00003.gguf"
    sound = last.read_bytes()
    for content in (b"", b"GGUF", sound[:40], sound[:-1], WHOLE, first.read_bytes()):
        last.write_bytes(content)
        yield generate(model=first, says=(last.name,))
    last.unlink()
    yield generate(model=first, says=("part 3 of the 3", last.name))
    for _ in odd_files(last):
        yield generate(model=first, says=(last.name,))
    os.symlink(first, last)
    yield generate(model=first, says=("split.no",))
    last.unlink()
    last.write_bytes(sound)
    first.rename(folder / "whole.gguf")
    yield generate(model=folder / "whole.gguf", says=("part 1 of the 3",))
    yield generate(model=last, says=("part 1 of the 3",))


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 538090408\n"


@attack
def pointers_of_git_lfs(folder):
    path = folder / "model.gguf"
    path.write_text(POINTER)
    says = ("Git LFS pointer", "538090408", "git lfs pull")
    yield generate(model=path, says=says)
    yield generate("--draft", path, "--scheme", "sd", says=says)
    for kind in ("eagle", "hydra"):
        yield generate("--heads", path, "--scheme", kind, says=says)
    yield generate("--prompt-file", path, says=says)
    yield generate("--draft", DRAFT, "--scheme", "sd", "--calibration", path, says=says)
    for name in ("config.json", "model.safetensors"):
        model = folder / name.partition(".")[0]
        tiny_model.write_folder(model)
        (model / name).write_text(POINTER)
        yield generate("--prompt-ids", "1", model=model, says=says)
    for text in (POINTER[:60], POINTER.replace("538090408", "x"), POINTER.replace("538090408", "9" * 40), POINTER + ESCAPE, POINTER + "x" * 2000):
        path.write_text(text)
        yield generate(model=path)


@attack
def members_that_are_named(folder):
    path = folder / "member.gguf"
    for kind, scheme in {"eagle": "eagle", "draft": "sd", "medusa": "medusa", "hydra": "hydra", "qualifier": "sd", "exit": "kangaroo"}.items():
        for target in (ESCAPE, "f" * 5_000_000, "", "0"):
            tiny_model.write_checkpoint(path, kind, target)
            yield generate("--heads", path, "--scheme", scheme)
    tiny_model.write_checkpoint(path, "eagle", FINGERPRINT)
    sound = path.read_bytes()
    for content in (b"", sound[:40], sound[:-1], sound.replace(b"eagle", b"e\x1b[2J"), b"version https://git-lfs"):
        path.write_bytes(content)
        yield generate("--heads", path, "--scheme", "eagle")
    for changed in damaged(sound[:2000], 20):
        path.write_bytes(changed + sound[len(changed) :])
        yield Attempt(generate("--heads", path, "--scheme", "eagle").arguments, code=None)


@attack
def members_of_families(folder):
    """A family's file that is broken is skipped with a warning, and the text is made without it."""
    own = folder / "family" / "tiny"
    own.mkdir(parents=True)
    ngram_file.write(own / "ngram.gguf", [[5, 6, 7, 5, 6]], target=FINGERPRINT)
    sound = (own / "ngram.gguf").read_bytes()
    plain = Attempt(("generate", "--model", TARGET, "--prompt", "a", "--max-tokens", "2", "--json"), code=0, says=("ngram.gguf",), family="family")
    path = own / "ngram.gguf"
    path.unlink()
    for _ in odd_files(path):
        yield plain
    for content in (b"", b"GGUF", sound[:-1], sound[:50], b"version https://git-lfs.github.com/spec/v1\n", b"\x1b[2J" * 100, sound.replace(b"slots", b"sl\x1bts")):
        path.write_bytes(content)
        yield plain
    for changed in damaged(sound[:400], 10):
        path.write_bytes(changed + sound[len(changed) :])
        yield dataclasses.replace(plain, says=())
    path.unlink()
    (own / "eagle.gguf").write_bytes(b"GGUF")
    yield dataclasses.replace(plain, arguments=(*plain.arguments, "--scheme", "eagle"), code=1, says=("needs",))
    spare = folder / "family" / "zzz"
    spare.mkdir()
    tiny_model.write_checkpoint(spare / "eagle.gguf", "eagle", FINGERPRINT)
    yield dataclasses.replace(plain, arguments=(*plain.arguments, "--scheme", "eagle"), says=("tiny/eagle.gguf",))


@attack
def tokenizers_and_templates(folder):
    model = folder / "model"
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        path = model / name
        for _ in odd_files(path):
            if name != "tokenizer.json":
                (model / "tokenizer.json").write_text("{}")
            yield Attempt(("tokenize", "--model", model, "--prompt", "a"))
        (model / "tokenizer.json").unlink(missing_ok=True)
    path = model / "tokenizer.json"
    texts = [*deep(75_000), "", "null", '{"model":{"type":"BPE","merges":' + "[" * 75_000 + "]" * 75_000 + ',"vocab":{}}}']
    for key in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens", "model"):
        texts += [f'{{"{key}":{text}}}' for text in (*deep(75_000), "3", '"\\u001b[2J"')]
    for text in texts:
        path.write_text(text)
        yield Attempt(("tokenize", "--model", model, "--prompt", "a"))
    path = folder / "model.gguf"
    templates = ["{%" * 1000, "{{" * 100_000, "<|im_start|>system" * 300_000, ESCAPE, "{% for m in messages %}" * 5000]
    for template in templates:
        tiny_model.write(path, chat_template=template)
        yield Attempt(generate("--chat", "--system", "a" * 20_000, model=path).arguments, code=None)


# ------------------------------------------------------------------------------------------------------ flags and outputs


@attack
def numbers_of_flags(folder):
    too_large = {"--lookup-max": ("65", "100000", str(2**60)), "--lookup-min": ("65",), "--length": ("1025", str(2**63)), "--window": ("4097",),
                 "--dwell": (str(2**40),), "--thresholds": ("1e300",), "--bins": ("1e300,1e301,1e302",), "--bin-lengths": ("4,3,2,9999",),
                 "--lengths": ("1,9999",), "--threads": ("65",), "--top-k": (str(2**64),)}  # fmt: skip
    for flag, values in too_large.items():
        for value in (*values, "", "x", "1x", "0x10", " 1", "--", "\x1b[2J", "9" * 400, "a" * 100_000):
            yield numbers(flag, value)
    for flag in ("--temperature", "--top-p", "--min-p", "--repetition-penalty", "--logit-bias", "--seed", "--max-tokens", "--context"):
        for value in ("", "nan", "-1e999", "1e999", "0x1p3", "\x1b[2J", "--"):
            yield generate(flag, value)
    for flag, value in (("--repetitions", str(2**60)), ("--rows", "1,0"), ("--rows", str(2**63)), ("--context", str(2**63))):
        yield Attempt(("bench", "verify", "--model", TARGET, flag, value))


@attack
def texts_that_are_measured_or_said(folder):
    path = folder / "text.txt"
    entropy = ("entropy", "--model", TARGET)
    for _ in odd_files(path):
        yield Attempt((*entropy, "--prompt-file", path))
    for content in (b"", b"\n", b"\xff", b"a" * 5_000_000, b"<|im_start|>" * 100_000):
        path.write_bytes(content)
        yield Attempt((*entropy, "--prompt-file", path))
    for flag in ("--continue", "--top", "--window", "--dwell", "--threshold", "--bins", "--bin-lengths", "--draft", "--qualifier"):
        for value in (*HOSTILE_NUMBERS[4:], "", "nan", "\x1b[2J", "a" * 100_000):
            yield Attempt((*entropy, "--prompt", "a", flag, value))
    for word in ("\x1b[2J", "\x9b2J", "<script>"):
        yield Attempt((*entropy, "--prompt", word, "--json"), code=0)
        yield Attempt(("chat", "--model", TARGET, "--prompt", word, "--max-tokens", 2), code=0)
    for word in ("", "\udcff", "a" * 100_000, "/\x1b"):
        yield Attempt(("chat", "--model", TARGET, "--prompt", word, "--max-tokens", 2), code=None)
    for chart in ("", folder, folder / "none" / "x", TARGET, DRAFT, "/dev/full"):
        yield Attempt((*entropy, "--prompt", "a", "--draft", DRAFT, "--json", "--chart", chart))
    yield Attempt((*entropy, "--prompt", "a", "--json", "--chart", folder / "chart.svg"), file_limit=100, says=("too large",))


@attack
def outputs(folder):
    write_prompts(folder / "prompts.jsonl")
    model = folder / "model.gguf"
    shutil.copy(TARGET, model)
    os.link(model, folder / "same.gguf")
    os.symlink(model, folder / "link.gguf")
    (folder / "prompt.txt").write_text("a")
    (folder / "folder").mkdir()
    (folder / "mine.part").write_text("mine")
    inputs = ("model.gguf", "same.gguf", "link.gguf")
    read_only = ["/sys/x"] if os.path.ismount("/sys") else []
    for path in ("", folder, folder / "folder", folder / "none" / "x", *read_only, "/dev/full", *(folder / name for name in (*inputs, "prompt.txt"))):
        yield generate("--trace", path, "--prompt-file", folder / "prompt.txt", model=model, says=("No space",) if path == "/dev/full" else ())
        yield Attempt(("logits", "--model", model, "--prompt-file", folder / "prompt.txt", "--output", path))
    whole = tiny_model.write_folder(folder / "whole")
    for path in (folder / "whole" / "config.json", folder / "whole" / "model.safetensors", folder / "whole" / "tokenizer.json"):
        yield Attempt(("logits", "--model", whole, "--prompt-ids", "1", "--output", path), code=0 if path.stem == "tokenizer" else 1, pollutes=("whole/tokenizer.json",))
        yield Attempt(("logits", "--model", folder / "whole" / "model.safetensors", "--prompt-ids", "1", "--output", path), says=("overwrite",))
    for path in ("", folder, folder / "none" / "x", *(folder / name for name in (*inputs, "prompts.jsonl"))):
        arguments = [model if each == TARGET else each for each in tune(folder, "--output", path).arguments]
        yield Attempt(tuple(arguments))
    yield tune(folder, "--output", folder / "work" / "all.jsonl", says=("--output",), pollutes=("work",))
    yield tune(folder, "--output", folder / "work" / "x.jsonl", says=("journal",), pollutes=("work",))
    yield tune(folder, "--work", "", says=("--work",), pollutes=())
    yield tune(folder, "--work", folder / "prompts.jsonl", pollutes=())
    yield tune(folder, file_limit=50, says=("too large",))
    yield tune(folder, code=0, pollutes=("work", "work/all.jsonl", "calibration.json"))
    yield generate("--trace", folder / "t.jsonl", file_limit=10, says=("too large",))
    yield Attempt(("logits", "--model", TARGET, "--prompt", "a", "--output", folder / "row"), file_limit=100, says=("too large",))
    if os.geteuid() != 0:
        (folder / "folder").chmod(stat.S_IRUSR | stat.S_IXUSR)
        yield generate("--trace", folder / "folder" / "t.jsonl", says=("denied",))
        yield tune(folder, "--output", folder / "folder" / "c.json", says=("denied",))


@attack
def closed_descriptors(folder):
    write_prompts(folder / "prompts.jsonl")
    trace = folder / "trace.jsonl"
    for closed in ((1,), (0, 1), (1, 2), (0, 1, 2)):
        yield generate("--trace", trace, closed=closed)
        yield generate("--json", closed=closed)
        yield tune(folder, closed=closed, pollutes=())
        yield Attempt(("tokenize", "--model", TARGET, "--prompt", "a"), closed=closed)
        yield Attempt(("logits", "--model", TARGET, "--prompt", "a", "--json"), closed=closed)
        yield Attempt(("--help",), closed=closed)
        yield Attempt(("--version",), closed=closed)
        yield Attempt(("entropy", "--model", TARGET, "--prompt", "a"), closed=closed)
        yield Attempt(("chat", "--model", TARGET, "--prompt", "a"), closed=closed)
        yield Attempt(("logits", "--model", TARGET, "--prompt", "a", "--output", folder / "row"), code=0, closed=closed, pollutes=("row",))
    for closed in ((0,), (2,), (0, 2)):
        yield generate("--trace", trace, code=0, closed=closed, pollutes=("trace.jsonl",), lines_of=(trace,))
        journal = folder / "work" / "all.jsonl"
        yield tune(folder, code=0, closed=closed, pollutes=("work", "work/all.jsonl", "calibration.json"), lines_of=(journal,))
        trace.unlink(missing_ok=True)
        shutil.rmtree(folder / "work")
    with open("/dev/full", "wb") as full:
        for more in ((), ("--json",)):
            yield generate(*more, stdout=full)


@attack
def names_that_are_no_text(folder):
    odd = os.fsdecode(b"\xff\x1b[2J\n.gguf")
    shutil.copy(TARGET, folder / odd)
    yield Attempt(("bench", "verify", "--model", folder / odd, "--repetitions", "1", "--context", "4", "--json"), code=0)
    yield Attempt((*generate(model=folder / odd).arguments, "--json"), code=0)
    yield generate("--trace", folder / odd / "x")
    yield generate(model=folder / (odd + "x"))
    yield Attempt((odd,))
    yield generate(f"--{odd}", "x")
    yield generate("--scheme", odd)
    yield generate("--stop", "")


# --------------------------------------------------------------------------------- classes that are more than one process


def complaints_of_races(folder):
    """Processes that write one file: it is one of their traces, whole; what belongs to others is not touched."""
    path, others = folder / "trace.jsonl", folder / "trace.jsonl.part"
    others.write_text("mine")
    command = [PROGRAM, *map(str, generate("--ignore-eos", "--max-tokens", "40", "--trace", path).arguments)]
    for _ in range(10 * EFFORT):
        racing = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        codes = [each.wait(PATIENCE) for each in racing]
        whole = holds_objects(path, 40)
        mine = others.exists() and others.read_text() == "mine"
        yield "" if codes == [0, 0] and whole and mine else f"codes {codes}, trace whole: {whole}, FILE.part untouched: {mine}"
    yield "" if sorted(os.listdir(folder)) == ["trace.jsonl", "trace.jsonl.part"] else f"left behind: {os.listdir(folder)}"


def complaints_of_signals(folder):
    """Whatever ends a run, no half of a trace is left; Ctrl-C ends the text, and what was made of it is whole."""
    endless = tiny_model.write(folder / "endless.gguf", context=1 << 24)
    command = [PROGRAM, "generate", "--model", endless, "--prompt", "a", "--scheme", "plain", "--ignore-eos", "--max-tokens", "8000000"]
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXCPU, signal.SIGINT):
        process = subprocess.Popen([*command, "--trace", folder / "t.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, preexec_fn=no_cores)
        process.stdout.read(1)
        process.send_signal(number)
        while number == signal.SIGINT and process.stdout.read(1 << 16):
            pass
        process.stdout.close()
        code = process.wait(PATIENCE)
        left = sorted(set(os.listdir(folder)) - {"endless.gguf"})
        expected = (0, ["t.jsonl"]) if number == signal.SIGINT else (-number, [])
        yield "" if (code, left) == expected else f"{number.name}: code {code}, left behind: {left}"
    yield "" if holds_objects(folder / "t.jsonl") else "SIGINT: the trace is not JSON in each line"


def no_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


OTHERS = {"processes that write one file": complaints_of_races, "signals": complaints_of_signals}


# --------------------------------------------------------------------------------------------------------------- the rules


def limits(attempt):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (attempt.file_limit, resource.RLIM_INFINITY))
    no_cores()
    for number in attempt.closed:
        os.close(number)


def run(attempt, folder):
    return subprocess.run(
        [PROGRAM, *map(str, attempt.arguments)],
        stdin=subprocess.DEVNULL,
        stdout=attempt.stdout,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        env=environment(AUGUR_FAMILY=str(folder / attempt.family), MALLOC_ARENA_MAX="2"),
        check=False,
        preexec_fn=lambda: limits(attempt),
    )


def content_of(folder):
    def seen(path):
        if path.is_symlink() or not path.is_file():
            return path.lstat().st_mode
        return path.stat().st_mode, path.stat().st_mtime_ns, fnv(path.read_bytes()[:200])

    return {str(path.relative_to(folder)): seen(path) for path in sorted(folder.rglob("*"))}


def holds_objects(path, count=None):
    """A JSON object in each line, so many of them if that is said."""
    try:
        objects = [json.loads(line) for line in path.read_text().splitlines()]
    except (OSError, ValueError):
        return False
    return all(isinstance(each, dict) for each in objects) and (len(objects) > 0 if count is None else len(objects) == count)


def is_json(data):
    try:
        return isinstance(json.loads(data.decode("utf-8")), dict)
    except ValueError:
        return False


def control_bytes(data):
    text = data.decode("utf-8", "backslashreplace")
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


def complaints(attempt, folder):
    before = content_of(folder)
    try:
        done = run(attempt, folder)
    except subprocess.TimeoutExpired:
        return "it hangs"
    except (ValueError, OSError) as refused:  # by Python or the system: no argument can be like that
        return "" if "null byte" in str(refused) or "too long" in str(refused) else str(refused)
    printed, said = done.stdout or b"", done.stderr
    if done.returncode not in ((0, 1) if attempt.code is None else (attempt.code,)):
        return f"code {done.returncode}: {said[:300]!r}"
    if done.returncode == 1 and 2 not in attempt.closed and not re.fullmatch(rb"(augur: (warning|note): [^\n]+\n)*augur: error: [^\n]+\n", said):
        return f"not one line: {said[:300]!r}"
    if len(said) > 16_384:
        return f"{len(said)} bytes are said"
    if control_bytes(said) or ("--json" in attempt.arguments and control_bytes(printed)):
        return f"control characters: {control_bytes(said + printed)[:5]}"
    if "--json" in attempt.arguments and done.returncode == 0 and not is_json(printed):
        return f"not JSON: {printed[:300]!r}"
    if 2 not in attempt.closed and not all(text.encode() in said for text in attempt.says):
        return f"not said: {attempt.says} in {said[:300]!r}"
    broken = [path.name for path in attempt.lines_of if not holds_objects(path)]
    if broken:
        return f"not JSON in each line: {broken}"
    after = content_of(folder)
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    changed -= {*attempt.pollutes, *({str(pathlib.Path(each).parent) for each in attempt.pollutes})}
    return f"changed: {sorted(changed)}" if changed else ""


def tried(attack_on, folder):
    if attack_on in OTHERS:
        yield from (("", each) for each in OTHERS[attack_on](folder))
        return
    for attempt in CLASSES[attack_on](folder):
        yield " ".join(map(str, attempt.arguments))[:300], complaints(attempt, folder)


def main():
    chosen = sys.argv[1:] or [*CLASSES, *OTHERS]
    rows, failed = [], False
    for attack_on in chosen:
        started, count, findings = time.monotonic(), 0, []
        with tempfile.TemporaryDirectory() as folder:
            for what, complaint in tried(attack_on, pathlib.Path(folder)):
                count += 1
                if complaint:
                    findings.append(complaint)
                    print(f"{attack_on}: {complaint}\n    after: {what!r}", flush=True)
        failed |= bool(findings) or count == 0
        rows.append((attack_on, count, len(findings), time.monotonic() - started))
    print(f"{'class':36} inputs  findings  seconds")
    for row in rows:
        print("{:36} {:6}  {:8}  {:7.1f}".format(*row))
    print(f"{'all':36} {sum(row[1] for row in rows):6}  {sum(row[2] for row in rows):8}  {sum(row[3] for row in rows):7.1f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
