#!/usr/bin/env python3
"""What can be said of a pass of the CUDA Llama without a GPU: its kernels as nvcc makes them for sm_90, its launches, and a model
of T(1) and T(n) made of both. Prints Markdown.

    gpu_structure.py [--shape 8b] [--context 4096] [--rows 1,2,4,8,16] [--copy 3.0]

Needs nvcc, and cuobjdump with nvdisasm: from the PATH, or CUDA_HOME/bin. The launches are listed by gpu_structure.cpp, which the
host's compiler (CXX) makes. The model's assumptions are the fields of `machine`, and the docstring of `seconds`."""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent / "include"
WARP = 32


@dataclasses.dataclass
class machine:
    """An H100 SXM. None of these is measured here."""

    copy: float = 3.0e12        # bytes a second that a copy moves; an H200's 4.3e12
    cache: float = 5.5e12       # bytes a second from the second level cache
    clock: float = 1.7e9
    processors: int = 132
    schedulers: int = 4
    issue: float = 0.7          # instructions a scheduler issues per clock where there are enough warps
    edge: float = 1.3e-6        # from a kernel's end to its successor's first instruction, in a graph
    overlapped_edge: float = 0.5e-6  # the same where the successor was launched beforehand and only waits
    fill: float = 1.0e-6        # from a kernel's first request for weights until memory is busy, and from its last data to its end


def tool(name):
    found = shutil.which(name) or shutil.which(name, path=os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"))
    if found is None:
        sys.exit(f"gpu_structure.py: there is no {name} on the PATH, nor in CUDA_HOME")
    return found


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"gpu_structure.py: {command[0]} failed:\n{done.stderr[-4000:]}")
    return done.stdout, done.stderr


def short(demangled):
    """The name without namespaces, and without what all have."""
    bare = re.sub(r"\b(augur|backend|device|llama|void)\b(::| )", "", demangled)
    bare = re.sub(r"\s+|\bu\b", "", re.sub(r"(\d)u\b", r"\1", bare))
    return bare.replace("tiled_view<bfloat16>,", "").replace("<bfloat16>", "").replace("bfloat16,", "")


def demangled(names):
    """Of mangled types and functions."""
    text, _ = run("c++filt", "-t", *names)
    return text.splitlines()


@dataclasses.dataclass
class kernel:
    registers: int = 0
    spills: int = 0
    stack: int = 0
    shared: int = 0
    lines: list = dataclasses.field(default_factory=list)  # (address, instruction)

    def size(self):
        return len(self.lines)

    def loads(self, lines=None):
        """Bytes of each instruction that reads global memory."""
        widths = []
        for _, text in self.lines if lines is None else lines:
            found = re.search(r"\bLDG?\.E\S*|\bLDGSTS\.\S+", text)
            if found:
                wide = re.search(r"\.(U8|S8|U16|S16|64|128)\b", found[0])
                widths.append({"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}[wide[1]] if wide else 4)
        return widths

    def loops(self):
        """Innermost loops, as lists of their instructions."""
        spans = []
        for address, text in self.lines:
            found = re.search(r"\bBRA\b.* `?\(?(?:\.L_x_\d+\)?)?(0x[0-9a-f]+)?", text)
            if found and found[1] and int(found[1], 16) < address:
                spans.append((int(found[1], 16), address))
        inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
        return [[line for line in self.lines if begin <= line[0] <= end] for begin, end in sorted(set(inner))]

    def reading_loops(self):
        """Those that read global memory."""
        return [body for body in self.loops() if self.loads(body)]


def compiled(folder):
    """Every kernel of gpu_structure.cu, by its short name."""
    cubin = folder / "structure.cubin"
    flags = ["-std=c++20", "-arch=sm_90", "--expt-relaxed-constexpr", "--fmad=false", f"-I{INCLUDE}", "-Xptxas", "-v"]
    _, said = run(tool("nvcc"), *flags, "-cubin", HERE / "gpu_structure.cu", "-o", cubin)
    kernels = collections.defaultdict(kernel)
    for name, stack, stores, loads, rest in re.findall(
            r"Function properties for (_Z\S*run_kernel\S*)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill "
            r"loads\s+ptxas info\s+: (Used [^\n]*)", said):
        one = kernels[name]
        one.stack, one.spills = int(stack), int(stores) + int(loads)
        one.registers = int(re.search(r"Used (\d+) registers", rest)[1])
        shared = re.search(r"(\d+) bytes smem", rest)
        one.shared = int(shared[1]) if shared else 0
    current = None
    listing, _ = run(tool("cuobjdump"), "-sass", cubin)
    for line in listing.splitlines():
        begin = re.search(r"Function : (\S+)", line)
        if begin:
            current = kernels[begin[1]] if begin[1] in kernels else None
        found = re.match(r"\s*/\*([0-9a-f]{4,5})\*/\s+(.*?);", line)
        if found and current is not None and not re.match(r"NOP\b", found[2]):
            current.lines.append((int(found[1], 16), found[2].strip()))
    names = list(kernels)
    return {inner_name(text): kernels[name] for name, text in zip(names, demangled(names))}


def inner_name(function):
    """K of run_kernel<K>(K)."""
    name = short(function)
    return name[len("run_kernel<"):name.index(">(")]


@dataclasses.dataclass
class launch:
    name: str
    blocks: int
    threads: int
    shared: int
    weights: int
    inputs: int
    cache: int
    seen: int


def listed(folder, shape, context, rows):
    """Launches of a pass, by its rows; `graph` stands for the launch of those after it, as many as it has blocks."""
    program = folder / "list"
    run(os.environ.get("CXX", "c++"), "-std=c++20", "-O0", f"-I{INCLUDE}", HERE / "gpu_structure.cpp", "-o", program)
    text, _ = run(program, shape, context, *rows)
    lines = [line.split(" ") for line in text.splitlines()]
    mangled = sorted({line[1] for line in lines} - {"graph"})
    names = dict(zip(mangled, map(short, demangled(mangled))))
    passes = collections.defaultdict(list)
    for count, name, *numbers in lines:
        passes[int(count)].append(launch(names.get(name, name), *map(int, numbers)))
    return passes


def instructions_per_byte(body, of):
    """Of a warp, in a loop, for each byte that the loop loads once (weights), or else by its widest loads."""
    once = [line for line in body if ".EF" in line[1]]
    widths = of.loads(once or body)
    return len(body) / (sum(w for w in widths if w == max(widths)) * WARP)


def issued(one, of):
    """Instructions of all warps. Loops of products by the bytes of weights that they load; of other kernels each instruction once, and
    those of loops four times; but where keys and values are read in a loop, by their bytes, values again for each of four heads."""
    warps = one.blocks * one.threads / WARP
    loops = of.reading_loops()
    if one.weights:
        body = max(loops, key=lambda each: sum(".EF" in line[1] for line in each))
        return of.size() * warps + one.weights * instructions_per_byte(body, of)
    narrow = [body for body in loops if 2 in of.loads(body)]
    if one.seen and len(narrow) > 1:
        keys, *_, values = narrow
        return one.seen / 2 * instructions_per_byte(keys, of) + one.seen / 2 * 4 * instructions_per_byte(values, of)
    return (of.size() + 3 * sum(map(len, of.loops()))) * warps


def seconds(one, of, on, overlapped):
    """A kernel takes the longest of three times: its bytes from memory at the speed of a copy, longer where blocks do not divide
    among the processors; all that it reads again from the second level cache; its instructions at the machine's rate. To that comes
    the edge to the next kernel and, unless that one has asked for its weights before, the time until memory is busy."""
    uneven = max(1.0, -(-one.blocks // on.processors) * on.processors / one.blocks) if one.blocks else 1.0
    memory = (one.weights + one.cache) / on.copy * (uneven if one.weights + one.cache else 1.0)
    again = (one.weights + one.inputs * one.blocks + one.seen) / on.cache
    rate = min(on.processors, one.blocks) * on.schedulers * on.issue * on.clock
    busy = max(memory, again, issued(one, of) / rate)
    return busy + (on.overlapped_edge if overlapped else on.edge) + (0 if overlapped and one.weights else on.fill)


def kernel_table(kernels):
    print("|kernel|registers|spills|stack|instructions|loads of 16 bytes / all|instructions per KB in its loops|")
    print("|-|-|-|-|-|-|-|")
    for name in sorted(kernels):
        of = kernels[name]
        widths = of.loads()
        loops = ", ".join(f"{1024 * instructions_per_byte(body, of):.0f} ({max(of.loads(body))} bytes)" for body in of.reading_loops())
        print(f"|`{name}`|{of.registers}|{of.spills}|{of.stack}|{of.size()}|{widths.count(16)} / {len(widths)}|{loops}|")


def pass_table(passes, kernels, on, overlapped):
    print("\n|rows|launches by the host|nodes of the graph|kernels per layer|weights, GB|model, ms|over T(1)|of copy bandwidth|")
    print("|-|-|-|-|-|-|-|-|")
    first = None
    for rows, launches in passes.items():
        graph = next((one.blocks for one in launches if one.name == "graph"), 0)
        kernels_run = [one for one in launches if one.name != "graph"]
        layers = sum(1 for one in kernels_run if "gate_sums" in one.name)
        total = sum(seconds(one, kernels[one.name], on, overlapped) for one in kernels_run)
        weights = sum(one.weights for one in kernels_run)
        first = first or total
        in_layers = sum(1 for one in kernels_run if one.name not in once(kernels_run, layers)) / layers
        print(f"|{rows}|{len(launches) - graph}|{graph}|{in_layers:g}|{weights / 1e9:.2f}|{1e3 * total:.2f}|{total / first:.2f}"
              f"|{weights / on.copy / total:.2f}|")


def once(launches, layers):
    """Names of kernels that a pass launches less often than it has layers."""
    counts = collections.Counter(one.name for one in launches)
    return {name for name, count in counts.items() if count < layers}


def parts_table(launches, kernels, on, overlapped):
    print("\n|kernel|launches|blocks|shared bytes|microseconds each, by the model|")
    print("|-|-|-|-|-|")
    groups = collections.Counter((one.name, one.blocks, one.shared, seconds(one, kernels[one.name], on, overlapped))
                                 for one in launches if one.name != "graph")
    for (name, blocks, shared, time), count in groups.items():
        print(f"|`{name}`|{count}|{blocks}|{shared}|{1e6 * time:.1f}|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="8b")
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--rows", default="1,2,4,8,16")
    parser.add_argument("--copy", type=float, default=3.0, help="TB/s of a copy")
    asked = parser.parse_args()
    on = machine(copy=asked.copy * 1e12)
    with tempfile.TemporaryDirectory() as folder:
        kernels = compiled(pathlib.Path(folder))
        passes = listed(pathlib.Path(folder), asked.shape, asked.context, asked.rows.split(","))
    overlapped = any("ACQBULK" in text for of in kernels.values() for _, text in of.lines)
    used = {one.name for launches in passes.values() for one in launches if one.name != "graph"}
    kernel_table({name: of for name, of in kernels.items() if name in used})
    pass_table(passes, kernels, on, overlapped)
    parts_table(next(iter(passes.values())), kernels, on, overlapped)


if __name__ == "__main__":
    main()
