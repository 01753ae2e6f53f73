#!/usr/bin/env python3
"""What holds for the tree as a whole, whoever adds to it. One class, one ctest entry; there are no exceptions to list."""

import graphlib
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include" / "augur").rglob("*.hpp"))
WITH_DEPENDENCIES = re.compile(r"(encoder|engines|train|io|llama|(backend|decode)/device)/")  # the folders of the other targets
COMPILER_OR_SYSTEM = {"arm_neon.h", "cpuid.h", "immintrin.h", "pthread.h", "sys/auxv.h", "sys/mman.h", "sys/syscall.h",
                      "sys/sysctl.h", "unistd.h"}  # what comes with the compiler and the C library, and is asked for


def tree():
    """Every file of the repository: what git tracks, or in an unpacked archive what is there."""
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, check=False)
    if listing.returncode == 0 and listing.stdout:
        files = [ROOT / name for name in os.fsdecode(listing.stdout).split("\0") if name]
    else:
        left_out = re.compile(r"build|\.git$|\.cache$")
        files = [path for path in ROOT.rglob("*") if not left_out.match(path.relative_to(ROOT).parts[0])]
    return sorted(path for path in files if path.is_file())


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def name(path):
    return path.relative_to(ROOT).as_posix()


def own_includes():
    """By header below include/augur, which others there it includes."""
    root = ROOT / "include" / "augur"
    headers = [*HEADERS, *sorted(root.rglob("*.inc"))]
    pattern = re.compile(r'^\s*#\s*include\s*[<"]augur/([^>"]+)[>"]', re.MULTILINE)
    return {path.relative_to(root).as_posix(): pattern.findall(path.read_text(encoding="utf-8")) for path in headers}


def cycle_of_folders(includes, folder_of):
    """For each step of a cycle one include that makes it, or nothing where there is no cycle. Umbrellas lie in no folder."""
    steps = {}
    for header, others in includes.items():
        for other in others:
            edge = folder_of(header), folder_of(other)
            if all(edge) and edge[0] != edge[1]:
                steps.setdefault(edge, f"{header} includes {other}")
    sorter = graphlib.TopologicalSorter()
    for folder, other in steps:
        sorter.add(folder, other)
    try:
        sorter.prepare()
    except graphlib.CycleError as found:
        cycle = found.args[1][::-1]  # it names each folder after one that it is needed by
        return [steps[edge] for edge in zip(cycle, cycle[1:])]
    return []


def top_folder(header):
    return header.partition("/")[0] if "/" in header else ""


class House(unittest.TestCase):
    maxDiff = None

    def assertNothing(self, offenders):
        self.assertEqual([], sorted(offenders))


class Headers(House):
    def test_there_are_headers(self):
        self.assertTrue(HEADERS)

    def test_each_is_guarded_and_says_what_it_is_for(self):
        """`#pragma once` first, then a comment. (What is meant to be included several times is no header: *.inc.)"""
        self.assertNothing(
            name(path) for path in HEADERS if lines_of(path)[0] != "#pragma once" or not lines_of(path)[1].startswith("//")
        )

    def test_none_is_long(self):
        self.assertNothing(f"{name(path)}: {len(lines_of(path))} lines" for path in HEADERS if len(lines_of(path)) > 350)

    def test_braces_with_designators_are_not_assigned_without_their_type(self):
        """nvcc (13.0) loses the names where the left side depends on a template's parameter: `x.seconds = {.draft = d}` then sets
        the first member. A declaration, an argument and `x.seconds = time_spent{.draft = d}` keep them."""
        assigned = re.compile(r"^\s*[\w.>()\[\]-]+ = \{\s*\.\w", re.MULTILINE)
        self.assertNothing(name(path) for path in HEADERS if assigned.search(path.read_text(encoding="utf-8")))

    def test_core_needs_only_the_standard_library(self):
        """augur::augur includes nothing of Eigen, CUDA, nlohmann or PCRE2, nor the folders that do."""
        offenders = []
        for path in HEADERS:
            if WITH_DEPENDENCIES.match(path.relative_to(ROOT / "include" / "augur").as_posix()):
                continue
            for line in lines_of(path):
                include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
                if not include:
                    continue
                own = re.match(r"augur/(.*)", include[1])
                standard = re.fullmatch(r"[a-z_0-9]+", include[1]) or include[1] in COMPILER_OR_SYSTEM
                if not (standard or (own and not WITH_DEPENDENCIES.match(own[1]))):
                    offenders.append(f"{name(path)} includes {include[1]}")
        self.assertNothing(offenders)


class Folders(House):
    def test_none_includes_one_that_includes_it(self):
        """Neither among directories nor among those right below include/augur, whatever lies in them."""
        self.assertEqual([], cycle_of_folders(own_includes(), os.path.dirname))
        self.assertEqual([], cycle_of_folders(own_includes(), top_folder))

    def test_includes_are_read(self):
        includes = own_includes()
        self.assertIn("accept/walk.hpp", includes["decode/step.hpp"])
        self.assertIn("backend/host/kernels.inc", includes["backend/host/compiled_kernels.hpp"])

    def test_a_cycle_is_noticed(self):
        straight = {"augur.hpp": ["accept/b.hpp"], "draft/a.hpp": ["draft/c.hpp", "accept/b.hpp"], "accept/b.hpp": ["types/d.hpp"]}
        self.assertEqual([], cycle_of_folders(straight, top_folder))
        back = straight | {"types/e.hpp": ["draft/c.hpp"]}
        self.assertEqual(
            ["accept/b.hpp includes types/d.hpp", "draft/a.hpp includes accept/b.hpp", "types/e.hpp includes draft/c.hpp"],
            sorted(cycle_of_folders(back, top_folder)),
        )

    def test_a_cycle_of_rooms_inside_one_folder_is_told_from_one_of_folders(self):
        inside = {"backend/host/a.hpp": ["backend/device/b.hpp"], "backend/device/c.hpp": ["backend/host/d.hpp"]}
        self.assertEqual(2, len(cycle_of_folders(inside, os.path.dirname)))
        self.assertEqual([], cycle_of_folders(inside, top_folder))
        between = {"backend/device/a.hpp": ["decode/b.hpp"], "decode/device/c.hpp": ["backend/host/d.hpp"]}
        self.assertEqual([], cycle_of_folders(between, os.path.dirname))
        self.assertEqual(2, len(cycle_of_folders(between, top_folder)))


    def test_their_drawing_is_of_these_includes(self):
        import folders  # which needs this module

        self.assertTrue(folders.drawn(own_includes()) == folders.DRAWING.read_text(encoding="utf-8"), "run tests/house/folders.py")

    def test_an_arrow_is_drawn_where_no_way_through_others_is(self):
        import folders

        includes = {"draft/a.hpp": ["accept/b.hpp", "types/d.hpp", "draft/c.hpp"], "accept/b.hpp": ["types/d.hpp"], "augur.hpp": ["draft/a.hpp"]}
        edges = folders.edges_of(includes)
        self.assertEqual({("draft", "accept"), ("draft", "types"), ("accept", "types")}, edges)
        self.assertEqual({("draft", "accept"), ("accept", "types")}, folders.reduced(edges))
        with self.assertRaisesRegex(KeyError, "WHAT is not of these folders: .*elsewhere"):
            folders.drawn({"elsewhere/a.hpp": ["types/b.hpp"]})


class Concepts(House):
    PAGE = ROOT / "include" / "augur" / "concepts.hpp"

    def stated(self):
        """By concept of the core the header that states it, but for those of detail."""
        core = [path for path in HEADERS if not re.match(WITH_DEPENDENCIES.pattern + r"|(detail|backend|testing)/", self.below(path))]
        return {found: self.below(path) for path in core for found in re.findall(r"^ *concept (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)}

    def listed(self):
        """By concept the header under which concepts.hpp lists it."""
        header, found = "", {}
        for line in lines_of(self.PAGE):
            if match := re.match(r"//   ([a-z_/]+\.hpp)$", line):
                header = match[1]
            elif match := re.match(r"//     +([A-Z]\w+)  ", line):
                found[match[1]] = header
        return found

    @staticmethod
    def below(path):
        return path.relative_to(ROOT / "include" / "augur").as_posix()

    def test_each_is_listed_with_the_header_that_states_it(self):
        stated = self.stated()
        self.assertNothing(f"{each}: {header}, not {stated.get(each)}" for each, header in self.listed().items() if stated.get(each) != header)

    def test_all_that_pages_and_examples_spell_are_listed(self):
        """In code: between backticks, in a block, in an example."""
        code = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.cpp"))]
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            text = page.read_text(encoding="utf-8")
            code += re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
            code += re.findall(r"`[^`\n]+`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
        spelt = set(re.findall(r"(?<![\w/])[A-Z]\w+", "\n".join(code)))
        self.assertNothing(spelt & set(self.stated()) - set(self.listed()))

    def test_it_includes_what_states_them_and_no_header_twice(self):
        includes = own_includes()

        def reach(header):
            found, unread = set(), [header]
            while unread:
                new = set(includes[unread.pop()]) - found
                found |= new
                unread += new
            return found

        wanted = set(self.listed().values())
        self.assertEqual(sorted(wanted - {each for header in wanted for each in reach(header)}), sorted(includes["concepts.hpp"]))


class Mirrors(House):
    def test_who_guesses_how_far_and_what_is_kept_have_a_test_and_a_page(self):
        """What users spell has a page by its name. What these are made of has its comment, and a link from their page."""
        link, linked = re.compile(r"\]\(([^)#\s]+\.hpp)\)"), set()
        for page in sorted((ROOT / "docs").glob("*/*.md")):
            if page.parent.name != "systems":  # those link to all that a paper's line is met by
                linked.update((page.parent / target).resolve() for target in link.findall(page.read_text(encoding="utf-8")))
        offenders = []
        for folder in ("accept", "draft", "policy", "scheme", "switching"):
            for header in sorted((ROOT / "include" / "augur" / folder).glob("*.hpp")):
                test, page = f"tests/{folder}/{header.stem}.cpp", f"docs/{folder}/{header.stem}.md"
                if not (ROOT / test).is_file():
                    offenders.append(f"{name(header)} has no {test}")
                if not (ROOT / page).is_file() and header not in linked:
                    offenders.append(f"{name(header)} has no {page}, and no page of what users spell links to it")
        self.assertNothing(offenders)

    def test_no_page_says_only_that_there_is_nothing_to_say(self):
        """Of a name without parameters that nobody else described first, the comment of the header says enough."""
        offenders = []
        for page in sorted((ROOT / "docs").glob("*/*.md")):
            text = page.read_text(encoding="utf-8")
            if re.search(r"^## Parameters\nNone\.$", text, re.MULTILINE) and re.search(r"^## Source\nOurs\.$", text, re.MULTILINE):
                offenders.append(name(page))
        self.assertNothing(offenders)

    def test_their_pages_say_what_is_guaranteed_what_it_costs_and_where_it_comes_from(self):
        """The parts of docs/_template.md that nobody should have to ask for."""
        offenders = []
        for folder in ("accept", "draft", "policy", "scheme", "switching"):
            for page in sorted((ROOT / "docs" / folder).glob("*.md")):
                text = page.read_text(encoding="utf-8")
                parts = ["Guarantee", "Cost", "Source"] if page.stem != "concept" else ["Guarantee"]
                offenders += [f"{name(page)} has no part {part}" for part in parts if not re.search(rf"^## {part}", text, re.MULTILINE)]
                if page.stem != "concept" and "```cpp" not in text:
                    offenders.append(f"{name(page)} shows no composition")
        self.assertNothing(offenders)

    def test_a_test_includes_its_header_first(self):
        """In quotes clang-format recognizes it and keeps it there. (That a header needs nothing before it is shown by compiling each alone.)"""
        offenders = []
        for test in sorted((ROOT / "tests").rglob("*.cpp")):
            own = f"augur/{test.relative_to(ROOT / 'tests').with_suffix('.hpp').as_posix()}"
            first = re.search(r'^#include ["<](.*)[">]', test.read_text(encoding="utf-8"), re.MULTILINE)
            if (ROOT / "include" / own).is_file() and (not first or first[1] != own):
                offenders.append(f'{name(test)} does not include "{own}" first')
        self.assertNothing(offenders)


class Text(House):
    def test_no_file_knows_where_somebody_works(self):
        absolute = re.compile(rb"(?<![\w.$}~])/(?:home|root|work|Users)/\w")
        offenders = []
        for path in tree():
            content = path.read_bytes()
            if b"\0" not in content and (found := absolute.search(content)):
                offenders.append(f"{name(path)}: {found[0].decode()}...")
        self.assertNothing(offenders)

    def test_links_of_pages_lead_to_files(self):
        link = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
        offenders = []
        for page in tree():
            if page.suffix == ".md" and page.name != "_template.md":
                for target in link.findall(page.read_text(encoding="utf-8")):
                    if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                        offenders.append(f"{name(page)} links to {target}")
        self.assertNothing(offenders)

    def test_pages_of_systems_name_what_is_there(self):
        """What a link says is in the file that it leads to: a test or a name of the library; else it has a space."""
        link = re.compile(r"\[`?([^\]\s`]+)`?\]\(([^)#\s]+)\)")
        offenders = []
        for page in [*sorted((ROOT / "docs" / "systems").glob("*.md")), ROOT / "docs" / "glossary.md"]:
            for text, target in link.findall(page.read_text(encoding="utf-8")):
                path = page.parent / target
                if path.suffix in (".hpp", ".cpp", ".py") and text not in path.read_text(encoding="utf-8"):
                    offenders.append(f"{name(page)} links to {target} for {text}, which is not in it")
        self.assertNothing(offenders)

    def test_pages_list_the_architectures_that_are_read(self):
        table = (ROOT / "include/augur/llama/architectures.hpp").read_text(encoding="utf-8")
        names = set(re.findall(r'\.(?:gguf|model_type) = "([\w-]+)"', table))
        self.assertGreater(len(names), 12)
        page = (ROOT / "docs/llama/host.md").read_text(encoding="utf-8")
        self.assertEqual([name for name in names if f"`{name}`" not in page], [])
        row, on_a_device = next(line for line in lines_of(ROOT / "README.md") if line.startswith("|Llama, ")).split("|")[1:3]
        front = row.lower().replace(" ", "").split("[")[0].replace("(text)", "_text").replace("(moe)", "_moe").replace("-", "_").rstrip(":").split(",")
        self.assertEqual(set(front) - names, set())
        self.assertEqual(set(re.findall(r'\.model_type = "(\w+)"', table)) - set(front), set())
        entries = re.findall(r"\{\.gguf.*?\}", table, re.DOTALL)
        refused = [re.search(r'\.model_type = "(\w+)"', each)[1] for each in entries if ".layer_norms = true" in each]
        self.assertTrue(refused and any("expert_rule::always" in each for each in entries))
        self.assertEqual([name for name in refused if name not in on_a_device.lower().replace(" ", "")], [])
        self.assertIn("mixtures", on_a_device)

    def test_pages_list_the_formats_and_the_drafts_that_are_read(self):
        read = {path: (ROOT / "include/augur" / path).read_text(encoding="utf-8")
                for path in ("io/files/tensor.hpp", "llama/published_heads.hpp", "llama/published_eagle.hpp")}  # fmt: skip
        formats = set(re.findall(r'return \{"(\w+)", \d+, \d+\};', read["io/files/tensor.hpp"])) - {"i32", "u8"}
        self.assertGreater(len(formats), 12)
        listed = [line.split("|")[1] for line in lines_of(ROOT / "docs/io/gguf.md") if re.match(r"\|[A-Z]\w+(, \w+)*\|\d+\|", line)]
        self.assertEqual({each.lower() for row in listed for each in row.split(", ")}, formats)
        kinds = set(re.findall(r'return "(\w+)";', read["llama/published_heads.hpp"]))
        for both in re.findall(r'is_eagle3_ \? "(\w+)" : "(\w+)"', read["llama/published_eagle.hpp"]):
            kinds.update(both)
        self.assertGreater(len(kinds), 3)
        row, _, not_read = next(line for line in lines_of(ROOT / "README.md") if line.startswith("|drafts ")).split("|")[1:4]
        named = [each.strip() for each in re.sub(r"^.*?published: |: \[.*$", "", row).split(",")]
        self.assertEqual(kinds - {each.lower().replace("-", "") for each in named}, set())
        page = (ROOT / "docs/llama/draft_checkpoints.md").read_text(encoding="utf-8").replace("EAGLE-1 and -2", "EAGLE, EAGLE-2")
        self.assertEqual([each for each in named if each not in page], [])
        for variant in re.findall(r"(\w+\+\+)", read["llama/published_heads.hpp"]):
            self.assertTrue(variant in named and variant not in not_read, variant)

    def test_files_and_tests_that_pages_name_are_there(self):
        """`tests/x.cpp` and its like, and names as long as those of test cases are."""
        path = re.compile(r"`((?:include/augur|tests|benchmarks|examples|docs)/[\w./-]+\.\w+)`")
        word = r"(?:[a-z0-9]+_){4,}[a-z0-9]+"
        case, known = re.compile(rf"`({word})`"), set()
        for source in tree():
            if source.suffix in (".hpp", ".cpp", ".inc", ".cu", ".py"):
                known.update([source.stem, *re.findall(word, source.read_text(encoding="utf-8"))])
        offenders = []
        for page in tree():
            if page.suffix == ".md" and page.name != "CHANGELOG.md":
                text = page.read_text(encoding="utf-8")
                offenders += [f"{name(page)} names {p}" for p in path.findall(text) if not (ROOT / p).exists()]
                offenders += [f"{name(page)} names {c}" for c in case.findall(text) if c not in known]
        self.assertNothing(offenders)

    def test_prose_has_lines_of_at_most_120_columns(self):
        """Comments that are lines of their own, and pages beside their tables, code and addresses."""
        offenders = []
        for path in tree():
            if path.suffix in (".hpp", ".cpp", ".inc", ".cu", ".cuh"):
                lines = [(i, line) for i, line in enumerate(lines_of(path), 1) if line.lstrip().startswith("//")]
            elif path.suffix == ".md":
                text = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), path.read_text(encoding="utf-8"),
                              flags=re.MULTILINE | re.DOTALL)
                lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if not line.startswith("|")]
            else:
                continue
            offenders += [f"{name(path)}:{i} has {len(line)} columns" for i, line in lines
                          if len(line) > 120 and len(line.split()) > 3]
        self.assertNothing(offenders)

    def test_prose_speaks_the_fields_language(self):
        """Wordings that were mended once, in pages and comments, with what to write. Strings and names are not looked at."""
        refused = {
            r"\b(?:may|can|must) stand(?! (?:for|in|beside|alone|behind))\b": "is accepted",
            r"\btokens? (?:that )?(?:stood|stands?)\b(?! for| in| before| beside| behind| out)": "is accepted",
            r"\bif none of it stood\b": "were accepted",
            r"\bdrafts? stands?\b(?! for)": "is accepted",
            r"\b(?:is|are|was|were) played\b": "emulated",
            r"\bmistakes? (?:is|are|was|were)? ?noticed\b": "mutants are killed",
            r"\btold apart\b": "distinguished",
            r"\b(?:hands?|handed) (?:\w+ )?up\b": "proposes",
            r"\bgo(?:es)? up (?:with|as)\b": "is proposed with",
            r"\bminutes are spent\b": "reported early",
            r"\bstaked that was not won\b": "spends accumulated savings",
            r"\bto and fro\b": "oscillates",
        }
        offenders = []
        for path in tree():
            if path.suffix in (".hpp", ".cpp", ".inc", ".cu", ".cuh"):
                text = " ".join(line.strip(" /") for line in lines_of(path) if line.lstrip().startswith("//"))
            elif path.suffix == ".md" and path.name != "CHANGELOG.md":
                text = " ".join(re.sub(r"^```.*?^```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL).split())
            else:
                continue
            for pattern, instead in refused.items():
                offenders += [f"{name(path)}: \"{found[0]}\"; write: {instead}" for found in re.finditer(pattern, text)]
        self.assertNothing(offenders)

    def test_nothing_is_put_off(self):
        marker = re.compile(rb"\b(?:TO" + rb"DO|FIX" + rb"ME|XX" + rb"X)\b")
        self.assertNothing(name(path) for path in tree() if b"\0" not in path.read_bytes() and marker.search(path.read_bytes()))


class Figures(House):
    """What figures.py checks, and that it does."""

    def test_each_headline_figure_is_what_was_measured(self):
        import figures

        self.assertNothing(figures.check())

    def test_a_number_that_differs_is_noticed(self):
        import figures

        docs, chart = ROOT / "docs", {"in": "charts/data/eaad_bins.json", "row": "all"}
        figure = {"says": "from {} to {} of them", "are": [chart | {"as": "most"}, chart | {"as": "least", "times": 100}]}
        self.assertEqual([], figures.wrong_figures("it is from 0.98\nto 26 of them", figure, docs))
        self.assertEqual(['"from {} to {} of them" says 0.97, and charts/data/eaad_bins.json 0.98'],
                         figures.wrong_figures("from 0.97 to 26.0 of them", figure, docs))
        self.assertEqual(['"from {} to {} of them" is there 0 times'], figures.wrong_figures("from 0.98 to 26 of all", figure, docs))
        table = {"table": "texts", "in": "measurements/data/learning_shift_exit.json", "heading": "**A shift of domain**"}
        page = (docs / "measurements/learning.md").read_text(encoding="utf-8")
        self.assertEqual([], figures.wrong_table(page, table, docs))
        changed = page.replace("|0.14|0.10|0.13|0.13|0.12|6228|", "|0.14|0.10|0.13|0.13|0.21|6228|")
        self.assertEqual(2, len(figures.wrong_table(changed, table, docs)))

    def test_what_is_made_of_numbers_is_what_it_is_called(self):
        import figures

        docs = ROOT / "docs"
        chart = {"in": "charts/data/eaad_bins.json", "row": "all"}  # 0.98, 0.81, 0.63, 0.26
        self.assertEqual([0.81, 0.26], figures.numbers_of(docs, chart | {"but": ["below 0.5", "below 2.5"]}))
        for made, value in (("count", 4), ({"at least": 0.63}, 3), ("geometric mean", (0.98 * 0.81 * 0.63 * 0.26) ** 0.25)):
            self.assertAlmostEqual(value, figures.value_of(docs, chart | {"as": made}))
        self.assertEqual(1, figures.value_of(docs, chart | {"each": chart, "as": "least"}))
        with self.assertRaisesRegex(figures.Wrong, "4 numbers are picked"):
            figures.value_of(docs, chart)
        self.assertTrue(figures.is_rounded("1.2", 1.2499) and figures.is_rounded("1,001", 1001) and not figures.is_rounded("1.2", 1.26))

    def test_a_figure_of_a_whole_page_without_a_source_is_noticed(self):
        import figures

        text = "C++20, CUDA 12.8, 135 million of 1.4 billion, `0.5`, [1.2 times](page-1.3.md): 2.3 times, **0.97** of 41 %\n```\n7 %\n```\n"
        self.assertEqual(["1.2", "2.3", "0.97", "41"], figures.without_source(text, [], ["C++20"]))
        self.assertEqual(["1.2", "0.97", "41"], figures.without_source(text, [{"says": "{} times, **"}], ["C++20"]))


class Release(House):
    def test_changes_project_and_header_name_one_version(self):
        """CHANGELOG.md's first section is the release that is being made, or the last one made."""
        text = {path: (ROOT / path).read_text(encoding="utf-8") for path in ("CHANGELOG.md", "CMakeLists.txt", "include/augur/version.hpp")}
        project = re.search(r"^project\(augur VERSION (\d+\.\d+\.\d+)", text["CMakeLists.txt"], re.MULTILINE)[1]
        header = re.search(r'string_view version = "([^"]*)";', text["include/augur/version.hpp"])[1]
        sections = re.findall(r"^## (.*)", text["CHANGELOG.md"], re.MULTILINE)
        self.assertEqual([project, project], [header, sections[0].removesuffix(", unreleased")])
        released = r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d"
        self.assertNothing(name for name in sections[1:] if not re.fullmatch(released, name))


class Format(House):
    def test_sources_are_formatted(self):
        formatter = shutil.which("clang-format-14") or shutil.which("clang-format")
        sources = [str(path) for path in tree() if path.suffix in (".cpp", ".hpp")]
        self.assertTrue(sources)
        run = subprocess.run(
            [formatter, "--dry-run", "--Werror", *sources], stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False
        )
        offenders = {pathlib.Path(found) for found in re.findall(r"^(.*?):\d+:\d+: error:", run.stderr, re.MULTILINE)}
        self.assertNothing(name(path) for path in offenders)
        self.assertEqual(0, run.returncode, run.stderr)


if __name__ == "__main__":
    unittest.main()
