"""Descriptions of values that outlive them: dtype, shape and number type.

When a capture of a loop is dropped, its values are gone (touching one is a crash); what was
learned from them is kept in these descriptions, and zeros of the same kind are made from them.
"""

from __future__ import annotations

import paddle

from d2s.runtime.trace import current
from d2s.runtime.values.tensors import NUMBER_DTYPES, is_tensor, number_kind, zeros_of


class Like:
    """Dtype, shape and number type of a value of a capture that was dropped."""

    def __init__(self, value: object) -> None:
        self.kind = number_kind(value)
        made = value if is_tensor(value) else None
        self.dtype = made.dtype if made is not None else NUMBER_DTYPES[self.kind or int]
        self.shape = list(made.shape) if made is not None else []
        self.stop_gradient = made is None or made.stop_gradient

    def zeros(self) -> paddle.Tensor:
        """A value like it."""
        return zeros_of(self.shape, self.dtype)


def wants_gradients() -> bool:
    """Whether the program that is being captured is to be differentiated."""
    capture = current()
    return capture is not None and capture.gradients
