"""What becomes of a converted layer outside of training: in C++, quantized."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle.nn.quant.format import LinearDequanter
from paddle.quantization import PTQ, QAT, QuantConfig
from paddle.quantization.observers import AbsmaxObserver
from paddle.quantization.quanters import FakeQuanterWithAbsMaxObserver
from paddle.static import InputSpec

import d2s

SPEC = [InputSpec([None, 4], "float32", "x")]


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a = paddle.nn.Linear(4, 8)
        self.b = paddle.nn.Linear(8, 3)

    def forward(self, x):
        h = F.relu(self.a(x))
        while h.abs().max() > 3:
            h = h * 0.5
        if h.mean() > 0.2:
            h = h * 0.9
        return self.b(h)


class WithRows(Net):
    def forward(self, x):
        y = super().forward(x)
        rows = []
        i = paddle.zeros([], "int64")
        while i < x.shape[0]:
            rows.append(y[i] * i.astype("float32"))
            i = i + 1
        return y, paddle.stack(rows)


def made(kind: type = Net) -> Any:
    paddle.seed(3)
    return kind()


def batches(count: int = 6) -> list[tuple[Any, Any]]:
    """Of two sizes, the largest numbers first."""
    draws = np.random.RandomState(0)
    return [
        (
            paddle.to_tensor((draws.randn(5 + i % 2, 4) * (count - i)).astype("float32")),
            paddle.to_tensor(draws.randint(0, 3, [5 + i % 2])),
        )
        for i in range(count)
    ]


# -- C++ -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ on this machine")
def test_a_program_of_cpp(tmp_path) -> None:
    """G3: loops, branches and a list of the run, in a process that runs no Python.

    Paddle's wheel has the library of Paddle Inference, without its header; it also refers to
    Python's library, which is linked and not started.
    """
    net = made(WithRows)
    d2s.save(net, str(tmp_path / "net"), input_spec=SPEC)
    paddles = Path(paddle.__file__).parent
    folders = [paddles / "base", paddles / "libs", sysconfig.get_config_var("LIBDIR")]
    command = ["g++", "-std=c++17", str(Path(__file__).with_name("inference.cpp"))]
    command += ["-o", str(tmp_path / "inference"), "-Wl,--allow-shlib-undefined"]
    command += [f"-L{folders[0]}", "-l:libpaddle.so", f"-L{folders[2]}"]
    command += [f"-lpython{sysconfig.get_config_var('LDVERSION')}"]
    built = subprocess.run(
        [*command, *(f"-Wl,-rpath,{folder}" for folder in folders)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    inputs = [x.numpy() for x, _ in batches()]
    asked = "\n".join(f"{len(x)} 4\n{' '.join(map(str, x.ravel()))}" for x in inputs)
    done = subprocess.run(
        [str(tmp_path / "inference"), str(tmp_path / "net")],
        input=asked, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    found = [[float(number) for number in line.split()[1:]] for line in lines]
    expected = [part.numpy().ravel() for x in inputs for part in net(paddle.to_tensor(x))]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4)


# -- quantization --------------------------------------------------------------------------------


def qat() -> QAT:
    quanter = FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
    return QAT(QuantConfig(activation=quanter, weight=quanter))


def curve(net: Any) -> list[float]:
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    losses = []
    for x, y in batches():
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("first", ["quantized", "converted"])
def test_training_of_what_will_be_quantized(first: str, tmp_path: Path) -> None:
    """G3: the losses, the scales, and the saved program are dygraph's."""
    expected = qat().quantize(made())
    losses = curve(expected)
    net = made()
    if first == "quantized":
        net = d2s.to_static(qat().quantize(net), full_graph=True)
    else:
        net = qat().quantize(d2s.to_static(net, full_graph=True))
    assert curve(net) == pytest.approx(losses, rel=1e-4)
    assert len(net.forward.programs) == 2  # sizes: one, and open
    for layer in (expected, net):
        layer.eval()
    x, _ = batches()[0]
    np.testing.assert_allclose(net(x), expected(x), rtol=1e-4)
    d2s.save(net, str(tmp_path / "net"), input_spec=SPEC)
    np.testing.assert_allclose(d2s.load(str(tmp_path / "net"))(x), expected(x), rtol=1e-4)


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_quantization_after_training(when: str, tmp_path: Path) -> None:
    """G3: converted before the calibration or after it; an observer keeps the largest of all.

    Paddle's own programs compute other numbers: they quantize twice, where dygraph goes back.
    """

    def quantized(when: str = "") -> Any:
        net = made()
        net.eval()
        config = QuantConfig(activation=AbsmaxObserver(), weight=AbsmaxObserver())
        ptq = PTQ(config)
        if when == "before":
            d2s.to_static(net, full_graph=True)
        net = ptq.quantize(net)
        if when == "between":
            d2s.to_static(net, full_graph=True)
        for x, _ in batches():
            net(x)
        return ptq.convert(net)

    expected, net = quantized(), d2s.to_static(quantized(when), full_graph=True)
    x, _ = batches()[0]
    assert np.array_equal(net(x), expected(x))
    assert not np.array_equal(net(x), made()(x))  # rounded to eight bits
    d2s.save(net, str(tmp_path / "net"), input_spec=SPEC)
    assert np.array_equal(d2s.load(str(tmp_path / "net"))(x), expected(x))


def test_scales_of_channels() -> None:
    """G3: one scale for each index of an axis; weights quantized in groups are refused."""
    scales = paddle.to_tensor([0.5, 0.25, 2.0])
    given = paddle.to_tensor([[-128.0, 3.0, 127.0], [4.0, -7.0, 0.0]])
    layer = LinearDequanter(scales, paddle.zeros([3]), quant_axis=1)
    expected = layer(given).numpy()
    np.testing.assert_allclose(d2s.to_static(layer, full_graph=True)(given), expected, rtol=1e-6)
    grouped = d2s.to_static(LinearDequanter(paddle.ones([2, 3]), paddle.zeros([2, 3])))
    with pytest.raises(d2s.D2SError, match="quantized in groups"):
        d2s.to_static(lambda x: grouped.forward.dygraph_function(x), full_graph=True)(given)
