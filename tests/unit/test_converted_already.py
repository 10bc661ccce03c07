"""Public functions on what is static already, and what they refuse (rules A1, E2, G1, G3)."""

from __future__ import annotations

import functools
import io
import sys
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ArgumentsError, D2SError, SaveError
from tests.helpers import assert_same, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


SPEC = paddle.static.InputSpec([None], "float32", "x")


def branchy(x):
    if x.sum() > 0:
        return x * 2
    return -x


class Net(paddle.nn.Layer):
    def forward(self, x):
        return branchy(x) + 1


class Called:
    def __call__(self, x):
        return branchy(x) + 1

    @staticmethod
    def plain(x):
        return branchy(x) - 1


def test_to_static_of_what_is_static() -> None:
    """G1, G3: it is the same; with options there is another, of the function as it was written."""
    static = d2s.to_static(branchy, input_spec=[SPEC])
    assert d2s.to_static(static) is static
    checked = d2s.to_static(static, check=True)
    assert checked is not static
    assert checked.dygraph_function is branchy
    assert [spec.shape for spec in checked.programs] == []
    assert_same(branchy, PLUS, MINUS, static=checked)
    assert checked.concrete_program.inputs[0].shape[0] == -1
    fixed = d2s.to_static(static, input_spec=[paddle.static.InputSpec([2], "float32", "x")])
    assert fixed.concrete_program.inputs[0].shape[0] == 2
    paddles = paddle.jit.to_static(branchy, full_graph=True)
    ours = d2s.to_static(paddles)
    assert ours.dygraph_function is branchy
    assert_same(branchy, PLUS, MINUS, static=ours)


def test_to_static_of_layers_that_are_static() -> None:
    """G1: a layer of ours with other options, and one that Paddle has converted."""
    ours = d2s.to_static(Net(), input_spec=[SPEC])
    before = ours.forward
    assert d2s.to_static(ours, check=True) is ours
    assert ours.forward is not before
    assert_same(Net(), PLUS, MINUS, static=ours)
    assert ours.forward.concrete_program.inputs[-1].shape[0] == -1
    paddles = paddle.jit.to_static(Net(), full_graph=True)
    assert d2s.to_static(paddles) is paddles
    assert_same(Net(), PLUS, MINUS, static=paddles)
    assert "d2s.if_" in d2s.code(branchy)


def test_convert_of_what_is_static() -> None:
    """A1: the rewritten function of what was given to ``to_static``."""
    assert d2s.convert(d2s.to_static(branchy))(MINUS).tolist() == [1.0, 2.0]


def test_the_code_of_what_wraps_a_function() -> None:
    """``d2s.code`` finds the plain function in all that ``to_static`` and ``convert`` take."""
    text = d2s.code(branchy)
    paddles = paddle.jit.to_static(branchy, full_graph=True)
    for wrapped in (d2s.to_static(branchy), paddles, functools.partial(branchy, PLUS)):
        assert d2s.code(wrapped) == text
    assert "branchy)(x) + 1" in d2s.code(Called())
    assert "branchy)(x) - 1" in d2s.code(vars(Called)["plain"])


def test_the_forms_of_a_dump() -> None:
    """``d2s.dump`` prints one of four forms; two at once are refused (D2S301)."""

    def dumped(**options: Any) -> str:
        out = io.StringIO()
        d2s.dump(branchy, file=out, **options)
        return out.getvalue()

    texts = [
        dumped(),
        dumped(side_by_side=True),
        dumped(passes=True),
        dumped(program=True, input_spec=[SPEC]),
    ]
    assert len(set(texts)) == 4
    assert all("d2s.if_" in text for text in texts[:3])
    assert "pd_op.if" in texts[3]
    with pytest.raises(ArgumentsError, match="more than one form") as caught:
        dumped(passes=True, program=True)
    assert caught.value.code == "D2S301"


def test_a_package_that_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E2: the functions of its modules are called as they are."""
    folder = tmp_path / "rare_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "inner.py").write_text(
        "def decide(x):\n    return x * 2 if x.sum() > 0 else x\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import rare_package.inner  # type: ignore[import-not-found]

    def f(x):
        return rare_package.inner.decide(x)

    assert_same(f, PLUS, MINUS)
    d2s.ignore_module(rare_package)
    with pytest.raises(D2SError) as caught:
        d2s.to_static(f)(PLUS)
    assert caught.value.code == "D2S205"
    for name in ("rare_package", "rare_package.inner"):
        sys.modules.pop(name)


def test_a_path_that_names_no_file_is_refused(tmp_path: Path) -> None:
    """D2S401: Paddle's own reason is in the message."""
    static = d2s.to_static(branchy, input_spec=[SPEC])
    with pytest.raises(SaveError, match="Paddle cannot save this program") as caught:
        d2s.save(static, f"{tmp_path}/")
    assert caught.value.cure is not None
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path
