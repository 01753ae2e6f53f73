#!/usr/bin/env python3
"""Makes a family of drafts for a Llama: the target writes text, members learn from it, each becomes a file of the family.

    family.py --target PATH --tokens N --device auto --out DIR [--members ...] [--work DIR]

What is done is found again under --work, so a run that was killed goes on where it stopped when the same command is given
again. Several processes may run the same command at once: each takes texts that no other is writing.
"""

import argparse
import os
import pathlib

MEMBERS = ("ngram", "eagle", "draft", "hydra", "medusa", "exit", "qualifier")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--target", required=True, type=pathlib.Path, help="a GGUF file or a folder of safetensors, of a Llama")
    add("--tokens", required=True, type=int, help="how many tokens the target writes")
    add("--out", required=True, type=pathlib.Path, help="where the family's files go")
    add("--members", nargs="+", default=MEMBERS, choices=MEMBERS, metavar="NAME", help=f"of {', '.join(MEMBERS)}; all")
    add("--work", type=pathlib.Path, help="where unfinished work is kept (OUT/work)")
    add("--device", default="auto", help="auto (a GPU where there is one), cpu, cuda, cuda:1, ...")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of this process, on the CPU (%(default)s)")
    add("--augur", metavar="PROGRAM", help="the program that writes the texts, faster than PyTorch on a CPU")
    add("--batch", type=int, default=96, help="texts that are written together (%(default)s)")
    add("--limit", type=int, default=256, help="tokens of an answer at most (%(default)s)")
    add("--head", type=int, default=4096, help="rows of a member's head, the most frequent tokens; 0 for all (%(default)s)")
    add("--epochs", type=float, default=3, help="how often each text is learned from; 0 judges what is there (%(default)s)")
    add("--rate", type=float, default=1, help="times a member's own learning rate (%(default)s)")
    add("--from", dest="earlier", type=pathlib.Path, metavar="DIR", help="members begin as this family's, of the same target")
    add("--disk-budget", type=float, default=8, help="GB of hidden states to keep; the rest is computed again (%(default)s)")
    add("--seed", type=int, default=1, help="equal seeds, equal texts (%(default)s)")
    add("--only-write", action="store_true", help="stop when the text is written")
    options = parser.parse_args()
    options.work = options.work or options.out / "work"
    return options


def main():
    options = arguments()
    import stages  # torch takes seconds to load: --help does without

    stages.run(options)


if __name__ == "__main__":
    main()
