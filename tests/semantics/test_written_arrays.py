"""Arrays of NumPy that a function makes, and writes in branches and loops (rules B4, D2, E5)."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")

INPUTS = (
    [1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [3.0, 3.0, 3.5], [1.0, 1.0, -1.0], [9.0, 0.0, 0.0],
)  # fmt: skip

WRITTEN = {
    "a counter in a loop": """
    lab = np.zeros(4, dtype="int64")
    n = 0
    while x.sum() < 10:
        lab[n] = int(x.max())
        x = x + 1
        n += 1
    return lab, n, lab.sum()
""",
    "marks of a search": """
    g = x.numpy()
    seen = np.zeros(len(g), dtype=bool)
    order = []
    stack = [0]
    seen[0] = True
    while stack:
        i = stack.pop()
        order.append(i)
        for d in (1, 2):
            j = i + d
            if 0 <= j < len(g) and g[j] > 0 and not seen[j]:
                seen[j] = True
                stack.append(j)
    return order, seen
""",
    "rows by a loop in a loop": """
    t = np.zeros((2, 3), "float32")
    for i in range(2):
        k = x.clone()
        while k.sum() < 5:
            t[i, 0] += float(k[0])
            t[i, 1] = t[i, 0] * 2
            k = k + 1
    return t, paddle.to_tensor(t).sum()
""",
    "two names in a loop": """
    t = np.full(3, -1)
    u = t
    while x.sum() < 5:
        t[0] = int(x.max()); x = x + 1
    return u, t
""",
    "counts until a break": """
    counts = np.zeros(3)
    for v in x:
        if v > 2: break
        counts[int(v) % 3] += 1
    return counts, counts.argmax()
""",
    "made on one side": """
    if x.sum() > 2:
        t = np.zeros(3)
        while x.sum() < 9:
            t[1] += float(x.sum()); x = x + 1
    else:
        t = np.ones(3)
    return t
""",
    "made in a trip": """
    out = []
    while x.sum() < 6:
        t = np.zeros(2)
        t[0] = float(x.sum())
        k = x
        while k.sum() < 8:
            t[1] += 1; t[0] += float(k.max()); k = k + 2
        out.append(t.sum())
        x = x + 2
    return out
""",
    "another array in each trip": """
    t = np.zeros(3)
    while x.sum() < 5:
        t[:2] = x.numpy()[:2]
        t = t + 1
        x = x + 1
    return t
""",
    "a constant in a loop": """
    t = np.zeros(2)
    while x.sum() < 5:
        t[0] += 1
        x = x + 1
    return t
""",
    "a constant in a branch": """
    t = np.zeros(2)
    if x.sum() > 3:
        t[0] = 1
    return t
""",
    "until a break": """
    t = np.zeros(3, int)
    for i in range(3):
        if x[i] > 2: break
        t[i] = 7
    return t
""",
    "in place in branches": """
    t = np.zeros(3)
    for i in range(3):
        if x[i] > 1:
            t[i] += 2
            t[i] *= 3
    return t, t.tolist(), t.sum()
""",
    "two branches": """
    t = np.zeros(3)
    if x[1] > 1:
        t[1] = 2
    if x[2] > 1:
        t[2] = 5
    return t
""",
    "both sides": """
    t = np.zeros(3)
    if x[1] > 1:
        t[1] = 2
    else:
        t[0] = 3
    s = t * 2
    return s + t, bool(t[1] > 0)
""",
    "in a helper": """
    def hist(v):
        h = np.zeros(3, int)
        for i in v: h[i] += 1
        return h
    y = x
    if x[1] > 1:
        h = hist([0, 0, 2])
        y = x * int(h[0])
        z = [1, 2, 3][h[2]]
        y = y + z
    return y
""",
    "of a trip alone": """
    y = x
    while y.sum() < 10:
        h = np.zeros(3)
        h[0] = 2
        h[1] += 1
        y = y + paddle.to_tensor(h.astype("float32"))
    return y
""",
    "two names": """
    t = np.zeros(3); u = t
    if x[1] > 1:
        t[0] = 1
    return t, u, t is u
""",
    "flags that are read": """
    used = np.zeros(3, dtype=bool)
    hits = 0
    for i in range(3):
        if x[i] > 1 and not used[i]:
            used[i] = True
            hits += 1
        used[0] |= True
    return used, hits, used.any(), used.all()
""",
    "two numbers of the run": """
    t = np.zeros(3)
    if x[1] > 1:
        t[1] = float(x[1])
    if x[2] > 1:
        t[2] = float(x[2])
    return t
""",
    "held by a dict": """
    d = {"h": np.zeros(2)}
    d["h"][1] = float(x[0])
    return d["h"]
""",
    "another array until a break": """
    t = np.zeros(3)
    for i in range(3):
        if x[i] > 2:
            break
        t = t + 1
        t[i] = 9
    return t
""",
    "another array on one side": """
    t = np.zeros(3)
    if x[0] > 1:
        t = np.ones(3)
        t[0] = 4
    else:
        t[1] = 2
    return t
""",
    "a table of pairs": """
    cm = np.zeros((2, 2), dtype=int)
    for p, q in zip(x[:2], x[1:]):
        cm[int(p > 1), int(q > 1)] += 1
    return cm, cm.trace() / cm.sum(), np.diag(cm).tolist()
""",
    "a matrix": """
    m = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            if i == j: continue
            if x[i] > x[j]:
                m[i, j] = 1
    return m, m.sum(axis=1), np.argsort(-m.sum(axis=1), kind="stable")
""",
    "known to Python": """
    t = np.arange(3)
    n = 0
    while n < 2:
        t[n] = 10
        n += 1
    if x[0] > 1:
        return t
    return t * 2
""",
    "at places of the run": """
    t = np.zeros(3)
    ok = [i for i in range(3) if x[i] > 1]
    for i in ok:
        t[i] = 1
    return t
""",
    "slices": """
    t = np.zeros(2)
    for v in x:
        if v > 1:
            t[:] = [1, 2]
            t[0] += 1
        t[1] -= 1
    y = paddle.to_tensor(t, dtype="float32")
    return y * x.sum()
""",
    "handed out in a dict": """
    t = np.zeros(2)
    s = t.copy()
    if x[0] > 1 and x[1] > 1:
        s[0] = 1
    w = {"t": t, "s": s}
    return w, w["s"].sum() + len(t)
""",
    "of several kinds": """
    h = np.zeros(3, np.float32)
    for i in np.arange(3):
        if x[int(i)] > 1: h[i] = i
    k = [np.zeros(2) for _ in range(2)]
    k[0][1] = 3
    return h, k
""",
    "in place, the whole": """
    t = np.zeros(2)
    while x.sum() < 5:
        t += 1
        x = x + 1
    return t
""",
    "added to, under two names": """
    t = np.zeros(2); u = t
    if x[0] > 1:
        t += 2
        t *= 3
    else:
        t -= 1
    return t, u, t is u
""",
    "added to and written": """
    h = np.zeros(3)
    for i in range(3):
        if x[i] > 1:
            h += np.eye(3)[i] * 2
            h[0] += 1
    return h, h.sum()
""",
    "added to until a break": """
    n = np.zeros(2, int)
    for v in x:
        if v > 2: break
        n += 1
    return n
""",
    "an array of the run added": """
    t = np.ones(2)
    if x[0] > 1:
        t += x.numpy()[:2]
    t += 1
    return t
""",
    "another dtype added": """
    t = np.arange(3)
    if x[0] > 1:
        t += 0.5
    return t
""",
}

REFUSED = {
    "fill": """
    t = np.zeros((2, 2))
    while x.sum() < 5:
        t.fill(3); x = x + 1
    return t
""",
    "a view": """
    t = np.zeros(3)
    u = t[1:]
    if x.sum() > 3:
        u[0] = 1
    return t
""",
    "an item of a dict": """
    d = {"h": np.zeros(2)}
    if x[1] > 1:
        d["h"][0] = 1
    d["h"][1] = float(x[0])
    return d["h"]
""",
    "an attribute": """
    o = O()
    if x[1] > 1:
        o.buf[0] = 1
    o.buf[1] += float(x[0])
    return o.buf
""",
    "an argument of a helper": """
    t = np.zeros(2)
    if x[1] > 1:
        put(t, 3)
    return t
""",
    "a function of NumPy": """
    t = np.zeros(2)
    if x[1] > 1:
        np.add.at(t, [0, 0], 1)
    return t
""",
    "a row": """
    m = np.zeros((2, 2))
    for k in range(2):
        row = m[k]
        if x[k] > 1:
            row[0] = 7
    return m
""",
    "one of several": """
    t = np.zeros(3) if x[0] > 1 else np.ones(3)
    t[0] = 5
    if x[1] > 1:
        t[1] = 7
    return t
""",
    "with a view of it": """
    t = np.zeros(3)
    u = t[:2]
    if x[0] > 1:
        t[0] = 1
    return u, t
""",
    "texts": """
    names = np.array(["a", "b"])
    if x[0] > 1:
        names[0] = "z"
    return names.tolist()
""",
    "by a function in it": """
    t = np.zeros(3)
    def put(i, v):
        t[i] = v
    if x[0] > 1:
        put(0, 4)
    put(1, 5)
    return t
""",
}


class Box:
    def __init__(self) -> None:
        self.buf = np.zeros(2)


def put(t, v):
    t[0] = v


def made(body: str):
    names = {"np": np, "paddle": paddle, "O": Box, "put": put}
    return function_of(f"def f(x):\n{body}", "f", **names)


@pytest.mark.parametrize("case", WRITTEN)
def test_an_array_is_written(case: str) -> None:
    """B4, D2, E5: each run writes what dygraph writes, and nothing where it does not come by."""
    assert_same(made(WRITTEN[case]), *(tensor(*values) for values in INPUTS))


@pytest.mark.parametrize("case", REFUSED)
def test_an_array_that_no_run_would_write(case: str) -> None:
    """E5, H1: a coded error for one program, dygraph by default; never written at capture."""
    with pytest.raises(D2SError) as caught:
        d2s.to_static(made(REFUSED[case]), full_graph=True)(tensor(*INPUTS[0]))
    assert caught.value.code == "D2S205"
    assert caught.value.line is not None
    inputs = [tensor(*values) for values in INPUTS]
    static = d2s.to_static(made(REFUSED[case]), full_graph=False)
    assert_same(made(REFUSED[case]), *inputs, static=static)
