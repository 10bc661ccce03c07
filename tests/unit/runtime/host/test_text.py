"""Text and warnings of tensors, letter for letter those of dygraph (rules E1, F1)."""

from __future__ import annotations

import logging
import math
import warnings
from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.nn import functional
from paddle.static import InputSpec

import d2s
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


def test_text_of_text_and_braces(capsys: pytest.CaptureFixture[str]) -> None:
    """F1: ``str`` of what is text already, ``{{`` in a template, fields in a field."""

    def f(x, s):
        text = str(s)
        n = 1 if s > 0 else 2
        print(str(text), "{} {{}} {:.{}f} {{{}".format(text, 1.5, 2, s), f"a{{b}}{s}")
        print(format(n, "03d"), format(3), format(s, ""))
        return x

    static = d2s.to_static(f)
    for arguments in SIGNS:
        f(*arguments)
        want = capsys.readouterr().out
        static(*arguments)
        assert capsys.readouterr().out == want


class Logging(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            warnings.warn("large", stacklevel=1)
            y = x * math.log(x.sum())
        else:
            y = x
        logging.getLogger("d2s.tests").info("a %s", y)
        return y


def test_a_warning_of_a_branch_is_given_while_it_is_saved(tmp_path: Path) -> None:
    """F1: the file runs without Python; that is said, and ``math.log`` does not raise there."""
    layer, path = d2s.to_static(Logging()), str(tmp_path / "model")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        d2s.save(layer, path, input_spec=[InputSpec([3], "float32")])
    texts = [str(warning.message) for warning in given]
    assert "large" in texts
    assert any("warning is given while the program is saved" in text for text in texts)
    loaded = paddle.jit.load(path)
    want = X * math.log(6.0)
    assert paddle.allclose(loaded(X), want)
    assert loaded(-X).tolist() == (-X).tolist()


def axes_in_lists(x: Any, s: Any) -> Any:
    return paddle.tensordot(x, paddle.ones([4, 2]), axes=[[0], [0]])


def paddings_in_lists(x: Any, s: Any) -> Any:
    return functional.max_pool2d(x, [2, 2], stride=[1, 1], padding=[[0, 0], [1, 1]])


def a_dict_among_the_sizes(x: Any, s: Any) -> Any:
    return functional.interpolate(x.reshape([1, 1, 3]), size=[{"a": 1}], mode="linear")


class Plain:
    pass


def a_manager_without_enter(x: Any, s: Any) -> Any:
    y = x
    with Plain():
        if s > 0:
            raise ValueError("not come to")
        y = x * 2
    return y


@pytest.mark.parametrize(
    "function",
    [axes_in_lists, paddings_in_lists, a_dict_among_the_sizes, a_manager_without_enter],
)
def test_what_is_wrong_is_said_in_the_words_of_dygraph(function: Any) -> None:
    """A1: type and text of the error."""
    assert_same(function, *SIGNS)
