#!/usr/bin/env python3
"""What a user's compiler takes for a scheme: processor seconds of two checkouts, A B A B ..., in one run.

    compile_time.py A B [--turns N] [--compiler g++] [--flags=-O2] [--in-a SPELLING=WAS]...

A and B are roots of checkouts. Compiles a chain, a tree, a cascade of three models and models that take turns, with all of
<augur/augur.hpp>. Prints the median of each side and the median of the ratios B / A of neighbouring turns, with their quartiles.
--in-a replaces a name of B by the one that A has, wherever the sources use it.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BEGIN = """#include <augur/augur.hpp>
#include <augur/testing/models.hpp>
#include <vector>
using namespace augur;
int main() {
    const auto a = testing::hashed_model(16, 1), b = testing::hashed_model(16, 2), c = testing::hashed_model(16, 3);
    const std::vector<token> prompt{1, 2};
"""
END = "    return static_cast<int>(decode::generate(scheme, prompt).tokens.size()) + static_cast<int>(c.vocabulary_size());\n}\n"
SOURCES = {
    "the headers alone": "#include <augur/augur.hpp>\n",
    "a chain": BEGIN + "const auto scheme = speculate(draft::draft_model(b), a, policy::fixed_length{4}, accept::rejection_sampling{});\n" + END,
    "a tree": BEGIN
    + "const auto scheme = speculate(draft::draft_model(b), a, policy::tree_static(topology{-1, -1, 0}), accept::rejection_sampling{});\n"
    + END,
    "a cascade of three": BEGIN
    + "const scheme::model_link link{policy::fixed_length{2}, accept::rejection_sampling{}};\n"
    + "const auto scheme = cascaded(a, link, b, link, c);\n"
    + END,
    "models that take turns": BEGIN
    + "const auto scheme = switched(b, a, switching::rolling_entropy({.thresholds_bits = {0.5}}));\n"
    + END.replace("generate(", "generate<any_guarantee>("),
}


def seconds_of(compiler, flags, root, source, output):
    before = os.times()
    command = [compiler, "-std=c++20", *flags, f"-I{root / 'include'}", "-c", str(source), "-o", str(output)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", type=pathlib.Path)
    parser.add_argument("b", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-O2")
    parser.add_argument("--in-a", action="append", default=[], metavar="SPELLING=WAS")
    asked = parser.parse_args()
    spellings = [each.split("=", 1) for each in asked.in_a]
    print("|seconds of a processor|A|B|B / A|quartiles|\n|-|-|-|-|-|")
    with tempfile.TemporaryDirectory() as folder:
        for what, text in SOURCES.items():
            source = pathlib.Path(folder) / "scheme.cpp"
            in_a = text
            for spelling, was in spellings:
                in_a = in_a.replace(spelling, was)
            output = source.with_suffix(".o")

            def measure(root, code):
                source.write_text(code, encoding="utf-8")
                return seconds_of(asked.compiler, asked.flags.split(), root, source, output)

            turns = [(measure(asked.a, in_a), measure(asked.b, text)) for _ in range(asked.turns)]
            first, second = zip(*turns)
            ratios = [b / a for a, b in turns]
            low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            print(f"|{what}|{statistics.median(first):.2f}|{statistics.median(second):.2f}|{middle:.2f}|{low:.2f} to {high:.2f}|")


if __name__ == "__main__":
    main()
