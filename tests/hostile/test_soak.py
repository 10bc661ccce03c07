"""One process for long: functions that come and go, calls of many shapes; nothing is left behind.

The quick tests count objects, cache entries, file handles, files and threads.  The slow one samples
the memory of a process of its own (``python tests/hostile/test_soak.py FUNCTIONS CALLS``).
"""

from __future__ import annotations

import gc
import json
import linecache
import os
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from d2s import conversion
from d2s.paddle_bridge.running.prepared import ENOUGH
from d2s.syntax import source

ROOT = Path(__file__).resolve().parents[2]

TEXT = """\
def f(x, bias={number}):
    y = x * {number}
    if y.sum() > 0:
        y = y + bias
    while y.abs().max() > 100:
        y = y * 0.5
    return y
"""

PER_FUNCTION = 0.15
"""Megabytes that a function of two programs, converted and dropped, may leave behind.

It is 0.05, and not ours: a ``while_loop`` of ``paddle.static``, made, run and dropped, leaves 0.02.
"""

FOR_CALLS = 20.0
"""Megabytes that all calls together may add: none for each of them."""

THREADS = 4 * ENOUGH
"""Threads that a process may have: two for a program, and as many may wait for their end."""


def made(number: int) -> Any:
    """A function of its own, with a text that ``linecache`` knows."""
    file = f"<soak {number}>"
    text = TEXT.format(number=number)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "soak"}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def drop(function: Any) -> None:
    """Take back what :func:`made` has put into ``linecache``."""
    linecache.cache.pop(function.__code__.co_filename)


def megabytes() -> float:
    """The resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def threads() -> int:
    """How many threads this process has, Paddle's among them."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def handles() -> int:
    """How many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def kept() -> dict[str, int]:
    """Sizes of what d2s keeps, and of what it writes into."""
    return {
        "conversion._known": len(conversion._known),
        "conversion._made": len(conversion._made),
        "conversion._plain": len(conversion._plain),
        "source._files": max(len(source._files), source.FILES),
        "linecache": len(linecache.cache),
        "handles": handles(),
    }


def use(number: int, shapes: int) -> tuple[weakref.ref[Any], weakref.ref[Any]]:
    """Convert a function, call it, and drop it."""
    plain = made(number)
    function = d2s.to_static(plain)
    for size in range(1, shapes + 1):
        function(paddle.ones([size]))
    assert len(function.programs) <= 3, "one of size 1, one for the next shape, one for all others"
    drop(plain)
    return weakref.ref(function), weakref.ref(plain)


def test_functions_that_come_and_go_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G2: neither objects, nor cache entries, nor handles, nor files; few programs for shapes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    use(0, 4)  # what is made once in a process
    gc.collect()
    before = kept()
    found = [use(number, 8) for number in range(1, 13)]
    gc.collect()
    assert [each for pair in found for each in pair if each() is not None] == []
    assert kept() == before
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_fails_leaves_nothing() -> None:
    """G2: a capture that fails, and an error on the run, keep neither frames nor arguments."""

    def fails(x: Any, y: Any) -> Any:
        if x.sum() > 0:
            raise ValueError("positive")
        return x & y

    class Argument:
        pass

    def once() -> weakref.ref[Argument]:
        argument = Argument()
        for function, given in ((fails, 1.0), (lambda x, y: x & y, 1.0), (lambda x, y: x + y, 1.0)):
            x = paddle.full([2], given)
            x.mark = argument
            with pytest.raises(Exception):  # noqa: B017, PT011 - any of them
                d2s.to_static(function)(x, paddle.ones([3]))
        return weakref.ref(argument)

    found = [once() for _ in range(3)]
    gc.collect()
    assert [each for each in found if each() is not None] == []


def in_its_own_process(functions: int, calls: int) -> dict[str, Any]:
    """What :func:`soak` has seen, and what goes for any number of functions."""
    done = subprocess.run(
        [sys.executable, __file__, str(functions), str(calls)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GLOG_minloglevel": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(seen)
    assert seen["alive"] == 0
    assert seen["after"] == seen["before"]
    assert seen["threads"] < THREADS
    return seen


def test_the_threads_of_dropped_functions_end() -> None:
    """G2: 100 functions of two programs each would have 400 threads of Paddle's."""
    in_its_own_process(100, 100)


@pytest.mark.slow
def test_the_memory_of_a_process_stays() -> None:
    """G2: 1,000 functions and 100,000 calls of changing shapes, in one process."""
    seen = in_its_own_process(1000, 100000)
    assert seen["megabytes per function"] < PER_FUNCTION
    assert seen["megabytes for all calls"] < FOR_CALLS


def soak(functions: int, calls: int) -> dict[str, Any]:
    """What a process looks like after that many functions and calls; a tenth is to warm up."""
    found = [use(number, 2) for number in range(functions // 10)]
    gc.collect()
    before, start = kept(), megabytes()
    most = 0
    for number in range(functions // 10, functions):
        found.append(use(number, 2))
        most = max(most, threads())
    gc.collect()
    each = (megabytes() - start) / (functions - functions // 10)
    after = kept()
    alive = sum(one() is not None for pair in found for one in pair)
    function = d2s.to_static(made(functions))
    inputs = [paddle.ones([size]) for size in range(1, 65)]
    for number in range(calls // 10):
        function(inputs[number % 64])
    gc.collect()
    start = megabytes()
    for number in range(calls - calls // 10):
        function(inputs[number % 64])
    gc.collect()
    return {
        "alive": alive,
        "before": before,
        "after": after,
        "threads": most,
        "megabytes per function": round(each, 2),
        "megabytes for all calls": round(megabytes() - start, 2),
    }


if __name__ == "__main__":
    print(json.dumps(soak(int(sys.argv[1]), int(sys.argv[2]))))
