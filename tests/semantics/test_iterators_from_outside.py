"""Iterators of Python's that were there before the call, and live on from call to call (F4)."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor

CALLS = [(1.0, 1.0), (2.0, 3.0), (0.5, 0.0), (1.0, 1.0), (4.0, 4.0)]

MAKES = {
    "a list": "iter([t(1), t(2), t(3), t(4), t(5), t(6), t(7), t(8), t(9), t(10), t(11), t(12)])",
    "numbers": "iter([0.5 * k for k in range(40)])",
    "cycle": "itertools.cycle([1.0, 2.0, 3.0])",
    "short": "iter([1.0, 2.0])",
}

FORMS = {
    "each call": ("cycle", "return x * next(it)"),
    "twice": ("numbers", "return x * next(it) + next(it)"),
    "a default": ("short", "k = next(it, None)\nreturn x if k is None else x * k"),
    "under a try": (
        "short",
        "try:\n    k = next(it)\nexcept StopIteration:\n    k = -1\nreturn x * k",
    ),
    "in a branch": ("cycle", "if x.sum() > 3:\n    x = x * next(it)\nreturn x, next(it)"),
    "on both sides": (
        "cycle",
        "if x.sum() > 3:\n    x = x * next(it)\nelse:\n    x = x + next(it) + next(it)\n"
        "return x, next(it)",
    ),
    "the rest": ("short", "for k in it:\n    x = x * k\nreturn x, list(it)"),
    "left by a tensor": (
        "a list",
        "for b in it:\n    x = x + b\n    if x.sum() > 10:\n        break\nreturn x",
    ),
    "enumerate that a tensor leaves": (
        "a list",
        "for i, b in enumerate(it):\n    x = x + b * i\n    if x.sum() > 9: break\nreturn x",
    ),
    "islice": ("numbers", "return [x * k for k in itertools.islice(it, 3)], next(it)"),
    "any": ("a list", "return any(b.sum() > 8 for b in it)"),
    "the first": ("a list", "return next((b for b in it if b.sum() > x.sum()), None)"),
    "of a generator": ("cycle", "g = rows(it)\nreturn x * next(g) + next(g), next(it)"),
    "handed on": ("cycle", "return x * sum(itertools.islice(again(it), 2))"),
    "an exception": (
        "numbers",
        "k = next(it)\nif x.sum() > 4:\n    raise ValueError(f'bad {k}')\nreturn x * next(it)",
    ),
    "one of several": ("cycle", "use = it if x.sum() > 3 else other\nreturn x * next(use)"),
    "a key": (
        "cycle",
        "k = 'a' if x.sum() > 3 else 'b'\nreturn x * next({'a': it, 'b': other}[k])",
    ),
    "a map over iterators": ("cycle", "return [x * k for k in map(next, [it, other])]"),
    "pairs": ("numbers", "return dict(zip('abc', it)), next(it), x"),
}


def made(make: str, body: str) -> Any:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return function_of(
        f"""
import itertools, paddle

def t(k):
    return paddle.to_tensor([k, k + 1.0])

def rows(items):
    for k in items:
        yield k + 1

def again(items):
    yield from items

it = {make}
other = itertools.cycle([5.0, 6.0, 7.0])

def f(x):
{lines}
""",
        "f",
    )


def shown(value: Any) -> Any:
    if isinstance(value, paddle.Tensor):
        return str(value.dtype), np.round(value.numpy(), 4).tolist()
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    return repr(value)


def outcomes(function: Any, convert: Callable[[Any], Any]) -> list[Any]:
    """What the calls give, and what the iterators give behind each of them."""
    converted, found = convert(function), []
    for given in CALLS:
        try:
            found.append(shown(converted(tensor(*given))))
        except (StopIteration, ValueError) as error:
            found.append([type(error).__name__, str(error)])
    state = function.__globals__
    return [*found, shown(list(itertools.islice(state["it"], 3))), shown(next(state["other"]))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_each_run_takes_what_dygraph_takes(form: str, full: bool) -> None:
    """F4: the iterator is where dygraph would have it after each call, one with an error, too."""
    make, body = FORMS[form]
    want = outcomes(made(MAKES[make], body), lambda function: function)

    def convert(function: Any) -> Any:
        return d2s.to_static(function, full_graph=full)

    assert outcomes(made(MAKES[make], body), convert) == want


ITERATORS = (
    *(
        "iter((1, 2, 3, 4, 5, 6, 7, 8))",
        "iter(range(8))",
        "iter('abcdefgh')",
        "reversed([*'abcdefgh'])",
    ),
    *("enumerate([*'abcdefgh'])", "zip(itertools.count(3), itertools.cycle('ab'), range(8))"),
    *("itertools.chain([1], (2, 3), iter([4, 5, 6, 7, 8]))", "itertools.product('ab', range(4))"),
    *(
        "itertools.islice(itertools.cycle([True, None]), 8)",
        "iter({1: 2, 3: 4, 5: 6, 7: 8}.items())",
    ),
    *("itertools.cycle([abs, round])", "itertools.cycle([{'a': t(1)}, {'a': t(2)}])"),
    "iter([t(k) if k % 2 else paddle.ones([k + 1, 2]) for k in range(8)])",
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("make", ITERATORS)
def test_what_is_copied(make: str) -> None:
    """F4: iterators of built-ins and ``itertools``, of whatever items."""
    body = "return x, next(it, None), next(it, None)"

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        return outcomes(made(make, body), convert)

    assert run(lambda function: d2s.to_static(function, full_graph=True)) == run(lambda f: f)


@pytest.mark.parametrize(
    ("make", "most"),
    [
        ("itertools.cycle([0.1 * k for k in range(9)])", 2),
        ("iter([t(k) for k in range(9)])", 1),
        ("iter([paddle.ones([k + 2, 2]) for k in range(9)])", 2),
        ("enumerate(t(1) * k for k in range(3)) and enumerate([t(k) for k in range(9)])", 2),
        ("itertools.cycle('ab')", 2),
    ],
)
def test_programs_settle(make: str, most: int) -> None:
    """H3: a tensor is read where it is, a number becomes an input, a text has a program each."""
    function = d2s.to_static(made(make, "return x.sum(), next(it)"), full_graph=True)
    for given in CALLS:
        function(tensor(*given))
    assert len(function.programs) <= most


class Loader:
    """The caller begins anew, and changes the rows."""

    def __init__(self) -> None:
        self.data = [tensor(1.0, 1.0), tensor(2.0, 2.0), tensor(3.0, 3.0)]
        self.rows = iter(self.data)
        self.last = self.rows

    def step(self, x: Any) -> Any:
        row = next(self.rows)
        row.add_(x)
        return row * 2


def test_another_iterator_stands_there() -> None:
    """G2: it is the attribute that is read, not the iterator that stood there at first."""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        loader = Loader()
        step, found = convert(loader.step), []
        for turn in range(7):
            if turn in (2, 5):
                loader.rows = iter(loader.data)
            found.append(step(tensor(1.0, turn)).tolist())
        return [*found, [row.tolist() for row in loader.data]]

    assert run(d2s.to_static) == run(lambda function: function)


@pytest.mark.parametrize(
    "body",
    [
        "self.a, self.b = self.b, self.a",
        "if x.sum() > 3:\n            self.a, self.b = self.b, self.a",
        "if x.sum() > 3:\n            self.kept.reverse()\n        self.a = self.kept[0]",
    ],
)
def test_iterators_change_places(body: str) -> None:
    """F3: which of them stands where, each run leaves as dygraph does."""
    text = f"""
import itertools

class Box:
    def __init__(self):
        self.a, self.b = itertools.cycle([1.0, 2.0]), itertools.cycle([5.0, 6.0, 7.0])
        self.kept = [self.a, self.b]

    def step(self, x):
        {body}
        return x * next(self.a)

box = Box()
"""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        box = function_of(text, "box")
        step = convert(box.step)
        return [*(step(tensor(*given)).tolist() for given in CALLS), next(box.a), next(box.b)]

    assert run(d2s.to_static) == run(lambda function: function)


def test_tensors_that_are_one_on_some_calls() -> None:
    """B4: two items may be one tensor, which is changed in place."""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        t = tensor(1.0, 1.0)
        items = itertools.cycle([t, tensor(2.0, 2.0), t, t, tensor(3.0, 3.0)])

        def f(x: Any) -> Any:
            one, other = next(items), next(items)
            one.add_(x)
            return one + other, one is other

        step = convert(f)
        return [shown(step(tensor(*given))) for given in CALLS]

    assert run(d2s.to_static) == run(lambda function: function)


def test_what_it_goes_over_gets_other_items() -> None:
    """F3: an item is taken before the list is changed, and stays the one that was in it."""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        data = [tensor(1.0, 1.0), tensor(2.0, 2.0), tensor(3.0, 3.0)]
        rows = itertools.cycle(data)

        def f(x: Any) -> Any:
            row = next(rows)
            data[0] = data[0] + 1
            return x * row + data[0]

        step = convert(f)
        return [shown(step(tensor(*given))) for given in CALLS]

    assert run(d2s.to_static) == run(lambda function: function)


def test_one_that_a_partial_holds_is_refused() -> None:
    """F4: each run would give the first item."""

    def f(rows: Any, x: Any) -> Any:
        return x * next(rows)

    held = functools.partial(f, itertools.cycle([1.0, 2.0]))
    with pytest.raises(UnsupportedInGraphError, match="of type 'cycle'"):
        d2s.to_static(held, full_graph=True)(tensor(1.0))


def test_gradients_of_items() -> None:
    """C7: each call's go to the tensor that the iterator gave, also in a second backward."""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        weights = [tensor(1.0, 1.0), tensor(2.0, 2.0)]
        for each in weights:
            each.stop_gradient = False
        turns, results = itertools.cycle(weights), []

        def f(x: Any) -> Any:
            w = next(turns)
            return (x * w * w).sum()

        step = convert(f)
        for given in CALLS:
            results.append(step(tensor(*given)))
            if len(results) > 1:
                results[-2].backward(retain_graph=True)
        results[0].backward()
        return [(w.grad.tolist(), w.grad.stop_gradient) for w in weights]

    assert run(d2s.to_static) == run(lambda function: function)


def test_threads_take_in_turn() -> None:
    """G4: no item is taken twice, and none is left out."""
    function = made("iter([float(k) for k in range(400)])", "return x * next(it)")
    static, found = d2s.to_static(function, full_graph=True), list[float]()

    def work() -> None:
        for _ in range(25):
            found.append(float(static(tensor(1.0))[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [float(k) for k in range(100)]


@pytest.mark.parametrize("make", [MAKES["numbers"], "itertools.count(5)", "[iter('ab')][0]"])
def test_a_check_takes_nothing(make: str) -> None:
    """F4: it calls the function several times, each time with the same items."""
    function = made(make, "return x, next(it)")
    assert d2s.check(function, tensor(1.0)).ok
    checked = d2s.to_static(function, full_graph=True, check=True)
    want = list(itertools.islice(made(make, "return x").__globals__["it"], 2))
    assert [checked(tensor(1.0))[1] for _ in range(2)] == want


REFUSED = {
    "a static loop": ("while x.sum() < 9:\n    x = x + next(it)\nreturn x", "how many items"),
    "a list of the run": ("return list(zip(x[x > 1], it))", "how many items"),
    "what another one takes": ("return x * next(pairs)[1] + next(it)", "from one iterator"),
    "what it goes over is changed": ("data.append(x)\nreturn x * next(end)", "changes 'end'"),
    "whether there is one": (
        "if x.sum() > 3:\n    x = x * next(end)\nreturn x * next(end, 3)",
        "has another item",
    ),
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_only_the_run_knows_is_refused(form: str) -> None:
    """F4: with a code; by default it is as in dygraph, and nothing is left out."""
    body, words = REFUSED[form]
    head = "global data, pairs, end\n"

    def begun() -> Any:
        function = made(MAKES["cycle"], head + body)
        state = function.__globals__
        state["data"] = []
        state["end"] = iter(state["data"] if form != "whether there is one" else [1.0])
        state["pairs"] = enumerate(state["it"])
        return function

    function = begun()
    with pytest.raises(UnsupportedInGraphError, match=words):
        d2s.to_static(function, full_graph=True)(tensor(*CALLS[1]))
    assert next(function.__globals__["it"]) == 1.0
    with pytest.warns(d2s.errors.BreakWarning):
        found = outcomes(begun(), lambda function: d2s.to_static(function, full_graph=False))
    assert found == outcomes(begun(), lambda function: function)
