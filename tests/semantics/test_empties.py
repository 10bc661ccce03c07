"""Tensors without elements that leave branches and loops (rules B1, C1, C7, E4).

Paddle 3.3 keeps the contents of an earlier run for a value without elements that leaves a block.
"""

# ruff: noqa: B007 - the functions are written as users write

from __future__ import annotations

import collections

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s import paddle_bridge as bridge
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
SIGNS = [(X, scalar(value)) for value in (1.0, -1.0, 5.0, -9.0, 1.0, 2.0)]
"""Each side in turn, so that what an earlier run has left would be seen."""


@pytest.mark.parametrize(
    "body",
    [
        "y = x[:0] if s > 0 else x; return y",
        "y = x\n    if s > 0: y = x[3:]\n    return y * 2, y.sum(), y.shape[0]",
        "y = x[:0]\n    if s > 0: y = y * 2\n    return y",
        "y = x[:0]\n    if s > 0: y = x[1:]\n    else: y = y + 1\n    return y",
        "i = paddle.nonzero(x > s).flatten()\n    if s > 0: i = i + 1\n    return i",
        "y = x.reshape([1, -1])\n    if s > 3: y = y[:0]\n"
        "    elif s > 0: y = y[:, :0]\n    else: y = y[:0, 1:1]\n    return y, y.shape",
        "if s > 0: return x[:0]\n    return x[paddle.nonzero(x > 9).flatten()]",
        "b = None\n    if s > 0: b = x[:0]\n    return b",
        "k = {'v': x}\n    if s > 0: k['v'] = x[:0]\n    return k",
    ],
)
def test_out_of_a_branch(body: str) -> None:
    """B1: the side that was taken gives the contents and the shape, on every run."""
    assert_same(function_of(f"def f(x, s):\n    {body.replace('; ', chr(10) + '    ')}"), *SIGNS)


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16"),
        *("float32", "float64", "complex64", "complex128"),
    ],
)
def test_every_dtype(dtype: str) -> None:
    """B1: whatever the tensor holds."""
    source = f"def f(x, s):\n    y = x.astype('{dtype}')\n    if s > 0: y = y[:0]\n    return y"
    assert_same(function_of(source), *SIGNS, grad=False)


@pytest.mark.parametrize(
    "body",
    [
        "while y.shape[0] > 0:\n        t = t + y[0]\n        y = y[1:]",
        "i = paddle.zeros([], 'int64')\n    while i < 4:\n        y = y[1:]\n        i = i + 1",
        "i = paddle.zeros([], 'int64')\n    while i < 2:\n        y = y[:0]\n        i = i + 1\n"
        "    while i < 4:\n        y = paddle.concat([y, x])\n        i = i + 1",
        "i = paddle.zeros([], 'int64')\n    while i < 5:\n        if i % 2 == 0: y = x[:0]\n"
        "        else: y = x * i\n        t = t + y.sum() + y.shape[0]\n        i = i + 1",
    ],
)
def test_through_a_loop(body: str) -> None:
    """C1: a loop variable may become empty, and get elements again."""
    source = f"def f(x, s):\n    y, t = x, s\n    {body}\n    return y, t, y * 2"
    assert_same(function_of(source), *SIGNS)


@pytest.mark.parametrize(
    "body",
    [
        "if s > 0: z = y * 2\n    else: z = y * 3 + x.sum()\n    return z.sum() + x.sum()",
        "z = x.sum()\n    i = paddle.zeros([], 'int64')\n    while i < 2:\n"
        "        if s > 1: z = z + (y * y).sum() * x[1]\n        else: z = z + y.sum()\n"
        "        i = i + 1\n    return z",
    ],
)
def test_gradient_of_what_a_block_reads(body: str) -> None:
    """C7: of a tensor without elements, made outside of the block that reads it."""
    source = f"def f(x, s):\n    y = paddle.masked_select(x, x > s)\n    {body}"
    assert_same(function_of(source), *SIGNS)


def test_an_open_dimension_of_an_argument_costs_nothing() -> None:
    """B1: elements of the argument are there, so nothing is padded."""

    @d2s.to_static(input_spec=[InputSpec([None, 3], stop_gradient=False)])
    def f(x):
        h = paddle.zeros([x.shape[0], 3])
        for i in range(paddle.to_tensor(3)):
            if x.sum() > 0:
                h = paddle.tanh(h + x)
        return h[:, 0]

    f(paddle.ones([2, 3]))
    names = {operation.name() for operation in bridge.operations(f.programs[0].program)}
    assert "pd_op.pad" not in names


def _counts(static: object) -> collections.Counter[str]:
    program = static.programs[0].program  # type: ignore[attr-defined]
    return collections.Counter(each.name()[6:] for each in bridge.operations(program))


def test_only_what_may_be_empty_is_padded() -> None:
    """C1: one variable of a loop may become empty; the others cost nothing for it."""

    @d2s.to_static(input_spec=[InputSpec([None, 3]), InputSpec([], "int64")])
    def f(x, n):
        rest, grown = x, x
        h = paddle.zeros([x.shape[0], 3])
        i = paddle.zeros([], "int64")
        while i < n:
            rest = rest[1:]
            grown = paddle.concat([grown, x])
            h = h + x
            i = i + 1
        return rest, grown, h

    x = paddle.rand([2, 3])
    for n in (0, 1, 2, 3):
        got = f(x, paddle.to_tensor(n))
        want = x[n:], paddle.concat([x] * (n + 1)), x * n
        assert all(
            a.shape == b.shape and paddle.allclose(a, b) for a, b in zip(got, want, strict=True)
        )
    assert _counts(f)["pad"] == 2  # before the loop, and at the end of a trip


def test_sizes_that_are_positive_cost_nothing() -> None:
    """C1, E4: the words of a decoder have places, counted from those that were there before."""

    @d2s.to_static(input_spec=[InputSpec([None, None], "int64"), InputSpec([], "int64")])
    def f(ids, n):
        table = paddle.arange(64).astype("float32")
        cache, i = table[ids], paddle.zeros([], "int64")
        while i < n:
            past = cache.shape[1]
            places = paddle.arange(past, past + 1).expand([ids.shape[0], -1])
            new = table[ids[:, -1:] + places]
            if new.sum() > 9:
                new = new + 1
            cache = paddle.concat([cache, new], axis=1)
            i = i + 1
        return cache

    def plain(ids, n):
        table = paddle.arange(64).astype("float32")
        cache = table[ids]
        for _ in range(n):
            new = table[ids[:, -1:] + cache.shape[1]]
            cache = paddle.concat([cache, new + 1 if new.sum() > 9 else new], axis=1)
        return cache

    ids = paddle.to_tensor([[1, 2, 3], [2, 0, 1]])
    for given, n in ((ids, 4), (ids[:1, :2], 3), (ids, 0)):
        got, want = f(given, paddle.to_tensor(n)), plain(given, n)
        assert got.shape == want.shape
        assert paddle.allclose(got, want)
    assert not _counts(f)["pad"]


@pytest.mark.parametrize(
    "body",
    [
        "t = t + y.sum(); y = z; z = z[1:]",
        "t = y.sum()\n        if i == 1: z = y[:0]\n        y = paddle.concat([z, y])",
        "if t > 3: y = z\n        else: y, z = z, y[1:]\n        t = t + y.sum()",
        "if i > 0: y = y[:0] if t > 0 else y * 2\n        t = t - z.sum()",
    ],
)
def test_from_one_variable_to_another(body: str) -> None:
    """C1: emptiness goes on through other variables, and through branches that only hand on."""
    source = (
        "def f(x, s):\n    y, z, t = x, x * 2, s\n    i = paddle.zeros([], 'int64')\n"
        f"    while i < 4:\n        {body.replace('; ', chr(10) + '        ')}\n        i = i + 1\n"
        "    return y, z, t"
    )
    assert_same(function_of(source), *SIGNS)


def test_what_is_handed_on_is_not_padded_again() -> None:
    """C1: a side of a branch that leaves a variable alone neither cuts nor pads it."""

    @d2s.to_static(input_spec=[InputSpec([None]), InputSpec([], "int64")])
    def f(x, n):
        y = paddle.masked_select(x, x > 0)
        i = paddle.zeros([], "int64")
        while i < n:
            if i % 2 == 0:
                y = y[1:]
            i = i + 1
        return y

    x = paddle.to_tensor([1.0, -1.0, 2.0, 3.0])
    for n in range(8):
        assert f(x, paddle.to_tensor(n)).tolist() == [1.0, 2.0, 3.0][(n + 1) // 2 :]
    assert _counts(f)["pad"] == 2  # before the loop, and where it gets shorter


LISTS = [
    "for i in range(n): out.append(x * i)\n    return paddle.concat(out), out[1], len(out)",
    "for i in range(n): out.append(x * i)\n    return out",
    "out.append(x)\n    for i in range(n): out.append(out[-1] * 2)\n    s = out.pop()\n"
    "    return paddle.concat(out), s",
    "i = paddle.zeros([], 'int64')\n    h = paddle.zeros([x.shape[0], 2])\n    while i < n:\n"
    "        h = h + x\n        if h.sum() > 2: out.append(h * 2)\n        else: out.append(h)\n"
    "        i = i + 1\n    return paddle.stack(out), h",
    "for i in range(n): out.append((paddle.masked_select(x, x > 0), x))\n"
    "    return paddle.concat([a for a, b in out]), out[0][1]",
]


@pytest.mark.row(74)
@pytest.mark.parametrize("body", LISTS)
def test_a_list_of_items_of_open_shape(body: str) -> None:
    """D1, E4: an ``InputSpec`` leaves the dimensions of the items open."""
    f = function_of(f"def f(x, n):\n    out = []\n    {body}")
    spec = [InputSpec([None, None], stop_gradient=False), InputSpec([], "int64")]
    shapes = [tensor(*range(1, 7)).reshape([3, 2]), tensor(0.5, 2.0).reshape([1, 2])]
    assert_same(f, *((x, scalar(3)) for x in shapes), static=d2s.to_static(f, input_spec=spec))


def test_parts_that_may_be_none_at_all() -> None:
    """B2: what is joined where there is something to join."""

    def f(hidden, counts):
        parts = []
        for j in range(hidden.shape[0]):
            count = int(counts[j])
            if count > 0:
                parts.append(hidden[j].unsqueeze(0).expand([count, -1]))
        return paddle.concat(parts) if parts else paddle.zeros([1, hidden.shape[1]])

    hidden = paddle.arange(6, dtype="float32").reshape([3, 2])
    counts = ([0, 0, 0], [2, 0, 1], [0, 1, 0])
    assert_same(f, *[(hidden, paddle.to_tensor(each)) for each in counts])


def test_a_size_that_grows_beside_one_that_may_be_none() -> None:
    """C5, E4: what is handed on with one more row has open dimensions where the loop opens them."""
    f = function_of("""
    def f(x, n):
        x = x[x.sum([1, 2]) > -1.0]
        k = x.unsqueeze(2)
        if n > 0:
            k = k * 2
        total = paddle.zeros([], "int64")
        for _ in range(n):
            past = k.shape[2]
            k = paddle.concat([k, (x + past).unsqueeze(2)], axis=2)
            total = total * 10 + past
        return k, total
    """)
    static = d2s.to_static(f, full_graph=True)
    for rows in (2, 3, 4):
        x = paddle.arange(rows * 6.0).reshape([rows, 2, 3])
        got, want = static(x, scalar(5)), f(x, scalar(5))
        assert int(got[1]) == int(want[1]) == 12345
        assert bool((got[0] == want[0]).all())
