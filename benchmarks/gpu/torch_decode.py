#!/usr/bin/env python3
"""PyTorch's greedy decoding of a Llama with random BF16 weights, one sequence: what bench_device is compared with.

    torch_decode.py [--shape 8b] [--layers N] [--context 4096] [--rows 1,2,4,8,16,64] [--tokens 128] [--repeat 9]
                    [--seed 1] [--ways all] [--tuning max-autotune] [--device cuda] [--json FILE]

A way is how the same model is run: its layers by PyTorch's own kernels (eager) or by torch.compile (compiled),
attention over the whole static cache under a mask (masked) or over the part that is filled (sliced). On a GPU every
pass is a CUDA graph, whatever the way; ways and numbers of rows take turns. The baseline, `passes` in the JSON, is the
fastest way for each number of rows. Eager ways come first, and the JSON is written after every turn, so that what takes
too long costs its own figures only; `complete` says whether the run came to its end. Device times are those of CUDA events around a pass, the upload of its tokens
included; wall times end when its rows of logits are on the host. Exit code 77 without PyTorch or a GPU, 2 for an option
that makes no sense, 1 for other errors.
"""

import argparse
import ctypes
import functools
import json
import pathlib
import platform
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention.bias import causal_lower_right
except ImportError:
    print("torch_decode: PyTorch is not installed", file=sys.stderr)
    sys.exit(77)

# As known_shape of synthetic.hpp: layers, width, heads, key-value heads, head size, feed-forward, vocabulary, context,
# and whether the head is the embedding
SHAPES = {
    "tiny": (2, 64, 6, 2, 16, 96, 256, 512, True),
    "135m": (30, 576, 9, 3, 64, 1536, 49152, 8192, True),
    "1b": (16, 2048, 32, 8, 64, 8192, 128256, 8192, True),
    "3b": (28, 3072, 24, 8, 128, 8192, 128256, 8192, True),
    "8b": (32, 4096, 32, 8, 128, 14336, 128256, 8192, False),
    "70b": (80, 8192, 64, 8, 128, 28672, 128256, 8192, False),
}
WAYS = ("eager-masked", "eager-sliced", "compiled-masked", "compiled-sliced")
TUNINGS = {"max-autotune": "max-autotune-no-cudagraphs", "default": "default"}  # the graphs are captured here
CHUNK = 512  # tokens of a prompt that are read in one pass


class Shape:
    def __init__(self, name, layers=0):
        (self.layers, self.width, self.heads, self.key_value_heads, self.head_size, self.feed_forward, self.vocabulary,
         self.context, self.tied) = SHAPES[name]  # fmt: skip
        self.layers = layers or self.layers


def rotated(of, cosine, sine):
    """Rotary positions: of [heads, rows, size], cosine and sine [rows, size] in float32."""
    low, high = of.float().chunk(2, -1)
    return (of.float() * cosine + torch.cat((-high, low), -1) * sine).to(of.dtype)


def attend(query, keys, values, mask, length):
    """query [heads, rows, size] over keys and values [key-value heads, capacity, size]: over all, a mask of
    [group * rows, capacity] being added, or with a `length` over so many, the last of which is the last row's own.
    Returns [rows, heads * size].

    A masked group of queries is folded into rows, since not every fused kernel that takes masks takes groups; a slice
    needs no stored mask, so that the kernel which can split the keys over the whole GPU may take it."""
    heads, rows, size = query.shape
    if length:
        keys, values = keys[None, :, :length], values[None, :, :length]
        out = F.scaled_dot_product_attention(query[None], keys, values, attn_mask=mask, enable_gqa=True)
    else:
        folded = query.reshape(1, keys.shape[0], -1, size)
        out = F.scaled_dot_product_attention(folded, keys[None], values[None], attn_mask=mask[None, None])
    return out.reshape(heads, rows, size).transpose(0, 1).reshape(rows, heads * size)


class Layer(torch.nn.Module):
    def __init__(self, shape, matrix, capacity, like):
        super().__init__()
        self.shape = shape
        queries, keys = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
        self.query_key_value = matrix(queries + 2 * keys, shape.width)
        self.attention_output = matrix(shape.width, queries)
        self.gate_up = matrix(2 * shape.feed_forward, shape.width)
        self.down = matrix(shape.width, shape.feed_forward)
        self.norms = torch.nn.ParameterList(
            torch.nn.Parameter(torch.ones(shape.width, **like), False) for _ in range(2)
        )
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(shape.key_value_heads, capacity, shape.head_size, **like))

    def forward(self, state, added, positions, cosine, sine, mask, length):
        """state and added [rows, width]. What a layer adds the next one adds, in one kernel with its norm."""
        shape, rows = self.shape, state.shape[0]
        state = state + added
        joined = F.linear(F.rms_norm(state, (shape.width,), self.norms[0], 1e-5), self.query_key_value)
        heads = joined.view(rows, -1, shape.head_size).transpose(0, 1)
        query, key, value = heads.split((shape.heads, shape.key_value_heads, shape.key_value_heads))
        self.keys.index_copy_(1, positions, rotated(key, cosine, sine))
        self.values.index_copy_(1, positions, value)
        mixed = attend(rotated(query, cosine, sine), self.keys, self.values, mask, length)
        state = state + F.linear(mixed, self.attention_output)
        normed = F.rms_norm(state, (shape.width,), self.norms[1], 1e-5)
        gate, up = F.linear(normed, self.gate_up).chunk(2, -1)
        return state, F.linear(F.silu(gate) * up, self.down)


class Llama(torch.nn.Module):
    """With room for `capacity` tokens. `eager` and `compiled` name its three parts as passes call them."""

    def __init__(self, shape, capacity, device, dtype=torch.bfloat16, seed=1, tuning="max-autotune"):
        super().__init__()
        self.shape, self.capacity = shape, capacity
        like = {"device": device, "dtype": dtype}
        generator = torch.Generator(device).manual_seed(seed)

        def matrix(rows, inputs):
            weights = torch.empty(rows, inputs, **like).normal_(0, inputs**-0.5, generator=generator)
            return torch.nn.Parameter(weights, requires_grad=False)

        self.embedding = matrix(shape.vocabulary, shape.width)
        self.head = self.embedding if shape.tied else matrix(shape.vocabulary, shape.width)
        self.layers = torch.nn.ModuleList(Layer(shape, matrix, capacity, like) for _ in range(shape.layers))
        self.norm = torch.nn.Parameter(torch.ones(shape.width, **like), requires_grad=False)
        frequencies = 500000.0 ** (-torch.arange(0, shape.head_size, 2, device=device) / shape.head_size)
        angles = torch.arange(capacity, device=device)[:, None] * torch.cat((frequencies, frequencies))
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())
        self.eager = {"begin": Llama.begin, "layer": Layer.forward, "end": Llama.end}
        # One layer is compiled for all of them: minutes instead of hours, and the same kernels.
        options = {"fullgraph": True, "dynamic": False, "mode": TUNINGS[tuning]}
        self.compiled = {name: torch.compile(part, **options) for name, part in self.eager.items()}

    def weight_bytes(self):
        """Of the weights that a pass reads: one row of the embedding counts as none."""
        total = sum(each.nbytes for each in self.parameters())
        return total if self.shape.tied else total - self.embedding.nbytes

    def begin(self, tokens, start, masked):
        positions, mask = start + torch.arange(tokens.shape[0], device=tokens.device), None
        if masked:
            hidden = torch.arange(self.capacity, device=tokens.device) > positions[:, None]
            mask = torch.zeros_like(hidden, dtype=self.embedding.dtype).masked_fill(hidden, float("-inf"))
            mask = mask.repeat(self.shape.heads // self.shape.key_value_heads, 1)
        return self.embedding[tokens], positions, self.cosine[positions], self.sine[positions], mask

    def end(self, state, added):
        return F.linear(F.rms_norm(state + added, (self.shape.width,), self.norm, 1e-5), self.head)

    def forward(self, tokens, start, way, length):
        """Rows of logits [rows, vocabulary] for tokens [rows] after `start` [1] others, which are `length` together.
        Only a sliced way looks at `length`; a masked one follows `start`, which a graph may change."""
        kernels, attention = way.split("-")
        parts = getattr(self, kernels)
        masked, rows = attention == "masked", tokens.shape[0]
        state, positions, cosine, sine, mask = parts["begin"](self, tokens, start, masked)
        if not masked:
            mask = None if rows == 1 else causal_lower_right(rows, length)  # torch.compile cannot make one
        added = torch.zeros_like(state)
        for layer in self.layers:
            state, added = parts["layer"](layer, state, added, positions, cosine, sine, mask, 0 if masked else length)
        return parts["end"](self, state, added)

    def read(self, text):
        """Fills the cache with text [tokens]."""
        for begin in range(0, len(text), CHUNK):
            chunk = text[begin : begin + CHUNK]
            self(chunk, torch.tensor([begin], device=chunk.device), "eager-sliced", begin + len(chunk))


def some_text(shape, size):
    return (torch.arange(size) * 7919 + 13) % shape.vocabulary


class Clock:
    """Seconds of what is launched: by events on a GPU, by the processor's clock elsewhere."""

    def __init__(self, device):
        self.on_gpu = device == "cuda"
        if self.on_gpu:
            self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def seconds(self, launch):
        if not self.on_gpu:
            return self.wall_seconds(launch)
        self.events[0].record()
        launch()
        self.events[1].record()
        self.events[1].synchronize()
        return self.events[0].elapsed_time(self.events[1]) * 1e-3

    def wall_seconds(self, launch):
        since = time.perf_counter()
        launch()
        return time.perf_counter() - since


def captured(device, prepare, launch, pool):
    """What launches `launch` again: a CUDA graph of it on a GPU. Runs both before, as kernels are made then."""
    for _ in range(3 if device == "cuda" else 1):
        prepare()
        launch()
    if device != "cuda":
        return launch
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        launch()
    return graph.replay


class Pass:
    """Rows after a context, ready to be launched. `inputs` [1 + rows] are the position of the first and the tokens; a
    pass that `chooses` leaves there what the next one of a greedy decoding needs."""

    def __init__(self, model, way, context, inputs, pool, chooses=False):
        device, rows = inputs.device.type, inputs.shape[0] - 1
        given = torch.cat((torch.tensor([context]), some_text(model.shape, rows)))
        self.given = given.pin_memory() if device == "cuda" else given
        self.inputs, self.logits = inputs, None

        def launch():
            start, tokens = self.inputs[:1], self.inputs[1:]
            self.logits = model(tokens, start, way, context + rows)
            if chooses:
                tokens.copy_(self.logits.argmax(-1))
                start.add_(1)

        self.again = captured(device, self.upload, launch, pool)
        self.host = torch.empty(self.logits.shape, dtype=self.logits.dtype, pin_memory=device == "cuda")

    def upload(self):
        self.inputs.copy_(self.given, non_blocking=True)

    def launch(self):
        self.upload()
        self.again()

    def launch_and_wait(self):
        self.launch()
        self.host.copy_(self.logits)


class Way:
    """One way of running the model: a pass for each number of rows, and the steps of a decoding: one pass that is
    repeated where it is masked, one for each length where it is sliced. Compiled slices do not decode, as each length
    would be compiled."""

    def __init__(self, name, model, chosen, pool):
        since = time.perf_counter()
        like = {"dtype": torch.int64, "device": chosen.device}
        self.name = name
        self.passes = {
            rows: Pass(model, name, chosen.context, torch.zeros(1 + rows, **like), pool) for rows in chosen.rows
        }
        inputs = torch.zeros(2, **like)
        lengths = {"eager-sliced": chosen.tokens, "compiled-sliced": 0}.get(name, 1)
        self.steps = [Pass(model, name, chosen.context + i, inputs, pool, chooses=True) for i in range(lengths)]
        self.seconds_to_make = time.perf_counter() - since
        self.device, self.wall = {rows: [] for rows in chosen.rows}, {rows: [] for rows in chosen.rows}
        self.rates = []
        self.rounds = 0  # that were measured

    def decode(self, count):
        """Greedy tokens after the context. The host reads each before the next pass, as it must to see a stop token."""
        first = self.steps[0]
        first.upload()
        tokens = []
        for i in range(count):
            self.steps[i % len(self.steps)].again()
            tokens.append(first.inputs[1].item())
        return tokens

    def figures(self):
        def of(rows):
            times = {"device_seconds": self.device[rows], "wall_seconds": self.wall[rows]}
            return {"rows": rows} | {name: statistics.median(each) for name, each in times.items()}

        return {
            "name": self.name,
            "seconds_to_make": self.seconds_to_make,
            "passes": [of(rows) for rows in self.passes],
            "plain_rate": statistics.median(self.rates) if self.rates else None,
        }


def measure(ways, chosen):
    """Ways and numbers of rows take turns. The first turn warms up; yields after each of the others."""
    clock = Clock(chosen.device)
    for turn in range(chosen.repeat + 1 if ways else 0):
        for rows in chosen.rows:
            for way in ways:
                each = way.passes[rows]
                on_device, in_all = clock.seconds(each.launch), clock.wall_seconds(each.launch_and_wait)
                if turn > 0:
                    way.device[rows].append(on_device)
                    way.wall[rows].append(in_all)
        for way in ways:
            if way.steps:
                rate = chosen.tokens / clock.wall_seconds(functools.partial(way.decode, chosen.tokens))
                if turn > 0:
                    way.rates.append(rate)
            way.rounds = turn
        if turn > 0:
            yield turn


def copy_rate(chosen):
    """Bytes a second, read and written, of a copy within the device."""
    size = 1 << (30 if chosen.device == "cuda" else 26)
    source = torch.zeros(size, dtype=torch.uint8, device=chosen.device)
    target, clock = torch.empty_like(source), Clock(chosen.device)
    times = [clock.seconds(lambda: target.copy_(source)) for _ in range(chosen.repeat + 1)]
    return 2 * size / statistics.median(times[1:])


def best_of(found, weight_bytes, bandwidth):
    """For each number of rows the fastest way's pass, in bench_device's words."""
    named = [[each | {"way": way["name"]} for each in way["passes"]] for way in found]
    best = [min(each, key=lambda one: one["device_seconds"]) for each in zip(*named)]
    for each in best:
        each["ratio"] = each["device_seconds"] / best[0]["device_seconds"]
        each["bandwidth_share"] = weight_bytes / each["device_seconds"] / bandwidth
    return best


def driver_version():
    """Of CUDA's driver, which PyTorch has loaded but does not ask, in bench_device's words: 13000 for 13.0."""
    version = ctypes.c_int()
    if status := ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)):
        raise RuntimeError(f"the driver does not tell its version: CUDA error {status}")
    return version.value


def machine(chosen):
    on_gpu = chosen.device == "cuda"
    return {
        "device": torch.cuda.get_device_name() if on_gpu else platform.processor() or platform.machine(),
        "driver": driver_version() if on_gpu else None,
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda,
                     "cudnn": torch.backends.cudnn.version() if on_gpu else None},
    }  # fmt: skip


@torch.no_grad()
def run(chosen):
    shape = Shape(chosen.shape, chosen.layers)
    capacity = -(-(chosen.context + max(*chosen.rows, chosen.tokens)) // 64) * 64
    torch._dynamo.config.recompile_limit = 2 * len(chosen.rows) + 2  # a layer is compiled for each number of rows
    described, bandwidth = machine(chosen), copy_rate(chosen)
    model = Llama(shape, capacity, chosen.device, seed=chosen.seed, tuning=chosen.tuning)
    model.read(some_text(shape, chosen.context).to(chosen.device))
    pool = torch.cuda.graph_pool_handle() if chosen.device == "cuda" else None
    measured, failed = [], {}

    def figures(complete):
        found = [way.figures() for way in measured if way.rounds > 0]
        decoding = max(found, key=lambda way: way["plain_rate"] or 0)
        return {
            "program": "torch_decode",
            "complete": complete,
            **described,
            "copy_bytes_per_second": bandwidth,
            **{name: getattr(chosen, name) for name in ("shape", "context", "seed", "repeat", "tuning")},
            "layers": shape.layers,
            "weight_bytes": model.weight_bytes(),
            "passes": best_of(found, model.weight_bytes(), bandwidth),
            "decoding": {"tokens": chosen.tokens, "plain_rate": decoding["plain_rate"], "way": decoding["name"]},
            "ways": found,
            "failed": failed,
        }

    for kernels in ("eager", "compiled"):
        ways = []
        for name in chosen.ways:
            if not name.startswith(kernels):
                continue
            try:
                ways.append(Way(name, model, chosen, pool))
            except Exception as problem:  # a kernel or a compiler that this machine lacks: told, the others measured
                failed[name] = f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
                print(f"torch_decode: {name} failed: {failed[name]}", file=sys.stderr)
        measured += ways
        for _ in measure(ways, chosen):
            write(figures(complete=False), chosen)
    if not measured:
        raise RuntimeError("no way could be measured")
    return figures(complete=True)


def write(found, chosen):
    """Whole under its name, or as it was."""
    if chosen.json:
        beside = chosen.json.with_name(chosen.json.name + ".part")
        beside.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        beside.replace(chosen.json)


def table(of):
    versions = ", ".join(f"{name} {version}" for name, version in of["versions"].items() if version)
    copies = f"copies {of['copy_bytes_per_second'] * 1e-9:.0f} GB/s (read and written)"
    yield f"{of['device']}, driver {of['driver']}, {versions}, {copies}"
    yield f"{of['weight_bytes'] * 1e-9:.2f} GB of weights a pass"
    yield f"{'n':>4} {'device ms':>10} {'ratio':>8} {'bandwidth':>9} {'wall ms':>10} way"
    for each in of["passes"]:
        on_device, in_all = each["device_seconds"] * 1e3, each["wall_seconds"] * 1e3
        shares = f"{each['ratio']:8.3f} {each['bandwidth_share']:9.1%}"
        yield f"{each['rows']:4} {on_device:10.3f} {shares} {in_all:10.3f} {each['way']}"
    for way in of["ways"]:
        times = " ".join(f"{each['device_seconds'] * 1e3:.3f}" for each in way["passes"])
        rate = f"{way['plain_rate']:.1f} tokens/s" if way["plain_rate"] else "no decoding"
        yield f"{way['name']}: device ms {times}; {rate}; made in {way['seconds_to_make']:.0f} s"
    yield f"plain {of['decoding']['plain_rate'] or 0:.1f} tokens/s by {of['decoding']['way']}"


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"torch_decode: {message}\n")


def options_of(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="8b", choices=SHAPES)
    parser.add_argument("--layers", type=int, default=0, help="of the shape, the first; 0 for all")
    parser.add_argument("--context", type=int, default=4096, help="tokens before a pass")
    parser.add_argument("--rows", default="1,2,4,8,16,64", help="of passes; 1 is always one of them")
    parser.add_argument("--tokens", type=int, default=128, help="of a decoding")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--ways", default="all", help=f"of {', '.join(WAYS)}; all of them, on a processor the eager ones"
    )
    parser.add_argument("--tuning", default="max-autotune", choices=TUNINGS, help="of torch.compile")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--json", type=pathlib.Path, help="where the figures are written to")
    chosen = parser.parse_args(arguments)
    layers, context = SHAPES[chosen.shape][0], SHAPES[chosen.shape][7]
    try:
        chosen.rows = sorted({1, *map(int, chosen.rows.split(","))})
    except ValueError:
        parser.error(f"--rows {chosen.rows} is no list of numbers")
    chosen.ways = (WAYS if chosen.device == "cuda" else WAYS[:2]) if chosen.ways == "all" else chosen.ways.split(",")
    if unknown := set(chosen.ways) - set(WAYS):
        parser.error(f"--ways has {', '.join(sorted(unknown))}; there are {', '.join(WAYS)}")
    for name, least in (("tokens", 1), ("repeat", 1), ("layers", 0), ("seed", 0)):
        if getattr(chosen, name) < least:
            parser.error(f"--{name} {getattr(chosen, name)} is below {least}")
    if chosen.layers > layers:
        parser.error(f"the shape {chosen.shape} has {layers} layers, not {chosen.layers}")
    if chosen.rows[0] < 1:
        parser.error(f"--rows has {chosen.rows[0]}, which is below 1")
    if chosen.context < 1 or chosen.context + max(*chosen.rows, chosen.tokens) > context:
        parser.error(f"--context {chosen.context} and what follows exceed 1 ... {context}")
    return chosen


def main(arguments):
    chosen = options_of(arguments)
    if chosen.device == "cuda" and not torch.cuda.is_available():
        print("torch_decode: there is no GPU that PyTorch can use", file=sys.stderr)
        return 77
    try:
        found = run(chosen)
        print(*table(found), sep="\n")
        write(found, chosen)
    except (RuntimeError, OSError) as problem:  # out of memory is a RuntimeError too
        print(f"torch_decode: {str(problem).partition(chr(10))[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
