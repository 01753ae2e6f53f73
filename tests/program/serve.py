#!/usr/bin/env python3
"""augur serve: the API over HTTP gives the texts of `augur generate`, whoever else asks, hangs up or sends nonsense."""

import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from program import FOLDER, PROGRAM, PROMPTS, TARGET, ProgramTest, environment, run  # noqa: E402

if b"not in this build" in run("--help").stdout:
    print("this program was built without cpp-httplib")
    sys.exit(77)

KEYS = FOLDER / "keys"
KEYS.write_text("first\n\nsecond key\n", encoding="utf-8")
EMPTY = FOLDER / "no_keys"
EMPTY.write_text("\n\n", encoding="utf-8")
SETTINGS = (
    dict(temperature=0),
    dict(temperature=0.8, seed=5, top_p=0.9),
    dict(temperature=1, seed=7, min_p=0.02, top_k=50, repetition_penalty=1.3),
    dict(temperature=0.9, seed=11, presence_penalty=0.5, frequency_penalty=0.25, logit_bias={"70": 2, "71": -3.5}),
)


class Server:
    """A server on a port that was free."""

    def __init__(self, *arguments):
        command = [PROGRAM, "serve", "--model", TARGET, "--port", 0, *arguments]
        self.process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, env=environment(AUGUR_FAMILY="none"))
        said = self.process.stderr.readline().decode()
        self.port = int(re.search(r"serving target at http://127\.0\.0\.1:(\d+)\n", said).group(1))

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """Status and body, parsed where it is JSON."""
        asked = connection or self.connect()
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        asked.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = asked.getresponse()
        text = answer.read().decode("utf-8")
        if connection is None:
            asked.close()
        return answer.status, json.loads(text) if text.startswith("{") else text

    def complete(self, body, path="/v1/completions"):
        status, answer = self.ask("POST", path, body)
        assert status == 200, (status, answer)
        return answer

    def events(self, body, path="/v1/completions"):
        """All events of a stream but the last."""
        status, text = self.ask("POST", path, {**body, "stream": True})
        assert status == 200, (status, text)
        events = text.split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""], events[-3:]
        return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]

    def metric(self, name):
        lines = self.ask("GET", "/metrics")[1].splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(name + " ")), None)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self.process.stderr.close()
        return code


class Serve(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--together", 4, "--queue", 64, "--max-tokens", 200, "--max-body", 20000, "--client-seconds", 1)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.end() == 0

    def alone(self, prompt, settings, tokens, *more):
        flags = ["--prompt", prompt, "--scheme", "plain", "--max-tokens", tokens, *more]
        for key, value in settings.items():
            if key == "logit_bias":
                flags += [part for id, by in value.items() for part in ("--logit-bias", f"{id}={by}")]
            else:
                flags += ["--" + key.replace("_", "-"), value]
        return self.generated(*flags)

    def test_texts_are_those_of_generate(self):
        for number, settings in enumerate(SETTINGS):
            prompt = PROMPTS[number]
            alone = self.alone(prompt, settings, 24)
            asked = dict(prompt=prompt, max_tokens=24, model="target", **settings)
            whole = self.server.complete(asked)
            self.assertEqual(alone["text"], whole["choices"][0]["text"])
            ended = {"stop_token": "stop", "max_tokens": "length"}[alone["finish_reason"]]
            self.assertEqual(ended, whole["choices"][0]["finish_reason"])
            usage = whole["usage"]
            self.assertEqual([len(alone["prompt_ids"]), len(alone["ids"])], [usage["prompt_tokens"], usage["completion_tokens"]])
            self.assertEqual(usage["completion_tokens"], usage["accepted_tokens"] + usage["rounds"])
            self.assertLessEqual(usage["accepted_tokens"], usage["drafted_tokens"])
            plain = self.server.complete({**asked, "speculate": False})
            self.assertEqual((alone["text"], 0), (plain["choices"][0]["text"], plain["usage"]["drafted_tokens"]))
            ids = self.server.complete({**asked, "prompt": alone["prompt_ids"]})
            self.assertEqual(whole["choices"], ids["choices"])
            events = self.server.events({**asked, "stream_options": {"include_usage": True}})
            self.assertEqual(alone["text"], "".join(event["choices"][0]["text"] for event in events[:-1]))
            self.assertEqual(ended, events[-2]["choices"][0]["finish_reason"])
            self.assertEqual(([], usage["completion_tokens"]), (events[-1]["choices"], events[-1]["usage"]["completion_tokens"]))
            self.assertEqual(1, len({event["id"] for event in events}))

    def test_conversations_are_those_of_generate(self):
        alone = self.alone("the cat", dict(temperature=0.8, seed=3), 20, "--chat", "--system", "Be brief.")
        messages = [dict(role="system", content="Be brief."), dict(role="user", content=[dict(type="text", text="the cat")])]
        asked = dict(messages=messages, temperature=0.8, seed=3, max_completion_tokens=20)
        whole = self.server.complete(asked, "/v1/chat/completions")
        self.assertEqual({"role": "assistant", "content": alone["text"]}, whole["choices"][0]["message"])
        self.assertEqual(len(alone["prompt_ids"]), whole["usage"]["prompt_tokens"])
        events = self.server.events(asked, "/v1/chat/completions")
        self.assertEqual("assistant", events[0]["choices"][0]["delta"]["role"])
        self.assertEqual(alone["text"], "".join(event["choices"][0]["delta"].get("content", "") for event in events))

    def test_several_texts_and_stops(self):
        seeds = [self.alone("the cat", dict(temperature=1, seed=seed), 30)["text"] for seed in (4, 5, 6)]
        asked = dict(prompt=["the cat", "one"], n=3, seed=4, temperature=1, max_tokens=30)
        whole = self.server.complete(asked)
        self.assertEqual([*range(6)], [choice["index"] for choice in whole["choices"]])
        self.assertEqual(seeds, [choice["text"] for choice in whole["choices"][:3]])
        texts = {}
        for event in self.server.events(asked):
            choice = event["choices"][0]
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
        self.assertEqual([choice["text"] for choice in whole["choices"]], [texts[i] for i in range(6)])
        stop = next(letter for letter in seeds[0][3:] if letter.isalnum() and letter.isascii())
        cut = self.server.complete(dict(prompt="the cat", seed=4, temperature=1, max_tokens=30, stop=[stop, "never this"]))
        self.assertEqual((seeds[0].split(stop)[0], "stop"), (cut["choices"][0]["text"], cut["choices"][0]["finish_reason"]))

    def test_models_tokens_health_and_metrics(self):
        self.assertEqual((200, {"status": "ok"}), self.server.ask("GET", "/health"))
        self.assertEqual("target", self.server.ask("GET", "/v1/models")[1]["data"][0]["id"])
        tokens = self.server.ask("POST", "/tokenize", dict(content="the cat<|im_end|>"))[1]["tokens"]
        self.assertEqual(self.object("tokenize", "--model", TARGET, "--prompt", "the cat<|im_end|>")["ids"], tokens)
        self.assertEqual({"content": "the cat<|im_end|>"}, self.server.ask("POST", "/detokenize", dict(tokens=tokens))[1])
        before = self.server.metric("augur_generated_tokens_total")
        answer = self.server.complete(dict(prompt="a", max_tokens=5, ignore_eos=True))
        self.assertEqual(5, answer["usage"]["completion_tokens"])
        self.assertEqual(before + 5, self.server.metric("augur_generated_tokens_total"))
        for line in self.server.ask("GET", "/metrics")[1].splitlines():
            self.assertRegex(line, r'\A(# (HELP|TYPE) augur_\w+ .+|augur_\w+(\{\w+="\w+"\})? [0-9.e+-]+)\Z')

    def refused(self, expected, body, path="/v1/completions", status=400, param=None, **options):
        code, answer = self.server.ask("POST", path, body, **options)
        self.assertEqual(status, code, answer)
        self.assertEqual({"message", "type", "code", "param"}, answer["error"].keys())
        self.assertIn(expected, answer["error"]["message"])
        if param:
            self.assertEqual(param, answer["error"]["param"])

    def test_what_cannot_be_served_is_refused_with_its_values(self):
        for expected, param, change in (
            ("'max_token' is unknown", "max_token", dict(max_token=3)),
            ("max_tokens is 201; it must be 1 to 200", "max_tokens", dict(max_tokens=201)),
            ("temperature must be a number", "temperature", dict(temperature="hot")),
            ("-1", "temperature", dict(temperature=-1)),
            ("1.5", "top_p", dict(top_p=1.5)),
            ("must be a whole number", "n", dict(n=1.5)),
            ("n must be a whole number within 1..64", "n", dict(n=0)),
            ("best_of is 2 and n is 1", "best_of", dict(best_of=2)),
            ("999", "logit_bias", dict(logit_bias={"999": 1})),
            ("logit_bias is 'cat'", "logit_bias", dict(logit_bias={"cat": 1})),
            ("within -100..100", "logit_bias", dict(logit_bias={"5": 101})),
            ("stop string is empty", "stop", dict(stop="")),
            ("log-probabilities are not served", "logprobs", dict(logprobs=2)),
            ("stream_options needs stream", "stream_options", dict(stream_options={"include_usage": True})),
            ("prompt has 0 bytes", "prompt", dict(prompt="")),
            ("prompt[1]", "prompt[1]", dict(prompt=["a", 5])),
            ("999", "prompt", dict(prompt=[5, 999])),
            ("context", None, dict(prompt=[5] * 2000)),
        ):
            self.refused(expected, {"prompt": "a", **change}, param=param)
        self.refused("'other' is not served here; 'target' is", dict(prompt="a", model="other"), status=404, param="model")
        chat = "/v1/chat/completions"
        self.refused("at least one message", dict(messages=[]), chat, param="messages")
        self.refused("'judge'; valid are", dict(messages=[dict(role="judge", content="a")]), chat)
        self.refused("type 'image_url'", dict(messages=[dict(role="user", content=[dict(type="image_url")])]), chat)
        one = [dict(role="user", content="a")]
        self.refused("max_tokens is 3 and max_completion_tokens 4", dict(messages=one, max_tokens=3, max_completion_tokens=4), chat)
        self.refused("tools are not served", dict(messages=one, tools=[{}]), chat, param="tools")
        for body in (b"", b"{", b"[]", b"\xff", b'{"prompt":"a","prompt":"b"}', b"[" * 1000, b'{"prompt":"\\ud800"}', b"nul"):
            self.assertEqual(400, self.server.ask("POST", "/v1/completions", body)[0], body)
        self.refused("20000 bytes", b'{"prompt":"' + b"a" * 30000 + b'"}', status=413)
        self.refused("20000 bytes", b'{"prompt":"' + b"a" * 3000000 + b'"}', status=413)
        self.refused("'text/plain'", b"{}", status=415, headers={"Content-Type": "text/plain"})
        self.refused("'gzip'", b"{}", status=415, headers={"Content-Encoding": "gzip"})
        self.refused("there is no 'POST /v1/nothing'", {}, "/v1/nothing", status=404)
        self.assertEqual(404, self.server.ask("GET", "/../etc/passwd")[0])

    def test_sixteen_clients_of_whom_half_hang_up(self):
        asked = dict(prompt="0123456789" * 8, temperature=0.7, max_tokens=60, ignore_eos=True)
        alone = self.alone(asked["prompt"], dict(temperature=0.7, seed=2), 60, "--ignore-eos")["text"]
        texts = []

        def stay(number):
            body = {**asked, "seed": 2}
            if number % 4:
                texts.append(self.server.complete(body)["choices"][0]["text"])
            else:
                texts.append("".join(event["choices"][0]["text"] for event in self.server.events(body)))

        def hang_up(number):
            client = self.server.connect()
            body = json.dumps({**asked, "seed": number, "max_tokens": 200, "stream": number % 4 == 1})
            client.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            if number % 4 == 1:
                client.getresponse().read(10)
            client.close()

        clients = [threading.Thread(target=hang_up if i % 2 else stay, args=(i,)) for i in range(16)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual([alone] * 8, texts)
        until = time.monotonic() + 20
        busy = ("augur_batch_texts", "augur_texts_waiting", "augur_texts_prefilling", "augur_cache_reserved_tokens")
        while any(self.server.metric(name) for name in busy):
            self.assertLess(time.monotonic(), until, "a text of a client that has hung up is still served")

    def test_clients_that_are_slow_hold_nothing(self):
        """One sends half a request, one sends it in drops, one does not read: each is closed, and others are served."""
        held = [socket.socket() for _ in range(3)]
        for each in held:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.connect(("127.0.0.1", self.server.port))
        head = b"POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
        held[0].sendall(head)
        body = json.dumps(dict(prompt="a", max_tokens=200, n=16, ignore_eos=True, stream=True)).encode()
        held[2].sendall(head.replace(b"100", b"%d" % len(body)) + b"\r\n" + body)
        until = time.monotonic() + 20
        while self.server.metric("augur_http_connections") > 1:  # that of the question
            self.assertLess(time.monotonic(), until, "a slow client still has its connection")
            try:
                held[1].send(b"P")
            except OSError:  # closed
                pass
            time.sleep(0.05)
        read = b""
        try:
            while part := held[2].recv(1 << 16):
                read += part
        except OSError:  # it was reset
            pass
        self.assertTrue(read.startswith(b"HTTP/1.1 200 OK") and b"[DONE]" not in read, f"{len(read)} bytes")
        for each in held:
            each.close()

    def test_a_connection_serves_several_requests(self):
        connection = self.server.connect()
        for _ in range(3):
            self.assertEqual(200, self.server.ask("GET", "/health", connection=connection)[0])
        connection.close()


class Limits(ProgramTest):
    def test_keys_queue_and_connections(self):
        server = Server("--api-key-file", KEYS, "--together", 1, "--queue", 1, "--connections", 8, "--scheme", "plain")
        for key, status in (("Bearer first", 200), ("Bearer second key", 200), ("Bearer third", 401), ("first", 401)):
            self.assertEqual(status, server.ask("GET", "/v1/models", headers={"Authorization": key})[0], key)
        status, answer = server.ask("POST", "/v1/completions", dict(prompt="a"))
        self.assertEqual((401, "invalid_api_key"), (status, answer["error"]["code"]))
        self.assertEqual(200, server.ask("GET", "/health")[0])
        known = {"Authorization": "Bearer first"}
        status, answer = server.ask("POST", "/v1/completions", dict(prompt="a", n=8, max_tokens=50), known)
        self.assertEqual((429, "queue_full"), (status, answer["error"]["code"]))
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        status, answer = server.ask("GET", "/health")
        self.assertEqual((429, "too_many_connections"), (status, answer["error"]["code"]))
        for each in held:
            each.close()
        self.assertEqual(0, server.end(signal.SIGINT))

    def test_sigterm_finishes_what_is_running(self):
        server = Server("--together", 2)
        whole = dict(prompt="the cat", temperature=0, max_tokens=150, ignore_eos=True)
        got = []
        clients = [threading.Thread(target=lambda: got.append(server.events(whole))) for _ in range(2)]
        for client in clients:
            client.start()
        while not server.metric("augur_generated_tokens_total"):
            time.sleep(0.002)
        self.assertEqual(0, server.end())
        for client in clients:
            client.join()
        alone = self.generated("--prompt", "the cat", "--max-tokens", 150, "--ignore-eos", "--scheme", "plain")["text"]
        self.assertEqual([alone] * 2, ["".join(event["choices"][0]["text"] for event in events) for events in got])
        with self.assertRaises(ConnectionRefusedError):
            server.ask("GET", "/health")

    def test_a_deadline_is_an_error(self):
        server = Server("--request-seconds", 0.001)
        status, answer = server.ask("POST", "/v1/completions", dict(prompt="a", max_tokens=200, ignore_eos=True))
        self.assertEqual((504, "deadline"), (status, answer["error"]["code"]))
        self.assertEqual(0, server.end())

    def test_settings_are_refused(self):
        for expected, *given in (
            ("--scheme is 'sd'; valid are lookup, plain", "--scheme", "sd"),
            ("--length is 3, but the scheme is 'plain'", "--scheme", "plain", "--length", 3),
            ("--together is 0", "--together", 0),
            ("holds no key", "--api-key-file", EMPTY),
            ("--host 'nowhere.invalid'", "--host", "nowhere.invalid"),
        ):
            self.refuses(expected, "serve", "--model", TARGET, *given)

    def test_the_clients_of_openai(self):
        try:
            import openai
        except ImportError:
            self.skipTest("the package openai is not installed")
        server = Server()
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
        asked = dict(model="target", messages=[dict(role="user", content="the cat")], temperature=0, max_tokens=20)
        alone = self.generated("--chat", "--prompt", "the cat", "--max-tokens", 20, "--scheme", "plain")["text"]
        self.assertEqual(alone, client.chat.completions.create(**asked).choices[0].message.content)
        stream = client.chat.completions.create(**asked, stream=True)
        self.assertEqual(alone, "".join(chunk.choices[0].delta.content or "" for chunk in stream))
        with self.assertRaises(openai.BadRequestError):
            client.chat.completions.create(**{**asked, "max_tokens": 10**6})
        client.close()
        self.assertEqual(0, server.end())


if __name__ == "__main__":
    unittest.main()
