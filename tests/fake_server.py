"""An OpenAI-compatible server in a thread, with a language model whose every log-probability is known; it can fail on
purpose."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import math
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np

PIECES = re.compile(r" ?[A-Za-z]+|\s|[^A-Za-z\s]")
WORDS = [
    " Paris",
    " five",
    " six",
    " February",
    " A",
    " B",
    " C",
    " positive",
    " negative",
    " neutral",
    " the",
    ".",
]


def cut(text: str) -> list[str]:
    """Cut a text into tokens: words with the space before them, and single marks."""
    return PIECES.findall(text)


# Each text is scored from many contexts with the same last tokens.
@functools.cache
def draw_distribution(seed: int, tokens: tuple[str, ...], is_trial: bool) -> dict[str, float]:
    """Draw the log-probabilities of `WORDS` after two tokens.

    Args:
        seed: The model.
        tokens: The last two tokens of the context.
        is_trial: Whether the context is the question of the trial, to which the model knows the answer.
    """
    digest = hashlib.blake2b(json.dumps([seed, tokens]).encode(), digest_size=8).digest()
    logits = np.random.default_rng(int.from_bytes(digest, "little")).normal(0, 2, len(WORDS))
    if is_trial:
        logits[WORDS.index(" C")] += 20
    logprobs = logits - np.log(np.exp(logits).sum()) + math.log(0.9)
    return dict(zip(WORDS, logprobs.tolist(), strict=True))


class ToyModel:
    """Its next token depends on the last two: logits drawn by their hash, over `WORDS` and the rest as one share."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def distribution(self, context: list[str]) -> dict[str, float]:
        """Return the log-probabilities of `WORDS`; the rest is a tenth of all."""
        is_trial = " color" in context
        return draw_distribution(self.seed, tuple(context[-2:]), is_trial)

    def logprob(self, context: list[str], token: str) -> float:
        """Return the log-probability of a token; one outside `WORDS` has a share of the tenth by its length."""
        return self.distribution(context).get(token, math.log(0.1) - 2.0 * len(token))

    def likelihood(self, prompt: str, text: str) -> float:
        """Return the log-likelihood of a text that follows a prompt."""
        tokens, before = cut(prompt + text), len(cut(prompt))
        return sum(
            self.logprob(tokens[:place], tokens[place]) for place in range(before, len(tokens))
        )

    def generate(self, context: list[str], count: int, temperature: float, seed: int) -> list[str]:
        """Generate tokens."""
        rng, tokens = np.random.default_rng(seed), list(context)
        for _ in range(count):
            options = self.distribution(tokens)
            shares = np.exp(np.array(list(options.values())))
            pick = (
                rng.choice(len(shares), p=shares / shares.sum()) if temperature else shares.argmax()
            )
            tokens.append(list(options)[int(pick)])
        return tokens[len(context) :]


class RefusedError(Exception):
    """A request that a server refuses, by its status and the reason."""


class FakeServer:
    """The server.

    Attributes:
        model: Its language model.
        names: What `/models` lists.
        faults: Called with (number of the request, body) before each answer; what it returns replaces the answer:
            (status, headers, body), or None to answer.
        change: Called with the reply, which it may change.
        lacks: What it does not do: "models", "chat", "text", "echo" (ignored), "logprobs" (ignored).
        refuses: Parameters that it answers with status 400.
        holds: The parameter by which it holds answers to given ones; "" for none, as all are ignored.
        longest: Tokens after which it ends by itself.
        delay: Seconds that an answer takes.
        close: Ends the server.
    """

    def __init__(self) -> None:
        self.model = ToyModel()
        self.names = ["toy"]
        self.fingerprint = "fp_1"
        self.faults: Callable[[int, dict], tuple[int, dict, str] | None] = lambda number, body: None
        self.change: Callable[[dict, dict], None] = lambda body, reply: None
        self.lacks: set[str] = set()
        self.refuses: set[str] = set()
        self.holds = ""
        self.longest = 1 << 30
        self.key = ""
        self.delay = 0.0
        self.bodies: list[dict] = []
        self.headers: list[dict] = []
        self.answered: Counter[str] = Counter()
        self.most = 0
        self._busy = 0
        self.lock = threading.Lock()
        self.url = ""
        self.close: Callable[[], None] = lambda: None
        self.closed = False

    def _count(self, change: int) -> None:
        """Count the requests in flight, and the most of them so far."""
        with self.lock:
            self._busy += change
            self.most = max(self.most, self._busy)

    def reset(self) -> None:
        """Forget what was counted."""
        with self.lock:
            self.bodies = []
            self.answered = Counter()
            self.most = 0

    def answer(self, path: str, body: dict, headers: dict) -> tuple[int, dict, str]:
        """Answer a request."""
        with self.lock:
            number = len(self.bodies)
            self.bodies.append({"path": path, **body})
            self.headers.append({name.lower(): value for name, value in headers.items()})
        if self.key and headers.get("Authorization") != f"Bearer {self.key}":
            return (
                401,
                {},
                json.dumps(
                    {"error": {"message": f"Incorrect API key: {headers.get('Authorization')}"}}
                ),
            )
        if path == "/v1/models" and "models" not in self.lacks:
            return (
                200,
                {},
                json.dumps({"data": [{"id": name, "object": "model"} for name in self.names]}),
            )
        self._count(1)
        try:
            time.sleep(self.delay)
            fault = self.faults(number, body)
            if fault is not None:
                return fault
            for name in self.refuses & set(body):
                return (
                    400,
                    {},
                    json.dumps(
                        {"error": {"message": f"Unsupported parameter: '{name}'.", "param": name}}
                    ),
                )
            chat = path == "/v1/chat/completions"
            if ("chat" if chat else "text") in self.lacks or not (
                chat or path == "/v1/completions"
            ):
                return 404, {}, json.dumps({"detail": "Not Found"})
            try:
                reply = self.chat(body) if chat else self.complete(body)
            except RefusedError as refused:
                status, reason = refused.args
                return status, {}, json.dumps({"error": {"message": reason}})
            if self.holds in body:
                self._hold(body, reply)
            self.change(body, reply)
            self.answered[body_text(body)] += 1
            return 200, {}, json.dumps(reply)
        finally:
            self._count(-1)

    def _hold(self, body: dict, reply: dict) -> None:
        """Answer with the given answer that the reply holds, or the last one; the words are those of each server."""
        told = body[self.holds]
        if self.holds == "grammar":
            assert told.startswith("root ::= ")
            given = [json.loads(part) for part in told.removeprefix("root ::= ").split(" | ")]
        elif self.holds == "response_format":
            assert told["type"] == "json_schema"
            given = told["json_schema"]["schema"]["properties"]["answer"]["enum"]
        else:
            given = told["choice"] if self.holds == "structured_outputs" else told
        choice = reply["choices"][0]
        said = choice["message"]["content"] if "message" in choice else choice["text"]
        answer = next((each for each in given if each in PIECES.findall(said or "")), given[-1])
        text = json.dumps({"answer": answer}) if self.holds == "response_format" else answer
        choice["finish_reason"] = "stop"
        if "message" in choice:
            choice["message"]["content"] = text
        else:
            choice["text"] = text

    def complete(self, body: dict) -> dict:
        """Continue a text."""
        given = cut(body["prompt"])
        echoed = given if body.get("echo") and "echo" not in self.lacks else []
        new = self._new(given, body)
        choice = {"text": "".join(echoed + new), "finish_reason": self._end(body), "logprobs": None}
        if body.get("logprobs") is not None and "logprobs" not in self.lacks:
            start = len(given) - len(echoed)
            whole = given + new
            logprobs = [
                self.model.logprob(whole[:p], whole[p]) if p else None
                for p in range(start, len(whole))
            ]
            tops = [
                self._top(whole[:place], body["logprobs"]) for place in range(start, len(whole))
            ]
            choice["logprobs"] = {
                "tokens": whole[start:],
                "token_logprobs": logprobs,
                "top_logprobs": tops,
            }
        return self._reply([choice], len(given), len(new))

    def chat(self, body: dict) -> dict:
        """Answer a conversation."""
        given = self.template(body)
        new = self._new(given, body)
        choice = {
            "message": {"role": "assistant", "content": "".join(new)},
            "finish_reason": self._end(body),
        }
        if body.get("logprobs") and "logprobs" not in self.lacks:
            content = []
            for place, token in enumerate(new):
                top = self._top(given + new[:place], body.get("top_logprobs", 0))
                told = [{"token": word, "logprob": value} for word, value in top.items()]
                logprob = self.model.logprob(given + new[:place], token)
                content.append({"token": token, "logprob": logprob, "top_logprobs": told})
            choice["logprobs"] = {"content": content}
        reply = self._reply([choice], len(given), len(new))
        if "prompt_logprobs" in body and "echo" not in self.lacks:
            reply["prompt_logprobs"] = [
                {
                    str(p): {
                        "decoded_token": given[p],
                        "logprob": self.model.logprob(given[:p], given[p]),
                    }
                }
                if p
                else None
                for p in range(len(given))
            ]
        return reply

    def template(self, body: dict) -> list[str]:
        """Return the tokens of a conversation."""
        text = "".join(f"<{turn['role']}>{turn['content']}\n" for turn in body["messages"])
        continued = body.get("continue_final_message")
        return cut(text.removesuffix("\n") if continued else text + "<assistant>")

    def _new(self, given: list[str], body: dict) -> list[str]:
        count = min(body["max_tokens"], self.longest)
        return self.model.generate(given, count, body.get("temperature", 1.0), body.get("seed", 0))

    def _end(self, body: dict) -> str:
        return "stop" if self.longest < body["max_tokens"] else "length"

    def _top(self, context: list[str], count: int) -> dict[str, float]:
        options = self.model.distribution(context)
        return dict(sorted(options.items(), key=lambda pair: -pair[1])[:count])

    def _reply(self, choices: list[dict], prompt: int, new: int) -> dict:
        usage = {"prompt_tokens": prompt, "completion_tokens": new, "total_tokens": prompt + new}
        return {
            "model": self.names[0],
            "system_fingerprint": self.fingerprint,
            "choices": choices,
            "usage": usage,
        }


def body_text(body: dict) -> str:
    """Return what a request asks, as one text."""
    return (
        body["prompt"]
        if "prompt" in body
        else "\n".join(turn["content"] for turn in body["messages"])
    )


@contextmanager
def serving():
    """Run a server on a free port of this machine."""
    fake = FakeServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet per answer
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.respond({})

        def do_POST(self):
            self.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def respond(self, body):
            if fake.closed:
                self.close_connection = True
                return
            status, headers, text = fake.answer(self.path, body, self.headers)
            if status == 0:  # half an answer: the connection ends in the middle of it
                self.wfile.write(
                    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"ch'
                )
                self.wfile.flush()
                self.close_connection = True
                return
            data = text.encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_):
            pass  # a client that went away

    server = Server(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}/v1"

    def close() -> None:
        fake.closed = True
        server.shutdown()
        server.server_close()

    fake.close = close
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(
        1e-4
    )  # client and server are threads of one process, and wait for each other
    try:
        yield fake
    finally:
        sys.setswitchinterval(interval)
        if not fake.closed:
            fake.close()
