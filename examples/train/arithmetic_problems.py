"""Arithmetic in several steps, worked: an expression in brackets, each step's result, the answer.

    ((37+58)-19)*3: 37+58=95, 95-19=76, 76*3=228. 228

Which problems are tests depends on the expression alone, so training and tests share none, whatever the seeds.

    arithmetic_problems.py COUNT [SEED] prints that many tests as JSON lines {"prompt", "answer"}.
"""

import itertools
import json
import random
import sys
import zlib

ALPHABET = "0123456789+-*()=:,. \n"
STEPS = (2, 3, 4)
LARGEST = 999  # of results


def is_test(expression):
    """One expression in sixteen."""
    return zlib.crc32(expression.encode()) % 16 == 0


def apply(value, sign, number):
    return {"+": value + number, "-": value - number, "*": value * number}[sign]


def step(draw, value):
    """A sign and a number that lead from a value to another between 0 and LARGEST."""
    while True:
        sign = draw.choice("+-*")
        number = draw.randint(2, 9) if sign == "*" else draw.randint(2, 99)
        if 0 <= apply(value, sign, number) <= LARGEST:
            return sign, number


def problem(draw):
    """An expression, its worked steps, and the answer."""
    value = draw.randint(2, 99)
    expression, worked = str(value), []
    for i in range(draw.choice(STEPS)):
        sign, number = step(draw, value)
        result = apply(value, sign, number)
        expression = f"({expression}){sign}{number}" if i else f"{expression}{sign}{number}"
        worked.append(f"{value}{sign}{number}={result}")
        value = result
    return expression, ", ".join(worked), value


def problems(draw, tests):
    """Without end, either tests or the others."""
    while True:
        task = problem(draw)
        if is_test(task[0]) == tests:
            yield task


def text(task):
    """A problem as a model sees it: what it is asked, and what it should write."""
    expression, worked, value = task
    return f"{expression}:", f" {worked}. {value}\n"


def answer_of(written):
    """The number that a text ends with, or None."""
    last = written.strip().rpartition(" ")[2]
    return int(last) if last.isdecimal() else None


def main():
    count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "tests"
    for task in itertools.islice(problems(random.Random(seed), tests=True), count):
        print(json.dumps(dict(prompt=text(task)[0], answer=str(task[2]))))


if __name__ == "__main__":
    main()
