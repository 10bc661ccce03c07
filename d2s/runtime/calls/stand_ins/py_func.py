"""``paddle.static.py_func``: each run calls a Python function; its result is there before (E5).

    out = paddle.zeros_like(x)
    paddle.static.py_func(np.tanh, x=x, out=out)    ->    ``out`` is what ``np.tanh`` gives

Paddle has it for programs of its former representation only, and not for dygraph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import paddle

from d2s.runtime.aliasing import inplace
from d2s.runtime.calls.host_functions import HostFunction
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import is_tensor
from d2s.runtime.values.tree import is_list_or_tuple, like


def _listed(given: object) -> list[Any]:
    return [] if given is None else list(given) if is_list_or_tuple(given) else [given]


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, called with arrays in the place of tensors."""

    def call(*values: object) -> Any:
        return function(*(cast(Any, each).numpy() if is_tensor(each) else each for each in values))

    return call


def py_func(
    func: Callable[..., Any],
    x: object,
    out: object,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: object = None,
) -> Any:
    """``paddle.static.py_func``."""
    capture = current()
    if capture is None:
        return paddle.static.py_func(func, x, out, backward_func, skip_vars_in_backward_input)
    capture.only_static = True
    given, outs = _listed(x), _listed(out)
    described = [
        paddle.static.InputSpec([None if size < 0 else size for size in each.shape], each.dtype)
        for each in outs
    ]
    gradient = None
    if backward_func is not None:
        skipped = [id(each) for each in _listed(skip_vars_in_backward_input)]
        kept = [id(each) not in skipped for each in (*given, *outs)]
        gradient = _gradient(backward_func, kept)
    host = HostFunction(
        _on_arrays(func),
        described[0] if len(described) == 1 else tuple(described) or None,
        gradient,
        keeps_results=True,
    )
    made = host(*given)
    if not outs:
        return out
    results = [
        inplace.put_into(place, value)
        for place, value in zip(outs, [made] if len(outs) == 1 else made, strict=True)
    ]
    return like(out, results) if is_list_or_tuple(out) else results[0]


def _gradient(backward: Callable[..., Any], kept: list[bool]) -> Callable[..., Any]:
    """``backward`` of arguments, results and their gradients, but for those that are skipped."""

    def call(*values: object) -> Any:
        named = [each for each, keep in zip(values, kept, strict=False) if keep]
        return _on_arrays(backward)(*named, *values[len(kept) :])

    return call
