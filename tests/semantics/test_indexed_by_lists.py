"""Tensors that are indexed by lists, also of the run, and functions of Paddle given such lists."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, D2SError
from tests.helpers import assert_same, function_of

LISTS = {
    "numbers": "k = m[m > 0].tolist()",
    "a part": "k = m[m > 0].tolist()[1:]",
    "sorted": "k = sorted(m[m > 0].tolist())",
    "one taken out": "k = m[m > 0].tolist()\n    del k[0]",
    "grown": (
        "k = []\n    for i in range(n):\n        if m[i] > 0:\n            k.append(int(m[i]))"
    ),
    "grown, of tensors": (
        "k = []\n    for i in range(n):\n        if m[i] > 0:\n            k.append(m[i])"
    ),
    "a comprehension": "k = [i for i in range(3) if m[i] > 0]",
    "a range": "k = list(range(n))",
    "as many as there are": "k = [-1, int(m[1])]",
    "tensors": "k = [m[0], m[1]]",
    "truth values": "k = [bool(m[0] > 0), bool(m[1] > 0), bool(m[2] > 0), False]",
    "tensors of truth": "k = [m[0] > 0, m[1] > 0, m[2] > 0, m[0] > 1]",
    "truth values of the run": "k = (m[m >= 0] > 0).tolist() + [True]",
    "in a dict": "k = {'keep': m[m > 0].tolist()}['keep']",
    "lists in it": "k = [[int(m[0]), 0], [3, 3 - int(m[0])]]",
}
"""What a tensor of four numbers is indexed by."""

USES = {
    "read": "y = x[k]",
    "read behind an axis": "y = paddle.stack([x, x * 2])[:, k]",
    "written": "y = x * 1\n    y[k] = 5.0",
    "added to": "y = x * 1\n    y[k] += x.sum()",
    "in a branch": "y = x * 1\n    if x.sum() > 2:\n        y = x[k]",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", LISTS)
def test_as_dygraph_does(made: str, use: str) -> None:
    """D1, E5: a list of the run picks what the tensor of it does; truth values are a mask."""
    function = function_of(
        f"def f(x, n, m):\n    {LISTS[made]}\n    {USES[use]}\n    return y.sum(), y"
    )
    calls = [
        (paddle.to_tensor(x), paddle.to_tensor(3), paddle.to_tensor(m))
        for x in ([0.5, 1.0, 0.0, 7.0], [0.1, 0.2, 0.3, 0.4])
        for m in ([2, 0, 1], [1, 2, 0])
    ]
    assert_same(function, *calls)


def test_gradients() -> None:
    """C7: they go to the items that were picked."""
    function = function_of(
        "def f(x, m):\n    keep = [i for i in m.tolist() if i > 0]\n    return (x[keep] ** 2).sum()"
    )
    found = []
    for each in (function, d2s.to_static(function, full_graph=True)):
        x = paddle.to_tensor([0.5, 1.0, 3.0], stop_gradient=False)
        each(x, paddle.to_tensor([2, 0, 2])).backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "use",
    [
        "paddle.quantile(x, k)",
        "x.sum(axis=k)",
        "paddle.zeros(k)",
        "paddle.tile(x, repeat_times=k)",
        "F.pad(x, k)",
        "paddle.vision.transforms.functional.normalize(x[:, None, None], k, k)",
        "x[[(i, i) for i in k if i > 0]]",
    ],
)
def test_given_to_paddle(use: str) -> None:
    """D1: a list of unknown length is refused before Paddle sees it; ``sum`` ended the process."""
    text = f"def f(x):\n    k = x[x > 0].astype('int64').tolist()\n    return {use}"
    static = d2s.to_static(function_of(text, F=paddle.nn.functional), full_graph=True)
    with pytest.raises(D2SError) as caught:
        static(paddle.to_tensor([1.0, 2.0]))
    assert type(caught.value) is ContainerInGraphError
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "made", ["linspace(0, 1, 5)", "linspace(x[0], x[1], num=3)", "logspace(0, 1, 4)"]
)
def test_as_long_as_it_says(made: str) -> None:
    """E4: how many numbers ``linspace`` makes is no matter of the run."""
    function = function_of(
        f"def f(x):\n    q = paddle.{made}\n"
        "    return q, q.shape, len(q), q.tolist(), [t * 2 for t in q]"
    )
    assert_same(function, (paddle.to_tensor([0.5, 0.75]),))


@pytest.mark.parametrize("rank", [1, 2])
def test_paddle_s_own_changes_in_place(rank: int) -> None:
    """B4, E2: ``stft`` of one signal takes the first axis off again by ``out.squeeze_(0)``."""
    function = function_of(
        "def f(x):\n    y = paddle.signal.stft(x, 8, 4)\n"
        "    if x.sum() > 0:\n        y = paddle.signal.stft(x * 2, 8, 4)\n"
        "    return y.abs(), paddle.signal.istft(y, 8, 4), spectrogram(x)",
        spectrogram=paddle.audio.features.Spectrogram(n_fft=8),
    )
    x = paddle.arange(16, dtype="float32").sin()
    assert_same(function, *[(sign * x.reshape([1] * (rank - 1) + [16]),) for sign in (1, -1)])


KEYS = {
    "[:, [0, 2]]": ("row", "matrix", "column"),
    "[:, k]": ("row", "matrix", "column"),
    "[..., k]": ("row", "matrix", "column"),
    "[0:2, k]": ("row", "matrix", "column"),
    "[:, [True, False, True]]": ("row", "matrix", "column"),
    "[:, x[0] > 0.2]": ("row", "matrix", "column"),
    "[k, :]": ("column",),
    "[k, 1:3]": ("row", "matrix", "column"),
    "[0, k]": ("row",),
    "[k, k]": ("row",),
}
DEEP = {
    "[:, k]": ("row", "column", "matrix"),
    "[:, k, k]": ("row", "column", "matrix"),
    "[:, k, 0]": ("row", "column", "matrix"),
    "[k, :, k]": ("column",),
    "[:, :, k]": ("row",),
    "[:, :, [0, 1]]": ("row",),
    "[0, :, k]": ("row",),
    "[None, :, :, k]": ("row",),
}
ITEMS = {"row": "v", "column": "v.unsqueeze(1)", "matrix": "v.unsqueeze(1) * v"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("key", "item", "deep"),
    [
        *((key, item, False) for key, items in KEYS.items() for item in items),
        *((key, item, True) for key, items in DEEP.items() for item in items),
    ],
)
def test_written_behind_an_axis(key: str, item: str, deep: bool) -> None:
    """B4, C7: an item of fewer dimensions is repeated along the first ones, as in dygraph."""
    made = "paddle.stack([x[:, :2], x[:, 1:]])" if deep else "x * 1"
    function = function_of(
        f"def f(x, k, v):\n    y = {made}\n    y{key} = {ITEMS[item]}\n    return y"
    )
    found = []
    for each in (function, d2s.to_static(function, full_graph=True)):
        x = paddle.to_tensor([[0.5, 0.1, 0.3], [7.0, 2.0, 0.1]])
        v = paddle.to_tensor([10.0, 20.0])
        x.stop_gradient = v.stop_gradient = False
        y = each(x, paddle.to_tensor([1, 0]), v)
        (y * paddle.arange(1, y.size + 1, dtype="float32").reshape(y.shape)).sum().backward()
        found.append([y.tolist(), x.grad.tolist(), v.grad.tolist()])
    assert found[0] == found[1]
