"""What ``test_training_ecosystem`` launches in two processes: the same in dygraph and converted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.distributed as dist
import paddle.nn.functional as F

import d2s


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a = paddle.nn.Linear(4, 8)
        self.b = paddle.nn.Linear(8, 3)

    def forward(self, x):
        h = F.relu(self.a(x))
        if h.mean() > 0.2:
            h = h * 0.9
        return self.b(h)


class Around(paddle.nn.Layer):
    def __init__(self, inside: Any) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, x):
        y = x + 1
        return self.inside(y) * 1.5


def reduced(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    dist.all_reduce(y)
    return y


def sent(x):
    y = x * (1 + dist.get_rank())
    dist.broadcast(y, src=0)
    return y + 1


def batches(count: int = 6) -> list[tuple[Any, Any]]:
    """Other ones on each rank, of two sizes."""
    draws = np.random.RandomState(dist.get_rank())
    return [
        (
            paddle.to_tensor(draws.randn(5 + i % 2, 4).astype("float32")),
            paddle.to_tensor(draws.randint(0, 3, [5 + i % 2])),
        )
        for i in range(count)
    ]


def curve(net: Any, *, accumulate: bool = False, dies: bool = False) -> list[float]:
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    losses = []
    for number, (x, y) in enumerate(batches()):
        if dies and number == 2 and dist.get_rank() == 1:
            os._exit(3)
        if accumulate and number % 2 == 0:
            with net.no_sync():
                F.cross_entropy(net(x), y).backward()
            continue
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    return [*losses, float(net.parameters()[0].sum())]


def made() -> Any:
    paddle.seed(3)
    return Net()


def found(convert: Any) -> dict[str, list[float]]:
    """What each way to train gives."""
    inner = paddle.DataParallel(made())
    return {
        "outside": curve(paddle.DataParallel(convert(made()))),
        "no_sync": curve(paddle.DataParallel(convert(made())), accumulate=True),
        "inside": inside(convert(Around(inner)), inner),
        "all_reduce": convert(reduced)(paddle.ones([3]) * (1 + dist.get_rank())).tolist(),
        "broadcast": convert(sent)(paddle.ones([3])).tolist(),
    }


def inside(net: Any, parallel: Any) -> list[float]:
    return [*curve(net), float(parallel.parameters()[0].sum())]


def refusal() -> str:
    """What a function says that is to be one program, with a ``DataParallel`` inside."""
    net = d2s.to_static(Around(paddle.DataParallel(made())), full_graph=True)
    try:
        net(paddle.ones([2, 4]))
    except d2s.D2SError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    what, path = sys.argv[1:]
    dist.init_parallel_env()
    if what == "dies":
        curve(paddle.DataParallel(d2s.to_static(made())), dies=True)
    else:
        every = {"dygraph": found(lambda it: it), "d2s": found(d2s.to_static)}
        Path(f"{path}{dist.get_rank()}").write_text(json.dumps({**every, "refused": refusal()}))
