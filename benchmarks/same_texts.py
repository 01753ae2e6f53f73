#!/usr/bin/env python3
"""Whether two builds of the program write the same: seeded texts of every scheme, bit for bit.

    same_texts.py A B MODEL PROMPTS.jsonl [--count N] [--tokens N] [--schemes NAME...]

A and B are programs. Prints for each scheme and temperature how many texts and how many numbers of rounds are equal; numbers of
rounds may differ where a scheme's lengths follow measured time. Exits with 1 where a text differs.
"""
import argparse
import json
import subprocess
import sys

SCHEMES = "plain lookup hybrid sd eaad fsd psd_a psd_f ead medusa hydra entmtp kangaroo dvi hysteresis eagle".split()


def prompt_of(line):
    record = json.loads(line)
    return record.get("prompt") or record.get("question") or record["turns"][0]


def run(program, model, scheme, prompt, temperature, tokens):
    """(ids or the error, rounds) of one text."""
    command = [program, "generate", "--model", model, "--chat", "--scheme", scheme, "--prompt", prompt, "--seed", "3",
               "--max-tokens", str(tokens), "--temperature", temperature, "--json", "--threads", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return "refused: " + done.stderr.strip().splitlines()[-1], None
    record = json.loads(done.stdout)
    return record["ids"], record["rounds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("a", "b", "model", "prompts"):
        parser.add_argument(name)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--schemes", nargs="+", default=SCHEMES)
    asked = parser.parse_args()
    with open(asked.prompts, encoding="utf-8") as file:
        prompts = [prompt_of(line) for line in file]
    prompts = prompts[:: max(1, len(prompts) // asked.count)][: asked.count]
    differ = 0
    print("|scheme|temperature|texts|equal|numbers of rounds equal|refused by both|\n|-|-|-|-|-|-|")
    for scheme in asked.schemes:
        for temperature in ("0", "0.8"):
            pairs = [[run(program, asked.model, scheme, prompt, temperature, asked.tokens) for program in (asked.a, asked.b)]
                     for prompt in prompts]
            equal = sum(a[0] == b[0] for a, b in pairs)
            refused = sum(a[1] is None and b[1] is None for a, b in pairs)
            rounds = sum(a[1] == b[1] for a, b in pairs)
            differ += len(pairs) - equal
            print(f"|{scheme}|{temperature}|{len(pairs)}|{equal}|{rounds}|{refused}|", flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
