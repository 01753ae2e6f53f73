#!/usr/bin/env python3
"""The bundled Llama and llama.cpp as engines of the same schemes, and beside both llama.cpp's own programs.

    benchmarks/llama_cpp_engine.py schemes --program build/dev/bin/augur --model $MODEL --output files [--weights keep,f32,q8_0] [--shape 1b]
    benchmarks/llama_cpp_engine.py peer --program build/dev/bin/augur --model $MODEL --output files --llama-tools CACHE/llama-build/bin

`schemes`: every scheme that scores suffice for, greedy, on both engines, by format of the weights: texts that are plain decoding's on the
same engine, tokens a pass, drafted and accepted, speed over plain. `--shape` widens the model, as `augur widen` does; then the model as it
was drafts, else it drafts for itself.
`peer`: speed over plain by task, of lookup on both engines and of llama-lookup and llama-speculative-simple (ngram-simple), each over its
own plain decoding, in turns A B and B A, a process for each text. benchmarks/run.py builds these programs; prompts end without a line feed,
which llama.cpp's -f would strip. Nothing else should run meanwhile.

Writes schemes.json and schemes.md, or peer.json and peer.md.
"""

import argparse
import collections
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peer")]
import measure  # noqa: E402
import report  # noqa: E402
import runs  # noqa: E402

ENGINES = ("augur", "llama.cpp")
OWN_SHAPE = "576,1536,9,3,64,30"  # of SmolLM2-135M: other weights, and nothing else
OF_ONE = (
    "lookup:length=2", "lookup:length=6", "lookup", "lookup:tree=auto", "hybrid", "sd:length=2", "sd", "sd:tree=auto", "sd:tree=dynamic", "eaad",
    "eaad_as_published", "hysteresis", "merged", "merged:tree=dynamic", "fsd", "ead",
)  # fmt: skip
OF_TWO = ("psd_a", "psd_f", "psd_f_as_published")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"llama_cpp_engine.py: error: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def model_in(chosen, weights):
    """The model in this format and shape; as it is where neither is asked for."""
    if weights == "keep" and not chosen.shape:
        return chosen.model
    return runs.widened(chosen.program, chosen.model, chosen.shape or OWN_SHAPE, weights, chosen.output, ())


def compared(chosen, model, engine, schemes, drafts):
    """What `augur bench schemes` says of them; n-grams, where they are of this model."""
    words = [chosen.program, "bench", "schemes", "--engine", engine, "--model", model, "--prompts", chosen.prompts, "--threads", chosen.threads]
    words += ["--limit", chosen.limit, "--max-tokens", chosen.max_tokens, "--repetitions", 1, "--json"]
    for scheme in schemes:
        words += ["--scheme", scheme]
    for draft in drafts:
        words += ["--draft", draft]
    if "hybrid" in schemes:
        words += ["--heads", chosen.ngrams]
    return json.loads(run(*words))


def rows_of(got, weights, engine):
    for place, task in enumerate(got["tasks"][-1]["schemes"]):
        of = [prompt["schemes"][place] for prompt in got["prompts"]]
        total = lambda key: sum(each[key] for each in of)
        accepted = sum(stage["accepted"] for each in of for stage in each["stages"][-1:])
        yield {
            "weights": weights, "engine": engine, "scheme": task["scheme"], "guarantee": of[0]["guarantee"], "texts": len(of),
            "equal": task["identical"], "rounds": total("rounds"), "tokens": total("tokens"), "drafted": total("drafted"), "accepted": accepted,
            "speedup": task["speedup"],
        }  # fmt: skip


def schemes(chosen):
    draft = chosen.draft or chosen.model
    twin = chosen.output / f"again_{draft.name}"  # of a cascade of three, whose drafts have names of their own
    twin.unlink(missing_ok=True)
    twin.symlink_to(draft)
    found = []
    for weights in chosen.weights.split(","):
        model = model_in(chosen, weights)
        of_one = [scheme for scheme in chosen.schemes or OF_ONE if scheme != "hybrid" or (chosen.ngrams and model == chosen.model)]
        for engine in ENGINES:
            for names, drafts in ((of_one, [draft]), (() if chosen.schemes else OF_TWO, [draft, twin])):
                if names:
                    got = compared(chosen, model, engine, names, drafts)
                    found += [row for row in rows_of(got, weights, engine) if row["scheme"] != "plain" or len(drafts) == 1]
            (chosen.output / "schemes.json").write_text(json.dumps(found, indent=1) + "\n")
            print(f"{weights}, {engine}", file=sys.stderr, flush=True)
    header = ["weights", "engine", "scheme", "guarantee", "texts equal to plain", "tokens a pass", "drafted", "accepted", "speed over plain"]
    rows = [
        [of["weights"], of["engine"], f"`{of['scheme']}`", of["guarantee"], f"{of['equal']} of {of['texts']}", report.number(of["tokens"] / of["rounds"]),
         of["drafted"], of["accepted"], report.number(of["speedup"])] for of in found
    ]  # fmt: skip
    (chosen.output / "schemes.md").write_text(report.table(header, rows))


class EngineLookup(measure.Lookup):
    """Of one engine, beside llama.cpp's programs."""

    def __init__(self, chosen, tools, tokens):
        super().__init__(chosen.program, tools, chosen.model, chosen.threads, tokens)

    def of_engine(self, engine, prompt_file, *scheme):
        return self.augur(prompt_file, "--engine", engine, "--ignore-eos", *scheme)

    def variants(self, prompt_file, widths):
        commands = {}
        for engine in ENGINES:
            commands[engine, "plain"] = lambda engine=engine: self.of_engine(engine, prompt_file, "--scheme", "plain")
            commands[engine, "lookup"] = lambda engine=engine: self.of_engine(engine, prompt_file, "--scheme", "lookup")
            for width in map(str, widths):
                commands[engine, f"lookup, {width}"] = lambda engine=engine, width=width: self.of_engine(
                    engine, prompt_file, "--scheme", "lookup", "--length", width
                )
        if self.llama_tools:
            commands["programs", "plain"] = lambda: self.llama("llama-lookup", prompt_file, "--ignore-eos", "--spec-draft-n-max", "0")
        for width in map(str, widths if self.llama_tools else ()):
            commands["programs", f"llama-lookup, {width}"] = lambda width=width: self.llama(
                "llama-lookup", prompt_file, "--ignore-eos", "--spec-draft-n-max", width
            )
            simple = ("--ignore-eos", "--spec-type", "ngram-simple", "--spec-ngram-simple-size-m", width)
            commands["programs", f"ngram-simple, {width}"] = lambda simple=simple: self.llama("llama-speculative-simple", prompt_file, *simple)
        return commands


def speeds_of(asked, prompt_file, widths, repeat):
    """By variant its speed over its own side's plain decoding, and whether the text is that one's."""
    variants = asked.variants(prompt_file, widths)
    results = collections.defaultdict(list)
    for turn in range(repeat):
        for name in variants if turn % 2 == 0 else reversed(variants):
            results[name].append(variants[name]())
    rate = {name: statistics.median(one["rate"] for one in of) for name, of in results.items()}
    found = {}
    for side, name in variants:
        same = report.same_text if side == "programs" else list.__eq__
        equal = all(same(one["text"], results[side, "plain"][0]["text"]) for one in results[side, name])
        found[f"{side}: {name}"] = {"rate": rate[side, name], "speedup": rate[side, name] / rate[side, "plain"], "equal": equal}
    return found


def peer(chosen):
    tools = {}
    if chosen.llama_tools:
        tools = {name: chosen.llama_tools / name for name in ("llama-lookup", "llama-speculative-simple")}
        if missing := [str(path) for path in tools.values() if not path.is_file()]:
            sys.exit(f"llama_cpp_engine.py: error: there is no {missing[0]}; benchmarks/run.py builds it in its cache")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for tokens in map(int, chosen.max_tokens.split(",")):
            asked = EngineLookup(chosen, tools, tokens)
            for task, prompts in runs.prompts_of(chosen.prompts, None, chosen.limit).items():
                for i, prompt in enumerate(prompts):
                    path = pathlib.Path(folder, f"{task}{i}.txt")
                    path.write_text(prompt.rstrip("\n"), encoding="utf-8")
                    found.append({"task": task, "tokens": tokens, "by": speeds_of(asked, path, chosen.widths, chosen.repeat)})
                    (chosen.output / "peer.json").write_text(json.dumps(found, indent=1) + "\n")
                    print(f"{tokens} tokens, {task} {i + 1}", file=sys.stderr, flush=True)
    names = list(found[0]["by"])
    groups = list(dict.fromkeys((of["tokens"], of["task"]) for of in found))
    mean = lambda values: math.exp(statistics.fmean(map(math.log, values)))
    rows = []
    for name in names:
        of = lambda group: [each["by"][name] for each in found if (each["tokens"], each["task"]) == group]
        every = [each["by"][name] for each in found]
        cells = [report.number(mean(each["speedup"] for each in of(group))) for group in groups]
        rows.append([name, *cells, report.number(mean(each["speedup"] for each in every)), report.number(statistics.median(each["rate"] for each in every)),
                     f"{sum(each['equal'] for each in every)} of {len(every)}"])  # fmt: skip
    header = ["speed over its own plain decoding", *(f"{task}, {tokens}" for tokens, task in groups), "mean", "median tokens a second", "texts equal to plain"]
    (chosen.output / "peer.md").write_text(report.table(header, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("part", choices=("schemes", "peer"))
    add("--program", required=True, type=runs.absolute, help="augur, built with llama.cpp")
    add("--model", required=True, type=runs.absolute)
    add("--output", required=True, type=pathlib.Path)
    add("--prompts", type=runs.absolute, default=HERE / "prompts" / "prompts.jsonl", help="JSON lines: task, prompt")
    add("--limit", type=int, default=1, help="prompts of each task (%(default)s)")
    add("--threads", type=int, default=1)
    add("--max-tokens", default="96", help="of peer a list (%(default)s)")
    add("--weights", default="keep", help="schemes: keep, f32, bf16, q8_0, q4_0, q4_1, separated by commas (%(default)s)")
    add("--shape", default="", help="schemes: that the model is widened to")
    add("--scheme", dest="schemes", action="append", help="schemes: these alone (repeatable)")
    add("--draft", type=runs.absolute, help="schemes: the draft model; else the model itself")
    add("--ngrams", type=runs.absolute, help="schemes: an ngram file of the model, for hybrid")
    add("--llama-tools", type=runs.absolute, help="peer: folder with llama-lookup and llama-speculative-simple; else engines alone")
    add("--widths", type=int, nargs="+", default=[2, 4, 6], help="peer: lengths of drafts")
    add("--repeat", type=int, default=2, help="peer: turns")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    schemes(chosen) if chosen.part == "schemes" else peer(chosen)
    print((chosen.output / f"{chosen.part}.md").read_text(), end="")


if __name__ == "__main__":
    main()
