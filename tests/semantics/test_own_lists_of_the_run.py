"""Lists, deques, dicts and sets of the user's own classes whose length a tensor decides (B4, D1).

Methods and properties that the class has besides are called for them; where it has one in the place
of Python's, or attributes, or calls ``super()``, a program refuses it, and dygraph runs.
"""

from __future__ import annotations

import collections
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, tensor

CALLS = (tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(3.0, 4.0, 5.0))


class Stack(list):
    most = 3

    def push(self, x: Any) -> Stack:
        self.append(x)
        return self

    def top(self) -> Any:
        return self[-1]

    def is_full(self) -> Any:
        return len(self) >= self.most

    @property
    def size(self) -> Any:
        return len(self)

    @staticmethod
    def twice(x: Any) -> Any:
        return x * 2

    @classmethod
    def start(cls, x: Any) -> Stack:
        return cls([x])

    def mean(self) -> Any:
        return sum(self) / len(self) if len(self) > 0 else 0.0

    def dropped(self) -> Any:
        return self.pop() if self else None

    def bigger(self, than: float) -> Any:
        return [item for item in self if item.sum() > than]


class Window(collections.deque):
    def put(self, x: Any) -> None:
        self.append(x)

    @property
    def mean(self) -> Any:
        return sum(self) / len(self)


class Log(dict):
    def put(self, key: Any, x: Any) -> None:
        self[key] = x

    def whole(self) -> Any:
        return sum(self.values())


class Marks(set):
    def note(self, mark: Any) -> None:
        self.add(mark)


def _grown(x: Any) -> Any:
    stack = Stack()
    while x.sum() < 10:
        x = x + 1
        stack.push(x)
    return stack


READS = {
    "methods": lambda stack: (stack.is_full(), stack.mean(), len(stack.bigger(5.0))),
    "a property and a constant": lambda stack: (stack.size, stack.most),
    "methods without it": lambda stack: (stack.twice(3), len(stack.start(1.0))),
    "a method that returns it": lambda stack: stack.push(tensor(1.0, 1.0, 1.0)).size,
    "a method that shortens it": lambda stack: (stack.dropped(), len(stack)),
    "its class": lambda stack: (type(stack) is Stack, isinstance(stack, Stack), type(stack)),
    "parts are lists": lambda stack: (
        *(type(part) is list for part in (stack[1:], stack[::2], stack.copy(), stack * 2)),
        *(type(part) is list for part in (list(stack), stack + stack, sorted(stack, key=sum))),
    ),
    "itself": lambda stack: stack,
}


@pytest.mark.parametrize("read", READS)
def test_what_a_class_has_besides(read: str) -> None:
    """D1: methods, properties and constants of a class derived from ``list``."""

    def function(x: Any) -> Any:
        stack = _grown(x)
        return READS[read](stack), x

    assert_same(function, *CALLS)


def _window(x: Any) -> Any:
    window = Window(maxlen=2)
    for value in x[x > -2]:
        window.put(value)
    return window.mean, len(window), type(window) is Window


def _log(x: Any) -> Any:
    log = Log()
    for index, value in enumerate(x[x > 0]):
        log.put(index, value)
    return log.whole(), len(log), type(log) is Log


def _marks(x: Any) -> Any:
    marks = Marks()
    while x.sum() < 10:
        x = x + 1
        marks.note(int(x[0]) % 2)
    return len(marks), 0 in marks, x


def _under_a_branch(x: Any) -> Any:
    stack = Stack([x])
    while x.sum() < 10:
        x = x + stack.top() * 0 + 1
        if x[0] > 1:
            stack.push(x)
        else:
            stack.push(-x)
    return stack.top(), stack.size


def _attribute(x: Any) -> Any:
    class Machine:
        def __init__(self) -> None:
            self.stack = Stack()

        def run(self, x: Any) -> Any:
            while x.sum() < 10:
                x = x + 1
                self.stack.push(x)
            return self.stack.size

    return Machine().run(x), x


@pytest.mark.parametrize(
    "function",
    [_window, _log, _marks, _under_a_branch, _attribute],
    ids=lambda function: function.__name__,
)
def test_kinds_and_places(function: Any) -> None:
    """D1: deques, dicts and sets; branches in loops, and attributes."""
    assert_same(function, *CALLS)


def test_the_state_of_a_function() -> None:
    """B4: a stack of the caller's grows from call to call."""
    held = {}
    for name, convert in (("dygraph", lambda f: f), ("static", d2s.to_static)):
        stack = Stack()

        @convert
        def function(x: Any, stack: Stack = stack) -> Any:
            for value in x[x > 0]:
                stack.push(value)
            return stack.size

        held[name] = [int(function(x)) for x in CALLS], [float(item) for item in stack]
    assert held["dygraph"] == held["static"]


class Doubling(list):
    def append(self, x: Any) -> None:
        super().append(x * 2)


class Far(list):
    def __len__(self) -> int:
        return super().__len__() + 100


class Halves(list):
    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index) / 2


class Doubled(dict):
    def __setitem__(self, key: Any, x: Any) -> None:
        super().__setitem__(key, x * 2)


class Tripling(collections.deque):
    def append(self, x: Any) -> None:
        super().append(x * 3)


class Counting(list):
    def put(self, x: Any) -> None:
        self.append(x)
        self.count_of = len(self)


class Tagged(list):
    def __init__(self, name: str = "a") -> None:
        super().__init__()
        self.name = name


class Through(list):
    def put(self, x: Any) -> None:
        super().append(x)


def _put(items: Any, index: Any, x: Any) -> None:
    if isinstance(items, dict):
        items[index] = x
    elif hasattr(type(items), "put"):
        items.put(x)
    else:
        items.append(x)


@pytest.mark.parametrize(
    "kind",
    [Doubling, Far, Halves, Doubled, Tripling, Counting, Tagged, Through],
    ids=lambda kind: kind.__name__,
)
def test_what_a_class_has_in_the_place_of_pythons(kind: Any) -> None:
    """B4: a class that does otherwise than Python's is refused with a code, or dygraph runs it."""

    def function(x: Any) -> Any:
        items = kind()
        for index, value in enumerate(x[x > 0]):
            _put(items, index, value)
        return items, len(items), getattr(items, "name", None), items[0]

    assert_same(function, *CALLS, static=d2s.to_static(function, full_graph=False))
    with pytest.raises(ContainerInGraphError, match=f"{kind.__name__}|count_of") as caught:
        d2s.to_static(function, full_graph=True)(CALLS[0])
    assert caught.value.code == "D2S207"
    assert paddle.in_dynamic_mode()
