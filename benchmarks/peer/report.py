"""From lists of measurements to medians, tables and charts, and from what other programs print to numbers. Nothing is measured here."""

import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import svg  # noqa: E402

SIDES = ("augur", "llama.cpp")


class Unreadable(Exception):
    """A program printed something else than was expected."""


def spread(values):
    """The median, the quartiles, and how many there are."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("nothing was measured")
    if len(ordered) == 1:
        low = high = ordered[0]
    else:
        low, _, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return {"median": statistics.median(ordered), "low": low, "high": high, "count": len(ordered)}


def parse_decoding(out, log, prompt):
    """Tokens a second and text of llama.cpp's lookup programs, which print the prompt before the text."""
    rate = re.search(r"decoded\s+(\d+) tokens in\s+[\d.]+ seconds, speed:\s+([\d.]+) t/s", log)
    _, found, text = out.partition(prompt)
    if not rate or not found:
        raise Unreadable(
            f"no {'rate' if found else 'prompt'} in what llama.cpp printed: {out[:200]!r} ...{log[-200:]!r}"
        )
    return {"tokens": int(rate[1]), "rate": float(rate[2]), "text": text.rstrip("\n")}


def same_text(one, other):
    """Equal as far as both go: llama.cpp's programs go on after the limit, by what the last draft had."""
    shorter = min(len(one), len(other))
    return shorter > 0 and one[:shorter] == other[:shorter]


def table(header, rows):
    lines = ["|" + "|".join(header) + "|", "|" + "-|" * len(header)]
    return "\n".join(lines + ["|" + "|".join(str(cell) for cell in row) + "|" for row in rows]) + "\n"


def number(value, digits=2):
    return f"{value:.{digits}f}"


def of_median(measured, digits=2):
    return number(measured["median"], digits)


def curve_table(formats, context):
    """Milliseconds of both sides with the ratio to one row, by the number of rows."""
    with_context = {name: found["curves"][context] for name, found in formats.items() if context in found["curves"]}
    counts = sorted({int(n) for curve in with_context.values() for n in curve})
    rows = []
    for name, curve in with_context.items():
        for side in SIDES:
            first = curve[str(counts[0])][side]["median"]
            cells = [
                f"{of_median(curve[str(n)][side])} ({number(curve[str(n)][side]['median'] / first)})" for n in counts
            ]
            rows.append([name, side, *cells])
        shares = [number(curve[str(n)][SIDES[1]]["median"] / curve[str(n)][SIDES[0]]["median"]) for n in counts]
        rows.append([name, "**times as fast**", *(f"**{share}**" for share in shares)])
    return table(["weights", "", *(f"n = {n}" for n in counts)], rows)


def summary_table(formats, prefill):
    header = [
        "weights",
        "",
        "decode, tokens/s",
        f"prefill of {prefill}, tokens/s",
        "share of read bandwidth, decoding",
        "load, s",
        "peak memory, MB",
        "weights, MB",
    ]
    rows = []
    for name, found in formats.items():
        for side in SIDES:
            rates = [of_median(found[what][side], 1) for what in ("decode", "prefill")]
            share = number(100 * found["bandwidth_share"][side], 0) + " %"
            sizes = [number(found[what][side] * 1e-6, 0) for what in ("peak_bytes", "weight_bytes")]
            rows.append([name, side, *rates, share, of_median(found["load_seconds"][side]), *sizes])
    return table(header, rows)


def lookup_table(lookup):
    rows = []
    for prompt, found in lookup["prompts"].items():
        for width, at in found["widths"].items():
            identical = " / ".join("yes" if at[key] else "NO" for key in ("ours_identical", "theirs_identical"))
            ratios = [number(at[key]) for key in ("ours_over_plain", "theirs_over_plain", "ours_over_theirs")]
            rates = [of_median(at[key]["rate"], 1) for key in ("ours", "theirs")]
            plain = [of_median(found["plain"][side]["rate"], 1) for side in SIDES]
            rows.append([prompt, width, *plain, *rates, *ratios, identical])
    header = ["prompt", "width", "plain", "llama.cpp, plain", "lookup", "llama.cpp, best lookup"]
    return table(
        [
            *header,
            "lookup / plain",
            "llama.cpp's / its plain",
            "lookup / llama.cpp's",
            "same text as plain (augur / llama.cpp)",
        ],
        rows,
    )


def overhead_table(overheads):
    rows = [
        [one["scheme"], number(one["temperature"], 1), one["rounds"], number(one["round"], 0), number(one["beside_forward"], 0),
         number(one["draft"], 1), number(one["accept"], 0), number(one["other"], 1), number(100 * one["share"], 1) + " %"]
        for one in overheads
    ]  # fmt: skip
    return table(
        ["scheme", "temperature", "rounds", "round, us", "beside the pass, us", "draft", "accept", "other", "share"],
        rows,
    )


def machine_lines(machine):
    flags = " ".join(machine["cpu_flags"])
    return (
        f"{machine['date']}, augur {machine['commit']}, {machine['cpu']} ({machine['threads']} threads of {machine['cores']}; {flags}), "
        f"{machine['system']}, {machine['compiler']}, Release; {SIDES[1]} from {machine['peer']}. "
        f"Just before, other programs took {number(100 * machine['busy_before'], 0)} % of the processors.\n"
    )


def markdown(results):
    formats = results["formats"]
    parts = [machine_lines(results["machine"])]
    for context in contexts_of(formats):
        parts.append(
            f"### One pass over n new rows after {context} tokens\nMedian milliseconds (ratio to one row).\n\n"
            + curve_table(formats, context)
        )
    if formats:
        parts.append("### Decode, prefill, loading, memory\n" + summary_table(formats, results["plan"]["prefill"]))
    if results.get("lookup"):
        parts.append(
            f"### Prompt lookup, {results['lookup']['weights']}, greedy\nTokens a second.\n\n"
            + lookup_table(results["lookup"])
        )
    if results.get("overhead"):
        parts.append(
            "### What a round costs beside the forward pass\nMicroseconds per round.\n\n"
            + overhead_table(results["overhead"])
        )
    return "\n".join(parts)


def charts(results, folder):
    """verify_CONTEXT: T(n) of both sides, a panel per format. speedup_CONTEXT: how many times as fast."""
    source = {"measured": machine_lines(results["machine"]).strip(), "command": "benchmarks/run.py"}
    for context in contexts_of(results["formats"]):
        curves = {name: of["curves"][context] for name, of in results["formats"].items() if context in of["curves"]}
        svg.save(curve_chart(curves, context) | source, folder, f"verify_{context}")
        svg.save(speedup_chart(curves, context) | source, folder, f"speedup_{context}")


def medians(curve, side):
    counts = sorted(int(n) for n in curve)
    return counts, [curve[str(n)][side]["median"] for n in counts]


def curve_chart(curves, context):
    line = lambda curve, side: dict(zip(("x", "y"), medians(curve, side)), name=side)
    panels = [{"title": name, "series": [line(curve, side) for side in SIDES]} for name, curve in curves.items()]
    title = f"One pass over n new tokens after {context} tokens"
    return {"kind": "lines", "title": title, "y": "milliseconds, median", "x": "new tokens n in the pass", "panels": panels}


def speedup_chart(curves, context):
    series = []
    for name, curve in curves.items():
        counts, ours = medians(curve, SIDES[0])
        series.append({"name": name, "x": counts, "y": [round(theirs / our, 3) for our, theirs in zip(ours, medians(curve, SIDES[1])[1])]})
    title = f"How many times as fast as {SIDES[1]} a pass over n new tokens is, after {context} tokens"
    axes = {"x": "new tokens n in the pass", "log_x": True, "x_ticks": counts, "reference": [1, "as fast"]}
    return {"kind": "lines", "title": title, "y": f"{SIDES[1]}'s time over augur's", "series": series} | axes


def contexts_of(formats):
    return sorted({context for found in formats.values() for context in found["curves"]}, key=int)
