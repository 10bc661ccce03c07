"""Loops that train: what their gradients read is kept, in place of running the forward again.

A trip that is kept calls Python once in the forward and twice in the backward, so small ones are
computed again (``runs.Program.gradients``) instead, which is faster; see :data:`LEAST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from d2s.paddle_bridge.gradients.halves import Lists
from d2s.paddle_bridge.preparing.memory import Need
from d2s.paddle_bridge.walks import inside, operations

LEAST: Final = 64 << 10
"""Trips that compute so many bytes are kept; smaller ones are computed again."""


class Kept:
    """What one run has kept for its backward.

    Args:
        wanted: for each output that may get a gradient, whether the backward goes through it.
        lists: see :mod:`d2s.paddle_bridge.gradients.halves`.
    """

    __slots__ = ("lists", "wanted")

    def __init__(self, wanted: tuple[bool, ...], lists: Lists) -> None:
        self.wanted = wanted
        self.lists = lists


class Trips:
    """How much the loops of a program compute.

    Args:
        program: with its loops.
    """

    def __init__(self, program: Any) -> None:
        loops = [each for each in operations(program) if each.name() == "pd_op.while"]
        self._needs = [Need(list(inside(loop))) for loop in loops]
        self._least = any(need.bytes(0) >= LEAST for need in self._needs if not need.is_open)
        self._open = [need for need in self._needs if need.is_open]

    def are_large(self, tensors: Sequence[Any]) -> bool:
        """Whether a trip of one is worth keeping, in a run with these inputs."""
        if self._least or not self._open:
            return self._least
        largest = max((size for tensor in tensors for size in tensor.shape), default=1)
        return any(need.bytes(largest) >= LEAST for need in self._open)
