"""What is converted, forgotten, converted again and made outside of it (rules A4, F3, G2)."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def test_a_function_whose_closure_is_not_complete_yet() -> None:
    """A4: a variable that is bound later is found when it is read."""

    def make() -> Any:
        def early(x):
            return late(x) if x.sum() > 0 else -x

        converted = d2s.convert(early)

        def late(x):
            return x * 3

        return early, converted

    early, converted = make()
    assert converted(PLUS).tolist() == early(PLUS).tolist() == [3.0, 6.0]
    assert_same(early, PLUS, MINUS)


def test_what_is_forgotten_is_converted_again() -> None:
    """G2: the code of a function may go before or after ``clear_cache``; a converted one stays."""

    def make() -> Any:
        return function_of("def f(x):\n    return x * 2 if x.sum() > 0 else -x\n")

    function = make()
    converted = d2s.convert(function)
    d2s.clear_cache()
    assert converted(MINUS).tolist() == [1.0, 2.0]
    del function, converted
    gc.collect()
    assert d2s.convert(make())(PLUS).tolist() == [2.0, 4.0]


def makes_managers(log):
    @contextlib.contextmanager
    def entered(x):
        log.append("in")
        try:
            yield x * 2
        finally:
            log.append("out")

    def use(x):
        with entered(x) as y:
            if y.sum() > 0:
                raise ValueError("on the run")
        return y

    return use


def test_a_manager_of_a_function_whose_conversion_was_forgotten() -> None:
    """F3: the generator is run as it is, or refused; never left half done."""
    for x in (PLUS, MINUS):
        wanted: list[str] = []
        want = _outcome(makes_managers(wanted), x)
        log: list[str] = []
        use = d2s.convert(makes_managers)(log)
        d2s.clear_cache()
        try:
            got = _outcome(d2s.to_static(use), x)
        except D2SError as error:
            assert error.code.startswith("D2S2")  # noqa: PT017
            continue
        assert (got, log) == (want, wanted)


def _outcome(function: Any, x: Any) -> Any:
    try:
        return function(x).tolist()
    except ValueError as error:
        if isinstance(error, D2SError):
            raise
        return str(error)


@contextlib.contextmanager
def noting():
    print("in")
    try:
        yield 2
    except ValueError as error:
        print(error)
    print("out")


def under(x, manager):
    y = x
    with manager as two:
        y = x * two
        if x.sum() > 0:
            raise ValueError("on the run")
        y = y + 1
    return y


def test_a_manager_that_was_made_outside(capfd: Any) -> None:
    """F3: a generator that has not begun is cut as one that the function makes itself."""
    for x in (PLUS, MINUS):
        seen = []
        for function in (under, d2s.to_static(under)):
            seen.append((function(x, noting()).tolist(), capfd.readouterr().out))
        assert seen[0] == seen[1]


def test_managers_without_source_text() -> None:
    """D2S101: a generator that ``exec`` has made cannot be converted; made outside, it cannot be
    cut, and what only the run raises in it is refused.
    """
    scope: dict[str, Any] = {"contextlib": contextlib, "__name__": "made"}
    exec(
        "@contextlib.contextmanager\ndef entered(log):\n    log.append(1)\n    yield 2\n"
        "    log.append(3)\n",
        scope,
    )
    entered = scope["entered"]
    log: list[int] = []
    assert under(MINUS, entered(log)).tolist() == [-1.0, -3.0]
    assert log == [1, 3]
    with pytest.raises(D2SError) as caught:
        d2s.to_static(lambda x: under(x, entered([])))(MINUS)
    assert caught.value.code == "D2S101"
    with pytest.raises(D2SError) as caught:
        d2s.to_static(under)(MINUS, entered([]))
    assert caught.value.code == "D2S205"
