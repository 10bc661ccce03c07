"""What a loop does not change: a Python value, or a set."""

from __future__ import annotations

import paddle

from d2s.errors import ContainerInGraphError, LoopMismatchError
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.control_flow.ends import is_born, made_like
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.mismatch import in_words, mismatch
from d2s.runtime.loops.carriers.plans import Replan, replan_as_choices
from d2s.runtime.trace import error_here
from d2s.runtime.values.cases import optional_parts
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.constants import same_constant
from d2s.runtime.values.mixed import told_apart
from d2s.runtime.values.tables import describe
from d2s.runtime.values.tensors import is_numeric, number_kind
from d2s.runtime.values.unbound import UNBOUND


class Constant(Carrier):
    """A Python value that the loop does not change."""

    def __init__(self, path: str, value: object) -> None:
        self.path = path
        self.value = value
        self.inits = []

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        return self.value

    def split(self, after: object) -> list[paddle.Tensor]:
        before = self.value
        if number_kind(before) is None:
            after = told_apart(after)
        if after is before or _same(before, after):
            return []
        if before is None or before is UNBOUND:
            if isinstance(after, Choice):
                parts = optional_parts(after)
                if parts is not None and parts[0] is before and parts[2] is not None:
                    raise Replan(self.path, like=Like(parts[2]))
            if is_numeric(after):
                raise Replan(self.path, like=Like(after))
        if number_kind(before) is not None and _numeric(after):
            raise Replan(self.path, lift=True)
        if is_born(after) and type(after) is type(before) and made_like(before) is not None:
            raise Replan(self.path, anew=True)
        replan_as_choices(self.path, before, after)
        raise mismatch(
            LoopMismatchError,
            f"the loop changes {self.path!r} from {describe(before)} to {in_words(after)}",
            f"give {self.path!r} a tensor (or a structure of tensors of the final form) before "
            "the loop",
            self.path,
            (before, after),
        )


class UnchangedSet(Constant):
    """A set, which the loop may read."""

    def __init__(self, path: str, value: set[object]) -> None:
        super().__init__(path, value)
        self.items = set(value)

    def split(self, after: object) -> list[paddle.Tensor]:
        if isinstance(after, Frozen) and after.container is self.value:
            if set(after.items) != self.items:
                raise error_here(
                    ContainerInGraphError,
                    f"the loop changes the set {self.path!r}, and a set has no form in a program",
                    "use a list, or a tensor of flags",
                )
            return []
        return super().split(after)


def _same(before: object, after: object) -> bool:
    if isinstance(after, Frozen):
        return after.container is before
    return same_constant(before, after)


def _numeric(value: object) -> bool:
    """Whether ``value`` is a tensor or number, or surely one of several."""
    if isinstance(value, Choice):
        return all(_numeric(item) for item in value.leaves()) and value.single
    return is_numeric(value)
