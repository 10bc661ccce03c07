"""A list, dict, set or deque of Python becomes one of the run, under each of its names."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import Holder, holders_of, is_handed_on
from d2s.runtime.aliasing.origins import other_places
from d2s.runtime.lists.dynamic_deque import DynamicDeque
from d2s.runtime.lists.dynamic_dict import DynamicDict, DynamicSet
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.lists.storage import NeedsElementError
from d2s.runtime.trace import Block, OnceMoreError, error_here, open_trace
from d2s.runtime.values.tree import bare

KINDS: Final[dict[type, type[DynamicList]]] = {
    list: DynamicList,
    collections.deque: DynamicDeque,
    set: DynamicSet,
    **dict.fromkeys(
        (dict, collections.OrderedDict, collections.defaultdict, collections.Counter), DynamicDict
    ),
}
"""What stands for containers of Python's classes where the run decides what they hold."""


def of_python(container: Any, name: str, element: Element | None = None) -> DynamicList:
    """A container of Python as one of the run, with room for items of ``element``."""
    kind = next(kind for base, kind in KINDS.items() if isinstance(container, base))
    return kind.of_container(container, name, element)


def shell_of(container: Any, name: str, element: Element) -> DynamicList:
    """What stands for a container of Python or of the run, and holds nothing yet."""
    kind = type(container)
    if isinstance(container, DynamicList):
        made = container.shell()
        made.name, made.element = name, element
        return made
    made = KINDS[kind](name, element)
    made.model = None if kind is list else bare(container)
    return made


def are_alike(containers: Iterable[Any]) -> bool:
    """Whether one container can stand for all: class, factory and greatest length are one."""
    models = [each.made_of([]) if isinstance(each, DynamicList) else each for each in containers]
    facts = [
        (
            type(each),
            each.default_factory if isinstance(each, collections.defaultdict) else None,
            each.maxlen if isinstance(each, collections.deque) else None,
        )
        for each in models
    ]
    return all(each == facts[0] for each in facts)


class NeedsFormError(OnceMoreError):
    """A container of Python becomes one of the run in a branch: it does so before the branch.

    Attributes:
        container: it.
        element: what it is to have room for.
        state: that of the branch, whose sides are captured again behind it.
    """

    def __init__(self, container: Any, element: Element, state: Any) -> None:
        super().__init__()
        self.container = container
        self.element = element
        self.state = state

    def answer(self) -> None:
        """Let the container be one of the run here, in front of the branch."""
        holders = holders_of(self.container)
        _bind(self.container, self.element, holders, list(other_places(self.container)))


def become(container: Any, item: Any) -> DynamicList:
    """Let ``container`` be one of the run from here on, in which ``item`` has room.

    Args:
        container: a list, dict or set of Python.
        item: what is about to be put into it; of a dict, a pair.

    Raises:
        NeedsElementError: a static loop around has to know of it before its first trip.
        NeedsFormError: a branch around has to know of it before.
        ContainerInGraphError: (D2S207) what holds it cannot be given another one.
    """
    blocks = open_trace().blocks
    holders, elsewhere = holders_of(container), list(other_places(container))
    if any(block.kind == "loop" for holder in holders for block in holder.left):
        raise NeedsElementError(container, item)
    refusal = _refusal(container, holders, elsewhere, blocks)
    if refusal is not None:
        for depth, block in reversed(list(enumerate(blocks))):
            repeats = block.state is not None and block.state.repeats
            if repeats and _refusal(container, holders, elsewhere, blocks[:depth]) is None:
                raise NeedsFormError(container, element_of(item), block.state)
        raise refusal()
    return _bind(container, element_of(item), holders, elsewhere)


def _bind(
    container: Any, element: Element, holders: list[Holder], elsewhere: list[Any]
) -> DynamicList:
    """Put one of the run in the place of ``container``, wherever it is held."""
    made = of_python(container, holders[0].path if holders else type(container).__name__, element)
    made.origin = container
    for holder in holders:
        holder.set(made)
    for _, bind in elsewhere:
        bind(made)
    open_trace().grown[id(container)] = (container, made)
    return made


def _refusal(
    container: Any, holders: list[Holder], elsewhere: list[Any], blocks: list[Block]
) -> Callable[[], D2SError] | None:
    """Why what holds ``container`` cannot be given another one inside of ``blocks``, if so."""
    word = type(container).__name__
    for holder in holders:
        left = [block for block in blocks if any(block is each for each in holder.left)]
        if holder.fixed or not all(is_handed_on(holder, block) for block in left):
            return partial(
                error_here,
                ContainerInGraphError,
                f"the {word} {holder.path!r} gets a key or item that only the run knows, where it "
                "cannot be given a form for that",
                "hold it in a variable or attribute, and change it through that",
            )
    if elsewhere and blocks:
        return partial(
            error_here,
            ContainerInGraphError,
            f"the {word} {elsewhere[0][0]!r} gets a key or item that only the run knows, inside of "
            "a branch or loop",
            "change it outside of the branch",
        )
    return None
