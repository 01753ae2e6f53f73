"""Many mutants in one text (mutant schemata, Untch et al. 1993): where a mutant changes a statement or an expression, both forms stand
side by side, and the number in the environment variable AUGUR_MUTANT says which one runs. A test is compiled once for all of them."""

import dataclasses
import re

SWITCH = """#pragma once
#include <cstdlib>
#include <type_traits>
inline const int augur_mutant_that_runs = [] {
    const char* const number = std::getenv("AUGUR_MUTANT");
    return number ? std::atoi(number) : 0;
}();
constexpr bool augur_mutant(int number) {
    if (std::is_constant_evaluated()) return false;
    return number == augur_mutant_that_runs;
}
"""
OPENS, CLOSES = "([{", ")]}"
IS_TYPE = re.compile(r"\b(class|struct|namespace|enum|union|concept)\b(?!.*\()", re.DOTALL)
NO_BLOCK = re.compile(r"(\brequires\s*(\([^()]*\))?|[=,(&|]|\breturn|[\w>])\s*$")
FUNCTION = re.compile(r"\)\s*(const\b|noexcept\b|->|requires\b|mutable\b|override\b)|\b(else|do|try)\s*$")
DECLARES = re.compile(r"^(static |const |constexpr |thread_local |using |typedef |auto\b|[\w:]+(<.*>)?[\s&*]+(const )?[&*]?\w+\s*[={;(\[])", re.DOTALL)
NOT_DECLARES = re.compile(r"^(return|throw|delete|co_return|co_await|co_yield|goto|break|continue|else)\b")


class Unfit(Exception):
    """This mutant cannot stand beside the original."""


@dataclasses.dataclass(frozen=True)
class Place:
    """What is written twice: text[begin:end], as a statement, a condition, a value or an expression without one."""

    begin: int
    end: int
    kind: str


def bare(text):
    """The text with comments and literals blanked, every character where it was."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*'
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL | re.MULTILINE)


def pairs_around(code, begin, end):
    """The brackets around a span, the innermost first: (open, close)."""
    stack, around = [], []
    for at, sign in enumerate(code):
        if sign in OPENS:
            stack.append(at)
        elif sign in CLOSES:
            if not stack:
                raise Unfit("brackets")
            opened = stack.pop()
            if opened < begin and at >= end:
                around.append((opened, at))
            elif begin <= opened < end <= at or opened < begin <= at < end:
                raise Unfit("cuts brackets")
    return around


def level(code, begin, end):
    """(position, sign) of what stands in no bracket of its own in the span; an opening bracket counts, its content does not."""
    depth = 0
    for at in range(begin, end):
        if code[at] in CLOSES:
            depth -= 1
        if depth == 0:
            yield at, code[at]
        if code[at] in OPENS:
            depth += 1


def closing(code, opened):
    depth = 0
    for at in range(opened, len(code)):
        depth += (code[at] in OPENS) - (code[at] in CLOSES)
        if depth == 0:
            return at
    raise Unfit("brackets")


def is_block(code, opened):
    if code[opened] != "{":
        return False
    before = max(code.rfind(sign, 0, opened) for sign in ";{}")
    head = code[before + 1 : opened].rstrip()
    if IS_TYPE.search(head) or re.search(r"\brequires\s*(\([^()]*\))?$", head):
        return False
    return not head or head.endswith((")", "]", ":")) or FUNCTION.search(head) is not None


def balanced(form):
    depth = [0]
    for sign in bare(form):
        depth.append(depth[-1] + (sign in OPENS) - (sign in CLOSES))
    return min(depth) == depth[-1] == 0


def trimmed(mutant, text):
    """The least part of the text that really changes, cut at words, with whole brackets: (begin, end, instead)."""
    pattern = r"\s+".join(map(re.escape, mutant.before.split()))
    found = re.search(pattern, text)
    before, after = found[0], mutant.after
    old, new = (list(re.finditer(r"\w+|[-<>=!+*/%&|^:.]+|[^\w\s]", part)) for part in (before, after))
    least = min(len(old), len(new))
    first = next((i for i in range(least) if old[i][0] != new[i][0]), least)
    last = next((i for i in range(least - first) if old[-1 - i][0] != new[-1 - i][0]), least - first)
    for more in range(first + last + 1):
        for left in range(min(first, more), max(0, more - last) - 1, -1):
            cut = [words[first - left : len(words) - last + more - left] for words in (old, new)]
            spans = [(words[0].start(), words[-1].end()) if words else (0, 0) for words in cut]
            if before[slice(*spans[0])].strip("; ") and all(balanced(part[slice(*span)]) for part, span in zip((before, after), spans)):
                return found.start() + spans[0][0], found.start() + spans[0][1], after[slice(*spans[1])]
    raise Unfit("cuts brackets")


def statement(code, around, block, begin, end):
    """The statement in a block that holds a span."""
    start, at = block[0] + 1, block[0] + 1
    for at, sign in level(code, block[0] + 1, begin):
        if sign == ";":
            start = at + 1
        elif sign == "{" and closing(code, at) < begin and is_block(code, at):
            start = closing(code, at) + 1
    inside = [pair for pair in around if block[0] < pair[0]]
    if not inside and code[end - 1] in ";}":
        return start, end
    for at, sign in level(code, inside[-1][1] + 1 if inside else end, block[1]):
        if sign == ";":
            return start, at + 1
        if sign == "{" and is_block(code, at) and re.match(r"\s*(if|for|while|switch|else|do|try|case|default)\b", code[start:at]):
            return start, at
    raise Unfit("no end")


def place_of(code, begin, end):
    around = pairs_around(code, begin, end)
    block = next((pair for pair in around if is_block(code, pair[0])), None)
    if block is None:
        return initialiser(code, around, begin, end)
    if block[0] < begin and any(IS_TYPE.search(code[max(code.rfind(s, 0, pair[0]) for s in ";{}") + 1 : pair[0]]) for pair in around if pair[0] > block[0]):
        raise Unfit("a type inside")
    start, stop = statement(code, around, block, begin, end)
    while True:
        head = re.match(r"\s*(if constexpr|if|while|for|switch)\s*\(|\s*(else|do)\b|\s*(case [^:]*|default):(?!:)", code[start:stop])
        if not head:
            break
        if not head[1]:
            start += head.end()
            continue
        opened = start + head.end() - 1
        closed = closing(code, opened)
        if begin > closed:
            start = closed + 1
            continue
        if end > closed:
            break
        if head[1] in ("if constexpr", "switch"):
            raise Unfit(head[1])
        return in_head(code, around, head[1], opened, closed, begin, end)
    start += len(code[start:stop]) - len(code[start:stop].lstrip())
    if start > begin or code[stop - 1] not in ";}":
        raise Unfit("no statement")
    words = code[start:stop]
    if DECLARES.match(words) and not NOT_DECLARES.match(words):
        return in_declaration(code, around, start, stop, begin, end)
    return Place(start, stop, "statement")


def in_declaration(code, around, start, stop, begin, end):
    if re.match(r"(static |inline )*(constexpr|using|typedef)\b", code[start:stop]):
        raise Unfit("constant")
    equals = next((at for at, sign in level(code, start, stop) if sign == "=" and code[at + 1] != "=" and code[at - 1] not in "=!<>+-*/%&|^"), None)
    if equals is None or equals >= begin:
        outermost = next((pair for pair in reversed(around) if start < pair[0]), None)
        if outermost is None:
            raise Unfit("declaration")
        return argument(code, *outermost, begin, end)
    return value(code, equals + 1, stop - 1)


def value(code, start, stop, kind="value"):
    start += len(code[start:stop]) - len(code[start:stop].lstrip())
    if code[start] == "{" or any(sign == "," for _, sign in level(code, start, stop)):
        raise Unfit("several values")
    return Place(start, stop, kind)


def in_head(code, around, word, opened, closed, begin, end):
    cuts = [opened, *(at for at, sign in level(code, opened + 1, closed) if sign == ";"), closed]
    part = next((i for i in range(len(cuts) - 1) if cuts[i] < begin and end <= cuts[i + 1]), None)
    if part is None:
        raise Unfit("several parts of a head")
    start, stop = cuts[part] + 1, cuts[part + 1]
    if word == "for":
        if len(cuts) != 4:
            raise Unfit("for each")
        if part == 0:
            return in_declaration(code, around, start + len(code[start:stop]) - len(code[start:stop].lstrip()), stop + 1, begin, end)
        return value(code, start, stop, "condition" if part == 1 else "void")
    if part < len(cuts) - 2 or DECLARES.match(code[start:stop].lstrip()):
        raise Unfit("declares in its head")
    return value(code, start, stop, "condition")


def initialiser(code, around, begin, end):
    """An argument in a constructor's list."""
    if not around:
        raise Unfit("no block")
    opened, closed = around[0]
    head = code[: opened].rstrip()
    before = max(code.rfind(sign, 0, opened) for sign in ";")
    if code[opened] not in "({" or not re.search(r"\w$", head) or not re.search(r"\)\s*(noexcept\s*)?:[^:]", code[before + 1 : opened]):
        raise Unfit("not in a function")
    return argument(code, opened, closed, begin, end)


def argument(code, opened, closed, begin, end):
    """The one that holds a span, without the name of its member."""
    cuts = [opened, *(at for at, sign in level(code, opened + 1, closed) if sign == ","), closed]
    part = next((i for i in range(len(cuts) - 1) if cuts[i] < begin and end <= cuts[i + 1]), None)
    if part is None:
        raise Unfit("several arguments")
    name = re.match(r"\s*\.\w+ =", code[cuts[part] + 1 : cuts[part + 1]])
    return value(code, cuts[part] + 1 + (name.end() if name else 0), cuts[part + 1])


def written(place, original, variants):
    """One line for all of them: (number, form)."""
    flat = lambda form: " ".join(re.sub(r"//[^\n]*", "", form).split())
    out = ""
    if place.kind == "statement":
        for number, form in variants:
            out += f"if (augur_mutant({number})) {{ {flat(form)} }} else "
        return f"{{ {out}{{ {flat(original)} }} }}"
    cast = {"condition": "static_cast<bool>", "void": "static_cast<void>"}.get(place.kind, "")
    for number, form in variants:
        out += f"augur_mutant({number}) ? {cast}({flat(form)}) : "
    return f"({out}{cast}({flat(original)}))"


def fitting(text, mutants):
    """For each number the place of its mutant and what stands there instead; of those that fit, and why the others do not."""
    code, fit, unfit = bare(text), {}, {}
    for number, mutant in mutants.items():
        try:
            begin, end, instead = trimmed(mutant, text)
            place = place_of(code, begin, end)
            if begin < place.begin or place.end < end:
                raise Unfit("cuts a value")
            form = text[place.begin : begin] + instead + text[end : place.end]
            if place.kind != "statement" and not form.strip():
                raise Unfit("nothing instead")
            fit[number] = place, form
        except Unfit as why:
            unfit[number] = str(why)
    return fit, unfit


def layers(fit):
    """Groups in which no two places overlap, unless they are the same."""
    out = []
    for number in sorted(fit):
        place = fit[number][0]
        for layer in out:
            if all(place == other or place.end <= other.begin or other.end <= place.begin for other in (fit[n][0] for n in layer)):
                layer.append(number)
                break
        else:
            out.append([number])
    return out


def combined(text, fit, layer):
    """The text with all mutants of a layer in it, and for each number its line. Lines stay what they were."""
    places = {}
    for number in layer:
        places.setdefault(fit[number][0], []).append((number, fit[number][1]))
    lines, out, at = {}, "", 0
    for place in sorted(places, key=lambda each: each.begin):
        out += text[at : place.begin]
        original = text[place.begin : place.end]
        for number, _ in places[place]:
            lines[number] = out.count("\n") + 1
        out += written(place, original, places[place]) + "\n" * original.count("\n")
        at = place.end
    return out + text[at:], lines
