"""What cannot be saved, and the errors of what was loaded (rules B6, F1, G3)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import (
    InputSpecError,
    NotCapturedError,
    SaveError,
)
from tests.helpers import tensor

X = tensor(1.0, 2.0, 3.0)


SPEC = [InputSpec([3], "float32")]


class Model(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x * 2


class Ambiguous(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return x, x


class Checking(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        assert x.sum() > 0
        return 3


@pytest.mark.parametrize(
    ("layer", "specs", "kind", "words"),
    [
        (Model, None, NotCapturedError, "no program yet"),
        (Model, SPEC * 2, InputSpecError, "does not fit"),
        (Checking, SPEC, SaveError, "returns no tensor"),
    ],
)
def test_what_cannot_be_saved(
    layer: Any, specs: Any, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    """G3: no program, too many specs, no result."""
    options = {} if specs is None else {"input_spec": specs}
    with pytest.raises(kind, match=words):
        d2s.save(d2s.to_static(layer()), str(tmp_path / "model"), **options)


class Calling:
    def __call__(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return x, x


def two_forms(k: Any, x: Any) -> Any:
    if x.sum() > 0:
        return x * k
    return x, x


@pytest.mark.parametrize(
    ("thing", "line"),
    [
        (Ambiguous(), Ambiguous.forward.__code__.co_firstlineno + 2),
        (functools.partial(two_forms, 2), two_forms.__code__.co_firstlineno + 2),
        (Calling(), Calling.__call__.__code__.co_firstlineno + 2),
        (Calling().__call__, Calling.__call__.__code__.co_firstlineno + 2),
    ],
)
def test_two_structures_are_refused_where_they_are_returned(
    thing: Any, line: int, tmp_path: Path
) -> None:
    """B6: the lines are found in a method, a partial function, and a callable object."""
    with pytest.raises(SaveError, match="different structure") as error:
        paddle.jit.save(d2s.to_static(thing), str(tmp_path / "model"), input_spec=SPEC)
    assert (error.value.file, error.value.line) == (__file__, line)


class Methods(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", paddle.zeros([1]))

    def forward(self, x: Any, index: Any) -> Any:
        self.calls.add_(paddle.ones([1]))
        return paddle.gather(x, index) * self.calls

    def other(self, x: Any, index: Any) -> Any:
        return paddle.gather(x, index) * 3


def test_a_loaded_layer_has_its_methods_and_their_errors(tmp_path: Path) -> None:
    """F1: the same error in each, at the user's line, with Paddle's own on demand."""
    specs = [*SPEC, InputSpec([1], "int64")]
    layer = d2s.to_static(Methods(), input_spec=specs)
    layer.other = d2s.to_static(layer.other, input_spec=specs)
    paddle.jit.save(layer, str(tmp_path / "model"))
    loaded = d2s.load(str(tmp_path / "model"))
    good, bad = paddle.to_tensor([1]), paddle.to_tensor([9])
    assert loaded(X, good).tolist() == [2.0]
    assert loaded.other(X, good).tolist() == [6.0]
    with pytest.raises(IndexError) as want:
        paddle.gather(X, bad)
    first = str(want.value).splitlines()[0]
    for method in (loaded, loaded.other):
        for full in (False, True):
            with d2s.options(full_traceback=full), pytest.raises(IndexError) as error:
                method(X, bad)
            assert str(error.value).splitlines()[0] == first
            assert error.value.__cause__ is None or full
