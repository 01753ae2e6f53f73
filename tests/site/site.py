#!/usr/bin/env python3
"""The site of docs/: it builds without a warning, its links and anchors lead somewhere, and it loads nothing over a network.

What needs MkDocs is skipped, aloud, where there is none; exit code 77.
"""

import html.parser
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
import build  # noqa: E402

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
UNLOADED = {"canonical", "prev", "next"}  # links in a head that only say something


class Page(html.parser.HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.names, self.blocks = [], [], set(), 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.names.update(of[key] for key in ("id", "name") if of.get(key))
        self.blocks += tag == "pre"
        for key, value in attributes:
            if (tag, key) in LOADED and of.get("rel") not in UNLOADED:
                self.loads.append(value)
            elif (tag, key) == ("a", "href"):
                self.links.append(value)


class Staged(unittest.TestCase):
    def test_links_out_of_docs_become_pages_and_code_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            stage = build.Stage(pathlib.Path(folder))
            text = "[engine](../examples/own_engine.cpp) [here](concepts.md#a) [far](https://x.y)\n```cpp\na[1](concepts.md);\n```\n"
            page = stage.rewritten(text, build.DOCS / "program.md", pathlib.PurePath("program.md"))
            self.assertEqual(text.replace("../examples/own_engine.cpp", "repository/examples/own_engine.cpp.md"), page)
            shown = pathlib.Path(folder, "repository/examples/own_engine.cpp.md").read_text(encoding="utf-8")
            self.assertIn((ROOT / "examples" / "own_engine.cpp").read_text(encoding="utf-8").rstrip(), shown)

    def test_a_link_to_nothing_is_an_error_with_its_page(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(build.BuildError, "docs/program.md.*examples/gone.cpp"):
            build.Stage(pathlib.Path(folder)).rewritten("[x](../examples/gone.cpp)", build.DOCS / "program.md", pathlib.PurePath("program.md"))

    def test_a_folder_in_nav_stands_for_its_pages_the_concept_first(self):
        nav = build.expanded((build.SITE / "mkdocs.yml").read_text(encoding="utf-8"))
        self.assertLess(nav.index("policy/concept.md"), nav.index("policy/confidence_stop.md"))
        self.assertNotIn("policy/]", nav)

    def test_a_page_without_a_place_is_an_error_with_its_name(self):
        with self.assertRaisesRegex(build.BuildError, "docs/site/mkdocs.yml: .*accept/exact.md"):
            build.expanded("nav:\n  - Home: index.md\n")


@unittest.skipUnless(shutil.which("mkdocs"), "no mkdocs: apt-get install mkdocs-material")
class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name).resolve() / "site"
        command = [sys.executable, "-B", ROOT / "docs" / "site" / "build.py", "--output", cls.root]
        cls.run_of = subprocess.run(command, capture_output=True, text=True, check=False)
        cls.pages = {path: Page(path) for path in cls.root.rglob("*.html")}

    def test_it_builds_without_a_warning(self):
        self.assertEqual(0, self.run_of.returncode, self.run_of.stderr[-2000:])
        self.assertNotRegex(self.run_of.stderr, r"(?m)^(WARNING|ERROR)")

    def test_each_page_of_docs_is_there(self):
        for page in build.DOCS.rglob("*.md"):
            if page.name != "_template.md" and not page.is_relative_to(build.SITE):
                self.assertTrue((self.root / page.relative_to(build.DOCS).with_suffix("") / "index.html").is_file(), page)

    def target_of(self, page, link):
        path = urllib.parse.unquote(urllib.parse.urlsplit(link).path)
        place = page if not path else (self.root / path.lstrip("/") if path.startswith("/") else page.parent / path)
        place = place.resolve()
        return place / "index.html" if place.is_dir() else place

    def test_links_and_anchors_lead_somewhere(self):
        wrong = []
        for page, of in self.pages.items():
            for link in of.links + of.loads:
                parts = urllib.parse.urlsplit(link)
                if parts.scheme or page.name == "404.html":
                    continue
                target = self.target_of(page, link)
                if not target.exists():
                    wrong.append(f"{page.relative_to(self.root)} links to {link}")
                elif parts.fragment and target in self.pages and parts.fragment not in self.pages[target].names:
                    wrong.append(f"{page.relative_to(self.root)}: no anchor {link}")
        self.assertEqual([], sorted(set(wrong)))

    def test_nothing_is_loaded_over_a_network(self):
        loads = [f"{page.name}: {link}" for page, of in self.pages.items() for link in of.loads if urllib.parse.urlsplit(link).netloc]
        self.assertEqual([], loads)
        for sheet in self.root.rglob("*.css"):
            self.assertNotRegex(sheet.read_text(encoding="utf-8"), r"url\([\"']?(https?:)?//")

    def test_code_and_pictures_are_shown(self):
        tutorial = self.pages[self.root / "tutorial" / "index.html"]
        self.assertGreaterEqual(tutorial.blocks, 14)
        home = self.pages[self.root / "index.html"]
        self.assertEqual(3, sum(link.endswith(".svg") for link in home.loads))

    def test_it_can_be_searched(self):
        index = (self.root / "search" / "search_index.json").read_text(encoding="utf-8")
        self.assertIn("rejection_sampling", index)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else build.SKIPPED if result.skipped else 0)
