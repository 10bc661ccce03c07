"""Names of tensors that are results of programs, where another program reads them (G1)."""

from __future__ import annotations

import paddle
import pytest

from d2s import paddle_bridge as bridge
from d2s.paddle_bridge.capturing.variables import rename_result


def test_each_has_one_of_its_own() -> None:
    """G1: also where a capture gives Paddle's numbers of names back."""
    results = [paddle.ones([size]) for size in (2, 3, 4)]
    for result in results:
        result.name = "output_0"
        with bridge.names_kept():
            rename_result(result)
    assert len({result.name for result in results}) == 3
    assert not any(result.name.startswith("output") for result in results)


@pytest.mark.parametrize("name", ["linear_0.w_0", "output", "outputs_1", "x"])
def test_other_names_stay(name: str) -> None:
    """G1: optimizers and saved files go by them."""
    tensor = paddle.ones([2])
    tensor.name = name
    rename_result(tensor)
    assert tensor.name == name
