#!/usr/bin/env python3
"""Builds the site of docs/ with MkDocs, strictly: a warning is an error.

    docs/site/build.py [--output build/site] [--serve]

MkDocs and its theme: apt-get install mkdocs-material, or pip install -r docs/site/requirements.txt. Exit code 77 where
they are missing. The pages are copied aside first, since MkDocs takes no settings that lie among its pages. What they
link to outside of docs/ becomes a page too: sources are shown, highlighted. Pages of a folder need no list: see `nav`.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SITE = pathlib.Path(__file__).resolve().parent
DOCS = SITE.parent
ROOT = DOCS.parent
SKIPPED = 77
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cu": "cpp", ".cuh": "cpp", ".py": "python", ".sh": "bash", ".txt": "cmake", ".md": "markdown"}


class BuildError(Exception):
    pass


def outside_code(text, change):
    """The text with `change` made in all that is not in a fenced block."""
    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


class Stage:
    """A folder of pages for MkDocs: docs/, and what it links to in the repository."""

    def __init__(self, folder):
        self.folder = folder
        self.shown = {}  # by path in the repository its page

    def place_of(self, target, page):
        """Where the staged page that a link leads to lies, or None for files that are copied as they are."""
        path = (page.parent / target).resolve()
        if path.is_relative_to(SITE) and path.suffix == ".md":
            return pathlib.PurePath("index.md")
        if path.is_relative_to(DOCS):
            if path.is_dir():
                first = path / "concept.md"
                return pathlib.PurePath((first if first.exists() else sorted(path.glob("*.md"))[0]).relative_to(DOCS))
            return pathlib.PurePath(path.relative_to(DOCS))
        inside = path.relative_to(ROOT)
        if not path.exists():
            raise BuildError(f"{page.relative_to(ROOT)} links to {inside}, which is not there")
        if path.is_dir():
            raise BuildError(f"{page.relative_to(ROOT)} links to the folder {inside}, which has no page")
        if inside.suffix == ".md":
            place = pathlib.PurePath("repository", inside)
        else:
            place = pathlib.PurePath("repository", f"{inside}.md")
        if inside not in self.shown:
            self.shown[inside] = place
            self.show(path, place)
        return place

    def rewritten(self, text, page, place):
        def link(found):
            if re.match(r"[a-z]+:", found[2]):
                return found[0]
            to = self.place_of(found[2], page)
            return found[1] + os.path.relpath(to, place.parent).replace(os.sep, "/") + found[3]

        return outside_code(text, lambda part: LINK.sub(link, part))

    def write(self, place, text):
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def show(self, path, place):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            self.write(place, self.rewritten(text, path, place))
        else:
            fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
            language = LANGUAGES.get(path.suffix, "text")
            self.write(place, f"# {path.relative_to(ROOT)}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n")

    def fill(self):
        for path in sorted(DOCS.rglob("*")):
            place = pathlib.PurePath(path.relative_to(DOCS))
            if path.is_dir() or path.name == "_template.md" or "__pycache__" in place.parts:
                continue
            if path.is_relative_to(SITE):
                if path.suffix == ".css":
                    self.write(place, path.read_text(encoding="utf-8"))
            elif path.suffix == ".md":
                self.write(place, self.rewritten(path.read_text(encoding="utf-8"), path, place))
            elif path.suffix == ".svg":
                self.write(place, path.read_text(encoding="utf-8"))
        home = SITE / "index.md"
        self.write(pathlib.PurePath("index.md"), self.rewritten(home.read_text(encoding="utf-8"), home, pathlib.PurePath("index.md")))


def pages_of(folder):
    pages = sorted(path for path in (DOCS / folder).glob("*.md"))
    return sorted(pages, key=lambda path: path.stem != "concept")


def expanded(settings):
    """`settings` with folders in its nav replaced by their pages; every page has to be there."""
    named, lines = {"index.md"}, []

    def entry(indent, path):
        named.add(path.relative_to(DOCS).as_posix())
        lines.append(f"{indent}- {path.relative_to(DOCS).as_posix()}")

    for line in settings.splitlines():
        inline = re.fullmatch(r"(\s*)- (.+): \[((?:\w+/(?:, )?)+)\]", line)
        folder = re.fullmatch(r"(\s*)- (\w+/)", line)
        single = re.fullmatch(r"\s*- (?:[^:]+: )?([\w/]+\.md)", line)
        if inline:
            lines.append(f"{inline[1]}- {inline[2]}:")
            for each in inline[3].split(", "):
                for path in pages_of(each):
                    entry(inline[1] + "    ", path)
        elif folder:
            for path in pages_of(folder[2]):
                entry(folder[1], path)
        else:
            if single:
                named.add(single[1])
            lines.append(line)
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.name != "_template.md" and not path.is_relative_to(SITE)}
    if missing := sorted(there - named):
        raise BuildError(f"no place in nav of docs/site/mkdocs.yml: {', '.join(missing)}")
    return "\n".join(lines)


def build(output, serve):
    with tempfile.TemporaryDirectory() as temporary:
        stage = pathlib.Path(temporary)
        Stage(stage / "pages").fill()
        settings = expanded((SITE / "mkdocs.yml").read_text(encoding="utf-8"))
        settings += f"\ndocs_dir: {stage / 'pages'}\nsite_dir: {output.resolve()}\n"
        (stage / "mkdocs.yml").write_text(settings, encoding="utf-8")
        command = ["mkdocs", "serve" if serve else "build", "--strict", "--config-file", str(stage / "mkdocs.yml")]
        return subprocess.run(command, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "site", help="%(default)s")
    parser.add_argument("--serve", action="store_true", help="show it on this machine while it is written")
    chosen = parser.parse_args()
    if not shutil.which("mkdocs"):
        print("build.py: no mkdocs: apt-get install mkdocs-material", file=sys.stderr)
        return SKIPPED
    try:
        return build(chosen.output, chosen.serve)
    except BuildError as problem:
        print(f"build.py: error: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
