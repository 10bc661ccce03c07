"""A function is captured as the same program in each process, whatever the order of its sets is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

MODULE = """
alpha, gamma, delta = [1.0], [3.0], [4.0]
beta = {"k": 2.0}
"""

PROGRAM = """
import cfg
import d2s
import paddle

one = two = three = four = paddle.zeros([])

def inner(x):
    global one, two, three, four
    one, two, three, four = x, x * 2, x * 3, x * 4

def late(x):
    if x > 0:
        inner(x)
    else:
        x = x - 1
    return x

def attributes(x):
    y = x * cfg.alpha[0] * cfg.beta["k"] * cfg.gamma[0] * cfg.delta[0]
    cfg.delta.append(y), cfg.alpha.append(y), cfg.gamma.append(y)
    cfg.beta["j"] = y + 1
    return y

for function in (late, attributes):
    static = d2s.to_static(function, full_graph=True)
    static(paddle.ones([]))
    for entry in static._programs.entries:
        captured = entry.runner.captured
        print(d2s.code(static), captured.program, [guard.place.path for guard in captured.guards])
"""


def test_programs_do_not_depend_on_the_order_of_sets(tmp_path: Path) -> None:
    """A1: sets of texts have another order in each process."""
    (tmp_path / "cfg.py").write_text(MODULE)
    (tmp_path / "prog.py").write_text(PROGRAM)
    texts = [
        subprocess.run(
            [sys.executable, "prog.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    first, second = (re.sub("0x[0-9a-f]+", "", text) for text in texts)
    assert first == second
    assert first.count("pd_op.if") == 1
