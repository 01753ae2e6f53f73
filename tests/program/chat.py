#!/usr/bin/env python3
"""augur chat: turns through pipes and on a terminal, each the text that `augur generate` gives for the whole conversation."""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from screen import ENDLESS, LETTERS, caught  # noqa: E402
from stops import folder_model  # noqa: E402
import tiny_model  # noqa: E402
from program import DRAFT, FOLDER, PROGRAM, TARGET, ProgramTest, environment, family, run  # noqa: E402

SAYS_LETTERS = [word for bias in LETTERS for word in ("--logit-bias", bias)]
ENDS = ("--logit-bias", "2=62.6")  # the end token comes now and then
STATUS = re.compile(
    r"\[(?P<why>[^:]+): (?P<tokens>\d+) tokens, \d+\.\d a second, (?P<pass>\d+\.\d\d) a pass; read in \d+\.\d{3} s, "
    r"context (?P<held>\d+) of (?P<context>\d+)\]"
)
MESSAGES = ["A B A B", "Go on, A B", "GRÜSSE", "x" * 20]


def user(text):
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


class Chat(ProgramTest):
    def chat(self, said, *arguments, model=TARGET, expect=0, **options):
        """Answers, and what is said of each."""
        reading, writing = os.pipe()
        os.write(writing, said if isinstance(said, bytes) else said.encode())
        os.close(writing)
        greedy = () if "--temperature" in arguments else ("--temperature", 0)
        with open(reading, "rb") as piped:
            done = run("chat", "--model", model, *arguments, *greedy, stdin=piped, **options)
        self.assertEqual(expect, done.returncode, done.stderr)
        if expect:
            return done
        return done.stdout.decode().splitlines(), [found.groupdict() for found in STATUS.finditer(done.stderr.decode())]

    def check_turns(self, *arguments, **options):
        """Every answer is that of `generate` to the conversation up to there, whatever drafts."""
        answers, said = self.chat("\n".join(MESSAGES) + "\n", *arguments, *SAYS_LETTERS, "-n", 24, **options)
        self.assertEqual((len(MESSAGES),) * 2, (len(answers), len(said)))
        settings = [*arguments]
        if "--scheme" in settings:
            at = settings.index("--scheme")
            settings = settings[:at] + settings[at + 2 :]
        conversation = ""
        for message, answer, told in zip(MESSAGES, answers, said):
            conversation += user(message)
            known = self.generated("-p", conversation, "--scheme", "plain", "-n", 24, *settings, *SAYS_LETTERS)
            self.assertEqual(known["text"], answer)
            self.assertEqual(len(known["ids"]), int(told["tokens"]))
            self.assertEqual(len(known["prompt_ids"]) + len(known["ids"]), int(told["held"]))
            self.assertEqual(known["finish_reason"] == "stop_token", told["why"] == "the model's end token <|im_end|>")
            conversation += answer + "<|im_end|>\n"
        return said

    def test_every_answer_is_that_of_the_whole_conversation(self):
        whys = {told["why"] for more in ((), ENDS) for told in self.check_turns("--scheme", "plain", *more)}
        self.assertEqual({"at --max-tokens", "the model's end token <|im_end|>"}, whys)

    def test_a_template_that_writes_more_than_was_said(self):
        """It puts blanks around an answer: each turn is the whole conversation, encoded anew."""
        model = tiny_model.write(FOLDER / "llama2.gguf", layers=2, words=tiny_model.sentencepiece(["▁", "▁▁", "▁▁▁"], tiny_model.LLAMA2))
        whys = set()
        for more in (SAYS_LETTERS, (*SAYS_LETTERS, *ENDS)):
            settings = ("--scheme", "plain", "-n", 24, *more)
            answers, said = self.chat("A B\nB\nC\nD\n", *settings, model=model)
            conversation = ""
            for message, answer, told in zip(("A B", "B", "C", "D"), answers, said):
                conversation += f"[INST] {message} [/INST]"
                known = self.generated("-p", conversation, *settings, model=model)
                self.assertEqual(known["text"], answer)
                self.assertEqual(len(known["prompt_ids"]) + len(known["ids"]), int(told["held"]))
                conversation += f" {answer} </s><s>"  # the template's own blanks, also where the model wrote none
                whys.add(told["why"])
        self.assertEqual({"at --max-tokens", "the model's end token </s>"}, whys)

    def test_with_seeds_and_penalties(self):
        """Noise has the name of its position, and the output that is penalised is the answer."""
        self.check_turns("--temperature", 0.8, "--seed", 5, "--presence-penalty", 0.5, *ENDS)

    def test_whatever_drafts(self):
        folder = family("chat", ["eagle", "hydra", "medusa", "exit", "draft"])
        tree = FOLDER / "tree.json"
        tree.write_text("[[0],[1],[0,0]]")
        for scheme in (("lookup",), ("auto",), ("sd", "--draft", DRAFT), ("eaad", "--draft", DRAFT), ("eagle",), ("hydra",), ("kangaroo",),
                       ("eagle", "--tree", tree), ("sd", "--draft", DRAFT, "--tree", tree)):  # fmt: skip
            with self.subTest(scheme):
                known = ["--scheme", scheme[0]]
                answers, _ = self.chat("\n".join(MESSAGES) + "\n", *known, *scheme[1:], *SAYS_LETTERS, *ENDS, "-n", 24, family=folder)
                plain, _ = self.chat("\n".join(MESSAGES) + "\n", "--scheme", "plain", *SAYS_LETTERS, *ENDS, "-n", 24)
                self.assertEqual(plain, answers)

    def test_models_that_take_turns_and_cascades(self):
        for scheme in (("ead", "--draft", DRAFT), ("psd_f", "--draft", DRAFT, "--draft", tiny_model.write(FOLDER / "q.gguf", seed=4))):
            answers, said = self.chat("A\nB\n", "--scheme", *scheme, *SAYS_LETTERS, "-n", 9, "--temperature", 0.7)
            self.assertEqual([9, 9], [int(told["tokens"]) for told in said])
            self.assertEqual([9, 9], [len(answer) for answer in answers])

    def test_system_message_and_first_message(self):
        told = ("--system", "Be brief.", *SAYS_LETTERS, "-n", 8)
        known = self.generated("--chat", "-p", "Hello", *told)["text"]
        answers, _ = self.chat("", "-p", "Hello", *told)
        self.assertEqual([known], answers)
        answers, _ = self.chat("Hello\n", *told)
        self.assertEqual([known], answers)

    def test_reset_and_exit(self):
        first, _ = self.chat("A\n", *SAYS_LETTERS, "-n", 8, "--system", "S")
        answers, said = self.chat("/reset\nA\nB\n/reset\n/reset\nA\n/exit\nA\n", *SAYS_LETTERS, "-n", 8, "--system", "S")
        self.assertEqual(3, len(answers))
        self.assertEqual(first * 2, [answers[0], answers[2]])
        self.assertEqual(said[0]["held"], said[2]["held"])

    def test_lines(self):
        """Empty ones are no messages; a backslash joins two; the last needs no end."""
        answers, _ = self.chat("\n  \nA\\\nB\r\n\nC", *SAYS_LETTERS, "-n", 8)
        self.assertEqual(2, len(answers))
        self.assertEqual(self.generated("--chat", "-p", "A\nB", *SAYS_LETTERS, "-n", 8)["text"], answers[0])
        answers, _ = self.chat("", *SAYS_LETTERS)
        self.assertEqual([], answers)
        answers, _ = self.chat('"""\nA\n/exit\n"""\n"""/reset"""\n', *SAYS_LETTERS, "-n", 8)
        self.assertEqual(self.generated("--chat", "-p", "A\n/exit", *SAYS_LETTERS, "-n", 8)["text"], answers[0])
        self.assertEqual(2, len(answers))

    def test_what_cannot_be_said(self):
        for said, expected in {
            b"A\nab\xff\n": [b"line 2 of standard input", b"0xff"],
            b"A\n/quit\n": [b"'/quit'", b"/help, /exit, /reset"],
            b"A\n/sytem Be brief.\n": [b"'/sytem'", b"/system"],
            b"A\n/save\n": [b"/save needs FILE"],
            b"/undo\n": [b"/undo", b"no answer yet"],
            b"A\n/reset it\n": [b"/reset stands alone", b"'it'"],
            b"A\n/load " + bytes(FOLDER / "none.json") + b"\n": [b"none.json"],
            b"A\n/report run.txt\n": [b"run.txt", b".html"],
            b"A\n/scheme sd\n": [b"sd"],
            b"A\n/scheme forced\n": [b"scheme 'forced'", b"there is no grammar"],
            b"A\n\"\"\"B\nC\n": [b"line 2 of standard input", b"nothing ends"],
            b"A\n" + b"x" * 300 + b"\n": [b"context of 256", b"has room for 256"],
            b"x" * 300 + b"\n": [b"context of 256", b"has room for 256"],
        }.items():
            done = self.chat(said, *SAYS_LETTERS, "-n", 5, expect=1)
            message = done.stderr.split(b"\n")[-2]
            self.assertTrue(message.startswith(b"augur: error: "), message)
            for text in expected:
                self.assertIn(text, message)

    def test_a_path_is_no_command(self):
        self.assertEqual(1, len(self.chat("/etc/passwd is a file\n", *SAYS_LETTERS, "-n", 3)[0]))

    def test_a_context_that_is_full(self):
        _, said = self.chat("A\n/reset\nA\n", *SAYS_LETTERS, "--context", 40, "-n", 1000)
        self.assertEqual(["the context of 40 tokens is full"] * 2, [told["why"] for told in said])
        self.assertEqual(["40"] * 2, [told["held"] for told in said])

    def test_the_oldest_messages_are_left_out_where_the_context_is_full(self):
        """The system message stays; what is left is the conversation that `generate` is given."""
        settings = ("--context", 125, "-n", 20, *SAYS_LETTERS)
        reading, writing = os.pipe()
        os.write(writing, b"AAAAA\nBBBBB\nCCCCC\n")
        os.close(writing)
        with open(reading, "rb") as piped:
            done = self.works("chat", "--model", TARGET, "--system", "S", "--temperature", 0, *settings, stdin=piped)
        self.assertEqual(1, done.stderr.count(b"context of 125 tokens is full: the oldest 1 message and its answer are left out"), done.stderr)
        answers = done.stdout.decode().splitlines()
        prompt = f"<|im_start|>system\nS<|im_end|>\n{user('BBBBB')}{answers[1]}<|im_end|>\n"
        self.assertEqual(self.generated("-p", prompt + user("CCCCC"), *settings)["text"], answers[2])

    def test_commands_that_change_the_conversation(self):
        """What follows is what follows the conversation that they leave, as if it had been said so."""
        saved, report, settings = FOLDER / "saved.json", FOLDER / "chat.html", (*SAYS_LETTERS, "-n", 12)
        plain, _ = self.chat("A\nB\nC\n", *settings)
        answers, _ = self.chat(f"A\nB\n/save {saved}\nC\n/undo\n/undo\nB\n/regenerate\n", *settings)
        self.assertEqual([*plain, plain[1], plain[1]], answers)
        messages = [{"role": role, "content": text} for pair in zip("AB", plain) for role, text in zip(("user", "assistant"), pair)]
        self.assertEqual({"format": "augur conversation", "version": 1, "messages": messages}, json.loads(saved.read_text()))
        answers, _ = self.chat(f"/help\n/load {saved}\n/scheme lookup\n/report {report}\nC\n/scheme plain\n/undo\nC\n/system\n", *settings)
        self.assertEqual([plain[2]] * 2, answers[-2:])
        self.assertIn("/regenerate", "\n".join(answers[:-2]))
        self.assertIn(plain[2][-3:], report.read_text())
        answers, _ = self.chat("/system Be brief.\nHello\n/reset\nHello\n", *settings)
        self.assertEqual([self.generated("--chat", "-p", "Hello", "--system", "Be brief.", *settings)["text"]] * 2, answers)
        answers, _ = self.chat("A\n/regenerate\n", *settings, "--temperature", 2)
        self.assertNotEqual(*answers)
        self.assertEqual(self.generated("--chat", "-p", "A", *settings, "--temperature", 2, "--seed", 1)["text"], answers[1])

    def test_files_that_are_no_saved_conversations(self):
        path, turn = FOLDER / "bad.json", {"role": "user", "content": "A"}
        for messages, expected in (([turn], b"has no answer"), ([turn, turn], b"messages[1] is of 'user'"), ([{"role": "user"}], b"content"), (3, b"array")):
            path.write_text(json.dumps({"format": "augur conversation", "version": 1, "messages": messages}))
            self.assertIn(expected, self.chat(f"/load {path}\n", *SAYS_LETTERS, expect=1).stderr)
        path.write_text(json.dumps({"format": "augur run", "version": 1, "messages": []}))
        self.assertIn(b"'augur run'", self.chat(f"/load {path}\n", *SAYS_LETTERS, expect=1).stderr)

    def test_sampled_as_the_models_files_ask_for(self):
        keys = [tiny_model.pair(f"general.sampling.{key}", tiny_model.F32, value) for key, value in (("temp", 1.5), ("top_p", 0.75))]
        asks = tiny_model.write(FOLDER / "asks.gguf", words=tiny_model.tokenizer(tiny_model.CHATML) + keys)
        for model, asked, note in (
            (asks, ("--temperature", 1.5, "--top-p", 0.75), b"--temperature 1.5, --top-p 0.75, as "),
            (TARGET, ("--temperature", 0.7, "--top-p", 0.9), b"--temperature 0.7, --top-p 0.9, for the model's files do not say how"),
        ):
            done = self.works("chat", "--model", model, "-p", "A", *SAYS_LETTERS, "-n", 24, stdin=subprocess.DEVNULL)
            self.assertEqual(1, done.stderr.count(note), done.stderr)
            known = self.generated("--chat", "-p", "A", *SAYS_LETTERS, "-n", 24, *asked, model=model)["text"]
            self.assertEqual(known, done.stdout.decode().splitlines()[0])
        done = self.works("chat", "--model", TARGET, "--top-p", 0.5, stdin=subprocess.DEVNULL)
        self.assertIn(b"sampling: --temperature 0.7, for", done.stderr)
        given = self.works("chat", "--model", asks, "-p", "A", *SAYS_LETTERS, "-n", 24, "--temperature", 0, stdin=subprocess.DEVNULL)
        self.assertNotIn(b"sampling", given.stderr)
        self.assertEqual(self.generated("--chat", "-p", "A", *SAYS_LETTERS, "-n", 24, model=asks)["text"], given.stdout.decode().splitlines()[0])
        spoilt = [tiny_model.pair("general.sampling.top_p", tiny_model.F32, 1.5)]
        path = tiny_model.write(FOLDER / "spoilt.gguf", words=tiny_model.tokenizer(tiny_model.CHATML) + spoilt)
        self.refuses(["spoilt.gguf: top_p", "1.5"], "chat", "--model", path, "-p", "A")

    def test_sampled_as_generation_config_asks_for(self):
        template = {"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}
        for number, (config, asked, note) in enumerate((
            ({"do_sample": True, "top_k": 5, "repetition_penalty": 1.5}, ("--temperature", 1, "--top-k", 5, "--repetition-penalty", 1.5), b"--temperature 1, --top-k 5, --repetition-penalty 1.5, as "),
            ({"do_sample": False, "temperature": 2}, (), b"--temperature 0, as "),
            ({"eos_token_id": 2}, ("--temperature", 0.7, "--top-p", 0.9), b"--temperature 0.7, --top-p 0.9, for the model's files do not say how"),
        )):
            model = folder_model(f"asks_{number}", tokenizer_config=template, generation_config=config)
            done = self.works("chat", "--model", model, "-p", "A", *SAYS_LETTERS, "-n", 12, stdin=subprocess.DEVNULL)
            self.assertIn(b"sampling: " + note, done.stderr)
            known = self.generated("--chat", "-p", "A", *SAYS_LETTERS, "-n", 12, *asked, model=model)["text"]
            self.assertEqual(known, done.stdout.decode().splitlines()[0])
        model = folder_model("asks_nonsense", tokenizer_config=template, generation_config={"top_p": "x"})
        self.refuses(["generation_config.json", "top_p"], "chat", "--model", model, "-p", "A")

    def test_models_that_cannot_chat(self):
        for changes, expected in (({"chat_template": None}, "chat template"), ({"words": False}, "'augur chat'")):
            path = tiny_model.write(FOLDER / "mute.gguf", **changes)
            self.refuses(expected, "chat", "--model", path)
        self.refuses(["--model", "augur chat --help"], "chat")
        self.refuses(["nan"], "chat", "-m", tiny_model.write(FOLDER / "nan.gguf", spoil=float("nan")), "-p", "A", "--temperature", 0, printed=b"")

    def test_a_state_goes_on_from_answer_to_answer(self):
        path, said = FOLDER / "chat_state.json", ("--scheme", "lookup", "--threads", 1, *SAYS_LETTERS, "-n", 24)
        plain, _ = self.chat("\n".join(MESSAGES) + "\n", *said)
        for texts in (4, 8):
            answers, _ = self.chat("\n".join(MESSAGES) + "\n", *said, "--state", path)
            self.assertEqual(plain, answers)
            kept = json.loads(path.read_text())
            self.assertEqual((texts, ["chains"]), (kept["texts"], list(kept["policies"])))
        self.chat("A\n/reset\nB\n", *said, "--state", path)
        self.assertEqual(10, json.loads(path.read_text())["texts"])
        result = self.generated("-p", "A B A B", *said, "--state", path)
        self.assertEqual(10, result["settings"]["state_texts"])
        before = path.read_bytes()
        for more, expected in ((("--scheme", "plain"), ["--state", "plain"]), (("--scheme", "lookup", "--threads", 2), ["threads was", "'1'", "'2'"])):
            self.refuses(expected, "chat", "--model", TARGET, "-p", "A", "--state", path, *more)
            self.assertEqual(before, path.read_bytes())

    def test_an_answer_is_kept_before_the_next_line_is_awaited(self):
        path = FOLDER / "awaited_state.json"
        command = [PROGRAM, "chat", "-m", TARGET, "--scheme", "lookup", *SAYS_LETTERS, "-n", "8", "--temperature", "0", "--state", path]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0)
        process.stdin.write(b"A\n")
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertEqual(1, json.loads(path.read_text())["texts"])

    def test_whoever_reads_may_leave(self):
        process = subprocess.Popen(
            [PROGRAM, "chat", "-m", ENDLESS[2], "-p", "A", *SAYS_LETTERS, "-n", "100000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        )  # fmt: skip
        process.stdout.read(1)
        process.stdout.close()
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(-signal.SIGPIPE, process.wait())

    def test_control_c_ends_the_answer(self):
        process = subprocess.Popen(
            [PROGRAM, "chat", "-m", ENDLESS[2], "-n", str(1 << 20), *SAYS_LETTERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment(), bufsize=0,
        )  # fmt: skip
        for _ in range(2):
            process.stdin.write(b"A\n")
            process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            line = b""
            while not line.endswith(b"\n"):
                line += process.stdout.read(1)
            self.assertRegex(line, rb"\A[A-Z]*\n\Z")
        process.stdin.close()
        said = process.stderr.read().decode()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(0, process.wait())
        self.assertEqual(["by Ctrl-C"] * 2, [found["why"] for found in STATUS.finditer(said)])

    def test_control_c_is_heard_while_a_long_message_is_read(self):
        """It would take a quarter of an hour. Signals are caught from then on."""
        process = subprocess.Popen(
            [PROGRAM, "chat", "-m", ENDLESS[2], "-n", "5", "--scheme", "plain", *SAYS_LETTERS], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0,
        )  # fmt: skip
        for first in (b"", b"A\n"):
            process.stdin.write(first + b"ab" * 200_000 + b"\n")
            for expected in (rb"\A[A-Z]{5}\n\Z", rb"\A\n\Z")[0 if first else 1 :]:
                if expected == rb"\A\n\Z":
                    while not caught(process.pid) & 1 << (signal.SIGINT - 1):
                        time.sleep(0.01)
                    time.sleep(0.05)
                    process.send_signal(signal.SIGINT)
                self.assertRegex(process.stdout.readline(), expected)
            process.stdin.write(b"/reset\n")
        said, _ = process.communicate(), None
        self.assertEqual(0, process.returncode)
        found = [told.groupdict() for told in STATUS.finditer(said[1].decode())]
        self.assertEqual(["by Ctrl-C", "at --max-tokens", "by Ctrl-C"], [told["why"] for told in found])
        self.assertEqual(["0", "5", "0"], [told["tokens"] for told in found])


class Terminal(ProgramTest):
    """What a person sees and presses."""

    asked = ()

    def setUp(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        changes = environment(TERM="xterm-256color", AUGUR_FAMILY=str(FOLDER / "none"))
        command = [PROGRAM, "chat", "-m", ENDLESS[2], "-n", str(1 << 20), "--temperature", "0", *SAYS_LETTERS, *self.asked]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=changes, preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        )  # fmt: skip
        os.close(slave)
        self.master, self.seen = master, b""
        self.addCleanup(os.close, master)

    def wait_for(self, text):
        """All up to there; what follows is seen by the next call."""
        while not (found := re.search(text, self.seen)):
            self.seen += os.read(self.master, 1 << 16)
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def press(self, keys):
        os.write(self.master, keys)

    def test_what_is_pasted_is_one_message(self):
        self.wait_for(rb"\x1b\[\?2004h[^>]*> ")  # pastes are marked
        self.press(b"\x1b[200~/exit\nA\x1b[201~\n")
        self.wait_for(rb"tokens/s")
        self.press(b"\x03")
        self.wait_for(rb"\[by Ctrl-C: [^\n]*\n[^>]*> ")
        self.press(b"/exit\n")
        self.assertEqual(0, self.process.wait(timeout=60))

    def test_control_c_ends_the_answer_then_the_program(self):
        self.wait_for(rb"Ctrl-C ends an answer[^\n]*\n[^>]*> ")
        for turn in range(2):
            self.press(b"HELLO\n")
            seen = self.wait_for(rb"tokens/s")
            self.assertNotIn("\u25cf accepted".encode(), seen)  # colours come by --colour-origin alone
            self.press(b"\x03")
            self.wait_for(rb"\[by Ctrl-C: \d+ tokens[^\n]*\n[^>]*> ")
            self.assertIsNone(self.process.poll())
        self.press(b"\x03")
        self.assertEqual(-signal.SIGINT, self.process.wait(timeout=60))

    def test_control_d_ends_it(self):
        self.wait_for(rb"> ")
        self.press(b"\x04")
        self.assertEqual(0, self.process.wait(timeout=60))

    def test_a_mistake_does_not_end_it(self):
        self.wait_for(rb"> ")
        self.press(b"/quit\n")
        self.wait_for(rb"augur: error: the command '/quit' is unknown[^\n]*\n[^>]*> ")
        self.press(b"/exit\n")
        self.assertEqual(0, self.process.wait(timeout=60))


class Coloured(Terminal):
    """By who proposed the tokens."""

    asked = ("--colour-origin",)

    def test_control_c_ends_the_answer_then_the_program(self):
        self.wait_for(rb"> ")
        for turn in range(2):
            self.press(b"HELLO\n")
            self.assertEqual(turn == 0, "\u25cf accepted".encode() in self.wait_for(rb"tokens/s"))  # the legend, once
            self.press(b"\x03")
            self.wait_for(rb"\[by Ctrl-C: [^\n]*\n[^>]*> ")
        self.press(b"\x04")
        self.assertEqual(0, self.process.wait(timeout=60))

    test_control_d_ends_it = test_a_mistake_does_not_end_it = test_what_is_pasted_is_one_message = None


if __name__ == "__main__":
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as problem:
        print(f"skipped: no terminal can be opened here ({problem})")
        sys.exit(77)
    unittest.main()
