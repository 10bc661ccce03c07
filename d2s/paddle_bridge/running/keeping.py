"""Loops that train: what their gradients read is kept, in place of running the forward again.

A trip that is kept calls Python once in the forward and twice in the backward, so small ones are
computed again (``runs.Program.gradients``) instead, which is faster; see :data:`LEAST`.  Computing
again takes copies of what the call was given, which are not to be large; see :data:`COPIED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from d2s.paddle_bridge.gradients.halves import Lists
from d2s.paddle_bridge.preparing.memory import Need
from d2s.paddle_bridge.walks import GIVEN, inside, operations

LEAST: Final = 64 << 10
"""Trips that compute so many bytes are kept; smaller ones are computed again."""

VALUES: Final = 16
"""Where a trip computes more values, it has to compute more bytes, as each is handed to Python."""

COPIED: Final = 1 << 20
"""So many bytes of inputs and parameters are copied, to be what is computed again from."""


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
        needs = [Need(list(inside(loop))) for loop in loops]
        given = [each for each in program.global_block().ops if each.name() in GIVEN]
        limits = [(need, LEAST * max(need.count, VALUES) // VALUES) for need in needs]
        limits.append((Need(given), COPIED))
        self._keep = any(need.bytes(0) >= least for need, least in limits if not need.is_open)
        self._open = [(need, least) for need, least in limits if need.is_open]

    def pay(self, tensors: Sequence[Any]) -> bool:
        """Whether they are worth keeping, in a run with these inputs."""
        if self._keep or not self._open:
            return self._keep
        largest = max((size for tensor in tensors for size in tensor.shape), default=1)
        return any(need.bytes(largest) >= least for need, least in self._open)
