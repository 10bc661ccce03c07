"""``d2s.patch_paddle``: Paddle's ``to_static`` is ours, everywhere, until it is undone."""

from __future__ import annotations

import types

import paddle
import pytest

import d2s
from d2s.program.static_function import StaticFunction
from tests.helpers import tensor

KEPT = (paddle.jit.to_static,)


def shrink(x):
    while x.abs().max() > 1:
        x = x * 0.5
    return x


def test_within_a_with_statement() -> None:
    with d2s.patch_paddle():
        assert isinstance(paddle.jit.to_static(shrink), StaticFunction)
        assert paddle.jit.to_static is not KEPT[0]
    assert paddle.jit.to_static is KEPT[0]


def test_as_a_function() -> None:
    patch = d2s.patch_paddle()
    try:
        assert paddle.jit.to_static is not KEPT[0]
    finally:
        patch.undo()
    patch.undo()  # a second time does nothing
    assert paddle.jit.to_static is KEPT[0]


def test_modules_that_have_imported_it_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """``from paddle.jit import to_static as static`` before the patch."""
    import sys

    module = types.ModuleType("somebody_elses")
    module.static = KEPT[0]
    monkeypatch.setitem(sys.modules, "somebody_elses", module)
    with d2s.patch_paddle():
        assert isinstance(module.static(shrink), StaticFunction)
    assert module.static is KEPT[0]


def test_one_in_the_other() -> None:
    with d2s.patch_paddle():
        first = paddle.jit.to_static
        with d2s.patch_paddle():
            assert isinstance(paddle.jit.to_static(shrink), StaticFunction)
        assert paddle.jit.to_static == first
    assert paddle.jit.to_static is KEPT[0]


def test_an_error_undoes_it() -> None:
    with pytest.raises(ValueError, match="mine"), d2s.patch_paddle():
        raise ValueError("mine")
    assert paddle.jit.to_static is KEPT[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"backend": "CINN"},
        {"backend": None},
        {"build_strategy": paddle.static.BuildStrategy()},
        {"full_graph": True},
        {"full_graph": False},
        {"input_spec": [paddle.static.InputSpec([None], "float32")]},
    ],
)
def test_options_of_paddle(options) -> None:
    """None of them is an error; those that are left out are counted."""
    with d2s.patch_paddle() as patch:
        plain = paddle.jit.to_static(shrink, **options)
        decorated = paddle.jit.to_static(**options)(shrink)
    for static in (plain, decorated):
        assert static(tensor(4.0, 1.0)).tolist() == [1.0, 0.25]
    assert set(patch.left_out) <= set(options) - {"input_spec"}
    assert all(count == 2 for count in patch.left_out.values())


def test_options_by_position() -> None:
    with d2s.patch_paddle() as patch:
        static = paddle.jit.to_static(shrink, None, paddle.static.BuildStrategy(), "CINN")
    assert isinstance(static, StaticFunction)
    assert patch.left_out == {"build_strategy": 1, "backend": 1}


def test_layers_and_what_is_left_out_of_them() -> None:
    """``paddle.jit.not_to_static`` is d2s's, too."""
    with d2s.patch_paddle():

        @paddle.jit.not_to_static
        def plain(x):
            return x

        class Net(paddle.nn.Layer):
            @paddle.jit.to_static
            def forward(self, x):
                return plain(shrink(x))

        net = Net()
        assert net(tensor(4.0)).tolist() == [1.0]
        assert isinstance(net.forward, StaticFunction)
    assert plain(3) == 3
