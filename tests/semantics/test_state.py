"""State outside of the arguments, and the caller's own arguments (rules F3, G1, G2).

What a function reads there is read on every run, and what it changes is changed on every run, by
exactly as much as in dygraph; nothing of a program is left behind in an object of the user's.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import types
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import LoopGradientError, NotStaticError
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def fields(layer: Any) -> dict[str, Any]:
    """Buffers and Python attributes of a layer, tensors as lists."""
    own = {name: value.tolist() for name, value in layer.named_buffers()}
    plain = vars(paddle.nn.Layer())
    own |= {name: value for name, value in vars(layer).items() if name not in plain}
    return {key: value for key, value in own.items() if key != "forward"}


def same_state(kind: type, *inputs: Any, most: int) -> None:
    """Two layers of ``kind``, one of them static, show the same after each of two rounds."""
    paddle.seed(1)
    mine = kind()
    paddle.seed(1)
    static = kind()
    d2s.to_static(static)
    for trip in range(2):
        for given in inputs:
            x = given.clone()
            x.stop_gradient = False
            y = given.clone()
            y.stop_gradient = False
            want, got = mine(x), static(y)
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, err_msg=str(trip))
            want.sum().backward()
            got.sum().backward()
            assert fields(static).keys() == fields(mine).keys()
            for key, value in fields(mine).items():
                np.testing.assert_allclose(fields(static)[key], value, rtol=1e-5, err_msg=key)
            kinds = {key: type(value) for key, value in fields(mine).items()}
            assert {key: type(value) for key, value in fields(static).items()} == kinds
    assert len(static.forward.programs) <= most


def test_statistics_move_once_beside_a_loop() -> None:
    """F3: the backward of a program with a loop runs the forward again, not its effects."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", paddle.zeros([2]))
            self.calls = paddle.zeros([])

        def forward(self, x):
            self.calls = self.calls + 1
            paddle.assign(self.mean * 0.5 + x.detach(), self.mean)
            while x.abs().sum() > 1:
                x = x * 0.5
            return x + self.mean

    same_state(Net, PLUS * 3, PLUS * 0.1, most=1)


def test_a_counter_of_python() -> None:
    """F3, G2: an int that the function counts stays an int, with a fixed number of programs."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.steps = 0
            self.rate = 1.0
            self.hits = 0

        def forward(self, x):
            self.steps += 1
            self.rate *= 0.5
            if x.sum() > 0:
                self.hits += 2
            return x * self.rate + self.steps

    same_state(Net, PLUS, MINUS, PLUS, PLUS, most=2)


def test_an_attribute_becomes_a_tensor_on_one_path() -> None:
    """F3: ``None`` on the runs on which dygraph leaves ``None``."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.peak = None

        def forward(self, x):
            if x.sum() > 0:
                self.peak = x.max().detach()
            return x * 2

    static = d2s.to_static(Net())
    assert static(MINUS) is not None
    assert static.peak is None
    static(PLUS)
    assert isinstance(static.peak, paddle.Tensor)
    assert static.peak.item() == 2.0


def test_globals_and_cells_are_written() -> None:
    """F3: tensors, numbers and structures, with and without a tensor condition."""
    text = """
        last = None
        hits = 0
        both = ()
        def f(x):
            global last, hits, both
            last = x.mean()
            both = [last, {"twice": last * 2}]
            if x.sum() > 0:
                hits += 1
            return x * 2
    """
    for convert in (lambda f: f, d2s.to_static):
        f = function_of(text, "f")
        scope = f.__globals__
        static = convert(f)
        for given, count in ((PLUS, 1), (MINUS, 1), (PLUS, 2), (PLUS, 3)):
            static(given)
            assert isinstance(scope["last"], paddle.Tensor)
            assert scope["last"].item() == given.mean().item()
            assert scope["both"][1]["twice"].item() == 2 * given.mean().item()
            assert (type(scope["hits"]), scope["hits"]) == (int, count)

    total = paddle.zeros([])

    def add(x):
        nonlocal total
        total = total + x.sum()
        return x

    static = d2s.to_static(add)
    with paddle.no_grad():
        for _ in range(3):
            static(PLUS)
    assert total.item() == 9.0


def test_a_refused_capture_leaves_no_trace() -> None:
    """F3: what was changed before the refusal is put back."""
    seen: list[Any] = []

    def f(x):
        seen.append(x * 2)
        return hash(x.sum().item())

    with pytest.raises(NotStaticError):
        d2s.to_static(f)(PLUS)
    assert seen == []


def outcome(function: Any, x: Any, *rest: Any) -> Any:
    """What a call returns, or the exception that it raises."""
    try:
        return function(x.clone(), *rest).tolist()
    except (ValueError, AssertionError) as error:
        return type(error)


def texts(things: Any) -> list[str]:
    """Tensors and numbers as text."""
    return [str(thing.tolist() if hasattr(thing, "tolist") else thing) for thing in things]


def same_notes(function: Any, *inputs: Any) -> None:
    """A list that is filled holds the same after each call, whether it raises or not."""
    static = d2s.to_static(function)
    for x in inputs * 2:
        mine: list[Any] = []
        other: list[Any] = []
        assert outcome(static, x, other) == outcome(function, x, mine)
        assert texts(other) == texts(mine)


LOW = tensor(-2.0, 1.0)


def test_changes_before_an_exception_stay() -> None:
    """F3: of a list of the caller's: always, on some paths, in a loop."""

    def f(x, notes):
        notes.append("in")
        notes.append(x * 2)
        if x.min() < 0:
            notes.append("negative")
            raise ValueError("negative")
        notes.append("out")
        return x

    def g(x, notes):
        if x.sum() > 0:
            notes.append("positive")
        notes.append("then")
        if x[0] < -1:
            notes.append("low")
            raise ValueError("low")
        if x[0] < 0:
            raise ValueError("negative")
        return x

    def h(x, notes):
        i = paddle.zeros([])
        while i < 3:
            notes.append(i * 2)
            assert x[0] > i - 2.5
            i = i + 1
        return x

    def always(x, notes):
        notes.append(x)
        raise ValueError("always")

    for function in (f, g, h, always):
        same_notes(function, PLUS, MINUS, LOW)


def test_a_list_of_the_caller_that_grows_on_one_path() -> None:
    """G1: by an append on one side of a branch, in a loop too."""

    def f(x, notes):
        if x.sum() > 0:
            notes.append(1.0)
        if x[1] > 0:
            notes.append(2.0)
        else:
            notes.append(3.0)
            notes.append(4.0)
        return x

    def g(x, notes):
        if x.sum() > 0:
            notes.append(1.0)
        i = paddle.zeros([])
        while i < 2:
            notes.append(float(i))
            i = i + 1
        return x

    def rebound(x, notes):
        if x.sum() > 0:
            notes.append("old")
        notes = notes + ["new"]  # noqa: RUF005
        if x[1] > 0:
            notes.append("newer")
        return x

    for function in (f, g, rebound):
        same_notes(function, PLUS, MINUS, LOW)


def test_a_dict_of_the_caller_that_gets_a_key_on_one_path() -> None:
    """G1: also when an exception follows."""

    def f(x, seen):
        if x.sum() > 0:
            seen["sum"] = x.sum()
        if x[0] < -1:
            seen["low"] = 1
            raise ValueError("low")
        return x

    static = d2s.to_static(f)
    for x in (PLUS, MINUS, LOW):
        mine: dict[str, Any] = {}
        other: dict[str, Any] = {}
        assert outcome(static, x, other) == outcome(f, x, mine)
        assert list(other) == list(mine)
        assert texts(other.values()) == texts(mine.values())


def test_a_list_of_unlike_items_that_has_two_lengths_before_a_loop() -> None:
    """G1: refused, not forgotten."""

    def f(x, notes):
        if x.sum() > 0:
            notes.append("one")
        i = paddle.zeros([])
        while i < 2:
            notes.append("more")
            i = i + 1
        return x

    with pytest.raises(d2s.D2SError, match=r"D2S20[27]"):
        d2s.to_static(f)(PLUS, [])


def test_attributes_and_buffers_changed_before_an_exception() -> None:
    """F3: they stay changed, and what follows the exception does not happen."""

    class Counts(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.register_buffer("total", paddle.zeros([2]))

        def forward(self, x):
            self.calls += 1
            self.total = self.total + x
            assert x.min() > 0, "negative"
            self.calls += 10
            return x

    mine, other = Counts(), d2s.to_static(Counts())
    for x in (PLUS, MINUS, PLUS, LOW, PLUS):
        assert outcome(other, x) == outcome(mine, x)
        assert other.calls == mine.calls
        assert other.total.tolist() == mine.total.tolist()


def test_an_argument_changed_in_place_before_an_exception() -> None:
    """G1: the caller's tensor has the new contents."""

    def f(x):
        x.add_(paddle.ones([2]))
        if x.min() < 0:
            raise ValueError("negative")
        return x

    static = d2s.to_static(f)
    for given in (PLUS, MINUS, LOW):
        x, y = given.clone(), given.clone()
        for function, own in ((f, x), (static, y)):
            with contextlib.suppress(ValueError):
                function(own)
        assert y.tolist() == x.tolist()


@dataclasses.dataclass
class Account:
    balance: Any
    notes: Any


def test_arguments_are_changed_for_the_caller() -> None:
    """G1: lists, dicts and data classes, nested, on every run."""

    def f(x, record, items, account):
        record["mean"] = x.mean()
        record["inner"]["seen"] = True
        items.append(x * 2)
        if x.sum() > 0:
            items[0] = x
            account.balance = account.balance + 1
        account.notes.append("called")
        return x

    static = d2s.to_static(f)
    for given, balance in ((PLUS, 1.0), (MINUS, 0.0), (PLUS, 1.0)):
        inner: dict[str, Any] = {}
        items = [PLUS.clone()]
        account = Account(paddle.zeros([]), [])
        static(given, {"inner": inner}, items, account)
        assert inner == {"seen": True}
        assert len(items) == 2
        assert items[1].tolist() == (given * 2).tolist()
        assert account.balance.item() == balance
        assert account.notes == ["called"]
    assert len(static.programs) == 1


def test_the_argument_itself_is_returned() -> None:
    """G1: a list that comes in and goes out is one list."""

    def f(items):
        items.append(items[0] * 2)
        return items

    items = [PLUS]
    assert d2s.to_static(f)(items) is items
    assert len(items) == 2


def test_one_tensor_for_two_arguments() -> None:
    """G2: identity is part of the key."""

    def f(a, b):
        return a * 2 if a is b else a + b

    static = d2s.to_static(f)
    other = PLUS.clone()
    assert static(PLUS, other).tolist() == [2.0, 4.0]
    assert static(other, other).tolist() == [2.0, 4.0]
    assert len(static.programs) == 2
    assert static(PLUS, MINUS).tolist() == [0.0, 0.0]
    assert len(static.programs) == 2


def test_empty_containers_differ_in_the_key() -> None:
    """G2: an empty list is no empty tuple."""

    def f(x, things):
        return x * 2 if isinstance(things, list) else x

    assert_same(f, (PLUS, []), (PLUS, ()), (PLUS, {}))


def test_python_values_in_containers_outside_are_guarded() -> None:
    """G2: lists, dicts and objects that the function names."""
    weights = [1.0, 2.0]
    options = {"scale": 1.0}
    config = types.SimpleNamespace(power=1)

    def f(x):
        if x.sum() > 0:
            x = x * options["scale"]
        return x**config.power * sum(weights)

    static = d2s.to_static(f)
    assert static(PLUS).tolist() == [3.0, 6.0]
    weights[1] = 4.0
    assert static(PLUS).tolist() == [5.0, 10.0]
    options["scale"] = 2.0
    assert static(PLUS).tolist() == [10.0, 20.0]
    config.power = 2
    assert static(PLUS).tolist() == [20.0, 80.0]
    weights.append(1.0)
    assert static(PLUS).tolist() == [24.0, 96.0]
    weights[1:] = [4.0]
    assert static(PLUS).tolist() == [20.0, 80.0]
    assert len(static.programs) == 5


def test_a_layer_or_function_that_is_replaced_is_seen() -> None:
    """G2: what a name means is read on every call."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.head = paddle.nn.Linear(2, 2)

        def forward(self, x):
            return self.head(x)

    net = Net()
    static = d2s.to_static(net)
    static(PLUS)
    net.head = paddle.nn.Linear(2, 3)
    assert static(PLUS).tolist() == net.head(PLUS).tolist()

    def twice(x):
        return x * 2

    def thrice(x):
        return x * 3

    used = twice

    def f(x):
        return used(x)

    converted = d2s.to_static(f)
    assert converted(PLUS).tolist() == [2.0, 4.0]
    used = thrice
    assert converted(PLUS).tolist() == [3.0, 6.0]


def test_tensors_in_a_list_outside_are_read_on_each_run() -> None:
    """G2: one program, with the tensors that are there now."""
    anchors = [tensor(1.0, 1.0)]

    def f(x):
        return x + anchors[0]

    static = d2s.to_static(f)
    assert static(PLUS).tolist() == [2.0, 3.0]
    anchors[0] = tensor(5.0, 5.0)
    assert static(PLUS).tolist() == [6.0, 7.0]
    assert len(static.programs) == 1


class Mean:
    """A plain object that methods change."""

    def __init__(self) -> None:
        self.total = paddle.zeros([2])
        self.items: list[Any] = []

    def add(self, x: Any) -> None:
        self.total = self.total + x
        self.items.append(x)


def test_methods_that_change_an_object_in_a_branch_and_a_loop() -> None:
    """F3: nobody names the attribute where it is changed."""

    def f(x, n):
        mean = Mean()
        if x.sum() > 0:
            mean.add(x)
        else:
            mean.add(x * 2)
        for _ in range(n):
            x = x * 0.5
            mean.total = mean.total + x
        return mean.total, mean.items[0]

    assert_same(f, *[(x, paddle.to_tensor(n)) for x in (PLUS, MINUS) for n in (0, 2)])


def test_a_nested_function_changes_variables_in_a_branch() -> None:
    """F3: ``nonlocal`` in a function that the branch calls."""

    def f(x):
        count, total = 0, x * 0

        def add(v):
            nonlocal count, total
            count += 1
            total = total + v

        if x.sum() > 0:
            add(x)
        else:
            add(-x)
            add(x * x)
        return total, count

    assert_same(f, PLUS, MINUS)


def test_text_of_tensors_is_returned() -> None:
    """F1: the host formats it with the tensors of the run."""

    def f(x):
        word = "high" if x.sum() > 0 else "low"
        return f"{word}: {x.sum():.2f}"

    assert_same(f, PLUS, MINUS, grad=False)


def test_a_coded_error_of_the_backward_reaches_the_user(monkeypatch) -> None:
    """G3: as itself, not as the ``OSError`` that Paddle makes of what a ``PyLayer`` raises."""

    def f(x, n):
        for _ in range(n):
            x = x * 2
        return x

    def refuse(*arguments: Any, **_: Any) -> Any:
        raise LoopGradientError("not this one", cure="another", file="user.py", line=3)

    static = d2s.to_static(f)
    x = PLUS.clone()
    x.stop_gradient = False
    loss = static(x, paddle.to_tensor(2)).sum()
    (entry,) = static._programs.entries
    monkeypatch.setattr(entry.runner.program, "gradients", refuse)
    with pytest.raises(LoopGradientError, match=r"user\.py:3: not this one"):
        loss.backward()


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_the_order_of_the_keys_of_a_dict_outside(kind: Any) -> None:
    """F4: a key that is taken out and put in again stands last on each run."""

    def outer() -> Any:
        store = kind(a=paddle.ones([]), b=paddle.ones([]) * 2, c=paddle.ones([]) * 3)

        def f(x):
            if kind is dict:
                store["a"] = store.pop("a")
            else:
                store.move_to_end("a")
            y = x + store["a"]
            store["d"] = y
            return y

        return f, store

    (plain, first), (static, second) = outer(), outer()
    static = d2s.to_static(static)
    for start in (1.0, 2.0, 3.0, 4.0):
        x = paddle.to_tensor(start)
        assert static(x).item() == plain(x).item()
        assert list(second) == list(first)
        assert [value.item() for value in second.values()] == [
            value.item() for value in first.values()
        ]
    assert len(static.programs) <= 3


class Reset:
    """An attribute that is read, and then assigned a constant."""

    def __init__(self) -> None:
        self.h = 1.0

    def go(self, x: Any) -> Any:
        y = x * self.h
        self.h = 7.0
        return y


@pytest.mark.parametrize("between", [(None, None, None, 2.0), (None, None, 2.0, None), (3.0, None)])
def test_a_constant_assigned_to_a_number_that_is_an_input(between: Any) -> None:
    """F1: it was left out where the number was that very object when the program was captured."""

    def calls(convert: Any) -> list[tuple[float, float]]:
        thing, seen = Reset(), []
        go = convert(thing.go)
        for number in between:
            thing.h = thing.h if number is None else number
            seen.append((float(go(paddle.ones([]))), thing.h))
        return seen

    assert calls(d2s.to_static) == calls(lambda function: function)
