"""The converters that the corpus can be run with, by name; each is imported when asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

import paddle

from corpus.case import Case
from corpus.runner import Convert, Result, run_case

Child = Callable[[Connection, Any, str], None]
NAMES = ("d2s", "paddle-ast", "paddle-sot", "none")
NO_ANSWER = "failed no answer"  # how the verdict begins when a process had to be stopped
LEAVES = "leaves the graph"  # remark on a right result that was not computed by one program


def converter(name: str) -> Convert:
    """The function that converts; ``none`` leaves the program as it is and checks the case."""
    if name == "d2s":
        import d2s  # only for this converter: the corpus must run where d2s does not import

        return functools.partial(d2s.to_static, full_graph=True)
    if name == "paddle-ast":
        return functools.partial(paddle.jit.to_static, full_graph=True, backend=None)
    if name == "paddle-sot":
        return functools.partial(paddle.jit.to_static, full_graph=False, backend=None)
    if name == "none":
        return lambda built, **_: built
    raise ValueError(f"no converter is called {name!r}; there are {', '.join(NAMES)}")


def run_apart(case: Case, name: str, timeout: float) -> Result:
    """Run a case in a process of its own: a crash or an endless loop is then a verdict too."""
    return next(run_all_apart([case], name, timeout))


def run_all_apart(
    cases: Iterable[Any], name: str, timeout: float, jobs: int = 1, child: Child | None = None
) -> Iterator[Any]:
    """Run each case in a process of its own, ``jobs`` at a time; results come as they end.

    Args:
        cases: what is run; each has a ``name``.
        name: of the converter.
        timeout: seconds until a case is given up.
        jobs: how many processes there are at a time.
        child: runs a case in its process and sends the result; ``run_case`` if not given. Where
            nothing is sent, a ``Result`` says why.
    """
    waiting = list(reversed(list(cases)))
    running: dict[Connection, _Run] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                run = _Run.start(waiting.pop(), name, timeout, child or _child)
                running[run.receive] = run
            first = min(run.deadline for run in running.values())
            wait(list(running), timeout=max(0.0, first - time.monotonic()))
            for run in [run for run in running.values() if run.over()]:
                del running[run.receive]
                yield run.result()
    finally:
        for run in running.values():
            run.stop()


@dataclass
class _Run:
    """One process that runs one case."""

    case: Any
    child: BaseProcess
    receive: Connection
    timeout: float
    deadline: float

    @classmethod
    def start(cls, case: Any, name: str, timeout: float, target: Child) -> _Run:
        context = multiprocessing.get_context("fork")
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=target, args=(send, case, name))
        child.start()
        send.close()
        return cls(case, child, receive, timeout, time.monotonic() + timeout)

    def over(self) -> bool:
        return self.receive.poll() or time.monotonic() >= self.deadline

    def result(self) -> Any:
        try:
            if not self.receive.poll():
                verdict = f"{NO_ANSWER} in {self.timeout:g} s"
                return Result(self.case.name, verdict, seconds=self.timeout)
            return self.receive.recv()
        except EOFError:
            self.child.join()
            return Result(self.case.name, f"failed the process ended with {self.child.exitcode}")
        finally:
            self.stop()

    def stop(self) -> None:
        self.child.kill()
        self.child.join()
        self.receive.close()


def _child(send: Connection, case: Case, name: str) -> None:
    # d2s is imported here and not before the fork: it repairs parts of Paddle, and the next child
    # may have to show what Paddle does alone.
    if name == "paddle-sot":
        with sot_frames() as frames:
            result = run_case(case, converter(name))
        remark = LEAVES if result.kind == "right" and leaves(frames, str(case.path)) else ""
        send.send(dataclasses.replace(result, remark=remark))
    else:
        send.send(run_case(case, converter(name)))


@dataclass(frozen=True)
class Frame:
    """What SOT did with one frame: whose code it was, and whether it replaced the bytecode."""

    code: str
    file: str
    line: int
    replaced: bool


@contextlib.contextmanager
def sot_frames() -> Iterator[list[Frame]]:
    """Note each frame that SOT is asked to translate, and its answer."""
    import paddle.jit.sot.translate as translate

    frames: list[Frame] = []
    original = translate.eval_frame_callback

    def noted(frame: FrameType, **options: Any) -> Any:
        answer = original(frame, **options)
        code = frame.f_code
        frames.append(
            Frame(code.co_name, code.co_filename, code.co_firstlineno, answer.code is not None)
        )
        return answer

    translate.eval_frame_callback = noted
    try:
        yield frames
    finally:
        translate.eval_frame_callback = original


def leaves(frames: Sequence[Frame], file: str) -> bool:
    """Whether a program was not one graph: parts of ``file`` ran as Python, or in pieces.

    SOT cuts a function where it leaves the graph, and calls the code behind a cut
    ``$resume...``. Code that it gives up is left as it is; the last answer for a function counts,
    since the first call of a layer is never translated.
    """
    mine = [frame for frame in frames if frame.file == file]
    last = {(frame.code, frame.line): frame.replaced for frame in mine}
    cut = any("$resume" in frame.code for frame in mine)
    return cut or not last or not all(last.values())
