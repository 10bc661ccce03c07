"""``PyLayer.apply``: its own ``forward`` and ``backward`` become part of the program.

Paddle asks for the ``backward`` when it differentiates the program, after the capture.  By then no
dygraph tensor can become part of the program any more.  So the tensors that the globals and the
closure of ``backward`` hold are saved by ``forward``, behind what the user saves:

    forward(ctx, x)     ctx.save_for_backward(x)        saves   x, W
    backward(ctx, g)    x, = ctx.saved_tensor()         gets    x
                        return g * W                    reads   W as it was saved

Attributes of the context that hold tensors (``ctx.x = x``) are saved in the same way.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import LoopGradientError, UnsupportedInGraphError
from d2s.runtime.aliasing.unchanged import called_unchanged
from d2s.runtime.trace import Capture, capture_into, current, error_here
from d2s.runtime.values.tensors import as_value, is_tensor
from d2s.runtime.values.tree import is_sequence, parts


def apply(
    kind: type[paddle.autograd.PyLayer],
    call: Callable[[Any], Callable[..., Any]],
    *given: Any,
    **options: Any,
) -> Any:
    """``kind.apply(*given, **options)``.

    Args:
        kind: the ``PyLayer``.
        call: gives the converted form of a function.
        *given, **options: the arguments, without the context.

    Raises:
        UnsupportedInGraphError: (D2S205) inside of a static loop.
        LoopGradientError: (D2S307) ``backward`` reads a tensor that nobody has seen before.
    """
    capture = current()
    assert capture is not None
    _refuse_in_a_loop(capture, kind)
    bound = inspect.signature(kind.forward).bind(None, *given, **options)
    bound.apply_defaults()
    _, *inputs = bound.args
    tensors = [position for position, value in enumerate(inputs) if is_tensor(value)]
    forward, backward = call(kind.forward), call(kind.backward)
    found = {**_tensors_of(forward), **_tensors_of(backward)}

    attributes: dict[str, Any] = {}

    def ahead(context: paddle.autograd.PyLayerContext, *values: bridge.Value) -> Any:
        for position, value in zip(tensors, values, strict=False):
            inputs[position] = value
        users = _Context(context, attributes)
        others = values[len(tensors) :]
        ahead = _with_values(forward, dict(zip(found, others, strict=True))) if found else forward
        result = ahead(users, *inputs, **bound.kwargs)
        users.save(others)
        return result

    def gradient(context: paddle.autograd.PyLayerContext, *gradients: bridge.Value) -> Any:
        # Paddle asks for it when the program has been captured.
        with capture_into(capture), capture.expressions(), _nothing_new(kind):
            users = _Context(context, attributes)
            values = users.restore(len(found))
            back = _with_values(backward, dict(zip(found, values, strict=True)))
            used = back if found else backward
            what = f"the backward of {kind.__name__!r}"
            result = called_unchanged(what, kind.backward, lambda: used(users, *gradients))
            return (*_gradients_of(kind, result, wanted), *[None] * len(found))

    made = bridge.static_py_layer(ahead, gradient)
    others = [_constant(held) for held in found.values()]
    wanted = [as_value(inputs[position]) for position in tensors]
    result = made([*wanted, *others])
    if paddle.is_grad_enabled() and not all(value.stop_gradient for value in wanted):
        _let_differentiate(result)
    return result


def _refuse_in_a_loop(capture: Capture, kind: type[paddle.autograd.PyLayer]) -> None:
    if any(block.kind == "loop" for block in capture.blocks):
        raise error_here(
            UnsupportedInGraphError,
            f"the PyLayer {kind.__name__!r} is applied inside a static loop, which Paddle cannot "
            "differentiate",
            "apply it outside of the loop, or give the loop Python bounds",
        )


def _gradients_of(
    kind: type[paddle.autograd.PyLayer], result: Any, wanted: list[bridge.Value]
) -> tuple[object, ...]:
    """The gradients that ``backward`` has given, one for each of ``wanted``.

    Raises:
        LoopGradientError: (D2S307) one is for a tensor that stops gradients, which is a
            ``ValueError`` in dygraph.
    """
    own = tuple(result) if is_sequence(result) else (result,)
    left = wanted[len(own) :]  # dygraph asks for no gradient of the last ones that stop
    if all(value.stop_gradient for value in left):
        own += (None,) * len(left)
    pairs = enumerate(zip(own, wanted, strict=False))
    wrong = [place for place, (found, value) in pairs if found is not None and value.stop_gradient]
    if wrong:
        code = kind.backward.__code__
        raise LoopGradientError(
            f"the backward of the PyLayer {kind.__name__!r} gives a gradient for tensor "
            f"{wrong[0]} of its forward, which stops gradients, and dygraph raises ValueError then",
            cure="return None in its place",
            file=code.co_filename,
            line=code.co_firstlineno,
        )
    return own


def _let_differentiate(result: Any) -> None:
    """Let what a ``PyLayer`` gives have gradients, whatever its ``forward`` says of it."""
    if bridge.is_value(result):
        result.stop_gradient = False
    elif is_sequence(result):
        for each in result:
            _let_differentiate(each)


def _constant(tensor: paddle.Tensor) -> bridge.Value:
    """A value for ``tensor`` that no gradient goes to, as none goes out of a ``PyLayer``."""
    value = as_value(tensor)
    if not value.stop_gradient:
        value = paddle.assign(value)
        value.stop_gradient = True
    return value


class _Context:
    """The context as ``forward`` and ``backward`` see it, where more is saved than they say.

    Args:
        context: Paddle's, which keeps other attributes: ``backward`` finds them there.
        attributes: those with tensors, which belong to the block of ``forward``.
    """

    def __init__(self, context: paddle.autograd.PyLayerContext, attributes: dict[str, Any]) -> None:
        vars(self).update(context=context, saved=(), attributes=attributes)

    def __getattr__(self, name: str) -> Any:
        attributes = vars(self)["attributes"]
        return attributes[name] if name in attributes else getattr(vars(self)["context"], name)

    def __setattr__(self, name: str, value: object) -> None:
        vars(self)["attributes"].pop(name, None)
        if any(True for _ in _leaves(value)):
            vars(self)["attributes"][name] = value
        else:
            setattr(vars(self)["context"], name, value)

    def save_for_backward(self, *tensors: object) -> None:
        vars(self)["saved"] = tensors

    def saved_tensor(self) -> Any:
        return vars(self)["saved"]

    def save(self, values: tuple[Any, ...]) -> None:
        """Save what the user has saved, the tensors of the attributes, and ``values``."""
        kept = map(as_value, _leaves(list(vars(self)["attributes"].values())))
        behind = (*kept, *values)
        if behind or vars(self)["saved"]:
            vars(self)["context"].save_for_backward(*vars(self)["saved"], *behind)

    def restore(self, count: int) -> list[Any]:
        """Get what the user has saved, the attributes, and the ``count`` values behind them.

        Returns:
            The values; the user's and the attributes are in their places.
        """
        attributes = vars(self)["attributes"]
        kept = sum(1 for _ in _leaves(list(attributes.values())))
        held = tuple(vars(self)["context"].saved_tensor()) if kept or count else None
        if held is None:
            vars(self)["saved"] = vars(self)["context"].saved_tensor()
            return []
        own = len(held) - count - kept
        vars(self)["saved"] = held[:own]
        given = iter(held[own : own + kept])
        filled = {name: _filled(value, given) for name, value in attributes.items()}
        vars(self)["attributes"] = filled
        return list(held[own + kept :])


def _leaves(value: object) -> Iterator[Any]:
    """The tensors in ``value``, in lists, tuples and dicts too."""
    if is_tensor(value):
        yield value
    elif (held := parts(value)) is not None:
        for _, item in held[0]:
            yield from _leaves(item)


def _filled(value: object, tensors: Iterator[Any]) -> Any:
    """``value`` with the next of ``tensors`` in the place of each of its own."""
    if is_tensor(value):
        return next(tensors)
    held = parts(value)
    if held is None:
        return value
    return held[1]([_filled(item, tensors) for _, item in held[0]])


def _tensors_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The dygraph tensors that the closure and the globals of ``function`` hold, by name."""
    if not isinstance(function, types.FunctionType):
        return {}
    scope = function.__globals__
    found = {name: scope[name] for name in sorted(_names_in(function.__code__)) if name in scope}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not bound yet
            found[name] = cell.cell_contents
    return {name: held for name, held in found.items() if bridge.is_eager(held)}


def _names_in(code: types.CodeType) -> set[str]:
    inner = (item for item in code.co_consts if isinstance(item, types.CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _with_values(function: Any, values: dict[str, Any]) -> Callable[..., Any]:
    """``function``, which finds ``values`` under their names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    made = types.FunctionType(
        function.__code__,
        {**function.__globals__, **values},
        function.__name__,
        function.__defaults__,
        tuple(types.CellType(values[n]) if n in values else cell for n, cell in cells) or None,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@contextlib.contextmanager
def _nothing_new(kind: type[paddle.autograd.PyLayer]) -> Iterator[None]:
    """Refuse a ``backward`` that makes another dygraph tensor part of the program."""
    before = len(bridge.known_tensors())
    yield
    if len(bridge.known_tensors()) > before:
        code = kind.backward.__code__
        raise LoopGradientError(
            f"the backward of the PyLayer {kind.__name__!r} reads a tensor that is neither one of "
            "its arguments nor a variable of its module or of the function around it",
            cure="save it in forward, with ctx.save_for_backward",
            file=code.co_filename,
            line=code.co_firstlineno,
        )
