"""Effects: ``print``, ``assert`` and ``raise`` of a captured program happen on every run.

What they show of tensors travels to the host, see :mod:`d2s.runtime.host.text`.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location
from d2s.diagnostics.tracebacks import name_tensors, places_in
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.control_flow.raises import catching, note
from d2s.runtime.host.lowering import lowered
from d2s.runtime.host.said import say
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.host.streams import is_buffer, refuse_text
from d2s.runtime.host.text import HostText, is_dynamic, is_growing, members
from d2s.runtime.trace import NeedsPythonError, current, error_here
from d2s.runtime.values.callbacks import host_call, places_here, raise_where
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.reading import check_taken
from d2s.runtime.values.tensors import condition, number_kind


class BlockLeft(BaseException):
    """Ends the capture of a branch side or loop body that raises; never seen by user code."""


def print_(*things: Any, **options: Any) -> None:
    """``print``: on every run of a program, with the text that dygraph prints."""
    capture = current()
    if capture is None:
        print(*things, **options)
        return
    if capture.export:
        _print_in_file(things)
        return
    stream = options.get("file")
    if is_buffer(stream):
        if any(map(is_dynamic, things)):
            refuse_text("with a tensor")
        print(*things, **options)
        return
    name = next((n for n in ("stdout", "stderr") if stream is getattr(sys, n)), None)
    shipment = Shipment()
    arguments, keywords = shipment.pack(things), shipment.pack(options)

    def host(*tensors: object) -> None:
        options = keywords(tensors)
        if stream is not None and name is not None:  # whatever is there by then
            options["file"] = getattr(sys, name)
        if known:
            say(*arguments(tensors), **options)
        else:
            print(*arguments(tensors), **options)

    known = stream is None or name is not None
    host_call(host, shipment.values, effects=not known)


def _print_in_file(things: tuple[Any, ...]) -> None:
    """``print`` as Paddle's own operation: each tensor with the text before it."""
    said: list[str] = []
    for piece in _pieces(things):
        if bridge.is_value(piece):
            paddle.static.Print(piece, message=" ".join(said) or None)
            said.clear()
        else:
            said.append(str(piece).strip())
    lowered("print shows the tensors, in Paddle's format")


def _pieces(things: Any) -> Iterator[Any]:
    """Tensors, and what has a text already, in their order."""
    for thing in things:
        if isinstance(thing, HostText):
            for part in thing.parts:
                yield from _pieces(part[:1] if isinstance(part, tuple) else [part])
        elif bridge.is_value(thing) or not is_dynamic(thing):
            yield thing
        elif is_growing(thing):
            yield from thing.d2s_shown()[0]
        elif (held := members(thing)) is not None:
            yield from _pieces(held[0])


def assert_(test: object, message: Callable[[], Any] | None = None) -> None:
    """``assert test, message()``: on the run when ``test`` is a tensor of a program."""
    test = condition(test)
    capture = current()

    def failure() -> AssertionError:
        return AssertionError(*(() if message is None else (message(),)))

    if capture is None or not (bridge.is_value(test) or capture.guarded):
        if not test:
            raise failure()
        return
    if not bridge.is_value(test):
        if not test:
            raise error(failure)
        return
    caught = catching(AssertionError) is not None
    if capture.export and not caught:
        lowered("assert fails without its message")
        paddle.static.nn.control_flow.Assert(test)
    elif caught or message is not None:  # the message is made when it is needed, as in Python
        raise_where(paddle.logical_not(test), failure)
    else:

        def host(holds: object) -> None:
            if not bool(holds):
                raise AssertionError

        host_call(host, [test], raises=True)


_looking: contextvars.ContextVar[int | None] = contextvars.ContextVar("looking", default=None)
"""How many blocks were open where ``__getattr__`` was called; what it raises, Python may catch."""


@contextlib.contextmanager
def looking_up() -> Iterator[None]:
    """While it is entered, an AttributeError says to Python that there is no such attribute."""
    capture = current()
    token = _looking.set(None if capture is None else len(capture.blocks))
    try:
        yield
    finally:
        _looking.reset(token)


def _undecided() -> Exception:
    return error_here(
        UnsupportedInGraphError,
        "a tensor decides whether an object has an attribute, as its __getattr__ raises",
        "decide it with an if where the attribute is read",
    )


def error(make: Callable[[], Any], cause: Callable[[], Any] | None = None) -> Any:
    """The exception of a ``raise`` statement.

    Under a tensor condition it is not returned: the run raises it, and the capture of the side
    ends here.
    """
    made = make()
    if isinstance(made, Choice):
        return each(lambda one: _raised(one, cause), made, none=True)
    capture = current()
    if capture is None or not capture.guarded:
        return made
    if isinstance(made, type):
        if not issubclass(made, BaseException):
            return made  # Python says that it is no exception
        made = made()
    if not isinstance(made, BaseException):
        return made
    if isinstance(made, AttributeError) and _looking.get() is not None:
        if _looking.get() == len(capture.blocks):
            return made  # no tensor decides between the code that looks and here
        raise _undecided()
    found = catching(type(made))
    if found is not None and found[0].depth == len(capture.blocks):
        return made  # no tensor decides between the try and here
    if cause is not None:
        of = cause()
        if isinstance(of, Choice):  # one raise for each of them
            return each(lambda one: error(make, lambda: one), of, none=True)
        made.__cause__ = _instance(of)
    context = sys.exc_info()[1]
    if made.__context__ is None and context is not made and context is not capture.handled:
        made.__context__ = context
    if found is None:
        _raise_on_run(made, [*places_here(), *places_in(made.__traceback__)])
    else:
        note(*found, made)
    raise BlockLeft


def _raised(made: Any, cause: Callable[[], Any] | None) -> Any:
    raise error(lambda: made, cause)


def _instance(error: object) -> Any:
    made = error() if isinstance(error, type) else error
    if made is None or isinstance(made, BaseException):
        return made
    raise TypeError("exception causes must derive from BaseException")


def _raise_on_run(made: BaseException, places: list[Location]) -> None:
    """Raise ``made`` on the run, where no ``try`` of the program catches it."""
    capture = current()
    assert capture is not None
    if capture.export:
        lowered(f"the {type(made).__name__} is a failed assertion")
        paddle.static.nn.control_flow.Assert(paddle.full([], False, "bool"))
        return
    object.__setattr__(made, "__traceback__", None)
    shipment = Shipment()
    rebuilt = shipment.pack_error(made)
    ends = [at for at, value in enumerate(shipment.values) if _wants_gradient(value, shipment.kept)]
    if ends and capture.gradients and capture.goes_on:
        raise error_here(
            UnsupportedInGraphError,
            f"a {type(made).__name__} that the run raises holds a tensor with a gradient, which "
            "could not be gone back through",
            "let it hold a .detach() of the tensor",
        )

    def host(*tensors: paddle.Tensor) -> None:
        for at in ends:
            if not tensors[at].stop_gradient:
                bridge.hook_gradient(tensors[at], _no_way_on)
        raise rebuilt(tensors[: len(shipment.values)])

    host_call(host, shipment.values, places, raises=True)


def _wants_gradient(value: paddle.Tensor, kept: list[paddle.Tensor]) -> bool:
    return any(value is each for each in kept) and not (
        value.stop_gradient or number_kind(value) is not None
    )


def _no_way_on(gradient: object) -> None:
    """Refuse a gradient of a tensor that an exception has taken out of a program."""
    error = error_here(
        UnsupportedInGraphError,
        "a gradient comes to a tensor that an exception of a program holds, where it would end",
        "let the converted function return the tensor, or let the exception hold a .detach() of it",
    )
    bridge.keep_backward_error(error)
    raise error


def _is_raised_again(made: BaseException) -> bool:
    """Whether a handler has let go on what it was given, which the run is known to raise."""
    capture = current()
    return capture is not None and any(case.error is made for case in capture.raises.values())


def is_of_run(error: BaseException) -> bool:
    """Whether ``error``, which no ``try`` of the function catches, says something of the run.

    Raises:
        UnsupportedInGraphError: (D2S205) it does, and there is no run to fill it in.
    """
    shipment = Shipment()
    shipment.pack_error(error)
    capture = current()
    if shipment.values and capture is not None and (capture.export or capture.tentative):
        raise error_here(
            UnsupportedInGraphError,
            f"each call raises a {type(error).__name__}, which holds a tensor that only the run "
            "knows",
            "save a function that returns, or raise what holds no tensor",
        )
    return bool(shipment.values)


def raise_later(made: BaseException) -> None:
    """Raise on the run, from where it came, what one side of a branch raised at capture."""
    check_taken(made)
    capture = current()
    if capture is not None and capture.tentative and not _is_raised_again(made):
        error_here(  # which ends the capture even where a handler of the user's catches ``made``
            UnsupportedInGraphError,
            f"only the run knows whether a {type(made).__name__} is raised, or what for",
            "let the condition of a raise statement decide",
        )
        raise made
    if capture is not None and capture.rolling:  # a Python number might not have raised it
        raise NeedsPythonError(made)
    if isinstance(made, AttributeError) and _looking.get() is not None:
        raise _undecided()
    name_tensors(made)
    found = catching(type(made))
    if found is not None:
        note(*found, made)
        return
    _raise_on_run(made, places_here(made))
