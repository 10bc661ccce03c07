"""What a program depends on of the thread that calls it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import (
    LayerHelperBase,
    amp_attributes,
    core,
    default_dtype,
    framework,
    has_grad,
)

_DTYPE: Final = "_LayerHelperBase__dtype"
_NO_AMP: Final = core.AmpLevel.O0.value
_NO_AMP_DTYPE: Final = "float32"
"""What a thread has that no ``auto_cast`` has set; asking for it is cheaper than for the level."""


class _Thread(threading.local):
    """What ``auto_cast`` sets in this thread: Paddle has one object for each."""

    def __init__(self) -> None:
        self.amp = amp_attributes()


_thread: Final = _Thread()


def modes_are(modes: tuple[Any, ...], name: Callable[[Any], str]) -> list[str]:
    """The questions whether, in dygraph mode, :func:`thread_modes` gives ``modes``: expressions.

    Args:
        modes: what it gave.
        name: gives things names in the expressions.
    """
    gradients, dtype, amp = modes[:3]
    if amp is not None or dtype != LayerHelperBase.__dict__.get(_DTYPE):
        return [f"{name(paddle.in_dynamic_mode)}()", f"{name(thread_modes)}() == {name(modes)}"]
    return [
        f"{name(framework.global_var)}._dygraph_tracer_ is not None",
        f"{name(has_grad)}() is {gradients}",
        f"{name(LayerHelperBase)}.{_DTYPE} == {name(dtype)}",
        f"{name(_thread)}.amp._amp_dtype == {_NO_AMP_DTYPE!r}",
    ]


def thread_modes() -> tuple[Any, ...]:
    """What a program depends on besides its code and its inputs: modes that Paddle's threads have.

    Whether gradients are recorded, the default dtype, and what ``auto_cast`` has set.
    """
    amp = _thread.amp
    if amp._amp_dtype == _NO_AMP_DTYPE or amp._amp_level.value == _NO_AMP:
        return has_grad(), default_dtype(), None
    return has_grad(), default_dtype(), str(amp._amp_level), str(amp._amp_dtype)
