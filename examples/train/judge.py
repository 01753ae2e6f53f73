"""How well a member drafts texts of prompts that it has not seen: a chain behind every position."""

import collections

import numpy
import torch

import prompts

LENGTH = 4  # of a chain
MOST = 16  # texts of a kind and a temperature that are judged


def chains_of(member, batch):
    """Drafted tokens [positions, LENGTH] behind each root of a batch of one text."""
    with torch.inference_mode(), torch.autocast(batch.tokens.device.type, torch.bfloat16):
        return member.chains(batch, LENGTH)[0].cpu().numpy()


def table_chains(table, lesson, shortest=1):
    """The same of an n-gram table, for the roots that are judged; -1 where it knows none of `shortest` tokens."""
    tokens = lesson.text.tokens.tolist()
    drafted = numpy.full((len(tokens), LENGTH), -1)
    for root in roots(lesson.text):
        drafted[root] = table.chain(tokens[: root + 2], LENGTH, shortest)
    return drafted


def context_chains(lesson, shortest=2, longest=5):
    """The same of the text itself: what followed the last time that its end stood in it."""
    tokens = lesson.text.tokens.tolist()
    drafted, after = numpy.full((len(tokens), LENGTH), -1), {}
    for end in range(1, len(tokens)):
        ends = [tuple(tokens[end - order : end]) for order in range(shortest, min(longest, end) + 1)]
        place = next((after[e] for e in reversed(ends) if e in after), None)
        if place is not None:
            drafted[end - 2] = (tokens[place:end] * LENGTH)[:LENGTH]  # where it reaches its end, a repetition goes on
        after.update({e: end for e in ends})
    return drafted


def fallback(*sources):
    """For each root the chain of the first source that knows a token."""
    chosen = sources[-1].copy()
    for chains in reversed(sources[:-1]):
        known = chains[:, 0] >= 0
        chosen[known] = chains[known]
    return chosen


def some(lessons):
    """The first of each kind and temperature."""
    counts, chosen = collections.Counter(), []
    for lesson in lessons:
        group = lesson.text.kind, lesson.text.temperature
        counts[group] += 1
        if counts[group] <= MOST:
            chosen.append(lesson)
    return chosen


def roots(text):
    """Positions whose next token is of the answer and followed by LENGTH more."""
    return range(text.answer - 1, len(text.tokens) - 1 - LENGTH)


def judge(drafted, lessons):
    """Figures of greedy text, and on average over kinds those of text that was sampled at each temperature."""
    by = collections.defaultdict(lambda: ([], []))
    for chains, lesson in zip(drafted, lessons):
        for column, value in zip(by[lesson.text.temperature], (chains, lesson)):
            column.append(value)
    figures = of_kinds(*by.pop(0.0, ([], [])))
    figures["sampled"] = {f"{temperature:g}": of_kinds(*by[temperature])["mean"] for temperature in sorted(by)}
    return figures


def of_kinds(drafted, lessons):
    """Agreement per offset, and the accepted length of chains with the bonus token, by kind and on average over kinds."""
    figures = {}
    for index, kind in enumerate(prompts.KINDS):
        hits = [matches(chains, lesson.text) for chains, lesson in zip(drafted, lessons) if lesson.text.kind == index]
        hits = numpy.concatenate(hits) if hits else numpy.empty((0, LENGTH))
        if len(hits):
            agreement = hits.mean(0).round(4).tolist()
            figures[kind] = dict(roots=len(hits), agreement=agreement, accepted=round(float(accepted(hits).mean()), 4))
    mean = lambda pick: float(numpy.mean([pick(entry) for entry in figures.values()]))
    figures["mean"] = dict(
        roots=sum(entry["roots"] for entry in figures.values()),
        agreement=[round(mean(lambda entry: entry["agreement"][i]), 4) for i in range(LENGTH)],
        accepted=round(mean(lambda entry: entry["accepted"]), 4),
    )
    return figures


def parts(context, network, lessons):
    """Of greedy text, over all roots: how often n-grams are silent, the accepted length of each drafter where they are and
    where they are not, and that of whichever is accepted further."""
    greedy = [i for i, lesson in enumerate(lessons) if lesson.text.temperature == 0]
    joined = lambda pick: numpy.concatenate([pick(i) for i in greedy])
    silent = joined(lambda i: context[i][numpy.asarray(roots(lessons[i].text), int), 0] < 0)
    found, drafted = (joined(lambda i: accepted(matches(chains[i], lessons[i].text))) for chains in (context, network))
    mean = lambda values: round(float(values.mean()), 4) if len(values) else None
    return dict(
        roots=len(silent),
        silent=mean(silent),
        network_where_silent=mean(drafted[silent]),
        context_elsewhere=mean(found[~silent]),
        network_elsewhere=mean(drafted[~silent]),
        further=mean(numpy.maximum(found, drafted)),
    )


def accepted(hits):
    """Tokens that a pass brings [roots], the bonus token included."""
    return 1 + numpy.cumprod(hits, 1).sum(1)


def matches(chains, text):
    """Whether each drafted token [roots, LENGTH] is the text's."""
    at = numpy.asarray(roots(text), int)
    if not len(at):
        return numpy.empty((0, LENGTH), bool)
    return chains[at] == text.tokens[at[:, None] + 2 + numpy.arange(LENGTH)]
