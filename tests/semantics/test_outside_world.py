"""What a program cannot do (F4): refused before it has happened, and done by dygraph by default."""

from __future__ import annotations

import contextlib
import contextvars
import decimal
import functools
import gc
import itertools
import logging
import os
import queue
import sqlite3
import sys
import threading
import warnings
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
def _nothing_stays() -> Iterator[None]:
    known = np.geterr(), np.get_printoptions(), decimal.getcontext().prec, gc.get_threshold()
    interval, depth = sys.getswitchinterval(), sys.getrecursionlimit()
    with warnings.catch_warnings():
        yield
    np.seterr(**known[0])
    np.set_printoptions(**known[1])
    decimal.getcontext().prec = known[2]
    gc.set_threshold(*known[3])
    sys.setswitchinterval(interval)
    sys.setrecursionlimit(depth)
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


MODE: contextvars.ContextVar[int] = contextvars.ContextVar("MODE", default=0)


def settings(tmp_path: Any) -> Made:
    """What Python keeps for the whole process, as it is at first."""
    MODE.set(0)
    np.seterr(all="warn")
    np.set_printoptions(precision=3)
    decimal.getcontext().prec = 9
    gc.set_threshold(700)
    sys.setswitchinterval(0.005)
    sys.setrecursionlimit(3000)
    kept = [each for each in warnings.filters if not (each[1] and each[1].pattern.isdigit())]
    warnings.filters[:] = kept
    made: dict[str, Any] = {
        **{"MODE": MODE, "np": np, "decimal": decimal, "gc": gc, "sys": sys, "warnings": warnings},
        **{"kinds": {"warn": "ignore", "ignore": "print", "print": "warn"}, "paddle": paddle},
        "contextlib": contextlib,
    }
    return made, lambda: (
        *(MODE.get(), np.geterr()["over"], np.get_printoptions()["precision"]),
        *(decimal.getcontext().prec, gc.get_threshold()[0], round(sys.getswitchinterval(), 6)),
        *(paddle.get_default_dtype(), len(warnings.filters), sys.getrecursionlimit()),
    )


def a_logger(tmp_path: Any) -> Made:
    logger, handler = logging.Logger("d2s_test_world"), logging.NullHandler()
    return {"logger": logger, "handler": handler, "logging": logging}, lambda: (
        *(logger.level, logger.propagate, logger.disabled, len(logger.handlers), handler.level),
        logger.isEnabledFor(3),
    )


def remembering(tmp_path: Any) -> Made:
    calls: list[int] = []

    @functools.lru_cache
    def known(key):
        calls.append(key)
        return key * 2

    known(1)
    return {"known": known}, lambda: len(calls)


def threads(tmp_path: Any) -> Made:
    import concurrent.futures
    import threading

    seen: list[float] = []

    def work(value: Any) -> float:
        seen.append(round(float(np.asarray(value).sum()), 3))
        return seen[-1]

    scope = {"threading": threading, "Pool": concurrent.futures.ThreadPoolExecutor, "work": work}
    return scope, lambda: list(seen)


def a_bit_generator(tmp_path: Any) -> Made:
    rng = np.random.default_rng(3)
    return {"rng": rng}, lambda: rng.bit_generator.state["state"]["state"]


def a_view(tmp_path: Any) -> Made:
    view = memoryview(bytearray(3))
    return {"view": view}, view.tobytes


CASES = {
    "context variable": (settings, "r = MODE.set(MODE.get() + 1) is None"),
    "errors of NumPy": (settings, "np.seterr(over=kinds[np.geterr()['over']])"),
    "printing of NumPy": (
        settings,
        "np.set_printoptions(precision=np.get_printoptions()['precision'] + 1)",
    ),
    "collector": (settings, "gc.set_threshold(gc.get_threshold()[0] + 1)"),
    "switching": (settings, "sys.setswitchinterval(sys.getswitchinterval() + 0.001)"),
    "recursion": (settings, "sys.setrecursionlimit(sys.getrecursionlimit() + 1)"),
    "filters": (settings, "warnings.filterwarnings('ignore', str(len(warnings.filters)))"),
    "standard output": (
        settings,
        "with contextlib.redirect_stdout(None): r = print(x.shape)",
    ),
    "level": (a_logger, "logger.setLevel(logger.level + 1)"),
    "handler": (a_logger, "logger.addHandler(logging.NullHandler())"),
    "level of a handler": (a_logger, "handler.setLevel(handler.level + 1)"),
    "what is remembered": (remembering, "r = known(1), known.cache_clear()"),
    "thread": (
        threads,
        "t = threading.Thread(target=work, args=(x,)); t.start(); t.join()",
    ),
    "timer": (
        threads,
        "t = threading.Timer(0.0, work, (x,)); t.start(); t.join()",
    ),
    "pool": (threads, "with Pool(1) as pool: r = pool.submit(work, x).result()"),
    "map in a pool": (threads, "with Pool(1) as pool: r = list(pool.map(work, [x, x * 2]))"),
    "bit generator": (a_bit_generator, "rng.bit_generator.advance(3)"),
    "text that is run": (a_module, "exec('r = 2', {})"),
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
    "map": (iterators, "r = next(texts)\n    seen.append(r)"),
    "item of an array": (arrays, "small[0] += 1"),
    "filled array": (arrays, "large.fill(large[0] + 1)"),
    "function into an array": (arrays, "np.add.at(small, [0, 0], 1)"),
    "new global": (a_module, "globals()['fresh'] = r = globals().get('fresh', 0) + 1"),
}


AT_THE_HEAD = {
    "decimals": (settings, "decimal.getcontext().prec += 1"),
    "attribute of a logger": (a_logger, "logger.propagate = not logger.propagate"),
    "disabled logger": (a_logger, "logger.disabled = not logger.disabled"),
    "view of bytes": (a_view, "view[0] += 1"),
    "standard output by name": (
        settings,
        "before, sys.stdout = sys.stdout, None\n    print(3)\n    sys.stdout = before",
    ),
}
"""What is refused with the first line of the function."""


def text_of(body: str, tail: str) -> str:
    return f"def f(x):\n    r = 0\n    {body}\n    y = x * 2 - x.mean() {tail}\n    return y, r"


DONE = {
    "endless iterator": (iterators, "r = next(ring)\n    seen.append(r)"),
    "slice of an iterator": (iterators, "r = list(islice(items, 2))\n    seen.extend(r)"),
}
"""What a program does on each run."""


@pytest.mark.parametrize("tail", ["", "+ x.numpy().tobytes()[0]"], ids=["alone", "before a break"])
@pytest.mark.parametrize(
    ("make", "body"),
    [*CASES.values(), *AT_THE_HEAD.values(), *DONE.values()],
    ids=[*CASES, *AT_THE_HEAD, *DONE],
)
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


@pytest.mark.parametrize(("make", "body"), AT_THE_HEAD.values(), ids=AT_THE_HEAD)
def test_one_program_leaves_it_as_it_was(make: Any, body: str, tmp_path: Any) -> None:
    """F4: what was changed while the program was captured is undone."""
    scope, state = make(tmp_path)
    before = state()
    f = d2s.to_static(function_of(text_of(body, ""), **scope), full_graph=True)
    with pytest.raises(UnsupportedInGraphError):
        f(tensor(1.0, 2.0))
    assert state() == before


BALANCED = {
    "context variable": "token = MODE.set(5)\n    r = MODE.get()\n    MODE.reset(token)",
    "errors of NumPy": "with np.errstate(all='ignore'): r = np.geterr()['over']",
    "decimals": "with decimal.localcontext() as now:\n        now.prec = 2\n"
    "        r = str(decimal.Decimal(1) / 3)",
    "filters": "with warnings.catch_warnings():\n        warnings.simplefilter('error')",
    "dtype": "paddle.set_default_dtype('float64')\n    x = x + paddle.ones([2]).astype('float32')\n"
    "    paddle.set_default_dtype('float32')",
}


@pytest.mark.parametrize("body", BALANCED.values(), ids=BALANCED)
def test_what_ends_as_it_began_is_part_of_a_program(body: str, tmp_path: Any) -> None:
    """F4: a setting that the function itself takes back changes nothing outside."""
    scope, state = settings(tmp_path)
    before = state()
    plain, made = (function_of(text_of(body, ""), **scope) for _ in range(2))
    f = d2s.to_static(made, full_graph=True)
    for _ in range(2):
        want, got = plain(tensor(1.0, 2.0)), f(tensor(1.0, 2.0))
        assert (want[0].tolist(), want[1]) == (got[0].tolist(), got[1])
    assert state() == before


def test_attributes_of_modules_and_classes_of_libraries() -> None:
    """F4: each run assigns them, as those of the user's modules."""
    import json

    body = (
        "json.d2s_count += 1\n    kind.d2s_count = kind.d2s_count + 2\n    sys.d2s_list.append(1)"
    )
    kind = paddle.nn.Linear
    seen = []
    for full_graph in (None, True):
        json.d2s_count, kind.d2s_count, sys.d2s_list = 0, 0, []  # type: ignore[attr-defined]
        text = text_of(body, "")
        f = function_of(text, json=json, kind=kind, sys=sys)
        f = f if full_graph is None else d2s.to_static(f, full_graph=True)
        seen.append([])
        for _ in range(4):
            f(tensor(1.0, 2.0))
            seen[-1].append((json.d2s_count, kind.d2s_count, list(sys.d2s_list)))
    del json.d2s_count, kind.d2s_count, sys.d2s_list  # type: ignore[attr-defined]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", ["Accuracy", "Precision", "Recall"])
def test_a_capture_that_is_given_up_has_not_counted(name: str) -> None:
    """F4, H1: a metric of Paddle's that computes with NumPy counts each call once."""
    seen = []
    for convert in (lambda f: f, d2s.to_static(full_graph=False)):
        metric = getattr(paddle.metric, name)()

        @convert
        def f(x, metric=metric):
            y = paddle.tanh(x) * 2 - x.mean()
            labels = paddle.to_tensor([[1]] if name == "Accuracy" else [[1], [0]])
            correct = metric.compute(x.reshape([len(labels), -1]), labels)
            metric.update(*correct) if isinstance(correct, tuple) else metric.update(correct)
            return y

        for _ in range(3):
            f(tensor(0.25, 0.75))
        seen.append((metric.accumulate(), {k: str(v) for k, v in vars(metric).items()}))
    assert seen[0] == seen[1]


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


def test_what_another_thread_sets_meanwhile_is_no_matter_of_the_program() -> None:
    """F4, G4: a function was refused as another thread was within ``catch_warnings``."""

    @paddle.jit.not_to_static
    def elsewhere():
        thread = threading.Thread(target=warnings.simplefilter, args=("ignore",))
        thread.start()
        thread.join()

    def f(x):
        elsewhere()
        return x * 2

    assert d2s.to_static(f, full_graph=True)(tensor(1.0, 2.0)).tolist() == [2.0, 4.0]
