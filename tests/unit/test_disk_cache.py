"""What other processes have converted is taken where it is right, and nowhere else (rule A1)."""

from __future__ import annotations

import importlib.util
import linecache
import math
import os
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import d2s
from d2s import conversion, disk_cache
from tests.helpers import tensor

TEXT = '''
import math
import paddle

FACTOR = 2.0


def f(x):
    """Doubles what is positive."""
    if x.sum() > 0:
        return paddle.abs(x) * FACTOR
    return x - math.floor(1.5)


def g(x):
    return x if x.sum() in {1.0, 2.0} else -x
'''


@pytest.fixture(autouse=True)
def cached(tmp_path: Path) -> Iterator[Path]:
    """A folder of its own; passes are not checked, as they are in other tests."""
    with d2s.options(cache_dir=str(tmp_path / "cache"), verify=False):
        yield tmp_path / "cache"


def module(place: Path, text: str = TEXT, name: str = "mod") -> types.ModuleType:
    """A module of this text, as another process would import it."""
    file = place / f"{name}.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def conversions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are converted from here on, not found."""
    made: list[str] = []
    plain = conversion._transformed

    def noting(function: Any, pipeline: str) -> Any:
        made.append(function.__name__)
        return plain(function, pipeline)

    monkeypatch.setattr(conversion, "_transformed", noting)
    return made


def check(function: Any) -> None:
    assert d2s.to_static(function)(tensor(1.0, -3.0)).tolist() == [0.0, -4.0]
    assert d2s.to_static(function)(tensor(3.0, -1.0)).tolist() == [6.0, 2.0]


def test_another_process_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: the same function in a new module object is not converted again, and is right."""
    check(module(tmp_path).f)
    made = conversions(monkeypatch)
    check(module(tmp_path).f)
    assert not made
    assert disk_cache.info()["entries"] == 1


def test_processes_agree_on_the_key(tmp_path: Path, cached: Path) -> None:
    """A1: sets of texts have another order in each process, and the key has not."""
    file = tmp_path / "mod.py"
    file.write_text(TEXT.replace("{1.0, 2.0}", "{'a', 'b', 'c', 'd', 'e', 'f'}"))
    script = (
        "import d2s_command, importlib.util, linecache, sys\n"
        "from d2s import disk_cache\n"
        "spec = importlib.util.spec_from_file_location('mod', sys.argv[1])\n"
        "sys.modules['paddle'] = sys\n"
        "mod = importlib.util.module_from_spec(spec); spec.loader.exec_module(mod)\n"
        "code = mod.g.__code__\n"
        "print(disk_cache.key_of(code, 'g', linecache.getlines(sys.argv[1]), 'usual'))\n"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", script, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(keys) == 1


CHANGES = {
    "a comment in the file": ("Doubles what is positive.", "Doubles."),
    "a line before it": ("FACTOR = 2.0\n", "FACTOR = 2.0\n\n"),
    "a constant": ("math.floor(1.5)", "math.floor(1.25)"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_text_is_converted(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1: whatever of the file has changed, the function is converted anew."""
    check(module(tmp_path).f)
    made = conversions(monkeypatch)
    check(module(tmp_path, TEXT.replace(*CHANGES[what])).f)
    assert made == ["f"]


def test_each_part_of_the_key_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: another name, pipeline, text, code, d2s, Python or flag of Python is another key."""
    made = module(tmp_path)
    lines = TEXT.splitlines(keepends=True)
    keys = [
        disk_cache.key_of(made.f.__code__, "f", lines, "usual"),
        disk_cache.key_of(made.f.__code__, "A.f", lines, "usual"),
        disk_cache.key_of(made.f.__code__, "f", lines, "cut"),
        disk_cache.key_of(made.f.__code__, "f", [*lines, "\n"], "usual"),
    ]
    code = made.f.__code__
    changed: dict[str, Any] = {
        "co_firstlineno": 90, "co_name": "h", "co_filename": "other.py", "co_names": ("a", "b"),
        "co_consts": (*code.co_consts[:-1], 7.0), "co_flags": code.co_flags | 0x1000000,
        "co_varnames": ("y",), "co_freevars": ("k",), "co_cellvars": ("k",),
        "co_code": code.co_code + code.co_code[-2:],
    }  # fmt: skip
    for name, value in changed.items():
        keys.append(disk_cache.key_of(code.replace(**{name: value}), "f", lines, "usual"))
    around = disk_cache.surroundings
    monkeypatch.setattr(disk_cache, "surroundings", lambda: (*around(), "another"))
    keys.append(disk_cache.key_of(code, "f", lines, "usual"))
    assert len(set(keys)) == len(keys)


def test_the_surroundings_are_d2s_and_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: a changed pass, another Python, ``-O``: nothing of before is found."""
    ask = disk_cache.surroundings.__wrapped__
    found = [ask()]
    monkeypatch.setattr(sys, "version", "another")
    found.append(ask())
    monkeypatch.setattr(importlib.util, "MAGIC_NUMBER", b"1234")
    found.append(ask())
    monkeypatch.setattr(sys, "flags", types.SimpleNamespace(optimize=2))
    found.append(ask())
    plain = Path.stat

    def touched(self: Path, **options: Any) -> Any:
        stat = plain(self, **options)
        if self.name != "returns.py":
            return stat
        return types.SimpleNamespace(st_mtime_ns=1, st_size=stat.st_size)

    monkeypatch.setattr(Path, "stat", touched)
    found.append(ask())
    assert len(set(found)) == len(found)


def test_what_a_name_stands_for_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1: a global that is bound to something else after the import is part of the question."""
    check(module(tmp_path).f)
    made = conversions(monkeypatch)
    other = module(tmp_path)
    other.math = types.SimpleNamespace(floor=math.floor)
    check(other.f)
    assert made == ["f"]


@pytest.mark.parametrize("length", [0, 3, 20, 60, -1])
def test_a_damaged_file_is_no_entry(
    length: int, cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1: what was cut off, or has a wrong byte, is converted again and written again."""
    check(module(tmp_path).f)
    (file,) = cached.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:length] if length >= 0 else whole[:-1] + bytes([whole[-1] ^ 1]))
    made = conversions(monkeypatch)
    check(module(tmp_path).f)
    assert made == ["f"]
    assert len(file.read_bytes()) == len(whole)


def test_a_full_disk(cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: nothing is left half-written, and the function works."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    check(module(tmp_path).f)
    assert list(cached.iterdir()) == []


def test_a_folder_that_others_may_write_into(cached: Path, tmp_path: Path) -> None:
    """A1: what is in the folder is run, so it is the user's alone."""
    cached.mkdir()
    cached.chmod(0o777)
    check(module(tmp_path).f)
    assert list(cached.iterdir()) == []


def test_a_folder_that_is_none(tmp_path: Path, cached: Path) -> None:
    """A1: a file stands where the folder should be, or the cache is off."""
    cached.write_text("")
    check(module(tmp_path).f)
    with d2s.options(cache_dir="0"):
        assert disk_cache.folder() is None
        check(module(tmp_path, name="other").f)
        assert disk_cache.info() == {"folder": None, "entries": 0, "bytes": 0}


def test_many_write_at_once(tmp_path: Path, cached: Path) -> None:
    """A1: who looks while others write sees an entry as a whole, or none."""
    f = module(tmp_path).f
    check(f)
    resolve = conversion.resolver(f)
    entry = disk_cache.find(f, "usual", resolve)
    assert entry is not None
    tree = conversion.trace_of(f).source.tree
    wrong: list[Any] = []

    def work() -> None:
        with d2s.options(cache_dir=str(cached), verify=False):
            for _ in range(40):
                disk_cache.keep(f, "usual", resolve, tree, entry)
                found = disk_cache.find(f, "usual", resolve)
                if found is None or found.code != entry.code:
                    wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(list(cached.iterdir())) == 1


def test_clear_and_few(tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: ``clear`` removes entries alone; the oldest go where there are too many."""
    made = module(tmp_path)
    check(made.f)
    (cached / "notes.txt").write_text("mine")
    monkeypatch.setattr(disk_cache, "MOST", 0)
    disk_cache._trim_once.cache_clear()
    for number in range(3):
        (cached / f"{number}{disk_cache.SUFFIX}").write_bytes(b"")
        os.utime(cached / f"{number}{disk_cache.SUFFIX}", (number, number))
    d2s.to_static(made.g)(tensor(1.0))
    assert not (cached / f"0{disk_cache.SUFFIX}").exists()
    assert disk_cache.info()["entries"] == 3  # two of four stay, and the new one
    assert disk_cache.clear() == 3
    assert [each.name for each in cached.iterdir()] == ["notes.txt"]
