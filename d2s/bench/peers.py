"""The peers, each at work in a process of its own, and their rounds in turn.

A job is a function without arguments that makes the peer's task; it runs in the peer's process.
Where a process is forked, it may be any function, and whoever measures must not have run an
operation of Paddle before; where it is spawned, it has to be one that ``pickle`` can send.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, Final, Literal

from d2s.bench.rounds import Measured, Settings, Started, Task
from d2s.bench.values import Array, differ

Job = Callable[[], Task]
Progress = Callable[[str], None]

_NAMED: Final = re.compile(r"[A-Z]\w*(Error|Exception): ")
_LONGEST: Final = 200
"""Characters of an error that are kept."""


class NoReferenceError(Exception):
    """The peer with which the others are compared does not run."""


def measure(
    jobs: Mapping[str, Job],
    settings: Settings,
    *,
    method: Literal["fork", "spawn"] = "fork",
    progress: Progress = lambda text: None,
) -> dict[str, Measured]:
    """Measure peers side by side.

    Args:
        jobs: what each peer does; the values of the first are what the others should compute.
        settings: how long.
        method: how their processes begin.
        progress: is told what happens.

    Raises:
        NoReferenceError: the first peer fails.
    """
    reference = next(iter(jobs))
    results: dict[str, Measured] = {}
    with contextlib.ExitStack() as stack:
        working: dict[str, Peer] = {}
        expected: Sequence[Sequence[Array | None]] = ()
        for name, job in jobs.items():
            progress(f"{name}: first calls")
            peer = Peer(job, settings, method)
            stack.callback(peer.stop)
            started = peer.answer()
            if isinstance(started, Started):
                expected = started.values if name == reference else expected
                results[name] = _begun(started, expected)
            else:
                results[name] = Measured("fails", str(started))
            if results[name].status == "timed":
                working[name] = peer
                continue
            peer.stop()
            if name == reference:  # nothing could be compared with it
                raise NoReferenceError(f"{name} fails: {results[name].detail}")
        for number in range(settings.rounds):
            progress(f"round {number + 1} of {settings.rounds}")
            for name, peer in list(working.items()):
                taken = peer.round()
                if isinstance(taken, float):
                    results[name].rounds_s.append(taken)
                else:
                    results[name] = Measured("fails", str(taken))
                    del working[name]
    return results


def _begun(started: Started, expected: Sequence[Sequence[Array | None]]) -> Measured:
    for when, mine, theirs in zip(("first", "warm"), started.values, expected, strict=False):
        found = differ(mine, theirs)
        if found:
            return Measured("wrong", f"{when} call: {found}")
    return Measured("timed", started.note, started.first_s, started.calls)


class Peer:
    """A peer at work in its own process.

    Args:
        job: makes its task, there.
        settings: how long it measures, and how long it may take to answer.
        method: how its process begins.
    """

    def __init__(self, job: Job, settings: Settings, method: Literal["fork", "spawn"]) -> None:
        self._limit_s = settings.limit_s
        context: Any = multiprocessing.get_context(method)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, job, settings), daemon=True)
        with warnings.catch_warnings():
            # Python 3.12 warns about threads, which Paddle has from its import on and does not use.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()

    def answer(self) -> Any:
        """What the process says next: what was asked for, or in words how it failed."""
        try:
            if not self._pipe.poll(self._limit_s):
                return f"Timeout: no answer in {self._limit_s:g} s"
            return self._pipe.recv()
        except EOFError:
            self._process.join()
            return f"Crash: the process ended with {self._process.exitcode}"

    def round(self) -> Any:
        """One round: seconds of a call, or in words how it failed."""
        with contextlib.suppress(BrokenPipeError):  # it has ended; answer() says so
            self._pipe.send("round")
        return self.answer()

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection, job: Job, settings: Settings) -> None:
    """Get ready, say so, then measure a round whenever asked."""
    warnings.simplefilter("ignore")  # Paddle's would stand in the table
    try:
        task = job()
        pipe.send(task.start(settings))
        while True:
            pipe.recv()
            pipe.send(task.round())
    except EOFError:  # whoever has asked is gone
        return
    except BaseException as error:
        pipe.send(_in_words(error))


def _in_words(error: BaseException) -> str:
    """An exception in one line; what Paddle puts before the error itself is left out."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.match(line)]
    if len(lines) > 1 and lines[0].endswith(":") and named:
        return named[-1][:_LONGEST]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:_LONGEST]
