"""Paddle's own functions, with arguments of all sorts: what dygraph makes of them, or an error.

Each public function of ``paddle``, ``nn.functional``, ``linalg`` and ``fft``, and each method of
tensors, is called with the argument lists of ``FORMS``, in dygraph and as a program; where dygraph
gives something, values, dtypes and gradients have to be the same, or an exception has to say that
they are not.  A process for each function: Paddle ends some of them itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import function_of

pytestmark = pytest.mark.slow

HOMES = {
    "paddle": paddle,
    "paddle.nn.functional": paddle.nn.functional,
    "paddle.linalg": paddle.linalg,
    "paddle.fft": paddle.fft,
    "Tensor": paddle.Tensor,
}

FORMS = (
    "x", "x, y", "x, 1", "x, 2", "x, 0.3", "x, y, z", "x, 0.1, 0.7", "x, [0]", "x, k", "[x, y]",
    "x, k, y", "x, 1, k", "x, axis=0", "x, k, 0", "k", "c, x, y", "x, [2, 2]", "x, k, 0, y",
)  # fmt: skip

NO_FUNCTIONS_OF_TENSORS = frozenset(
    """
    batch check_shape create_parameter disable_compat disable_signal_handler disable_static
    enable_compat enable_static flops get_device grad in_dynamic_mode load no_grad save seed
    set_default_dtype set_device set_grad_enabled set_printoptions summary use_compat_guard utils
    """.split()
)

DRAWN_OR_UNFILLED = (
    "rand", "normal", "uniform", "poisson", "bernoulli", "multinomial", "gamma", "binomial",
    "empty", "dropout", "exponential", "cauchy", "geometric", "gumbel", "rrelu", "shuffle", "rng",
    # The gradient of its value is memory that nobody has filled, in dygraph, too.
    "masked_fill",
)  # fmt: skip

NOT_OURS = ("register", "backward", "hook", "cuda", "print", "dlpack", "numpy", "tolist", "set_")

SECONDS = 25


def names_of(home: Any) -> list[str]:
    found = []
    for name in dir(home):
        thing = getattr(home, name, None)
        if name[0] == "_" or name[-1] == "_" or name in NO_FUNCTIONS_OF_TENSORS:
            continue
        if not callable(thing) or isinstance(thing, type):
            continue
        if not any(word in name for word in (*DRAWN_OR_UNFILLED, *NOT_OURS)):
            found.append(name)
    return found


def calls_of(home: str, name: str) -> Iterator[str]:
    for form in FORMS:
        if home != "Tensor":
            yield f"{home}.{name}({form})"
        elif form[0] != "[":
            first, _, rest = form.partition(", ")
            yield f"({first} * 1).{name}({rest})" if first != "c" else f"c.{name}({rest})"


def tensors(dtype: str) -> list[Any]:
    if dtype == "int64":
        rows: list[Any] = [[[1, 2], [3, 4]], [[2, 1], [5, 3]], [[1, 1], [2, 2]]]
    else:
        rows = [[[0.31, 0.77], [1.13, 0.19]], [[0.5, 0.25], [0.8, 0.6]], [[0.9, 0.1], [0.3, 0.45]]]
    made = [paddle.to_tensor(each, dtype=dtype) for each in rows]
    for each in made:
        each.stop_gradient = dtype == "int64"
    flags = paddle.to_tensor([[True, False], [False, True]])
    return [*made, paddle.to_tensor([1, 0]), flags]


def flat(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in flat(item)]
    return [result]


def outcome(function: Callable[..., Any], dtype: str) -> tuple[list[Any], list[Any]]:
    """The results, and what has become of the arguments: gradients and contents."""
    given = tensors(dtype)
    leaves = flat(function(*given))
    seen: list[Any] = []
    for leaf in leaves:
        tensor = isinstance(leaf, paddle.Tensor)
        seen.append((leaf.numpy(), str(leaf.dtype)) if tensor else (repr(leaf)[:40], None))
    losses = [
        (leaf * paddle.linspace(0.5, 1.5, leaf.size, dtype=leaf.dtype).reshape(leaf.shape)).sum()
        for leaf in leaves
        if isinstance(leaf, paddle.Tensor)
        and not leaf.stop_gradient
        and leaf.is_floating_point()
        and leaf.size
    ]
    for loss in losses:
        loss.backward(retain_graph=loss is not losses[-1])
    return seen, [
        (each.numpy(), np.zeros(1) if each.grad is None else each.grad.numpy()) for each in given
    ]


def same(one: Any, other: Any, *, exact: bool) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return type(one) is not type(other) or bool(one == other)
    if not one.any() and not other.any():  # a gradient of zero is like none
        return True
    near = (1e-12, 1e-13) if exact else (1e-4, 1e-5)
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=near[0], atol=near[1], equal_nan=True)
    )


def problem(text: str, dtype: str, place: Path) -> str | None:
    """How the program's outcome differs in silence; ``place`` tells of a call as a program."""
    function = function_of(f"def f(x, y, z, k, c): return {text}")
    place.write_text("")
    try:
        want, after = outcome(function, dtype)
    except Exception:
        return None  # dygraph does not take it
    place.write_text(text)
    try:
        got, then = outcome(d2s.to_static(function), dtype)
    except Exception:
        return None  # it says that it is another one
    exact = dtype == "float64"
    if [kind for _, kind in want] != [kind for _, kind in got]:
        return f"{text}: dtypes {got}, not {want}"
    if not all(same(a, b, exact=exact) for (a, _), (b, _) in zip(want, got, strict=True)):
        return f"{text}: {got}, not {want}"
    for name, mine, theirs in zip("xyzkc", then, after, strict=True):
        if not all(same(a, b, exact=False) for a, b in zip(theirs, mine, strict=True)):
            return f"{text}: {name} and its gradient are {mine}, not {theirs}"
    return None


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def swept(home: str, name: str, dtype: str, found: Path) -> None:
    """Write what differs; in a process of its own."""
    with found.open("w") as out:
        for text in calls_of(home, name):
            try:
                with limit(SECONDS):
                    said = problem(text, dtype, found.with_suffix(".running"))
            except BaseException:
                said = f"{text}: {traceback.format_exc()}"
            if said:
                print(said, file=out, flush=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("home", HOMES)
def test_nothing_differs_in_silence(home: str, dtype: str, tmp_path: Path) -> None:
    """A1, B1, D1: the program gives what dygraph gives, or an exception says that it does not."""
    differing = []
    names = names_of(HOMES[home])
    assert len(names) > 20
    for name in names:
        found = tmp_path / name
        child = os.fork()
        if not child:
            swept(home, name, dtype, found)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        differing += found.read_text().splitlines() if found.exists() else []
        running = found.with_suffix(".running")
        # Paddle ends some calls and the process in dygraph; a program must not.
        if status and running.exists() and running.read_text():
            differing.append(f"{running.read_text()}: the process ended")
    assert not differing
