"""Parameters, accumulators and gradients that a branch changes: state of the branch.

A program has one memory for a parameter, and writes into it at its top level.  In a branch the new
contents are a value; what the branch hands on is written when the outermost one is over::

    if not overflow:                          w1 = if(overflow) { yield w } else { yield w - g }
        w.set_value(w - w.grad)               assign_out_(w1, w)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.variables import Slot
from d2s.runtime.trace import Capture


@dataclass
class Contents(Slot):
    """What a dygraph tensor that the program writes into has in it.

    Attributes:
        steps: the training of the capture.
        subject: the tensor.
        base: the value that stood for it before.
    """

    steps: Any
    subject: Any
    base: Any

    def get(self) -> Any:
        return bridge.as_value(self.subject)

    def set(self, value: Any) -> None:
        if value.id == self.base.id:
            self.steps.bind(self.subject, self.base, changed=False)
        elif self.steps.capture.blocks:
            self.steps.bind(self.subject, value, changed=True)
        else:
            self.steps.bind(self.subject, self.base, changed=False)
            self.steps.overwrite(self.subject, value)


@dataclass
class Gradient(Slot):
    """The gradient of a leaf.

    Attributes:
        steps: the training of the capture.
        subject: the leaf.
    """

    steps: Any
    subject: Any

    def get(self) -> Any:
        return self.subject.grad

    def set(self, value: Any) -> None:
        self.steps.put_gradient(self.subject, value)


def join_branches(capture: Capture, name: str, slot: Contents | Gradient) -> None:
    """Let ``slot`` be part of what the branches around the present code hand on."""
    for block in capture.blocks:
        known = block.state.slots
        if not any(type(each) is type(slot) and each.subject is slot.subject for each in known):
            block.state.join_slot(name, slot)
