#!/usr/bin/env python3
"""What the pipeline promises: held-out prompts, the n-gram table, texts written together, paths behind every root.

Tests that need PyTorch are skipped, and say so, where it is missing.
"""

import importlib.util
import itertools
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TINY = HERE.parents[1] / "tests" / "data" / "llama" / "stories260K.gguf"
sys.path.insert(0, str(HERE))
import arithmetic_problems  # noqa: E402
import prompts  # noqa: E402

has = lambda name: importlib.util.find_spec(name) is not None
needs_numpy = unittest.skipUnless(has("numpy"), "numpy is not installed")
needs_torch = unittest.skipUnless(has("torch") and has("gguf"), "torch and gguf are not installed")


class Prompts(unittest.TestCase):
    def test_a_plan_has_every_kind_as_template_and_as_opening(self):
        planned = prompts.plan(seed=3, count=48)
        for kind in prompts.KINDS:
            mine = [(prompt, opening) for k, prompt, opening in planned if k == kind]
            self.assertEqual(4, sum(prompt is not None for prompt, _ in mine), kind)
            self.assertEqual(4, sum(opening is not None for _, opening in mine), kind)
        self.assertEqual(planned, prompts.plan(seed=3, count=48))
        self.assertNotEqual(planned, prompts.plan(seed=4, count=48))

    def test_templates_are_filled(self):
        for seed, kind in itertools.product(range(300), prompts.KINDS):
            prompt = prompts.template(kind, random.Random(seed))
            self.assertNotRegex(prompt, r"[{}\n]", kind)

    def test_about_one_prompt_in_sixteen_is_held_out(self):
        distinct = {prompts.template(kind, random.Random(seed)) for seed in range(500) for kind in prompts.KINDS}
        share = sum(map(prompts.held_out, distinct)) / len(distinct)
        self.assertTrue(1 / 24 < share < 1 / 11, share)


class Arithmetic(unittest.TestCase):
    def test_every_step_and_answer_is_right(self):
        for expression, worked, value in itertools.islice(arithmetic_problems.problems(random.Random(1), tests=False), 500):
            self.assertEqual(eval(expression), value)
            for step in worked.split(", "):
                left, right = step.split("=")
                self.assertEqual(eval(left), int(right), step)
            asked, said = arithmetic_problems.text((expression, worked, value))
            self.assertLessEqual(set(asked + said), set(arithmetic_problems.ALPHABET))
            self.assertEqual(value, arithmetic_problems.answer_of(asked + said))

    def test_no_test_is_trained_on(self):
        taken = lambda tests: {task[0] for task in itertools.islice(arithmetic_problems.problems(random.Random(2), tests), 500)}
        self.assertFalse(taken(True) & taken(False))

    def test_what_ends_without_a_number_has_no_answer(self):
        self.assertIsNone(arithmetic_problems.answer_of("1+1: 1+1=2."))
        self.assertIsNone(arithmetic_problems.answer_of(""))


@needs_numpy
class NGrams(unittest.TestCase):
    def texts(self, *rows, answer=0):
        import numpy
        import texts

        return [texts.Text(numpy.asarray(row, numpy.int32), answer, 0, 0.0, False) for row in rows]

    def test_a_key_is_as_the_loader_makes_it(self):
        import ngram
        import numpy

        mask = (1 << 64) - 1
        for context in ([7], [7, 49151, 0], [1, 2, 3, 4, 5]):
            key = (0x9E3779B97F4A7C15 * len(context)) & mask
            for token in context:
                key = ((key ^ token) * 0x100000001B3) & mask
                key ^= key >> 32
            self.assertEqual(key, int(ngram.keys(numpy.asarray([context]))[0]))

    def test_the_most_frequent_continuation_of_the_longest_known_end(self):
        import ngram

        table = ngram.Table(self.texts([5, 6, 7, 5, 6, 7, 5, 6, 8], [9, 6, 8], [9, 6, 8]))
        self.assertEqual((7, 2), table.find([1, 5, 6]))
        self.assertEqual((8, 2), table.find([9, 6]))
        self.assertEqual((8, 1), table.find([1, 6]), "8 three times, 7 twice")
        self.assertEqual((ngram.EMPTY, 0), table.find([1]))

    def test_of_equally_frequent_ones_the_smallest(self):
        import ngram

        self.assertEqual((3, 1), ngram.Table(self.texts([2, 9], [2, 3])).find([2]))

    def test_prompts_are_not_learned(self):
        import ngram

        table = ngram.Table(self.texts([1, 2, 3, 4], answer=2))
        self.assertEqual((ngram.EMPTY, 0), table.find([1]))
        self.assertEqual((3, 2), table.find([1, 2]))

    def test_a_full_table_keeps_the_most_frequent(self):
        import ngram

        rows = [[1, 2]] * 5 + [[i, i + 1] for i in range(10, 60)]
        table = ngram.Table(self.texts(*rows), slots=16)
        self.assertEqual((2, 1), table.find([1]))
        self.assertLessEqual((table.next != ngram.EMPTY).sum(), 0.7 * 16)

    def test_a_chain_ends_where_nothing_is_known(self):
        import ngram

        self.assertEqual([2, 3, ngram.EMPTY, ngram.EMPTY], ngram.Table(self.texts([1, 2, 3])).chain([1], 4))


@needs_torch
class Networks(unittest.TestCase):
    def setUp(self):
        import llama
        import torch

        torch.manual_seed(1)
        self.target = llama.load(TINY, dtype=torch.float32)

    def features(self, folder=HERE, layers=(2,)):
        import features

        return features.Features(self.target, pathlib.Path(folder), 1e9, layers)

    def lessons(self, *lengths):
        import features
        import numpy
        import texts

        draw = numpy.random.default_rng(1)
        return [features.Lesson(texts.Text(draw.integers(3, 512, n, numpy.int32), 4, 0, 0.0, False)) for n in lengths]

    def batch(self):
        return self.features().batch(self.lessons(12, 17))

    def test_states_are_the_same_stored_and_computed(self):
        import store
        import texts
        import torch

        with tempfile.TemporaryDirectory() as folder:
            path, lessons = texts.shard(pathlib.Path(folder), 0), self.lessons(12, 17, 9)
            column = lambda value: [value] * 3
            tokens = [token for lesson in lessons for token in lesson.text.tokens]
            flags = dict(answers=column(4), kinds=column(0), temperatures=column(0.0), held_out=column(False))
            store.save_arrays(path, tokens=tokens, lengths=[12, 17, 9], **flags)
            self.target.bfloat16()
            stored = self.features(folder)
            stored.fill([path])
            read = stored.lessons(path)
            a, b = stored.batch(read), stored.batch(lessons)
            for mine, other in ((a.hidden, b.hidden), (a.between[2], b.between[2]), (a.best, b.best)):
                known = a.known(0)
                self.assertTrue(torch.equal(mine[known], other[known]))

    def test_training_that_is_killed_ends_where_it_would_have(self):
        import types

        import draft
        import head
        import numpy
        import torch
        import training

        lessons, stored = self.lessons(*range(40, 52)), self.features(layers=())
        shared = head.Head(self.target, numpy.arange(512))

        def trained(folder, killed_after):
            options = types.SimpleNamespace(work=pathlib.Path(folder), tokens=1, epochs=3, seed=1, rate=1)
            calls = []

            def batch(chosen):
                calls.append(chosen)
                if len(calls) == killed_after:
                    raise KeyboardInterrupt
                return stored.batch(chosen)

            member = draft.Draft(self.target, shared)
            training.train("draft", member, lessons, batch, options, 1e-3)
            return member.state_dict(), len(calls)

        every, training.CHECKPOINT_SECONDS = training.CHECKPOINT_SECONDS, 0
        try:
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                whole, steps = trained(one, killed_after=0)
                with self.assertRaises(KeyboardInterrupt):
                    trained(other, killed_after=4)
                resumed, rest = trained(other, killed_after=0)
        finally:
            training.CHECKPOINT_SECONDS = every
        self.assertEqual(steps, 3 + rest)
        for name, tensor in whole.items():
            self.assertTrue(torch.equal(tensor, resumed[name]), name)

    def test_texts_written_together_are_those_written_alone(self):
        import torch
        import write

        end = 402
        asked = [torch.randint(3, 512, (length,)).tolist() for length in (3, 9, 5, 7)]
        with torch.inference_mode():
            together = write.Batch(self.target, asked, 40, end).write(torch.zeros(4), None)
            for prompt, text in zip(asked, together):
                alone = list(prompt)
                while len(alone) < len(prompt) + 40 and (alone[-1] != end or len(alone) == len(prompt)):
                    hidden, _ = self.target(torch.tensor([alone]))
                    alone.append(int((hidden[0, -1] @ self.target.head.T).argmax()))
                self.assertEqual(alone, text)

    def test_every_kind_is_answered_at_every_temperature(self):
        import prompts
        import write

        planned = [(kind, prompt is None) for kind, prompt, _ in prompts.plan(1, 96)]
        pairs = {(*each, write.temperature(i)) for i, each in enumerate(planned)}
        self.assertEqual(set(itertools.product(prompts.KINDS, (True, False), set(write.TEMPERATURES))), pairs)

    def test_a_shard_is_read_as_it_was_written(self):
        import write

        class Letters:
            """A tokenizer of single letters with a chat of its own."""

            chat_template, eos_token_id = "yes", 500

            def __call__(self, text, add_special_tokens=True):
                return dict(input_ids=[ord(letter) % 256 for letter in text])

            def decode(self, tokens):
                return "".join(chr(65 + token % 26) for token in tokens)

            def apply_chat_template(self, chat, tokenize, add_generation_prompt=False):
                return f"<{chat[0]['content']}>" + ("[" if add_generation_prompt else "")

        writers = [write.Torch(self.target)]
        if "AUGUR_PROGRAM" in os.environ:
            writers.append(write.Program(os.environ["AUGUR_PROGRAM"], TINY, 2, self.target.shape.width))
        for writer in writers:
            self.check_shard(writer, Letters())

    def check_shard(self, writer, tokenizer):
        import features
        import prompts
        import store
        import texts
        import torch
        import write

        count = []
        arrays, states = write.write_shard(writer, tokenizer, seed=1, batch=12, limit=8, on_token=count.append)
        with tempfile.TemporaryDirectory() as folder:
            path = texts.shard(pathlib.Path(folder), 3)
            store.save_arrays(path, **arrays)
            self.assertEqual(sum(count), texts.written(pathlib.Path(folder)))
            read = texts.read(path)
            if states is not None:
                self.check_states(features.Features(self.target, pathlib.Path(folder), 1e9), path, arrays, states)
        self.assertEqual([kind for kind, _, _ in prompts.plan(1, 12)], [prompts.KINDS[text.kind] for text in read])
        for text in read:
            begun = "".join(map(chr, text.tokens[: text.answer]))
            self.assertTrue(begun.startswith("<") and begun.endswith(">["), begun)
            self.assertEqual(prompts.held_out(begun[1:-2]), text.held_out)
            answer = text.tokens[text.answer :].tolist()
            self.assertTrue(len(answer) == 8 or answer[-1] == 500, answer)
            self.assertNotIn(500, answer[:-1])
        torch.manual_seed(2)  # nothing but the seed given decides
        again, _ = write.write_shard(writer, tokenizer, seed=1, batch=12, limit=8, on_token=count.append)
        self.assertEqual(arrays, again)

    def check_states(self, kept, path, arrays, states):
        """States that came with the texts are those that PyTorch computes; the best tokens follow from them."""
        import torch

        kept.keep(path, arrays, states)
        kept.fill([path])
        lessons = kept.lessons(path)
        self.assertEqual([0.0, 0.7, 1.0], sorted({lesson.text.temperature for lesson in lessons}))
        for lesson in lessons:
            with torch.inference_mode():
                hidden, _ = self.target(torch.from_numpy(lesson.text.tokens).long()[None])
            known = slice(0, len(lesson.text.tokens) - 1)
            self.assertTrue(torch.allclose(lesson.hidden[known].float(), hidden[0, known].float(), rtol=0.02, atol=0.05))
            known = slice(lesson.text.answer - 1, len(lesson.text.tokens) - 1)
            logits = hidden[0, known].float() @ self.target.head.T.float()
            chosen = logits.gather(1, lesson.best[known, None].long())[:, 0]
            self.assertTrue(torch.allclose(chosen, logits.max(1).values, atol=0.1))  # rounded states may tie

    def test_a_path_is_the_text_up_to_its_root_and_what_it_drafted(self):
        import torch
        from path import Path

        tokens, drafted = torch.randint(3, 512, (1, 9)), torch.randint(3, 512, (2, 9))
        path = Path(self.target.blk, self.target.frequencies)
        with torch.inference_mode():
            rows = [path.step(self.target.token_embd(step)) for step in (tokens, drafted[:1], drafted[1:])][-1]
            for root in range(9):
                alone = torch.cat([tokens[0, : root + 1], drafted[:, root]])[None]
                wanted, _ = self.target(alone)
                self.assertTrue(torch.allclose(self.target.output_norm(rows[0, root]), wanted[0, -1], atol=1e-4), root)

    def test_the_whole_target_as_a_qualifier_agrees_with_itself(self):
        import head
        import numpy
        import qualifier
        import torch

        shared = head.Head(self.target, numpy.arange(512))
        member = qualifier.Qualifier(self.target, shared, list(range(self.target.shape.layers)))
        batch = self.batch()
        with torch.inference_mode():
            drafted = member.chains(batch, 2)
        known = batch.known(1)
        self.assertTrue(torch.equal(drafted[..., 0][known], batch.best.roll(-1, 1)[known].long()))

    def test_a_qualifier_stores_changes_alone(self):
        import export
        import gguf
        import head
        import numpy
        import qualifier

        member = qualifier.Qualifier(self.target, head.Head(self.target, numpy.arange(512)), [0, 3])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "qualifier.gguf"
            file = export.Member(path, "qualifier", dict(licence="mit", tokens=0, data="none"), "llama")
            member.export(file, "q8_0")
            file.close()
            stored = gguf.GGUFReader(path)
            self.assertEqual([0, 3], stored.fields["augur.layers"].contents())
            names = {t.name for t in stored.tensors}
        self.assertEqual(2 * (7 * 2 + 2) + 1, len(names))
        self.assertLessEqual({"blk.1.ffn_down.delta_up.weight", "blk.0.attn_norm.weight", "output_norm.weight"}, names)

    def test_members_learn(self):
        import draft
        import eagle
        import exits
        import head
        import heads
        import numpy
        import torch

        shared = head.Head(self.target, numpy.arange(0, 512, 2))
        exits.depths = lambda shape: (2,)
        for make in (lambda t, s: eagle.Eagle(t, s), draft.Draft, heads.medusa, heads.hydra, exits.Exits):
            member, batch = make(self.target, shared), self.batch()
            optimizer = torch.optim.AdamW([p for p in member.parameters() if p.requires_grad], lr=1e-3)
            losses = []
            for _ in range(12):
                loss = member.loss(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0], type(member))
            self.assertEqual((2, 17, 4), tuple(member.chains(batch, 4).shape))
            self.assertFalse((member.chains(batch, 4) % 2).any(), "only tokens of the head are drafted")

    def test_a_file_says_what_it_holds(self):
        import eagle
        import export
        import gguf
        import head
        import numpy

        about = dict(target_name="tiny", fingerprint=export.fingerprint(TINY), licence="mit", tokens=7, data="none")
        with tempfile.TemporaryDirectory() as folder:
            file = export.Member(pathlib.Path(folder) / "eagle.gguf", "eagle", about, "llama")
            eagle.Eagle(self.target, head.Head(self.target, numpy.asarray([3, 5]))).export(file, "q8_0")
            size = file.close()
            stored = gguf.GGUFReader(pathlib.Path(folder) / "eagle.gguf")
            self.assertEqual(size, (pathlib.Path(folder) / "eagle.gguf").stat().st_size)
            self.assertEqual([3, 5], stored.fields["augur.head.tokens"].contents())
            self.assertRegex(stored.fields["augur.target.fingerprint"].contents(), "^[0-9a-f]{16}$")
            shapes = {t.name: list(t.shape) for t in stored.tensors}
            self.assertEqual([2 * 64, 64], shapes["augur.fusion.weight"])
            self.assertIn("augur.fusion.hidden_norm.weight", shapes)

    def test_a_member_goes_on_from_its_file(self):
        import draft
        import eagle
        import exits
        import export
        import head
        import heads
        import numpy
        import qualifier
        import torch

        ids = numpy.arange(0, 512, 2)
        qualified = lambda target, shared: qualifier.Qualifier(target, shared, [0, 3])
        about = dict(target_name="tiny", fingerprint="0123456789abcdef", licence="mit", tokens=7, data="3 answers")
        for make in (eagle.Eagle, draft.Draft, heads.medusa, heads.hydra, exits.Exits, qualified):
            trained, begun = (make(self.target, head.Head(self.target, ids)) for _ in range(2))
            with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
                for parameter in trained.parameters():
                    parameter += 0.05 * torch.randn_like(parameter)
                path = pathlib.Path(folder) / "some.gguf"
                file = export.Member(path, "some", about)
                trained.export(file, "q8_0")
                file.close()
                with self.assertRaisesRegex(SystemExit, "target 0123456789abcdef, this one is fedc"):
                    export.Earlier(path, "fedc")
                earlier = export.Earlier(path, "0123456789abcdef")
                earlier.restore(begun)
            self.assertEqual((7, ids.tolist()), (earlier.field("augur.trained.tokens"), earlier.field("augur.head.tokens")))
            for name, tensor in trained.state_dict().items():
                apart = (tensor - begun.state_dict()[name]).abs().max()
                self.assertLessEqual(apart, tensor.abs().max() / 127, name)  # half a step of a block of Q8_0, and F16


@needs_torch
class Judging(unittest.TestCase):
    def test_the_parts_of_a_hybrid_are_those_behind_roots_with_and_without_a_match(self):
        import features
        import judge
        import numpy
        import texts

        tokens = numpy.arange(10, dtype=numpy.int32)
        lessons = [features.Lesson(texts.Text(tokens, 2, 0, temperature, False)) for temperature in (0.0, 0.7)]
        hits = lambda **counts: numpy.stack([self.chain(root, counts.get(f"at_{root}")) for root in range(10)])
        context, network = hits(at_2=1, at_3=4), hits(at_1=4, at_2=0, at_3=1, at_4=2)
        expected = dict(roots=4, silent=0.5, network_where_silent=4.0, context_elsewhere=3.5, network_elsewhere=1.5, further=3.75)
        self.assertEqual(expected, judge.parts([context] * 2, [network] * 2, lessons))

    def chain(self, root, right):
        """Drafts behind a root of the text 0 1 2 ..., the first so many of them right; none where that is None."""
        return [-1] * 4 if right is None else [root + 2 + i if i < right else 0 for i in range(4)]


@needs_torch
class Cards(unittest.TestCase):
    def test_every_member_has_one_with_its_figures(self):
        import cards
        import export
        import torch

        about = dict(target_name="tiny", fingerprint="0123456789abcdef", licence="mit", tokens=7, data="3 answers")
        judged = dict(roots=5, agreement=[0.5, 0.25, 0.125, 0.0], accepted=1.66)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for member in ("eagle", "ngram"):
                file = export.Member(folder / f"{member}.gguf", member, about)
                file.add_weights({"some": torch.zeros(2)}, "f16")
                file.close()
                figures = dict(tokens=7, seconds=90, epochs=2, code=judged, mean=judged)
                (folder / f"{member}.json").write_text(json.dumps(figures))
            (folder / "context_eagle.json").write_text(json.dumps(dict(mean=judged | dict(accepted=1.91))))
            cards.write(folder)
            text = (folder / "README.md").read_text()
        for expected in ("## eagle.gguf", "## ngram.gguf", "0123456789abcdef", "Licence: mit", "0.50 0.25 0.12 0.00|1.66", "2 minutes",
                         "first of: context, eagle", "1.91", "3 answers"):  # fmt: skip
            self.assertIn(expected, text)
        self.assertNotIn("hydra.gguf", text)


@unittest.skipUnless(has("torch") and has("transformers"), "transformers is not installed")
class Folders(unittest.TestCase):
    def test_rows_are_those_of_transformers(self):
        import llama
        import torch
        import transformers

        scaling = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
        shape = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, max_position_embeddings=64)
        shape |= dict(num_attention_heads=4, num_key_value_heads=2, attn_implementation="eager")
        for rope, tied in (("default", True), ("llama3", False)):
            rotation = dict(rope_type=rope, rope_theta=10000.0, **(scaling if rope == "llama3" else {}))
            config = transformers.LlamaConfig(**shape, rope_parameters=rotation, tie_word_embeddings=tied)
            torch.manual_seed(1)
            theirs = transformers.LlamaForCausalLM(config).eval()
            with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
                theirs.save_pretrained(folder)
                ours = llama.load(folder, dtype=torch.float32)
                tokens = torch.randint(0, 96, (2, 40))
                rows = ours(tokens)[0] @ ours.head.T
                self.assertTrue(torch.allclose(theirs(tokens).logits, rows, atol=1e-4), rope)


@needs_torch
class Whole(unittest.TestCase):
    def test_a_file_that_was_not_finished_is_not_there(self):
        import store

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "shard"
            with self.assertRaises(KeyboardInterrupt), store.whole(path) as file:
                file.write(b"half")
                raise KeyboardInterrupt
            self.assertEqual([], list(pathlib.Path(folder).iterdir()))

    def test_what_one_makes_no_other_makes(self):
        import store

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "shard"
            with store.claimed(path) as first, store.claimed(path) as second:
                self.assertEqual((True, False), (first, second))
            path.write_bytes(b"made")
            with store.claimed(path) as third:
                self.assertFalse(third)


if __name__ == "__main__":
    ran = unittest.main(exit=False).result
    SOME_SKIPPED = 77  # for ctest
    sys.exit(1 if not ran.wasSuccessful() else SOME_SKIPPED if ran.skipped else 0)
