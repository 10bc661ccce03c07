"""Which carrier a variable of a loop gets, by what it is before the loop and by the plans."""

from __future__ import annotations

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.origins import is_callers, note_form, origin_of
from d2s.runtime.aliasing.snapshots import Frozen, thaw
from d2s.runtime.aliasing.waiting import check_waiting
from d2s.runtime.control_flow.forms.alternatives import Alternatives
from d2s.runtime.lists.becoming import of_python
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.lists.items.lookers import LookedAt
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.chosen import OneOfSeveral
from d2s.runtime.loops.carriers.constant import Constant, UnchangedSet
from d2s.runtime.loops.carriers.growing import (
    GrowingList,
    OtherName,
    UnchangedList,
    choice_of,
    one_list,
)
from d2s.runtime.loops.carriers.mismatch import in_words
from d2s.runtime.loops.carriers.plans import Plans
from d2s.runtime.loops.carriers.structure import (
    SameThing,
    Structure,
    attributes_by_name,
    items_by_key,
)
from d2s.runtime.loops.carriers.tensor import (
    OptionalTensor,
    SameTensor,
    TensorVariable,
    is_of_leaves,
)
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.cases import optional_parts
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.tables import listed
from d2s.runtime.values.tensors import as_value, is_tensor, number_kind
from d2s.runtime.values.tree import is_indexed
from d2s.runtime.values.unbound import UNBOUND


class Carriers:
    """Makes the carriers of one capture of a loop.

    Attributes:
        plans: what earlier captures have shown.
        depth: how many blocks are around the loop.
    """

    def __init__(self, plans: Plans, depth: int) -> None:
        self.plans = plans
        self.depth = depth
        # By identity: a list that is known under two names is carried once.
        self._lists: dict[int, GrowingList] = {}
        self._made_anew: dict[int, Structure] = {}
        self._looked_at = LookedAt()
        self._tensors: dict[object, TensorVariable] = {}

    def of(self, path: str, value: object, *, top: bool = False) -> Carrier:
        """The carrier for ``value`` (a frozen snapshot) at ``path``.

        Args:
            path: the variable, or the way to the part of it.
            value: what it is before the loop.
            top: the variable itself is bound in the body, so that a number surely changes.
        """
        plan = self.plans[path]
        value = possible(value)
        if plan.choices is not None:
            return OneOfSeveral(path, value, plan.choices, rebound=plan.rebound)
        if isinstance(value, Frozen):
            return self._of_container(path, value)
        if value is None or value is UNBOUND:
            if plan.like is not None:
                return OptionalTensor(path, value, plan.like)
            return Constant(path, value)
        if isinstance(value, Choice):
            return self._of_choice(path, value)
        if is_tensor(value):
            return self._of_tensor(path, value)
        if number_kind(value) is not None:
            return self._of_tensor(path, value) if top or plan.lift else Constant(path, value)
        if (isinstance(value, tuple) and tuple.__len__(value)) or (plan.anew and is_object(value)):
            return self._of_structure(path, value)
        return Constant(path, value)

    def _of_tensor(self, path: str, value: object) -> TensorVariable | SameTensor:
        made = TensorVariable(path, value, self.plans)
        if not is_tensor(value) or number_kind(value) is not None:
            return made
        owner = self._tensors.setdefault(as_value(value).id, made)
        if owner is made or self.plans[path].apart:
            return made
        return SameTensor(path, owner)

    def _of_choice(self, path: str, value: Choice) -> Carrier:
        plan = self.plans[path]
        parts = optional_parts(value)
        if parts is not None:
            return OptionalTensor(path, parts[0], plan.like or Like(parts[2]), value)
        if value.single and is_of_leaves(value):
            return self._of_tensor(path, value.get())
        whole = one_list(value, path)
        if whole is not None:
            check_waiting(value)
            note_form(origin_of(value), whole)
            made = GrowingList(path, whole, plan, self.depth)
            made.form = choice_of(value)
            return made
        choices = Alternatives.of(value)
        if choices is None:
            raise error_here(
                ContainerInGraphError,
                f"{path!r} may be {listed(map(in_words, value.leaves()), ' or ')} where a static "
                "loop begins, as a tensor has decided",
                "let it have one form on every path before the loop",
                value.table(),
            )
        if is_callers(value):
            raise error_here(
                ContainerInGraphError,
                f"{path!r}, an argument, has another length on different paths where a static "
                "loop begins that changes it",
                "fill a list or dict of the function's own, and return it",
            )
        return OneOfSeveral(path, value, choices, rebound=plan.rebound)

    def _of_structure(self, path: str, value: object) -> Structure:
        rebound = self.plans[path].anew
        items = items_by_key(value) or {}
        named = attributes_by_name(value) if rebound else {}
        parts = [self.of(f"{path}[{key!r}]", item) for key, item in items.items()]
        parts += [self.of(f"{path}.{name}", item) for name, item in named.items()]
        return Structure(path, value, list(items), list(named), parts, rebound=rebound)

    def _of_container(self, path: str, value: Frozen) -> Carrier:
        """The carrier of a list, dict, deque or set."""
        plan, container = self.plans[path], value.container
        self._looked_at.check(container)
        known = self._lists.get(id(container))
        if known is not None:
            return OtherName(path, known)
        if isinstance(container, DynamicList):
            if not (plan.carry or plan.rows or plan.grow is not None):
                return UnchangedList(path, container)
            made = GrowingList(path, container, plan, self.depth)
        elif plan.grow is not None:
            made = self._grown(path, value)
        elif is_indexed(container):
            owner = self._made_anew.get(id(container))
            if owner is not None and plan.anew and not plan.apart:
                return SameThing(path, owner)
            structure = self._of_structure(path, value)
            if plan.anew:
                self._made_anew.setdefault(id(container), structure)
            return structure
        else:
            return UnchangedSet(path, container)
        self._lists[id(container)] = made
        return made

    def _grown(self, path: str, value: Frozen) -> GrowingList:
        """The carrier of a container of Python that gets another length in the loop."""
        plan, container = self.plans[path], value.container
        if type(container) is list:
            items = thaw(value)
            growing = DynamicList.of(items, path, plan.grow, arrays=not plan.rows, origin=container)
        else:
            growing = of_python(thaw(value), path, plan.grow)
        growing.origin = container
        capture = current()
        assert capture is not None
        capture.grown[id(container)] = (container, growing)
        return GrowingList(path, growing, plan, self.depth)
