"""What is measured: llama.cpp from its source, augur, and the model in every format. All of it is made once, in a cache."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import gguf

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "examples"))
import fetch  # noqa: E402

LLAMA_TOOLS = ("llama-quantize", "llama-lookup", "llama-speculative-simple")
LLAMA_LIBRARIES = ("src/libllama.a", "ggml/src/libggml.a", "ggml/src/libggml-cpu.a", "ggml/src/libggml-base.a")
LLAMA_LEFT_OUT = (
    "LLAMA_BUILD_SERVER",
    "LLAMA_BUILD_UI",
    "LLAMA_BUILD_MTMD",
    "LLAMA_BUILD_TESTS",
    "LLAMA_OPENSSL",
    "LLAMA_CURL",
)
OUR_TARGETS = ("bench_peer", "bench_read_bandwidth", "bench_overhead", "augur_program")
FORMATS = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K")
BLOCKS_OF_256 = ("Q4_K", "Q6_K")


class BenchmarkError(Exception):
    """Ends the program with one line."""


def say(text):
    print(f"benchmarks: {text}", file=sys.stderr, flush=True)


def run(command, log):
    """Runs a command whose output goes to a file; that file is named if it fails."""
    with open(log, "ab") as out:
        code = subprocess.run(
            [str(part) for part in command], stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=False
        ).returncode
    if code != 0:
        raise BenchmarkError(f"{pathlib.Path(command[0]).name} ended with {code}; its output is in {log}")


def llama_source(cache):
    """llama.cpp's source, from the same archive as the tests' tokenizers."""
    download = fetch.CATALOGUE["vectors"]
    name = download.file[: -len(".tar.gz")]
    source = cache / name / "vendor" / "llama.cpp"
    if source.is_dir():
        return source
    say(f"fetching {download.file}")
    archive, part = cache / download.file, cache / "unpacking"
    if not (archive.is_file() and fetch.sha256_of(archive) == download.sha256):
        fetch.transfer(fetch.Index(), download, archive)
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as opened:
        opened.extractall(part)  # its checksum is the one expected
    os.replace(part / name, cache / name)
    shutil.rmtree(part)
    archive.unlink()
    return source


def llama_build(source, cache, jobs):
    """Builds what is used of llama.cpp, for this very CPU."""
    build, log = cache / "llama-build", cache / "llama-build.log"
    if not all((build / "bin" / tool).is_file() for tool in LLAMA_TOOLS):
        say(f"building llama.cpp, which takes minutes (log: {log})")
        options = [f"-D{name}=OFF" for name in ("BUILD_SHARED_LIBS", *LLAMA_LEFT_OUT)]
        options += ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PROJECT_ggml_INCLUDE={HERE / 'ggml.cmake'}"]
        run(["cmake", "-S", source, "-B", build, "-G", "Ninja", *options], log)
        run(["cmake", "--build", build, "-j", jobs, "--target", *LLAMA_TOOLS], log)
    return build


def llama_program(source, build, cache):
    """Links llama_cpp.cpp with the libraries of a build."""
    program, log = cache / "peer_llama_cpp", cache / "peer_llama_cpp.log"
    libraries = [build / name for name in LLAMA_LIBRARIES]
    missing = [str(path) for path in libraries if not path.is_file()]
    if missing:
        raise BenchmarkError(
            f"no {missing[0]}: the build of llama.cpp must have static libraries (-DBUILD_SHARED_LIBS=OFF)"
        )
    includes = [f"-I{source / 'include'}", f"-I{source / 'ggml' / 'include'}"]
    compiler = os.environ.get("CXX", "c++")
    run(
        [
            compiler,
            "-std=c++17",
            "-O2",
            HERE / "llama_cpp.cpp",
            *includes,
            *libraries,
            "-fopenmp",
            "-ldl",
            "-lpthread",
            "-o",
            program,
        ],
        log,
    )
    return program


def our_build(cache, jobs):
    build, log = cache / "augur-build", cache / "augur-build.log"
    say(f"building augur (log: {log})")
    run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-Daugur_TESTS=OFF"], log)
    run(["cmake", "--build", build, "-j", jobs, "--target", *OUR_TARGETS], log)
    return build


def models_folder(cache, source=None):
    """Where the formats of a model lie: each file's own, so that none is taken for another's."""
    if source is None:
        return cache / "models"
    path, facts = pathlib.Path(source).resolve(), os.stat(source)
    about = f"{path} {facts.st_size} {facts.st_mtime_ns}"
    return cache / f"models-{path.stem}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"


def models(names, cache, quantize, jobs, source=None):
    """The model in each format: every matrix has that format, the embedding too."""
    original = pathlib.Path(source) if source else fetch.fetch("smollm2", fetch.cache_directory())
    folder, log = models_folder(cache, source), cache / "quantize.log"
    folder.mkdir(parents=True, exist_ok=True)
    wide, paths = folder / "wide.gguf", {}
    for name in names:
        path = paths[name] = folder / f"{name}.gguf"
        if path.is_file():
            continue
        say(f"making the model in {name}")
        if name in BLOCKS_OF_256 and not wide.is_file():
            gguf.write(original, wide.with_suffix(".part"))
            os.replace(wide.with_suffix(".part"), wide)
        part = path.with_suffix(".part")
        made_from = wide if name in BLOCKS_OF_256 else original
        run([quantize, "--allow-requantize", "--pure", made_from, part, name, jobs], log)
        found = gguf.formats_of(part)
        if found != [name]:
            raise BenchmarkError(f"the model was to be in {name}, but its matrices are in {', '.join(found)}")
        os.replace(part, path)
    wide.unlink(missing_ok=True)
    return paths
