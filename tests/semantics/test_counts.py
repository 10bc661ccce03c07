"""``itertools.count``: where it has come to is a number of the program (rules A1, F4)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

INPUTS = [(1.0, 2.0), (-1.0, -2.0), (3.0, 4.0), (3.0, -4.0), (-3.0, 4.0), (5.0, 6.0)]

HEAD = """
import itertools
from collections import defaultdict
from dataclasses import dataclass, field

class Desk:
    def __init__(self):
        self.ids = itertools.count(*{start})
        self.other = itertools.count(50)

desk = Desk()
"""

FORMS = {
    "straight": "return next(desk.ids), x * 2",
    "one side": "i = next(desk.ids) if x.sum() > 0 else -1; return i, next(desk.ids)",
    "both sides": "i = next(desk.ids) if x.sum() > 0 else -next(desk.other); return i",
    "static loop": """
    t = x.sum()
    while t > 0:
        t = t - 2 - abs(next(desk.ids)) * 0.125
    return t, next(desk.ids)
    """,
    "left by a tensor": """
    t = x.sum()
    for i in desk.ids:
        t = t - abs(i) - 1
        if t < 0:
            break
    return t, i, next(desk.ids)
    """,
    "zip, islice, comprehension": """
    if x.sum() > 0:
        pairs = list(zip(desk.ids, "ab"))
    else:
        pairs = [*itertools.islice(desk.ids, 3)]
    return len(pairs), [next(desk.ids) for _ in range(2)]
    """,
    "a bound method": "take = desk.ids.__next__; return take() if x.sum() > 0 else 0",
    "another name": "ids = desk.ids; return next(ids) if x.sum() > 0 else next(desk.ids) * 3",
    "one of several": "ids = desk.ids if x.sum() > 0 else desk.other; return next(ids)",
    "changed places": """
    if x.sum() > 0:
        desk.ids, desk.other = desk.other, desk.ids
    return next(desk.ids)
    """,
    "made in the function": """
    ids = itertools.count(*{start})
    first = next(ids)
    if x.sum() > 0:
        first = next(ids)
    return first, next(ids), x * next(ids)
    """,
    "made in a branch": """
    ids = itertools.count(7) if x.sum() > 0 else itertools.count(1, 2)
    return next(ids), next(ids)
    """,
    "of a number of the run": """
    ids = itertools.count(int(x.sum()))
    first = next(ids)
    if x[0] > 0:
        first = next(ids)
    return first, next(ids)
    """,
    "an exception": """
    try:
        i = next(desk.ids)
        if x.sum() > 0:
            raise ValueError("no")
    except ValueError:
        i = -next(desk.ids)
    return i
    """,
    "objects of a list of the run": """
    made = []
    t = x.sum()
    while t > 0:
        made.append((next(desk.ids), t))
        t = t - 2
    return [i for i, _ in made], next(desk.ids)
    """,
    "a copy": """
    import copy
    ids = itertools.count(*{start})
    first = next(ids)
    return first, next(copy.copy(ids)), next(copy.deepcopy(ids)), next(ids), x
    """,
    "the text of one": "next(desk.other); ids = itertools.count(2); next(ids); return repr(ids), x",
}
"""What takes numbers from counts, outside of the function or made by it."""


def outcomes(function: Any) -> list[Any]:
    found = []
    for given in INPUTS:
        try:
            found.append(repr(function(tensor(*given))))
        except UnsupportedInGraphError as error:
            found.append(f"refused {error.code}")
    return found


def body(form: str, start: tuple[Any, ...]) -> str:
    text = FORMS[form]
    lines = text if text.startswith("\n") else f"\n    {text}\n"
    return (HEAD + "\ndef f(x):" + lines).replace("{start}", repr(start))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", [(), (1,), (10, -3), (0.5, 0.25), (1000,)])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_taken_as_in_dygraph(form: str, start: tuple[Any, ...]) -> None:
    """F4: each run takes the count to where dygraph's has come, and the next one goes on there."""
    text = body(form, start)
    assert outcomes(d2s.to_static(function_of(text))) == outcomes(function_of(text))


FACTORIES = {
    "of a data class": """
    made = itertools.count()
    @dataclass
    class Item:
        value: object
        id: int = field(default_factory=lambda: next(made))
        late: int = field(init=False, default_factory=lambda: next(made))

    def f(x):
        item = Item(x)
        if x.sum() > 0:
            item = Item(x * 2)
        return item.id, item.late, Item(x, 77).id, next(made)
    """,
    "of a data class that another one is derived of": """
    made = itertools.count()
    @dataclass
    class Base:
        id: int = field(default_factory=lambda: next(made))
    @dataclass
    class Item(Base):
        value: int = 3
    class Own(Base):
        def __init__(self, x):
            super().__init__()
            self.x = x

    def f(x):
        i = Own(x).id if x.sum() > 0 else 0
        return i, Item().id, Item(value=2).id
    """,
    "that counts in a list": """
    made = [0]
    def make():
        made[0] += 1
        return made[0]
    @dataclass
    class Item:
        id: int = field(default_factory=make)

    def f(x):
        i = Item().id if x.sum() > 0 else -Item().id
        return i, made[0]
    """,
    "of a defaultdict": """
    made = itertools.count()
    known = defaultdict(lambda: next(made))

    def f(x):
        return known["a"], known["b"], next(made), x
    """,
}


@pytest.mark.parametrize("kind", FACTORIES)
def test_factories(kind: str) -> None:
    """F4: what a ``default_factory`` takes or changes is state, in branches, too."""
    text = "import itertools\nfrom collections import defaultdict\n"
    text += "from dataclasses import dataclass, field\n" + FACTORIES[kind].replace("\n    ", "\n")
    assert outcomes(d2s.to_static(function_of(text))) == outcomes(function_of(text))


REFUSED = {
    "a text": "next(desk.ids); return repr(desk.ids), x",
    "a library": "import numpy as np; return np.fromiter(desk.ids, int, 3), x",
    "a zip that a tensor leaves": """
    t = x.sum()
    for i, k in zip(desk.ids, range(6)):
        t = t - i - k
        if t < 0:
            break
    return t, next(desk.ids)
    """,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_else_is_done_with_one_is_refused(kind: str) -> None:
    """F4: code that stays Python would find the count where it was before the call."""
    lines = REFUSED[kind]
    lines = lines if lines.startswith("\n") else f"\n    {lines}\n"
    function = function_of((HEAD + "\ndef f(x):" + lines).replace("{start}", "()"))
    with pytest.raises(UnsupportedInGraphError):
        d2s.to_static(function)(tensor(1.0, 2.0))


def test_a_count_goes_on_where_the_caller_has_taken_from_it() -> None:
    """G2: where it stands is no constant of the program."""
    text = HEAD.replace("{start}", "()") + "\ndef f(x):\n    return next(desk.ids), x\n"
    function = function_of(text)
    static, ids = d2s.to_static(function), function.__globals__["desk"].ids
    found = []
    for _ in range(4):
        found += [static(tensor(1.0))[0], next(ids)]
    assert found == list(range(8))


def test_gradients_of_what_a_count_scales() -> None:
    """C7: the numbers take part in gradients."""
    function = function_of(
        """
        import itertools

        def f(x):
            ids = itertools.count(1)
            while x.sum() > 0 and x.sum() < 40:
                x = x * next(ids)
            return x
        """
    )
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0, 0.5))


@pytest.mark.parametrize("take", ["take()", "next(it)"])
def test_a_bound_next_moves_its_iterator(take: str) -> None:
    """A1: ``it.__next__`` in a branch is ``next(it)``."""
    function = function_of(
        f"""
        def f(x):
            it = iter([5, 6, 7])
            take = it.__next__
            i = 0
            if x.sum() > 0:
                i = {take}
            return i, next(it)
        """
    )
    assert_same(function, tensor(1.0), tensor(-1.0))


def test_an_iterator_in_a_zip_that_a_tensor_leaves() -> None:
    """C1: how far the iterators in it have come is known to the run only."""
    function = function_of(
        """
        def f(x):
            it = iter([1, 2, 3, 4])
            for i, k in zip(it, range(4)):
                x = x + i * k
                if x.sum() > 5:
                    break
            return x, next(it, None)
        """
    )
    static = d2s.to_static(function, full_graph=True)
    assert_same(function, tensor(1.0), tensor(9.0), tensor(-90.0), static=static)
