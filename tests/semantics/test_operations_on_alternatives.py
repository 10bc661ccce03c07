"""Every operator and method of texts, bytes and tuples one of which a tensor chooses (rule B6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import d2s
from d2s.errors import D2SError, DefectError
from tests.helpers import function_of, tensor

KINDS = {
    "str": ("'B-X'", "'O'"),
    "bytes": ("b'ab'", "b'xyz'"),
    "tuple": ("(1, 2)", "(3, 4, 1)"),
    "tuple of one length": ("('a', 'b')", "('c', 'd')"),
    "int": ("3", "5"),
    "str or None": ("None", "'a'"),
}

OPERATIONS = """
    t + t; t * 2; 2 * t; t == t; t != 'O'; t < t; t[0]; t[-1]; t[0:1]; t[::-1]; len(t); t in 'OB-X'
    t[0] in 'OB'; 'B' in t; b'a' in t; 1 in t; 97 in t; t[0] in t; t not in 'OB'; t in b'ab'
    t in ('O', (1, 2), b'ab'); t in {'O', (1, 2), b'ab'}; t in {'O': 1}; 'x' in (t,); list(t)
    tuple(t); set(t); sorted(t); [c for c in t]; min(t); max(t); sum(t); any(t); bool(t); not t
    t and 1; t or 1; repr(t); str(t); f'{t!r:>8}'; '%s' % (t,); type(t); isinstance(t, str)
    t is None; {t: 1}[t]; {'O': 1, 'B-X': 2}.get(t); (t, 1); 'O' + t; b'a' + t; (9,) + t
    '-'.join(t); int(t); float(t); abs(t); -t; ~t; ord(t[0]); t | t; t & t; t - t; t ^ t; len({t})
    [*t, 9]; callable(t)
    divmod(t, 2); pow(t, 2); bytes(t); memoryview(t); reversed(t); list(zip(t, t))
    1 if t else 2; str.upper(t); hasattr(t, 'upper'); list(enumerate(t)); t // 2; t / 2
"""

ARGUMENTS = ("", "'B'", "'O', 'X'", "1", "['a', 'b']", "{66: 'c'}", "'utf-8'", "b'a'", "b'a', b'z'")


def _works(operation: str, value: object) -> bool:
    try:
        eval(operation, {"t": value})
    except Exception:
        return False
    return True


def _cases() -> Iterator[tuple[str, str]]:
    """Operations, and a call of each method, that work for one of the alternatives."""
    for kind, texts in KINDS.items():
        values = [eval(text) for text in texts]
        for operation in filter(None, map(str.strip, OPERATIONS.replace("\n", ";").split(";"))):
            if any(_works(operation, value) for value in values):
                yield kind, operation
        for name in dir(values[1]):
            calls = [] if name.startswith("_") else [f"t.{name}({given})" for given in ARGUMENTS]
            known = [call for call in calls if any(_works(call, value) for value in values)]
            yield from ((kind, call) for call in known[:1])


def _outcome(function: Any, x: Any) -> Any:
    try:
        made = function(x)
    except D2SError as error:
        return error
    except Exception as error:
        return type(error).__name__
    return type(made), list(made) if type(made).__name__.endswith("iterator") else made


@pytest.mark.parametrize(("kind", "operation"), _cases())
def test_an_operation_on_one_of_several(kind: str, operation: str) -> None:
    """B6: the result of each alternative is that of Python, or the operation is refused."""
    first, second = KINDS[kind]
    function = function_of(
        f"def f(x):\n    t = {first} if x[0] > 0 else {second}\n    r = {operation}\n    return r"
    )
    static = d2s.to_static(function, full_graph=True)
    for x in (tensor(1.0), tensor(-1.0)):
        got = _outcome(static, x)
        assert not isinstance(got, DefectError), got
        if not isinstance(got, D2SError):
            assert got == _outcome(function, x)
        assert "Choice" not in str(got)


@pytest.mark.parametrize(
    ("first", "second"), [("'ab'", "'c'"), ("['a', 'b']", "['a']"), ("{'a': 1}", "{}")]
)
def test_what_a_refusal_says_of_several_things(first: str, second: str) -> None:
    """G4: no name of ours, and a cure that speaks of no dtype where nothing has one."""
    function = function_of(
        f"def f(x):\n    t = {first} if x[0] > 0 else {second}\n    return zip(*t)"
    )
    with pytest.raises(D2SError) as caught:
        d2s.to_static(function, full_graph=True)(tensor(1.0))
    assert "'value'" not in str(caught.value)
    assert "dtype" not in caught.value.cure or "items one type, dtype" in caught.value.cure
