"""What a saved program prints (rules F1, G3)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import LoweredEffectWarning
from tests.helpers import function_of, tensor

X = tensor(1.0, 2.0)


def test_containers_that_a_saved_program_prints(tmp_path) -> None:
    """F1, G3: a print in a saved program is lowered with a warning, whatever holds its tensors."""
    f = function_of("""
        def f(x):
            seen = []
            for i in range(x.shape[0]):
                if x[i] > 0:
                    seen.append(x[i])
            print(f"{x.sum()} and {[x, 1]}", {"x": x, "n": 3}, seen, "text")
            return x * 2
    """)
    with pytest.warns(LoweredEffectWarning):
        d2s.save(f, str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([2], "float32")])
    loaded = d2s.load(str(tmp_path / "f"))
    assert loaded(X).tolist() == [2.0, 4.0]
