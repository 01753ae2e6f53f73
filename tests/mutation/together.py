"""Judges many mutants with few compilations: all that fit are in the headers at once (schemata.py), each test that includes them is
compiled once, and runs once for each mutant."""

import re

import schemata

WITHIN = 40  # lines after a mutant in which an error can be its doing
ATTEMPTS = 8


class Together:
    """A second copy of the headers, with one layer of mutants in it."""

    def __init__(self, shop, numbered, texts):
        """`shop` compiles and runs, `numbered` has a mutant by number, `texts` the header of each by its path."""
        self.shop = shop
        self.include = shop.copy_of_headers("together")
        (self.include / "augur_mutant.hpp").write_text(schemata.SWITCH, encoding="utf-8")
        self.mutants = numbered
        self.texts = texts
        self.fit, self.lines = {}, {}
        self.programs = {}  # by test; None where it cannot be used
        for header, text in texts.items():
            mine = {number: mutant for number, mutant in numbered.items() if mutant.header == header}
            self.fit[header], _ = schemata.fitting(text, mine)
            self.write(header)

    def write(self, header):
        """The header with the first layer of what fits."""
        fit = self.fit[header]
        layer = schemata.layers(fit)[0] if fit else []
        text, self.lines[header] = schemata.combined(self.texts[header], fit, layer)
        (self.include / "augur" / header).write_text(text, encoding="utf-8")

    def numbers(self):
        return sorted(number for lines in self.lines.values() for number in lines)

    def killer(self, number, near, last=None):
        """The test that kills it, and how; (None, None) where none of them sees it at run time, or it does not fit after all. Looks
        at the last killer and the tests of the header's folder, or else at all others."""
        header = self.mutants[number].header
        for test in self.shop.tests_of(header, last):
            if self.shop.is_near(test, header, last) != near:
                continue
            program = self.program(test)
            if number not in self.lines[header]:
                break
            if program is None:
                continue
            how = self.shop.run(program, test, number)
            if how != "passes":
                self.shop.kills[header, test] += 1
                return test, how
        return None, None

    def program(self, test):
        if test not in self.programs:
            program = self.shop.folder / f"together-{len(self.programs)}"
            self.programs[test] = program if self.compiled(test, program) and self.sound(test, program) else None
        return self.programs[test]

    def sound(self, test, program):
        """Without a mutant the test passes, and how long it takes is known; a slow one is optimised."""
        how = self.shop.settle(test, program)
        if how == "slow":
            how = self.shop.settle(test, program) if self.compiled(test, program) else "does not compile"
        return how == "passes"

    def compiled(self, test, program):
        """Leaves out what does not compile beside the original, until the rest does."""
        for _ in range(ATTEMPTS):
            errors = self.shop.errors_of(test, program, self.include)
            if not errors:
                return True
            if not self.leave_out(errors):
                return False
        return False

    def leave_out(self, errors):
        """Whether an error is a mutant's doing: on its line, or else shortly after it."""
        places = re.findall(rf"^{re.escape(str(self.include))}/augur/(\S+?):(\d+):\d+: (?:fatal )?error", errors, re.MULTILINE)
        guilty = {}
        for near in (0, WITHIN):
            for header, line in places:
                for number, at in self.lines.get(header, {}).items():
                    if at <= int(line) <= at + near:
                        guilty.setdefault(header, set()).add(number)
            if guilty:
                break
        for header, numbers in guilty.items():
            for number in numbers:
                del self.fit[header][number]
            self.write(header)
        return bool(guilty)
