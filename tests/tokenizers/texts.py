"""Texts that tokenizers are tried on: scripts, code, white space, digits, emoji, marks, special tokens, pieces of the vocabulary."""

import random

BLANKS = " \t\n\r\v\f\u0085\u00a0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NO_BLANKS = "\u180e\u200b\u200c\u200d\u2060\ufeff\u2581\u00ad\u0000\u0001\u007f\ufffd"
SCRIPTS = (
    (0x41, 0x7B), (0xC0, 0x180), (0x180, 0x250), (0x370, 0x400), (0x400, 0x530), (0x530, 0x590), (0x590, 0x600), (0x600, 0x700),
    (0x900, 0x980), (0x980, 0xA00), (0xB80, 0xC00), (0xE00, 0xE80), (0xE80, 0xF00), (0x1000, 0x10A0), (0x10A0, 0x1100), (0x1100, 0x1200),
    (0x1200, 0x1380), (0x13A0, 0x1400), (0x1780, 0x1800), (0x1C90, 0x1CC0), (0x1E00, 0x2000), (0x3040, 0x3100), (0x3100, 0x3130),
    (0x4E00, 0x5200), (0xA640, 0xA6A0), (0xAC00, 0xAD00), (0xAB30, 0xABC0), (0xFB00, 0xFB50), (0xFF00, 0xFFF0), (0x10400, 0x10450),
    (0x1D400, 0x1D800), (0x1E900, 0x1E960), (0x20000, 0x20100),
)
SIGNS = ((0x20A0, 0x20D0), (0x2100, 0x2150), (0x2150, 0x2190), (0x2190, 0x2200), (0x2460, 0x2500), (0x2500, 0x2600), (0x2600, 0x2700))
EMOJI = ("\U0001F600", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F44D\U0001F3FD", "\u2764\ufe0f", "\U0001F1E9\U0001F1EA", "1\ufe0f\u20e3")
MARKS = ((0x300, 0x370), (0x483, 0x488), (0x591, 0x5C8), (0x64B, 0x660), (0x93A, 0x950), (0x1AB0, 0x1AC0), (0x20D0, 0x20F1), (0x3099, 0x309B))
DIGITS = "0123456789\u0660\u0661\u0966\u0967\u00b2\u00bd\u2167\uff11\U0001D7CE\u3007\u4e00"
CONTRACTIONS = "I'm you're HE'LL we'Ve 'S 'T it's don't 'd 'D 'll'll \u2019s 'l 'v 'r '\u017f 's\u0301 'rest 'tis".split(" ")
CODE = (
    "def f(x):\n    return x ** 2  # square\n", "for (int i = 0; i < n; ++i) {\n\t\tsum += a[i];\n\t}\r\n", "</div>\n  <p class=\"x\">&nbsp;</p>",
    "SELECT * FROM t WHERE a <> 'b';", "{\"key\": [1, 2.5e-3, null], \"k\\n\": \"\\u00e9\"}", "https://example.org/a/b?c=d&e=%20f#g", "a/b\\c//d\n/e\r\n//f",
    "std::vector<std::pair<int,int>>", "camelCaseXMLHttpRequest2JSON", "SCREAMING_SNAKE_case", "x=-1;y=+2;z!=3&&w||v", "```python\nprint('hi')\n```",
)
WORDS = (
    "the quick brown fox jumps over lazy dog Hello World token speculative decoding H\u00e9llo na\u00efve \u00dcber Stra\u00dfe \u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 \u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac "
    "\u65e5\u672c\u8a9e \u4e2d\u6587\u5b57\u7b26 \ud55c\uad6d\uc5b4 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea \u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22 \u01c5 \u02b0 \u1fbc"
).split(" ")


class Texts:
    """`pieces`: texts of the vocabulary's ordinary tokens; `specials`: those of its special ones."""

    def __init__(self, seed, pieces, specials):
        self.random, self.pieces, self.specials = random.Random(seed), pieces, specials
        kinds = (
            self.word, self.word, self.blank, self.blanks, self.digits, self.script, self.script, self.sign, self.mark, self.piece, self.piece,
            self.punctuation, lambda: self.one(EMOJI), lambda: self.one(CONTRACTIONS), lambda: self.one(CODE), lambda: self.one(NO_BLANKS), self.any_point,
        )
        self.kinds = kinds + ((self.special,) if specials else ())

    def one(self, of):
        return self.random.choice(of)

    def point(self, ranges):
        return chr(self.random.randrange(*self.one(ranges)))

    def word(self):
        return self.one(("", " ")) + self.one(WORDS)

    def blank(self):
        return self.one((" ", " ", "\n", "\r\n", self.one(BLANKS)))

    def blanks(self):
        if self.random.random() < 0.5:
            return self.one((" ", "\n", "\t", "\r\n", "\u3000")) * self.random.randrange(1, 40)
        return "".join(self.one(BLANKS) for _ in range(self.random.randrange(1, 6)))

    def digits(self):
        return "".join(self.one(DIGITS[:10] if self.random.random() < 0.8 else DIGITS) for _ in range(self.random.randrange(1, 9)))

    def script(self):
        chosen = [self.one(SCRIPTS)]
        return "".join(self.point(chosen) for _ in range(self.random.randrange(1, 7)))

    def sign(self):
        return self.point(SIGNS)

    def mark(self):
        return self.one(("", "a", "e", "O", "\u03b1", "\u0430", "\u304b", "\u0915", "\u1112\u1161")) + "".join(self.point(MARKS) for _ in range(self.random.randrange(1, 4)))

    def piece(self):
        return "".join(self.one(self.pieces) for _ in range(self.random.randrange(1, 6)))

    def punctuation(self):
        return "".join(self.one(".,;:!?-_/\\'\"()[]{}<>|#$%&*+=@^`~") for _ in range(self.random.randrange(1, 5)))

    def special(self):
        return self.one(("", "", " ", "\n", "\u00a0 ")) + self.one(self.specials) + self.one(("", "", " ", "\n", "  \n"))

    def any_point(self):
        point = self.random.randrange(0x110000)
        return chr(point) if not 0xD800 <= point < 0xE000 else ""

    def long_word(self):
        return "".join(self.one(("ab", "x", "\u00e9", "0", "\u4e2d", self.one(self.pieces))) for _ in range(self.random.randrange(200, 700)))

    def text(self):
        if self.random.random() < 0.01:
            return self.long_word()
        return "".join(self.one(self.kinds)() for _ in range(self.random.choice((1, 2, 3, 5, 8, 13, 21))))


def texts(count, seed, pieces, specials):
    made = Texts(seed, pieces, specials)
    return ["", " ", "\n"] + [made.text() for _ in range(count - 3)]
