#!/usr/bin/env python3
"""What page.py --check finds."""

import copy
import unittest

import page

SOUND = page.load()
FOUND = [entry["test"] for entry in SOUND if entry["test"]]


class Check(unittest.TestCase):
    def found(self, change=lambda entries: None, cases=None, text=None):
        entries = copy.deepcopy(SOUND)
        change(entries)
        return page.problems(entries, FOUND if cases is None else cases, page.page(SOUND) if text is None else text)

    def assertSays(self, found, fragment):
        self.assertTrue(any(fragment in problem for problem in found), found)

    def test_a_sound_list_has_no_problems(self):
        self.assertEqual([], self.found())

    def test_missing_cases_and_unlisted_ones(self):
        self.assertSays(self.found(cases=FOUND[1:]), f"no test case {FOUND[0]}")
        self.assertSays(self.found(cases=FOUND + ["cache/invariant_99_new"]), "cache/invariant_99_new is not in")
        self.assertSays(self.found(cases=FOUND + FOUND[:1]), "there are 2 test cases")

    def test_every_number_once(self):
        self.assertSays(self.found(lambda entries: entries.pop()), "numbered 1 to 79")
        self.assertSays(self.found(lambda entries: entries.append(entries[0])), "numbered 1 to 79")

    def test_a_test_belongs_to_its_number(self):
        def swap(entries):
            entries[0]["test"], entries[1]["test"] = entries[1]["test"], entries[0]["test"]

        self.assertSays(self.found(swap), "the test of another")

    def test_pending_needs_a_reason(self):
        pending = next(i for i, entry in enumerate(SOUND) if entry["state"] == "pending")
        self.assertSays(self.found(lambda entries: entries[pending].update(reason="")), "neither active nor pending")

    def test_a_stale_page(self):
        self.assertSays(self.found(text="# Conformance"), "run it")
        self.assertSays(self.found(lambda entries: entries[0].update(wrong="Something else.")), "run it")

    def test_cases_are_found_in_sources(self):
        text = "BOOST_AUTO_TEST_CASE(invariant_01_a) {}\nBOOST_FIXTURE_TEST_CASE(invariant_02_b, fixture) {}\n"
        self.assertEqual(["x/invariant_01_a", "x/invariant_02_b"], page.cases({"x": text}))
        script = "class Some(unittest.TestCase):\n    def test_it(self):\n        pass\n\n    def other(self):\n        pass\n"
        self.assertEqual(["program.x/test_it"], page.cases({"program.x": script}))

    def test_a_test_of_another_folder_is_looked_for_there(self):
        sound = {"test": "types.text_follower/settled_tokens_are_not_read_twice"}
        self.assertIn(sound["test"], page.cases_elsewhere([sound, {"test": None}, {"test": "cache/invariant_20_x"}]))

        def move(entries):
            entries[0]["test"] = "types.text_follower/no_such_case"

        self.assertSays(self.found(move), "no test case types.text_follower/no_such_case")


if __name__ == "__main__":
    unittest.main()
