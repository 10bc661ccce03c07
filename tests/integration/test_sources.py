"""Where the text of a decorated function lies: converted, or dygraph with advice that applies."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FUNCTION = """
import paddle, d2s

@d2s.to_static
def halved(x):
    s = "\u00e9"
    while x.max() > 1:
        x = x / 2
    return x
"""
CALL = "\nprint('RESULT', halved(paddle.to_tensor([4.0])).tolist(), len(halved.programs))\n"
IMPORT = "import paddle; from net import halved" + CALL


def said(*command: str, given: str | None = None, path: Path | None = None) -> tuple[str, str]:
    """What Python prints, and its warnings."""
    folders = [os.environ.get("PYTHONPATH", ""), *([] if path is None else [str(path)])]
    done = subprocess.run(
        [sys.executable, *command], input=given, capture_output=True, text=True, check=False,
        timeout=240, env={**os.environ, "D2S_FULL_GRAPH": "0", "PYTHONPATH": ":".join(folders)},
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "RESULT" in line]
    assert lines, done.stderr[-2000:]
    return lines[0].partition("RESULT ")[2], done.stderr


@pytest.mark.slow
def test_command() -> None:
    """``python -c``: the text is among the arguments."""
    assert said("-c", FUNCTION + CALL)[0] == "[1.0] 1"


@pytest.mark.slow
def test_standard_input() -> None:
    """Nobody keeps it: dygraph, with one warning."""
    result, warned = said("-", given=FUNCTION + CALL)
    assert result == "[1.0] 0"
    assert warned.count("D2S101") == 1
    assert "linecache" not in warned


@pytest.mark.slow
def test_zip_file(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as packed:
        packed.writestr("net.py", FUNCTION)
    assert said("-c", IMPORT, path=tmp_path / "package.zip")[0] == "[1.0] 1"


@pytest.mark.slow
def test_bytecode_alone(tmp_path) -> None:
    source = tmp_path / "text.py"
    source.write_text(FUNCTION, encoding="utf-8")
    py_compile.compile(str(source), cfile=str(tmp_path / "net.pyc"))
    source.unlink()
    result, warned = said("-c", IMPORT, path=tmp_path)
    assert result == "[1.0] 0"
    assert warned.count("D2S101") == 1
    assert "d2s build" in warned


@pytest.mark.slow
def test_another_encoding(tmp_path) -> None:
    text = "# -*- coding: latin-1 -*-" + FUNCTION
    (tmp_path / "net.py").write_bytes(text.encode("latin-1"))
    assert said("-c", IMPORT, path=tmp_path)[0] == "[1.0] 1"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "ends"),
    [
        ("utf-8-sig", "\n"),
        ("utf-8-sig", "\r\n"),
        ("utf-8-sig", "\r"),
        ("gbk", "\n"),
        ("utf-16", "\n"),
    ],
    ids=str,
)
def test_lines_and_encodings(tmp_path, encoding: str, ends: str) -> None:
    """Python itself refuses UTF-16."""
    text = FUNCTION.replace("\u00e9", "\u4e2d\u6587")
    if encoding == "gbk":
        text = "# coding: gbk" + text
    (tmp_path / "net.py").write_bytes(text.replace("\n", ends).encode(encoding))
    if encoding == "utf-16":
        with pytest.raises(AssertionError, match="SyntaxError"):
            said("-c", IMPORT, path=tmp_path)
    else:
        assert said("-c", IMPORT, path=tmp_path)[0] == "[1.0] 1"


@pytest.mark.slow
@pytest.mark.parametrize("read", [False, True], ids=["without a file", "of a file"])
def test_text_that_is_executed(tmp_path, read: bool) -> None:
    """What ``exec`` gets is found where it is compiled under the name of its file."""
    (tmp_path / "net.txt").write_text(FUNCTION, encoding="utf-8")
    name = "path" if read else "'<made>'"
    run = f"path = {str(tmp_path / 'net.txt')!r}\nexec(compile(open(path).read(), {name}, 'exec'))"
    result, warned = said("-c", run + CALL)
    assert result == f"[1.0] {int(read)}"
    assert warned.count("D2S101") == 1 - read
    assert ("linecache" in warned) is not read


GENERATED = """
import dataclasses, attrs, paddle, d2s

@dataclasses.dataclass
class Pair:
    one: object
    two: object = 2.0

@attrs.define
class Other:
    one: object
    two: object = 2.0

@d2s.to_static
def halved(x):
    pair = dataclasses.replace(Pair(x.sum()), two=x.max())
    other = attrs.evolve(Other(x.sum()), two=x.max())
    return x / 4 if pair.two > other.two - 1 else x

first, second = d2s.to_static(Pair.__init__), d2s.to_static(Other.__init__)
pair, other = Pair.__new__(Pair), Other.__new__(Other)
first(pair, paddle.ones([2])), second(other, paddle.ones([2]))
print("MADE", pair.one.tolist(), other.one.tolist(), len(first.programs), len(second.programs))
"""


@pytest.mark.slow
def test_methods_that_decorators_make(tmp_path) -> None:
    """Those of attrs have a text, those of dataclass do not."""
    (tmp_path / "net.py").write_text(GENERATED)
    result, warned = said("-c", IMPORT, path=tmp_path)
    assert result == "[1.0] 1"
    assert warned.count("D2S101") == 1
    if sys.version_info >= (3, 11):
        assert "write the method out: it is one that dataclass has made" in warned


@pytest.mark.slow
def test_lambdas_of_one_line() -> None:
    """Told apart by their columns, also where two have the same code."""
    text = "import d2s, paddle\nhalved, other = (d2s.to_static(f) for f in ("
    text += "lambda x: x / 4 if x.max() > 1 else x, lambda x: x + 1 if x.max() > 1 else x))"
    more = "print('OTHER', other(paddle.ones([1])).tolist())"
    assert said("-c", f"{text}{CALL}{more}")[0] == "[1.0] 1"


@pytest.mark.slow
def test_ipython() -> None:
    assert said("-m", "IPython", "--colors=NoColor", "-c", FUNCTION + CALL)[0] == "[1.0] 1"


@pytest.mark.slow
def test_the_plain_prompt() -> None:
    """Python keeps what is typed from 3.13 on."""
    pexpect = pytest.importorskip("pexpect")
    variables = {**os.environ, "PYTHON_BASIC_REPL": "1", "TERM": "dumb", "D2S_FULL_GRAPH": "0"}
    prompt = pexpect.spawn(
        sys.executable, ["-q"], encoding="utf-8", timeout=120, env=variables, dimensions=(50, 250)
    )
    seen = ""
    for line in [*FUNCTION.strip().splitlines(), "", *CALL.strip().splitlines()]:
        prompt.expect([">>> ", r"\.\.\. "])
        seen += prompt.before
        prompt.sendline(line)
    prompt.expect(">>> ")
    seen += prompt.before
    prompt.sendeof()
    kept = sys.version_info >= (3, 13)
    assert f"RESULT [1.0] {int(kept)}" in seen
    assert seen.count("D2S101") == 1 - kept


COMPILED = """
import paddle, d2s

def plain(x):
    if x.max() > 1:
        x = x / 4
    return x

halved = d2s.to_static(plain)

class Net(paddle.nn.Layer):
    def forward(self, x):
        return plain(x)
"""

USE = """
import sys, paddle, d2s, fast
x = paddle.to_tensor([4.0])
net = d2s.to_static(fast.Net())

@d2s.to_static
def outer(x):
    return fast.plain(x) + 1

try:
    d2s.to_static(fast.plain, full_graph=True)
except d2s.D2SError as error:
    refused = error.code
print("RESULT", fast.halved(x).item(), net(x).item(), outer(x).item(), refused)
"""


@pytest.mark.slow
def test_cython(tmp_path) -> None:
    """Compiled functions run in dygraph, each with one warning; as one program they are refused."""
    build = tmp_path / "build"
    subprocess.run([sys.executable, "-m", "venv", str(build)], check=True)
    python = build / "bin" / "python"
    packages = [python, "-m", "pip", "install", "-q", "cython", "setuptools"]
    subprocess.run([*map(str, packages)], check=True)
    (tmp_path / "fast.py").write_text(COMPILED)
    command = [str(build / "bin" / "cythonize"), "-i", "-3", "-q", "fast.py"]
    subprocess.run(command, check=True, cwd=tmp_path)
    (tmp_path / "fast.py").unlink()
    result, warned = said("-c", USE, path=tmp_path)
    assert result == "1.0 1.0 2.0 D2S102"
    assert warned.count("has no text [D2S102]") == 2
    assert warned.count("D2S310") == 3
