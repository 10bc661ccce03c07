"""Tensors as keys of dicts and in sets, and their ``id``: as in dygraph (A1, B4, F3)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor

XS = [tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(1.0, 2.0, 3.0)]


def shown(thing: Any) -> Any:
    if isinstance(thing, paddle.Tensor):
        return "Tensor", thing.stop_gradient, thing.tolist()
    if isinstance(thing, dict):
        return "dict", [(shown(key), shown(value)) for key, value in thing.items()]
    if isinstance(thing, set | frozenset):
        return type(thing).__name__, sorted(repr(shown(item)) for item in thing)
    if isinstance(thing, list | tuple):
        return type(thing).__name__, [shown(item) for item in thing]
    return type(thing).__name__, thing


def results(body: str, convert: Any) -> list[Any]:
    """What three calls of a function give, and the state behind them."""
    buf, other = tensor(1.0, 1.0, 1.0), tensor(2.0, 2.0, 2.0)
    state = {
        "buf": buf,
        "other": other,
        "table": {buf: 1, other: 2},
        "known": {buf},
        "ids": {id(buf): 5, id(other): 6},
    }
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    f = convert(function_of(f"def f(x):\n{lines}", paddle=paddle, **state))
    found = [shown(f(x.clone())) for x in XS]
    return [found, shown([state["table"], state["known"], buf])]


def one_program(f: Any) -> Any:
    return d2s.to_static(f, full_graph=True)


CHANGES = {
    "add_": "{0}.add_(x)",
    "an item": "{0}[0] = 5",
    "set_value": "{0}.set_value(x)",
    "in a branch": "if x.sum() > 0:\n    {0}.add_(x)",
    "in a loop": "for i in range(2):\n    {0}.add_(x)",
}
ASKED = {
    "items": "table[{0}], table.get({0}), table.get({0}, 7)",
    "in": "{0} in table, {0} in known, {0} not in known, {0} in table.keys()",
    "id": "ids.get(id({0})), id({0}) == before, id({0}) == id({0})",
    "is": "[k is {0} for k in table], {0} is {0}",
    "new displays": "{{{0}: 3}}[{0}], {0} in {{{0}}}, len({{{0}, {0}}}), len({{{0}: 1, {0}: 2}})",
    "stored": "table.setdefault({0}, 9), table.update({{{0}: 4}}), known.add({0}), len(known)",
    "sets": "known.union({{{0}}}), known.difference({{{0}}}), known.isdisjoint({{{0}}})",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("change", CHANGES)
def test_the_state_changed_in_place(change: str, asked: str) -> None:
    """F3, B4: a tensor of the state stays the key that it is."""
    body = f"before = id(buf)\n{CHANGES[change]}\nreturn x, {ASKED[asked]}"
    body = body.format("buf")
    whole = lambda f: d2s.to_static(f, full_graph=True)
    assert results(body, one_program) == results(body, lambda f: f)


@pytest.mark.parametrize(
    "asked", ["table[y], table.get(y)", "y in table, y in known", "ids[id(y)]"]
)
@pytest.mark.parametrize("change", ["y.add_(x)", "y[0] = 5", "if x.sum() > 0:\n    y.add_(x)"])
@pytest.mark.parametrize("made", ["x * 1", "x"])
def test_a_tensor_of_the_function_changed_in_place(made: str, change: str, asked: str) -> None:
    """B4: so does one that the function has made, and an argument."""
    if "if" in change and "id" in asked and made != "x":
        change = "y.add_(x)"
    body = (
        f"y = {made}\ntable, known, ids = {{y: 1}}, {{y}}, {{id(y): 2}}\n{change}\nreturn {asked}"
    )
    whole = lambda f: d2s.to_static(f, full_graph=True)
    assert results(body, one_program) == results(body, lambda f: f)


CHOSEN = {
    "a key": "y = buf if x.sum() > 0 else other\nreturn table[y], x",
    "with a default": "y = x\nif x.sum() > 0:\n    y = buf\nreturn table.get(y), x",
    "in a set": "y = buf if x.sum() > 0 else other\nreturn y in known, x",
    "in a set of the function's": "y = x if x.sum() > 0 else x * 2\nreturn y in {x}, y",
    "an item of a display": "y = x if x.sum() > 0 else x * 2\nreturn len({y, x}), y",
    "what is stored": "y = buf if x.sum() > 0 else other\nreturn {y: 1}.get(buf), x",
    "added": "y = buf if x.sum() > 0 else other\nknown.add(y)\nreturn len(known), x",
    "its id": "y = buf if x.sum() > 0 else other\nreturn ids[id(y)], x",
    "the greatest": "y = max([buf, other], key=lambda t: (t * x).sum())\nreturn table[y], x",
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_tensor_that_a_tensor_has_chosen(name: str) -> None:
    """B5: which key it is only the run knows: refused; by default as in dygraph."""
    with pytest.raises(UnsupportedInGraphError, match="which one it is only the run knows"):
        results(CHOSEN[name], one_program)
    with pytest.warns(d2s.errors.BreakWarning):
        found = results(CHOSEN[name], lambda f: d2s.to_static(f, full_graph=False))
    assert found == results(CHOSEN[name], lambda f: f)


FRESH = [
    "y = x + 1 if x.sum() > 0 else x * 2\nd = {y: 1}\nreturn d[y], y in d, len({y, x}), x in d",
    "y = x + 1 if x.sum() > 0 else x * 2\nreturn id(y) == id(y), id(y) == id(x)",
    "y = x.clone()\nwhile y.sum() < 9:\n    y = y + 3\nd = {y: 1}\nreturn d[y], y in {buf}",
    "y = buf if x.sum() > 0 else other\nreturn y in {x: 1}, y * 1",
]


@pytest.mark.parametrize("body", FRESH)
def test_a_tensor_that_is_no_other_one(body: str) -> None:
    """B5: one that the branch has made, or that is none of the keys, is a key as others are."""
    whole = lambda f: d2s.to_static(f, full_graph=True)
    assert results(body, one_program) == results(body, lambda f: f)


LEFT = [
    "y = x * 2\nreturn {y: 1}, y",
    "return {x: 1, buf: 2}",
    "y = x * 2\nreturn [{y: x}, {(y, 1): 2}]",
    "y = x * 2\nd = {}\nd[y] = x\nreturn d, {k: v for k, v in d.items()}",
    "table[x * 2] = 3\nreturn len(table)",
    "table[x * 2, 1] = x\nreturn len(table)",
    "known.add(x * 2)\nreturn len(known)",
    "table.pop(buf, None)\nreturn len(table), x",
    "if buf in table:\n    del table[buf]\nreturn len(table), x",
    "known.discard(buf)\nreturn len(known), x",
]


@pytest.mark.parametrize("body", LEFT)
@pytest.mark.parametrize("full_graph", [True, False])
def test_keys_that_leave_the_function(body: str, full_graph: bool) -> None:
    """G1, F3, G2: results and state hold tensors of the run; programs tell them apart."""
    found = results(body, lambda f: d2s.to_static(f, full_graph=full_graph))
    assert found == results(body, lambda f: f)


def test_one_key_in_a_result_and_beside_it() -> None:
    """G1: the key is the very tensor that is returned beside the dict."""

    @d2s.to_static(full_graph=True)
    def f(x: Any) -> Any:
        y = x * 2
        return {y: 1}, y

    table, y = f(XS[0])
    assert table[y] == 1
