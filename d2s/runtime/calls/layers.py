"""Calls of layers: their hooks run, and their ``forward`` is converted."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.holders import counted
from d2s.runtime.calls.applying import applied
from d2s.runtime.calls.callables import swapped
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice, each

Converting = Callable[[Any], Any]
"""Gives what to call in place of a function."""


def layer_outside(layer: paddle.nn.Layer, call: Converting) -> Any:
    """``layer`` as a function outside of a capture; its hooks run, its ``forward`` is converted."""
    _, converted = _forward_of(layer, call)
    return layer if converted is None else functools.partial(_run_layer, layer, call)


def _forward_of(layer: paddle.nn.Layer, call: Converting) -> tuple[Any, Any]:
    """The ``forward`` of ``layer`` without a converter around it, and its converted form if any."""
    forward = layer.forward
    if isinstance(forward, bridge.PaddlesFunction):
        forward = forward.dygraph_function
    converted = call(forward) if type(forward) is types.MethodType else forward
    function = getattr(forward, "__func__", None)
    if converted is forward or getattr(converted, "__func__", None) is function:
        return forward, None
    return forward, converted


def _run_layer(
    layer: paddle.nn.Layer, call: Converting, *arguments: object, **options: object
) -> Any:
    with swapped(layer.__dict__, {"forward": _forward_of(layer, call)[1]}):
        return layer(*arguments, **options)


def layer_call(
    layer: paddle.nn.Layer,
    call: Converting,
    original: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """A call of ``layer`` during a capture, by whomever: ``forward`` and hooks are converted.

    Args:
        layer: the layer.
        call: gives what to call in place of a function.
        original: what ``nn.Layer`` does when it is called.
        arguments, options: the call's.
    """
    capture = current()
    assert capture is not None
    if isinstance(layer, paddle.DataParallel) and paddle.distributed.get_world_size() > 1:
        raise error_here(
            UnsupportedInGraphError,
            "a paddle.DataParallel is called, whose processes exchange gradients behind each call",
            "convert the layer inside of it, or wrap the converted one: DataParallel(to_static(n))",
        )
    if capture.adopt is not None:
        capture.adopt(layer)
    if id(layer) in capture.prepared:
        return applied(functools.partial(original, layer), list(arguments), options)
    _, converted = _forward_of(layer, call)
    hooks = [table for table in (layer._forward_pre_hooks, layer._forward_post_hooks) if table]
    with contextlib.ExitStack() as stack:
        capture.prepared.add(id(layer))
        stack.callback(capture.prepared.discard, id(layer))
        if converted is not None:
            stack.enter_context(swapped(layer.__dict__, {"forward": converted}))
        for table in hooks:
            before = table is layer._forward_pre_hooks
            found = {key: _hook(call(hook), before=before) for key, hook in table.items()}
            stack.enter_context(swapped(table, found))
        if converted is not None:
            return original(layer, *arguments, **options)
        return applied(functools.partial(original, layer), list(arguments), options)


def _hook(hook: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    """A hook of a layer; where it may return ``None``, it returns what that leaves in place."""

    def run(layer: paddle.nn.Layer, *given: object) -> Any:
        result, now = _called_with(hook, layer, list(given))
        if result is None and any(one is not other for one, other in zip(now, given, strict=True)):
            result = now[-1] if len(now) == 1 or not before else tuple(now)
        if not isinstance(result, Choice) or not any(leaf is None for leaf in result.leaves()):
            return result

        def as_given(leaf: object) -> Any:
            if leaf is None:
                return now[-1]
            return (leaf,) if before and not isinstance(leaf, tuple) else leaf

        return each(lambda found: found, result.spread(as_given), plainly=True)

    return run


@counted("given")
def _called_with(
    hook: Callable[..., Any], layer: paddle.nn.Layer, given: list[object]
) -> tuple[Any, list[object]]:
    """What ``hook`` gives, and ``given``, in which tensors that it has changed are bound anew."""
    result = hook(layer, *given)
    return result, given
