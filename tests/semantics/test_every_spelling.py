"""A sweep: every public function of Paddle means the same in a program, however the call is spelt.

A call that dygraph takes by position is written with names, with each alias, in another order, with
several numbers for a list, and with ``out=``; where dygraph takes that as well, the program gives
what dygraph gives: values, dtypes, ``stop_gradient``, gradients, what becomes of the arguments.
Where it does not, it says so with a code, for all spellings of the call alike.
"""

from __future__ import annotations

import inspect
import os
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import function_of
from tests.semantics.test_sweep import FORMS, HOMES, SECONDS, flat, limit, names_of, same, tensors

ALIASES = {
    "x": ("input", "tensors", "self"), "y": ("other", "vec2", "mat2", "exponent"),
    "inputs": ("tensors",), "input": ("x", "self"), "axis": ("dim", "axes", "axis0"),
    "perm": ("dims",), "shape": ("size",), "keepdim": ("keepdims",),
    "value": ("source", "fill_value", "values"), "index": ("indices",),
    "num_or_sections": ("split_size_or_sections",), "repeat_times": ("dims", "repeats"),
    "shifts": ("shift",), "p": ("ord",), "shape_or_dtype": ("dtype", "size"),
    "diagonal": ("offset",), "offset": ("diagonal",), "mask": ("condition",),
    "num_or_indices": ("indices_or_sections", "sections", "indices"), "label": ("target",),
    "axis1": ("dim1",), "axis2": ("dim2",), "start_axis": ("start_dim",), "stop_axis": ("end_dim",),
}  # fmt: skip

MORE = ("x, [1, 0]", "x, 0, 1", "x, [4]", "x, [2, 2, 1]", "[2, 2]", "x, 'float64'", "3", "1, 5, 2")

QUICK = (
    "add", "add_n", "cat", "clip", "concat", "cumsum", "expand", "full", "gather", "hstack", "max",
    "mean", "ones", "reshape", "split", "squeeze", "stack", "sum", "tile", "topk", "transpose",
    "unique", "view", "view_as", "where", "zeros",
)  # fmt: skip

ACCEPTED = 3
"""How many calls of a function are written in all ways."""


PARTS = 8
"""In how many tests the functions of a module are swept."""


def parameters_of(function: Any) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    return [each.name for each in found if each.kind is each.POSITIONAL_OR_KEYWORD]


def spellings(call: str, given: list[str], names: list[str]) -> Iterator[str]:
    """The call by position first, then in other ways."""

    def text(positional: list[str], named: list[tuple[str, str]]) -> str:
        return f"{call}({', '.join([*positional, *(f'{name}={each}' for name, each in named)])})"

    yield text(given, [])
    pairs = list(zip(names, given, strict=False))
    if len(pairs) == len(given) and "name" not in dict(pairs):  # one of several numbers
        for place in range(len(pairs)):
            yield text(given[:place], pairs[place:])
        yield text([], pairs[::-1])
        for place, (name, each) in enumerate(pairs):
            for alias in ALIASES.get(name, ()):
                if alias not in names:
                    yield text([], [*pairs[:place], (alias, each), *pairs[place + 1 :]])
                    yield text(given[:place], [(alias, each), *pairs[place + 1 :]])
    if given and re.match(r"\[\d", given[-1]):
        yield text([*given[:-1], given[-1][1:-1]], [])


def calls_of(home: str, name: str) -> Iterator[list[str]]:
    """The spellings of each call."""
    names = parameters_of(getattr(HOMES[home], name))
    for form in (*FORMS, *MORE):
        given = [each for each in re.split(r", (?![^\[]*\])", form) if each]
        if "=" in form:
            continue
        if home != "Tensor":
            yield list(spellings(f"{home}.{name}", given, names))
        elif given[0][0] not in "[0123456789":
            yield list(spellings(f"({given[0]} * 1).{name}", given[1:], names[1:]))


IGNORING = (
    "bitwise_invert", "bitwise_not", "clear_gradient", "clone", "contiguous", "detach", "is_dense",
    "is_selected_rows", "is_sparse", "is_sparse_coo", "is_sparse_csr", "new_init", "original_init",
    "retain_grads",
)  # fmt: skip
"""What takes in dygraph any number of arguments that it does not look at, or is no function."""

NO_VALUE = (
    "alias",
    "async_save",
    "autocast",
    "bfloat16",
    "check_",
    "float16",
    "half",
    "lowrank",
    "param_",
)
"""In names of functions that draw, or give what cannot be summed, or no tensor at all."""


def outcome(function: Any) -> Any:
    """What a call gives, the gradients and the arguments after it; or the error."""
    given = tensors("float32")
    try:
        leaves = flat(function(*given))
    except Exception as error:
        return error
    found = [
        (each.numpy(), str(each.dtype), each.stop_gradient)
        if isinstance(each, paddle.Tensor)
        else (repr(each)[:40], "", True)
        for each in leaves
    ]
    losses = [
        (each * paddle.linspace(0.5, 1.5, each.size, each.dtype).reshape(each.shape)).sum()
        for each in leaves
        if isinstance(each, paddle.Tensor) and not each.stop_gradient and each.size
        if each.is_floating_point()
    ]
    try:
        if losses:
            paddle.add_n([loss.astype("float64") for loss in losses]).backward()
    except Exception as error:
        return error
    for each in given:
        gradient = np.zeros(1) if each.grad is None else each.grad.numpy()
        found += [(gradient, "gradient", True), (each.numpy(), str(each.dtype), True)]
    return found


def alike(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(
        rest == also and same(left, right, exact=False)
        for (left, *rest), (right, *also) in zip(one, other, strict=True)
    )


def said(error: Exception) -> bool:
    """Whether an error has a code, or is Paddle's own of an operation that it does not take."""
    return bool(re.search(r"D2S\d{3}|\[Hint|\(at /", str(error)))


def problem(text: str, got: Any, want: Any) -> Iterator[str]:
    """What differs, for a call that dygraph takes."""
    if isinstance(got, Exception):
        if not said(got):
            yield f"{text}: {got!r}"
    elif not alike(got, want):
        yield f"{text}: {got}, not {want}"


def differing(texts: list[str]) -> Iterator[str]:
    """The spellings that mean something else in a program, or that it alone does not take."""
    plain: Any = None
    for place, text in enumerate(dict.fromkeys(texts)):
        function = function_of(f"def f(x, y, z, k, c):\n    return {text}")
        want = outcome(function)
        if isinstance(want, Exception):
            continue
        got = outcome(d2s.to_static(function))
        if place == 0:
            plain = got
            yield from without_out(text)
        yield from problem(text, got, want)
        if isinstance(got, Exception) and not isinstance(plain, Exception):
            yield f"{text}: {got!r}, and another spelling is taken"


def without_out(text: str) -> Iterator[str]:
    """The same with ``out=``, of which Paddle's programs know nothing."""
    function = function_of(
        f"def f(x, y, z, k, c):\n    o = paddle.zeros([1])\n"
        f"    r = {text[:-1]}{'' if text.endswith('()') else ', '}out=o)\n    return r, o"
    )
    want = outcome(function)
    if not isinstance(want, Exception):
        yield from problem(f"{text} with out=", outcome(d2s.to_static(function)), want)


def swept(home: str, name: str) -> Iterator[str]:
    taken = 0
    for texts in calls_of(home, name):
        function = function_of(f"def f(x, y, z, k, c):\n    return {texts[0]}")
        if taken < ACCEPTED and not isinstance(outcome(function), Exception):
            taken += 1
            yield from differing(texts)


@pytest.mark.sampled(4, also=["unique", "add_n", "cumsum", "hstack", "squeeze"])
@pytest.mark.parametrize("name", QUICK)
def test_functions_that_are_often_called(name: str) -> None:
    """G1b: as functions, and as methods where there are."""
    assert list(swept("paddle", name)) == []
    if hasattr(paddle.Tensor, name):
        assert list(swept("Tensor", name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("home", HOMES)
def test_all_functions(home: str, part: int, tmp_path: Path) -> None:
    """G1b: a process for each function, as Paddle ends some of them itself, in dygraph, too."""
    found: list[str] = []
    for name in names_of(HOMES[home])[part::PARTS]:
        if name in IGNORING or any(word in name for word in NO_VALUE):
            continue
        report = tmp_path / name
        child = os.fork()
        if not child:
            with report.open("w") as out:
                try:
                    with limit(4 * SECONDS):
                        out.writelines(f"{line}\n" for line in swept(home, name))
                except BaseException:
                    out.write(f"{name}: {traceback.format_exc()}")
            os._exit(0)
        os.waitpid(child, 0)
        found += report.read_text().splitlines() if report.exists() else []
    assert not found
