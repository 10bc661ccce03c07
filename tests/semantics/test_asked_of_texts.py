"""What texts of the run are asked is answered on the run (rules E1, E5, F1)."""

from __future__ import annotations

import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import D2SError, UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

INPUTS = ([1.0, 2.0, 3.0], [-1.0, -1.0, -1.0], [1.0, -2.0, 1.5], [0.25, 3.0, 3.0])

BODIES = {
    "an empty join": """
    names = []
    for name, v in zip(("low", "mid", "high"), x):
        if v > 0:
            names.append(name)
    kept = "+".join(names) or "none"
    return kept, "some" if "+".join(names) else "no", len("+".join(names))
""",
    "a branch": """
    s = ",".join(f"{v:.0f}" for v in x.tolist() if v > 0)
    if s:
        x = x * 2
    if s == "1,2,3":
        x = x + 1
    elif not s.startswith("1"):
        return x - 1, s
    return x, s
""",
    "a part that is never empty": """
    s = f"{x.sum().item():.1f}"
    return s or "none", bool(s), len(s)
""",
    "rounded by its text": """
    v = float(f"{x.mean().item():.2f}")
    n = int("%d" % x.sum().item())
    return x * v, v, n
""",
    "a list of those that are new": """
    seen = []
    for v in x:
        s = f"{v.item():.1f}"
        if s not in seen:
            seen.append(s)
    return seen, len(seen)
""",
    "the longest one": """
    best = ""
    for i in range(3):
        s = f"{x[i].item():.0f}" * (i + 1)
        if len(s) > len(best):
            best = s
        if s == "333":
            break
    return best
""",
    "one of several": """
    a = f"{x[0].item():.0f}" if x.sum() > 0 else "neg"
    return a == "1", len(a), a or "e", a < "b", "n" in a, a == ("1" if x[1] > 0 else "neg")
""",
    "an assertion": """
    s = "".join(f"{v:.0f}" for v in x.tolist() if v > 0)
    assert s, f"nothing in {s!r}"
    return s
""",
    "no number": """
    return float(f"{x.sum().item()}a")
""",
    "its characters": """
    s = "".join("abcd"[int(v)] for v in x if v > 0)
    n = 0
    for i, c in enumerate(s, 1):
        if c == "b":
            n += i
    return s, n, list(s), [c for c in reversed(s)], s[::-1]
""",
    "a distance": """
    s = "".join("abcd"[int(v)] for v in x if v > 0)
    prev = list(range(4))
    for i, a in enumerate(s, 1):
        cur = [i]
        for j, b in enumerate("bcd", 1):
            cur.append(min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (a != b)))
        prev = cur
    return prev[-1]
""",
}


@pytest.mark.sampled(
    3, also=["a branch", "no number", "a list of those that are new", "the longest one"]
)
@pytest.mark.parametrize("case", BODIES)
def test_a_text_is_asked(case: str) -> None:
    """E1, F1: what Python's text answers, on each run."""
    function = function_of(f"def f(x):{BODIES[case]}", "f")
    assert_same(function, *(tensor(*values) for values in INPUTS))


def test_an_exception_that_would_be_caught() -> None:
    """F1: refused, for the ``try`` is over when the run knows."""
    text = """
def f(x):
    try:
        return float(f"{x.sum().item()}a")
    except ValueError:
        return -1.0
"""
    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(function_of(text, "f"), full_graph=True)(tensor(1.0))
    assert (caught.value.code, caught.value.line) == ("D2S205", 3)


def test_a_file_asks_no_texts(tmp_path) -> None:
    """E5: named, with its line; what is never empty needs no Python."""
    text = "def f(x):\n    s = 'a' * int(x.sum())\n    return x * 2 if s else x\n"
    empty = function_of(text, "f")
    static = d2s.to_static(empty, full_graph=True)
    with pytest.raises(D2SError, match=r"bool\(\) \(.*:3\)") as caught:
        d2s.save(static, str(tmp_path / "m"), input_spec=[InputSpec([1])])
    assert caught.value.code == "D2S401"
