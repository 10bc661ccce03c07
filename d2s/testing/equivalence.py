"""``assert_equivalent``: the program of a function does what dygraph does, on call after call.

The comparison is that of ``d2s.check``.  What is added: many calls of one converted function, so
that a program which is used again where it should not be shows; and gradients of inputs that a
test has not marked.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import paddle

from d2s.errors import D2SError, StaticModeError
from d2s.runtime.values.tree import is_mapping, scan
from d2s.selfcheck.check import Checker, target_of
from d2s.selfcheck.report import Report


def assert_equivalent(  # noqa: PLR0913  a keyword for each option
    fn: Any,
    inputs: Any,
    grad: bool = True,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int | None = None,
    input_spec: Any = None,
) -> tuple[Report, ...]:
    """Assert that the program of ``fn`` does what ``fn`` does in dygraph.

    Values, dtypes, shapes, structure, changed arguments and state, exceptions with their lines,
    printed text and gradients are compared, as ``d2s.check`` compares them. All calls go to one
    converted function, each of them twice.

    Args:
        fn: a function, method, callable object or layer, converted or not.
        inputs: the calls, in a list; one call may stand for itself. A call is a tuple of arguments,
            a dict of keyword arguments, or anything else, which is its only argument.
        grad: compare gradients; floating tensors among the arguments get one.
        rtol: relative tolerance of floating values; by their dtype unless given.
        atol: absolute tolerance.
        seed: start each call from this seed of the random generators.
        input_spec: the ``InputSpec`` of each argument, as ``to_static`` takes it.

    Returns:
        The report of each call.

    Raises:
        CheckError: (D2S601) the program differs; an ``AssertionError`` with the line that does.
        D2SError: d2s refuses the function.

    Example:
        >>> import paddle
        >>> def f(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> reports = assert_equivalent(f, [paddle.ones([2]), paddle.ones([3]) * -1])
        >>> print(reports[1])
        f: the program agrees with dygraph in result, arguments, printed text, gradients
    """
    if not paddle.in_dynamic_mode():
        raise StaticModeError(
            "a function is tested in static mode", cure="call paddle.disable_static() first"
        )
    checker = Checker(rtol, atol, gradients=grad, seed=seed, input_spec=input_spec)
    target = target_of(fn, input_spec)
    calls = inputs if isinstance(inputs, list) else [inputs]
    reports = []
    for number, call in enumerate(calls, 1):
        args, kwargs = arguments_of(fn, call)
        if grad:
            args, kwargs = _with_gradients((args, kwargs))
        report = checker.report(target, args, kwargs)
        with _numbered(number, len(calls)):
            report.raise_for_difference()
        reports.append(report)
    return tuple(reports)


@contextlib.contextmanager
def _numbered(number: int, count: int) -> Iterator[None]:
    """Say of a difference which call it is of, if there are several."""
    try:
        yield
    except D2SError as error:
        if count > 1 and hasattr(error, "add_note"):  # Python 3.11
            error.add_note(f"in call {number} of {count}")
        raise


def arguments_of(fn: Any, call: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the keyword arguments that a call stands for."""
    if is_mapping(call):
        forward = fn.forward if isinstance(fn, paddle.nn.Layer) else fn
        first = [
            name
            for name, parameter in inspect.signature(forward).parameters.items()
            if parameter.kind is parameter.POSITIONAL_ONLY and name in call
        ]
        rest = {name: value for name, value in call.items() if name not in first}
        return tuple(call[name] for name in first), rest
    if type(call) is tuple:
        return call, {}
    return (call,), {}


def _with_gradients(arguments: Any) -> Any:
    """Copies of the floating tensors in ``arguments`` that have a gradient, each once."""
    leaves: list[Any] = []
    places: dict[int, int] = {}

    def leaf(thing: Any, path: str) -> int | None:
        plain = isinstance(thing, paddle.Tensor) and not hasattr(thing, "trainable")
        if not plain or not paddle.is_floating_point(thing) or not thing.stop_gradient:
            return None
        if id(thing) not in places:
            places[id(thing)] = len(leaves)
            copy = thing.detach().clone()
            copy.stop_gradient = False
            leaves.append(copy)
        return places[id(thing)]

    return scan(arguments, leaf)(leaves)
