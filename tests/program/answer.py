#!/usr/bin/env python3
"""augur answer: many prompts at a time give what each gives alone."""

import json
import pathlib
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import tiny_model  # noqa: E402
from program import FOLDER, PROGRAM, PROMPTS, TARGET, ProgramTest, environment, run  # noqa: E402

WIDTH, CONTEXT = 32, 256  # of the tiny model


def asked(name, entries):
    path = FOLDER / name
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


class Answer(ProgramTest):
    def answers(self, path, *more, model=TARGET):
        done = self.works("answer", "--model", model, "--prompts", path, *more)
        return done, [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]

    def test_each_text_is_the_one_that_it_is_alone(self):
        settings = [dict(temperature=0), dict(temperature=0.8, seed=5), dict(temperature=1, seed=7, max_tokens=31)]
        entries = [dict(prompt=prompt, **settings[i % 3]) for i, prompt in enumerate(PROMPTS * 3)]
        for together in (1, 5, 64):
            done, answers = self.answers(asked("together.jsonl", entries), "--together", together, "--max-tokens", 17)
            self.assertEqual(len(entries), len(answers))
            for entry, answer in zip(entries, answers):
                chosen = ["--temperature", entry["temperature"], "--seed", entry.get("seed", 0)]
                chosen += ["--max-tokens", entry.get("max_tokens", 17), "--scheme", "plain"]
                alone = self.generated("--prompt", entry["prompt"], *chosen)
                self.assertEqual([alone[key] for key in ("ids", "text")], [answer[key] for key in ("ids", "text")])
                self.assertEqual(alone["finish_reason"], answer["finish_reason"])
            total = sum(len(answer["ids"]) for answer in answers)
            self.assertRegex(done.stderr.decode(), rf"^augur: note: {len(entries)} texts, {total} tokens, \d+ a second\n$")
        self.assertGreater(len({tuple(answer["ids"]) for answer in answers}), 4)

    def texts_as_generate_has_them(self, name, model, count):
        """Answers of as many seeds, each as `augur generate` has it."""
        answers = self.answers(asked(name, [dict(prompt="a", temperature=1)] * count), "-n", 3, "--ignore-eos", model=model)[1]
        for seed, answer in enumerate(answers):
            drawn = ("-p", "a", "-n", 3, "--temperature", 1, "--seed", seed, "--ignore-eos", "--scheme", "plain")
            alone = self.generated(*drawn, model=model)
            self.assertEqual([alone[key] for key in ("ids", "text")], [answer[key] for key in ("ids", "text")])
        return answers

    def test_later_texts_are_drafted_from_earlier_ones(self):
        """By suffixes of all texts of the run: the texts stay those of plain decoding."""
        settings = [dict(temperature=0), dict(temperature=0.9, seed=3)]
        entries = [dict(prompt=prompt, **settings[i % 2]) for i, prompt in enumerate(PROMPTS) for _ in range(2)]
        path = asked("suffix.jsonl", entries)
        plainly = self.answers(path, "--max-tokens", 24, "--ignore-eos")[1]
        for together, more in ((1, ["--length", 6]), (3, ["--length", 2]), (1, [])):
            chosen = ["--scheme", "suffix", "--together", together, "--max-tokens", 24, "--ignore-eos", *more]
            drafted = self.answers(path, *chosen)[1]
            for plain, answer in zip(plainly, drafted, strict=True):
                self.assertEqual(plain, {key: answer[key] for key in plain})
                self.assertGreaterEqual(answer["rounds"] + answer["accepted"], 24)
                self.assertLessEqual(answer["accepted"], answer["drafted"])
            if together == 1:
                known = [answer["tokens_known_before"] for answer in drafted]
                read = [len(answer["prompt_ids"]) + len(answer["ids"]) for answer in drafted]
                self.assertEqual([sum(read[:i]) for i in range(len(read))], known)
            if more == ["--length", 6]:  # the second of equal texts is drafted from the first, nearly as far as drafts go
                for first, second in zip(drafted[::2], drafted[1::2]):
                    self.assertGreaterEqual(second["accepted"], 18, second)
                    self.assertLess(second["rounds"], first["rounds"], second)

    def test_a_space_that_an_answer_begins_with_stays(self):
        model = tiny_model.write(FOLDER / "pieces.gguf", words=tiny_model.sentencepiece(), vocabulary=tiny_model.sentencepiece_size())
        answers = self.texts_as_generate_has_them("pieces.jsonl", model, 12)
        self.assertTrue(any(answer["text"].startswith(" ") for answer in answers))

    def test_rows_of_no_token_are_never_said(self):
        padded = tiny_model.write(FOLDER / "padded.gguf", vocabulary=3 * tiny_model.VOCABULARY)
        for seed in range(6):
            drawn = ("-p", "a", "-n", 8, "--temperature", 5, "--seed", seed, "--ignore-eos", "--scheme", "plain")
            result = self.generated(*drawn, model=padded, noting="the last 524 of 786 rows belong to no token")
            self.assertTrue(all(token < tiny_model.VOCABULARY for token in result["ids"]))

    def test_seeds_follow_one_another(self):
        entries = [dict(prompt_ids=[5, 6, 7])] * 4
        answers = self.answers(asked("seeds.jsonl", entries), "--temperature", 1, "--seed", 3, "--ignore-eos")[1]
        for i, answer in enumerate(answers):
            drawn = ("--temperature", 1, "--seed", 3 + i, "--ignore-eos", "--scheme", "plain")
            self.assertEqual(self.generated("--prompt-ids", "5,6,7", *drawn)["ids"], answer["ids"])
            self.assertEqual(([5, 6, 7], 128), (answer["prompt_ids"], len(answer["ids"])))
        self.assertGreater(len({tuple(answer["ids"]) for answer in answers}), 1)

    def test_chat(self):
        path = asked("chat.jsonl", [dict(prompt="the cat")])
        answers = self.answers(path, "--chat", "--max-tokens", 9)[1]
        alone = self.generated("--prompt", "the cat", "--chat", "--max-tokens", 9, "--scheme", "plain")
        self.assertEqual((alone["prompt_ids"], alone["ids"]), (answers[0]["prompt_ids"], answers[0]["ids"]))

    def test_files(self):
        """States are of all tokens but each text's last, text after text, whatever order they end in."""
        entries = [dict(prompt_ids=[5 + i, 6, 7], max_tokens=1 + 9 * (i % 2), temperature=1) for i in range(5)]
        path, states, output = asked("states.jsonl", entries), FOLDER / "states", FOLDER / "answers.jsonl"
        rows = []
        for together in (1, 3):
            self.answers(path, "--states", states, "--output", output, "--together", together, "--ignore-eos")
            answers = [json.loads(line) for line in output.read_text().splitlines()]
            positions = sum(len(answer["prompt_ids"]) + len(answer["ids"]) - 1 for answer in answers)
            rows.append(states.read_bytes())
            self.assertEqual(2 * WIDTH * positions, len(rows[-1]))
        self.assertEqual(*rows)
        self.assertEqual(self.answers(path, "--ignore-eos")[1], answers)  # keeping states changes no text
        row = lambda at: rows[0][2 * WIDTH * at : 2 * WIDTH * (at + 1)]
        self.assertNotEqual(row(0), row(1))
        numbers = [struct.unpack("<f", b"\0\0" + rows[0][i : i + 2])[0] for i in range(0, len(rows[0]), 2)]
        self.assertTrue(all(abs(number) < 1e3 for number in numbers))
        self.assertGreater(len(set(numbers)), 100)

    def test_a_signal_leaves_neither_file(self):
        endless = tiny_model.write(FOLDER / "endless.gguf", context=1 << 24)
        folder = FOLDER / "ended"
        folder.mkdir()
        path = asked("endless.jsonl", [dict(prompt="a", max_tokens=8000000)])
        command = ["answer", "--model", endless, "--prompts", path, "--ignore-eos"]
        command += ["--output", folder / "answers.jsonl", "--states", folder / "states"]
        process = subprocess.Popen([PROGRAM, *map(str, command)], stderr=subprocess.DEVNULL, env=environment())
        while len(list(folder.iterdir())) < 2 and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.2)  # after check_output, which makes and removes such files, too
        self.assertEqual(2, len(list(folder.glob(".augur-*.part"))))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(-signal.SIGTERM, process.wait(timeout=60))
        self.assertEqual([], list(folder.iterdir()))

    def test_refusals(self):
        def refused(expected, entries, *more):
            path = entries if isinstance(entries, str) else asked("refused.jsonl", entries)
            output = FOLDER / "never.jsonl"
            self.refuses(expected, "answer", "--model", TARGET, "--prompts", path, "--output", output, *more)
            self.assertFalse(output.exists())

        good = dict(prompt="the cat")
        for expected, bad in (
            (["line 3", "-0.5"], dict(prompt="a", temperature=-0.5)),
            (["line 3", "temperature", "1e"], dict(prompt="a", temperature=1e300)),
            (["line 3", "999"], dict(prompt_ids=[5, 999])),
            (["line 3", "prompt token 0 is -1"], dict(prompt_ids=[-1])),
            (["line 3", f"has {CONTEXT} tokens", "no room"], dict(prompt_ids=[5] * CONTEXT)),
            (["line 3", "empty"], dict(prompt_ids=[])),
            (["line 3", "temprature", "temperature"], dict(prompt="a", temprature=1)),
        ):
            path = asked("late.jsonl", [good, good, bad])  # refused before the first is answered
            self.refuses(expected, "answer", "--model", TARGET, "--prompts", path, "--together", 1)
        refused(["line 2", "one of prompt and prompt_ids", "none"], [good, dict(temperature=1)])
        refused(["line 1", "one of prompt and prompt_ids", "both"], [dict(prompt="a", prompt_ids=[1])])
        refused(["line 2", "999"], [good, dict(prompt_ids=[999])])
        refused(["line 1", "-0.5"], [dict(prompt="a", temperature=-0.5)])
        refused(["line 2: the prompt is empty: the key prompt has 0 bytes"], [good, dict(prompt="")])
        refused(["refused.jsonl, line 1: max_tokens", "-1"], [dict(prompt="a", max_tokens=-1)])
        told = run("answer", "--model", TARGET, "--prompts", asked("once.jsonl", [dict(prompt="a", max_tokens=-1)])).stderr
        self.assertEqual(1, told.count(b"line 1"), told)
        refused(["line 1", "empty"], [dict(prompt="")])
        refused("holds no prompts", [])
        refused(["--together is 0"], [good], "--together", 0)
        refused(["--scheme is 'eagle'", "plain, suffix"], [good], "--scheme", "eagle")
        refused(["--length is 4", "'plain'", "suffix uses it"], [good], "--length", 4)
        refused(["--states is", "'suffix'", "plain uses it"], [good], "--scheme", "suffix", "--states", FOLDER / "no.states")
        refused(["--together is 2000", "1024"], [good], "--together", 2000)
        refused(["--states", "written to twice"], [good], "--states", FOLDER / "." / "never.jsonl")
        link = FOLDER / "states.link"
        link.symlink_to("never.jsonl")  # of which there is none yet
        refused(["--states", "written to twice"], [good], "--states", link)
        refused(["--temperature: temperature is -1", "(see augur answer --help)"], [good], "--temperature", -1)
        self.refuses("--states", "answer", "--model", TARGET, "--prompts", asked("own.jsonl", [good]), "--states", TARGET)


if __name__ == "__main__":
    unittest.main()
