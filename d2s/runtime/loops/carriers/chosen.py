"""A variable of a loop that may be one of several things, another one in each trip (rule B4)."""

from __future__ import annotations

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, LoopMismatchError
from d2s.runtime.aliasing.origins import is_callers, is_outer, note_form, origin_of, snapshots_in
from d2s.runtime.aliasing.snapshots import Frozen, freeze, same_items
from d2s.runtime.control_flow.cond import select
from d2s.runtime.control_flow.forms.alternatives import Alternatives
from d2s.runtime.lists.lending import wish
from d2s.runtime.loops.carriers.carrier import Carrier, seed
from d2s.runtime.loops.carriers.mismatch import in_words, mismatch
from d2s.runtime.loops.carriers.plans import Replan
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.mixed import told_apart
from d2s.runtime.values.tensors import carried, is_tensor


class OneOfSeveral(Carrier):
    """One of several constants and structures of tensors: which one, and the leaves of each.

    Attributes:
        root: the container that the variable stands for, where it is known outside of the function
            and no trip binds the variable to another one.
    """

    def __init__(
        self, path: str, value: object, choices: Alternatives, *, rebound: bool = False
    ) -> None:
        self.path = path
        self.value = value
        self.choices = choices
        root = None if rebound else origin_of(value)
        self.root = root if is_outer(root) else None
        tag, leaves = choices.flatten(told_apart(value), select)
        self.inits = [seed(tag), *map(seed, leaves)]
        for init, like in zip(self.inits[1:], choices.likes(), strict=True):
            if list(init.shape) != like.shape:
                bridge.relax(init, like.shape)
            init.stop_gradient = like.stop_gradient

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        built = self.choices.build(values[0], list(values[1:]), self.path)
        if self.root is not None:
            note_form(self.root, built)
            self.began = freeze(built)
        return built

    def split(self, after: object) -> list[paddle.Tensor]:
        after = told_apart(after)
        if self.root is not None:
            self._check_root(after)
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

    def _check_root(self, after: object) -> None:
        """Refuse what a trip has made of a container that others know, where they would not see it.

        Raises:
            Replan: the trip has bound the variable to another container.
            ContainerInGraphError: (D2S207) it is an argument, which the program changes by its
                variable, or holds containers, of which others know the first ones.
        """
        if origin_of(after) is not self.root:
            raise Replan(self.path, rebound=True)
        if _is_flat(after) and not is_callers(after):
            return
        if not same_items(self.began, after):
            raise error_here(
                ContainerInGraphError,
                f"{self.path!r}, known outside of the function, has another length on different "
                "paths where a static loop begins that changes it",
                "fill a list or dict of the function's own, and return or assign it",
            )


def _is_flat(value: object) -> bool:
    """Whether there are no containers in the containers of a snapshot, or of several."""
    if isinstance(value, Choice):
        return all(map(_is_flat, value.leaves()))
    held = value.items if isinstance(value, Frozen) else ()
    return not any(snapshots_in([item]) for item in held)


def _is_of_tensors(value: object) -> bool:
    """Whether ``value`` is a tensor on every path."""
    return all(map(is_tensor, value.leaves() if isinstance(value, Choice) else [value]))
