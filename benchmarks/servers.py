"""Ask a real server that echoes wrong log-probabilities, and measure how busy a server is kept.

llama-cpp-python's server runs in an environment of its own, which `make -C benchmarks test-servers` builds (about
seven minutes on two cores), with the packaged SmolLM2. Checked: its echo is refused, its likeliest next tokens are
used, and the letters that they favor are those of the same weights in transformers. How busy a server is kept is
measured on a stub in a process of its own, which answers each request after a fixed time.

    make -C benchmarks test-servers
    python benchmarks/servers.py --busy
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import urllib3

from rightreasons.models.choices import load_causal
from rightreasons.models.local import LocalEngine
from rightreasons.models.protocol import Request
from rightreasons.models.scorers import demo_language_model
from rightreasons.models.servers.client import CHAT, Client
from rightreasons.models.servers.endpoints import Endpoint
from rightreasons.models.servers.engine import ServerEngine
from rightreasons.models.servers.opening import open_server
from rightreasons.models.servers.options import ServerOptions

QUESTIONS = (
    ("What is the capital of France?", ("Berlin", "Paris", "Rome", "Madrid")),
    ("How many legs does a spider have?", ("eight", "six", "four", "ten")),
    ("Which of these is a fruit?", ("a chair", "a car", "an apple", "a shoe")),
    ("What color is the sky on a clear day?", ("green", "red", "black", "blue")),
    ("Where do fish live?", ("in trees", "in water", "in the sand", "in the sky")),
    ("What is 2 plus 3?", ("4", "6", "5", "7")),
)
LETTERS = ("A", "B", "C", "D")


@contextlib.contextmanager
def llama(python: Path) -> Iterator[str]:
    """Run llama-cpp-python's server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = f"{python} -m llama_cpp.server --host 127.0.0.1 --port {port} --logits_all true --n_ctx 1024 --model"
    server = subprocess.Popen(
        [*words.split(), str(demo_language_model())], stderr=subprocess.PIPE, text=True
    )
    try:
        for line in server.stderr or ():
            if "Uvicorn running" in line:
                break
        else:
            raise SystemExit("Expected llama-cpp-python's server to start, but it ended.")
        # Its log is read on, or it would wait for a reader.
        threading.Thread(target=server.stderr.read, daemon=True).start()  # type: ignore[union-attr]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def requests() -> list[Request]:
    made = []
    for question, choices in QUESTIONS:
        lines = "\n".join(
            f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=True)
        )
        text = f"Question: {question}\n{lines}\nThe letter is"
        made.append(Request(question, text, tuple(f" {letter}" for letter in LETTERS)))
    return made


def try_llama(python: Path) -> None:
    with llama(python) as url:
        engine = open_server(url, chat="off", timeout=600)
        if engine.abilities != {"next_words", "text", "constrained_text"}:
            raise SystemExit(
                f"Expected next words and held texts, but the server gives {sorted(engine.abilities)}."
            )
        served = engine.next_words(requests(), progress=False)
        answers = engine.generate(
            [Request("a", "The capital of France is")], max_new_tokens=6, progress=False
        )
    local = LocalEngine(load_causal(demo_language_model())).next_words(requests(), progress=False)
    shares = [
        [np.exp(row - np.logaddexp.reduce(row)) for row in side.values] for side in (served, local)
    ]
    print(f"The server generates {answers.texts[0][0]!r} after 'The capital of France is'.")
    print("Shares of the letters by the server | by the same weights in transformers:")
    for request, ours, theirs in zip(requests(), *shares, strict=True):
        print(f"  {request.name:40} {np.round(ours, 3)} | {np.round(theirs, 3)}")
    apart = max(float(np.abs(a - b).max()) for a, b in zip(*shares, strict=True))
    print(f"Largest difference of a share: {apart:.3f}")
    if served.failures or apart > 0.15:
        raise SystemExit(
            f"Expected letters as in transformers, but they differ by {apart:.3f}: {served.failures}"
        )


async def serve(delay: float) -> None:
    """Serve one answer, each time after `delay` seconds; /busy tells how many requests were in flight on average."""
    message = {"role": "assistant", "content": "ANSWER: B"}
    usage = {"prompt_tokens": 80, "completion_tokens": 4}
    choice = {"message": message, "finish_reason": "stop"}
    answer = json.dumps({"model": "toy", "choices": [choice], "usage": usage}).encode()
    now, since, busy = 0, 0.0, 0.0

    def count(change: int) -> None:
        nonlocal now, since, busy
        busy += now * (time.monotonic() - since)
        now, since = now + change, time.monotonic()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal busy
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                for size in re.findall(rb"content-length: (\d+)", head):
                    await reader.readexactly(int(size))
                if head.startswith(b"get /busy"):
                    body, busy = json.dumps(busy).encode(), 0.0
                else:
                    count(1)
                    await asyncio.sleep(delay)
                    count(-1)
                    body = answer
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def bare(url: str, bodies: Sequence[bytes], in_flight: int) -> None:
    """Send requests by urllib3 from as many threads as requests in flight, and read the replies as JSON alone."""
    pool, left = urllib3.PoolManager(maxsize=in_flight), iter(bodies)
    headers = {"Content-Type": "application/json"}

    def work() -> None:
        for body in left:
            json.loads(
                pool.request("POST", f"{url}/v1/chat/completions", body=body, headers=headers).data
            )

    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure_busy(
    in_flight: int = 16, delay: float = 0.05, count: int = 1000, rounds: int = 3
) -> None:
    """Measure the mean number of requests that a server works on, of those that may be in flight.

    Beside it, in the same process and by turns, that of a bare loop of urllib3, which is the bound.
    """
    stub = subprocess.Popen(
        [sys.executable, __file__, "--stub", str(delay)], stdout=subprocess.PIPE, text=True
    )
    try:
        url = f"http://127.0.0.1:{int((stub.stdout or sys.stdin).readline())}"
        client = Client(f"{url}/v1", ServerOptions(in_flight=in_flight))
        engine = ServerEngine(Endpoint(client, "toy", CHAT, works=True))
        turns = [
            {
                "role": "user",
                "content": "Which of these is it, what do you think? Answer with one line.",
            }
        ]
        questions = [
            Request(str(n), (*turns, {"role": "user", "content": f"Question {n}"}))
            for n in range(count)
        ]
        bodies = [
            json.dumps({"model": "toy", "messages": request.prompt}).encode()
            for request in questions
        ]

        def ours() -> None:
            client.answers.clear()  # each round asks all of it again
            with tempfile.TemporaryDirectory() as folder:
                engine.generate(questions, progress=False, out=Path(folder) / "run")

        ways = {"engine": ours, "bare loop": lambda: bare(url, bodies, in_flight)}
        engine.generate(questions[: 2 * in_flight], progress=False)
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, ask in ways.items():
                urllib3.request("GET", f"{url}/busy")
                begin, before = time.monotonic(), time.process_time()
                ask()
                seconds, used = time.monotonic() - begin, time.process_time() - before
                share = urllib3.request("GET", f"{url}/busy").json() / seconds / in_flight
                found[way].append((share, 1000 * used / count))
    finally:
        stub.kill()
    print(
        f"{count:,} requests of {delay} s, {in_flight} in flight, {rounds} rounds, load {os.getloadavg()[0]:.1f}"
    )
    for way, rows in found.items():
        share, used = np.median(rows, axis=0)
        print(
            f"{way:<10} {share:.1%} of the limit in flight, {used:.2f} ms of processor time per request"
        )
    print(f"ratio {np.median([a / b for (a, _), (b, _) in zip(*found.values(), strict=True)]):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--llama", type=Path, help="Python of an environment with llama-cpp-python[server]"
    )
    parser.add_argument(
        "--stub", type=float, help="serve one answer after so many seconds, for --busy"
    )
    parser.add_argument("--busy", action="store_true", help="measure how busy a server is kept")
    given = parser.parse_args()
    if given.stub is not None:
        asyncio.run(serve(given.stub))
    if given.busy:
        measure_busy()
        measure_busy(8, 0.4, 160)
    if given.llama is not None:
        try_llama(given.llama)


if __name__ == "__main__":
    sys.exit(main())
