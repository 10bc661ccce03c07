"""What training has added to the program of one capture so far, and where it may stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from d2s.diagnostics.location import Location, here
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.slots import Slot
from d2s.runtime.aliasing.snapshots import freeze
from d2s.runtime.control_flow.guards import Rest
from d2s.runtime.trace import Block, Capture, error_here

BLOCKS: Final = ("branch", "loop")
"""The kinds of blocks."""


class Lasting(Slot):
    """Training that a branch hands on: what is in memory, and calls that a run makes."""

    lasts = True

    def whole(self) -> Any:
        """What it has, with the alternatives that the branches around rule out."""
        return self.get()


@dataclass
class Record:
    """What the parts of a training step share.

    Attributes:
        capture: the capture.
        made: ids of operations that are there for gradients, and have none themselves.
        shown: ids of all operations that are there for gradients.
        stepping: ids of operations of steps, and of leaves, at which a gradient ends.
        freed: ids of operations that a ``backward()`` has gone through, without ``retain_graph``:
            in dygraph no other one can.
        place: where the last ``backward()`` stands, or else what was done first.
        used: a gradient was made, or a gradient or parameter changed.
    """

    capture: Capture
    made: set[int] = field(default_factory=set)
    shown: set[int] = field(default_factory=set)
    stepping: set[int] = field(default_factory=set)
    freed: set[int] = field(default_factory=set)
    place: Location | None = None
    used: bool = False

    @property
    def in_block(self) -> bool:
        """Whether the present code is in a branch or loop."""
        return bool(self.capture.blocks)

    def use(self) -> None:
        """Note that the function changes gradients or parameters."""
        self.used = True
        if self.place is None:
            self.place = here()

    def join_branches(self, name: str, slot: Any) -> None:
        """Let ``slot``, for something of its ``subject``, be part of what branches hand on."""
        for state in map(_state_of, self.capture.blocks):
            known = state.slots
            if not any(type(each) is type(slot) and each.subject is slot.subject for each in known):
                state.join_slot(name, slot, freeze(slot.whole()))

    def check(self, what: str, *within: str) -> None:
        """Refuse training where a program cannot have it.

        Args:
            what: the training.
            *within: the kinds of blocks that it may be in.

        Raises:
            UnsupportedInGraphError: (D2S205) in a branch or static loop, or in a saved program.
        """
        if self.capture.export:
            raise error_here(
                UnsupportedInGraphError,
                f"{what} is part of a function that is to be saved; a file holds no training",
                "save the layer, or the function that computes the result",
            )
        if self.capture.blocks:
            blocks = self.capture.blocks
            if all(_state_of(each) is not None and each.kind in within for each in blocks):
                return
            kind = blocks[-1].kind
            raise error_here(
                UnsupportedInGraphError,
                f"{what} stands in a {kind} that a tensor decides, behind which nobody knows what "
                "the gradients and parameters are",
                "put it behind the branch or loop, or convert only the function that computes the "
                "loss",
            )


def _state_of(block: Block) -> Any:
    """What a block hands on, where more can join it; ``None`` if nothing can."""
    return block.hands_on if isinstance(block, Rest) else block.state
