"""``d2s dump``: the forms of output, the ways to name a function, and every kind of bad input."""

from __future__ import annotations

import os
import pty
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import paddle
import pytest
from typer.testing import CliRunner

import d2s
from d2s import __version__, config
from d2s.cli import app, main
from d2s.cli.targets.find import find
from d2s.cli.targets.specs import InputSpecText, parse_input_spec
from d2s.cli.terminal.files import write
from d2s.errors import (
    D2SError,
    InputSpecTextError,
    NotAFunctionError,
    OutputFileError,
    TargetError,
    UserCodeError,
)
from tests.processes import python

NET = """
import functools
from math import sqrt

import paddle

import d2s
import helper

print("the file says hello")

LIMIT = 3
TEXT = "text"


class Net(paddle.nn.Layer):
    def forward(self, x):
        if x.mean() > 0:
            return x + 1
        return x - 1

    @staticmethod
    def half(x):
        return x / 2

    @classmethod
    def make(cls, x):
        return cls if x else None

    @property
    def size(self):
        return 1 if self else 0

    def __secret(self, x):
        return x if x else None


net = Net()


def f(x):
    y = x * 2
    if x.sum() > LIMIT:
        y = y + helper.one()
    return y


def outer():
    def inner():
        return 1

    return inner


@d2s.to_static
def decorated(x):
    return x if x.sum() > 0 else -x


def lazy(x):
    import helper_two

    print("captured")
    return x * helper_two.TWO


class Sized(paddle.nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x * self.size
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "helper.py").write_text("def one():\n    return 1\n")
    (tmp_path / "helper_two.py").write_text("TWO = 2\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("def g(x):\n    return x if x else 1\n")
    (tmp_path / "package" / "module.py").write_text("def h(x):\n    return x if x else 2\n")
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("helper", "helper_two", "package", "package.module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in ("helper", "helper_two", "package", "package.module"):
        sys.modules.pop(name, None)


def dumped(*args: str) -> str:
    """What ``d2s dump`` prints."""
    result = CliRunner().invoke(app, ["dump", *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The message of a command that d2s refuses, after checking its form."""
    assert main(["dump", *args]) == 2
    captured = capsys.readouterr()
    message = captured.err.removeprefix("the file says hello\n").rstrip("\n")
    assert captured.out == ""
    assert message.count("\n") <= 1
    assert re.search(r"\[D2S\d\d\d\]$", message)
    assert "Traceback" not in message
    return message


# -- output ---------------------------------------------------------------------------------------


@pytest.mark.row(106)
def test_text(folder):
    lines = dumped("net.py:f").splitlines()
    first = NET.splitlines().index("def f(x):") + 1
    assert lines[0].endswith(f"f ({folder / 'net.py'}:{first})")
    assert lines[1] == f"  1 | {first:>3} | def f(x):"
    assert lines[-1].endswith(f"{first + 4} |     return y")
    assert any("if_" in line and f"| {first + 2:>3} |" in line for line in lines)


def test_what_the_file_prints_stays_out_of_the_dump(folder):
    result = CliRunner().invoke(app, ["dump", "net.py:f"])
    assert "hello" not in result.stdout
    assert "the file says hello" in result.stderr


@pytest.mark.row(106)
def test_side_by_side(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    lines = dumped("net.py:f", "--side-by-side").splitlines()
    (row,) = [line for line in lines if line.count("y = x * 2") == 2]
    assert row.index(" | ") == lines[0].index(" | ")
    assert max(map(len, lines)) <= 120


@pytest.mark.row(106)
def test_passes(folder):
    text = dumped("net.py:f", "--passes")
    assert "\n+++ " in text
    assert "\n-    if x.sum() > LIMIT:\n" in text
    assert text.splitlines()[-1].startswith("unchanged by: ")


@pytest.mark.row(106)
def test_program(folder):
    text = dumped("net.py:f", "--program", "--input-spec", "x:float32[None,8]")
    assert 'name:"x"' in text
    assert "shape:[-1,8]" in text
    assert "pd_op.if" in text


def test_program_of_a_layer(folder):
    for target in ("net.py:net", "net.py:net.forward"):
        text = dumped(target, "--program", "--input-spec", "float32[2]")
        assert "pd_op.if" in text


def test_program_that_imports_while_it_is_captured(folder):
    text = dumped("net.py:lazy", "--program", "--input-spec", "float32[2]")
    assert "pd_op.scale" in text
    assert "captured" not in text


def test_no_colours_outside_of_a_terminal(folder):
    for form in ([], ["--side-by-side"], ["--passes"]):
        assert "\x1b" not in dumped("net.py:f", *form)


def test_colours_on_a_terminal(folder):
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("dump", "net.py:f"), stdout=theirs, stderr=subprocess.DEVNULL, env=environment()
    ) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            text += chunk
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[" in text
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", text).decode().replace("\r\n", "\n")
    assert plain == dumped("net.py:f")


# -- targets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "header"),
    [
        ("net.py:f", "def f(x):"),
        ("./net.py:f", "def f(x):"),
        ("net.py:Net.forward", "def forward(self, x):"),
        ("net.py:Net.half", "def half(x):"),
        ("net.py:Net.make", "def make(cls, x):"),
        ("net.py:Net.size", "def size(self):"),
        ("net.py:Net.__secret", "def __secret(self, x):"),
        ("net.py:Net._Net__secret", "def __secret(self, x):"),
        ("net.py:net", "def forward(self, x):"),
        ("net.py:net.forward", "def forward(self, x):"),
        ("net.py:decorated", "def decorated(x):"),
        ("net.py:outer", "def outer():"),
        ("net.py:helper.one", "def one():"),
        ("package:g", "def g(x):"),
        ("package.module:h", "def h(x):"),
        ("package/module.py:h", "def h(x):"),
    ],
)
def test_targets(folder, target, header):
    assert dumped(target).splitlines()[1].endswith(f"| {header}")


def test_an_absolute_path(folder, monkeypatch):
    monkeypatch.chdir("/")
    assert "def f(x):" in dumped(f"{folder}/net.py:f")


def test_two_files_of_one_name_do_not_meet(folder):
    (folder / "plain" / "net.py").write_text("def other(x):\n    return x\n")
    dumped("net.py:f")
    assert "def other(x):" in dumped("plain/net.py:other")


def test_a_file_named_like_a_loaded_module(folder):
    (folder / "json.py").write_text("def f(x):\n    return x\n")
    import json

    assert "def f(x):" in dumped("json.py:f")
    assert sys.modules["json"] is json


def test_the_path_is_as_before(folder):
    before = list(sys.path)
    dumped("net.py:f")
    with pytest.raises(TargetError):
        find("net.py:nothing")
    assert sys.path == before


def test_a_module_that_cannot_be_imported_leaves_nothing_behind(folder):
    (folder / "broken.py").write_text("raise ValueError\n")
    before = set(sys.modules)
    with pytest.raises(UserCodeError):
        find("broken.py:f")
    assert set(sys.modules) == before


def test_the_main_guard_does_not_run(folder):
    (folder / "script.py").write_text(
        "def f(x):\n    return x\n\nif __name__ == '__main__':\n    raise SystemExit(1)\n"
    )
    assert "def f(x):" in dumped("script.py:f")


# -- bad targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("net.py", ["'net.py' does not name a function", "net.py:NAME", "Net.forward", " f"]),
        ("net.py:", ["does not name a function", "net.py:NAME"]),
        (":f", ["does not name a function", "FILE.py:NAME or module:NAME"]),
        ("", ["does not name a function"]),
        ("net.py:a b", ["'a b' is not the name of a function"]),
        ("net.py:f.", ["'f.' is not the name of a function"]),
        ("missing.py:f", ["there is no file missing.py"]),
        ("plain/missing.py:f", ["there is no file plain/missing.py"]),
        ("plain:f", ["plain is a directory"]),
        ("./package:f", ["./package is a directory"]),
        ("notes.txt:f", ["notes.txt is not a Python file"]),
        ("no_such_module:f", ["there is no module 'no_such_module'"]),
        ("package.missing:f", ["there is no module 'package.missing'"]),
        (".relative:f", ["there is no file .relative"]),
        ("net.py:ff", ["net.py:1: there is no 'ff'", "did you mean 'f'?"]),
        ("net.py:Net.forwrd", ["no 'forwrd' in 'Net'", "did you mean 'forward'?"]),
        ("net.py:zzzzzz", ["there is no 'zzzzzz'", "such as net, f, outer, decorated or lazy"]),
        ("package:zzzzzz", ["there is no 'zzzzzz'", "such as g"]),
        ("empty.py:f", ["the file is empty: there is no 'f' in it"]),
        ("net.py:outer.inner", ["cannot reach inside the function 'outer'", "move 'inner'"]),
        ("net.py:Net.forward.x", ["cannot reach inside the function 'forward'"]),
        ("net.py:decorated.x", ["'decorated"]),
    ],
)
def test_a_target_that_does_not_resolve(folder, capsys, target, words):
    (folder / "notes.txt").write_text("def f(x): pass\n")
    (folder / "empty.py").write_text("\n")
    message = refused(capsys, target)
    assert "[D2S501]" in message
    for word in words:
        assert word in message


def test_a_path_with_a_colon(folder):
    (folder / "a:b.py").write_text("def f(x):\n    return x\n")
    assert "def f(x):" in dumped("a:b.py:f")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("net.py:Net", ["'Net' is a class", "Net.forward", ":16:"]),
        ("net.py:LIMIT", ["'LIMIT' is a value of type 'int', not a function"]),
        ("net.py:TEXT", ["'TEXT' is a value of type 'str', not a function"]),
        ("net.py:paddle", ["'paddle' is a module, not a function"]),
        ("net.py:sqrt", ["'sqrt' is a C function"]),
        ("net.py:TEXT.upper", ["is a C function"]),
        ("os:getcwd", ["is a C function"]),
        ("builtins:str.upper", ["is a C function"]),
        ("builtins:int", ["'int' is a class"]),
    ],
)
def test_a_target_that_is_no_function(folder, capsys, target, words):
    message = refused(capsys, target)
    assert "[D2S102]" in message
    for word in words:
        assert word in message
    with pytest.raises(NotAFunctionError):
        find(target)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n\ndef f(:\n    pass\n", ["user.py:3: this is not Python"]),
        ("def f():\nreturn 1\n", ["user.py:2: this is not Python", "indent"]),
        (
            "x = 1\n\nraise ValueError('bad\\nnews')\n",
            ["user.py:3:", "raised ValueError: bad news"],
        ),
        ("def g():\n    raise KeyError\n\n\ng()\n", ["user.py:2:", "raised KeyError"]),
        ("import json\n\njson.loads('{')\n", ["user.py:3:", "raised JSONDecodeError"]),
        ("import sys\nsys.exit(3)\n", ["user.py:2:", "raised SystemExit: 3"]),
        ("import no_such_module\n", ["user.py:1:", "ModuleNotFoundError: No module named"]),
        ("import broken\n", ["broken.py:1: this is not Python"]),
        ("x = 1\0\n", ["user.py", "null bytes"]),
        ("# -*- coding: nonsense -*-\n", ["user.py", "unknown encoding"]),
    ],
)
def test_a_file_that_cannot_be_imported(folder, capsys, text, words):
    (folder / "user.py").write_text(text)
    (folder / "broken.py").write_text("def (\n")
    message = refused(capsys, "user.py:f")
    assert "[D2S502]" in message
    for word in words:
        assert word in message


def test_a_module_that_cannot_be_imported(folder, capsys):
    (folder / "wrong_module.py").write_text("x = 1\nimport no_such_module\n")
    message = refused(capsys, "wrong_module:f")
    assert "wrong_module.py:2: importing it raised ModuleNotFoundError" in message
    assert "[D2S502]" in message


def test_bytes_that_are_no_text(folder, capsys):
    (folder / "user.py").write_bytes(b"x = '\xff'\n")
    assert "[D2S502]" in refused(capsys, "user.py:f")


def test_an_error_of_d2s_on_import_stays_what_it_is(folder, capsys):
    (folder / "user.py").write_text("import d2s\n\n\n@d2s.to_static\nclass A: pass\n")
    assert "[D2S102]" in refused(capsys, "user.py:f")


def test_an_interrupt_is_no_error_of_the_file(folder):
    (folder / "user.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        find("user.py:f")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(folder, capsys):
    (folder / "net.py").chmod(0)
    assert "cannot be read" in refused(capsys, "net.py:f")


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("x:float32[None,8]", InputSpecText("x", "float32", (None, 8))),
        ("float32[None,8]", InputSpecText(None, "float32", (None, 8))),
        (" x : int64 [ -1 , ? , 3 , ] ", InputSpecText("x", "int64", (None, None, 3))),
        ("bool[]", InputSpecText(None, "bool", ())),
        ("bfloat16[0]", InputSpecText(None, "bfloat16", (0,))),
    ],
)
def test_input_specs(text, spec):
    assert parse_input_spec(text) == spec
    real = spec.to_paddle()
    assert isinstance(real, paddle.static.InputSpec)
    assert tuple(real.shape) == tuple(-1 if size is None else size for size in spec.shape)
    assert real.name == spec.name
    assert real.dtype == getattr(paddle, spec.dtype)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be understood"),
        ("float32", "cannot be understood"),
        ("float32[8", "cannot be understood"),
        ("float32[[8]]", "cannot be understood"),
        ("x:y:float32[8]", "cannot be understood"),
        ("1x:float32[8]", "cannot be understood"),
        ("x:[8]", "cannot be understood"),
        ("flot32[8]", "use float32"),
        ("string[8]", "there is no dtype 'string'"),
        ("float32[a]", "'a' is not a dimension"),
        ("float32[8,,8]", "'' is not a dimension"),
        ("float32[-2]", "'-2' is not a dimension"),
        ("float32[1.5]", "'1.5' is not a dimension"),
        ("float32[²]", "'²' is not a dimension"),
        ("float32[,]", "'' is not a dimension"),
    ],
)
def test_input_specs_that_are_none(text, words):
    with pytest.raises(InputSpecTextError, match=re.escape(words)):
        parse_input_spec(text)


def test_a_bad_input_spec_is_reported_before_anything_is_imported(folder, capsys):
    message = refused(capsys, "net.py:f", "--program", "--input-spec", "nonsense")
    assert "[D2S503]" in message


def test_a_program_needs_input_specs(folder, capsys):
    message = refused(capsys, "net.py:f", "--program")
    assert "--program needs to know the arguments of 'f'" in message
    assert "[D2S503]" in message


@pytest.mark.parametrize("name", ["Net", "Net.forward"])
def test_a_program_of_a_class_of_layers_is_that_of_an_object(folder, name):
    assert "pd_op" in dumped(f"net.py:{name}", "--program", "--input-spec", "float32[2]")


def test_a_program_of_a_method_needs_an_object(folder, capsys):
    message = refused(capsys, "net.py:Sized.forward", "--program", "--input-spec", "float32[2]")
    assert "'Sized.forward' cannot be captured without an instance" in message


def test_a_program_of_a_static_method_needs_no_object(folder):
    assert "pd_op" in dumped("net.py:Net.half", "--program", "--input-spec", "float32[2]")


@pytest.mark.parametrize(
    "args",
    [
        ["--passes", "--program"],
        ["--side-by-side", "--passes"],
        ["--input-spec", "float32[2]"],
        ["--nonsense"],
    ],
)
def test_options_that_do_not_go_together(folder, args):
    result = CliRunner().invoke(app, ["dump", "net.py:f", *args])
    assert result.exit_code == 2
    assert "Error" in result.output


# -- the output file ------------------------------------------------------------------------------


def test_output(folder):
    assert dumped("net.py:f", "--output", "out.txt") == ""
    assert (folder / "out.txt").read_text() == dumped("net.py:f")


def test_output_mode_is_that_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write(tmp_path / "ours", "text")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_output_keeps_mode_and_link_of_an_old_file(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("where", ["missing/out.txt", "plain", "/dev/null", "net.py/out.txt"])
def test_output_that_cannot_be_written(folder, capsys, where):
    assert "[D2S504]" in refused(capsys, "net.py:f", "--output", where)


@pytest.mark.parametrize("failing", ["chmod", "replace"])
def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path, monkeypatch, failing):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, failing, fail)
    with pytest.raises(OutputFileError, match="No space left on device"):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_in_the_middle_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_writes_nothing(folder, capsys):
    (folder / "out.txt").write_text("old")
    refused(capsys, "net.py:zzzzzz", "--output", "out.txt")
    assert (folder / "out.txt").read_text() == "old"


# -- the program as a whole -----------------------------------------------------------------------


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"d2s {__version__}\n"


@pytest.mark.parametrize("args", [["--help"], ["dump", "--help"], []])
def test_help(args):
    result = CliRunner().invoke(app, args)
    assert "Usage:" in result.output
    assert "dump" in result.output


def test_full_tracebacks_on_demand(folder):
    with config.options(full_traceback=True), pytest.raises(D2SError):
        main(["dump", "missing.py:f"])


def command(*args: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from d2s.cli import main; sys.exit(main())", *args]


def environment(**more: str) -> dict[str, str]:
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", **more}


def process(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return python(*command(*args)[1:], cwd=Path.cwd(), env=environment(**more))


def test_process(folder):
    done = process("dump", "net.py:f")
    assert done.returncode == 0
    assert done.stdout == dumped("net.py:f")
    assert done.stderr == "the file says hello\n"


def test_process_with_an_error(folder):
    done = process("dump", "net.py:ff")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == textwrap.dedent(
        f"""\
        the file says hello
        {folder}/net.py:1: there is no 'ff'
          cure: did you mean 'f'?  [D2S501]
        """
    )


def test_process_with_a_full_traceback(folder):
    done = process("dump", "net.py:ff", D2S_FULL_TRACEBACK="1")
    assert done.returncode == 1
    assert done.stderr.startswith("the file says hello\nTraceback (most recent call last):")
    assert "TargetError" in done.stderr


def test_process_whose_terminal_lacks_characters(folder):
    done = process("dump", "net.py:f", "--side-by-side", PYTHONIOENCODING="latin-1", COLUMNS="50")
    assert done.returncode == 0
    assert "\\u2026" in done.stdout


BROKEN = """
import paddle


def checksum(x):
    return sum(x.numpy().tobytes()) % 7


def step(x, scale=1):
    y = paddle.tanh(x * 2) + scale
    y = y * y - y.mean()
    k = checksum(y)
    for _ in range(3):
        y = y * 0.5 + y.mean() - k
    return y.sum() + y.max()


def whole(x):
    return x * 2
"""


def test_a_function_that_is_called_is_shown_as_its_programs(tmp_path) -> None:
    """The driver and its islands, with the lines of each; one program as it is without a call."""
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    lines = dumped(f"{file}:step", "--input", "x:float32[3]", "--input", "scale=2").splitlines()
    titles = [line.split("|")[-1].strip() for line in lines if "| #" in line]
    assert titles == [
        "# Python, between the programs",
        "# lines 10 to 11, as a program",
        "# lines 13 to 15, as a program",
    ]
    assert any("12 |     k = checksum(y)" in line for line in lines)
    assert "island" not in dumped(f"{file}:step")
    assert dumped(f"{file}:whole", "--input", "x:float32[3]") == dumped(f"{file}:whole")


def test_the_same_from_python(tmp_path, capsys) -> None:
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    function = d2s.to_static(find(f"{file}:step").function, full_graph=False)
    assert "# Python" not in d2s.dump(function).text
    with pytest.warns(d2s.errors.BreakWarning):
        function(paddle.ones([3]))
    capsys.readouterr()
    shown = d2s.dump(function)
    assert capsys.readouterr().out == shown.text
    assert "# Python, between the programs" in shown.text
    assert "d2s.island_1(y, k)" in shown.text


def test_inputs_are_for_the_code_alone(tmp_path, capsys) -> None:
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    with pytest.raises(SystemExit):
        main(["dump", f"{file}:step", "--passes", "--input", "x:float32[3]"])
    assert "--input is for the generated code alone" in capsys.readouterr().err
