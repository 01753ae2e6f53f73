#!/usr/bin/env python3
"""Every step of tests/gpu.sh without a GPU: with stand-ins for its programs and tools that do well, fail, hang, are killed, find no
GPU or are missing, one of them at a time. Shown for each: the steps end, what the stand-in said before is in the results, every part
of all others ran, at most eight files come back, and the same command again runs what failed and nothing else.

    rehearse.py [NAME...]       NAME: a stand-in, in every way; otherwise each of them in one way, and all ways come up"""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = ("device", "loop", "parts", "prompts", "schemes")  # what parts of steps are called whose programs write them
PROGRAMS = ("test_gpu", "test_gpu_wide", *("bench_" + each for each in FIGURES))
TOOLS = ("nvidia-smi", "python3", "compute-sanitizer", "ncu")
MOST_FILES, MOST_BYTES = 8, 16 << 20
ENDS = {"fails": 1, "hangs": 124, "is killed": 137, "finds no GPU": 77, "is missing": 127}
STEPS = "1 2 3 4 5".split()

# Says its name and arguments, writes a figure where one is asked for, and ends as a file beside it says. `--list_content` is how
# gpu.sh asks whether programs start. python3 is a stand-in for PyTorch's side and itself for the rest.
STAND_IN = """#!/usr/bin/env bash
here=$(dirname "$0") name=$(basename "$0")
how=$(cat "$here/$name.how" 2>/dev/null)
if [[ $* == *--list_content* ]]; then [ "$how" = 'finds no GPU' ] && exit 77; exit 0; fi
if [ "$name" = python3 ] && [[ $* != *torch_decode* ]]; then exec "{python}" "$@"; fi
echo "$name was called: $*"
echo "$name $*" >>"$here/calls"
while [ $# -gt 0 ]; do
  if [ "$1" = --json ]; then printf '{{"program": "%s",\\n "complete": %s}}\\n' "$name" "$([ -z "$how" ] && echo true || echo false)" >"$2"; fi
  shift
done
case $how in
  fails) exit 1 ;;
  hangs) sleep 60 ;;
  'is killed') kill -9 $$ ;;
  'finds no GPU') exit 77 ;;
esac
exit 0
"""


class Rehearsal:
    """One machine: a folder of stand-ins, one of which may end in another way."""

    def __init__(self, folder):
        self.bin, self.kept, self.out = folder / "bin", folder / "kept", folder / "out"
        self.bin.mkdir(parents=True)
        for name in PROGRAMS + TOOLS:
            self.make(name)
        self.calls_file = self.bin / "calls"

    def make(self, name):
        path = self.bin / name
        path.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def set(self, name, how):
        if how == "is missing":
            (self.bin / name).unlink()
        else:
            (self.bin / f"{name}.how").write_text(how, encoding="utf-8")

    def mend(self, name):
        (self.bin / f"{name}.how").unlink(missing_ok=True)
        self.make(name)

    def run(self, *steps, **settings):
        """(exit code, what it said)."""
        environment = {
            **os.environ, "PATH": f"{self.bin}:/usr/bin:/bin", "AUGUR_GPU_FOLDER": str(self.kept), "OUT": str(self.out),
            "AUGUR_GPU_PROGRAMS": str(self.bin), "AUGUR_GPU_PART_SECONDS": "5", **settings,
        }  # fmt: skip
        done = subprocess.run(["bash", ROOT / "tests/gpu.sh", *steps], env=environment, capture_output=True, text=True,
                              timeout=300, check=False)  # fmt: skip
        return done.returncode, done.stderr

    def calls(self):
        return self.calls_file.read_text(encoding="utf-8").splitlines() if self.calls_file.exists() else []

    def ends(self):
        """By part: with what it ended last."""
        lines = (self.out / "state.txt").read_text(encoding="utf-8").splitlines()
        return {part: int(code) for part, code, _ in map(str.split, lines)}

    def text(self):
        return "".join(each.read_text(encoding="utf-8") for each in sorted(self.out.iterdir()))

    def figures(self, name):
        lines = (self.out / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def check_files(of):
    sizes = {each.name: each.stat().st_size for each in of.out.iterdir()}
    check(len(sizes) <= MOST_FILES, f"{len(sizes)} files come back: {sorted(sizes)}")
    check(max(sizes.values()) <= MOST_BYTES, f"files are too large: {sizes}")
    kept = {each.name: each.stat().st_size for each in (of.kept / "results").iterdir()}
    check(kept == sizes, f"{sizes} came back of {kept}")


def user_of(part):
    """Which stand-in a part is about."""
    if part == "test.wide":
        return "test_gpu_wide"
    begin = part.split(".")[0]
    if begin in FIGURES:
        return "bench_" + begin
    tools = {"test": "test_gpu", "torch": "python3", "memcheck": "compute-sanitizer", "racecheck": "compute-sanitizer"}
    return tools.get(begin, begin)


def all_well(folder):
    """Every part once; then nothing is left to do."""
    of = Rehearsal(folder)
    code, said = of.run("all")
    ends = of.ends()
    comparison = ends.pop("compared")  # of stand-ins' figures there is none to make, which its line says
    check(comparison == 2 and code == 1 and "compared (2)" in said, f"the comparison ended with {comparison}: {said}")
    check(set(ends.values()) == {0}, f"parts ended with {ends}")
    check({user_of(part) for part in ends} == set(PROGRAMS + TOOLS), f"parts are {sorted(ends)}")
    tests = {each.stem for pattern in ("*.cu", "*.cpp") for each in (ROOT / "tests/gpu").glob(pattern)} - {"main"}
    check({part[5:] for part in ends if part.startswith("test.")} == tests, f"tests are {tests}, parts {sorted(ends)}")
    check_files(of)
    count = sum(part.split(".")[0] in FIGURES for part in ends)
    check(len(of.figures("figures.jsonl")) == count, "a line for each figure")
    before = of.calls()
    of.run(*STEPS)
    check(of.calls() == before, "what had ended well ran again")
    return ends


def one_ends(folder, name, how, expected):
    """One stand-in ends otherwise, then as it should."""
    of = Rehearsal(folder)
    of.set(name, how)
    code, said = of.run("all", AUGUR_GPU_PART_SECONDS="1" if how == "hangs" else "5")
    ends = of.ends()
    mine = {part for part in expected if user_of(part) == name}
    check(mine and set(expected) <= set(ends), f"parts that did not run: {set(expected) - set(ends)}: {said}")
    check({ends[part] for part in mine} == {ENDS[how]}, f"its parts ended with {[ends[part] for part in mine]}")
    others = {part: ends[part] for part in set(expected) - mine}
    check(set(others.values()) == {0}, f"others ended with {others}")
    check(code == (77 if (name, how) == ("test_gpu", "finds no GPU") else 1), f"exit code {code}: {said}")
    check(f"({ENDS[how]})" in said, f"it was not said: {said}")
    check_files(of)
    if how != "is missing":
        text = of.text()
        check(f"{name} was called" in text, "what it said is lost")
        written = [each for file in ("figures.jsonl", "torch.jsonl") for each in of.figures(file) if each["program"] == name]
        asked = sum(part.split(".")[0] in (*FIGURES, "torch") for part in mine)
        check(len(written) == asked and not any(each["complete"] for each in written), "a figure that it wrote is lost")
    of.mend(name)
    before = len(of.calls())
    of.run(*STEPS)
    again = of.calls()[before:]
    check(of.ends() | {"compared": 0} == dict.fromkeys(ends, 0), f"then parts ended with {of.ends()}")
    check(len(again) == len(mine), f"{len(mine)} parts had failed, {len(again)} were called again: {again}")


def no_time(folder, expected):
    """Steps that have no second left do nothing and say so; with time they do all of it."""
    of = Rehearsal(folder)
    code, said = of.run(*STEPS, AUGUR_GPU_STEP_SECONDS="0")
    check(code == 1 and not of.calls() and said.count("no time left") >= len(expected), said)
    of.run(*STEPS)
    check(set(expected) <= set(of.ends()), "what had no time left was not run by the next call")


def nothing_starts(folder):
    """Programs that cannot be executed there: they are built, and a build that fails stops nothing either."""
    of = Rehearsal(folder)
    for name in PROGRAMS:
        (of.bin / name).write_text("no program", encoding="utf-8")
    of.make("cmake")
    code, said = of.run("1")
    check(code == 1 and "do not start" in said and "nor do those" in said and of.ends()["build"] == 0, said)
    check([each.split()[1] for each in of.calls() if each.startswith("cmake")] == ["-S", "--build"], f"{of.calls()}")
    check(of.ends()["nvidia-smi"] == 0 and of.ends()["test.laws"] == 127, f"{of.ends()}")
    built = of.kept / "built"  # as if cmake had made them
    built.mkdir()
    for name in PROGRAMS:
        of.make(name)
        (of.bin / name).rename(built / name)
    code, said = of.run("2")
    check("nor do those" not in said and of.ends()["device.8b"] == 0, said)


def no_build(folder):
    """They are built, and that fails: nothing is stopped by it either."""
    of = Rehearsal(folder)
    for name in PROGRAMS:
        (of.bin / name).write_text("no program", encoding="utf-8")
    of.make("cmake")
    of.set("cmake", "fails")
    code, _ = of.run("1")
    check(code == 1 and of.ends()["build"] == 1, f"{of.ends()}")
    check(of.ends()["nvidia-smi"] == 0 and of.ends()["test.laws"] == 127, f"{of.ends()}")


def long_words(folder):
    """What a program says beyond a bound is left out, and it ends as it would have."""
    of = Rehearsal(folder)
    (of.bin / "nvidia-smi").write_text("#!/usr/bin/env bash\nhead -c 30000000 /dev/zero | tr '\\0' x\n", encoding="utf-8")
    of.run("1")
    check(of.ends()["nvidia-smi"] == 0, f"{of.ends()}")
    check_files(of)


def main(names):
    for name in names:
        if name not in PROGRAMS + TOOLS:
            print(f"rehearse: there is no {name}; there are {', '.join(PROGRAMS + TOOLS)}", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        expected = all_well(folder / "well")
        cases = {"no time": lambda: no_time(folder / "time", expected), "nothing starts": lambda: nothing_starts(folder / "none"), "no build": lambda: no_build(folder / "no build"),
                 "long words": lambda: long_words(folder / "words")}  # fmt: skip
        for i, name in enumerate(PROGRAMS + TOOLS):
            for how in ENDS if name in names else () if names else [list(ENDS)[i % len(ENDS)]]:
                if how == "is missing" and name in ("test_gpu", "python3"):
                    continue  # then programs are built, which is a case of its own; the comparison needs python3, too
                cases[f"{name} {how}"] = lambda n=name, h=how: one_ends(folder / f"{n} {h}", n, h, expected)
        failed = 0
        with ThreadPoolExecutor(4) as pool:
            for case, done in {case: pool.submit(run) for case, run in cases.items()}.items():
                if problem := done.exception():
                    failed += 1
                    print(f"{case}: {type(problem).__name__}: {problem}", file=sys.stderr)
        print(f"rehearse: {len(cases) + 1} rehearsals of {len(expected)} parts, {failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
