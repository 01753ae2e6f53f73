"""The stages of a family, in order. Each finds what it has already done."""

import json
import time

import numpy
import torch
import tqdm

import cards
import draft
import eagle
import exits
import export
import features
import head
import heads
import judge
import llama
import ngram
import qualifier
import store
import texts
import training
import write

NETWORKS = {
    "eagle": (eagle.Eagle, eagle.RATE),
    "draft": (draft.Draft, draft.RATE),
    "hydra": (heads.hydra, heads.RATE),
    "medusa": (heads.medusa, heads.RATE),
    "exit": (exits.Exits, exits.RATE),
}
LLAMAS = ("eagle", "draft", "qualifier")  # files that describe layers of a llama
FORMAT = "q8_0"
LONG = 5  # tokens that an n-gram of the table has matched, to come before the network in a hybrid


def run(options):
    torch.set_num_threads(options.threads)
    device = options.device if options.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    target = llama.load(options.target, device)
    layers = exits.depths(target.shape) if "exit" in options.members else ()
    stored = features.Features(target, options.work / "features", options.disk_budget * 1e9, layers)
    write_texts(options, target, stored)
    if options.only_write:
        return
    shards = texts.shards(options.work / "texts")
    stored.fill(shards)
    family = Family(options, target, stored, [lesson for path in shards for lesson in stored.lessons(path)])
    for name in options.members:
        family.make(name)
    family.judge_hybrids()
    cards.write(options.out)


def write_texts(options, target, stored):
    folder = options.work / "texts"
    if texts.written(folder) >= options.tokens:
        return
    tokenizer = llama.load_tokenizer(options.target)
    writer = write.Torch(target)
    if options.augur:
        writer = write.Program(options.augur, options.target, options.threads, target.shape.width)
    with tqdm.tqdm(total=options.tokens, unit="token", desc="write", smoothing=0.05, miniters=1, mininterval=5) as bar:
        index = 0
        while (written := texts.written(folder)) < options.tokens:
            bar.n = written
            bar.refresh()
            path = texts.shard(folder, index)
            with store.claimed(path) as mine:
                if mine:
                    seed = options.seed * 1_000_003 + 2 * index
                    arrays, states = write.write_shard(writer, tokenizer, seed, options.batch, options.limit, bar.update)
                    if states is not None:
                        stored.keep(path, arrays, states)
                    store.save_arrays(path, **arrays)
            index += 1


class Family:
    def __init__(self, options, target, stored, lessons):
        self.options, self.target, self.stored = options, target, stored
        self.learned = texts.first([lesson for lesson in lessons if not lesson.text.held_out], options.tokens)
        self.held_out = judge.some([lesson for lesson in lessons if lesson.text.held_out])
        self.written = [lesson.text for lesson in self.learned]
        self.ids = head.frequent(self.written, options.head, target.shape.vocabulary)
        self.tokens = sum(len(text.tokens) - text.answer for text in self.written)
        self.members = {}
        self.about = dict(
            target_name=llama.name(options.target),
            fingerprint=export.fingerprint(options.target),
            licence=llama.licence(options.target),
            tokens=self.tokens,
            data=f"{len(self.written)} answers of the target, greedy and at temperatures 0.7 and 1.0, seed {options.seed}",
        )

    def make(self, name):
        """Trains a member unless it is trained, judges it, and writes its file."""
        torch.manual_seed(self.options.seed)
        earlier = self.earlier(name)
        about = self.about_all(earlier)
        if name == "ngram":
            began = time.monotonic()
            member = ngram.Table(self.written)
            drafted = [judge.table_chains(member, lesson) for lesson in self.held_out]
            trained = dict(seconds=round(time.monotonic() - began))
        else:
            member, rate = self.network(name, earlier)
            seconds = training.train(name, member, self.learned, self.stored.batch, self.options, rate)
            drafted = self.drafted(member)
            trained = dict(seconds=round(seconds), epochs=self.options.epochs)
        self.members[name] = member
        figures = dict(tokens=about["tokens"], **trained, **judge.judge(drafted, self.held_out))
        file = export.Member(self.options.out / f"{name}.gguf", name, about, "llama" if name in LLAMAS else "augur")
        member.export(file, FORMAT)
        figures["bytes"] = file.close()
        self.report(name, figures)

    def earlier(self, name):
        """The file that a network begins as, if any. A table is counted anew."""
        if self.options.earlier is None or name == "ngram":
            return None
        return export.Earlier(self.options.earlier / f"{name}.gguf", self.about["fingerprint"])

    def about_all(self, earlier):
        """What a member's file says, with what it had learned from before."""
        if earlier is None:
            return self.about
        tokens = earlier.field("augur.trained.tokens") + self.tokens * bool(self.options.epochs)
        data = [earlier.field("augur.trained.data"), self.about["data"]][: 1 + bool(self.options.epochs)]
        return self.about | dict(tokens=tokens, data=", then ".join(data))

    def network(self, name, earlier):
        ids = self.ids if earlier is None else numpy.asarray(earlier.field("augur.head.tokens"))
        shared = head.Head(self.target, ids)
        if name == "qualifier":
            kept = earlier.field("augur.layers") if earlier else self.kept_layers()
            member, rate = qualifier.Qualifier(self.target, shared, kept), qualifier.RATE
        else:
            make, rate = NETWORKS[name]
            member = make(self.target, shared)
        if earlier:
            earlier.restore(member)
        return member, rate

    def kept_layers(self):
        return qualifier.search(self.target, self.stored.batch(self.learned[: qualifier.SEARCHED]), self.options)

    def drafted(self, member):
        return [judge.chains_of(member, self.stored.batch([lesson])) for lesson in self.held_out]

    def judge_hybrids(self):
        """What the n-grams of the text, those of the table and the best network are worth together."""
        if not {"ngram", "eagle"} <= set(self.members):
            return
        network = self.drafted(self.members["eagle"])
        table = [judge.table_chains(self.members["ngram"], lesson, LONG) for lesson in self.held_out]
        context = [judge.context_chains(lesson) for lesson in self.held_out]
        hybrids = dict(context=(context,), context_eagle=(context, network), ngram_eagle=(table, network))
        hybrids["context_ngram_eagle"] = context, table, network
        for name, sources in hybrids.items():
            drafted = [judge.fallback(*chains) for chains in zip(*sources)]
            figures = dict(tokens=self.tokens, **judge.judge(drafted, self.held_out))
            if name == "context_eagle":
                figures["parts"] = judge.parts(context, network, self.held_out)
            self.report(name, figures)

    def report(self, name, figures):
        with store.whole(self.options.out / f"{name}.json") as out:
            out.write(json.dumps(figures, indent=1).encode() + b"\n")
        print(name, json.dumps(figures["mean"]), flush=True)
