"""Clients that ask a server again and again, each as soon as it has its answer."""

from __future__ import annotations

import http.client
import json
import threading
import time
from urllib.parse import quote

CLIENTS = 32


def get(port, path):
    """One request: the body of its answer.

    Raises:
        OSError: the server says something else than 200.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        if answer.status != 200:
            raise OSError(f"{answer.status}: {body}")
        return body
    finally:
        connection.close()


def wait_for(port, prompt, seconds=60.0):
    """Until the server answers."""
    last = time.monotonic() + seconds
    while True:
        try:
            return get(port, f"/generate?prompt={quote(prompt)}")
        except ConnectionError:
            if time.monotonic() > last:
                raise
            time.sleep(0.05)


def play(port, expected, requests, clients=CLIENTS):
    """Ask ``requests`` times for the prompts of ``expected``; what it took.

    Args:
        port: where the server is.
        expected: prompt -> the text that dygraph writes.
        requests: how many, all clients together.
        clients: how many ask at once.
    """
    waits, tokens, wrong = [], [], []

    def client(number):
        prompts = list(expected)
        for turn in range(requests // clients):
            prompt = prompts[(number + turn) % len(prompts)]
            start = time.perf_counter()
            found = json.loads(get(port, f"/generate?prompt={quote(prompt)}"))
            waits.append(time.perf_counter() - start)
            tokens.append(found["tokens"])
            if found["text"] != expected[prompt]:
                wrong.append((prompt, found["text"]))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    waits.sort()
    return {
        "answered": len(waits),
        "wrong": wrong,
        "requests_s": len(waits) / seconds,
        "tokens_s": sum(tokens) / seconds,
        "median_s": waits[len(waits) // 2],
        "p99_s": waits[min(len(waits) - 1, int(len(waits) * 0.99))],
    }
