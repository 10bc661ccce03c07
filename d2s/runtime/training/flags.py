"""``x.stop_gradient = ...`` of a value, as dygraph means it.

    x = image            an argument            a gradient arrives at the argument, which says so
    y = x.detach()       no history             a gradient arrives there, and goes no further
    z = x * 2            a history, stopped     no gradient for what comes; the uses before keep it
    net.weight           of the state           see ``parameters.Parameters.set_flag``

What was computed before keeps what it was: dygraph records the way of a gradient when a tensor is
used.  A program looks at a value's flag when it is differentiated, so where a value that has been
used changes its flag, a copy of it takes its place.
"""

from __future__ import annotations

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.inplace import bind_anew
from d2s.runtime.control_flow.stops import note_stops
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.values.tensors import root_of

WHAT = "a change of stop_gradient"


def set_flag(value: bridge.Value, stops: bool) -> None:
    """``value.stop_gradient = stops`` in user code."""
    capture = current()
    assert capture is not None
    known = bridge.taken(value, capture.facts()).stop_gradient
    if known == stops or not capture.gradients:
        return
    tensor = bridge.tensor_of(value)
    if tensor is not None:  # a parameter, of which Paddle's layers give the value
        tensor.stop_gradient = stops
        return
    root = root_of(value)
    if root is not None and root >= 0:
        _set_of_argument(capture, value, root, stops)
    elif stops:
        _stop(capture, value)
    else:
        _start(capture, value)


def _set_of_argument(capture: Capture, value: bridge.Value, root: int, stops: bool) -> None:
    if capture.blocks or root in capture.notes.written:
        raise error_here(
            UnsupportedInGraphError,
            f"{WHAT} of an argument stands in a branch or loop that a tensor decides, or behind a "
            "change of the argument in place",
            "set it before, or use a .detach() of the argument",
        )
    capture.flags[root] = stops
    if not stops or value.use_empty():
        value.stop_gradient = stops
        return
    copy = _copy(value, stops)
    capture.notes.roots[copy.id] = (copy, root)
    bind_anew(value, copy, WHAT)


def _stop(capture: Capture, value: bridge.Value) -> None:
    if value.use_empty() and bridge.is_made_here(value):
        copy = value
        value.stop_gradient = True
    else:
        copy = _copy(value, True)
        bind_anew(value, copy, WHAT)
    capture.stopped[copy.id] = copy


def _start(capture: Capture, value: bridge.Value) -> None:
    if not bridge.is_made_here(value):
        copy = _copy(value, False)
        bind_anew(value, copy, WHAT)
        value = copy
    else:
        value.stop_gradient = False
    if value.id in capture.stopped:
        del capture.stopped[value.id]  # its history begins to count again
    else:
        bridge.cut(value)
        note_stops(value, False)


def _copy(value: bridge.Value, stops: bool) -> bridge.Value:
    copy = paddle.assign(value)
    copy.stop_gradient = stops
    return copy
