"""What is shown of lists, objects and texts: what they are at that place (rules A1 and F1).

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from typing import Any, ClassVar

import paddle
import pytest

import d2s
from d2s.errors import NotStaticError
from tests.helpers import assert_same, scalar, tensor
from tests.semantics.test_effects import same_text

X = tensor(1.0, 2.0)
N = [scalar(n) for n in (0, 1, 3)]


def grown(x, n):
    items = []
    for i in range(n):
        items.append(x + i)
    return items


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    at: Any
    name: str


@dataclasses.dataclass(slots=True)
class Slotted:
    at: Any


class Shown:
    def __init__(self, at: Any) -> None:
        self.at = at
        self.me = self

    def __repr__(self) -> str:
        return f"Shown({self.at}, {self.at.shape})"

    def __str__(self) -> str:
        return f"at {float(self.at.sum()):.2f}"


class Silent:
    """It holds a tensor, and does not show it."""

    def __init__(self, at: Any) -> None:
        self.at = at

    def __repr__(self) -> str:
        return "Silent"


class Things(list):
    pass


class Marked(list):
    def __init__(self, items: Any, mark: str) -> None:
        super().__init__(items)
        self.mark = mark

    def __repr__(self) -> str:
        return f"{self.mark}{super().__repr__()}"


MAKERS = {
    "named tuple": lambda x: Pair(x * 1, 2),
    "dataclass": lambda x: Point(x * 1, "p"),
    "dataclass with slots": lambda x: Slotted(x * 1),
    "object": lambda x: Shown(x * 1),
    "objects in a list": lambda x: [Shown(x * 1), {"a": Shown(x * 2)}],
    "ordered dict": lambda x: collections.OrderedDict(a=x * 1),
    "default dict": lambda x: collections.defaultdict(list, a=[x * 1]),
    "deque": lambda x: collections.deque([x * 1], 3),
    "list of a class": lambda x: Things([x * 1]),
    "list with attributes": lambda x: Marked([x * 1], "!"),
    "slice": lambda x: slice(x * 1, None),
    "namespace": lambda x: types.SimpleNamespace(a=x * 1),
    "items": lambda x: {"k": (x * 1, [x * 2])}.items(),
    "values": lambda x: {"k": x * 1}.values(),
    "keys beside tensors": lambda x: ({"k": x * 1}.keys(), x),
    "set": lambda x: {1, 2},
    "exception": lambda x: ValueError("bad", x * 1),
}


@pytest.mark.parametrize("name", MAKERS)
def test_things_that_hold_tensors(name: str, capfd) -> None:
    """F1: with the tensors of the run, in whatever holds them."""
    make = MAKERS[name]

    def f(x):
        thing = make(x)
        print(thing, [thing])
        print(f"{thing} {thing!r}", str(thing), "{}".format(thing), "%s" % (thing,))  # noqa: UP031, UP032
        return x

    same_text(f, capfd, X, tensor(5.0, 6.0))


def test_an_object_that_shows_no_tensor_is_text_at_once(capfd) -> None:
    """F1: what does not depend on the run may be looked at while the program is captured."""

    def f(x):
        thing = Silent(x * 2)
        table = {f"{thing}": x, str([thing]): x * 2}
        print(thing, list(table))
        return table["Silent"] + table["[Silent]"]

    same_text(f, capfd, X)
    assert_same(f, [X])


def test_objects_that_know_each_other(capfd) -> None:
    """F1: a ring of objects is gone around once."""

    class Node:
        def __init__(self, at: Any) -> None:
            self.at = at
            self.other: Any = None

        def __repr__(self) -> str:
            return f"{self.at} beside {self.other.at}"

    def f(x):
        one, two = Node(x + 1), Node(x + 2)
        one.other = two
        print(one)
        return x

    same_text(f, capfd, X)


def test_what_nobody_can_look_into_is_refused() -> None:
    """F1: rather a code than the name of an operator in the text."""

    @d2s.to_static
    def f(x):
        print(functools.partial(print, x * 1))
        return x

    with pytest.raises(NotStaticError, match="a partial with a tensor in it is shown") as caught:
        f(X)
    assert caught.value.line == f.__wrapped__.__code__.co_firstlineno + 2


@pytest.mark.parametrize("n", N, ids=["no trip", "one", "three"])
def test_lists_whose_length_the_run_decides(n, capfd) -> None:
    """F1, D1: their items, however they are shown, where and when."""

    def f(x, n):
        items = grown(x, n)
        print(items, f"{items} {len(items)}", str(items), [items], {"a": items})
        print("%s, %s" % (items, n), "{}".format(items), tuple(items))  # noqa: UP031, UP032
        if x.sum() > 0:
            print("inside", items)
        return x

    same_text(f, capfd, (X, n))


def test_lists_that_grow_around_the_print(capfd) -> None:
    """F1, D1: as many items as there are by then."""

    def f(x, n):
        items = []
        for i in range(n):
            items.append((x + i, i))
            print(i, items)
            if x.sum() > 4:
                items.append((x, 7))
                text = f"{items}"
                print(text)
        return x

    same_text(f, capfd, (X, N[2]), (tensor(5.0), N[2]))


def test_gradients_of_items_are_shown(capfd) -> None:
    """F1: ``stop_gradient`` is part of the text."""

    def f(x, n):
        items = grown(x, n)
        print(items, [item.detach() for item in items])
        return items[0]

    given = tensor(1.0)
    given.stop_gradient = False
    same_text(f, capfd, (given, N[2]))


@pytest.mark.parametrize(
    "message", [lambda items: items, lambda items: f"bad {items}"], ids=["itself", "in a text"]
)
def test_errors_with_lists_whose_length_the_run_decides(message: Any) -> None:
    """F1: in an assertion and in an exception."""

    def asserted(x, n):
        items = grown(x, n)
        assert x.sum() < 0, message(items)
        return x

    def raised(x, n):
        items = grown(x, n)
        if x.sum() > 0:
            raise ValueError(message(items))
        return x

    for function in (asserted, raised):
        with pytest.raises((AssertionError, ValueError)) as want:
            function(X, N[2])
        with pytest.raises((AssertionError, ValueError)) as got:
            d2s.to_static(function)(X, N[2])
        assert type(got.value) is type(want.value)
        assert str(got.value) == str(want.value)


def test_a_text_is_made_where_it_stands(capfd) -> None:
    """A1, F1: what happens to a list or tensor afterwards is not in it."""

    def f(x, n):
        items = [x]
        table = {"a": x}
        more = grown(x, n)
        y = x + 0
        texts = [f"{items}", str(table), "{}".format(items), "%s %s" % (items, 1), repr(y)]  # noqa: UP031, UP032
        texts += [f"{more}", f"{y}", str([y]), f"{Point(items, 'p')}"]
        items.append(x * 2)
        table["b"] = 1
        more.append(x)
        y.add_(x)
        y[0] = 9.0
        print(texts[0], texts[1], texts[2], texts[3], texts[4])
        print(texts[5], texts[6], texts[7], texts[8])
        print(items, table, more, y)
        return y

    same_text(f, capfd, (X, N[2]), (tensor(3.0, 4.0), N[2]))


def test_parts_of_a_text_are_formatted_one_after_the_other(capfd) -> None:
    """A1: a part is formatted before the next one is evaluated."""

    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def __format__(self, spec: str) -> str:
            self.count += 1
            return f"{self.count}{spec}"

        def next(self) -> int:
            self.count += 10
            return self.count

    def f(x):
        items, counter = [1, 2, 3], Counter()
        print(f"{items} {items.pop()} {items} {items.append(x)} {items}")
        print(
            f"{counter:a} {counter.next()} {counter:b} {counter.count} {counter:{counter.next()}}"
        )
        return x

    same_text(f, capfd, X)
    want, got = f(X), d2s.convert(f)(X)
    assert want is got


def test_texts_of_python_are_made_in_order() -> None:
    """A1: with no tensor in them, too; the sample that generated programs have found."""

    def f(x):
        return f"x is {x}, k is {sum(1 for v in (x, x) if v > 0.37)}"

    class Number(float):
        said: ClassVar[list[str]] = []

        def __format__(self, spec: str) -> str:
            self.said.append("format")
            return "number"

        def __gt__(self, other: float) -> bool:
            self.said.append("compare")
            return True

    assert f(Number(0.5)) == d2s.convert(f)(Number(0.5))
    half = len(Number.said) // 2
    assert Number.said[:half] == Number.said[half:] == ["format", "compare", "compare"]


def test_a_saved_program_shows_the_tensors(tmp_path, capfd) -> None:
    """F1: those in objects and in lists that have grown, too, in Paddle's format."""

    @d2s.to_static(input_spec=[paddle.static.InputSpec([2], "float32")])
    def f(x):
        items, i = [], paddle.zeros([])
        while i < 2:
            items.append(x + i)
            i = i + 1
        print("object", Point(x * 3, "p"))
        print("list", items)
        return x * 1

    d2s.save(f, str(tmp_path / "net"))
    loaded = d2s.load(str(tmp_path / "net"))
    capfd.readouterr()
    loaded(X)
    shown = "".join(capfd.readouterr())
    assert "data: [3.000000 6.000000]" in shown
    assert "data: [1.000000 2.000000 2.000000 3.000000]" in shown


def longer(x, n):
    for _ in range(n):
        x = paddle.concat([x, x[:1]])
    return x


def test_shapes_that_the_run_decides_are_shown(capfd) -> None:
    """F1, E4: in every way to write a text, and in what an assertion says."""

    def f(x, n):
        y = longer(x, n)
        print(y.shape, [y.shape], {"shape": y.shape}, f"{y.shape}", str(y.shape), repr(y.shape))
        print("{}".format(y.shape), "%s" % (y.shape,), f"{y.shape!r:>30}")  # noqa: UP031, UP032
        assert y.shape == [2 + n], f"{y.shape} == {[2 + n]}"
        return y * 1, f"of shape {y.shape}"

    same_text(f, capfd, (X, N[2]))


def test_shapes_that_the_run_decides_in_exceptions() -> None:
    """F1: the text of an exception that a tensor raises."""

    def f(x, n):
        y = longer(x, n)
        if y.shape[0] > 3:
            raise ValueError(f"too long: {y.shape}")
        assert y.shape[0] > 2, f"too short: {y.shape}, {y.shape!s}"
        return y * 1

    assert_same(f, *((X, n) for n in N))
