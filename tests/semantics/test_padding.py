"""``pad`` by numbers of the run: sizes that a tensor decides, and those of open dimensions."""

from __future__ import annotations

import paddle
import pytest

from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, -2.0, 3.0)
TABLE = paddle.arange(6, dtype="float32").reshape([2, 3])
CUBE = paddle.arange(8, dtype="float32").reshape([1, 2, 2, 2])

FLAT = """
    F.pad(x, [0, n]) | F.pad(x, [n, 1], value=-1.0) | F.pad(x=x, pad=[n, n], mode="constant")
    F.pad(x, (int(n), 2)) | F.pad(x[:n], [0, 3 - n]) | F.pad(x, [1, 5 - x[:n].shape[0]])
    F.pad(x, pad=[n, 0], value=2) * x.sum() | F.pad(x.astype("int64"), [0, int(n)])
"""

DEEP = """
    F.pad(t, [n, 0, 0, 1]) | F.pad(t, [0, n]) | F.pad(t, [0, 0, n, 1], pad_from_left_axis=False)
    F.pad(c, [n, 0, 0, 1]) | F.pad(c, [1, n, 0, 1], data_format="NHWC", value=0.5)
    F.pad(c, [0, 0, 0, 0, n, 0, 0, n]) | F.pad(c, [0, n, 1, 0], data_format="NCHW")
"""


def texts(table: str) -> list[str]:
    return [text.strip() for text in table.replace("\n", "|").split("|") if text.strip()]


@pytest.mark.parametrize("text", texts(FLAT))
def test_one_dimension(text: str) -> None:
    """E4: values, dtypes and gradients."""
    function = function_of(f"def f(x, n): return {text}", "f", F=paddle.nn.functional)
    assert_same(function, (X, scalar(2)), (X, scalar(1)), (X, scalar(3)))


@pytest.mark.parametrize("text", texts(DEEP))
def test_several_dimensions(text: str) -> None:
    """E4: which axes are meant: the first ones, the last ones, or all but the channels."""
    function = function_of(f"def f(t, c, n): return {text}", "f", F=paddle.nn.functional)
    assert_same(function, (TABLE, CUBE, scalar(2)), (TABLE, CUBE, scalar(0)))


def test_rows_of_a_batch() -> None:
    """C5, E4: sequences of unknown lengths are brought to one, in a loop."""

    def f(x, lengths):
        rows = []
        for length in lengths:
            rows.append(paddle.nn.functional.pad(x[:length], [0, 3 - length], value=-1.0))
        return paddle.stack(rows)

    assert_same(f, (X, tensor(1, 3, 2, dtype="int64")), (X, tensor(2, 1, dtype="int64")))


def test_other_modes() -> None:
    """E4: what Paddle's programs take by themselves."""

    def f(x, n):
        return paddle.nn.functional.pad(x.reshape([1, 1, 3]), [0, n], mode="reflect")

    assert_same(f, (X, scalar(1)), (X, scalar(2)))
