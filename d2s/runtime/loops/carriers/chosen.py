"""A variable of a loop that may be one of several things, another one in each trip (rule B4)."""

from __future__ import annotations

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import LoopMismatchError
from d2s.runtime.control_flow.cond import select
from d2s.runtime.control_flow.forms import Alternatives
from d2s.runtime.lists.lending import wish
from d2s.runtime.loops.carriers.carrier import Carrier, seed
from d2s.runtime.loops.carriers.mismatch import in_words, mismatch
from d2s.runtime.loops.carriers.plans import Replan
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.mixed import told_apart
from d2s.runtime.values.tensors import carried, is_tensor


class OneOfSeveral(Carrier):
    """One of several constants and structures of tensors: which one, and the leaves of each."""

    def __init__(self, path: str, value: object, choices: Alternatives) -> None:
        self.path = path
        self.value = value
        self.choices = choices
        tag, leaves = choices.flatten(told_apart(value), select)
        self.inits = [seed(tag), *map(seed, leaves)]
        for init, like in zip(self.inits[1:], choices.likes(), strict=True):
            if list(init.shape) != like.shape:
                bridge.relax(init, like.shape)
            init.stop_gradient = like.stop_gradient

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        return self.choices.build(values[0], list(values[1:]), self.path)

    def split(self, after: object) -> list[paddle.Tensor]:
        after = told_apart(after)
        choices = self.choices.with_(after)
        if choices is None and _is_of_tensors(after):
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} to a tensor of another dtype or number of "
                "dimensions in each trip",
                f"give {self.path!r} its final dtype and number of dimensions before the loop",
                self.path,
                (self.value, after),
            )
        if choices is None:
            wish(after)
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} to {in_words(after)}, which is no tensor or "
                "structure of tensors",
                "keep it one of a few constants, or a structure of tensors",
                self.path,
                (self.value, after),
            )
        if choices is not self.choices:
            raise Replan(self.path, choices=choices)
        tag, leaves = self.choices.flatten(after, select)
        return [carried(tag), *map(carried, leaves)]


def _is_of_tensors(value: object) -> bool:
    """Whether ``value`` is a tensor on every path."""
    return all(map(is_tensor, value.leaves() if isinstance(value, Choice) else [value]))
