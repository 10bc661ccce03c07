"""Deques that a tensor changes or replaces: windows, queues, caches (rules D1, B4)."""

from __future__ import annotations

import collections

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [
    tensor(0.55, 0.72, 0.6, 0.54, 0.42, 0.65, 0.44, 0.89),
    tensor(0.42, 0.72, 0.01, 0.3, 0.15, 0.09, 0.19, 0.35),
    tensor(0.97, 0.55, 0.97, 0.71, 0.7, 0.22, 0.98, 0.01),
]

WINDOW = """
def f(x):
    w = deque(maxlen=3)
    for i in range(8):
        if x[i] > 0.5:
            w.append({item})
    {end}
"""

BODIES = {
    "replaced under a condition": """
def f(x):
    w, t = deque(maxlen=4), 0.0
    for v in x:
        w.append(v)
        if len(w) == 4:
            t = t + paddle.stack(list(w)).mean()
        if v > 0.7:
            w = deque(maxlen=4)
    return t, w
""",
    "cleared": """
def f(x):
    w = deque(maxlen=3)
    for v in x:
        w.append(v)
        if v > 0.7:
            w.clear()
    return w, len(w), sum(w)
""",
    "popped from the left": """
def f(x):
    q, t = deque([x[0]]), x.sum() * 0
    for i in range(1, 6):
        if x[i] > 0.5:
            q.append(x[i])
        if x[i] < 0.3 and q:
            t = t + q.popleft()
    return t, q
""",
    "a queue until it is empty": """
def f(x):
    q, t, n = deque([0]), x[0] * 0, 0
    while q and n < 6:
        i = q.popleft()
        n += 1
        if x[i] > 0.4:
            q.append((i * 2 + 1) % 8)
        if x[i] > 0.2:
            q.append((i * 3 + 2) % 8)
        t = t + x[i]
    return t, n, len(q)
""",
    "maxima of windows": """
def f(x):
    q, out = deque(), []
    for i in range(len(x)):
        while q and x[q[-1]] <= x[i]:
            q.pop()
        q.append(i)
        if q[0] <= i - 3:
            q.popleft()
        if i >= 2:
            out.append(x[q[0]])
    return paddle.stack(out)
""",
    "both ends": """
def f(x):
    q = deque(maxlen=3)
    for i in range(6):
        if x[i] > 0.5:
            q.appendleft(x[i])
        else:
            q.extendleft([x[i] * 2, x[i] * 3])
        if x[i] > 0.9:
            q.rotate(1)
    q.extend([x[0]])
    return q, q.maxlen, q[0], q[-1], isinstance(q, deque), type(q)
""",
    "of pairs": WINDOW.format(
        item="(i, x[i])", end="return sum([k * v for k, v in w], x[0]), [k for k, _ in w], w"
    ),
    "asked": WINDOW.format(
        item="i",
        end="return 3 in w, w.count(1), sum(w), max(w, default=-1), sorted(w), list(reversed(w))",
    ),
    "compared": WINDOW.format(
        item="i",
        end="return (w == deque([0, 1, 2]), w == [0, 1, 2], tuple(w) == (0, 1, 2), "
        "list(w) == (0, 1, 2), list(w) == [1, 2, 3], bool(w), not w)",
    ),
    "copied": WINDOW.format(
        item="x[i]",
        end="c, d, e = w.copy(), deque(w, 4), deque(list(w), maxlen=1)\n"
        "    for q in (c, d, e):\n        q.append(x[0])\n    w += [x[1]]\n    return w, c, d, e",
    ),
    "in a dict": """
def f(x):
    state = {"w": deque(maxlen=3), "n": 0}
    for v in x:
        state["w"].append(v)
        if v > 0.7:
            state["w"] = deque(maxlen=3)
            state["n"] += 1
    return state
""",
    "in an object": """
class Window:
    def __init__(self):
        self.resets = 0
        self.reset()

    def reset(self):
        self.items = deque(maxlen=3)

    def full(self, v):
        self.items.append(v)
        return len(self.items) == 3


def f(x):
    w = Window()
    for v in x:
        if w.full(v) and v > 0.3:
            w.resets += 1
            w.reset()
    return w.resets, list(w.items)
""",
}


@pytest.mark.sampled(3, also=["both ends", "asked", "compared", "in an object"])
@pytest.mark.parametrize("text", BODIES.values(), ids=BODIES)
def test_a_deque_that_a_tensor_changes(text: str) -> None:
    """D1, B4: it is a deque to the reader, with gradients, whatever the run makes of it."""
    assert_same(function_of(f"import paddle\nfrom collections import deque\n{text}", "f"), *X)


@pytest.mark.parametrize(
    ("call", "raised"),
    [
        ("pop()", (IndexError, "pop from an empty deque")),
        ("popleft()", (IndexError, "pop from an empty deque")),
        ("remove(9)", (ValueError, "not in deque")),
        ("__getitem__(5)", (IndexError, "deque index out of range")),
        ("insert(0, 1)", (IndexError, "deque already at its maximum size")),
    ],
)
def test_what_a_deque_raises(call: str, raised: tuple[type, str]) -> None:
    """D1, F1: the words of a deque, on the run that comes to it."""
    text = WINDOW.format(item="i", end=f"w.{call}\n    return w")
    f = function_of(f"from collections import deque\n{text}", "f")
    inputs = {
        "pop()": tensor(*[0.0] * 8),
        "popleft()": tensor(*[0.0] * 8),
        "insert(0, 1)": tensor(*[1.0] * 8),
    }
    given = inputs.get(call, X[1])
    with pytest.raises(raised[0], match=raised[1]):
        f(given)
    with pytest.raises(raised[0], match=raised[1]):
        d2s.to_static(f, full_graph=True)(given)


KNOWN_ELSEWHERE = {
    "a variable": "v = w\nif x[0] > 0.5:\n    w = {new}\nw.{add}\nreturn w, v",
    "an item": "h = [w]\nif x[0] > 0.5:\n    w = {new}\n    h.append(w)\nw.{add}\nreturn h, w",
    "the caller": "if x[0] > 0.5:\n    g = {new}\ng.{add}\nreturn g",
}


@pytest.mark.parametrize("body", KNOWN_ELSEWHERE.values(), ids=KNOWN_ELSEWHERE)
@pytest.mark.parametrize(
    ("new", "add"), [("deque()", "append(1)"), ("set()", "add(1)"), ("[]", "append(1)")]
)
def test_one_that_is_known_elsewhere_is_changed_there_or_refused(
    body: str, new: str, add: str
) -> None:
    """B4: what another name knows is not changed on the runs that change another one."""
    lines = f"w = {new}\n{body.format(new=new, add=add)}".replace("\n", "\n    ")
    text = f"from collections import deque\n\ndef f(x, g):\n    {lines}\n"
    f = function_of(text, "f")
    for x in X:
        given = [eval(new, {"deque": collections.deque}) for _ in range(2)]
        want = f(x, given[0]), given[0]
        try:
            got = d2s.to_static(f, full_graph=True)(x, given[1]), given[1]
        except ContainerInGraphError:
            continue
        assert repr(got) == repr(want)
