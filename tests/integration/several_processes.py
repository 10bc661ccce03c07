"""What ``test_several_processes`` launches: the same in dygraph and converted, on every rank.

    python -m paddle.distributed.launch --nproc_per_node 2 --backend gloo several_processes.py \
        compare OUT

Each case is a program as people write it, after Paddle's own documentation of what it calls.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.distributed as dist
import paddle.nn.functional as F
from paddle.distributed import fleet

import d2s

Convert = Callable[[Any], Any]
CASES: dict[str, Callable[[Convert], Any]] = {}


def case(function: Callable[[Convert], Any]) -> Callable[[Convert], Any]:
    """Run it in dygraph and converted."""
    CASES[function.__name__] = function
    return function


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


def made(kind: Any = Net) -> Any:
    paddle.seed(3)
    return kind()


def batches(count: int = 6, *, uneven: bool = False) -> list[tuple[Any, Any]]:
    """Other ones on each rank, of two sizes; ``uneven``: of other sizes on each rank, too."""
    draws = np.random.RandomState(dist.get_rank())
    sizes = [5 + i % 2 + (dist.get_rank() if uneven else 0) for i in range(count)]
    return [
        (
            paddle.to_tensor(draws.randn(size, 4).astype("float32")),
            paddle.to_tensor(draws.randint(0, 3, [size])),
        )
        for size in sizes
    ]


def curve(
    net: Any, optimizer: Any = None, *, accumulate: bool = False, uneven: bool = False
) -> list[float]:
    """Losses, and a number of each parameter at the end."""
    adam = optimizer or paddle.optimizer.Adam(0.05, parameters=net.parameters())
    losses = []
    for number, (x, y) in enumerate(batches(uneven=uneven)):
        if accumulate and number % 2 == 0:
            with net.no_sync():
                F.cross_entropy(net(x), y).backward()
            continue
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    return [*losses, *(float(each.sum()) for each in net.parameters())]


# -- training ------------------------------------------------------------------------------------


@case
def outside(convert: Convert) -> Any:
    return curve(paddle.DataParallel(convert(made())))


@case
def no_sync(convert: Convert) -> Any:
    return curve(paddle.DataParallel(convert(made())), accumulate=True)


@case
def uneven_batches(convert: Convert) -> Any:
    return curve(paddle.DataParallel(convert(made())), uneven=True)


@case
def inside(convert: Convert) -> Any:
    parallel = paddle.DataParallel(made())
    return [*curve(convert(Around(parallel))), float(parallel.parameters()[0].sum())]


@case
def of_fleet(convert: Convert) -> Any:
    net = fleet.distributed_model(convert(made()))
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    return curve(net, fleet.distributed_optimizer(adam))


def steps(net: Any, step: Callable[[Any, Any], Any]) -> list[float]:
    losses = [float(step(x, y)) for x, y in batches()]
    return [*losses, *(float(each.sum()) for each in net.parameters())]


@case
def a_step_of_fleet(convert: Convert) -> Any:
    net = fleet.distributed_model(made())
    adam = fleet.distributed_optimizer(paddle.optimizer.Adam(0.05, parameters=net.parameters()))

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        return loss

    return steps(net, convert(step))


@case
def a_step_that_averages_gradients(convert: Convert) -> Any:
    """In one program, with ``full_graph=True``, too."""
    net = made()
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad.set_value(parameter.grad / dist.get_world_size())
        adam.step()
        adam.clear_grad()
        return loss

    return steps(net, convert(step))


# -- functions in which processes meet -----------------------------------------------------------


def thrice(function: Callable[..., Any], convert: Convert) -> Any:
    """Three calls with one argument, other numbers on each rank, and what is left of it."""
    x = paddle.arange(1, 5, dtype="float32") * (1 + dist.get_rank())
    static, found = convert(function), []
    for _ in range(3):
        given = static(x)
        parts = given if isinstance(given, list | tuple) else [given]
        found.append([each.tolist() for each in parts])
    return [*found, x.tolist()]


def meets(function: Callable[..., Any]) -> Callable[..., Any]:
    CASES[function.__name__] = functools.partial(thrice, function)
    return function


@meets
def all_reduce(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    task = dist.all_reduce(y, sync_op=False)
    task.wait()
    return y


@meets
def kinds_of_all_reduce(x):
    largest, least, product, whole = x * 2, x * 1, x + 0, x.astype("int64")
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    dist.stream.all_reduce(least, dist.ReduceOp.MIN)
    dist.all_reduce(product, dist.ReduceOp.PROD)
    dist.all_reduce(whole)
    return largest, least, product, whole


@meets
def all_reduce_of_an_argument(x):
    dist.all_reduce(x)
    return x + 1


@meets
def all_reduce_of_a_view(x):
    y = (x * 2).reshape([2, 2])
    part = y[0]
    dist.all_reduce(part)
    return y, part


@meets
def all_reduce_in_a_loop(x):
    i = paddle.zeros([], "int64")
    while i < 3:
        y = x * 1
        dist.all_reduce(y)
        x = y / 2
        i = i + 1
    return x


@meets
def all_reduce_in_a_group(x):
    y = x * 2
    dist.all_reduce(y, group=FIRST_TWO)
    return y


@meets
def broadcast(x):
    y = x * (1 + dist.get_rank())
    dist.broadcast(y, src=1)
    if y.sum() > 3:
        y = y + 1
    return y


@meets
def all_gather(x):
    parts = []
    dist.all_gather(parts, x * 2)
    return paddle.concat(parts)


@meets
def scatter(x):
    y = paddle.zeros([4])
    own = [x + i for i in range(dist.get_world_size())]
    dist.scatter(y, own if dist.get_rank() == 0 else None, src=0)
    return y * 2


@meets
def send_and_recv(x):
    """All of them, as gloo in Paddle counts what each process has sent and received."""
    other = dist.get_rank() ^ 1
    if dist.get_rank() % 2 == 0:
        dist.send(x * 2, dst=other)
    else:
        dist.recv(x, src=other)
    dist.barrier()
    return x + 1


@meets
def all_gather_object(x):
    """In dygraph, between two programs."""
    found = []
    dist.all_gather_object(found, {"rank": dist.get_rank()})
    return x * found[1]["rank"]


@case
def a_buffer(convert: Convert) -> Any:
    class Total(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", paddle.zeros([4]))

        def forward(self, x):
            self.total = self.total + x
            dist.all_reduce(self.total)
            return self.total * 1

    net = convert(Total())
    return [*thrice(lambda x: net(x), lambda function: function), net.total.tolist()]


@case
def gradients(convert: Convert) -> Any:
    """What stands in the tensor counts; its history stays."""

    def function(x):
        y = x * 2
        dist.all_reduce(y)
        return (y * y).sum()

    x = paddle.arange(1, 5, dtype="float32") * (1 + dist.get_rank())
    x.stop_gradient = False
    loss = convert(function)(x)
    loss.backward()
    return [loss.item(), x.grad.tolist()]


@case
def some_in_dygraph(convert: Convert) -> Any:
    """A process that runs a program meets one that does not."""
    function = (lambda it: it) if dist.get_rank() == 0 else convert
    return [thrice(all_reduce, function), thrice(broadcast, function)]


# -- sharded tensors -----------------------------------------------------------------------------


def sharded(net: Any, mesh: Any, wanted: Callable[[str], Any]) -> Any:
    """``net`` with parameters as ``wanted``."""

    def shard(name, layer, mesh):
        for each, parameter in layer.named_parameters(include_sublayers=False):
            placed = dist.shard_tensor(parameter, mesh, [wanted(f"{name}.{each}")])
            setattr(layer, each, placed)

    return dist.shard_layer(net, mesh, shard)


def of_mesh(convert: Convert, placement: Any, wanted: Callable[[str], Any]) -> Any:
    mesh = dist.ProcessMesh(list(range(dist.get_world_size())), dim_names=["x"])
    net = convert(sharded(made(), mesh, wanted))
    sgd = paddle.optimizer.SGD(0.05, parameters=net.parameters())
    losses = []
    for number in range(4):
        x = dist.shard_tensor(paddle.ones([8, 4]) * (number + 1), mesh, [placement])
        y = net(x)
        loss = y.square().mean()
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        losses.append(loss.item())
    return [*losses, str(y.placements), y._local_value().tolist()]


@case
def sharded_parameters(convert: Convert) -> Any:
    """Columns of the first layer, rows of the second."""
    places = {"a.weight": dist.Shard(1), "a.bias": dist.Shard(0), "b.weight": dist.Shard(0)}
    return of_mesh(convert, dist.Replicate(), lambda name: places.get(name, dist.Replicate()))


@case
def sharded_batches(convert: Convert) -> Any:
    return of_mesh(convert, dist.Shard(0), lambda name: dist.Replicate())


# -- what is refused -----------------------------------------------------------------------------


def refusal(function: Callable[..., Any], *arguments: Any) -> str:
    """What a function says that is to be one program."""
    try:
        d2s.to_static(function, full_graph=True)(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def refused() -> dict[str, str]:
    x = paddle.ones([4, 4])
    mesh = dist.ProcessMesh(list(range(dist.get_world_size())), dim_names=["x"])
    part = dist.shard_tensor(x, mesh, [dist.Shard(0)])

    def objects(x):
        dist.all_gather_object([], 1)
        return x

    synced = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(paddle.nn.BatchNorm1D(4))
    try:
        synced(x)
        of_dygraph = ""
    except Exception as error:
        of_dygraph = f"{type(error).__name__}: {error}"
    return {
        "inside": refusal(Around(paddle.DataParallel(made())), x),
        "sharded": refusal(lambda a: a * 2, part),
        "objects": refusal(objects, x),
        "sync_batch_norm": refusal(synced, x),
        "sync_batch_norm_in_dygraph": of_dygraph,
    }


def compared(names: list[str]) -> dict[str, Any]:
    whole = functools.partial(d2s.to_static, full_graph=True)
    ways = {"dygraph": lambda it: it, "d2s": d2s.to_static, "whole": whole}
    found: dict[str, Any] = {name: {} for name in ways}
    for name, each in CASES.items():
        if names and name not in names:
            continue
        for way, convert in ways.items():
            if way != "whole" or name in WHOLE:
                found[way][name] = each(convert)
    return {**found, "refused": {} if names else refused()}


WHOLE = {
    *("outside", "no_sync", "uneven_batches", "of_fleet", "a_step_that_averages_gradients"),
    *("all_reduce", "kinds_of_all_reduce", "all_reduce_of_an_argument", "all_reduce_of_a_view"),
    *("all_reduce_in_a_loop", "all_reduce_in_a_group", "broadcast", "all_gather", "scatter"),
    *("send_and_recv", "a_buffer", "gradients", "some_in_dygraph"),
}
"""They are one program."""


def dies() -> None:
    """Rank 1 ends in the middle of a training of all."""
    net = paddle.DataParallel(d2s.to_static(made()))
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    for number, (x, y) in enumerate(batches()):
        if number == 2 and dist.get_rank() == 1:
            os._exit(3)
        F.cross_entropy(net(x), y).backward()
        adam.step()


def raises() -> None:
    """An exception in the program of rank 1, while the others wait for it."""

    def step(x):
        y = x * 2
        dist.all_reduce(y)
        assert x.max() < 2, "rank 1 has a bad batch"
        dist.all_reduce(y)
        return y

    d2s.to_static(step, full_graph=True)(paddle.ones([3]) * (1 + dist.get_rank()))


if __name__ == "__main__":
    what, path, *names = sys.argv[1:]
    if int(os.environ["PADDLE_TRAINERS_NUM"]) == 2:
        fleet.init(is_collective=True)
    else:
        dist.init_parallel_env()
        CASES = {name: each for name, each in CASES.items() if "fleet" not in name}
    FIRST_TWO = dist.new_group([0, 1])
    if what == "compare":
        Path(f"{path}{dist.get_rank()}").write_text(json.dumps(compared(names)))
    else:
        {"dies": dies, "raises": raises}[what]()
