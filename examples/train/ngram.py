"""A table of what the target wrote after what: no network, no training."""

import numpy

ORDERS = range(1, 6)
LOAD = 0.7  # of the table's slots, at most
SLOTS = 1 << 20  # at most: 8 bytes each
EMPTY = -1


def keys(contexts):
    """64-bit keys of contexts [count, tokens], oldest token first."""
    state = numpy.full(len(contexts), (0x9E3779B97F4A7C15 * contexts.shape[1]) & ((1 << 64) - 1), numpy.uint64)
    for column in contexts.T:
        state = (state ^ column.astype(numpy.uint32).astype(numpy.uint64)) * numpy.uint64(0x100000001B3)
        state ^= state >> numpy.uint64(32)
    return state


def count(written, order):
    """Of each context of `order` tokens its key, its most frequent next token (of several, the smallest), and how often."""
    slide = numpy.lib.stride_tricks.sliding_window_view
    windows = [slide(text.tokens, order + 1)[max(0, text.answer - order) :] for text in written if len(text.tokens) > order]
    windows = numpy.concatenate([numpy.empty((0, order + 1), numpy.int32), *windows])
    pairs = numpy.stack((keys(windows[:, :-1]), windows[:, -1].astype(numpy.uint64)), -1)
    pairs, often = numpy.unique(pairs, axis=0, return_counts=True)
    best = numpy.lexsort((pairs[:, 1], -often, pairs[:, 0]))
    first = numpy.unique(pairs[best, 0], return_index=True)[1]
    chosen = best[first]
    return pairs[chosen, 0], pairs[chosen, 1].astype(numpy.int32), often[chosen]


class Table:
    def __init__(self, written, slots=SLOTS):
        found = [numpy.concatenate(columns) for columns in zip(*(count(written, order) for order in ORDERS))]
        kept = numpy.argsort(-found[2], kind="stable")[: int(slots * LOAD)]  # the short and the frequent first
        while slots > 1 and len(kept) <= slots // 2 * LOAD:
            slots //= 2
        self.check, self.next = numpy.zeros(slots, numpy.int32), numpy.full(slots, EMPTY, numpy.int32)
        for key, token in zip(found[0][kept].tolist(), found[1][kept].tolist()):
            self.next[self.claim(key)] = token

    def claim(self, key):
        """The slot of a key: its own, or an empty one that becomes its own."""
        slot, check = self.slot(key)
        self.check[slot] = check
        return slot

    def slot(self, key):
        mask, check = len(self.next) - 1, key >> 32
        check -= (check >> 31) << 32
        slot = key & mask
        while self.next[slot] != EMPTY and self.check[slot] != check:
            slot = (slot + 1) & mask
        return slot, check

    def find(self, context, shortest=1):
        """The next token of the longest known end of a context, and that end's length; (EMPTY, 0) where none is known."""
        for order in reversed(ORDERS):
            if shortest <= order <= len(context):
                token = int(self.next[self.slot(int(keys(numpy.asarray([context[-order:]]))[0]))[0]])
                if token != EMPTY:
                    return token, order
        return EMPTY, 0

    def chain(self, context, count, shortest=1):
        """`count` drafted tokens; EMPTY from where nothing is known. The first needs an end of `shortest` tokens."""
        context, drafted = list(context[-max(ORDERS) :]), []
        for _ in range(count):
            token = self.find(context, shortest)[0] if EMPTY not in drafted else EMPTY
            context.append(token)
            drafted.append(token)
            shortest = 1
        return drafted

    def export(self, file, kind=None):
        file.writer.add_uint32("augur.ngram.order_min", min(ORDERS))
        file.writer.add_uint32("augur.ngram.order_max", max(ORDERS))
        file.writer.add_uint64("augur.ngram.slots", len(self.next))
        file.add_integers("augur.ngram.check", self.check)
        file.add_integers("augur.ngram.next", self.next)
