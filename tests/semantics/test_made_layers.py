"""Layers and buffers that a converted function makes (rules F3, F4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle import nn

import d2s
from tests.helpers import tensor

X = tensor(1.0, 2.0, 3.0)


class Table(nn.Layer):
    """Tensors as an attribute, a buffer, or in a container."""

    def __init__(self, how: str, x: Any) -> None:
        super().__init__()
        rows = paddle.arange(3).astype("float32") + x.sum()
        self.kept: Any = None
        if how == "attribute":
            self.rows = rows
        elif how == "buffer":
            self.register_buffer("rows", rows, persistable=False)
        else:
            self.kept = {"rows": rows}

    def forward(self, x: Any) -> Any:
        return x * (self.kept["rows"] if self.kept else self.rows)


class Cached(nn.Layer):
    """Makes a table on the first call, and keeps it."""

    def __init__(self, how: str, place: Callable[[], Any]) -> None:
        super().__init__()
        self.how = how
        self.tables = place()

    def forward(self, x: Any) -> Any:
        if "all" not in self.tables:
            self.tables["all"] = Table(self.how, x)
        return self.tables["all"](x)


@pytest.mark.parametrize("how", ["attribute", "buffer", "container"])
@pytest.mark.parametrize("place", [dict, nn.LayerDict])
def test_a_layer_with_tensors_that_is_kept(how: str, place: Callable[[], Any]) -> None:
    """F3: it is made once, of the first argument, and no value of the program is left in it."""
    plain, model = Cached(how, place), Cached(how, place)
    converted = d2s.to_static(model)
    for number in (1, 2, 3):
        assert converted(X * number).tolist() == plain(X * number).tolist()
        mine, theirs = model.tables["all"], plain.tables["all"]
        assert [each.tolist() for each in mine.buffers()] == [
            each.tolist() for each in theirs.buffers()
        ]


class Anew(nn.Layer):
    """Makes a table on each call, and keeps the last one."""

    def forward(self, x: Any) -> Any:
        self.table = Table("attribute", x)
        return self.table(x)


def test_a_layer_with_tensors_that_every_call_makes_and_keeps() -> None:
    """F3: each call is dygraph's."""
    plain, model = Anew(), Anew()
    converted = d2s.to_static(model)
    for number in (1, 2, 3):
        assert converted(X * number).tolist() == plain(X * number).tolist()
        assert model.table.rows.tolist() == plain.table.rows.tolist()


@pytest.mark.parametrize("how", ["attribute", "buffer", "container"])
def test_a_layer_that_is_used_and_forgotten(how: str) -> None:
    """F3: nobody sees it afterwards."""

    def f(x):
        return Table(how, x)(x) + 1

    converted = d2s.to_static(f)
    for x in (X, X * 2):
        assert converted(x).tolist() == f(x).tolist()


class Lazily(nn.Layer):
    """Sublayers without tensors, made on the first call or on every one."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.LayerDict()
        self.made = 0

    def forward(self, x: Any) -> Any:
        if "act" not in self.parts:
            self.parts["act"] = nn.ReLU()
            self.made += 1
        self.last = nn.Tanh()
        return self.last(self.parts["act"](x - 2))


def test_sublayers_without_tensors() -> None:
    """F4: they are there after a run, as in dygraph."""
    plain, model = Lazily(), Lazily()
    converted = d2s.to_static(model)
    for _ in range(3):
        assert converted(X).tolist() == plain(X).tolist()
        names = [name for name, _ in model.named_sublayers()]
        assert names == [name for name, _ in plain.named_sublayers()]
        assert model.made == plain.made


class Buffers(nn.Layer):
    """Registers buffers in its forward: once, and on every call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", paddle.zeros([1]))

    def forward(self, x: Any) -> Any:
        if not hasattr(self, "table"):
            self.register_buffer("table", paddle.arange(3) + x.sum(), persistable=False)
        self.register_buffer("seen", self.seen + 1)
        self.register_buffer("last", tensor=x * 2)
        return x * self.table + self.seen


def test_buffers_are_registered_on_each_run() -> None:
    """F3: the value, the names, and which of them a checkpoint holds."""
    plain, model = Buffers(), Buffers()
    converted = d2s.to_static(model)
    for number in (1, 2, 3):
        assert converted(X * number).tolist() == plain(X * number).tolist()
        mine = {name: kept.tolist() for name, kept in model.named_buffers()}
        assert mine == {name: kept.tolist() for name, kept in plain.named_buffers()}
        assert list(model.state_dict()) == list(plain.state_dict())


def test_a_buffer_with_a_bad_name_is_refused_as_in_dygraph() -> None:
    class Bad(nn.Layer):
        def forward(self, x: Any) -> Any:
            self.register_buffer("a.b", x * 2)
            return x

    for model in (Bad(), d2s.to_static(Bad())):
        with pytest.raises(KeyError, match="can not contain"):
            model(X)


def test_every_tensor_has_a_name() -> None:
    """A1: Paddle has none for most values of a program; models keep lists of them."""

    def f(x):
        y = x * 2
        names = [y.name, y.name, (y + 1).name]
        return y, len(set(names)), all(isinstance(name, str) for name in names)

    got = d2s.to_static(f)(X)
    assert got[1:] == f(X)[1:] == (2, True)
