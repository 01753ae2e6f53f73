#!/usr/bin/env python3
"""Models by their names in the caches of Hugging Face, Ollama and LM Studio, and `augur models`, which lists them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROGRAM, TARGET, ProgramTest, environment  # noqa: E402

HOME = FOLDER / "home"
COMMITS = ("0123456789abcdef0123456789abcdef01234567", "0fedcba987650fedcba987650fedcba987650fed")
CACHES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS")
PROMPT = ("--prompt-ids", "5,6,7", "-n", 5, "--scheme", "plain", "--json")


def augur(*words, **said):
    env = {name: value for name, value in environment(HOME=str(HOME), AUGUR_FAMILY=str(FOLDER / "none")).items() if name not in CACHES}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env={**env, **said}, timeout=300, check=False)


def repository(name, files, branch="main", commit=COMMITS[0], hub=HOME / ".cache" / "huggingface" / "hub"):
    """As the hub's own library leaves it: blobs, a snapshot of links to them, a branch that says the snapshot."""
    folder = hub / ("models--" + name.replace("/", "--"))
    for path, source in files.items():
        blob = folder / "blobs" / f"{len(path)}{abs(hash(path))}"
        link = folder / "snapshots" / commit / path
        blob.parent.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        if source:
            shutil.copy(source, blob)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / branch).write_text(commit + "\n")
    return folder


def pulled(name, tag, source, store=HOME / ".ollama" / "models", owner="library", more=()):
    """As Ollama leaves it: a manifest of layers, of which one is the file of weights."""
    digest = "sha256:" + (name + tag).encode().hex().ljust(64, "0")
    layers = [{"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:00"}, *more]
    layers += [{"mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": 1}]
    manifest = store / "manifests" / "registry.ollama.ai" / owner / name / tag
    blob = store / "blobs" / digest.replace(":", "-")
    for path in (manifest, blob):
        path.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    if source:
        shutil.copy(source, blob)


FOLDER_MODEL = tiny_model.write_folder(FOLDER / "safetensors", seed=5, layers=2)
repository("tiny/one", {"tiny.gguf": TARGET, "mmproj-tiny.gguf": DRAFT})
repository("tiny/one", {"other.gguf": DRAFT}, "second", COMMITS[1])
repository("tiny/two", {"tiny-Q4_0.gguf": TARGET, "below/tiny-Q8_0.gguf": DRAFT})
repository("tiny/folder", {path.name: path for path in pathlib.Path(FOLDER_MODEL).iterdir()})
repository("tiny/broken", {"tiny.gguf": None})
pulled("tiny", "latest", TARGET)
pulled("tiny", "1b", DRAFT)
pulled("lost", "latest", None)
pulled("adapted", "latest", TARGET, more=[{"mediaType": "application/vnd.ollama.image.adapter", "digest": "sha256:01"}])
pulled("mine", "latest", DRAFT, owner="somebody")
STUDIO = HOME / ".lmstudio" / "models" / "somebody" / "tiny-GGUF"
STUDIO.mkdir(parents=True)
shutil.copy(TARGET, STUDIO / "tiny.gguf")


TWO = FOLDER / "two"
TWO.mkdir()
for one in (TARGET, DRAFT):
    shutil.copy(one, TWO)


class Models(ProgramTest):
    def ids(self, model, *more, **said):
        done = augur("generate", "-m", model, *PROMPT, *more, **said)
        self.assertEqual((0, ""), (done.returncode, done.stderr), model)
        return json.loads(done.stdout)["ids"]

    def fails(self, expected, model, **said):
        done = augur("generate", "-m", model, *PROMPT, **said)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"\Aaugur: error: [^\n]+\n\Z")
        for text in expected:
            self.assertIn(text, done.stderr)

    def test_a_name_is_the_file(self):
        target, draft, folder = (self.ids(path) for path in (TARGET, DRAFT, FOLDER_MODEL))
        self.assertEqual(3, len({tuple(each) for each in (target, draft, folder)}))
        for name in ("hf:tiny/one", "hf:tiny/one@main", "hf:tiny/one:tiny.gguf", "hf:tiny/one@012345", "hf:tiny/two:q4_0", "ollama:tiny",
                     "ollama:tiny:latest", "lmstudio:somebody/tiny-GGUF", "lmstudio:somebody/tiny-GGUF:tiny", STUDIO):  # fmt: skip
            self.assertEqual(target, self.ids(name), name)
        for name in ("hf:tiny/one@second", f"hf:tiny/one@{COMMITS[1]}", "hf:tiny/two:below/tiny-Q8_0.gguf", "ollama:tiny:1b", "ollama:somebody/mine"):
            self.assertEqual(draft, self.ids(name), name)
        self.assertEqual(folder, self.ids("hf:tiny/folder"))

    def test_a_draft_is_named_too(self):
        words = ("--prompt-ids", "5,6,7", "-n", 9, "--scheme", "sd", "--json")
        done = augur("generate", "-m", "hf:tiny/one", "--draft", "ollama:tiny:1b", *words)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        by_path = augur("generate", "-m", TARGET, "--draft", DRAFT, *words)
        self.assertEqual(*(json.loads(each.stdout)["ids"] for each in (by_path, done)))
        self.assertGreater(json.loads(done.stdout)["stages"][0]["drafted"], 0)

    def test_where_the_caches_are(self):
        elsewhere = FOLDER / "elsewhere"
        repository("tiny/one", {"tiny.gguf": DRAFT}, hub=elsewhere / "hub")
        repository("tiny/one", {"tiny.gguf": DRAFT}, hub=elsewhere / "huggingface" / "hub")
        pulled("tiny", "latest", DRAFT, store=elsewhere)
        draft = self.ids(DRAFT)
        for name, value in (("HF_HUB_CACHE", elsewhere / "hub"), ("HF_HOME", elsewhere), ("XDG_CACHE_HOME", elsewhere)):
            self.assertEqual(draft, self.ids("hf:tiny/one", **{name: str(value)}), name)
        self.assertEqual(draft, self.ids("ollama:tiny", OLLAMA_MODELS=str(elsewhere)))

    def test_what_is_not_there(self):
        self.fails(["hf:no/where", "models--no--where is not there", "'hf download no/where' brings it"], "hf:no/where")
        self.fails(["has no revision", "other", "--revision other' brings it"], "hf:tiny/one@other")
        self.fails(["tiny-Q4_0.gguf", "below/tiny-Q8_0.gguf", "2", "name one"], "hf:tiny/two")
        self.fails(["named", "q5", "tiny-Q4_0.gguf", "'hf download tiny/two q5' brings it"], "hf:tiny/two:q5")
        self.fails(["not whole", "no model", "'hf download tiny/broken'"], "hf:tiny/broken")
        self.fails(["OWNER/NAME", "'hf:'"], "hf:tiny")
        for name in ("hf:../..", "hf:tiny/..", "ollama:..", "ollama:tiny:../../x", "lmstudio:a/b/c"):
            self.fails(["letters, digits"], name)
        self.fails(["'ollama pull nothing:3b' brings it"], "ollama:nothing:3b")
        self.fails(["sha256-", "is not there"], "ollama:lost")
        self.fails(["adapter"], "ollama:adapted")
        self.fails(["'lms get a/b' brings it"], "lmstudio:a/b")
        self.fails(["cannot", "nothing.gguf"], "nothing.gguf")
        self.fails(["config.json is missing, and there are 2 GGUF models: ", "target.gguf", "draft.gguf", "name one"], TWO)

    def test_the_list(self):
        done = augur("models", "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        found = {each["model"]: each for each in json.loads(done.stdout)["models"]}
        names = {"hf:tiny/one:tiny.gguf", "hf:tiny/two:tiny-Q4_0.gguf", "hf:tiny/two:below/tiny-Q8_0.gguf", "hf:tiny/folder", "ollama:tiny:latest",
                 "ollama:tiny:1b", "ollama:somebody/mine:latest", "lmstudio:somebody/tiny-GGUF:tiny.gguf"}  # fmt: skip
        self.assertEqual(names | {"ollama:lost:latest", "ollama:adapted:latest"}, set(found))
        for name in names:
            self.assertEqual(("augur", "llama", ""), (found[name]["engine"], found[name]["architecture"], found[name]["reason"]))
            self.assertEqual(self.ids(name), self.ids(found[name]["path"]))
        self.assertEqual(pathlib.Path(TARGET).stat().st_size, found["ollama:tiny:latest"]["bytes"])
        self.assertIn("not there", found["ollama:lost:latest"]["reason"])
        shown = augur("models").stdout
        for name in found:
            self.assertIn(name, shown)
        self.assertIn("nothing here: ", shown)
        (FOLDER / "mine").mkdir()
        (FOLDER / "mine" / "damaged.gguf").write_bytes(b"GGUF")
        listed = json.loads(augur("models", FOLDER / "mine", "--json", HOME=str(FOLDER / "nobody")).stdout)["models"]
        self.assertEqual([("", str(FOLDER / "mine" / "damaged.gguf"))], [(each["engine"], each["path"]) for each in listed])
        nothing = augur("models", HOME=str(FOLDER / "nobody"))
        self.assertEqual((0, ""), (nothing.returncode, nothing.stdout))
        self.assertIn("there is no model", nothing.stderr)


if __name__ == "__main__":
    unittest.main()
