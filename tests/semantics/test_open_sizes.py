"""Functions of Paddle that compute with a size that only the run knows (rule E4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import paddle.nn.functional as F
import pytest
from paddle.static import InputSpec

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

CALLS: dict[str, Callable[..., Any]] = {
    "kl_div": lambda x, y, n: F.kl_div(F.log_softmax(x), F.softmax(y), reduction="batchmean"),
    "KLDivLoss": lambda x, y, n: paddle.nn.KLDivLoss("batchmean")(F.log_softmax(x), F.softmax(y)),
    "cov": lambda x, y, n: paddle.linalg.cov(x),
    "cov of columns": lambda x, y, n: paddle.linalg.cov(x, rowvar=False),
    "trapezoid": lambda x, y, n: paddle.trapezoid(x, axis=0),
    "cumulative_trapezoid": lambda x, y, n: paddle.cumulative_trapezoid(x, axis=0),
    "take from the end": lambda x, y, n: paddle.take(x, paddle.to_tensor([-1, -2])),
    "vander": lambda x, y, n: paddle.vander(x[:, 0]),
    "combinations": lambda x, y, n: paddle.combinations(x[:, 0], 2),
    "inner": lambda x, y, n: paddle.inner(x, y),
    "block_diag": lambda x, y, n: paddle.block_diag([x, y]),
    "pdist": lambda x, y, n: paddle.pdist(x),
    "histogram_bin_edges": lambda x, y, n: paddle.histogram_bin_edges(x, bins=3),
    "std": lambda x, y, n: x.std(0),
    "cross_entropy": lambda x, y, n: F.cross_entropy(x, n),
    "cosine_similarity": lambda x, y, n: F.cosine_similarity(x, y),
    "quantile": lambda x, y, n: paddle.quantile(x, 0.5, axis=0),
    "triplet_margin_loss": lambda x, y, n: F.triplet_margin_loss(x, y, x + 1),
    "gaussian_nll_loss": lambda x, y, n: F.gaussian_nll_loss(x, y, y.abs() + 1),
    "dice_loss": lambda x, y, n: F.dice_loss(F.softmax(x), n.unsqueeze(-1)),
    "nansum": lambda x, y, n: paddle.nansum(x, 0),
    "masked_scatter": lambda x, y, n: paddle.masked_scatter(x, x > 0, paddle.zeros([15])),
    "outer": lambda x, y, n: paddle.outer(x[:, 0], y[:, 0]),
    "addmm": lambda x, y, n: paddle.addmm(paddle.zeros([3, 3]), x.T, y),
    "Dirichlet": lambda x, y, n: paddle.distribution.Dirichlet(F.softmax(x, -1)).entropy(),
    "einsum": lambda x, y, n: paddle.einsum("bi,bj->ij", x, y),
}

X = tensor([0.5, -1.5, 2.0], [1.5, 0.2, -0.7], [-0.4, 0.9, 0.3], [2.5, -2.0, 1.0])
Y = tensor([1.0, 0.5, -0.5], [0.3, 0.8, 0.1], [-1.2, 0.4, 2.2], [0.6, -0.3, 0.9])
LABELS = paddle.to_tensor([0, 1, 2, 1])


@pytest.mark.parametrize("name", CALLS)
def test_rows_that_a_mask_picks(name: str) -> None:
    """E4: -1 in the place of the size is silently wrong in many of them."""
    call = CALLS[name]

    def f(x, y, labels):
        wrong = x.argmax(-1) != labels
        if wrong.any():
            rows = paddle.nonzero(wrong).flatten()
            x, y, labels = x[rows], y[rows], labels[rows]
        return call(x, y, labels)

    assert_same(f, (X, Y, LABELS), (Y, X, LABELS), (X * 2, Y, LABELS), rtol=1e-4, grad=False)


def test_the_gradient_of_a_mean_over_such_rows() -> None:
    """E4, C7: the size takes part in the gradient."""

    def f(x, y):
        rows = paddle.nonzero(x[:, 0] > 0).flatten()
        return F.kl_div(F.log_softmax(x[rows]), F.softmax(y[rows]), reduction="batchmean")

    assert_same(f, (X, Y), (Y, X))


def test_what_paddle_refuses_stays_refused() -> None:
    """A1: an error is dygraph's, not one of the second attempt."""

    def f(x, y):
        rows = paddle.nonzero(x[:, 0] > 0).flatten()
        return paddle.take(x[rows], paddle.to_tensor([0, 1]), mode="nearest")

    assert_same(f, (X, Y))


def test_a_sum_of_no_rows_of_an_open_size() -> None:
    """C6, E4: the start is the sum; what has been printed is not printed by another try."""

    def f(x, n):
        print(f"{x.sum():.1f}")
        return sum([x * i for i in range(n)], x * 0.5)

    assert_same(f, (X[:, 0], scalar(2)), (X[1:, 0], scalar(0)), (X[:, 0], scalar(0)))


REST = {
    "of the rows of a layer": "x.shape[:-1] + [4, -1]",
    "of what a layer was given": "[given.shape[0], given.shape[1], 4, -1]",
    "in another order": "[x.shape[1], 4, -1, x.shape[0]]",
    "of a moved dimension": "[x.transpose([2, 1, 0]).shape[2], x.shape[1], 3, -1]",
}
OTHER_REST = {
    "a size asked for twice": "[x.shape[0], x.shape[0], 4, -1]",
    "one of two sizes": "[x.shape[0], 4, -1]",
    "a product": "[x.shape[0] * x.shape[1], -1]",
    "the rows of another tensor": "[weight.shape[0] - 4, x.shape[1], -1]",
}
SPECS = [InputSpec(shape) for shape in ([None, None, 6], [None, 24], [24])]


def _reshaping(shape: str, result: str) -> Any:
    return function_of(
        "def f(given, weight, bias):\n"
        "    x = paddle.nn.functional.gelu(given @ weight + bias)\n"
        f"    y = x.reshape({shape})\n"
        f"    return {result}, paddle.reshape(x, {shape})\n"
    )


@pytest.mark.parametrize("name", [*REST, *OTHER_REST])
def test_the_rest_of_a_shape(name: str) -> None:
    """E4: what -1 stands for is known where the other open sizes are those of the tensor."""
    axis = 2 if name == "in another order" else -1
    parts = f"paddle.split(y, y.shape[{axis}], {axis})"  # into as many as Python knows
    f = _reshaping({**REST, **OTHER_REST}[name], parts if name in REST else "[y]")
    given = [paddle.rand([2, 2, 6]), paddle.rand([6, 24]), paddle.rand([24])]
    converted = d2s.to_static(f, input_spec=SPECS, full_graph=True)
    (expected, other), (found, same) = f(*given), converted(*given)
    for mine, wanted in zip([*found, same], [*expected, other], strict=True):
        assert mine.shape == wanted.shape
        assert mine.tolist() == wanted.tolist()
