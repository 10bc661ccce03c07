"""Peers in processes of their own: who is compared with whom, and every way one may end."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from d2s.bench.peers import NoReferenceError, measure
from d2s.bench.rounds import Settings, Started

SETTINGS = Settings(rounds=3, round_s=0.001, limit_s=60.0)


class Peer:
    """A task that says what it is told to say."""

    def __init__(self, value: float = 1.0, rounds=(0.5, 0.25, 0.75), note: str = "") -> None:
        self.value, self.rounds, self.note = value, iter(rounds), note

    def start(self, settings: Settings) -> Started:
        values = [[np.array(self.value)]] * 2
        return Started(2.0, values, 7, self.note)

    def round(self) -> float:
        return next(self.rounds)


class Warmed(Peer):
    def start(self, settings: Settings) -> Started:
        return Started(2.0, [[np.array(1.0)], [np.array(3.0)]], 1)


class Raising(Peer):
    def start(self, settings: Settings) -> Started:
        raise KeyError("no such thing")


class Paddles(Peer):
    def start(self, settings: Settings) -> Started:
        raise RuntimeError(
            "In user code:\n\n  File net.py, line 3\n\nNotFoundError: x is not there"
        )


class Crashing(Peer):
    def start(self, settings: Settings) -> Started:
        os._exit(3)


class Endless(Peer):
    def start(self, settings: Settings) -> Started:
        time.sleep(600)
        raise AssertionError


class EndsLater(Peer):
    def round(self) -> float:
        os._exit(4)


def run(**peers):
    return measure({"dygraph": Peer, **peers}, SETTINGS)


def test_a_timed_peer_has_its_figures() -> None:
    found = run(d2s=lambda: Peer(note="how"))["d2s"]
    assert (found.status, found.detail, found.first_s) == ("timed", "how", 2.0)
    assert found.rounds_s == [0.5, 0.25, 0.75]
    assert found.calls_per_round == 7
    assert found.best_s == 0.25


@pytest.mark.parametrize(
    ("peer", "status", "detail"),
    [
        (lambda: Peer(2.0), "wrong", "first call: value 0 is off by 1"),
        (Warmed, "wrong", "warm call: value 0 is off by 2"),
        (Raising, "fails", "KeyError: 'no such thing'"),
        (Paddles, "fails", "NotFoundError: x is not there"),
        (Crashing, "fails", "Crash: the process ended with 3"),
        (EndsLater, "fails", "Crash: the process ended with 4"),
        (lambda: 1 / 0, "fails", "ZeroDivisionError: division by zero"),
        (lambda: Peer(rounds=(0.5,)), "fails", "StopIteration: "),
    ],
)
def test_a_peer_that_cannot_be_timed_has_its_verdict(peer, status: str, detail: str) -> None:
    found = run(d2s=peer)
    assert (found["d2s"].status, found["d2s"].detail) == (status, detail)
    assert found["d2s"].rounds_s == []
    assert found["dygraph"].rounds_s == [0.5, 0.25, 0.75]


def test_a_peer_that_does_not_come_back_is_stopped() -> None:
    settings = Settings(rounds=1, limit_s=1.0)
    found = measure({"dygraph": Peer, "d2s": Endless}, settings)
    assert found["d2s"].detail == "Timeout: no answer in 1 s"


def test_nothing_is_measured_without_a_reference() -> None:
    with pytest.raises(NoReferenceError, match="dygraph fails: KeyError"):
        measure({"dygraph": Raising, "d2s": Peer}, SETTINGS)


def test_rounds_are_taken_in_turn() -> None:
    said: list[str] = []
    measure({"dygraph": Peer, "d2s": Peer}, SETTINGS, progress=said.append)
    assert said == [
        "dygraph: first calls",
        "d2s: first calls",
        *(f"round {number} of 3" for number in (1, 2, 3)),
    ]


def test_a_new_interpreter_does_the_same() -> None:
    found = measure({"dygraph": Peer}, SETTINGS, method="spawn")
    assert found["dygraph"].rounds_s == [0.5, 0.25, 0.75]
