"""Effects: ``print``, ``assert`` and ``raise`` of a captured program happen on every run.

Text that contains tensors is a :class:`HostText` until the run: its parts travel, the host
formats them, and the result is letter for letter what dygraph prints.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.tracebacks import user_traceback
from d2s.errors import NotStaticError
from d2s.operators.context import current, error_here
from d2s.operators.either import Either
from d2s.operators.hosts import check_uncaught, host_call
from d2s.operators.values import condition, is_tensor

_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"r": repr, "s": str, "a": ascii}


class BlockLeft(BaseException):
    """Ends the capture of a branch side or loop body that raises; never seen by user code."""


class HostText:
    """Text of which the run fills in the tensors.

    Attributes:
        parts: strings, and ``(value, conversion, spec)`` for what is formatted.
    """

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __add__(self, other: Any) -> Any:
        return HostText((*self.parts, (other, "s", ""))) if _is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return HostText(((other, "s", ""), *self.parts)) if _is_text(other) else NotImplemented

    def __str__(self) -> str:
        raise error_here(
            NotStaticError,
            "text that contains a tensor is needed while the program is being captured",
            "use it in print, assert or raise only, or return the tensor and format it outside",
        )

    def __format__(self, spec: str) -> str:
        return str(self)


def _is_text(thing: object) -> bool:
    return isinstance(thing, str | HostText)


def _is_dynamic(thing: object) -> bool:
    """Whether the run decides what ``thing`` looks like."""
    if bridge.is_value(thing) or isinstance(thing, HostText | Either):
        return True
    if isinstance(thing, list | tuple | set):
        return any(_is_dynamic(item) for item in thing)
    if isinstance(thing, dict):
        return any(_is_dynamic(item) for item in thing.values())
    return False


def text(*parts: Any) -> Any:
    """An f-string: formatted now when no tensor of a program is in it.

    Args:
        *parts: strings, and ``(value, conversion, spec)`` where conversion is ``None`` or one of
            ``"r"``, ``"s"``, ``"a"``.
    """
    if current() is not None and any(
        isinstance(part, tuple) and (_is_dynamic(part[0]) or _is_dynamic(part[2])) for part in parts
    ):
        return HostText(parts)
    return _formatted(parts)


def _formatted(parts: tuple[Any, ...]) -> str:
    done: list[str] = []
    for part in parts:
        if isinstance(part, str):
            done.append(part)
            continue
        value, conversion, spec = part
        if conversion is not None:
            value = _CONVERSIONS[conversion](value)
        done.append(format(value, spec))
    return "".join(done)


class _Shipment:
    """Collects the tensors in some objects, and puts the run's tensors back in their place."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def pack(self, thing: Any) -> Callable[[tuple[Any, ...]], Any]:
        """A function from the run's tensors to ``thing`` with them in it."""
        if is_tensor(thing):
            if not bridge.is_value(thing):
                return lambda tensors: thing
            self.values.append(thing)
            position = len(self.values) - 1
            return lambda tensors: tensors[position]
        if isinstance(thing, HostText):
            parts = [self.pack(part) for part in thing.parts]
            return lambda tensors: _formatted(tuple(part(tensors) for part in parts))
        if isinstance(thing, Either):
            flag = self.pack(thing.flag)
            true, false = self.pack(thing.true), self.pack(thing.false)
            return lambda tensors: (true if bool(flag(tensors)) else false)(tensors)
        if type(thing) in (list, tuple, set):
            items = [self.pack(item) for item in thing]
            kind = type(thing)
            return lambda tensors: kind(item(tensors) for item in items)
        if type(thing) is dict:
            pairs = [(key, self.pack(value)) for key, value in thing.items()]
            return lambda tensors: {key: value(tensors) for key, value in pairs}
        return lambda tensors: thing

    def pack_error(self, error: Any) -> Callable[[tuple[Any, ...]], BaseException]:
        """A function from the run's tensors to a fresh exception like ``error``."""
        if isinstance(error, type):
            return lambda tensors: error()
        arguments = self.pack(tuple(error.args))
        fields = self.pack(dict(error.__dict__))

        def rebuilt(tensors: tuple[Any, ...]) -> BaseException:
            fresh: BaseException = copy.copy(error)
            fresh.args = arguments(tensors)
            fresh.__dict__.update(fields(tensors))
            fresh.__cause__, fresh.__suppress_context__ = (
                error.__cause__,
                error.__suppress_context__,
            )
            return fresh

        return rebuilt


def log_(method: Callable[..., Any]) -> Callable[..., None]:
    """A method of a logger: on every run of a program, as :func:`print_`."""

    def log(*things: Any, **options: Any) -> None:
        capture = current()
        if capture is None:
            method(*things, **options)
        elif not capture.export:
            shipment = _Shipment()
            arguments, keywords = shipment.pack(things), shipment.pack(options)

            def host(*tensors: Any) -> None:
                method(*arguments(tensors), **keywords(tensors))

            host_call(host, shipment.values)

    return log


def print_(*things: Any, **options: Any) -> None:
    """``print``: on every run of a program, with the text that dygraph prints."""
    capture = current()
    if capture is None:
        print(*things, **options)
        return
    if capture.export:
        for thing in things:
            if bridge.is_value(thing):
                paddle.static.Print(thing)
        return
    shipment = _Shipment()
    arguments, keywords = shipment.pack(things), shipment.pack(options)

    def host(*tensors: Any) -> None:
        print(*arguments(tensors), **keywords(tensors))

    host_call(host, shipment.values)


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert test, message()``: on the run when ``test`` is a tensor of a program."""
    test = condition(test)
    capture = current()
    if capture is None or not (bridge.is_value(test) or capture.guarded):
        if not test:
            raise AssertionError(*(() if message is None else (message(),)))
        return
    if not bridge.is_value(test):
        if not test:
            raise error(lambda: AssertionError(*(() if message is None else (message(),))))
        return
    if capture.export:
        paddle.static.nn.control_flow.Assert(test)
        return
    check_uncaught(AssertionError)
    shipment = _Shipment()
    parts = () if message is None else (message(),)
    arguments = shipment.pack(parts)

    def host(holds: Any, *tensors: Any) -> None:
        if not bool(holds):
            raise AssertionError(*arguments(tensors))

    host_call(host, [test, *shipment.values])


def error(make: Callable[[], Any]) -> Any:
    """The exception of a ``raise`` statement.

    Under a tensor condition it is not returned: the run raises it, and the capture of the side
    ends here.
    """
    made = make()
    capture = current()
    if capture is None or not capture.guarded:
        return made
    check_uncaught(made)
    if capture.export:
        paddle.static.nn.control_flow.Assert(paddle.full([], False, "bool"))
    else:
        shipment = _Shipment()
        rebuilt = shipment.pack_error(made)

        def host(*tensors: Any) -> None:
            raise rebuilt(tensors[: len(shipment.values)])

        host_call(host, shipment.values)
    raise BlockLeft


def raise_later(made: Exception) -> None:
    """Raise on the run, from where it came, what one side of a branch raised at capture."""
    capture = current()
    assert capture is not None
    if capture.export:
        paddle.static.nn.control_flow.Assert(paddle.full([], False, "bool"))
        return
    check_uncaught(made)
    trace = user_traceback(made.__traceback__)
    made.__traceback__ = None

    def host(*_: Any) -> None:
        raise made

    host_call(host, [], trace)


@contextlib.contextmanager
def attempt(caught: Callable[[], Any]) -> Iterator[None]:
    """The body of a ``try``: what its handlers catch is known while it is captured."""
    capture = current()
    if capture is None:
        yield
        return
    capture.attempts.append(caught)
    try:
        yield
    finally:
        capture.attempts.pop()
