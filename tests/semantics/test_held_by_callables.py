"""Lists and dicts that a function is called with: by a default, a partial, a method of a list.

They are state like what has a name (F3): what a capture changes there is put back, each run changes
it anew, and a program relies on what it held (G2).
"""

from __future__ import annotations

import functools
import types
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from tests.helpers import function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")


def add(store, key, value):
    store[key] = store.get(key, 0.0) + value


def by_default():
    held = {}

    def put(key, value, store=held):
        add(store, key, value)

    return put, held


def by_keyword_default():
    held = {}

    def put(key, value, *, store=held):
        add(store, key, value)

    return put, held


def inside_a_default():
    held = {}

    def put(key, value, stores=([held],)):
        add(stores[0][0], key, value)

    return put, held


def by_partial():
    held = {}
    return functools.partial(add, held), held


def by_method_of_a_dict():
    held = {}
    return held.__setitem__, held


def by_function_bound_to_a_dict():
    held = {}
    return types.MethodType(add, held), held


def by_append_as_default():
    held = []
    return (lambda key, value, append=held.append: append((key, value))), held


def by_static_method():
    class Store:
        held = {}  # noqa: RUF012 - as users write it

        @staticmethod
        def put(key, value, store=held):
            add(store, key, value)

    return Store.put, Store.held


def on_a_path(x, put):
    y = x * 2 + 1 - x.mean()
    put(0, y.sum())
    put(0, y.max())
    if y.sum() > 0:
        put(1, y.mean())
    return y - 1 + y.max()


def for_numbers(x, put):
    for index, number in enumerate(x.tolist()):
        if number < 0.5:
            continue
        put(index % 2, number)
        put(2, number)
    return x + 1


def always(x, put):
    y = x * 2 + 1
    put(0, y.sum())
    put(0, y.max())
    return y - x.mean()


def shown(held):
    """What a dict or list of tensors holds."""
    pairs = held.items() if isinstance(held, dict) else held
    return [(key, round(float(value), 3)) for key, value in pairs]


WAYS = [
    by_default, by_keyword_default, inside_a_default, by_partial, by_method_of_a_dict,
    by_function_bound_to_a_dict, by_append_as_default, by_static_method,
]  # fmt: skip
INPUTS = ([0.1, 0.7, 0.9], [0.6, 0.2, 0.9], [-1.0, -2.0, -1.5])


def after(convert, function, way):
    put, held = way()
    converted = convert(function)
    for numbers in INPUTS:
        converted(paddle.to_tensor(numbers), put)
    return shown(held)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_it_changes_on_each_run(way) -> None:
    """F3: in one program, which starts from what is there."""
    want = after(lambda f: f, always, way)
    assert after(lambda f: d2s.to_static(f, full_graph=True), always, way) == want


@pytest.mark.sampled(3, also=["for_numbers-by_function_bound_to_a_dict"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("function", [on_a_path, for_numbers], ids=lambda each: each.__name__)
def test_it_changes_on_a_path(function, way) -> None:
    """H1: a change that a tensor decides is made by Python, where no program can make it."""
    want = after(lambda f: f, function, way)
    assert after(lambda f: d2s.to_static(f, full_graph=False), function, way) == want


IN_ONE_PROGRAM = [by_keyword_default, inside_a_default]
"""Ways that lead to what a static loop can change."""


@pytest.mark.parametrize("way", IN_ONE_PROGRAM, ids=lambda way: way.__name__)
def test_it_changes_in_a_static_loop(way) -> None:
    """F3: in one program, where no other way leads to it."""
    want = after(lambda f: f, for_numbers, way)
    assert after(lambda f: d2s.to_static(f, full_graph=True), for_numbers, way) == want


@pytest.mark.parametrize(
    "way",
    [way for way in WAYS if way not in IN_ONE_PROGRAM],
    ids=lambda way: way.__name__,
)
def test_a_refusal_leaves_it_as_it_was(way) -> None:
    """F3: nothing of the capture is left in it."""
    put, held = way()
    with pytest.raises(ContainerInGraphError):
        d2s.to_static(for_numbers, full_graph=True)(paddle.to_tensor(INPUTS[0]), put)
    assert not held


def remembers(x, seen=[]):  # noqa: B006 - as users write it
    seen.append(x.detach())
    if len(seen) > 2:
        seen.pop(0)
    return paddle.stack(seen).mean(axis=0)


@pytest.mark.parametrize("whole", [True, False])
def test_the_defaults_of_the_function_itself(whole) -> None:
    """F3: they are arguments, which a program may change, and no other way leads to them."""
    converted = d2s.to_static(remembers, full_graph=whole)
    assert [converted(paddle.to_tensor(float(n))).item() for n in (1, 2, 4, 8)] == [1, 1.5, 3, 6]
    assert len(remembers.__defaults__[0]) == 2
    remembers.__defaults__[0].clear()
    assert not converted.breaks


LEAVING = {
    "a method of a list": "h = [0]; return h, h.append",
    "a method of a dict": "h = {}; return h, h.setdefault",
    "a method of an object": "k = Holder(); return k.held, k.add",
    "partial": "h = [0]; return h, functools.partial(h.append, 3)",
    "partial of a method": "k = Holder(); return k.held, functools.partial(k.add, 3)",
    "lambda": "h = [0]; return h, lambda v: h.append(v)",
    "closure over an object": "k = Holder(); return k.held, lambda v: k.add(v)",
}


class Holder:
    def __init__(self) -> None:
        self.held: list[Any] = []

    def add(self, item: Any) -> None:
        self.held.append(item)


@pytest.mark.parametrize("body", LEAVING.values(), ids=LEAVING)
def test_a_callable_that_leaves_with_what_it_changes(body: str) -> None:
    """A1: what it changes is what the same call has given, also in one program, or refused."""
    text = f"def f(x):\n    y = x * 2\n    {body.replace('; ', chr(10) + '    ')}\n"
    function = function_of(text, functools=functools, Holder=Holder)
    converted = d2s.to_static(function, full_graph=False)
    x = paddle.ones([2])
    for _ in range(3):
        held, change = converted(x)
        change(*() if isinstance(change, functools.partial) else (5,))
        assert len(held) in (1, 2)
        assert 5 in held or held[-1] == 3
    strict = d2s.to_static(function, full_graph=True)
    if "lambda" in body:
        with pytest.raises(UnsupportedInGraphError, match="each run makes another"):
            strict(x)
        return
    for _ in range(2):
        held, change = strict(x)
        change(*() if isinstance(change, functools.partial) else (7,))
        assert 7 in held or held[-1] == 3


@pytest.mark.parametrize(
    "keep",
    [
        "handlers.append(note)",
        "table['last'] = note",
        "holder.last = note",
        "for each in [e for e in handlers if e[1]]: handlers.remove(each)",
    ],
)
def test_a_function_from_outside_is_kept_beside_what_it_changes(keep: str) -> None:
    """F4: what it holds is state; it was refused as if tensors of the program were in it."""
    text = f"""
def make():
    log, table, holder = [], {{}}, SimpleNamespace(last=None)

    def note(value):
        log.append(value.sum())

    handlers = [(0, True, note), (1, False, note)]

    def f(x):
        note(x * 2)
        {keep}
        return x + len(log)

    return f, (log, handlers, table, holder, note)
"""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        made = function_of(text, "make", SimpleNamespace=types.SimpleNamespace)
        f, (log, handlers, table, holder, note) = made()
        f = convert(f)
        seen = []
        for number in (1.0, -2.0, 3.0):
            seen += [f(tensor(number)).item(), [each.item() for each in log], len(handlers)]
            seen += [[each is note for each in handlers], list(table), holder.last is note]
        found.append(seen)
    assert found[0] == found[1]
