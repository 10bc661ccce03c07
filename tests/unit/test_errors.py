"""Errors speak of the user's code: a place, a cause, a cure and a code, in one or two lines."""

from __future__ import annotations

import inspect
import re

import paddle
import pytest

import d2s
import d2s.errors
from d2s import paddle_bridge as bridge
from d2s.errors import D2SError, PaddleVersionError

KINDS = [
    kind
    for _, kind in inspect.getmembers(d2s.errors, inspect.isclass)
    if issubclass(kind, D2SError) and kind is not D2SError
]
X = paddle.to_tensor([1.0, 2.0])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_error_has_a_code_of_its_own(kind: type[D2SError]) -> None:
    assert re.fullmatch(r"D2S[1-9]\d\d", kind.code)
    assert [other.code for other in KINDS].count(kind.code) == 1
    assert kind.__doc__
    assert kind.__name__.endswith("Error")


def test_the_text_is_place_cause_cure_code() -> None:
    error = d2s.errors.NoSourceError("it is gone", cure="look again", file="a.py", line=3)
    assert str(error) == "a.py:3: it is gone\n  cure: look again  [D2S101]"
    assert str(d2s.errors.NoSourceError("it is gone")) == "it is gone  [D2S101]"
    assert error.as_dict() == {
        "code": "D2S101", "severity": "error", "cause": "it is gone", "cure": "look again",
        "file": "a.py", "line": 3, "column": None, "end_column": None, "table": [],
        "docs": "errors/D2S101.md",
    }  # fmt: skip


def plain(x):
    return x


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: d2s.to_static(len), "D2S102"),
        (lambda: d2s.to_static(int), "D2S102"),
        (lambda: d2s.to_static(paddle.nn.Linear), "D2S102"),
        (lambda: d2s.to_static("def f(): pass"), "D2S102"),
        (lambda: d2s.to_static(3), "D2S102"),
        (lambda: d2s.convert(None), "D2S102"),
        (lambda: d2s.code(print), "D2S102"),
        (lambda: d2s.code(eval("lambda x: x")), "D2S101"),
        (lambda: d2s.convert(eval("lambda x: x")), "D2S101"),
        (lambda: d2s.ignore_module("paddle"), "D2S102"),
        (lambda: d2s.to_static(plain, input_spec=[1, 2, 3])(X), "D2S302"),
        (lambda: d2s.to_static(plain, input_spec=["x"])(X), "D2S302"),
        (
            lambda: d2s.to_static(plain, input_spec=[paddle.static.InputSpec([3], "float32")])(X),
            "D2S302",
        ),
        (
            lambda: d2s.to_static(plain, input_spec=[paddle.static.InputSpec([2], "int64")])(X),
            "D2S302",
        ),
        (lambda: d2s.to_static(plain).concrete_program, "D2S303"),
        (lambda: d2s.to_static(plain, full_graph="no"), "D2S301"),
        (lambda: d2s.to_static(plain, chek=True), "D2S301"),
        (lambda: d2s.save(3, "somewhere"), "D2S401"),
        (lambda: d2s.load("/nowhere/at/all"), "D2S402"),
        (lambda: bridge.check_version("2.6.2"), "D2S104"),
        (lambda: bridge.check_version("3.0.0"), "D2S104"),
        (lambda: bridge.check_version("3.1.0"), "D2S104"),
        (lambda: bridge.check_version("4.0.0"), "D2S104"),
    ],
)
def test_bad_input_has_a_code_and_a_cure(make, code: str) -> None:
    with pytest.raises(D2SError) as caught:
        make()
    error = caught.value
    assert error.code == code
    lines = str(error).splitlines()
    assert 1 <= len(lines) <= 2, lines
    assert lines[-1].endswith(f"[{code}]")
    assert error.cure
    assert "\n" not in error.cause


@pytest.mark.parametrize(("args", "kwargs"), [((), {}), ((X, X), {}), ((X,), {"wrong": 1})])
def test_arguments_that_do_not_fit(args, kwargs) -> None:
    """G1: a TypeError as the function itself raises, which names the function."""
    with pytest.raises(TypeError):
        plain(*args, **kwargs)
    with pytest.raises(TypeError, match=r"plain\(\)"):
        d2s.to_static(plain)(*args, **kwargs)


@pytest.mark.parametrize("version", ["3.1.1", "3.2.0", "3.3.1", "3.3.1.post1", "0.0.0"])
@pytest.mark.filterwarnings("error")
def test_versions_that_may_work(version: str) -> None:
    bridge.check_version(version)


def test_a_newer_version_is_told_of() -> None:
    """It may work: what it lacks is found when it is asked for."""
    with pytest.warns(UserWarning, match=r"not tried with Paddle 3\.4\.0"):
        bridge.check_version("3.4.0")


def test_another_version_names_itself_and_the_cure() -> None:
    """D2S104: which Paddle it is, and how to get one that works."""
    with pytest.raises(PaddleVersionError) as caught:
        bridge.check_version("2.6.2")
    assert "2.6.2" in str(caught.value)
    assert "pip install" in caught.value.cure
    assert isinstance(caught.value, ImportError)


def test_static_mode_is_refused() -> None:
    """D2S306."""
    static = d2s.to_static(plain)
    paddle.enable_static()
    try:
        with pytest.raises(D2SError) as caught:
            static(X)
    finally:
        paddle.disable_static()
    assert caught.value.code == "D2S306"
