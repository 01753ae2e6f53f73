#!/usr/bin/env python3
"""Measures augur beside llama.cpp, in turns, and writes what was found.

    pip install -r benchmarks/requirements.txt && benchmarks/run.py

The first run fetches llama.cpp's source and the model, builds both sides and makes the model's formats, in a cache of
2 GB ($AUGUR_CACHE or ~/.cache/augur, below it `benchmarks`). Into --output go results.json (every median and spread, the
machine and the commit), results.md (the same as tables) and *.svg. Nothing else should run meanwhile.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peer"))
import make  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402

FULL = {"contexts": [256, 2048], "rows": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32], "rounds": 7, "passes": 2, "loads": 3,
        "decode": 32, "prefill": 512, "prefills": 3, "widths": [4, 8], "lookups": 3, "tokens": 128}  # fmt: skip
QUICK = FULL | {
    "contexts": [256],
    "rows": [1, 2, 4, 8, 16, 32],
    "rounds": 3,
    "passes": 2,
    "loads": 1,
    "prefills": 1,
    "lookups": 1,
}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, one context: minutes instead of a quarter of an hour"
    )
    parser.add_argument(
        "--output", type=pathlib.Path, default=pathlib.Path("benchmark-results"), help="folder for what was found"
    )
    parser.add_argument(
        "--formats", default=",".join(make.FORMATS), help="of the weights; the default is all: %(default)s"
    )
    parser.add_argument(
        "--parts", default="curves,lookup,overhead", help="what to measure; the default is all: %(default)s"
    )
    parser.add_argument(
        "--prompts", type=pathlib.Path, help="a folder of *.txt, or JSON lines; the default ships with augur"
    )
    parser.add_argument(
        "--tasks", default="code,repeat", help="of JSON lines: one prompt each of these tasks; default: %(default)s"
    )
    parser.add_argument(
        "--lookup-min", type=int, help="augur's shortest n-gram; the default is the program's (llama.cpp's is 1)"
    )
    parser.add_argument("--contexts", help="tokens before the passes of curves; default: 256,2048 (--quick: 256)")
    parser.add_argument("--prefill", type=int, default=512, help="tokens that are read at once; default: %(default)s")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both sides; the default is one per core")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the builds")
    parser.add_argument("--model", type=pathlib.Path, help="the GGUF file to make formats of; the default is fetched")
    parser.add_argument("--augur-build", type=pathlib.Path, help="a build of augur, which is then not made")
    parser.add_argument(
        "--peer",
        default="llama.cpp",
        choices=("llama.cpp", "transformers"),
        help="whom passes are measured beside; transformers (F32, F16, BF16) needs benchmarks/peer/transformers.txt",
    )
    parser.add_argument("--llama-source", type=pathlib.Path, help="llama.cpp's source, which is then not fetched")
    parser.add_argument(
        "--llama-build", type=pathlib.Path, help="its build with static libraries, which is then not made"
    )
    chosen = parser.parse_args(arguments)
    chosen.formats, chosen.parts = chosen.formats.split(","), chosen.parts.split(",")
    for name, given, valid in (
        ("--formats", chosen.formats, make.FORMATS),
        ("--parts", chosen.parts, ("curves", "lookup", "overhead")),
    ):
        if unknown := set(given) - set(valid):
            parser.error(f"{name} has {', '.join(sorted(unknown))}; valid are {', '.join(valid)}")
    chosen.plan = (QUICK if chosen.quick else FULL) | {"prefill": chosen.prefill}
    if chosen.contexts:
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", chosen.contexts):
            parser.error(f"--contexts is {chosen.contexts}; it must be numbers from 1, with commas between them")
        chosen.plan["contexts"] = [int(context) for context in chosen.contexts.split(",")]
    if chosen.prefill < 1:
        parser.error(f"--prefill is {chosen.prefill}; it must be at least 1")
    if chosen.peer == "transformers":
        if unknown := set(chosen.parts) - {"curves"}:
            parser.error(f"--parts has {', '.join(sorted(unknown))}; beside transformers there is: curves")
        if unknown := set(chosen.formats) - {"F32", "F16", "BF16"}:
            parser.error(f"--formats has {', '.join(sorted(unknown))}; transformers has F32, F16, BF16")
    report.SIDES = ("augur", chosen.peer)
    if chosen.llama_build and not chosen.llama_source:
        parser.error("--llama-build needs the --llama-source that it was built from")
    return chosen


def prompts_of(chosen, folder):
    """Files with one prompt each, by name."""
    given = chosen.prompts or HERE / "prompts" / "prompts.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    if given.is_dir():
        texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(given.glob("*.txt"))}
    else:
        entries = [json.loads(line) for line in given.read_text(encoding="utf-8").splitlines() if line]
        first = {entry["task"]: entry["prompt"] for entry in reversed(entries)}
        texts = {task: first[task] for task in chosen.tasks.split(",") if task in first}
    if not texts:
        raise make.BenchmarkError(f"{given} holds no prompts of {chosen.tasks}")
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(
            text.rstrip("\n"), encoding="utf-8"
        )  # llama.cpp drops one newline at the end
    return {name: folder / f"{name}.txt" for name in texts}


def first_line(*command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE, check=False)
    return run.stdout.partition("\n")[0]


def machine(chosen, build):
    name, flags, cores = measure.cpu()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    commit = first_line("git", "rev-parse", "--short", "HEAD") or "of no repository"
    changes = first_line("git", "status", "--porcelain", "--untracked-files=no", "--", str(HERE.parent))
    peer = chosen.llama_source.parents[1].name if chosen.llama_source else make.fetch.CATALOGUE["vectors"].file
    if chosen.peer == "transformers":
        peer = " and ".join(f"{name} {importlib.metadata.version(name)}" for name in ("transformers", "torch"))
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit + (" with changes" if changes else ""),
        "cpu": name,
        "cpu_flags": flags,
        "cores": cores,
        "threads": chosen.threads,
        "system": platform.platform(terse=True),
        "compiler": first_line(compiler[1], "--version") if compiler else "unknown",
        "peer": peer,
        "busy_before": measure.busy_share(),
    }


class Benchmarks:
    def __init__(self, chosen):
        self.chosen, self.plan = chosen, chosen.plan
        self.cache = make.fetch.cache_directory() / "benchmarks"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.started = time.monotonic()
        jobs = chosen.jobs
        source = chosen.llama_source or make.llama_source(self.cache)
        llama = chosen.llama_build or make.llama_build(source, self.cache, jobs)
        self.llama_peer = make.llama_program(source, llama, self.cache)
        self.llama_tools = {tool: llama / "bin" / tool for tool in make.LLAMA_TOOLS if (llama / "bin" / tool).is_file()}
        self.build = chosen.augur_build or make.our_build(self.cache, jobs)
        wanted = set(chosen.formats) | ({"BF16"} if {"lookup", "overhead"} & set(chosen.parts) else set())
        ordered = [name for name in make.FORMATS if name in wanted]
        self.models = make.models(ordered, self.cache, self.llama_tools["llama-quantize"], jobs, chosen.model)
        self.prompts = prompts_of(chosen, self.cache / "prompts")

    def say(self, text):
        make.say(f"{time.monotonic() - self.started:5.0f} s  {text}")

    def curves(self):
        found = {}
        ours, transformers = self.build / "benchmarks" / "bench_peer", HERE / "peer" / "transformers_peer.py"
        peers = {"llama.cpp": [self.llama_peer], "transformers": [sys.executable, "-B", transformers]}
        programs = {"augur": [ours], self.chosen.peer: peers[self.chosen.peer]}
        for name in self.chosen.formats:
            self.say(f"{name}: curves, decode, prefill")
            commands = {side: [*program, self.models[name], self.chosen.threads] for side, program in programs.items()}
            if self.chosen.peer == "llama.cpp":
                commands["llama.cpp"].append(measure.longest_text(self.plan))
            bandwidth = self.build / "benchmarks" / "bench_read_bandwidth"
            found[name] = measure.one_format(commands, bandwidth, self.chosen.threads, self.plan)
        return found

    def lookup(self):
        program, model = self.build / "bin" / "augur", self.models["BF16"]
        threads, tokens = self.chosen.threads, self.plan["tokens"]
        asked = measure.Lookup(program, self.llama_tools, model, threads, tokens, self.chosen.lookup_min)
        found = {}
        for name, path in self.prompts.items():
            self.say(f"lookup: {name}")
            found[name] = asked.measure(path, self.plan["widths"], self.plan["lookups"])
        return {"weights": "BF16", "shortest": self.chosen.lookup_min, "prompts": found}

    def overhead(self):
        self.say("overhead")
        prompt = self.prompts.get("repeat") or next(iter(self.prompts.values()))
        program = self.build / "benchmarks" / "bench_overhead"
        return measure.overhead(program, self.models["BF16"], prompt, self.chosen.threads, self.plan["tokens"])

    def run(self):
        results = {"machine": machine(self.chosen, self.build), "plan": self.plan, "formats": {}}
        if results["machine"]["busy_before"] > 0.05:
            self.say(f"warning: other programs take {results['machine']['busy_before']:.0%} of the processors")
        if "curves" in self.chosen.parts:
            results["formats"] = self.curves()
        if "lookup" in self.chosen.parts:
            results["lookup"] = self.lookup()
        if "overhead" in self.chosen.parts:
            results["overhead"] = self.overhead()
        self.say("measured")
        return results


def main(arguments):
    chosen = options_of(arguments)
    try:
        import numpy  # noqa: F401, so that a missing one is reported early
    except ImportError:
        print(f"benchmarks: error: no numpy; pip install -r {HERE / 'requirements.txt'}", file=sys.stderr)
        return 1
    try:
        results = Benchmarks(chosen).run()
        chosen.output.mkdir(parents=True, exist_ok=True)
        (chosen.output / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (chosen.output / "results.md").write_text(report.markdown(results), encoding="utf-8")
        if results["formats"]:
            report.charts(results, chosen.output)
        print(report.markdown(results))
        make.say(f"results.json, results.md and charts are in {chosen.output}")
    except (make.BenchmarkError, make.fetch.FetchError, report.Unreadable, OSError) as problem:
        make.say(f"error: {problem}")
        return 1
    except KeyboardInterrupt:
        make.say("interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
