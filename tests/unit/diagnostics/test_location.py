"""Where in the user's code something stands, as far as it is known (rule F1)."""

from __future__ import annotations

import sys
from typing import Any

from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.frames import span_of
from d2s.diagnostics.location import here, user_line


def test_where_there_is_no_frame_of_the_users() -> None:
    """No place is better than a wrong one."""
    assert user_line(["no line of a stack", '  File "/x.py", in f']) == (None, None)
    assert is_defect(ValueError("never raised")) is False
    code = compile("x = 1", "<no file>", "exec")
    assert span_of(code, 10**6) is None
    assert here() is not None


def test_code_without_columns(tmp_path: Any) -> None:
    """F1: under ``-X no_debug_ranges`` errors name their line, and lambdas on one line are told
    apart by what they do.
    """
    import subprocess

    script = tmp_path / "script.py"
    script.write_text(
        "import paddle\nimport d2s\n"
        "fs = [lambda x: x * 2 if x.sum() > 0 else x, lambda x: x * 3 if x.sum() > 0 else x]\n"
        "print([d2s.to_static(f)(paddle.to_tensor([1.0])).tolist() for f in fs])\n"
        "same = [lambda x, k=k: x + k if x.sum() > 0 else x for k in (1, 2)]\n"
        "print([d2s.to_static(f)(paddle.to_tensor([1.0])).tolist() for f in same])\n"
        "def f(x):\n    return memoryview(x.numpy()) if x.sum() > 0 else x\n"
        "try:\n    d2s.to_static(f)(paddle.to_tensor([1.0]))\n"
        "except d2s.errors.D2SError as error:\n    print(error.code, error.line)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-X", "no_debug_ranges", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[[2.0], [3.0]]", "[[2.0], [3.0]]", "D2S208 8"], done.stderr
