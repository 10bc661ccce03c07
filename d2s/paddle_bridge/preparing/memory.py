"""Programs that keep what they compute until their call ends, because it is not much.

Paddle gives the memory of a value back as soon as nothing in the program reads it any more.  It has
a thread of its own do so, one task for each value::

    y = x * x          y = x * x
    z = exp(y)         z = exp(y)      another thread: frees y
    w = z + 1          w = z + 1       another thread: frees z

To wake that thread costs more than a small operation.  ``FLAGS_eager_delete_tensor_gb`` below zero,
while Paddle prepares a program, leaves all values where they are until the run is over.  Above
zero, it is how much memory is given back as one task: where values take more than the limit, so
that no more than a quarter of it waits in all blocks together.

Where a program has branches or loops, ``block_memory`` says whether that is possible.  Such a
program holds what its blocks have computed as long as it lives, so that may be a quarter as much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod
from typing import Any, Final

from d2s.paddle_bridge.flags import KEEPING, KEEPING_BLOCKS, OUT_OF_PLACE, Way, returning
from d2s.paddle_bridge.names import core
from d2s.paddle_bridge.preparing.block_memory import count_blocks
from d2s.paddle_bridge.preparing.chunks import at_top
from d2s.paddle_bridge.walks import inside

_OPEN: Final = -1

LONG: Final = 2_000
"""To find what may be written in place takes more than a second from so many operations on, and
time that grows with their square."""


class Need:
    """The memory that the values of a program take while none is given back.

    Args:
        made_by: its operations.

    Attributes:
        count: how many they are.
        is_open: it depends on dimensions that only a run knows.
    """

    def __init__(self, made_by: Iterable[Any]) -> None:
        # Bytes, without the dimensions that are open, and how many are: how often.
        self._kinds: Counter[tuple[int, int]] = Counter()
        for operation in made_by:
            if operation.num_regions():  # hands out what is made in it
                continue
            for value in operation.results():
                if value.initialized() and value.is_dense_tensor_type():
                    self._kinds[_bytes(value)] += 1
        self.is_open = any(missing for _, missing in self._kinds)
        self.count = self._kinds.total()

    def bytes(self, size: int) -> int:
        """How much it is, where open dimensions have ``size``."""
        return sum(
            known * size**missing * number for (known, missing), number in self._kinds.items()
        )


def _bytes(value: Any) -> tuple[int, int]:
    known, missing = core.size_of_dtype(value.dtype), 0
    for size in value.shape:
        if size == _OPEN:
            missing += 1
        else:
            known *= size
    return known, missing


class Room:
    """Whether a run is to keep its values: they take no more than ``limit`` bytes.

    What is computed in blocks may take a quarter of that.

    Open dimensions count as the largest dimension of the run's own inputs; what was found for
    some inputs goes for smaller ones, too.

    Args:
        program: the program as it runs.
        limit: in bytes.
        keeps_blocks: its blocks may keep their values.

    Attributes:
        always: what goes for each run; ``None`` where it depends.
        blocks: how many branches and bodies of loops there are in it.
    """

    def __init__(self, program: Any, limit: int, *, keeps_blocks: bool = False) -> None:
        self.blocks = count_blocks(program)
        self._batch = (limit >> 2) // (1 + self.blocks)  # Paddle counts for each block by itself
        top = list(at_top(program))
        below = [each for operation in top for each in inside(operation)]
        self._needs = ((Need([*top, *below]), limit), (Need(below), limit >> 2))
        self._is_long = len(top) >= LONG
        self._most, self._least = -1, 1 << 62
        self.always: bool | None = None
        if not limit or (self.blocks and not keeps_blocks):
            self.always = False
        elif not any(need.is_open for need, _ in self._needs):
            self.always = self._is_enough(0)

    def way(self, keeps: bool) -> Way:
        """How a run is prepared that keeps its values, or one that does not."""
        if keeps:
            way = KEEPING_BLOCKS if self.blocks else KEEPING
        else:
            way = returning(self._batch, blocks=self.blocks > 0)
        return way.with_(OUT_OF_PLACE) if self._is_long else way

    def way_of_backward(self, keeps: bool) -> Way:
        """How its backward is prepared: no operation's gradient is known to leave blocks alone."""
        return self.way(keeps and not self.blocks)

    def _is_enough(self, size: int) -> bool:
        return all(need.bytes(size) <= limit for need, limit in self._needs)

    def suffices(self, tensors: list[Any]) -> bool:
        """Whether it is enough for a run with these inputs."""
        elements = sum([prod(tensor.shape) for tensor in tensors])  # ``size`` is an operation
        if elements <= self._most:
            return True
        if elements >= self._least:
            return False
        largest = max((size for tensor in tensors for size in tensor.shape), default=1)
        found = self._is_enough(largest)
        if found:
            self._most = elements
        else:
            self._least = elements
        return found
