"""Keys of containers and tensors: which parts of one the run knows, and what they may be."""

from __future__ import annotations

import dis
import inspect
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.python.comparing import is_late_key
from d2s.runtime.python.making import to_tensor
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.constants import CONSTANTS
from d2s.runtime.values.tensors import is_array, is_tensor, number_kind
from d2s.runtime.values.tree import any_leaf, children, is_plain_sequence, map_children


def without_arrays(key: object, *, tensors: bool) -> Any:
    """A key with tensors, or numbers of the run, in the place of arrays and lists of the run."""
    if is_array(key):
        if tensors and not key.scalar:
            return key.value
        return key.d2s_index() if not key.ndim else key
    if tensors and is_list_of_run(key):
        return to_tensor(key)
    if type(key) is tuple:
        return tuple(without_arrays(part, tensors=tensors) for part in key)
    if type(key) is slice:
        bounds = (key.start, key.stop, key.step)
        return slice(*(without_arrays(part, tensors=False) for part in bounds))
    return key


def is_list_of_run(key: object) -> bool:
    """Whether a key of a tensor is a list of numbers, or of tensors, that the run decides.

    Raises:
        ContainerInGraphError: (D2S207) of something else, as of pairs.
    """
    if not isinstance(key, DynamicList):
        return type(key) is list and any_leaf(is_tensor, key)
    if len(key.element.leaves) == 1:
        return True
    raise error_here(
        ContainerInGraphError,
        f"a tensor is indexed by {key.name!r}, a list whose length a tensor decides, and which "
        "holds more than numbers",
        "index it with a list of numbers, or with a tensor",
    )


def is_of_run(key: object) -> bool:
    """Whether the run decides a part of a key of an array."""
    parts = key if type(key) is tuple else (key,)
    return any(is_array(part) or is_late(part) for part in parts)


def is_late(part: object) -> bool:
    """Whether the run knows a part of a key."""
    if type(part) is slice:
        return any(map(is_tensor, (part.start, part.stop, part.step)))
    return is_tensor(part)


def apart(container: paddle.Tensor, key: object) -> list[Any]:
    """Keys that do one after the other what ``key`` does.

    Paddle 3.3 gives ``x[i, 0:2]`` and ``x[0:i, 0:2]`` wrong shapes where ``i`` is a tensor.  So the
    parts that hold tensors are used one by one, the last first, and the others then.
    """
    if type(key) is not tuple or sum(not _is_whole(part) for part in key) < 2:
        return [key]
    if not any(map(is_late, key)) or not all(map(_is_simple, key)):
        return [key]
    given = sum(part is not None and part is not Ellipsis for part in key)
    whole = [slice(None)] * (len(container.shape) - given)
    parts: list[Any] = []
    for part in key:
        parts.extend(whole if part is Ellipsis else [part])
    axes = [part for part in parts if part is not None]
    late = [axis for axis, part in enumerate(axes) if is_late(part)]
    keys: list[Any] = [(*[slice(None)] * axis, axes[axis]) for axis in reversed(late)]
    rest = tuple(
        slice(None) if is_late(part) else part
        for part in parts
        if not (is_late(part) and is_tensor(part))
    )
    return keys if all(map(_is_whole, rest)) else [*keys, rest]


def _is_whole(part: object) -> bool:
    return part is Ellipsis or (type(part) is slice and part == slice(None))


def _is_simple(part: object) -> bool:
    """Whether a part of a key is an index, a slice, ``None`` or ``...``, and no tensor of many."""
    if is_tensor(part):
        return list(part.shape) == [] and "int" in str(part.dtype)
    return part is None or part is Ellipsis or type(part) in (int, slice)


def _is_compound(key: object) -> bool:
    """Whether a key has parts."""
    return is_plain_sequence(key) or type(key) is slice


def choice_in(key: object) -> Choice | None:
    """The first :class:`Choice` in a key."""
    if isinstance(key, Choice):
        return key
    parts = children(key, slices=True) if _is_compound(key) else []
    return next((found for found in map(choice_in, parts) if found is not None), None)


def is_position(key: object, chosen: Choice) -> bool:
    """Whether ``chosen`` is a position in a tensor, or one of several along the axes of a key.

    A number of the run can stand for it then: it is no bound of a slice and no mask.
    """
    parts = key if type(key) is tuple else (key,)
    kinds = {type(leaf) for leaf in chosen.leaves()}
    return key is chosen or (kinds == {int} and any(part is chosen for part in parts))


def with_choice(key: object, chosen: Choice, value: object) -> Any:
    """``key`` with ``value`` in the place of ``chosen``."""
    if key is chosen:
        return value
    if not _is_compound(key):
        return key
    return map_children(lambda part: with_choice(part, chosen, value), key, slices=True)


def is_undecided(key: object) -> bool:
    """Whether a tensor decides which number, text or tuple of such a key is, or its part."""
    if is_late_key(key):
        return True
    chosen = choice_in(key)
    return chosen is not None and all(map(_is_plain, chosen.leaves()))


def _is_plain(key: object) -> bool:
    """Whether a key is a constant or number, or a tuple of such."""
    if type(key) is tuple:
        return all(map(_is_plain, key))
    return type(key) in CONSTANTS or number_kind(key) is not None


def spread(key: object, use: Callable[[Any], Any]) -> Any:
    """``use`` of every key that there may be, which must not need the run.

    Raises:
        LookupError: only the run knows one of them.
    """
    chosen = choice_in(key)
    if chosen is None:
        return use(key)
    if not chosen.plain:
        raise LookupError
    return chosen.spread(lambda found: spread(with_choice(key, chosen, found), use))


def same_names(things: Choice) -> list[Any] | None:
    """The keys of one of several dicts that have the same, or the numbers of equal ranges, if any.

    Nobody may change the dicts meanwhile.
    """
    found = list(things.leaves())
    if not all(type(leaf) in _OF_NAMES for leaf in found):
        return None
    rows = [[(type(name), name) for name in leaf] for leaf in found]
    if any(row != rows[0] for row in rows) or any(kind not in (int, str) for kind, _ in rows[0]):
        return None
    return [name for _, name in rows[0]]


_OF_NAMES: Final[tuple[type, ...]] = (dict, OrderedDict, type({}.keys()), range)


def only_look(*uses: Callable[..., Any] | None) -> bool:
    """Whether parts of a comprehension call no code of the user's, and change no container."""
    return all(use is None or _only_looks(inspect.unwrap(use)) for use in uses)


def _only_looks(use: Callable[..., Any]) -> bool:
    words = set(_words(use.__code__))
    if words & _CHANGING:
        return False
    try:
        held = [cell.cell_contents for cell in use.__closure__ or ()]
    except ValueError:  # one is empty
        return False
    held += [use.__globals__[word] for word in words & use.__globals__.keys()]
    return all(map(_is_harmless, held))


def may_change(use: object) -> bool:
    """Whether calling ``use`` may run code of the user's that changes something."""
    plain: Any = inspect.unwrap(use) if isinstance(use, types.FunctionType) else use
    if isinstance(plain, types.FunctionType):
        return not _only_looks(plain) or _stores(plain.__code__)
    return not (isinstance(plain, type | types.BuiltinFunctionType) and _is_harmless(plain))


def _stores(code: types.CodeType) -> bool:
    """Whether code binds more than its own variables."""
    words = (each.opname for each in dis.get_instructions(code))
    return any(
        word.startswith(("STORE_", "DELETE_")) and not word.startswith("STORE_FAST")
        for word in words
    ) or any(_stores(each) for each in code.co_consts if isinstance(each, types.CodeType))


def _words(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _words(constant)


_CHANGING: Final = frozenset(
    (
        *("__delitem__", "__setitem__", "add", "append", "appendleft", "clear", "delattr"),
        *("difference_update", "discard", "eval", "exec", "extend", "extendleft", "insert"),
        *("intersection_update", "next", "pop", "popitem", "popleft", "remove", "reverse"),
        *("rotate", "send", "setattr", "setdefault", "sort", "subtract"),
        *("symmetric_difference_update", "update"),
    )
)
"""Names of what changes containers, or moves iterators."""


def _is_harmless(thing: object) -> bool:
    """Whether nothing of the user's runs where ``thing``, or an item of it, is called or read."""
    if isinstance(thing, Choice):
        return all(map(_is_harmless, thing.leaves()))
    if not all(map(_is_harmless, children(thing))):
        return False
    if type(thing) in CONSTANTS or is_tensor(thing) or isinstance(thing, types.BuiltinFunctionType):
        return True
    home = thing.__name__ if isinstance(thing, types.ModuleType) else type(thing).__module__
    if isinstance(thing, type | types.FunctionType):
        home = thing.__module__
    return str(home).split(".")[0] in ("builtins", "d2s", "math", "paddle")
