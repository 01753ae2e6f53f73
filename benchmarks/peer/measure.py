"""Both sides side by side: every figure of one is taken within moments of the other's, in turns, on one state of the machine."""

import json
import os
import pathlib
import statistics
import subprocess
import time

import report
from make import BenchmarkError

LLAMA_GREEDY = ("--no-escape", "--temp", "0", "-c", "4096")


def alternating(round_number):
    """Who goes first changes from round to round."""
    return report.SIDES if round_number % 2 == 0 else report.SIDES[::-1]


class Side:
    """A process that answers the questions of serve.hpp, and sleeps between them."""

    def __init__(self, command):
        self.command = [str(part) for part in command]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        milliseconds, self.weight_bytes = self.answer("loaded")
        self.load_seconds = milliseconds / 1000
        self.wait_until_idle()

    def answer(self, key):
        line = self.process.stdout.readline()
        try:
            return json.loads(line)[key]
        except (ValueError, KeyError):
            self.process.stdin.close()
            code = self.process.wait()
            self.process.stdout.close()
            raise BenchmarkError(f"{' '.join(self.command)} answered {line!r}, exit code {code}") from None

    def ask(self, question, key="milliseconds"):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        answered = self.answer(key)
        self.wait_until_idle()
        return answered

    def cpu_nanoseconds(self):
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def wait_until_idle(self):
        """Threads spin for a while before they sleep: what they would take from the other side is waited for."""
        deadline, before = time.monotonic() + 5, self.cpu_nanoseconds()
        while time.monotonic() < deadline:
            time.sleep(0.005)
            now = self.cpu_nanoseconds()
            if now == before:
                return
            before = now
        raise BenchmarkError(f"{' '.join(self.command)} is still computing 5 seconds after it answered")

    def peak_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))

    def close(self):
        self.process.stdin.close()
        code = self.process.wait()
        if code != 0:
            raise BenchmarkError(f"{' '.join(self.command)} ended with {code}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def spreads(samples):
    return {side: report.spread(values) for side, values in samples.items()}


def both(sides, question, rounds, to_value=lambda milliseconds: milliseconds):
    """Asks both in turns; a spread over all that they answered."""
    samples = {side: [] for side in report.SIDES}
    for round_number in range(rounds):
        for side in alternating(round_number):
            samples[side] += [to_value(each) for each in sides[side].ask(question)]
    return spreads(samples)


def curve(sides, context, plan):
    """T(n): in each round every n is asked of both."""
    samples = {n: {side: [] for side in report.SIDES} for n in plan["rows"]}
    for side in report.SIDES:
        sides[side].ask(f"context {context}", "context")
    for round_number in range(plan["rounds"]):
        for n in plan["rows"]:
            for side in alternating(round_number):
                samples[n][side] += sides[side].ask(f"pass {n} {plan['passes']}")
    return {str(n): spreads(of) for n, of in samples.items()}


def read_bandwidth(program, size, threads, times):
    run = subprocess.run(
        [program, str(int(size)), str(threads), str(times)], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(run.stdout)["gigabytes_per_second"]


def start(commands):
    sides = {}
    try:
        for side, command in commands.items():
            sides[side] = Side(command)
    except BaseException:
        for side in sides.values():
            side.kill()
        raise
    return sides


def loaded_often(commands, times):
    """Seconds to load, by side, and the sides as they were loaded last."""
    seconds = {side: [] for side in report.SIDES}
    for left in reversed(range(times)):
        sides = start(commands)
        for name, side in sides.items():
            seconds[name].append(side.load_seconds)
            if left:
                side.close()
    return spreads(seconds), sides


def longest_text(plan):
    """Tokens that a context must hold for what is asked."""
    return max(max(plan["contexts"]) + max(*plan["rows"], plan["decode"]), plan["prefill"])


def one_format(commands, bandwidth_program, threads, plan):
    """All figures of one format."""
    load, sides = loaded_often(commands, plan["loads"])
    try:
        weight_bytes = {name: side.weight_bytes for name, side in sides.items()}
        bandwidth = {name: read_bandwidth(bandwidth_program, size, threads, 5) for name, size in weight_bytes.items()}
        curves = {str(context): curve(sides, context, plan) for context in plan["contexts"]}
        for side in sides.values():
            side.ask(f"context {plan['contexts'][0]}", "context")
        decode = both(sides, f"decode {plan['decode']} 1", plan["rounds"], lambda ms: 1000 * plan["decode"] / ms)
        prefill = both(sides, f"prefill {plan['prefill']} 1", plan["prefills"], lambda ms: 1000 * plan["prefill"] / ms)
        peak = {name: side.peak_bytes() for name, side in sides.items()}
        for name, size in weight_bytes.items():
            bandwidth[name] += read_bandwidth(bandwidth_program, size, threads, 5)
        for side in sides.values():
            side.close()
    finally:
        for side in sides.values():
            side.kill()
    reached = {side: weight_bytes[side] * decode[side]["median"] * 1e-9 for side in report.SIDES}
    return {
        "load_seconds": load,
        "weight_bytes": weight_bytes,
        "peak_bytes": peak,
        "read_bandwidth": spreads(bandwidth),
        "bandwidth_share": {side: reached[side] / statistics.median(bandwidth[side]) for side in report.SIDES},
        "curves": curves,
        "decode": decode,
        "prefill": prefill,
    }


class Lookup:
    """One process per text, as somebody would start it; only the time of decoding counts, as each program reports it."""

    def __init__(self, ours, llama_tools, model, threads, tokens, shortest=None):
        self.ours, self.llama_tools, self.model = ours, llama_tools, model
        self.shortest = [] if shortest is None else ["--lookup-min", str(shortest)]
        self.threads, self.tokens = str(threads), str(tokens)

    def output_of(self, command):
        run = subprocess.run(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
        if run.returncode != 0:
            raise BenchmarkError(
                f"{command[0]} ended with {run.returncode}: {run.stderr[-300:].decode(errors='replace')}"
            )
        return run.stdout.decode(errors="replace"), run.stderr.decode(errors="replace")

    def augur(self, prompt_file, *scheme):
        command = [self.ours, "generate", "--model", self.model, "--prompt-file", prompt_file, "--temperature", "0"]
        command += ["--max-tokens", self.tokens, "--threads", self.threads, "--json", *scheme]
        result = json.loads(self.output_of(command)[0])
        return {"tokens": len(result["ids"]), "rate": result["tokens_per_second"], "text": result["ids"]}

    def llama(self, tool, prompt_file, *options):
        command = [self.llama_tools[tool], "-m", self.model, "-f", prompt_file, "-n", self.tokens, "-t", self.threads]
        out, log = self.output_of([*command, *LLAMA_GREEDY, *options])
        return report.parse_decoding(out, log, prompt_file.read_text(encoding="utf-8"))

    def variants(self, prompt_file, widths):
        """Everything to be run for one prompt, by name; ours and theirs in turns."""
        runs = {
            ("augur", "plain"): lambda: self.augur(prompt_file, "--scheme", "plain"),
            ("llama.cpp", "plain"): lambda: self.llama("llama-lookup", prompt_file, "--spec-draft-n-max", "0"),
        }
        for width in map(str, widths):
            runs["augur", width] = lambda width=width: self.augur(
                prompt_file, "--scheme", "lookup", "--length", width, *self.shortest
            )
            runs["llama.cpp", width, "lookup"] = lambda width=width: self.llama(
                "llama-lookup", prompt_file, "--spec-draft-n-max", width
            )
            if "llama-speculative-simple" in self.llama_tools:
                simple = ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-m", width)
                runs["llama.cpp", width, "ngram-simple"] = lambda simple=simple: self.llama(
                    "llama-speculative-simple", prompt_file, *simple
                )
        return runs

    def measure(self, prompt_file, widths, rounds):
        runs = self.variants(prompt_file, widths)
        results = {name: [] for name in runs}
        for round_number in range(rounds):
            for name in runs if round_number % 2 == 0 else reversed(runs):
                results[name].append(runs[name]())
        return summary_of(results, widths)


def summary_of(results, widths):
    """Rates, their ratios, and whether every text is the plain one; llama.cpp's is the best of its lookups at that width."""
    found = {
        name: {"rate": report.spread([one["rate"] for one in of]), "texts": [one["text"] for one in of]}
        for name, of in results.items()
    }

    def identical(name, side):
        same = list.__eq__ if side == "augur" else report.same_text  # ours are ids, and end where they should
        return all(same(text, found[side, "plain"]["texts"][0]) for text in found[name]["texts"])

    summary = {"plain": {side: {"rate": found[side, "plain"]["rate"]} for side in report.SIDES}, "widths": {}}
    summary["tokens"] = {side: results[side, "plain"][0]["tokens"] for side in report.SIDES}
    plain = {side: found[side, "plain"]["rate"]["median"] for side in report.SIDES}
    for width in map(str, widths):
        ours = found["augur", width]
        theirs = {name: found[name] for name in found if name[:2] == ("llama.cpp", width)}
        best = max(theirs, key=lambda name: theirs[name]["rate"]["median"])
        ours_rate, theirs_rate = ours["rate"]["median"], theirs[best]["rate"]["median"]
        summary["widths"][width] = {
            "ours": {"rate": ours["rate"]},
            "theirs": {"rate": theirs[best]["rate"]},
            "theirs_kind": best[2],
            "every_lookup_of_theirs": {
                name[2]: {"rate": theirs[name]["rate"], "identical": identical(name, "llama.cpp")} for name in theirs
            },
            "ours_over_plain": ours_rate / plain["augur"],
            "theirs_over_plain": theirs_rate / plain["llama.cpp"],
            "ours_over_theirs": ours_rate / theirs_rate,
            "ours_identical": identical(("augur", width), "augur"),
            "theirs_identical": identical(best, "llama.cpp"),
        }
    return summary


def overhead(program, model, prompt_file, threads, tokens):
    command = [program, model, prompt_file, str(threads), str(tokens)]
    run = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise BenchmarkError(f"{program} ended with {run.returncode}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def busy_share(seconds=2):
    """The share of the processors' time that whatever else runs takes."""

    def times():
        values = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(values), values[3] + values[4]  # all, and idle or waiting for a disk

    before = times()
    time.sleep(seconds)
    total, idle = (after - earlier for after, earlier in zip(times(), before))
    return 1 - idle / total


def cpu():
    """The processor's name and the instruction sets that matter here, as the system tells them."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    wanted = (
        "avx2",
        "fma",
        "f16c",
        "avx512f",
        "avx512bw",
        "avx512_vnni",
        "avx512_bf16",
        "avx_vnni",
        "amx_bf16",
        "amx_int8",
    )
    have = set(fields.get("flags", "").split())
    return fields.get("model name", "unknown CPU"), [flag for flag in wanted if flag in have], os.cpu_count()
