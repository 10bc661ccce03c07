"""The figures of the house only go down, and each of them sees what it is there for."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.house import __main__ as command
from tests.house.__main__ import ROOT, TABLE, better, record, recorded, worse
from tests.house.measures import Figure, House, Module, figures


def test_no_figure_goes_up() -> None:
    """``python -m tests.house --places WORD`` says where; a warning says what can be recorded."""
    found, table = figures(ROOT / "d2s"), recorded()
    assert worse(found, table) == []
    for line in better(found, table):
        warnings.warn(f"lower the table, `python -m tests.house --record`: {line}", stacklevel=1)


def test_the_table_has_a_line_for_each_figure() -> None:
    """So that changes of different figures can be merged."""
    lines = TABLE.read_text("utf-8").splitlines()
    assert [line.count(":") for line in lines] == [0, *[1] * len(recorded()), 0]
    assert list(recorded()) == sorted(recorded())


def test_up_down_new_and_gone() -> None:
    """What is new or higher is worse; what is lower or gone can be recorded."""
    found = {"a": Figure(3), "b": Figure(1), "c": Figure(0), "same": Figure(2)}
    table = {"a": 2.0, "b": 1.5, "same": 2.0, "old": 7.0}
    assert worse(found, table) == ["a: 2.0 -> 3", "c: not recorded -> 0"]
    assert better(found, table) == ["old: not measured any more", "b: 1.5 -> 1"]


def test_a_worse_figure_is_recorded_by_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written while one figure is worse, or new, that nobody has named."""
    table = tmp_path / "figures.json"
    table.write_text('{"a": 2, "b": 5}')
    monkeypatch.setattr(command, "TABLE", table)
    found = {"c": Figure(1), "a": Figure(3), "b": Figure(4)}
    assert record(found, ["c"]) == ["a"]
    assert recorded() == {"a": 2, "b": 5}
    assert record(found, ["a", "c"]) == []
    assert recorded() == {"a": 3, "b": 4, "c": 1}
    assert record({"a": Figure(2), "b": Figure(4)}, []) == []
    assert recorded() == {"a": 2, "b": 4}


KINDS = """
def one(x): return isinstance(x, list) or isinstance(x, (list, str))
def two(x): return isinstance(x, list) or type(x) is dict
def pair(x): return isinstance(x, (tuple, collections.deque))
"""
TYPED = "if TYPE_CHECKING:\n    from d2s.program.b import B\nfrom typing import Any"
LATE = """
def keep(f):
    global _f
    _f = f
def count(n):
    global _n
    _n += 1
def plain(f):
    f = f
"""
LONG = "def long():\n" + "    pass\n" * 61
OPEN = "def f(self, a: Any, b: int, *, c: Any, d): pass\ndef g(e: list[Any]): pass"

SEEN = {
    "several kinds": (
        {"d2s.x": KINDS, "d2s.runtime.values.tree": KINDS},
        ["d2s.x:two", "d2s.x:pair"],
    ),
    "for types alone": (
        {"d2s.program.a": TYPED, "d2s.lint.a": TYPED},
        ["d2s.program.a:d2s.program.b"],
    ),
    "import cycles": (
        {"d2s.program.a": TYPED, "d2s.program.b": "from d2s.program import a, Any", "d2s.c": TYPED},
        ["d2s.program.a", "d2s.program.b"],
    ),
    "late injections": ({"d2s.runtime.a": LATE, "d2s.cli": LATE}, ["d2s.runtime.a:keep"]),
    "modules above": ({"d2s.a": "x = 1\n" * 501, "d2s.b": "x = 1\n" * 500}, ["d2s.a"]),
    "functions above 60": ({"d2s.a": LONG, "d2s.b": LONG[:-9]}, ["d2s.a:long"]),
    "folders above": (
        {f"d2s.{folder}.m{k}": "" for folder, n in (("a", 15), ("b", 14)) for k in range(n)},
        ["d2s.a"],
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_figure_counts(name: str) -> None:
    """Neither too little nor too much."""
    modules, places = SEEN[name]
    found = House([Module(*each) for each in modules.items()]).figures()
    (figure,) = [each for whole, each in found.items() if name in whole]
    assert figure.places == tuple(sorted(places))
    assert figure.value == len(places)


def test_parameters_and_lines() -> None:
    """Those that are ``Any`` altogether; lines that have code, not comments."""
    found = House(
        [Module("d2s.runtime.a", OPEN), Module("d2s.b", "# no\nx = (\n    1)\n\ny = 2")]
    ).figures()
    assert found["parameters of the runtime that are Any, of 100"].value == 40.0
    assert found["lines with code"].value == 5
