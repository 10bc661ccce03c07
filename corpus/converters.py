"""The converters that the corpus can be run with, by name; each is imported when asked for."""

from __future__ import annotations

import functools
import multiprocessing
from multiprocessing.connection import Connection

import paddle

from corpus.case import Case
from corpus.runner import Convert, Result, run_case

NAMES = ("d2s", "paddle-ast", "paddle-sot", "none")


def converter(name: str) -> Convert:
    """The function that converts; ``none`` leaves the program as it is and checks the case."""
    if name == "d2s":
        import d2s  # only for this converter: the corpus must run where d2s does not import

        convert: Convert = d2s.to_static
        return convert
    if name == "paddle-ast":
        return functools.partial(paddle.jit.to_static, full_graph=True, backend=None)
    if name == "paddle-sot":
        return functools.partial(paddle.jit.to_static, full_graph=False, backend=None)
    if name == "none":
        return lambda built, **_: built
    raise ValueError(f"no converter is called {name!r}; there are {', '.join(NAMES)}")


def run_apart(case: Case, name: str, timeout: float) -> Result:
    """Run a case in a process of its own: a crash or an endless loop is then a verdict too."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(send, case, name))
    child.start()
    send.close()
    try:
        if not receive.poll(timeout):
            child.kill()
            return Result(case.name, f"failed no answer in {timeout:g} s", seconds=timeout)
        result: Result = receive.recv()
        return result
    except EOFError:
        child.join()
        return Result(case.name, f"failed the process ended with {child.exitcode}")
    finally:
        child.join()
        receive.close()


def _child(send: Connection, case: Case, name: str) -> None:
    send.send(run_case(case, converter(name)))
