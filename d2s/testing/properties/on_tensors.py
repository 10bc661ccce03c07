"""What holds for every program on tensors; see ``properties``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle

from d2s import api, conversion
from d2s.config import options
from d2s.errors import D2SError
from d2s.runtime.values.tree import scan
from d2s.selfcheck.check import Checker, target_of
from d2s.syntax.printer import to_source
from d2s.testing.program import Program
from d2s.testing.properties.observing import (
    ATOL,
    RTOL,
    captured,
    equal,
    fresh_state,
    leaves,
    lines_of,
    of_text,
    outcome,
    state_of,
    tensors,
)


def same_as_dygraph(program: Program, *, gradients: bool = True) -> None:
    """Results, exceptions with lines, printed text, arguments, state, gradients: B to F, G2."""
    function = program.function()
    checker = Checker(RTOL, ATOL, gradients=gradients)
    target = target_of(function, None)
    for call in program.calls_of(function):
        checker.report(target, program.arguments(call), {}).raise_for_difference()


def state_over_calls(program: Program) -> None:
    """F3, F4, G2: what one call leaves behind is what the next one finds, however it is changed."""
    original, other = program.function(), program.function()
    static = api.to_static(other, full_graph=True)
    for call, _ in zip(program.calls_of(original), program.calls_of(other), strict=True):
        want, got = (outcome(run, program.arguments(call)) for run in (original, static))
        equal(want, got, f"for {call}")
        before, after = (state_of(function) for function in (original, other))
        equal(("left", before, ""), ("left", after, ""), f"the state after {call}")


def gradients_are_slopes(program: Program) -> None:
    """C7: the gradient of the program is the slope of its result, by finite differences."""
    static = api.to_static(program.function(), full_graph=True)
    for call in program.calls:
        arguments = _widened(program.arguments(call))
        gradients, loss = _gradients(static, arguments)
        if loss is None:
            continue
        for position, gradient in gradients:
            slopes = _slopes(program, call, position)
            for index, (left, right) in enumerate(slopes):
                if not np.isclose(left, right, rtol=1e-3, atol=1e-4):
                    continue  # a kink or a jump lies here: there is no slope
                found = gradient.reshape([-1])[index]
                assert np.isclose(found, (left + right) / 2, rtol=1e-3, atol=1e-4), (
                    f"for {call}: the gradient of {program.parameters[position]} at {index} is "
                    f"{found}, the slope is {(left + right) / 2}"
                )


def _widened(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments in double precision."""
    made = []
    for value in arguments:
        if isinstance(value, paddle.Tensor) and paddle.is_floating_point(value):
            value = paddle.to_tensor(value.numpy(), dtype="float64", stop_gradient=False)
        made.append(value)
    return tuple(made)


def _loss(function: Any, arguments: tuple[Any, ...]) -> Any:
    """One number made of all floating tensors of the result; ``None`` when there are none."""
    found: list[Any] = []

    def leaf(thing: Any, path: str) -> None:
        if isinstance(thing, paddle.Tensor) and thing.dtype == paddle.float64:
            found.append((thing * (1.0 + 0.1 * len(found))).sum())

    try:
        with captured():
            scan(function(*arguments), leaf)
    except D2SError:
        raise
    except Exception:
        return None
    return paddle.add_n(found) if found else None


def _gradients(function: Any, arguments: tuple[Any, ...]) -> tuple[list[tuple[int, Any]], Any]:
    loss = _loss(function, arguments)
    if loss is None or loss.stop_gradient:
        return [], None
    loss.backward()
    return [
        (position, value.grad.numpy())
        for position, value in enumerate(arguments)
        if isinstance(value, paddle.Tensor) and value.grad is not None
    ], loss


def _slopes(program: Program, call: Any, position: int) -> Iterator[tuple[float, float]]:
    """The slope to the left and to the right, in dygraph, for each number of an argument."""
    step = 1e-5
    for index in range(len(call[position])):

        def at(shift: float, index: int = index) -> float:
            arguments = _widened(program.arguments(call))
            values = arguments[position].numpy()
            values[index] += shift
            arguments[position].set_value(values)
            loss = _loss(program.function(), arguments)
            return float("nan") if loss is None else float(loss)

        middle = at(0.0)
        yield (middle - at(-step)) / step, (at(step) - middle) / step


def open_sizes_change_nothing(program: Program) -> None:
    """G2: one program for many sizes gives what a program for each size gives."""
    function = program.function()
    shared, single = (
        api.to_static(function, full_graph=True),
        api.to_static(function, full_graph=True),
    )
    for size in (2, 3, 5, 4, 7):
        for call in program.calls:
            resized = tuple(_resized(value, size) for value in call)
            outcomes = []
            for static, dynamic in ((shared, True), (single, False)):
                with options(dynamic_dims=dynamic), fresh_state(function):
                    outcomes.append(outcome(static, program.arguments(resized)))
            equal(outcomes[0], outcomes[1], f"for size {size}")


def _resized(value: Any, size: int) -> Any:
    return (
        [value[index % len(value)] for index in range(size)] if isinstance(value, list) else value
    )


def no_python_on_later_calls(program: Program) -> None:
    """G2: a third call of a kind finds its program, and runs no line of the user's code."""
    function = program.function()
    file = function.__code__.co_filename
    static = api.to_static(function, full_graph=True)
    for call in program.calls:
        # A tensor of the state has a gradient from the first call on, which is another program.
        if [outcome(static, program.arguments(call))[0] for _ in range(2)] != ["returned"] * 2:
            continue
        arguments = program.arguments(call)
        with captured():
            lines = lines_of(file, lambda: static(*arguments))  # noqa: B023
        assert not lines, f"for {call}: lines {sorted(lines)} ran again"


def saved_and_loaded(program: Program) -> None:
    """G3: a program that is saved and loaded gives the tensors that it gave before."""
    function = program.function()
    for call in program.calls[:1]:
        arguments = program.arguments(call)
        specs = [
            paddle.static.InputSpec(value.shape, value.dtype, name)
            if isinstance(value, paddle.Tensor)
            else value
            for name, value in zip(program.parameters, arguments, strict=True)
        ]
        static = api.to_static(function, input_spec=specs, full_graph=True)
        with fresh_state(function):
            want = outcome(static, arguments)
        if want[0] != "returned":
            continue
        with tempfile.TemporaryDirectory() as folder, fresh_state(function):
            api.save(static, str(Path(folder) / "program"))
            loaded = api.load(str(Path(folder) / "program"))
            given = [value for value in arguments if isinstance(value, paddle.Tensor)]
            with captured():
                got = loaded(*given)
        _equal_tensors(leaves(want[1]), tensors(got))


def _equal_tensors(want: list[Any], got: list[Any]) -> None:
    """Assert that a saved program gives the tensors of a result, and the numbers that vary."""
    left = list(got)
    for thing in _with_fields(want):
        if isinstance(thing, paddle.Tensor):
            assert left, f"{len(got)} tensors, and there should be more"
            equal(("returned", thing, ""), ("returned", left.pop(0), ""), "loaded")
        elif _is_number(thing) and left and not left[0].shape and left[0].item() == thing:
            left.pop(0)  # a number that varies; one that does not is no part of the program
    assert not left, f"{len(got)} tensors, {len(left)} too many"


def _with_fields(things: list[Any]) -> Iterator[Any]:
    """``things``, with what the objects among them hold in their places."""
    for thing in things:
        fields = None if isinstance(thing, paddle.Tensor) else getattr(thing, "__dict__", None)
        yield from [thing] if fields is None else _with_fields(leaves(list(fields.values())))


def _is_number(thing: Any) -> bool:
    return isinstance(thing, bool | int | float)


def _as_printed(raised: tuple[Any, ...]) -> tuple[Any, ...]:
    """Type and message of an exception; its line is one of the printed text.

    A part of a function has a name of its own in the text, so its unbound variables are free ones.
    """
    kind, message = raised[:2]
    unbound = (NameError.__name__, UnboundLocalError.__name__)
    return (unbound[0], None) if kind in unbound else (kind, message)


def printed_is_the_same(program: Program) -> None:
    """A2: the text that ``d2s dump`` shows, run as code, is the same program."""
    function = program.function()
    trace = api.trace(function, keep_steps=False)
    printed = of_text(function, trace, to_source(trace.tree).text)
    conversion.note_made(printed.__code__)
    first, second = (
        api.to_static(function, full_graph=True),
        api.to_static(printed, full_graph=True),
    )
    for call in program.calls:
        outcomes = []
        for static in (first, second):
            with fresh_state(function):
                kind, value, text = outcome(static, program.arguments(call))
                outcomes.append((kind, _as_printed(value) if kind == "raised" else value, text))
        equal(outcomes[0], outcomes[1], f"for {call}")
