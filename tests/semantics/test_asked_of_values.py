"""What code asks of numbers, texts and arrays that the run decides is what dygraph says (A1, E1).

Or it is refused with a code; by default dygraph answers then.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import copy

import numpy as np
import pytest

import d2s
from corpus.facts import facts
from d2s.errors import D2SError
from tests.helpers import function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")

INPUTS = ([1.5, 2.0, 7.0], [-3.25, 2.0, 1.0], [0.0, 0.5, 11.0], [9.5, 12.0, 11.0])

ANSWERED = [
    "k.bit_length(), k.numerator, k.denominator, k.real, k.imag, k.conjugate()",
    "v.real, v.imag, v.conjugate(), v.is_integer()",
    "x.__class__.__name__, k.__class__ is int, v.__class__, s.__class__, a.__class__.__name__",
    "copy.deepcopy(k), copy.deepcopy([k, {'v': v}]), copy.deepcopy((s, x))",
    "{bisect.bisect_right([1, 2, 3, 4], k): 1, k + 1000: 2}",
    "s.startswith('-'), s.find('1'), s.isdigit(), s.count('1'), s.endswith(('0', '2')), len(s)",
    "s == '1', s != '-3', s < '0', '1' in s, s in '-3.0', s in ('0', '9'), s == 1, s not in {'1'}",
    "int(s) + 1, float(s) / 2, int(s, 16), bool(s), s or 'none', s and 'some', not s",
    "s.removeprefix('-'), list(s), [c + '!' for c in s], max(s, '2')",
]
"""What one program knows."""

REFUSED = [
    "v.as_integer_ratio()", "v.hex()", "k.to_bytes(8, 'big', signed=True)", "k.bit_count()",
    "s.split('.')", "s.encode()", "s.join('ab')", "s.partition('.')", "s.isidentifier()",
]  # fmt: skip
"""What Python is asked for."""


def made(expression: str):
    return function_of(
        f"""
        def f(x):
            k = int(x.min()); v = float(x.max()); s = str(k); a = x.numpy()
            return {expression}, x * 2
        """,
        copy=copy,
        bisect=bisect,
    )


def outcome(f, values):
    try:
        return facts("result", f(tensor(*values)))
    except ZeroDivisionError as error:
        return type(error), str(error)


@pytest.mark.parametrize("expression", ANSWERED)
@pytest.mark.parametrize("whole", [True, False])
def test_numbers_and_texts_answer(expression: str, whole: bool) -> None:
    """E1: as Python's own do."""
    plain, f = made(expression), d2s.to_static(made(expression), full_graph=whole)
    for values in INPUTS:
        assert repr(outcome(f, values)) == repr(outcome(plain, values))
    assert f.programs


@pytest.mark.parametrize("expression", REFUSED)
def test_what_only_the_run_knows(expression: str) -> None:
    """E1, H1: a coded error for one program, dygraph by default."""
    with pytest.raises(D2SError) as caught:
        d2s.to_static(made(expression), full_graph=True)(tensor(1.0, 2.0))
    assert caught.value.code == "D2S208"
    assert caught.value.line == 3
    plain, f = made(expression), d2s.to_static(made(expression), full_graph=False)
    for values in INPUTS:
        assert repr(outcome(f, values)) == repr(outcome(plain, values))


def test_texts_have_no_other_methods() -> None:
    """A1: what a text does not have, it does not have."""
    with pytest.raises(AttributeError, match="'str' object has no attribute 'nothing'"):
        d2s.to_static(made("s.nothing()"), full_graph=True)(tensor(1.0))
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'bit_length'"):
        d2s.to_static(made("x.bit_length()"), full_graph=True)(tensor(1.0))


@pytest.mark.parametrize("expression", ["x.append(x)", "x.pop(0)", "getattr(x, 'append')"])
def test_tensors_have_no_methods_of_arrays(expression: str) -> None:
    """A1: values of a program have some that tensors of dygraph have not."""
    plain, f = made(expression), d2s.to_static(made(expression), full_graph=True)
    name = "pop" if "pop" in expression else "append"
    for function in (plain, f):
        with pytest.raises(AttributeError, match=f"'Tensor' object has no attribute '{name}'"):
            function(tensor(1.0))


DIVISIONS = ["1 / k", "1 // k", "1 % k", "v / k", "v // k", "v % k", "1.5 / k", "divmod(7, k)"]


@pytest.mark.parametrize("expression", DIVISIONS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_number_divided_by_zero_raises(expression: str, whole: bool) -> None:
    """A1, F1: on the run whose divisor is zero, again and again, with Python's words."""
    plain, f = made(expression), d2s.to_static(made(expression), full_graph=whole)
    for values in (*INPUTS, *INPUTS):
        assert repr(outcome(f, values)) == repr(outcome(plain, values))


def caught_by_try(x):
    try:
        result = 1 / float(x.min())
    except ZeroDivisionError:
        result = -1.0
    return result * x


def suppressed(x):
    result = x * 1
    with contextlib.suppress(ZeroDivisionError):
        result = result * (1 / float(x.min()))
    return result


def suppressed_before_another(x):
    result = x * 1
    with contextlib.suppress(ZeroDivisionError), contextlib.nullcontext():
        result = result * (1 / float(x.min()))
    return result


@pytest.mark.parametrize("function", [caught_by_try, suppressed, suppressed_before_another])
@pytest.mark.parametrize("whole", [True, False])
def test_who_handles_a_division_by_zero(function, whole: bool) -> None:
    """F1: ``try`` and ``suppress`` see it, the first one of several managers, too."""
    f = d2s.to_static(function, full_graph=whole)
    for values in (*INPUTS, *INPUTS):
        assert f(tensor(*values)).tolist() == function(tensor(*values)).tolist()


def test_an_array_written_before_the_capture_is_given_up() -> None:
    """F4, H1: what a capture has written by other ways than an item is put back."""
    seen = np.arange(4.0)

    def f(x):
        np.negative(seen, out=seen)
        return x * 2 + x.numpy().tobytes()[0]

    static = d2s.to_static(f, full_graph=False)
    for count in range(1, 4):
        static(tensor(1.0))
        assert seen[1] == (-1.0) ** count


def test_numbers_that_no_program_takes_fall_back() -> None:
    """H1: an island that cannot take a number as an input takes its value."""
    edges = [0.25, 0.5, 0.75]

    def bucket(x):
        out = collections.defaultdict(list)
        texts = []
        for index, value in enumerate(x.tolist()):
            place = bisect.bisect_right(edges, value)
            out[place].append(index)
            texts.append(f"{index}:{place}")
            bisect.insort(edges, round(value, 3)) if len(edges) < 5 else None
        return texts, dict(out)

    want = bucket(tensor(0.1, 0.3, 0.6, 0.9))
    edges[:] = [0.25, 0.5, 0.75]
    static = d2s.to_static(bucket, full_graph=False)
    assert static(tensor(0.1, 0.3, 0.6, 0.9)) == want
    assert edges == [0.1, 0.25, 0.3, 0.5, 0.75]
