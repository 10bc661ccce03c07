"""Each command with each bad input: one message that names the place, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from d2s.cli import main

FILES = {
    "syntax.py": b"def f(:\n",
    "encoding.py": b'x = "\xe9"\n',
    "binary.py": b"\x00\x01\x02\xff\xfe",
    "import.py": b"import nonexistent_thing\n\n\ndef f(x):\n    return x\n",
    "raises.py": b"raise ValueError('no')\n",
    "leaves.py": b"raise SystemExit(3)\n",
    "slow.py": b"import late\n",
    "late.py": b"\nraise KeyboardInterrupt  # as Ctrl-C does in what hangs\n",
    "good.py": b"def forward(x):\n    return x\n",
}
BAD = {
    "missing.py": "missing.py",
    "empty": "empty",
    "syntax.py": "syntax.py:1",
    "encoding.py": "encoding.py:1",
    "binary.py": "null bytes",
    "import.py": "nonexistent_thing",
    "raises.py": "raises.py:1",
    "leaves.py": "leaves.py:1",
    "no_such_module": "no_such_module",
}
"""What is named, and what the message has to name."""

COMMANDS = {
    "dump": [],
    "test": ["--examples", "1"],
    "bench": ["--input", "float32[2]"],
    "explain": [],
    "report": [],
    "minimize": ["--input", "float32[2]"],
    "build": ["-o", "built"],
    "lint": [],
}
NO_IMPORT = {"import.py", "raises.py", "leaves.py"}
"""Nothing is wrong with them for who reads the text alone."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    """The exit status of a command line, and all that it says."""
    try:
        status: int | str | None = main(list(args))
    except SystemExit as end:
        status = end.code
    assert isinstance(status, int)
    return status, "".join(capsys.readouterr())


def named(command: str, place: str, name: str = "f") -> str:
    return place if command in ("build", "lint") else f"{place}:{name}"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_bad_input_has_a_message_that_names_it(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, wanted in BAD.items():
        status, text = said(capsys, command, named(command, place), *COMMANDS[command])
        if command == "lint" and place in NO_IMPORT:
            assert status == 0, place
            continue
        found = 1 if command == "lint" and place in FILES else 2  # a finding: it is no Python
        assert status == found, f"{place}: {text}"
        assert wanted in text
        assert "Traceback" not in text
        assert (f"install what provides '{wanted}'" in text) == (place == "import.py")
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {*FILES, "empty"}


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"build", "lint"}))
def test_a_name_that_is_not_there_has_the_nearest_ones(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = said(capsys, command, "good.py:foward", *COMMANDS[command])
    assert status == 2
    assert "did you mean 'forward'" in text


@pytest.mark.parametrize(
    "args",
    [
        ["dump", "good.py:forward"],
        ["explain", "good.py:forward"],
        ["report", "good.py:forward"],
        ["lint", "good.py"],
    ],
    ids=lambda args: args[0],
)
def test_an_output_that_cannot_be_written(
    args: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder, and a place that is not there; what stands there stays."""
    for output in ("empty", "nowhere/out.txt", "good.py/out.txt"):
        status, text = said(capsys, *args, "-o", output)
        assert status == 2, text
        assert output in text
    assert (folder / "good.py").read_bytes() == FILES["good.py"]


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"lint"}))
def test_an_import_that_is_interrupted_says_whose_it_was(
    command: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where the file itself is not the one that hangs; nothing is written."""
    with pytest.raises(SystemExit) as ended:
        main([command, named(command, "slow.py"), *COMMANDS[command]])
    said = "".join(capfd.readouterr())
    assert ended.value.code == 130
    assert "importing slow" in said
    assert f"had not ended; it was at {folder / 'late.py'}:2" in said
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {*FILES, "empty"}


def test_a_program_that_is_interrupted_has_its_summary(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Python says it, and the status that a shell gives."""
    status, text = said(capsys, "run", "slow.py")
    assert status == 130
    assert 'late.py", line 2' in text
    assert "KeyboardInterrupt" in text
    assert "0 functions, 0 programs" in text


def test_a_huge_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of data beside a function is no hindrance, and is not shown."""
    table = b"TABLE = [\n" + b"    (1, 'name', 2.5),\n" * 50_000 + b"]\n"
    (folder / "huge.py").write_bytes(FILES["good.py"] + table)
    for args in (["dump", "huge.py:forward"], ["lint", "huge.py"]):
        status, text = said(capsys, *args)
        assert status == 0, text
        assert len(text) < 1000


@pytest.mark.parametrize("place", BAD)
def test_run_says_what_python_says(
    place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that Python cannot run ends as it does there; one that is not there with 2."""
    status, text = said(capsys, "run", place)
    ours = place in ("missing.py", "empty", "no_such_module")
    assert status == (2 if ours else 3 if place == "leaves.py" else 1), text
    assert place == "leaves.py" or BAD[place].partition(":")[0] in text


def test_a_file_that_may_not_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Root may read all files, so a link to itself stands for one that nobody can."""
    (folder / "loop.py").symlink_to("loop.py")
    for command, options in COMMANDS.items():
        status, text = said(capsys, command, named(command, "loop.py"), *options)
        assert status == 2, text
        assert "loop.py" in text


@pytest.mark.parametrize(
    "args",
    [
        ["dump", "net.py:f", "-o", "net.py"],
        ["dump", "net.py:f", "--source-map", "./net.py"],
        ["bench", "net.py:f", "-i", "float32[2]", "-o", "net.py"],
        ["explain", "net.py:f", "-o", "net.py"],
        ["report", "net.py:f", "--html", "link.py"],
        ["lint", "net.py", "-o", "net.py"],
        ["lint", ".", "-o", "net.py"],
        ["run", "-o", "net.py", "net.py"],
        ["minimize", "net.py:f", "-o", "net.py"],
    ],
    ids=" ".join,
)
def test_an_output_that_is_the_source_is_refused_and_unharmed(tmp_path, monkeypatch, capsys, args):
    """A source is never written over by what is said of it."""
    monkeypatch.chdir(tmp_path)
    source = "def f(x):\n    return x + 1\n"
    (tmp_path / "net.py").write_text(source)
    (tmp_path / "link.py").symlink_to("net.py")
    assert main(args) == 2
    said = capsys.readouterr().err
    assert "is the file that the command reads" in said
    assert said.rstrip().endswith("[D2S504]")
    assert (tmp_path / "net.py").read_text() == source


@pytest.mark.parametrize("args", [["doctor"], ["lint", "net.py"], ["minimize", "net.py:f"]])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    tmp_path, monkeypatch, capsys, args
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text("import missing_module\n")  # whoever reads on says D2S502
    assert main([*args, "-o", "no/such.txt"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("[D2S504]")
