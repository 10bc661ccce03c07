"""Calls for a function, made up from its ``InputSpec``, annotations and defaults.

Imported only by who has hypothesis.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import paddle
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from d2s.errors import InputSpecError, NoInputsError
from d2s.runtime.values.tree import is_list_or_tuple, is_mapping
from d2s.syntax.source import kind_of
from d2s.testing.strategies import tensors

_SIDE: Final = 4
"""No dimension that is made up is larger."""

_PLAIN: Final[dict[Any, st.SearchStrategy[Any]]] = {
    bool: st.booleans(),
    int: st.integers(-3, 5),
    float: st.floats(-4, 4, allow_nan=False, width=32),
    str: st.text("ab", max_size=3),
    type(None): st.none(),
}

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def inputs_of(function: Any, input_spec: Any = None) -> st.SearchStrategy[dict[str, Any]]:
    """Calls of a function: what its parameters may be, by name.

    A parameter takes what its ``InputSpec`` says; else what its annotation says; else its default.
    ``paddle.Tensor`` is a float tensor, and all such arguments of one call have one shape. Open
    dimensions of an ``InputSpec`` at one position have one size in a call.

    Args:
        function: a function, method, callable object or layer, converted or not.
        input_spec: what ``to_static`` takes; that of a converted function unless given.

    Returns:
        A strategy of dicts, which :func:`d2s.testing.assert_equivalent` takes.

    Raises:
        NoInputsError: (D2S604) nothing says what a parameter takes.
        InputSpecError: (D2S302) ``input_spec`` has more entries than there are parameters.
    """
    if isinstance(function, paddle.nn.Layer):
        function = function.forward
    if input_spec is None:
        input_spec = getattr(function, "_spec", None)
    plain = getattr(function, "dygraph_function", function)
    parameters = _parameters(plain)
    specs = _specs(input_spec, parameters, plain)
    hints = _hints(plain)
    shared = _Shared()
    made: dict[str, st.SearchStrategy[Any]] = {}
    for parameter in parameters:
        name = parameter.name
        if name in specs:
            made[name] = shared.of_spec(specs[name])
        elif name in hints:
            found = shared.of_annotation(hints[name])
            if found is None:
                raise _unknown(plain, name, f"its annotation {hints[name]!r} does not tell")
            made[name] = found
        elif parameter.default is parameter.empty:
            raise _unknown(plain, name, "it has no annotation, and no InputSpec")
    order = list(made)
    return st.fixed_dictionaries(made).map(lambda call: {name: call[name] for name in order})


def _parameters(function: Any) -> list[inspect.Parameter]:
    """The parameters that a caller gives."""
    return [
        item
        for item in inspect.signature(function).parameters.values()
        if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    ]


def _specs(input_spec: Any, parameters: list[inspect.Parameter], function: Any) -> dict[str, Any]:
    """The entries of an ``input_spec`` by the name of the parameter."""
    if input_spec is None:
        return {}
    entries = list(input_spec) if is_list_or_tuple(input_spec) else [input_spec]
    names = [item.name for item in parameters if item.kind in _POSITIONAL]
    named = {entry.name for entry in entries if isinstance(entry, paddle.static.InputSpec)}
    if named and named <= set(names):
        return {entry.name: entry for entry in entries}
    if len(entries) > len(names):
        raise InputSpecError(
            f"input_spec has {len(entries)} entries, and {_name(function)} takes "
            f"{len(names)} arguments",
            cure="give one entry for each argument",
        )
    return dict(zip(names, entries, strict=False))


def _hints(function: Any) -> dict[str, Any]:
    """The annotations of a function, texts evaluated where they can be."""
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function)
    except Exception:  # an annotation may name what is imported for type checkers only
        return {
            name: paddle.Tensor if str(hint).rsplit(".", 1)[-1] == "Tensor" else hint
            for name, hint in getattr(function, "__annotations__", {}).items()
        }


def _unknown(function: Any, name: str, reason: str) -> NoInputsError:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return NoInputsError(
        f"inputs for the parameter {name!r} of {_name(function)} cannot be made up: {reason}",
        cure=f"annotate it, as in {name}: paddle.Tensor, or give an InputSpec",
        file=getattr(code, "co_filename", None),
        line=getattr(code, "co_firstlineno", None),
    )


def _name(function: Any) -> str:
    name = getattr(function, "__name__", None)
    return repr(name) if name else kind_of(function)


class _Shared:
    """Strategies for the parameters of one function, and what is equal in all of one call."""

    def __init__(self) -> None:
        self._shape = st.shared(
            arrays.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=_SIDE)
        )
        self._sizes: dict[int, st.SearchStrategy[int]] = {}

    def of_spec(self, spec: Any) -> st.SearchStrategy[Any]:
        """What an entry of an ``input_spec`` stands for."""
        if is_mapping(spec):
            return st.fixed_dictionaries({key: self.of_spec(item) for key, item in spec.items()})
        if is_list_or_tuple(spec):
            return st.tuples(*map(self.of_spec, spec)).map(type(spec))
        if not isinstance(spec, paddle.static.InputSpec):
            return st.just(spec)
        sizes = [
            self._size(position) if size is None or size < 0 else st.just(size)
            for position, size in enumerate(spec.shape)
        ]
        dtype = str(spec.dtype).rsplit(".", 1)[-1].lower()
        return tensors(dtype, st.tuples(*sizes))

    def _size(self, position: int) -> st.SearchStrategy[int]:
        """The size of open dimensions at one position: one in a call."""
        return self._sizes.setdefault(
            position, st.shared(st.integers(1, _SIDE + 2), key=f"d2s size {position}")
        )

    def of_annotation(self, hint: Any) -> st.SearchStrategy[Any] | None:
        """What an annotation stands for; ``None`` when it cannot be told."""
        if hint in _PLAIN:
            return _PLAIN[hint]
        if hint is paddle.Tensor:
            return tensors("float32", self._shape)
        if hint is np.ndarray:
            return self._arrays()
        origin, items = typing.get_origin(hint), typing.get_args(hint)
        make = self._containers().get(origin)
        if make is None:
            return None
        if origin is typing.Literal:
            return st.sampled_from(items)
        parts = [self.of_annotation(item) for item in items if item is not Ellipsis]
        found = [part for part in parts if part is not None]
        return make(found, items) if found and len(found) == len(parts) else None

    def _arrays(self) -> st.SearchStrategy[Any]:
        return arrays.arrays(
            "float32", self._shape, elements=st.floats(-8, 8, width=32, allow_subnormal=False)
        )

    def _containers(self) -> dict[Any, Callable[[list[Any], Any], st.SearchStrategy[Any]]]:
        """How the values of a generic type are made of those of its parameters."""

        def union(parts: list[Any], items: Any) -> st.SearchStrategy[Any]:
            return st.one_of(parts)

        def tuples(parts: list[Any], items: Any) -> st.SearchStrategy[Any]:
            if Ellipsis in items:
                return st.lists(parts[0], min_size=1, max_size=3).map(tuple)
            return st.tuples(*parts)

        return {
            typing.Union: union,
            types.UnionType: union,
            typing.Literal: union,
            list: lambda parts, items: st.lists(parts[0], min_size=1, max_size=3),
            tuple: tuples,
            dict: lambda parts, items: st.dictionaries(*parts, max_size=3),
        }
