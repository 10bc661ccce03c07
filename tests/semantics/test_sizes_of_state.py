"""State whose sizes the function itself changes is an input of one program (G2, F3, F4)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from tests.helpers import tensor


class State(paddle.nn.Layer):
    """Keeps tensors in attributes, a dict, a list and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: Any = None
        self.length: Any = None
        self.table: dict[str, Any] = {"k": paddle.zeros([1, 1])}
        self.rows: list[Any] = [paddle.zeros([1, 1]), paddle.ones([2])]
        self.register_buffer("buffer", paddle.zeros([1, 1]), persistable=False)

    def facts(self) -> list[Any]:
        """All of it, as what can be compared."""
        held = [self.kept, self.length, *self.table.values(), *self.rows, self.buffer]
        return [
            (each.numpy().tolist(), str(each.dtype), each.stop_gradient)
            if isinstance(each, paddle.Tensor)
            else each
            for each in held
        ]


class Rotary(State):
    def forward(self, x: Any) -> Any:
        n = x.shape[1]
        if n != self.length:
            self.length = n
            self.kept = paddle.cos(paddle.arange(n).astype("float32"))
        return x * self.kept


class Inside(State):
    """The same in a layer whose tables are reached by several ways."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Rotary()

    def facts(self) -> list[Any]:
        return self.inner.facts()

    def forward(self, x: Any) -> Any:
        return self.inner(x) * len([name for name in ("n", "m") if not hasattr(self.inner, name)])


class Tables(State):
    def forward(self, x: Any) -> Any:
        y = x + self.buffer.sum() + len(self._buffers)
        self.buffer = x * 2
        return y


class Cache(State):
    def forward(self, x: Any) -> Any:
        self.kept = x if self.kept is None else paddle.concat([self.kept, x], 1)
        return self.kept.sum(1, keepdim=True) * x


class InADict(State):
    def forward(self, x: Any) -> Any:
        y = x + self.table["k"].sum()
        self.table["k"] = x * 2
        return y


class InAList(State):
    def forward(self, x: Any) -> Any:
        y = x + self.rows[0].sum() + self.rows[1].sum()
        self.rows[0] = x * 2
        return y


class InABuffer(State):
    def forward(self, x: Any) -> Any:
        y = x + self.buffer.sum()
        self.buffer = x * 2
        return y


class InABranch(State):
    def forward(self, x: Any) -> Any:
        y = x + self.buffer.sum()
        if x.sum() > 0:
            self.buffer = paddle.concat([x, x], 1)
        return y


class InALoop(State):
    def forward(self, x: Any) -> Any:
        i = paddle.zeros([], "int64")
        while i < x.shape[1]:
            self.buffer = paddle.concat([x, x[:, :1]], 1) + self.buffer.mean()
            i += 1
        return x * self.buffer.shape[1]


class Returned(State):
    def forward(self, x: Any) -> Any:
        before = self.buffer
        self.buffer = x * 2
        return before + 1, before


class WrittenInto(State):
    def forward(self, x: Any) -> Any:
        self.buffer.add_(paddle.to_tensor(1.0))
        y = x + self.buffer.sum()
        self.buffer = x * 2
        return y


class Ranks(State):
    def forward(self, x: Any) -> Any:
        y = x + self.buffer.sum()
        self.buffer = x.sum() if self.buffer.ndim == 2 and self.buffer.shape[1] == 4 else x * 2
        return y


SIZES = ((2, 3), (2, 4), (2, 5), (2, 5), (3, 6), (3, 4), (3, 3), (1, 3), (2, 1), (2, 7), (2, 8))

KINDS = [
    Rotary,
    Inside,
    Tables,
    InADict,
    InAList,
    InABuffer,
    InABranch,
    InALoop,
    Returned,
    WrittenInto,
    Ranks,
]


def outcome(layer: Any, x: Any) -> Any:
    found = layer(x)
    found = found if isinstance(found, tuple) else (found,)
    return [each.numpy().tolist() for each in found], layer.facts()


def numbered(sizes: Any) -> list[Any]:
    paddle.seed(5)
    return [paddle.randint(-3, 4, size).astype("float32") for size in sizes]


def compare(kind: type[State], inputs: list[Any], **options: Any) -> Any:
    plain, made = kind(), kind()
    static = d2s.to_static(made, full_graph=True, **options)
    for x in inputs:
        assert outcome(plain, x.clone()) == outcome(static, x.clone())
    return static.forward


@pytest.mark.sampled(3, also=["Tables-spec", "Returned-spec"])
@pytest.mark.parametrize("spec", [None, [InputSpec([None, None])]], ids=["free", "spec"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_state_of_other_sizes(kind: type[State], spec: Any) -> None:
    """F3: the result, and what is left, is dygraph's whatever sizes come in turn."""
    compare(kind, numbered(SIZES), input_spec=spec)


@pytest.mark.parametrize("kind", KINDS[:-1], ids=lambda kind: kind.__name__)
def test_state_of_other_sizes_settles(kind: type[State]) -> None:
    """G2: sizes that the function itself has left are no reason for one more program."""
    sizes = [(rows, size) for size in (3, 4, 6, 5, 8) for rows in (2, 3)]
    function = compare(kind, numbered(sizes), input_spec=[InputSpec([None, None])])
    before = len(function.programs)
    assert before < 6
    for x in numbered([(rows, size) for size in (9, 3, 7, 12) for rows in (4, 2)]):
        function(x)
    assert len(function.programs) == before


def test_a_cache_in_an_attribute_is_one_program() -> None:
    """G2: a cache that grows by each call was a program for each length."""
    function = compare(Cache, numbered([(2, 3), *[(2, 1)] * 9]))
    assert [each.runs for each in function.programs] == [1, 1, 1, 7]


def test_a_size_that_is_set_once_stays() -> None:
    """G2: what the first call finds of another size is no input: each run leaves the same one."""

    class Steps(State):
        def forward(self, x: Any) -> Any:
            self.buffer = paddle.arange(4, dtype="float32") + self.buffer.sum() * 0
            return x * self.buffer.mean()

    function = compare(Steps, numbered([(2, 3)] * 5))
    assert [each.runs for each in function.programs] == [1, 4]
    assert "buffer: float32" not in str(function.programs[-1])


def test_one_tensor_at_two_places_that_change() -> None:
    """B4: a change in place is seen at the other place."""

    class Twice(State):
        def forward(self, x: Any) -> Any:
            self.rows[0].add_(tensor(1.0))
            y = x + self.buffer.sum() + self.rows[0].sum()
            self.buffer = self.rows[0] = x * 2
            return y

    class Same(State):
        def forward(self, x: Any) -> Any:
            y = x * 2 if self.buffer is self.rows[0] else x
            self.buffer = x * 3
            self.rows[0] = self.buffer if self.length else x * 3
            return y

    class SameLater(Same):
        length = 1

    inputs = numbered([(2, 3), (2, 4), (2, 5), (2, 6), (2, 7)])
    for kind in (Twice, Same, SameLater):
        compare(kind, inputs)


def test_a_tensor_put_there_from_outside() -> None:
    """G2: another dtype, rank, or gradient is another program."""
    plain, made = InABuffer(), InABuffer()
    static = d2s.to_static(made, full_graph=True)
    for x in numbered([(2, 3), (2, 4), (2, 5)]):
        assert outcome(plain, x) == outcome(static, x)
    x = tensor([[1.0, 2.0]])
    weight = paddle.ones([2, 3])
    weight.stop_gradient = False
    strided = paddle.ones([4, 3]).t()
    for put in (paddle.ones([2, 3], "float64"), paddle.ones([3]), weight, strided, x):
        for layer in (plain, made):
            layer.buffer = put
        assert outcome(plain, x) == outcome(static, x)
    for layer in (plain, made):
        layer.buffer = weight * 1
    first, second = plain(x), static(x)
    first.sum().backward()
    gradient = weight.grad.numpy().tolist()
    weight.clear_grad()
    second.sum().backward()
    assert weight.grad.numpy().tolist() == gradient


def test_what_does_not_go_with_open_sizes_keeps_them() -> None:
    """G2: then there is a program for each size; numbers are inputs all the same."""

    class Unrolled(State):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            names = {str(size): size for size in self.buffer.shape}
            y = x * self.calls
            for size in names.values():
                y = y + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0][size]
            self.buffer = x * 2
            return y

    function = compare(Unrolled, numbered([(2, 3), (2, 4), (2, 5), (2, 5), (2, 5), (2, 5)]))
    assert function.programs[-1].runs > 1
