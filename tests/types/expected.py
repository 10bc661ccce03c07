"""What type checkers say of code that uses d2s; ``test_types.py`` runs mypy and pyright on it.

``# is: T`` at a ``reveal_type`` is the type, in words both can say; ``# error`` is a line with an
error, ``# mypy error`` and ``# pyright error`` one that only this reports; no other line has one.
Nothing here is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import Tensor
from paddle.static import InputSpec

import d2s

if TYPE_CHECKING:
    from typing_extensions import reveal_type


@d2s.to_static
def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by


reveal_type(scaled)  # is: StaticFunction[(x: Tensor, by: float = ...), Tensor]
reveal_type(scaled(paddle.ones([2])))  # is: Tensor
reveal_type(scaled.code)  # is: str
reveal_type(scaled.programs[0].reason)  # is: str
reveal_type(scaled.breaks[0].line)  # is: int
reveal_type(scaled.captures)  # is: int
reveal_type(scaled.get_traced_count())  # is: int
scaled(3)  # error
scaled(paddle.ones([2]), bye=2.0)  # error
scaled.program  # error


@d2s.to_static(input_spec=[InputSpec([None, 4])], full_graph=True, check=True)
def doubled(x: Tensor) -> list[Tensor]:
    return [x, x]


reveal_type(doubled)  # is: StaticFunction[(x: Tensor), list[Tensor]]
doubled()  # error
d2s.to_static(scaled, full_grap=True)  # error
d2s.to_static(full_graph="yes")  # error
d2s.to_static(input_specs=[])  # error
d2s.to_static(scaled, None, None, "TVM")  # error


class Net(paddle.nn.Layer):
    size: int = 3

    @d2s.to_static
    def forward(self, x: Tensor) -> Tensor:  # pyright error: a method, overridden by an object
        return x

    @d2s.to_static(full_graph=True)
    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y).mean()

    @staticmethod
    @d2s.to_static
    def of_class(x: Tensor) -> int:
        return 1

    @classmethod
    @d2s.to_static
    def of_kind(cls, x: Tensor) -> str:
        return "x"


net = Net()
reveal_type(net.loss)  # is: StaticFunction[(x: Tensor, y: Tensor), Tensor]
reveal_type(Net.loss)  # is: StaticFunction[(self: Net, x: Tensor, y: Tensor), Tensor]
reveal_type(net.forward(paddle.ones([2])))  # is: Tensor
reveal_type(net.forward.code)  # is: str
net.of_class(paddle.ones([2]))  # mypy error: it binds a static method
Net.of_kind(paddle.ones([2]))  # error: no checker binds a class method
net.loss(paddle.ones([2]))  # error
net.loss(paddle.ones([2]), 3)  # error

converted = d2s.to_static(Net(), input_spec=[InputSpec([None, 4])])
reveal_type(converted)  # is: Net
reveal_type(converted.size)  # is: int
reveal_type(d2s.to_static(full_graph=True)(Net()))  # is: Net


def takes(function: d2s.StaticFunction[[Tensor, Tensor], Tensor]) -> None:
    reveal_type(function(paddle.ones([1]), paddle.ones([1])))  # is: Tensor


takes(net.loss)
takes(doubled)  # error


@d2s.to_static
async def served(x: Tensor) -> Tensor:
    return x


async def serve() -> None:
    reveal_type(await served(paddle.ones([1])))  # is: Tensor


@d2s.not_to_static
def left(x: Tensor) -> int:
    return 1


reveal_type(left(paddle.ones([1])))  # is: int
reveal_type(d2s.convert(left)(paddle.ones([1])))  # is: int
d2s.save(net, "net", input_spec=[InputSpec([None, 4])], with_hook=True)
d2s.save(net, "net", input_specs=[])  # error
with d2s.options(full_graph=True, log="capture"):
    pass
with d2s.options(full_grap=True):  # error
    pass
