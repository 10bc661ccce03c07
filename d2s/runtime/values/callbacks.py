"""Host operators: Python functions that run inside a captured program.

One whose output nobody reads is kept by Paddle, and it runs inside branches and loops.  An
exception in one is kept here, the program is stopped, and the caller raises it as it was, at the
user's line (decision 0005).
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, Protocol

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.frames import of_stack, of_traceback, users
from d2s.diagnostics.location import Location
from d2s.diagnostics.notes import note
from d2s.diagnostics.tracebacks import is_made, traceback_of, user_traceback
from d2s.errors import D2SError, UnsupportedInGraphError
from d2s.runtime.trace import BranchNeededError, current, error_here
from d2s.runtime.values.tensors import as_value, number_kind

PREFIX: Final = "d2s_host"
"""With what the names of all our operations in a program begin."""

_count = itertools.count()


class HostStopError(Exception):
    """Raised inside a host operator to stop the program; users never see it."""


class _Failure(threading.local):
    error: BaseException | None = None


_failure = _Failure()


class Acting(Protocol):
    """The call of a program, which may print or change something while it runs."""

    acted: bool
    said: list[tuple[str, str]] | None


class _Present(threading.local):
    run: Any = None


_present = _Present()


@contextlib.contextmanager
def running(run: Acting) -> Iterator[None]:
    """While a program runs: ``run`` is the call whose changes an exception in it leaves."""
    before, _present.run = _present.run, run
    try:
        yield
    finally:
        acted, _present.run = has_acted() or bool(has_said()), before
        if acted:
            note_acting()


def has_acted() -> bool:
    """Whether the run of now has called Python that may have printed or changed something."""
    return _present.run is not None and bool(_present.run.acted)


def has_said() -> list[tuple[str, str]]:
    """What the run of now has printed: the stream and the text of each ``print``."""
    return (_present.run.said or []) if _present.run is not None else []


def note_said(stream: str, text: str) -> None:
    """Note that Python which a run has called has printed, and done nothing else.

    Args:
        stream: ``"stdout"`` or ``"stderr"``.
        text: what was printed.
    """
    if _present.run is not None:
        _present.run.said = has_said()
        _present.run.said.append((stream, text))


def note_acting() -> None:
    """Note that Python which a run has called may have printed or changed something."""
    if _present.run is not None:
        _present.run.acted = True


def take_failure() -> BaseException | None:
    """The exception that stopped the program just run in this thread, once."""
    error, _failure.error = _failure.error, None
    return error


def _stop(error: BaseException, places: list[Location]) -> NoReturn:
    """Stop the program of now, as Python that it has called has raised ``error``."""
    _failure.error = raised_at(error, places)
    _silence()
    raise HostStopError from None


def host_call(
    function: Callable[..., None],
    inputs: list[Any],
    places: list[Location] | None = None,
    *,
    raises: bool = False,
    effects: bool | None = None,
) -> None:
    """Call ``function`` with the tensors of ``inputs`` at this point of every run.

    Args:
        function: gets one dygraph tensor for each input, with the input's ``stop_gradient``; a
            value that stands for a Python number arrives as that number.
        inputs: values of the program; empty is allowed.
        places: the frames of what it raises; the user's present ones unless given.
        raises: it stands for an exception of the user's: what the function has changed until
            here stays changed when it raises.
        effects: it does more than raise; unless given, it does if it does not stand for one.
    """
    capture = current()
    assert capture is not None
    kinds = [number_kind(item) for item in inputs]
    changed: list[Any] = []
    change: Callable[[Any, list[Any]], None] | None = None
    acts = not raises if effects is None else effects
    note("host", text="may raise an exception" if raises else "calls Python")
    if raises and capture.leaving is not None:
        changed, change = capture.leaving()
    count = len(inputs)
    values = [*map(as_value, inputs), *changed] or [paddle.full([], True, "bool")]
    flags = [value.stop_gradient for value in values]
    places = places_here() if places is None else places

    def host(*tensors: Any) -> Any:
        try:
            arguments = [
                _kept(tensor, flag) if kind is None else kind(tensor.item())
                for tensor, kind, flag in zip(tensors, kinds, flags, strict=False)
            ]
        except RuntimeError:  # what an index out of range takes has no memory
            _silence(RuntimeError)
            raise
        if acts:
            note_acting()
        try:
            function(*arguments)
        except BaseException as error:
            refused = isinstance(error, D2SError)  # which is as if nothing had happened
            if change is not None and _present.run is not None and not refused:
                last = zip(tensors[count:], flags[count:], strict=False)
                change(_present.run, [_kept(tensor, flag) for tensor, flag in last])
            _stop(error, places)
        return paddle.full([], True, "bool")

    operation = _operation(host, _done, len(values), 1)
    done = operation(*values)
    done.stop_gradient = True
    capture.hosts.append((operation, host))


def host_values(
    function: Callable[..., list[Any]],
    inputs: list[Any],
    metas: list[tuple[list[int], str]],
    name: str,
    *,
    effects: bool = False,
) -> list[Any]:
    """Call ``function`` with the tensors of ``inputs`` on every run: values of what it gives.

    Args:
        function: gets what :func:`host_call` says; gives an array, number or tensor for each meta.
        inputs: values of the program.
        metas: shape, with -1 for open dimensions, and dtype of each result.
        name: what is called, for messages.
        effects: it may print or change something.
    """
    capture = current()
    assert capture is not None
    places = places_here()
    kinds = [number_kind(item) for item in inputs]
    if capture.export:
        known = None if capture.wanting else bridge.computed([as_value(item) for item in inputs])
        if known is not None:
            return _once(function, known, kinds, metas)
        capture.wanting.setdefault(name, []).append(places[-1])
        return [_zeros(*meta) for meta in metas]
    values = [_fixed(as_value(item)) for item in inputs] or [paddle.full([], True, "bool")]

    def host(*tensors: Any) -> Any:
        given = [
            _kept(tensor, True) if kind is None else kind(tensor.item())
            for tensor, kind in zip(tensors, kinds, strict=False)
        ]
        if effects:
            note_acting()
        try:
            found = function(*given)
        except BaseException as error:
            _stop(error, places)
        made = [
            item.astype(dtype) if isinstance(item, paddle.Tensor) else _as_tensor(item, dtype)
            for item, (_, dtype) in zip(found, metas, strict=True)
        ]
        return made[0] if len(made) == 1 else tuple(made)

    def infer(*found: Any) -> Any:
        made = [
            paddle.static.MetaTensor(shape=shape, dtype=getattr(paddle, dtype))
            for shape, dtype in metas
        ]
        return made[0] if len(made) == 1 else tuple(made)

    operation = _operation(host, infer, len(values), len(metas))
    made = operation(*values)
    results = [made] if len(metas) == 1 else list(made)
    for result in results:
        result.stop_gradient = True
    capture.hosts.append((operation, host))
    return results


def _once(
    function: Callable[..., list[Any]],
    inputs: list[np.ndarray],
    kinds: list[Any],
    metas: list[tuple[list[int], str]],
) -> list[Any]:
    """What a call gives whose inputs are the same on each run of a file: constants."""
    with bridge.in_dygraph():
        given = [
            paddle.to_tensor(item) if kind is None else kind(item.item())
            for item, kind in zip(inputs, kinds, strict=True)
        ]
        found = [
            np.asarray(item).astype(dtype)
            for item, (_, dtype) in zip(function(*given), metas, strict=True)
        ]
    return [bridge.as_value(_constant(item)) for item in found]


def _constant(item: np.ndarray) -> Any:
    with bridge.in_dygraph():
        made = _as_tensor(item, str(item.dtype))
    made.name = f"{PREFIX}_{next(_count)}"  # Paddle's may be taken while a program is captured
    return made


def _operation(
    host: Callable[..., Any], infer: Callable[..., Any], inputs: int, results: int
) -> Any:
    """An operation that calls ``host``; ``infer`` says what comes of it.

    Raises:
        UnsupportedInGraphError: (D2S205) this Paddle has no such operations.
    """
    if not bridge.CALLS_PYTHON:
        raise error_here(
            UnsupportedInGraphError,
            "Python's code is to run inside of a program here (output, an exception, NumPy), and "
            f"Paddle {paddle.__version__} has no operations for it",
            cure="install Paddle 3.3 or newer, or take this part out of the function",
        )
    name = f"{PREFIX}_{next(_count)}"
    return bridge.host_operation(host, infer, name, inputs=inputs, results=results)


def _fixed(value: paddle.Tensor) -> Any:
    """``value``, to which no gradient comes back from here."""
    if value.stop_gradient:
        return value
    made = paddle.assign(value)
    made.stop_gradient = True
    return made


def _as_tensor(item: Any, dtype: str) -> Any:
    return paddle.to_tensor(np.ascontiguousarray(item).reshape(np.shape(item)), dtype)


def _zeros(shape: list[int], dtype: str) -> Any:
    """What stands for a result that the program cannot have; it is never run."""
    made = paddle.zeros([1 if size < 0 else size for size in shape], dtype)
    if any(size < 0 for size in shape):
        bridge.relax(made, shape)
    return made


def _kept(tensor: paddle.Tensor, flag: bool) -> Any:
    """A copy; the program goes on to use its own buffer."""
    kept = tensor.clone()
    kept.stop_gradient = flag
    return kept


def _done(*metas: Any) -> Any:
    return paddle.static.MetaTensor(shape=[], dtype=paddle.bool)


def _silence(silent: type[BaseException] = HostStopError) -> None:
    """Keep Paddle's binding from printing the traceback of an exception to stderr."""
    before = sys.excepthook
    last = {name: getattr(sys, name) for name in _LAST if hasattr(sys, name)}

    def hook(
        kind: type[BaseException], value: BaseException, trace: types.TracebackType | None
    ) -> None:
        sys.excepthook = before
        if kind is not silent:
            before(kind, value, trace)
            return
        for name in _LAST:  # it leads to the user's exception, frames and arguments
            vars(sys).pop(name, None)
        vars(sys).update(last)

    sys.excepthook = hook


_LAST: Final = ("last_type", "last_value", "last_traceback", "last_exc")
"""Where Python keeps the last exception that it has printed."""


def raised_at(error: BaseException, places: list[Location]) -> BaseException:
    """``error``, raised by a host operator, as if what it did were done at ``places``."""
    trace = traceback_of(places, user_traceback(error.__traceback__))
    object.__setattr__(error, "__traceback__", trace)
    return error


def places_here(error: BaseException | None = None) -> list[Location]:
    """Where the user's functions stand that are being captured, the outermost first.

    Args:
        error: what has been raised and caught: the places at which it was, instead.
    """
    capture = current()
    stack = list(of_stack(sys._getframe(1), None if capture is None else capture.entry))
    trace = None if error is None else error.__traceback__
    if trace is None:
        return [step.place for step in users(stack)]
    known = [index for index, step in enumerate(stack) if step.frame is trace.tb_frame]
    found = users([*stack[: known[0] if known else None], *of_traceback(trace)])
    for index, (step, after) in enumerate(itertools.pairwise(found)):
        if is_made(after.frame) and not is_made(step.frame):  # the same function, before and now
            del found[index]
            break
    return [step.place for step in found]


def check_uncaught(error: BaseException | type[BaseException]) -> None:
    """Refuse an exception of the run that a ``try`` around it means to catch.

    Raises:
        UnsupportedInGraphError: (D2S205) a handler would catch it in dygraph.
    """
    capture = current()
    kind = error if isinstance(error, type) else type(error)
    if capture is None:
        return
    for attempt in capture.attempts:
        if attempt.caught is not None and attempt.handler_of(kind) is not None:
            raise error_here(
                UnsupportedInGraphError,
                f"a {kind.__name__} that only the run can raise would be caught by a try "
                "statement, which is over by then",
                "decide with if instead of raising, or catch the exception in the caller of the "
                "converted function",
            )


def raise_where(test: paddle.Tensor, make: Callable[[], object]) -> None:
    """Raise the exception that ``make`` gives on each run on which the bool value ``test`` holds.

    What follows is skipped on these runs, and a ``try`` around may catch it.
    """
    capture = current()
    assert capture is not None
    if capture.at_once:
        raise BranchNeededError
    capture.branching.raise_where(test, make)


def raise_when(flag: object, error: BaseException) -> None:
    """Raise ``error`` on each run on which the bool value ``flag`` holds (``True``: on all).

    Out of a static loop it goes past ``finally`` and ``with``, like the failure of a kernel.  In a
    program that is saved, which runs without Python, it is a failed assertion.
    """
    capture = current()
    if capture is not None and capture.at_once:
        raise BranchNeededError
    if is_seen(error):
        raise_where(paddle.full([], True, "bool") if flag is True else flag, lambda: error)
        return
    if capture is not None and capture.export:
        fine = paddle.full([], False, "bool") if flag is True else paddle.logical_not(flag)
        paddle.static.nn.control_flow.Assert(fine)
        return

    trace = error.__traceback__

    def check(holds: object = True) -> None:
        if bool(holds):
            raise error.with_traceback(trace)

    host_call(check, [] if flag is True else [flag], raises=True)


def is_seen(error: BaseException) -> bool:
    """Whether a ``try`` or ``with`` around sees ``error``, as far as the run can go there."""
    capture = current()
    assert capture is not None
    for attempt in reversed(capture.attempts):
        if attempt.handler_of(type(error)) is None:
            continue
        blocks = capture.blocks[attempt.depth :]
        if attempt.caught is not None:
            return True  # where the run cannot go, it is refused
        return attempt.state is not None and not any(block.kind == "loop" for block in blocks)
    return False
