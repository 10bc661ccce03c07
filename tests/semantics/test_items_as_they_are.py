"""An object taken out of a list, of which a tensor decides what it holds, is the item (B4, G1).

What is changed of it is changed in the list, whichever way it was taken: by a variable, an
expression with ``if``, ``next`` or ``max``.
"""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor


@dataclasses.dataclass
class Note:
    pitch: Any
    length: Any = 1


class Plain:
    def __init__(self, pitch: Any, length: Any = 1) -> None:
        self.pitch = pitch
        self.length = length


MADE = {
    "of one or two": """
        out = [Note(0)]
        if x[0] > 0.5:
            out.append(Note(1))
    """,
    "of several branches": """
        out = []
        for k in range(3):
            if x[k] > 0.5 or not out:
                out.append(Note(k))
    """,
    "of a static loop": """
        out, k = [Note(9)], paddle.zeros([], "int64")
        while k < 3 * x[0]:
            out.append(Note(int(k)))
            k = k + 1
    """,
}

CHANGED = {
    "an item": "out[-1].length += 1",
    "a variable": "last = out[-1]\nlast.length += 1",
    "in a branch": "last = out[-1]\nif x[1] > 0.5:\n    last.length += 1",
    "the last or none": (
        "last = out[-1] if len(out) > 1 else None\nif last is not None:\n    last.length += 1"
    ),
    "one of two": "last = out[-1] if x[1] > 0.5 else out[0]\nlast.length += 1",
    "the first that fits": (
        "n = next((n for n in out if n.pitch == 1), None)\nif n is not None:\n    n.length += 1"
    ),
    "the greatest": "max(out, key=lambda n: n.pitch).length += 1",
    "found by a loop": (
        "found = None\nfor n in out:\n    if n.pitch > 0:\n        found = n\n"
        "if found is not None:\n    found.length += 1"
    ),
    "two of them": "a, b = out[0], out[-1]\na.length += 1\nb.length += 2",
    "a tensor": "last = out[-1]\nlast.length = last.length + x[2]",
}


@pytest.mark.sampled(4, also=["the last or none-of a static loop", "an item-of one or two"])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("changed", CHANGED)
def test_what_is_changed_of_an_item(changed: str, made: str) -> None:
    """B4, G1: by whatever name it is known; compared as a list, and attribute by attribute."""
    for kind in (Note, Plain):
        body = textwrap.dedent(MADE[made]) + CHANGED[changed]
        give = "return [(n.pitch, n.length) for n in out], out[-1].length, len(out)"
        text = f"def f(x):\n{textwrap.indent(body, '    ')}\n    {give}"
        function = function_of(text, Note=kind)
        assert_same(
            function,
            tensor(0.9, 0.9, 0.2),
            tensor(0.2, 0.7, 0.8),
            tensor(0.8, 0.1, 0.3),
            grad=False,
        )


RUNS = {
    "grouped": """
        for k in range(len(x)):
            last = out[-1] if out else None
            if last is not None and last.pitch == int(x[k] * 2):
                last.length += 1
            else:
                out.append(Note(int(x[k] * 2)))
    """,
    "found before": """
        for v in x:
            n = next((n for n in out if n.pitch == int(v * 2)), None)
            if n is None:
                out.append(Note(int(v * 2)))
            else:
                n.length += 1
    """,
    "the shortest": """
        for k in range(len(x)):
            n = min(out, key=lambda n: n.length) if out else None
            if n is None or x[k] > 0.6:
                out.append(Note(k))
            else:
                n.length += 1
    """,
}


@pytest.mark.parametrize("name", RUNS)
def test_items_that_grow_in_a_loop(name: str) -> None:
    """C3, G1: also where the number of trips is one of the run."""
    body = textwrap.indent(textwrap.dedent(RUNS[name]), "    ")
    give = "return [(n.pitch, n.length) for n in out]"
    function = function_of(f"def f(x):\n    out = []\n{body}\n    {give}", Note=Note)
    sizes = (6, 6, 5, 4, 6)
    assert_same(
        function,
        *(paddle.to_tensor([(k * 7 + n) % 10 / 10 for k in range(n)]) for n in sizes),
        grad=False,
    )


KNOWN_BESIDES = {
    "a dict of a branch": (
        "if cur is None or x[k] > 0.5:\n    cur = {'n': 0}\n    out.append(cur)\n"
        "else:\n    cur['n'] += 1",
        "return [c['n'] for c in out]",
    ),
    "a list of a branch": (
        "if cur is None or x[k] > 0.5:\n    cur = [k]\n    out.append(cur)\n"
        "else:\n    cur.append(k)",
        "return [len(c) for c in out]",
    ),
    "the best one": (
        "e = {'v': x[k], 'n': 0}\nif cur is None or x[k] > cur['v']:\n    cur = e\nout.append(e)",
        "if cur is not None:\n    cur['n'] = 9\nreturn [c['n'] for c in out]",
    ),
    "changed behind the loop": (
        "if x[k] > 0.5:\n    cur = [1]\n    out.append(cur)",
        "if cur is not None:\n    cur[0] = 7\nreturn out",
    ),
}


@pytest.mark.parametrize("name", KNOWN_BESIDES)
def test_a_container_that_is_an_item_too(name: str) -> None:
    """B4, H1: a change that the list would not see is refused in one program."""
    trip, behind = (textwrap.indent(part, "    ") for part in KNOWN_BESIDES[name])
    function = function_of(
        "def f(x):\n    cur, out, k = None, [], paddle.zeros([], 'int64')\n"
        f"    while k < x.shape[0] + 0 * k:\n{textwrap.indent(trip, '    ')}\n"
        f"        k = k + 1\n{behind}"
    )
    with pytest.raises(ContainerInGraphError):
        d2s.to_static(function, full_graph=True)(tensor(0.9, 0.2, 0.8))
    static = d2s.to_static(function, full_graph=False)
    assert_same(function, tensor(0.9, 0.2, 0.8), tensor(0.1, 0.2, 0.3), grad=False, static=static)
