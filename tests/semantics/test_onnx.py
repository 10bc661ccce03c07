"""Branches and loops in ONNX files (row 105, rule G3).

The converter and the run-time are no dependencies of the suite: ``make onnx`` fetches both into a
folder of their own and runs the slow tests here.  The quick test holds what the converter needs.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s import paddle_bridge as bridge
from tests.helpers import function_of

SPEC = [InputSpec([None, 3], "float32", name="x")]
MODELS = {
    "branch": "if x.sum() > 0: return x * 2\n    return x - 1",
    "nested branches": "y = x\n    if x.sum() > 0:\n        if x.max() > 2: y = x * 3\n"
    "        else: y = x + 1\n    return y, y.sum()",
    "while": "i = paddle.zeros([], 'int64')\n    while i < 3:\n        x = x * 2\n"
    "        i = i + 1\n"
    "    return x",
    "for over rows": "s = paddle.zeros([3])\n    for row in x: s = s + row\n    return s",
    "two loops from one start": "a = b = paddle.zeros([], 'int64')\n    while a < 3:\n"
    "        x, a = x * 2, a + 1\n    while b < 2:\n        x, b = x + 1, b + 1\n"
    "    return x, a, b",
}

installed = all(map(importlib.util.find_spec, ("paddle2onnx", "onnxruntime")))


def grown(x):
    rows, i = [], paddle.zeros([], "int64")
    while i < x.shape[0]:
        rows.append(x[i] * 2)
        i = i + 1
    return paddle.stack(rows)


def decomposed(x):
    return paddle.linalg.svd(x)[1]


class Net(paddle.nn.Layer):  # type: ignore[misc]
    """A model around one of the functions."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(3, 3)
        self.after = function_of(f"def f(x):\n    {body}")

    def forward(self, x: Any) -> Any:
        return self.after(self.linear(x))


@pytest.mark.row(105)
@pytest.mark.parametrize("name", ["branch", "nested branches", "while", "for over rows"])
def test_what_is_saved_hands_no_copies_of_scalars_on(name: str, tmp_path: Any) -> None:
    """G3: Paddle2ONNX takes a copy of a 0-D tensor for a tensor of one dimension."""
    d2s.save(Net(MODELS[name]), str(tmp_path / "net"), SPEC)
    program = paddle.jit.load(str(tmp_path / "net")).program()
    handed_on = [
        value
        for operation in bridge.operations(program)
        if operation.name() in ("pd_op.while", "cf.yield")
        for value in operation.operands_source()
    ]
    makers = [value.get_defining_op() for value in handed_on if not value.shape]
    assert handed_on
    assert "pd_op.assign" not in [maker.name() for maker in makers if maker is not None]


@pytest.mark.parametrize("body", MODELS.values(), ids=MODELS)
def test_what_is_saved_computes_the_same_each_time(body: str, tmp_path: Any) -> None:
    """G3: a loop does not write over what the next one, or the next run, begins with."""
    net = Net(body)
    d2s.save(net, str(tmp_path / "net"), SPEC)
    loaded = paddle.jit.load(str(tmp_path / "net"))
    for value in (1.0, -1.0, 3.0, 1.0):
        x = paddle.full([2, 3], value)
        got, want = loaded(x), net.forward.dygraph_function(x)
        pairs = zip(
            *(side if isinstance(side, list | tuple) else [side] for side in (got, want)),
            strict=True,
        )
        for one, other in pairs:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


@pytest.mark.row(105)
@pytest.mark.slow
@pytest.mark.skipif(not installed, reason="`make onnx` installs paddle2onnx and onnxruntime")
@pytest.mark.parametrize("body", MODELS.values(), ids=MODELS)
def test_the_run_time_gives_what_dygraph_gives(body: str, tmp_path: Any) -> None:
    """G3: ``paddle.onnx.export`` of a converted layer."""
    import onnxruntime

    net = Net(body)
    paddle.onnx.export(d2s.to_static(net), str(tmp_path / "net"), input_spec=SPEC, opset_version=16)
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"))
    for value in (1.0, -1.0, 3.0):
        x = np.full([2, 3], value, "float32")
        got = session.run(None, {session.get_inputs()[0].name: x})
        want = net.forward.dygraph_function(paddle.to_tensor(x))
        for one, other in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(not installed, reason="`make onnx` installs paddle2onnx and onnxruntime")
@pytest.mark.parametrize(
    ("function", "words"), [(grown, "a list that grows"), (decomposed, "'svd'")]
)
def test_what_the_exporter_cannot(function: Any, words: str, tmp_path: Any) -> None:
    """G3: named with its line and a code; Paddle2ONNX wrote a broken file, or ended the process."""
    with contextlib.redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit):
        paddle.onnx.export(
            d2s.to_static(function), str(tmp_path / "net"), input_spec=SPEC, opset_version=16
        )
    text = said.getvalue()
    line = function.__code__.co_firstlineno
    assert words in text
    assert "D2S401" in text
    assert any(f"test_onnx.py:{number}:" in text for number in range(line, line + 8))
    assert not (tmp_path / "net.onnx").exists()
