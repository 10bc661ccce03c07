"""What the properties of programs share: how a call ends, what it prints, what it runs through."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.errors import D2SError
from d2s.pipeline import Trace
from d2s.runtime import NAMESPACE
from d2s.runtime.values.tree import is_plain, scan
from d2s.selfcheck.raising import raising_line
from d2s.selfcheck.values import Tolerance, facts, mismatches
from d2s.syntax.load import bind, compile_tree
from d2s.testing.properties.spies import Spy, plain

RTOL: Final = 1e-4
ATOL: Final = 1e-5

Outcome = tuple[str, Any, str]
"""How a call ended, with what, and what was printed and logged."""


def outcome(function: Any, arguments: tuple[Any, ...]) -> Outcome:
    """Make a call; an exception comes with the line of the program that raised it.

    Raises:
        D2SError: d2s refuses the function.
    """
    with captured() as text:
        try:
            result = function(*arguments)
        except D2SError:
            raise
        except Exception as error:
            trace = error.__traceback__
            line = None
            while trace is not None:
                if trace.tb_frame.f_code.co_filename.startswith("<program"):
                    line = raising_line(trace, error)
                trace = trace.tb_next
            return "raised", (type(error).__name__, str(error)[:200], line), text.getvalue()
    return "returned", result, text.getvalue()


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Catch what is printed, and what the program logs."""
    handler = logging.StreamHandler(text := io.StringIO())
    handler.addFilter(lambda record: record.pathname.startswith("<program"))
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [handler]
    try:
        with contextlib.redirect_stdout(text):
            yield text
    finally:
        root.handlers[:] = before


@contextlib.contextmanager
def fresh_state(function: Any) -> Iterator[None]:
    """Put the globals and layers of a program back afterwards."""
    scope = function.__globals__
    net = scope.get("net")
    before = {name: scope[name] for name in ("total",) if name in scope}
    kept = None if net is None else {name: item.clone() for name, item in net.state_dict().items()}
    last = None if net is None else net.last
    total = before.get("total")
    memory = scope.get("memory")
    held = None if memory is None else _copied(vars(memory))
    number = total.clone() if isinstance(total, paddle.Tensor) else total
    try:
        yield
    finally:
        if total is not None:
            scope["total"] = number
        if net is not None and kept is not None:
            net.set_state_dict(kept)
            net.last = last
        if held is not None:
            vars(memory).update(held)


def _copied(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields with lists and dicts of their own."""
    return {name: item.copy() if is_plain(item) else item for name, item in fields.items()}


def state_of(function: Any) -> dict[str, Any]:
    """What the globals and objects of a program hold."""
    scope = function.__globals__
    found = {name: scope[name] for name in ("total",) if name in scope}
    for name in ("memory", "Tally"):
        if name in scope:
            fields = vars(scope[name]).items()
            found |= {f"{name}.{key}": item for key, item in fields if _is_state(key, item)}
    if (net := scope.get("net")) is not None:
        found |= {"net.last": net.last, **net.state_dict()}
    return _copied(found)


def _is_state(name: str, item: Any) -> bool:
    return not name.startswith("__") and not callable(getattr(item, "__get__", None))


def equal(want: Any, got: Any, where: str) -> None:
    """Assert that two outcomes are the same.

    Raises:
        AssertionError: they are not.
    """
    assert want[0] == got[0], f"{where}: {got[:2]}, should be {want[:2]}"
    assert want[2] == got[2], f"{where}: printed {got[2]!r}, should be {want[2]!r}"
    left, right = (facts("result", _plain(item[1])) for item in (want, got))
    for mismatch in mismatches(left, right, Tolerance(RTOL, ATOL)):
        raise AssertionError(f"{where}: {mismatch}")


def _plain(thing: Any) -> Any:
    """``thing`` with numbers in place of spies."""
    leaves: list[Any] = []

    def leaf(item: Any, path: str) -> int | None:
        if not isinstance(item, Spy):
            return None
        leaves.append(plain(item))
        return len(leaves) - 1

    return scan(thing, leaf)(leaves)


def tensors(thing: Any) -> list[Any]:
    """The tensors in a result, in its order."""
    return [item for item in leaves(thing) if isinstance(item, paddle.Tensor)]


def leaves(thing: Any) -> list[Any]:
    """All that is no container in a result, in its order."""
    found: list[Any] = []
    scan(thing, lambda item, path: found.append(item))
    return found


def lines_of(file: str, call: Callable[[], Any]) -> set[int]:
    """The lines of ``file`` that run during a call."""
    lines: set[int] = set()

    def local(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def tracer(frame: types.FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with contextlib.suppress(Exception):
            call()
    finally:
        sys.settrace(before)
    return lines


def of_tree(function: types.FunctionType, trace: Trace) -> types.FunctionType:
    """The function that a tree is, with the globals of ``function``."""
    free = (*function.__code__.co_freevars, trace.namespace)
    code = compile_tree(trace.tree, free, function.__code__, trace.generated)
    return bind(code, function, {trace.namespace: NAMESPACE})


def of_text(function: types.FunctionType, trace: Trace, text: str) -> types.FunctionType:
    """The function that a printed text is, with the globals of ``function``."""
    scope = {trace.namespace: NAMESPACE}
    exec(compile(text, "<program printed>", "exec", dont_inherit=True), scope)
    made: Any = scope[function.__name__]
    return types.FunctionType(made.__code__, {**function.__globals__, **scope}, function.__name__)
