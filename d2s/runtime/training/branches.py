"""Gradients and the contents of parameters as state of the branches that change them."""

from __future__ import annotations

from typing import Protocol

from d2s.runtime.trace import Capture


class Trained(Protocol):
    """A slot for something of ``subject``."""

    @property
    def subject(self) -> object: ...

    def get(self) -> object: ...


def join_branches(capture: Capture, name: str, slot: Trained) -> None:
    """Let ``slot`` be part of what the branches around the present code hand on."""
    for block in capture.blocks:
        known = block.state.slots
        if not any(type(each) is type(slot) and each.subject is slot.subject for each in known):
            block.state.join_slot(name, slot)
