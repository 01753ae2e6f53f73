#!/usr/bin/env python3
"""How mutate.py reads its list, changes a text and keeps its record. That mutants are killed is for mutate.py itself to say."""

import json
import pathlib
import re
import tempfile
import unittest

import mutate
import record


class Parse(unittest.TestCase):
    def test_blocks(self):
        first, second = mutate.parse("# why\n\na/b.hpp\n- x < y\n+ x <= y\n\n# more\n\nc.hpp\n- two\n- lines\n+\n= for a reason\n= of two lines\n")
        self.assertEqual(first, mutate.Mutant("a/b.hpp", "x < y", "x <= y"))
        self.assertEqual(second, mutate.Mutant("c.hpp", "two\nlines", "", "for a reason of two lines"))

    def test_what_is_not_understood_is_refused(self):
        for text in ("a.hpp\n* x\n", "a.hpp\n-x\n", "a.hpp\n+ x\n"):
            with self.assertRaises(mutate.Misfit):
                mutate.parse(text)


class Apply(unittest.TestCase):
    text = "int f(int x) {\n    return x <\n           1;\n}\nint g();\n"

    def test_white_space_is_any_white_space(self):
        changed = mutate.Mutant("f.hpp", "return x < 1;", "return x > 1;").apply(self.text)
        self.assertEqual(changed, "int f(int x) {\n    return x > 1;\n}\nint g();\n")

    def test_a_fragment_is_there_once(self):
        for fragment in ("int ", "absent"):
            with self.assertRaisesRegex(mutate.Misfit, "times, not once"):
                mutate.Mutant("f.hpp", fragment, "").apply(self.text)

    def test_the_difference_names_the_header(self):
        shown = mutate.Mutant("f.hpp", "int g();", "").difference(self.text)
        self.assertIn("--- f.hpp", shown)
        self.assertIn("-int g();", shown)


class Headers(unittest.TestCase):
    def test_a_test_includes_what_its_headers_and_its_helpers_include(self):
        found = mutate.headers_of(mutate.ROOT / "tests" / "conformance" / "cache.cpp")
        self.assertIn("policy/cost_aware.hpp", found)  # by a helper of these tests
        self.assertIn("model/cached_sequence.hpp", found)  # by another header
        self.assertNotIn("policy/cost_aware.hpp", mutate.headers_of(mutate.ROOT / "tests" / "accept" / "walk.cpp"))


class Recorded(unittest.TestCase):
    """Of four mutants: one killed by the test of its own folder, one by another, one that survived, and one equivalent."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "verdicts.txt"
        self.details = pathlib.Path(folder.name) / "made" / "results.json"
        self.page = self.path.with_name("page.md")
        self.page.write_text("a <!-- mutants -->x<!-- /mutants --> b\n<!-- mutants by folder --><!-- /mutants by folder -->\n")
        self.mutants = [mutate.Mutant("accept/exact.hpp", "a", "b"), mutate.Mutant("accept/exact.hpp", "a", "c")]
        self.mutants += [mutate.Mutant("types/token.hpp", "a", "b"), mutate.Mutant("types/token.hpp", "d", "", "for a reason")]
        self.exact = mutate.ROOT / "tests" / "accept" / "exact.cpp"
        self.step = mutate.ROOT / "tests" / "decode" / "step.cpp"

    def read(self, mutants=None):
        return record.Record(self.path, self.mutants if mutants is None else mutants, self.details)

    def judged(self):
        results = self.read()
        results.enter(self.mutants[0], self.exact, "fails", "0123456789ab")
        results.enter(self.mutants[1], self.step, "does not end", "0123456789ab")
        results.enter(self.mutants[2], None, "passes", "0123456789ab")
        return self.read()

    def test_without_a_file_nothing_is_judged(self):
        results = self.read()
        self.assertEqual(results.sentence(), "4 mutants: 0 killed, 0 survived, 1 equivalent, 3 not judged (none judged so far)")
        self.assertEqual([True, True, True, False], [results.stale(mutant) for mutant in self.mutants])

    def test_every_verdict_is_in_the_file_when_it_is_entered(self):
        first, second, third, fourth = json.loads(self.judged().details.read_text()).values()
        self.assertEqual((first["verdict"], first["test"], first["how"]), ("killed", "tests/accept/exact.cpp", "fails"))
        self.assertEqual((second["test"], second["commit"]), ("tests/decode/step.cpp", "0123456789ab"))
        self.assertRegex(first["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual((third["verdict"], "test" in third), ("survived", False))
        self.assertEqual(fourth, {"verdict": "equivalent"})

    def test_what_is_tracked_is_a_line_for_each_header(self):
        exact, token = self.judged().path.read_text().splitlines()
        day = r"\d{4}-\d\d-\d\d: [0-9a-f]{8}"
        self.assertRegex(exact, f"^accept/exact.hpp; accept/exact.cpp [0-9a-f]{{8}} {day}; decode/step.cpp [0-9a-f]{{8}} {day}$")
        self.assertRegex(token, f"^types/token.hpp; survived {day}$")

    def test_what_is_tracked_says_all_that_is_compared(self):
        said = self.judged()
        said.details.unlink()
        alone = self.read()
        self.assertEqual(said.table(), alone.table())
        self.assertEqual(said.sentence(), alone.sentence())
        for mutant in self.mutants:
            self.assertEqual((said.stale(mutant), said.killer(mutant)), (alone.stale(mutant), alone.killer(mutant)))
        self.assertNotIn("how", alone.of[record.identity(self.mutants[0])])

    def test_what_was_made_elsewhere_changes_no_verdict(self):
        text = self.judged().path.read_text()
        self.path.write_text(text.replace("accept/exact.cpp", "accept/walk.cpp"))
        self.assertEqual("tests/accept/walk.cpp", self.read().killer(self.mutants[0]))

    def test_a_line_that_is_not_understood_is_refused(self):
        self.path.write_text("accept/exact.hpp; accept/exact.cpp: 01234567\n")
        with self.assertRaisesRegex(record.Misfit, "accept/exact.cpp: 01234567' of accept/exact.hpp"):
            self.read()

    def test_what_was_judged_is_not_stale_unless_it_survived(self):
        results = self.judged()
        self.assertEqual([False, False, True, False], [results.stale(mutant) for mutant in self.mutants])
        self.assertEqual([self.exact.relative_to(mutate.ROOT).as_posix(), None], [results.killer(self.mutants[i]) for i in (0, 2)])

    def test_another_header_or_another_test_makes_it_stale(self):
        results = self.judged()
        results.of[record.identity(self.mutants[0])]["judged"] = record.digest("another header", "or another test")
        self.assertTrue(results.stale(self.mutants[0]))
        results.of[record.identity(self.mutants[1])]["test"] = "tests/decode/that_is_gone.cpp"
        self.assertTrue(results.stale(self.mutants[1]))
        ours = record.what_was_judged(self.mutants[0], self.exact)
        self.assertNotEqual(ours, record.what_was_judged(self.mutants[0], self.step))
        self.assertNotEqual(ours, record.what_was_judged(self.mutants[2], self.exact))

    def test_a_mutant_is_its_header_and_what_it_replaces(self):
        self.judged()
        moved = self.read([*reversed(self.mutants)])
        self.assertEqual(["equivalent", "survived", "killed", "killed"], [entry["verdict"] for entry in moved.of.values()])
        changed = self.read([mutate.Mutant("accept/exact.hpp", "a", "e"), mutate.Mutant("types/token.hpp", "a", "b", "a reason")])
        self.assertEqual(["not judged", "equivalent"], [entry["verdict"] for entry in changed.of.values()])
        spaced = self.read([mutate.Mutant("accept/exact.hpp", " a\n", "b")])
        self.assertEqual("killed", spaced.of[record.identity(self.mutants[0])]["verdict"])

    def test_the_same_mutant_twice_is_refused(self):
        with self.assertRaisesRegex(record.Misfit, "twice.*\n.*exact.hpp: a  =>  b"):
            self.read([self.mutants[0], self.mutants[0]])

    def test_sums(self):
        results = self.judged()
        self.assertRegex(results.sentence(), r"^4 mutants: 2 killed, 1 survived, 1 equivalent, 0 not judged \(judged on [-0-9]+\)$")
        self.assertIn("|accept|2|2|1|0|0|0|\n|types|2|0|0|1|1|0|\n|all|4|2|1|1|1|0|", results.table())
        results.of[record.identity(self.mutants[0])]["date"] = "2020-02-02"
        self.assertRegex(results.when(), "^judged from 2020-02-02 to 20")

    def test_a_page_states_what_the_record_says(self):
        results = self.judged()
        with self.assertRaisesRegex(record.Misfit, "page.md states other numbers"):
            record.check(results, [self.page])
        record.state(results, [self.page])
        record.check(results, [self.page])
        text = self.page.read_text()
        self.assertIn(f"a <!-- mutants -->\n{results.sentence()}\n<!-- /mutants --> b", text)
        self.page.write_text(text.replace("2 killed", "3 killed"))
        with self.assertRaisesRegex(record.Misfit, "2 killed"):
            record.check(results, [self.page])
        self.page.write_text("no marker")
        with self.assertRaisesRegex(record.Misfit, "page.md has no"):
            record.check(results, [self.page])

    def test_the_record_is_of_the_list(self):
        self.judged()
        record.state(self.read(), [self.page])
        with self.assertRaisesRegex(record.Misfit, "verdicts.txt is not of this list"):
            record.check(self.read(self.mutants[1:]), [self.page])
        with self.assertRaisesRegex(record.Misfit, "page.md states other numbers"):
            record.check(self.read([*self.mutants, mutate.Mutant("types/token.hpp", "new", "")]), [self.page])

    def test_the_page_has_markers(self):
        for page in mutate.PAGES:
            self.assertTrue(re.search(r"<!-- (mutants[a-z ]*) -->.*<!-- /\1 -->", page.read_text(encoding="utf-8"), re.DOTALL), page)


class Order(unittest.TestCase):
    def test_the_most_probable_killer_runs_first(self):
        shop = mutate.Workshop.__new__(mutate.Workshop)
        files = [mutate.ROOT / "tests" / name for name in ("decode/a.cpp", "types/b.cpp", "types/token.cpp", "verify/c.cpp", "verify/d.cpp")]
        shop.tests = {test: {"types/token.hpp"} for test in files[:4]} | {files[4]: set()}
        shop.levels = mutate.collections.defaultdict(lambda: "-O0", {files[2]: "-O1"})
        shop.kills = mutate.collections.Counter({("types/token.hpp", files[3]): 2})
        self.assertEqual(["b", "c", "a", "token"], [test.stem for test in shop.tests_of("types/token.hpp")])
        shop.kills["types/token.hpp", files[2]] = 1
        self.assertEqual(["token", "b", "c", "a"], [test.stem for test in shop.tests_of("types/token.hpp")])
        shop.kills["types/token.hpp", files[2]] = 0
        del shop.levels[files[2]]
        self.assertEqual(["token", "b", "c", "a"], [test.stem for test in shop.tests_of("types/token.hpp")])
        self.assertEqual(["a", "token", "b", "c"], [test.stem for test in shop.tests_of("types/token.hpp", files[0])])


class Ends(unittest.TestCase):
    """How programs end that are no tests."""

    def outcome(self, text, seconds=5):
        shop = mutate.Workshop.__new__(mutate.Workshop)
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text("#!/bin/sh\n" + text, encoding="utf-8")
            program.chmod(0o755)
            return shop.run(program, None, seconds=seconds)

    def test_how_it_ends(self):
        self.assertEqual(["passes", "passes", "fails"], [self.outcome(f"exit {code}") for code in (0, 77, 1)])
        self.assertEqual("fails", self.outcome("kill -ABRT $$"))

    def test_what_takes_too_much_processor_time_does_not_end(self):
        self.assertEqual("does not end", self.outcome("while :; do :; done", 1))

    def test_what_waits_for_ever_is_not_waited_for(self):
        before, mutate.BLOCKED = mutate.BLOCKED, 0.2
        try:
            self.assertEqual("does not end", self.outcome("exec sleep 1000"))
        finally:
            mutate.BLOCKED = before


if __name__ == "__main__":
    unittest.main()
