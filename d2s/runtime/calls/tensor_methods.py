"""Methods of tensors that are other than Paddle's in a program: ``x.item()``, ``x.tolist()``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing import inplace
from d2s.runtime.aliasing.replays import COMPUTING
from d2s.runtime.aliasing.unchanged import called_unchanged
from d2s.runtime.calls.applying import module_of
from d2s.runtime.python import casts
from d2s.runtime.python.arrays.array import numpy_
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import capture_into, current, error_here
from d2s.runtime.values.tensors import cast_plain, mark_number, root_of

OF_THE_RUN: Final = ("numpy", "register_hook", "tolist")
"""Methods of dygraph tensors that a program has a form of its own for."""


_MOVING: Final = frozenset(("cpu", "cuda", "to", "view", "view_as"))
"""Methods of tensors that have one form for dygraph and one for programs."""


STOOD_IN: Final = (
    *("histogram", "lerp", "masked_fill", "put_along_axis", "repeat", "repeat_interleave"),
    *("reshape", "rot90", "squeeze", "tile", "tril", "triu", "view", "view_as", "where"),
)
"""Methods of tensors that are functions of Paddle with a stand-in."""


def is_computed(function: Callable[..., Any]) -> bool:
    """Whether a method of tensors is one of Paddle's functions, which values have as well."""
    name = function.__name__
    return (module_of(function).startswith(COMPUTING) or name in _MOVING) and hasattr(
        bridge.Value, name
    )


def tensor_method(owner: object, name: str, call: Callable[[Any], Any]) -> Any:
    """What to call in place of the method ``name`` of ``owner``; ``None``: it is as it is."""
    if name == "tolist":
        return functools.partial(tolist, owner)
    if name == "numpy":
        return lambda: numpy_(owner)
    if name == "register_hook":
        return functools.partial(_register_hook, call, owner)
    if name in ("item", "_item"):
        return lambda *index: _item(owner, *index)
    if inplace.is_inplace(name):
        return inplace.method(owner, name)
    return None


def _item(owner: Any, *index: Any) -> Any:
    """``.item()``: a 0-D value that stands for a Python number."""
    value = owner if not index else owner.flatten()[index[0]] if len(index) == 1 else owner[index]
    name = str(value.dtype).split(".")[-1]
    if name == "bool":
        return mark_number(cast_plain(value, "bool").reshape([]), bool)
    return casts.int_(value) if "int" in name else casts.float_(value)


class _Hook:
    """What ``register_hook`` gives: dygraph can take the hook away again, a program cannot."""

    def remove(self) -> bool:
        """``handle.remove()``."""
        raise error_here(
            UnsupportedInGraphError,
            "a gradient hook that was set in a program is removed",
            "set it where it is wanted only",
        )


def _register_hook(
    call: Callable[[Any], Any], tensor: bridge.Value, hook: Callable[..., Any]
) -> _Hook:
    """``tensor.register_hook(hook)``: from here on the tensor is one whose gradient is changed."""
    capture = current()
    assert capture is not None
    outside = bridge.is_eager(tensor)
    if (tensor if outside else bridge.taken(tensor, capture.facts())).stop_gradient:
        raise RuntimeError("Cannot register hook on a tensor that stop gradient.")
    if outside or root_of(tensor) is not None:
        raise error_here(
            UnsupportedInGraphError,
            "a gradient hook is set on an argument or on a tensor of the state; it would not see "
            "the gradients that come from outside of the function",
            "set it outside of the function, or on a tensor that is computed in it",
        )
    looped = any(block.kind == "loop" for block in capture.blocks)
    if looped or not bridge.is_value(tensor) or _gives_gradients(tensor):
        raise error_here(
            UnsupportedInGraphError,
            "a gradient hook is set on a tensor that was used before, or inside a static loop",
            "set the hook as soon as the tensor is made, outside of loops",
        )
    converted = call(hook)

    def gradient(_: object, received: bridge.Value) -> Any:
        with capture_into(capture):
            changed = called_unchanged("a gradient hook", hook, lambda: converted(received))
        return paddle.assign(received) if changed is None else changed

    hooked = bridge.static_py_layer(lambda _, value: paddle.assign(value), gradient)([tensor])
    hooked.stop_gradient = tensor.stop_gradient
    inplace.bind_anew(tensor, hooked, ".register_hook()")
    return _Hook()


def _gives_gradients(value: bridge.Value) -> bool:
    """Whether a gradient may come to ``value`` from where it was used so far."""
    made = [user.results() for user in value.all_used_ops()]
    return any(not results or any(not each.stop_gradient for each in results) for results in made)
