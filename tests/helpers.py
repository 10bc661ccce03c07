"""How a test says "static is dygraph": one verb, used everywhere."""

from __future__ import annotations

import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle

import d2s
from corpus.facts import difference, facts, tensors

_count = itertools.count(1)


def function_of(text: str, name: str | None = None, /, **scope: Any) -> Any:
    """The (last) function of ``text``, which ``linecache`` knows, as it knows a notebook cell."""
    text = textwrap.dedent(text).lstrip("\n")
    file = f"<test {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "made", "paddle": paddle, **scope}
    before = set(names) | {"__builtins__"}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    made = [key for key in names if key not in before]
    return names[name or made[-1]]


def fresh(value: Any) -> Any:
    """``value`` for one call: new tensors of its own, floating ones with a gradient to come."""
    if isinstance(value, paddle.Tensor):
        copy = paddle.to_tensor(value.numpy())
        copy.stop_gradient = not paddle.is_floating_point(copy)
        return copy
    if isinstance(value, float | int | str | bool | type(None)):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(fresh(item) for item in tuple.__iter__(value)))
    if isinstance(value, list | tuple):
        return type(value)(fresh(item) for item in value)
    if isinstance(value, dict):
        return {key: fresh(item) for key, item in value.items()}
    return value


def run(function: Callable[..., Any], inputs: tuple[Any, ...], *, grad: bool) -> list[Any]:
    """All that can be seen of one call: result or exception, arguments, gradients."""
    arguments = tuple(fresh(value) for value in inputs)
    try:
        result = function(*arguments)
    except Exception as error:
        return [(type(error), str(error)), None, None, error]
    seen: list[Any] = [facts("result", result), facts("arguments", arguments)]
    gradients: list[Any] = []
    if grad:
        losses = [
            # Unequal weights: under equal ones many a wrong gradient is right by chance.
            (
                value.astype("float32") * paddle.linspace(0.5, 1.5, value.size).reshape(value.shape)
            ).sum()
            for _, value in tensors("result", result)
            if not value.stop_gradient and value.size
        ]
        if losses:
            try:
                paddle.add_n(losses).backward()
            except Exception as error:
                # Paddle's messages are pages long; the last line is what happened.
                last = [line for line in str(error).splitlines() if "Error" in line][-1:]
                raise AssertionError(f"backward failed: {last or error}") from None
        for path, value in tensors("arguments", arguments):
            # A program with both sides of a branch cannot tell a zero gradient from none.
            gradients += [
                (f"gradient of {path}", np.zeros(value.shape, "float32"))
                if value.grad is None
                else (f"gradient of {path}", value.grad.numpy())
            ]
    return [*seen, gradients, None]


def shown(value: Any) -> str:
    """A value in a message: tensors as their numbers."""
    return repr(value.tolist()) if isinstance(value, paddle.Tensor) else repr(value)


def _first(raised: tuple[type, str]) -> str:
    return f"{raised[0].__name__}: {raised[1].strip().splitlines()[0] if raised[1] else ''}"


def assert_same(
    function: Any,
    *inputs: Any,
    grad: bool = True,
    static: Any = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> Any:
    """Hold the captured program against dygraph: value, dtype, shape, structure, gradient.

    Args:
        function: what is converted.
        *inputs: one argument, or a tuple of arguments, for each call; every call goes to the same
            converted function, twice, so that the second finds its program captured.
        grad: compare gradients of floating inputs.
        static: the converted function, when it is not ``to_static(function)``.
        rtol: relative tolerance for floating values.
        atol: absolute tolerance for floating values.

    Returns:
        The converted function.
    """
    converted = d2s.to_static(function) if static is None else static
    for trip, given in itertools.product(("first", "second"), inputs):
        arguments = given if isinstance(given, tuple) else (given,)
        paddle.seed(7)
        want = run(function, arguments, grad=grad)
        paddle.seed(7)
        got = run(converted, arguments, grad=grad)
        where = f"for {', '.join(map(shown, arguments))}, {trip} call"
        if want[1] is None or got[1] is None:  # an exception on one side at least
            if got[1] is None and want[0] != got[0]:
                raise AssertionError(f"raised {_first(got[0])} {where}, but {want[0]}") from got[3]
            assert want[0] == got[0], where
            continue
        text = difference(want[0], got[0], rtol=rtol, atol=atol) or difference(
            want[1], got[1], rtol=rtol, atol=atol
        )
        assert text is None, f"{text} {where}"
        for (path, right), (_, mine) in zip(want[2], got[2], strict=True):
            np.testing.assert_allclose(
                mine, right, rtol=max(rtol, 1e-4), atol=max(atol, 1e-5), err_msg=f"{path} {where}"
            )
    return converted


def results_at(
    scales: tuple[float, ...], step: Callable[..., Any], *caught: type[Exception]
) -> Iterator[tuple[float, Any]]:
    """Call a step with one batch at each scale: what it gives, or the exception as a text."""
    for scale in scales:
        x = paddle.to_tensor([[1.0, -0.5, 0.25], [0.5, 2.0, -1.0]]) * scale
        try:
            result = step(x)
        except caught as error:
            result = f"{type(error).__name__}: {error}"
        yield scale, result


def tensor(*values: float, dtype: str = "float32") -> Any:
    """A 1-D tensor."""
    return paddle.to_tensor(list(values), dtype=dtype)


def scalar(value: Any, dtype: str | None = None) -> Any:
    """A 0-D tensor; an int gives int64, a float float32."""
    return paddle.to_tensor(value, dtype=dtype)
