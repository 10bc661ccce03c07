"""A list, dict, set or deque of Python becomes one of the run, under each of its names.

So it does where ``+=`` and the like change it.  Python asks what stands on the right first, as if
a new container were wanted: of a list, that is because only ours defines ``__radd__``::

    xs = ys = [1.0]
    xs += grown          ys is the longer list, too
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import paddle

from d2s.diagnostics.frames import is_augmented_here
from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import Holder, holders_of_container, is_handed_on
from d2s.runtime.aliasing.origins import other_places
from d2s.runtime.aliasing.snapshots import Frozen, with_form
from d2s.runtime.aliasing.waiting import check_waiting
from d2s.runtime.host.ahead import is_ahead
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_deque import DynamicDeque
from d2s.runtime.lists.dynamic_dict import DynamicDict
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.dynamic_set import DynamicSet
from d2s.runtime.lists.items.elements import Element, OfRunLength
from d2s.runtime.lists.items.fixed import hand_on, owner_of_view
from d2s.runtime.lists.items.lookers import check_lookers
from d2s.runtime.lists.items.parts import class_facts
from d2s.runtime.lists.items.structures import element_of, union
from d2s.runtime.lists.storage import NeedsElementError
from d2s.runtime.trace import Block, OnceMoreError, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.objects import (
    dict_of,
    is_asked_by_python,
    is_user_class,
    own_members,
    owner_of,
)
from d2s.runtime.values.tables import Words, listed
from d2s.runtime.values.tree import bare, entries, is_mutable

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
    """A container of Python as one of the run, with room for items of ``element``.

    Raises:
        ContainerInGraphError: (D2S207) its class does otherwise than Python's does.
    """
    base, kind = next(each for each in KINDS.items() if isinstance(container, each[0]))
    if getattr(type(container), "d2s_plain", type(container)) is not base:
        _check_class(container, base, kind, name)
    return kind.of_container(container, name, element)


def _check_class(container: object, base: type, kind: type, name: str) -> None:
    """Refuse a class derived from one of Python's whose methods have to be called for its items."""
    found = (_otherwise(*each, base, kind) for each in own_members(type(container)))
    held = dict_of(container)
    attributes = f"has attributes ({listed(list(held), 'and')})" if held else None
    how = next(filter(None, found), attributes)
    if how is not None:
        raise error_here(
            ContainerInGraphError,
            f"{name!r}, whose length a tensor decides, is a {type(container).__name__}, which "
            f"{how}",
            f"keep a {base.__name__} in an attribute of the class, and let methods change that",
        )


def _otherwise(name: str, member: object, base: type, kind: type) -> str | None:
    """What a member of such a class needs that a list of the run has not."""
    called = isinstance(member, types.FunctionType)
    if (called and hasattr(base, name)) or name == "__missing__":
        return f"has a {name}() of its own"
    if _calls_super(member):
        return f"calls super() in {name}()"
    if hasattr(kind, name) and not hasattr(base, name) and name[:2] != "__":
        return f"has a {name!r}, as a list of the run has"
    return None


def _calls_super(member: object) -> bool:
    return isinstance(member, types.FunctionType) and "__class__" in member.__code__.co_freevars


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


def _inner(element: Element, rows: list[paddle.Tensor], model: object) -> DynamicList:
    """What stands for a container like ``model`` that is an item of another one."""
    plain = type(model) in (list, tuple)
    kind: Any = DynamicList if plain else {**KINDS, frozenset: DynamicSet}[type(model)]
    made: DynamicList = kind.of_rows("item", element, rows)
    made.frozen = type(model) is tuple
    made.model = None if plain else bare(model)
    return made


OfRunLength.inner = staticmethod(_inner)


def are_alike(containers: Iterable[Any]) -> bool:
    """Whether one container can stand for all: class, factory and greatest length are one."""
    models = [each.made_of([]) if isinstance(each, DynamicList) else each for each in containers]
    return all(class_facts(each) == class_facts(models[0]) for each in models)


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
        """Let the container be one of the run here, in front of the branch.

        Raises:
            ContainerInGraphError: (D2S207) it is made in the branch, and put there at once into
                one of several containers, as a factory of a ``defaultdict`` does it.
        """
        holders, elsewhere = (
            holders_of_container(self.container),
            list(other_places(self.container)),
        )
        if not (holders or elsewhere):
            word = type(self.container).__name__
            raise error_here(
                ContainerInGraphError,
                f"a {word} that is made in a branch, in one of several containers, gets keys or "
                "items that only the run knows",
                f"put the {word} into them before the branch",
            )
        _bind(self.container, self.element, holders, elsewhere)


def become(container: Any, element: Element) -> DynamicList:
    """Let ``container`` be one of the run from here on, with room for items of ``element``.

    Args:
        container: a list, dict or set of Python.
        element: what is about to be put into it; of a dict, pairs.

    Raises:
        NeedsElementError: a static loop around has to know of it before its first trip.
        NeedsFormError: a branch around has to know of it before.
        ContainerInGraphError: (D2S207) what holds it cannot be given another one.
    """
    check_lookers(container)
    open_trace().check_placed(container)
    blocks = open_trace().blocks
    holders, elsewhere = holders_of_container(container), list(other_places(container))
    if any(block.kind == "loop" for holder in holders for block in holder.left):
        raise NeedsElementError(container, element)
    refusal = _refusal(container, holders, elsewhere, blocks)
    if refusal is not None or len(holders) + len(elsewhere) > 1:
        _ask_branches_around(container, element, holders, elsewhere)
    if refusal is not None and open_trace().spreading and blocks and blocks[-1].state is None:
        raise SharedError(container, element, refusal())
    if refusal is not None:
        raise refusal()
    return _bind(container, element, holders, elsewhere)


def _ask_branches_around(
    container: object, element: Element, holders: list[Holder], elsewhere: list[Any]
) -> None:
    """Raise NeedsFormError for the innermost branch in front of which ``container`` can become one.

    Nothing happens where there is none, or where the container is made inside of the branches.
    """
    blocks = open_trace().blocks
    for depth, block in reversed(list(enumerate(blocks))):
        older = elsewhere or any(block is each for holder in holders for each in holder.left)
        repeats = block.state is not None and block.state.repeats
        if not (older and repeats):
            continue
        if _refusal(container, holders, elsewhere, blocks[:depth]) is None:
            raise NeedsFormError(container, element, block.state)


def become_before(container: object, element: Element, state: object) -> None:
    """Ask for ``container`` to be one of the run in front of a branch, whose sides are captured.

    One side has left it as it was, and the other has made one of the run of it; a variable may mean
    the one or the other, which are one and the same list.

    Args:
        container: a list, dict or set of Python.
        element: what the side has put into it.
        state: that of the branch, which can be captured again.

    Raises:
        NeedsElementError: a static loop around has to know of it before its first trip.
        NeedsFormError: the branch, or one around it, has to know of it before.
    """
    check_lookers(container)
    holders, elsewhere = holders_of_container(container), list(other_places(container))
    if any(block.kind == "loop" for holder in holders for block in holder.left):
        raise NeedsElementError(container, element)
    if _refusal(container, holders, elsewhere, open_trace().blocks) is None:
        raise NeedsFormError(container, element, state)
    _ask_branches_around(container, element, holders, elsewhere)


def _bind(
    container: Any, element: Element, holders: list[Holder], elsewhere: list[Any]
) -> DynamicList:
    """Put one of the run in the place of ``container``, wherever it is held."""
    made = of_python(container, holders[0].path if holders else type(container).__name__, element)
    made.origin = container
    hand_on(container, made)
    for holder in holders:
        holder.set(with_form(holder.get(), container, made))
    for _, bind in elsewhere:
        bind(made)
    if holders or elsewhere or owner_of_view(container) is None:  # else nobody looks for it
        open_trace().grown[id(container)] = (container, made)
    check_waiting(container, made)
    return made


class SharedError(OnceMoreError):
    """One of several containers of Python becomes one of the run, before that one is used.

    Attributes:
        container: it.
        element: what it is to have room for.
        refusal: what is raised where it cannot become one of the run.
    """

    def __init__(self, container: object, element: Element, refusal: D2SError) -> None:
        super().__init__()
        self.container = container
        self.element = element
        self.refusal = refusal

    @classmethod
    def of(cls, now: Frozen, refusal: D2SError) -> BaseException:
        """That of a container that is about to hold what ``now`` is a snapshot of.

        ``refusal`` itself, where a list of the run cannot hold that.
        """
        container = now.container
        try:  # now, as the values are gone with the branch
            element = functools.reduce(union, map(element_of, [*now.items, *entries(container)]))
        except (ContainerInGraphError, TypeError):  # of what cannot be an item, or of no item
            return refusal
        return cls(container, element, refusal)

    def answer(self) -> None:
        """Let the container be one of the run here.

        Raises:
            SharedError: it has to be one before another choice is used, of which this is a part.
        """
        try:
            become(self.container, self.element)
        except ContainerInGraphError:
            if open_trace().spreading > 1:
                raise self from None
            open_trace().refused.append(self.refusal)
            raise self.refusal from None


def may_run_code(thing: object) -> bool:
    """Whether using ``thing`` may run code of the user's, which changes what it likes."""
    owner = owner_of(thing)
    if type(owner) in KINDS:  # a method of a Counter, say, which changes that alone
        return False
    if isinstance(owner, DynamicList) and getattr(
        type(owner), getattr(thing, "__name__", ""), None
    ):
        return False
    called = isinstance(thing, types.FunctionType | types.MethodType | functools.partial)
    held = isinstance(thing, paddle.nn.Layer)
    plain = isinstance(thing, tuple(KINDS)) and not is_asked_by_python(type(thing))
    moves = isinstance(thing, Iterator) and is_ahead(thing)
    users = is_user_class(type(thing)) and not plain
    return called or held or moves or is_object(thing) or users


def subject_of(thing: object) -> Any:
    """What using ``thing`` may change: itself, or the object that it is a method of."""
    if isinstance(thing, Choice):
        return thing.like(subject_of(thing.true), subject_of(thing.false))
    owner = owner_of(thing)
    return owner if is_mutable(owner) or isinstance(owner, DynamicList) else thing


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
                f"the {word} {holder.path!r} gets keys or items that only the run knows, where it "
                "cannot be given a form for that",
                "hold it in a variable or attribute, and change it through that",
            )
    if elsewhere and blocks:
        return partial(
            error_here,
            ContainerInGraphError,
            f"the {word} {elsewhere[0][0]!r} gets keys or items that only the run knows, inside of "
            "a branch or loop",
            "change it outside of the branch",
        )
    return None


_CHANGING: Final[dict[type[DynamicList], tuple[str, ...]]] = {
    DynamicList: ("add",),
    DynamicSet: ("or", "and", "sub", "xor"),
}
"""What makes a new container of two, by the class of the one on the right."""


def _changing(plain: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    """``plain``, a reflected operator, that changes what stands on the left where it is asked to.

    Args:
        plain: gives a new container.
        name: the operator that changes one.
    """

    def operate(self: DynamicList, other: object) -> object:
        if type(other) in KINDS and is_augmented_here():
            right = self if isinstance(self, DynamicSet) else self.iterated()
            return getattr(become(other, right.element), name)(right)
        return plain(self, other)

    return operate


for _kind, _names in _CHANGING.items():
    for _name in _names:
        _plain = vars(_kind)[f"__r{_name}__"]
        setattr(_kind, f"__r{_name}__", _changing(_plain, f"__i{_name}__"))


def repeated(things: str | list[Any] | tuple[Any, ...], times: object) -> object:
    """``things * times`` of a list, tuple or text, where the run knows how many times."""
    if isinstance(things, str):
        return HostText((things,)) * times
    changes = is_mutable(things) and is_augmented_here()
    if not things:
        return things if changes else things[:]
    made = DynamicList.of(list(things), Words("a list"))
    if changes:
        made = become(things, made.element)
        made *= times
        return made
    made *= times
    return made.d2s_tuple() if isinstance(things, tuple) else made
