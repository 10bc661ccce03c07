"""``d2s.host``: functions that every run calls, with real values (rule E5).

A library that computes with NumPy, a database, a sound file: what a program cannot hold is a host
operator, and what it gives is as described before::

    @d2s.host(result=paddle.static.InputSpec([None], "int64"))
    def peaks(signal):                           peaks(x)  ->  one operator of the program, which
        return scipy.signal.find_peaks(signal.numpy())[0]      calls ``peaks`` on each run

In dygraph the function is simply called; what it gives is checked against the description there,
too, so that a mistake shows before anything is captured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ArgumentsError, HostResultError
from d2s.runtime.calls.py_layers import apply
from d2s.runtime.trace import current
from d2s.runtime.values import tree
from d2s.runtime.values.callbacks import host_call, host_values
from d2s.runtime.values.tensors import NUMBER_DTYPES, is_tensor, mark_number, number_kind

_NUMBERS: Final = (bool, int, float)
_Meta = tuple[list[int], str]


def _meta_of(leaf: object, name: str) -> _Meta:
    """Shape and dtype of a described result.

    Raises:
        ArgumentsError: (D2S301) the description is something else.
    """
    if leaf in _NUMBERS:
        return [], NUMBER_DTYPES[leaf]
    if isinstance(leaf, paddle.static.InputSpec):
        shape = [-1 if size is None else int(size) for size in leaf.shape]
        return shape, bridge.dtype_name(leaf.dtype)
    raise ArgumentsError(
        f"the result of {name!r} is described by {leaf!r}",
        cure="describe it by InputSpec(shape, dtype), by int, float or bool, or by lists, tuples "
        "and dicts of these",
    )


class HostFunction:
    """A function that each run of a program calls; what :func:`d2s.host` returns.

    Args:
        function: what is called, with dygraph tensors and Python numbers.
        result: what it gives: ``InputSpec``s, number types, or containers of them; ``None`` if it
            is called for what it does.
        gradient: from the tensors that it was called with and the gradients of its results to the
            gradients of those tensors; ``None``: no gradient goes through.
        keeps_results: whether ``gradient`` gets the results, too, behind the tensors.
    """

    def __init__(
        self,
        function: Callable[..., object],
        result: object = None,
        gradient: Callable[..., object] | None = None,
        *,
        keeps_results: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.keeps_results = keeps_results
        self.function = function
        self.gradient = gradient
        self.name: str = getattr(function, "__name__", type(function).__name__)
        leaves, self._rebuild = tree.flatten(result)
        self._described: list[object] = [] if result is None else leaves
        self._metas = [_meta_of(leaf, self.name) for leaf in self._described]
        self._layer = None if gradient is None else _layer_of(self)

    def __get__(self, instance: object, owner: type) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._layer is None or kwargs:
            made = self.called(args, kwargs)
        elif current() is None:
            made = self._layer.apply(*args)
        else:
            made = apply(self._layer, lambda function: function, *args)
        if not self._metas:
            return None
        values = made if tree.is_sequence(made) else [made]
        return self._rebuild(
            [
                value if not isinstance(leaf, type) else _number(value, leaf)
                for value, leaf in zip(values, self._described, strict=True)
            ]
        )

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The tensors that a call gives, as they are described, without gradients."""
        leaves, rebuild = tree.flatten((args, kwargs))
        if current() is None:
            with paddle.no_grad():
                given, options = rebuild([_detached(leaf) for leaf in leaves])
                found = self._checked(self.function(*given, **options))
            return tuple(_as_described(*each) for each in zip(found, self._metas, strict=True))
        places = [index for index, leaf in enumerate(leaves) if _is_of_the_run(leaf)]

        def call(*values: Any) -> list[Any]:
            full = list(leaves)
            for place, value in zip(places, values, strict=False):
                full[place] = value
            given, options = rebuild(full)
            return self._checked(self.function(*given, **options))

        return self._in_program(call, [leaves[place] for place in places])

    def _in_program(self, call: Callable[..., list[Any]], inputs: list[Any]) -> tuple[Any, ...]:
        if self._metas:
            return tuple(host_values(call, inputs, self._metas, self.name, effects=True))

        def effect(*values: Any) -> None:
            call(*values)

        host_call(effect, inputs)
        return ()

    def _checked(self, result: object) -> list[Any]:
        """The parts of what the function has given, which fit the description.

        Raises:
            HostResultError: (D2S311) they do not.
        """
        if not self._metas:
            if result is not None:
                raise self._differs(f"a {type(result).__name__}", "no result is described")
            return []
        found = tree.flatten(result)[0] if len(self._metas) > 1 else [result]
        if len(self._metas) == 1 and tree.kind_of(result) is not None:
            found = tree.flatten(result)[0]
        if len(found) != len(self._metas):
            raise self._differs(f"{len(found)} results", f"{len(self._metas)} are described")
        for item, (shape, dtype) in zip(found, self._metas, strict=True):
            sizes = list(np.shape(item) if not is_tensor(item) else item.shape)
            fits = len(sizes) == len(shape) and all(
                size in (-1, own) for size, own in zip(shape, sizes, strict=True)
            )
            if not fits:
                raise self._differs(f"a result of shape {sizes}", f"{shape} is described")
            if not (isinstance(item, bool | int | float) or hasattr(item, "dtype")):
                raise self._differs(f"a {type(item).__name__}", f"{dtype} of {shape} is described")
        return found

    def _differs(self, given: str, described: str) -> HostResultError:
        code = getattr(self.function, "__code__", None)
        return HostResultError(
            f"{self.name!r} gives {given}, where {described}",
            cure="let the function give what result= says, or change the description (None is a "
            "size that each run decides)",
            file=None if code is None else code.co_filename,
            line=None if code is None else code.co_firstlineno,
        )


def _layer_of(host: HostFunction) -> Any:
    """The ``PyLayer`` of a host function with a gradient."""

    def forward(ctx: Any, *args: Any) -> Any:
        made = host.called(args, {})
        kept = made if host.keeps_results else ()
        ctx.save_for_backward(*(item for item in args if is_tensor(item)), *kept)
        return made[0] if len(made) == 1 else made

    def backward(ctx: Any, *gradients: Any) -> Any:
        saved = ctx.saved_tensor()
        count = len(saved) - (len(host._metas) if host.keeps_results else 0)
        specs = [paddle.static.InputSpec(list(each.shape), each.dtype) for each in saved[:count]]
        assert host.gradient is not None
        described = specs[0] if len(specs) == 1 else tuple(specs)
        return HostFunction(host.gradient, described)(*saved, *gradients)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(host.name, (paddle.autograd.PyLayer,), members)


def _is_of_the_run(leaf: object) -> bool:
    return is_tensor(leaf) or (bridge.is_value(leaf) and number_kind(leaf) is not None)


def _detached(leaf: Any) -> Any:
    return leaf.detach() if is_tensor(leaf) else leaf


def _number(value: Any, kind: type) -> Any:
    """The Python number that a tensor of one element is; one that the run decides in a program."""
    return mark_number(value, kind) if bridge.is_value(value) else kind(value.item())


def _as_described(item: Any, meta: _Meta) -> Any:
    """A tensor of the described dtype."""
    made = item if is_tensor(item) else paddle.to_tensor(np.asarray(item))
    return made.astype(meta[1])


def host(
    function: Callable[..., object] | None = None,
    *,
    result: object = None,
    gradient: Callable[..., object] | None = None,
) -> Any:
    """Call a function on every run of a program, with real values.

    What Paddle cannot compute in a program (SciPy, an own C library, a request to a service) stays
    Python: converted code that calls ``function`` becomes a program with a host operator in its
    place.  Such a program cannot be saved.

    Args:
        function: gets dygraph tensors where the call has tensors, and Python numbers and other
            objects as they are; it is not converted.
        result: what it gives: ``paddle.static.InputSpec(shape, dtype)`` for a tensor or array
            (``None`` is a size that each run decides), ``int``, ``float`` or ``bool`` for a number,
            or lists, tuples and dicts of these.  Without it the function is called for what it
            does, and the call gives ``None``.
        gradient: a function that gives the gradients of the tensors among the arguments, with their
            shapes and dtypes, from those tensors and the gradients of the results; without it no
            gradient goes through.

    Returns:
        The function with the same signature; a decorator if no function is given.

    Raises:
        ArgumentsError: (D2S301) ``result`` describes nothing.
        HostResultError: (D2S311) at a call: the function gives something else than described.

    Examples:
        >>> import numpy as np
        >>> from paddle.static import InputSpec
        >>> @host(result=InputSpec([None], "float32"), gradient=lambda x, grad: grad * 2 * x)
        ... def squares(x):
        ...     return np.square(x.numpy())
        >>> import d2s
        >>> @d2s.to_static
        ... def total(x):
        ...     if x.sum() > 0:
        ...         x = squares(x)
        ...     return x.sum()
        >>> x = paddle.to_tensor([1.0, 3.0], stop_gradient=False)
        >>> total(x).backward()
        >>> x.grad.tolist()
        [2.0, 6.0]
    """
    if function is None:
        return lambda wrapped: HostFunction(wrapped, result, gradient)
    return HostFunction(function, result, gradient)
