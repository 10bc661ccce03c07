"""Which operator stands for which built-in function while a program is captured (rule E1).

What calls back into the user's code (``map``, ``sorted`` with a key) is in
``runtime.calls.stand_ins``, which converts the callback.
"""

from __future__ import annotations

import builtins
import operator
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, Final

from d2s.runtime.aliasing import identities
from d2s.runtime.builtins import (
    growing,
    handed,
    heaps,
    iterators,
    keyed,
    maths,
    ranked,
    reductions,
    sums,
)
from d2s.runtime.control_flow import effects
from d2s.runtime.host import streams
from d2s.runtime.lists import iteration
from d2s.runtime.loops.comprehensions import one_list, whole_of
from d2s.runtime.python import casts, comparing, items, kinds, logic, stores, texts
from d2s.runtime.values.tensors import is_array, is_tensor

OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    builtins.abs: casts.abs_,
    builtins.all: reductions.all_,
    builtins.any: reductions.any_,
    builtins.ascii: texts.ascii_,
    builtins.bin: texts.bin_,
    builtins.bool: casts.bool_,
    builtins.chr: texts.chr_,
    builtins.divmod: casts.divmod_,
    builtins.enumerate: handed.enumerate_,
    builtins.float: casts.float_,
    builtins.format: texts.format_,
    builtins.getattr: kinds.getattr_,
    builtins.hasattr: kinds.hasattr_,
    builtins.hex: texts.hex_,
    builtins.id: identities.id_,
    builtins.int: casts.int_,
    builtins.isinstance: kinds.isinstance_,
    builtins.len: casts.len_,
    builtins.oct: texts.oct_,
    builtins.pow: casts.pow_,
    builtins.print: effects.print_,
    builtins.range: iteration.range_,
    builtins.repr: texts.repr_,
    builtins.reversed: iteration.reversed_,
    builtins.round: casts.round_,
    builtins.str: texts.str_,
    builtins.sum: sums.sum_,
    builtins.type: kinds.type_,
    builtins.open: streams.open_,
    builtins.zip: handed.zip_,
    operator.contains: lambda container, item, /: logic.in_(item, container),
    operator.eq: comparing.eq,
    operator.getitem: items.getitem,
    operator.is_: logic.is_,
    operator.is_not: logic.is_not,
    operator.ne: comparing.ne,
    operator.not_: logic.not_,
    operator.truth: casts.bool_,
    **maths.OPERATORS,
    **heaps.OPERATORS,
    **iterators.OPERATORS,
    **keyed.OPERATORS,
}
"""Functions and classes that are called with things and give a thing."""

KEYED: Final[dict[Any, Callable[..., Any]]] = {
    builtins.max: reductions.max_,
    builtins.min: reductions.min_,
    builtins.sorted: reductions.sorted_,
    **ranked.OPERATORS,
}
"""Functions that take a callback as ``key``."""


def _at_position(_: object, *given: object) -> bool:
    """Whether the run decides the position that a method is given."""
    return bool(given) and (is_tensor(given[0]) or is_array(given[0]))


def _are_of_run(_: object, *given: object) -> bool:
    """Whether the run decides the length of something that a method is given."""
    return any(map(growing.is_of_run, given))


METHODS: Final[dict[tuple[type, str], Callable[..., Any]]] = {
    (str, "format"): texts.format_template,
    (str, "join"): lambda separator, things, /: texts.join(separator, one_list(whole_of(things))),
    (types.GeneratorType, "send"): iteration.resuming("send"),
    (types.GeneratorType, "throw"): iteration.resuming("throw"),
    **{(kind, "get"): items.get for kind in (dict, OrderedDict, defaultdict, Counter)},
    **{(kind, "index"): items.index_of for kind in (list, tuple)},
    **{(kind, "count"): items.count_of for kind in (list, tuple)},
}
"""Methods of built-in types."""

LATE_METHODS: Final[dict[tuple[type, str], tuple[Callable[..., bool], Callable[..., Any]]]] = {
    (list, "insert"): (_at_position, stores.insert),
    (list, "pop"): (_at_position, stores.pop),
    (list, "remove"): (items.is_removed_late, items.remove),
    (type, "fromkeys"): (_are_of_run, growing.fromkeys),
    **{key: (_are_of_run, method) for key, method in growing.METHODS.items()},
}
"""Methods of built-in types for what only the run knows, and whether it is asked about that."""

KEYED_METHODS: Final[dict[tuple[type, str], Callable[..., Any]]] = {
    (list, "sort"): reductions.sort_,
}
"""Methods of built-in types that take a callback as ``key``."""
