"""A container or object whose form a loop keeps: each of its parts is carried by itself."""

from __future__ import annotations

import functools
import operator
from typing import Any

import paddle

from d2s.errors import ContainerInGraphError, D2SError, LoopMismatchError
from d2s.runtime.aliasing.snapshots import (
    Frozen,
    as_double,
    container_of,
    freeze,
    same_items,
    thaw,
)
from d2s.runtime.control_flow.cond import select
from d2s.runtime.control_flow.ends import Ends, born, is_named_elsewhere, made_like
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.structures import element_of, union
from d2s.runtime.loops.carriers.carrier import Carrier, rebuilt
from d2s.runtime.loops.carriers.growing import refuse_other_names
from d2s.runtime.loops.carriers.mismatch import in_words, mismatch
from d2s.runtime.loops.carriers.plans import NewKeysError, Replan, replan_as_choices, split_each
from d2s.runtime.trace import error_here, open_trace, tentatively
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, is_object, set_attributes
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tables import describe
from d2s.runtime.values.tree import (
    blank,
    is_indexed,
    is_mapping,
    like,
    like_by_key,
    members,
    refill,
)


class Structure(Carrier):
    """A tuple, a list of fixed length, a dict with fixed keys, or a dataclass."""

    def __init__(
        self,
        path: str,
        value: object,
        keys: list[object],
        names: list[str],
        parts: list[Carrier],
        *,
        rebound: bool,
    ) -> None:
        """A structure.

        Args:
            path: the variable.
            value: what it is before the loop, a snapshot.
            keys: of its items.
            names: of its attributes.
            parts: the carriers of the items, and then of the attributes.
            rebound: each trip makes a new one.
        """
        self.path = path
        self.value = value
        self.rebound = rebound
        self.keys = keys
        self.names = names
        self.parts = parts
        self.inits = [init for part in parts for init in part.inits]

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        found = rebuilt(self.parts, values)
        container = container_of(self.value)
        if isinstance(container, tuple):
            return like(container, found)
        self.began = found
        if self.rebound:
            bare = made_like if is_object(container) else blank
            self.seen, self.given = container, found = born(bare(container)), found
        items, attributes = found[: len(self.keys)], found[len(self.keys) :]
        if self.names:
            set_attributes(container, dict(zip(self.names, attributes, strict=True)))
        if not is_indexed(container):
            return container
        contents = dict(zip(self.keys, items, strict=True)) if is_mapping(container) else items
        return as_double(refill(container, contents), container)

    def split(self, after: object) -> list[paddle.Tensor]:
        self.left = after
        after = self._joined(after)
        container, mine = container_of(after), container_of(self.value)
        fixed = is_mapping(mine) or isinstance(mine, list)  # a variable of it is no choice
        found = items_by_key(after)
        if found is None and not isinstance(container, DynamicList):
            if not fixed:
                replan_as_choices(self.path, self.value, after)
            if is_mapping(mine) and isinstance(after, Choice):
                with tentatively():
                    raise NewKeysError(self._other_type(mine, after))
            raise self._other_type(mine, after)
        items = found or {}
        grows = is_indexed(mine) and not is_mapping(mine)
        if grows and isinstance(container, DynamicList):
            raise Replan(self.path, grow=container.element, rows=True, rebound=True)
        if grows and type(container) is type(mine) and len(items) != len(self.keys):
            before = items_by_key(self.value) or {}
            added = [*items.values()][len(self.keys) :] or [*items.values(), *before.values()]
            raise Replan(self.path, grow=functools.reduce(union, map(element_of, added)))
        if type(container) is not type(mine) or list(items) != self.keys:
            if not fixed:
                replan_as_choices(self.path, self.value, after)
            if is_mapping(mine) and type(container) is type(mine):
                with tentatively():
                    raise NewKeysError(self._other_form(after, items))
            raise self._other_form(after, items)
        named = attributes_by_name(after) if self.rebound else {}
        if is_indexed(mine) or is_object(mine):
            if self.rebound:
                self._check_names(mine, container, named)
            elif container is not mine:
                raise Replan(self.path, anew=True)
            elif any(map(operator.is_not, items.values(), self.began)):
                open_trace().check_placed(mine)  # by this trip, and the next one changes it
        held = [*items.values(), *(named[name] for name in self.names)]
        return split_each(self.parts, held)

    def _joined(self, after: Any) -> Any:
        """One container that stands for several of one form, of which a tensor has chosen one.

        Raises:
            Replan: the one from before the loop may be one of them.
        """
        kind = type(container_of(self.value))
        if not isinstance(after, Choice) or not all(
            isinstance(leaf, Frozen)
            and type(leaf.container) is kind
            and list(leaf.by_key()) == self.keys
            and not dict_of(leaf.container)
            for leaf in after.leaves()
        ):
            return after
        if not self.rebound:
            raise Replan(self.path, anew=True)

        def at(part: Any, key: object) -> Any:
            if not isinstance(part, Choice):
                return thaw(part.by_key()[key])
            return select(part.flag, lambda: at(part.true, key), lambda: at(part.false, key))

        return freeze(
            like_by_key(container_of(self.value), {key: at(after, key) for key in self.keys})
        )

    def _other_form(self, after: object, items: dict[object, object]) -> D2SError:
        return mismatch(
            ContainerInGraphError,
            f"the static loop changes the form of {self.path!r} (its type, length or keys)",
            _cure_of_form(self.path, self.keys, items),
            self.path,
            (self.value, after),
        )

    def _other_type(self, mine: object, after: object) -> D2SError:
        return mismatch(
            ContainerInGraphError,
            f"the static loop changes {self.path!r} from {describe(mine)} to {in_words(after)}",
            "keep its type and form in every trip",
            self.path,
            (self.value, after),
        )

    def _refuse_other_names(self, mine: object) -> None:
        """Refuse a change of what the trip began with, where another name knows it too."""
        now = [] if is_object(self.seen) else members(self.seen)
        if self.names:
            now += attributes_of(self.seen).values()
        if len(now) != len(self.given) or any(map(operator.is_not, now, self.given)):
            refuse_other_names(mine, self.path)

    def _check_names(self, mine: object, container: object, named: dict[str, object]) -> None:
        """Refuse what each trip would have to make anew, but others know or find changed."""
        self._refuse_other_names(mine)
        if named.keys() != set(self.names):
            other = sorted(named.keys() ^ set(self.names))
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} to a {type(container).__name__} with another "
                f"attribute, {other[0]!r}",
                "let it have the same attributes before the loop",
            )
        if (
            is_object(container)
            and container is not self.seen
            and is_named_elsewhere(container, path=self.path)
        ):
            raise error_here(
                ContainerInGraphError,
                f"a static loop binds {self.path!r} to a {type(container).__name__} that another "
                "name knows as well",
                "bind it to one that the loop makes",
            )


class SameThing(Carrier):
    """Another name of a list or dict that ``owner`` carries, and that each trip makes anew."""

    def __init__(self, path: str, owner: Structure) -> None:
        self.path = path
        self.owner = owner
        self.inits = []

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        return self.owner.seen

    def split(self, after: object) -> list[paddle.Tensor]:
        if not same_items(after, self.owner.left):
            raise Replan(self.path, apart=True)
        return []


def items_by_key(value: object) -> dict[object, object] | None:
    """The parts of a structure by key; ``None`` when it is none."""
    if isinstance(value, Frozen):
        return value.by_key() if is_indexed(value.container) else None
    if isinstance(value, tuple):
        return dict(enumerate(members(value)))
    return {} if is_object(value) else None


def attributes_by_name(value: object) -> dict[str, object]:
    """The attributes of an object, or of a list or dict of the user's class."""
    return Ends().attributes(container_of(value))


def _cure_of_form(path: str, before: list[object], after: dict[object, object]) -> str:
    """How to give a container before the loop the form that a trip gives it."""
    added = [key for key in after if key not in before]
    if added and isinstance(added[0], str | float):
        return f"make the key {added[0]!r} before the loop: {path}[{added[0]!r}] = ..."
    return "give it its final form before the loop"
