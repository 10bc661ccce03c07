"""Errors of a program that was saved and loaded: at the lines that it was captured from.

A saved program knows no Python, and Paddle writes no call stacks.  ``d2s.save`` puts the places of
the operations into a file beside it, which ``d2s.load`` reads; without that file the errors have
no lines of the user's.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import paddle

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.diagnostics.leaving import leaving
from d2s.errors import ArgumentsError
from d2s.program.running.failures import Again, places_of, point_out
from d2s.runtime.trace import error_here

SUFFIX: Final = ".d2s"
"""Of the file with the places; one that ends in ``.json`` Paddle takes for a program."""

Sources = list[tuple[str, str]]
"""For each operation its name, and its places as text."""

_FRAME: Final = frozenset(
    {"builtin.parameter", "builtin.shadow_output", "pd_op.data", "pd_op.feed", "pd_op.fetch"}
)
"""Operations that hand values in and out, which differ between a program and its file."""


def sources_of(program: Any) -> Sources:
    """Where the operations of ``program`` come from."""
    return [(operation.name(), json.dumps(places_of(operation))) for operation in _working(program)]


def write_sources(path: str, sources: dict[str, Sources]) -> None:
    """Keep where the operations of a saved program come from.

    Args:
        path: of the program, without suffix.
        sources: for each saved function, by its name.
    """
    Path(path + SUFFIX).write_text(json.dumps(sources), encoding="utf-8")


def explaining(layer: Any, path: str) -> Any:
    """``layer``, as ``paddle.jit.load`` gives it, whose errors are those of dygraph.

    Args:
        layer: the loaded program.
        path: what it was loaded from, without suffix.
    """
    sources = _read_sources(path)
    kind = type(layer)
    methods = {"__call__": _method(kind, "__call__", "forward")}
    for name, saved in bridge.saved_programs(layer).items():
        _note(saved.program, sources.get(name, []))
        if name != "forward":  # which Paddle looks for in the class when it saves the layer again
            methods[name] = _method(kind, name, name)
    layer.__class__ = type(kind.__name__, (kind,), methods)
    return layer


def _read_sources(path: str) -> dict[str, Sources]:
    """What :func:`write_sources` has written; nothing where it has not, or something else is."""
    try:
        found = json.loads(Path(path + SUFFIX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _note(program: Any, sources: Sources) -> None:
    """Tell the operations of ``program`` where they come from, if they are those of ``sources``."""
    operations = list(_working(program))
    if [operation.name() for operation in operations] == [name for name, _ in sources]:
        for operation, (_, places) in zip(operations, sources, strict=True):
            bridge.note_source(operation, places)


def _working(program: Any) -> Iterator[Any]:
    return (each for each in bridge.operations(program) if each.name() not in _FRAME)


def _method(kind: type, name: str, program: str) -> Callable[..., Any]:
    """The method ``name`` of ``kind``, which runs ``program``."""
    original = getattr(kind, name)

    @functools.wraps(original)
    def call(self: Any, *inputs: Any, **options: Any) -> Any:
        try:
            with bridge.program_order():  # what it prints comes in the order of the program
                return original(self, *inputs, **options)
        except Exception as error:
            raised = error
        saved = bridge.saved_programs(self)[program]
        misfit = _misfit(saved, inputs, options)
        if misfit is not None:
            raise misfit from None
        _fail(raised, saved, inputs)

    return leaving(call)


def _misfit(
    saved: bridge.SavedProgram, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Exception | None:
    """What is wrong with the arguments of a call that has failed, if it is their number or kind."""
    wanted = ", ".join(
        f"{bridge.dtype_name(value.dtype)} {list(value.shape)}" for value in saved.inputs
    )
    arrays = (paddle.Tensor, np.ndarray)
    if options:
        given = "an argument by its name"
    elif len(inputs) != len(saved.inputs):
        given = f"{len(inputs)} of them"
    else:
        pairs = zip(inputs, saved.inputs, strict=True)
        others = [
            thing if isinstance(thing, arrays) else type(thing).__name__
            for thing, value in pairs
            if not isinstance(thing, arrays)
            or bridge.dtype_name(thing.dtype) != bridge.dtype_name(value.dtype)
        ]
        if not others:
            return None
        first = others[0]
        given = first if isinstance(first, str) else f"a tensor of {bridge.dtype_name(first.dtype)}"
    return error_here(
        ArgumentsError,
        f"the loaded program takes tensors by position ({wanted}), and is given {given}",
        "call it as it was saved, or save it again with another input_spec",
    )


def _fail(raised: Exception, saved: bridge.SavedProgram, inputs: tuple[Any, ...]) -> NoReturn:
    failure = point_out(raised, saved.program, _again(saved, inputs))
    if config.get().full_traceback and failure is not raised:
        failure.__cause__ = raised
    raise failure


def _again(saved: bridge.SavedProgram, inputs: tuple[Any, ...]) -> Again | None:
    """Runs a copy of the program on ``inputs``; ``None`` if it cannot, or would change a tensor."""
    if saved.tensors is None or bridge.overwritten(saved.program, saved.parameters):
        return None
    tensors = saved.tensors

    def again(copy: Any, find: Callable[[Any], Any]) -> None:
        parts = saved.inputs, saved.outputs, saved.parameters
        given, made, parameters = ([*map(find, part)] for part in parts)
        program = bridge.Program(copy, given, made, (tensors, parameters))
        with paddle.no_grad():
            program.run([*map(_tensor, inputs)])

    return again


def _tensor(thing: Any) -> Any:
    return thing if isinstance(thing, paddle.Tensor) else paddle.to_tensor(thing)
