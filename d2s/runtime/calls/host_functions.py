"""``d2s.host``: functions that every run calls, with real values (rule E5).

A library that computes with NumPy, a database, a sound file: what a program cannot hold is a host
operator, and what it gives is as described before::

    @d2s.host(result=paddle.static.InputSpec([None], "int64"))
    def peaks(signal):                           peaks(x)  ->  one operator of the program, which
        return scipy.signal.find_peaks(signal.numpy())[0]      calls ``peaks`` on each run

In dygraph the function is simply called; what it gives is checked against the description there,
too, so that a mistake shows before anything is captured.

So is a function of Paddle's that is given a number of the run where its operation has an attribute;
what it gives is asked of dygraph, with numbers and tensors that stand in::

    paddle.histogram(x, bins=8, max=edge)    ->  one operator, which calls it in dygraph
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import here
from d2s.errors import ArgumentsError, HostResultError, NotStaticError, UnsupportedInGraphError
from d2s.runtime.aliasing.replays import is_harmless
from d2s.runtime.calls.py_layers import apply
from d2s.runtime.trace import current
from d2s.runtime.values import tree
from d2s.runtime.values.callbacks import host_call, host_values
from d2s.runtime.values.objects import attribute, owner_of
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    is_tensor,
    mark_number,
    number_kind,
)

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
        asked: of which of the tensors it gives gradients; ``None``: of all.
    """

    def __init__(
        self,
        function: Callable[..., object],
        result: object = None,
        gradient: Callable[..., object] | None = None,
        *,
        keeps_results: bool = False,
        asked: list[bool] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.keeps_results = keeps_results
        self.asked = asked
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
        asked = host.asked or [True] * count
        specs = [
            paddle.static.InputSpec(list(each.shape), each.dtype)
            for each, wanted in zip(saved[:count], asked, strict=True)
            if wanted
        ]
        assert host.gradient is not None
        described = specs[0] if len(specs) == 1 else tuple(specs)
        made = HostFunction(host.gradient, described)(*saved, *gradients)
        if all(asked):
            return made
        found = iter([made] if len(specs) == 1 else made)
        return tuple(next(found) if wanted else None for wanted in asked)

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


# -- functions of Paddle's that take Python numbers ------------------------------------------------

NUMBER_ASKED: Final = (NotStaticError, UnsupportedInGraphError)
"""What is said where Paddle asks for the value of a number of the run."""

_STAND_INS: Final = (0, 1, 2)
"""What stands in for a number of the run."""

_SIZES: Final = (2, 3, 0)
"""What stands in for a size that the run decides."""

_MOST: Final = 1 << 22
"""Elements of the largest tensor that stands in for one; with larger ones nothing is tried."""


class _OfPaddle(HostFunction):
    """A function of Paddle's, whose results are like those that samples have given."""

    def __init__(self, function: Callable[..., object], result: object, **options: Any) -> None:
        super().__init__(function, result, **options)
        self._place = here()

    def _differs(self, given: str, described: str) -> HostResultError:
        return HostResultError(
            f"{self.name}() gives {given} for a number that only the run knows, which it has given "
            "for none of the numbers that were tried while the program was captured",
            cure="call it outside of the converted function, or with a Python number",
            file=self._place and self._place.file,
            line=self._place and self._place.line,
        )

    def computed(self, inputs: list[Any]) -> Any:
        """The results on each run, without gradients."""

        def checked(*given: Any) -> list[Any]:
            found = self._checked(self.function(*given))
            for made, (_, dtype) in zip(found, self._metas, strict=True):
                if bridge.dtype_name(made.dtype) != dtype:
                    raise self._differs(f"a result of dtype {made.dtype}", "")
            return found

        return self._rebuild(host_values(checked, inputs, self._metas, self.name))


def on_each_run(
    function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]
) -> Callable[..., Any] | None:
    """What calls a function of Paddle's on each run, with Python numbers; ``None``: nothing does.

    Args:
        function: a function that computes tensors of tensors, or a method of a value.
        arguments, options: what it is given, numbers of the run among it.
    """
    capture = current()
    name, owner = str(attribute(function, "__name__", "")), owner_of(function)
    if bridge.is_value(owner) and hasattr(bridge.EagerTensor, name):
        function, arguments = getattr(bridge.EagerTensor, name), [owner, *arguments]
    elif not is_harmless(function):
        return None
    leaves, rebuild = tree.flatten((tuple(arguments), dict(options)))
    leaves = [as_value(leaf) if bridge.is_eager(leaf) else leaf for leaf in leaves]
    places = [at for at, leaf in enumerate(leaves) if bridge.is_value(leaf)]
    inputs = [leaves[place] for place in places]
    kinds = [number_kind(value) for value in inputs]
    if capture is None or not any(kinds) or name.endswith("_") or bridge.autocasts():
        return None

    def call(*values: Any) -> Any:
        full = list(leaves)
        for place, value, kind in zip(places, values, kinds, strict=True):
            # What is saved for a backward is a tensor.
            full[place] = kind(value.item()) if kind and is_tensor(value) else value
        given, named = rebuild(full)
        return function(*given, **named)

    call.__name__ = name.lstrip("_")
    specs = _specs_of(call, inputs)
    if specs is None:
        return None
    asked = [not (kind or value.stop_gradient) for value, kind in zip(inputs, kinds, strict=True)]
    floats = ["float" in str(spec.dtype) for spec in tree.flatten(specs)[0]]
    if not (paddle.is_grad_enabled() and any(asked) and any(floats)):
        return lambda *_, **__: _OfPaddle(call, specs).computed(inputs)
    if not all(floats) or any(block.kind == "loop" for block in capture.blocks):
        return None
    gradient = _gradient_of(call, asked)
    return lambda *_, **__: _OfPaddle(call, specs, gradient=gradient, asked=asked)(*inputs)


def _gradient_of(call: Callable[..., Any], asked: list[bool]) -> Callable[..., Any]:
    """From the tensors of a call and the gradients of its results to those that are asked for."""

    def gradient(*given: Any) -> Any:
        tensors, gradients = given[: len(asked)], list(given[len(asked) :])
        with paddle.enable_grad():
            leaves = [each.detach() for each in tensors]
            for leaf, wanted in zip(leaves, asked, strict=True):
                leaf.stop_gradient = not wanted
            made, _ = tree.flatten(call(*leaves))
            inputs = [leaf for leaf, wanted in zip(leaves, asked, strict=True) if wanted]
            found = paddle.grad(made, inputs, gradients, allow_unused=True)
        filled = [
            paddle.zeros_like(leaf) if each is None else each
            for leaf, each in zip(inputs, found, strict=True)
        ]
        return filled[0] if len(filled) == 1 else tuple(filled)

    return gradient


def _specs_of(call: Callable[..., Any], inputs: list[Any]) -> Any:
    """What the results are like, a tensor for each leaf; ``None`` where that is not known."""
    if any(np.prod(_shape_with(value, max(_SIZES))) > _MOST for value in inputs):
        return None
    found = [made for sample in _samples(inputs) if (made := _results_of(call, sample)) is not None]
    if len(found) < 2:
        return None
    (first, rebuild), *others = found
    if any(len(each) != len(first) for each, _ in others):
        return None
    specs = []
    for alike in zip(*(each for each, _ in found), strict=True):
        if len({(each.dtype, len(each.shape)) for each in alike}) > 1:
            return None
        shape = [
            sizes[0] if len(set(sizes)) == 1 else None
            for sizes in zip(*(each.shape for each in alike), strict=True)
        ]
        specs.append(paddle.static.InputSpec(shape, alike[0].dtype))
    return rebuild(specs)


def _samples(inputs: list[Any]) -> Iterator[list[Any]]:
    """Tensors and numbers of dygraph that stand in for ``inputs``."""
    is_open = any(size < 0 for value in inputs for size in value.shape)
    sizes = _SIZES if is_open else _SIZES[:1]
    for number, size, ramp in itertools.product(_STAND_INS, sizes, (False, True)):
        yield [_sample(value, number, size, ramp=ramp) for value in inputs]


def _shape_with(value: Any, size: int) -> list[int]:
    return [size if known < 0 else known for known in value.shape]


def _sample(value: Any, number: int, size: int, *, ramp: bool) -> Any:
    kind = number_kind(value)
    if kind is not None:
        return kind(number)
    shape = _shape_with(value, size)
    count = int(np.prod(shape))
    below = count // 2 if "float" in str(value.dtype) else 0
    contents = (np.arange(count) - below).reshape(shape) if ramp else np.zeros(shape)
    with bridge.outside_of_capture():
        return paddle.to_tensor(contents).astype(value.dtype)


def _results_of(call: Callable[..., Any], sample: list[Any]) -> tuple[list[Any], Any] | None:
    """What a call gives in dygraph, if that is tensors of their own memory, drawn by no chance."""
    with bridge.outside_of_capture(), paddle.no_grad():
        state = paddle.get_rng_state()
        try:
            leaves, rebuild = tree.flatten(call(*sample))
            drawn = paddle.rand([2])
            paddle.set_rng_state(state)
            draws = bool((paddle.rand([2]) != drawn).any())
        except Exception:  # this number is none for it
            return None
        finally:
            paddle.set_rng_state(state)
        if draws or not all(map(bridge.is_eager, leaves)):
            return None
        tensors = [each for each in sample if bridge.is_eager(each)]
        shares = any(made._is_shared_buffer_with(each) for made in leaves for each in tensors)
        return None if shares else (leaves, rebuild)
