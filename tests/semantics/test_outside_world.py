"""What a program cannot do (F4): refused before it has happened, and done by dygraph by default."""

from __future__ import annotations

import itertools
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")

Made = tuple[dict[str, Any], Callable[[], Any]]
"""What a function finds in its globals, and what tells how often something has happened."""


OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def folder(tmp_path: Any) -> Made:
    return {"folder": tmp_path, "os": os, "np": np}, lambda: sorted(
        each.name for each in tmp_path.iterdir()
    )


def environment(tmp_path: Any) -> Made:
    os.environ["D2S_TEST_WORLD"] = ""
    return {"os": os}, lambda: os.environ["D2S_TEST_WORLD"]


def a_queue(tmp_path: Any) -> Made:
    things: queue.Queue[int] = queue.Queue()
    for number in range(9):
        things.put(number)
    return {"things": things}, things.qsize


def a_simple_queue(tmp_path: Any) -> Made:
    things: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(9):
        things.put(number)
    return {"things": things}, things.qsize


def an_event(tmp_path: Any) -> Made:
    event = threading.Event()
    return {"event": event}, event.is_set


def a_semaphore(tmp_path: Any) -> Made:
    permits = threading.Semaphore(9)
    return {"permits": permits}, lambda: permits._value


def a_database(tmp_path: Any) -> Made:
    base = sqlite3.connect(":memory:")
    OPENED.append(base)
    base.execute("create table t(a)")
    return {"base": base}, lambda: base.total_changes


def a_file(tmp_path: Any) -> Made:
    path = tmp_path / "lines"
    path.write_text("one\ntwo\nthree\nfour\nfive\n")
    file = path.open()
    OPENED.append(file)
    return {"file": file, "itertools": itertools}, file.tell


def iterators(tmp_path: Any) -> Made:
    seen = []
    made = {
        "ring": itertools.cycle([1, 2, 3]),
        "texts": map(str, range(9)),
        "items": iter(range(9)),
        "islice": itertools.islice,
        "seen": seen,
    }
    return made, lambda: list(seen)


def arrays(tmp_path: Any) -> Made:
    small, large = np.zeros(3), np.zeros(1_000_001)
    return {"small": small, "large": large, "np": np}, lambda: [small.tolist(), large[0]]


def a_module(tmp_path: Any) -> Made:
    return {}, lambda: 0


CASES = {
    "made folder": (folder, "os.mkdir(os.path.join(folder, str(len(os.listdir(folder)))))"),
    "touched path": (folder, "(folder / str(len(os.listdir(folder)))).touch()"),
    "saved array": (folder, "np.save(folder / str(len(os.listdir(folder))), np.zeros(2))"),
    "environment": (environment, "os.environ['D2S_TEST_WORLD'] += 'a'"),
    "queue": (a_queue, "r = things.get()"),
    "simple queue": (a_simple_queue, "r = things.get()"),
    "event": (an_event, "event.clear() if event.is_set() else event.set()"),
    "semaphore": (a_semaphore, "r = permits.acquire()"),
    "database": (a_database, "r = base.execute('insert into t values (1)').rowcount"),
    "read line": (a_file, "r = file.readline()"),
    "endless iterator": (iterators, "r = next(ring)\n    seen.append(r)"),
    "map": (iterators, "r = next(texts)\n    seen.append(r)"),
    "slice of an iterator": (iterators, "r = list(islice(items, 2))\n    seen.extend(r)"),
    "item of an array": (arrays, "small[0] += 1"),
    "filled array": (arrays, "large.fill(large[0] + 1)"),
    "function into an array": (arrays, "np.add.at(small, [0, 0], 1)"),
    "new global": (a_module, "globals()['fresh'] = r = globals().get('fresh', 0) + 1"),
}


def text_of(body: str, tail: str) -> str:
    return f"def f(x):\n    r = 0\n    {body}\n    y = x * 2 - x.mean() {tail}\n    return y, r"


@pytest.mark.parametrize("tail", ["", "+ x.numpy().tobytes()[0]"], ids=["alone", "before a break"])
@pytest.mark.parametrize(("make", "body"), CASES.values(), ids=CASES)
def test_by_default_it_happens_as_in_dygraph(
    make: Any, body: str, tail: str, tmp_path: Any
) -> None:
    """F4, H1: once on each call, also where a later statement is what ends the first capture."""
    seen = []
    for number, convert in enumerate((lambda f: f, d2s.to_static)):
        place = tmp_path / str(number)
        place.mkdir()
        scope, state = make(place)
        options = {} if number == 0 else {"full_graph": False}
        f = convert(function_of(text_of(body, tail), **scope), **options)
        calls = [f(tensor(1.0, float(call))) for call in range(3)]
        seen.append([(y.tolist(), r, state()) for y, r in calls] + [state()])
    assert seen[0] == seen[1]


@pytest.mark.parametrize(("make", "body"), CASES.values(), ids=CASES)
def test_one_program_refuses_it_before_it_happens(make: Any, body: str, tmp_path: Any) -> None:
    """F4: with the line; nothing has been taken, written or counted."""
    scope, state = make(tmp_path)
    before = state()
    f = d2s.to_static(function_of(text_of(body, ""), **scope), full_graph=True)
    with pytest.raises(UnsupportedInGraphError) as caught:
        f(tensor(1.0, 2.0))
    assert caught.value.line == 3
    assert state() == before


@pytest.mark.parametrize(
    "body",
    [
        "import time\n    r = time.time_ns()",
        "import time\n    r = time.perf_counter()",
        "import datetime\n    r = str(datetime.datetime.now())",
        "import uuid\n    r = str(uuid.uuid4())",
        "import os\n    r = os.urandom(8)",
        "import secrets\n    r = secrets.token_hex(8)",
    ],
)
def test_what_is_another_on_each_call(body: str) -> None:
    """F4, H1: the time of the capture is not that of a run."""
    f = d2s.to_static(function_of(text_of(body, "")), full_graph=False)
    results = [f(tensor(1.0, 2.0))[1] for _ in range(4)]
    assert len(set(results)) == 4
    with pytest.raises(UnsupportedInGraphError, match="on each call"):
        d2s.to_static(function_of(text_of(body, "")), full_graph=True)(tensor(1.0, 2.0))


def test_what_the_function_makes_itself_is_its_own() -> None:
    """F4: a queue, an iterator or a buffer of the call is part of the program."""

    def f(x):
        things = queue.Queue()
        things.put(2)
        ring = itertools.cycle([1, 2])
        return x * things.get() * next(ring) * next(ring)

    assert d2s.to_static(f, full_graph=True)(tensor(1.0, 2.0)).tolist() == [4.0, 8.0]


def test_paddle_is_asked_for_its_clock_by_nobody() -> None:
    """F4: functions that only look like those of a clock are called as they are."""

    class Clock:
        def time(self):
            return 3

    clock = Clock()

    def f(x):
        return x * clock.time() + paddle.ones([2])

    assert d2s.to_static(f, full_graph=True)(tensor(1.0, 2.0)).tolist() == [4.0, 7.0]


class Numbers(paddle.io.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return np.full([2], index, "float32")


@pytest.mark.parametrize(
    "body",
    [
        "for each in loader: x = x + each.mean()",
        "x = x + sum(each.mean() for each in loader)",
        "x = x + next(iter(loader)).mean()",
        "for k, each in enumerate(loader): x = x + k * each.mean()",
    ],
)
def test_batches_are_others_on_each_call(body: str) -> None:
    """F4, H1: a loader gave what no operation takes, in an error without a code."""
    text = f"def f(x):\n    {body}\n    return x * 2"
    loader = paddle.io.DataLoader(Numbers(), batch_size=2)
    plain = function_of(text, loader=loader)
    f = d2s.to_static(function_of(text, loader=loader), full_graph=False)
    for _ in range(3):
        assert f(tensor(1.0)).tolist() == plain(tensor(1.0)).tolist()
    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(function_of(text, loader=loader), full_graph=True)(tensor(1.0))
    assert caught.value.line == 2
