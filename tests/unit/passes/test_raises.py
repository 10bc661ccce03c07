"""What a ``raise`` under a tensor condition raises, and on which runs (rules A1, F1)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


class Stop(BaseException):
    """No ``Exception``: code that guards against errors lets it through."""


def ends(function: Any, x: Any) -> Any:
    try:
        return function(x).tolist()
    except Stop as stop:
        return stop.args


def test_what_is_no_error_is_raised_on_the_run() -> None:
    """F1: of a class or an instance, only on the runs that come to it."""

    def f(x):
        if x.sum() < 0:
            raise Stop("negative")
        if x.sum() > 9:
            raise Stop
        return x * 2

    static = d2s.to_static(f)
    for x in (PLUS, MINUS, PLUS * 9, PLUS):
        assert ends(static, x) == ends(f, x)
    with pytest.raises(Stop):
        static(MINUS)


def test_what_is_no_error_is_caught_on_the_run() -> None:
    """F1: a handler around the branch gets it on the runs that raise it, and on no other."""

    def f(x):
        try:
            if x.sum() < 0:
                raise Stop("negative")
            x = x * 2
        except Stop:
            x = x - 1
        return x

    assert_same(f, PLUS, MINUS)
