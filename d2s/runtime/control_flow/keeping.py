"""What only one side of an ``if`` has, as the code behind the ``if`` finds it.

The tensors in it become outputs, beside placeholders of the other side that nobody reads; lists,
dicts and objects stay the same objects.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.reach import REACH
from d2s.runtime.aliasing.snapshots import Frozen, freeze, same_items, thaw
from d2s.runtime.aliasing.variables import State
from d2s.runtime.control_flow.ends import (
    Ends,
    born,
)
from d2s.runtime.control_flow.outputs import Builder, Outputs, once
from d2s.runtime.control_flow.partners import Partners
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.fixed import HandedOut, handed_out, owner_of_view
from d2s.runtime.lists.merging import kept_list
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, is_object, set_attributes
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tensors import number_kind, root_of
from d2s.runtime.values.tree import is_indexed, is_mutable, like, like_by_key, members, refill


class Keeping(Outputs):
    """Hands out what one side has, as it is: tensors that the other side has no part in.

    Attributes:
        ends: what objects hold at the end of each side.
        left: for the true and the false side, whether a ``raise`` has ended it.
        state: the variables and attributes that the sides hand on, if they do.
        became: what containers have become on each side, by their ids.
        outcomes: what each side leaves, frozen.
        handed: what writes lists that are handed out to where the sides have read them.
    """

    def __init__(self, op: bridge.IfOp, left: tuple[bool, bool]) -> None:
        super().__init__(op)
        self.left = left
        self.ends = Ends(), Ends()
        self.state: State | None = None
        self.became: tuple[dict[int, tuple[Any, Any]], ...] = {}, {}
        self.outcomes: tuple[list[Any], list[Any]] = [], []
        self.handed: list[HandedOut] = []
        self._objects: dict[int, object] = {}  # by identity: each gets its attributes once
        # A container that has two names on both sides is handed out once; both are kept, so that no
        # id is used again.
        self._pairs: dict[tuple[int, int], Builder] = {}
        self._fresh: dict[tuple[bool, int], list[tuple[Frozen, Builder]]] = {}

    @functools.cached_property
    def partners(self) -> Partners:
        """Which containers of the two sides stand in the same places."""
        return Partners(self.ends, *self.outcomes)

    def root(self, side: bool, container: object) -> object:
        """The container that ``container`` stands for at the end of ``side``."""
        for root, form in self.became[0 if side else 1].values():
            if form is container:
                return root
        return container

    def kept(self, side: bool, thing: object) -> Builder:
        """``thing`` of one side, its tensors handed out beside placeholders of the other."""
        if isinstance(thing, Frozen):
            return self.kept_container(side, thing)
        if isinstance(thing, Choice):
            flag = self.kept(side, thing.flag)
            true, false = self.kept(side, thing.true), self.kept(side, thing.false)

            def build(results: list[paddle.Tensor]) -> object:
                fresh = Choice(flag(results), true(results), false(results), thing.name)
                fresh.missing = thing.missing
                return fresh.chosen_at(thing.places, thing.body_first)

            return build
        if is_mutable(thing):
            return self.kept_container(side, self.ends[0 if side else 1].frozen(thing))
        if isinstance(thing, tuple):
            items = [self.kept(side, item) for item in members(thing)]
            return lambda results: like(thing, [item(results) for item in items])
        if is_object(thing):
            return self.kept_object(side, thing)
        if isinstance(thing, BaseException):
            return self.kept_error(side, thing)
        if isinstance(thing, HostText):
            return self.kept_text(side, thing)
        if not bridge.is_value(thing):
            return lambda results: thing
        kind = number_kind(thing)
        mine, other = self.copied(side, thing), self.placeholder(not side, thing)
        # Where the other side has raised, an argument is still that argument.
        root = root_of(thing) if any(self.left) else None
        true, false = (mine, other) if side else (other, mine)
        return self.named(
            thing if side else None,
            None if side else thing,
            lambda: self.output(true, false, kind, root),
        )

    def kept_object(self, side: bool, thing: object) -> Builder:
        """The same object; one that a side has made gets attributes that are known behind it."""
        if id(thing) in self._objects or not self.made_here(thing):
            return lambda results: thing
        self._objects[id(thing)] = thing
        ends = self.ends[0 if side else 1]
        kept = {name: self.kept(side, value) for name, value in ends.attributes(thing).items()}

        def build(results: list[paddle.Tensor]) -> object:
            return set_attributes(thing, {name: item(results) for name, item in kept.items()})

        return build

    def kept_error(self, side: bool, thing: BaseException) -> Builder:
        """The same exception, which a side has caught; what it holds is known behind it."""
        if id(thing) in self._objects or not self.made_here(thing):
            return lambda results: thing
        self._objects[id(thing)] = thing
        parts = self.kept(side, (thing.args, *vars(thing).values(), *_errors_behind(thing)))
        names = list(vars(thing))

        def build(results: list[paddle.Tensor]) -> object:
            thing.args, *held = parts(results)
            vars(thing).update(zip(names, held, strict=False))
            return thing

        return build

    def kept_text(self, side: bool, thing: HostText) -> Builder:
        """Text of one side that the run fills in."""
        parts = self.kept(side, freeze(thing.parts))

        def build(results: list[paddle.Tensor]) -> object:
            made = copy.copy(thing)
            made.parts = parts(results)
            return made

        return build

    def kept_container(self, side: bool, thing: Frozen) -> Builder:
        """A list, dict or set of one side: the same object, unless the other side changed it.

        Where the other side has raised, it changes nothing that is seen behind the branch.
        """
        container, alone = thing.container, any(self.left)
        if not alone and self.partners.stays(container):  # it gets what it holds under that name
            return lambda results: container
        if not alone and not same_items(freeze(container), thing):  # it was there, with other items
            return self.fresh(side, thing)
        if not self.made_here(thing):
            return lambda results: thaw(thing)
        if isinstance(container, DynamicList):
            fresh = kept_list(self, side, thing)
            if not alone:
                return fresh
            return lambda results: thaw(Frozen(container, freeze(fresh(results)).items))
        contents = self.contents(side, thing)
        if not dict_of(container):
            return lambda results: refill(container, contents(results))
        kept = {name: self.kept(side, value) for name, value in attributes_of(container).items()}

        def build(results: list[paddle.Tensor]) -> object:
            set_attributes(container, {name: item(results) for name, item in kept.items()})
            return refill(container, contents(results))

        return build

    def over(self) -> None:
        """The branch is over: what it has handed out is known by nobody else."""
        for write in self.handed:
            write.settle()
        self._pairs.clear()
        self._fresh.clear()

    def fresh(self, side: bool, thing: Frozen) -> Builder:
        """:meth:`contents`, once: names of one container stay names of one."""
        made = self._fresh.setdefault((side, id(thing.container)), [])
        known = next((build for other, build in made if same_items(other, thing)), None)
        if known is None:
            known = once(self.contents(side, thing))
            made.append((thing, known))
        return known

    def contents(self, side: bool, thing: Frozen) -> Builder:
        """What a list, dict or set of one side holds, in a fresh one."""
        if isinstance(thing.container, DynamicList):
            return kept_list(self, side, thing)
        if not is_indexed(thing.container):
            return lambda results: like(thing.container, thing.items)
        parts = {key: self.kept(side, item) for key, item in thing.by_key().items()}
        owner = owner_of_view(thing.container)

        def build(results: list[paddle.Tensor]) -> object:
            held = {key: item(results) for key, item in parts.items()}
            made = born(like_by_key(thing.container, held))
            return made if owner is None else handed_out(made, HandedOut((owner, owner)))

        return build

    def made_here(self, thing: object) -> bool:
        """Whether a part of ``thing`` is made inside a side."""
        queue, seen = [thing], dict[int, Any]()
        while queue:
            part = queue.pop()
            if bridge.is_value(part):
                if self.op.makes(part):
                    return True
            elif id(part) not in seen and len(seen) < REACH:
                seen[id(part)] = part
                queue += _parts_of(part)
        return False


def _parts_of(thing: object) -> list[object]:
    """What is right below a container, snapshot, choice, text or object of the user's."""
    if isinstance(thing, Frozen):
        container = thing.container
        if isinstance(container, DynamicList):
            return list(container.d2s_values())
        held = thing.by_key().values() if is_indexed(container) else thing.items
        return [*held, *(dict_of(container) or {}).values()]
    if isinstance(thing, Choice):
        return [thing.flag, thing.true, thing.false]
    if isinstance(thing, HostText):
        return list(thing.parts)
    if isinstance(thing, BaseException):
        return [*thing.args, *vars(thing).values(), *_errors_behind(thing)]
    if isinstance(thing, tuple):
        return members(thing)
    if is_mutable(thing) or isinstance(thing, DynamicList):
        return [freeze(thing)]
    return list(attributes_of(thing).values()) if is_object(thing) else []


def _errors_behind(error: BaseException) -> list[BaseException]:
    """What ``error`` was raised from, or while it was handled."""
    return [each for each in (error.__cause__, error.__context__) if each is not None]
