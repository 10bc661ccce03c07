"""Strategies of hypothesis: whole programs, tensors.  Imported only by who has hypothesis."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, TypeVar

import paddle
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from d2s.testing.forms import constructs
from d2s.testing.grammar import BASIC, Writer, forms
from d2s.testing.program import BETWEEN, Call, Program

T = TypeVar("T")

_FEW: Final = 20
"""A program uses no more constructs than these, besides the basic ones."""

_LOOPS: Final = {item.name for item in forms() if item.loops}
_EXITS: Final = {item.name for item in forms() if item.in_loop}
"""What stands in loops only, and would seldom meet one by chance."""

_PARAMETERS: Final = ("x", "y", "n", "p")
_NUMBERS: Final = (0.5, -0.5, 2.0, -2.0, 0.0, 1.5, 0.25, -1.0)
_RESULTS: Final = (
    ("x",),
    ("x + y",),
    ("x - y * k", "k"),
    ("(x, y)",),
    ("(x, k)", "k"),
    ('{"x": x, "y": y}',),
    ("[x, y, k]", "k"),
)
"""What a program returns, and the names that this needs."""


class _Drawn:
    """Choices that hypothesis takes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def choose(self, options: Sequence[T]) -> T:
        return options[self.number(len(options) - 1)]

    def number(self, most: int) -> int:
        return self._draw(st.integers(0, most)) if most else 0


@st.composite
def programs(  # noqa: PLR0913  a keyword for each option
    draw: st.DrawFn,
    *,
    tensors: bool = True,
    only: Collection[str] | None = None,
    without: Collection[str] = (),
    size: int = 12,
    calls: int = 3,
    one_size: bool = False,
) -> Program:
    """Functions with branches, loops and the rest, each with calls that take different ways.

    A program uses a few constructs, drawn first; so all of them meet each other in some program,
    and none is crowded.  Every program ends, and its values stay small.

    Args:
        draw: given by hypothesis.
        tensors: ``x`` and ``y`` are float tensors; otherwise Python floats.
        only: the constructs that may be used (see ``d2s.testing.constructs``); all unless given.
        without: constructs that may not be used.
        size: how many statements there may be, about.
        calls: how many calls there are at most.
        one_size: all calls have tensors of one size.

    Returns:
        A strategy of :class:`Program`.

    Raises:
        ValueError: ``only`` or ``without`` names no construct.
    """
    known = constructs(tensors=tensors)
    for name in (*(only or ()), *without):
        if name not in constructs():
            raise ValueError(f"there is no construct {name!r}")
    options = [
        name
        for name in known
        if name not in BASIC and (only is None or name in only) and name not in without
    ]
    choices = _Drawn(draw)
    allowed = {choices.choose(options) for _ in range(choices.number(_FEW))} if options else set()
    if allowed & _LOOPS and choices.number(1):
        allowed |= _EXITS & set(options)
    writer = Writer(choices, tensors=tensors, allowed=frozenset(allowed), size=size)
    writer.body(5)
    text, parameters = writer.text("f", _result(choices, writer), _PARAMETERS)
    head = [part for part in writer.module.values() if part.startswith("import ")]
    rest = [part for part in writer.module.values() if not part.startswith("import ")]
    whole = "\n".join(["import paddle", *sorted(head)]) + "\n\n\n"
    if writer.between:
        lines = dict.fromkeys(f"    {line}\n" for line in writer.between)
        rest.append(f"def {BETWEEN}(number):\n{''.join(lines)}")
    whole += "".join(part.rstrip("\n") + "\n\n\n" for part in rest) + text
    return Program(
        whole,
        tuple(parameters),
        tuple(_calls(draw, choices, parameters, calls, tensors=tensors, one_size=one_size)),
        tensors,
        frozenset(writer.used),
    )


def _result(choices: _Drawn, writer: Writer) -> str:
    """What is returned: values, and what else the function has made now and then."""
    made = writer.made()
    form, *names = choices.choose(_RESULTS)
    for name in names:
        writer.need(name)
    if made and choices.number(1):
        return f"({choices.choose(made)}, {form})"
    return form


def _calls(
    draw: st.DrawFn,
    choices: _Drawn,
    parameters: Sequence[str],
    most: int,
    *,
    tensors: bool,
    one_size: bool,
) -> list[Call]:
    """The arguments of each call."""
    made = []
    size = 2
    for number in range(1 + choices.number(most - 1)):
        if tensors and not (one_size and number):
            size = 2 + choices.number(2)
        call: list[Any] = []
        for name in parameters:
            if name in ("n", "p"):
                call.append(choices.number(3))
            elif tensors:
                call.append([choices.choose(_NUMBERS) for _ in range(size)])
            else:
                call.append(choices.choose(_NUMBERS))
        made.append(tuple(call))
    return made


def tensors(
    dtype: str = "float32",
    shape: Sequence[int] | st.SearchStrategy[tuple[int, ...]] | None = None,
    *,
    stop_gradient: bool | None = None,
    bound: float = 8.0,
) -> st.SearchStrategy[Any]:
    """Tensors with small, finite numbers.

    Args:
        dtype: the dtype, as Paddle calls it.
        shape: the shape, or a strategy of shapes; up to three dimensions of 1 to 4 unless given.
        stop_gradient: as of a tensor; unless given, floats have a gradient, others not.
        bound: no number is larger, up to its sign.

    Returns:
        A strategy.
    """
    if shape is None:
        shape = arrays.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)
    elif not isinstance(shape, st.SearchStrategy):
        shape = tuple(shape)
    floating = dtype in ("float16", "bfloat16", "float32", "float64")
    kept = "float32" if dtype in ("float16", "bfloat16") else dtype
    stop = not floating if stop_gradient is None else stop_gradient

    def made(array: Any) -> Any:
        return paddle.to_tensor(array, dtype=dtype, stop_gradient=stop)

    return arrays.arrays(kept, shape, elements=_elements(dtype, bound)).map(made)


def _elements(dtype: str, bound: float) -> st.SearchStrategy[Any]:
    if dtype == "bool":
        return st.booleans()
    if dtype.startswith("uint"):
        return st.integers(0, int(bound))
    if dtype.startswith("int"):
        return st.integers(-int(bound), int(bound))
    wide = dtype == "float64"
    numbers = st.floats(-bound, bound, width=64 if wide else 32, allow_subnormal=False)
    if dtype.startswith("complex"):
        return st.complex_numbers(max_magnitude=bound, allow_nan=False, width=64)
    return numbers
