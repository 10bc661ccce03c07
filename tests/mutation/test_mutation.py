"""The tool that makes mutants: what it changes, which tests it chooses, what it tells."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import coverage
import pytest

from tests.mutation.__main__ import FOLDERS, ROOT, mutants_to_try
from tests.mutation.forks import Outcome
from tests.mutation.mutants import Mutant, diff_of, mutants_of, mutated, sample
from tests.mutation.recording import Recording, _parts
from tests.mutation.results import Result, Results, report, score
from tests.mutation.survivors import EXPLAINED
from tests.mutation.trial import Trials


def mutants_in(folder: Path, text: str) -> list[Mutant]:
    path = folder / "module.py"
    path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
    return mutants_of(path, folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b", ["a <= b"]),
        ("x = a is not b in c", ["a is b in c", "a is not b not in c"]),
        ("x = a and b", ["a or b"]),
        ("x = not a", ["a"]),
        ("x = a + 1", ["a - 1", "2"]),
        ("x = [True, 2.5, 'name', None, 'a sentence', f'{a + 1}']", ["False", "3.5", "'name_'"]),
        ("x = f(a, *b, c=d)", ["f(a, *b)", "f(a, c=d)"]),
        ("x = isinstance(a, B | C)", ["B", "C"]),
        ("x = isinstance(a, (B, C))", ["(C,)", "(B,)"]),
        ("if a:\n  f()", ["not a", "pass"]),
        ("if a == b:\n  x = c\nelse:\n  f()", ["if a == b:\n    pass\nelse:\n    f()",
         "if a == b:\n    x = c", "a != b", "pass"]),
        ("while a:\n  break", ["not a", "continue"]),
        ("for a in b:\n  continue", ["pass"]),
        ("x = [a for a in b if a]", ["not a"]),
        ("def f():\n  return a", ["return None"]),
        ("def f():\n  return False", ["True"]),
        ("def f():\n  return", ["pass"]),
        ("a.b = c\nd[e] = f\ng += h\ndel a[b]\nraise i", ["pass"] * 5),
        ("try:\n  x = a\nexcept B:\n  x = c", ["except B:\n    raise"]),
    ],
)  # fmt: skip
def test_changes(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert [mutant.after for mutant in mutants_in(tmp_path, text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""',
        "def f(a: int = None) -> list[bool]:\n  '''doc'''\n  global b",
        "@dataclass(frozen=True)\nclass A(B):\n  pass",
        "if TYPE_CHECKING:\n  import a",
        "assert a is not None",
        "__all__ = ['a']",
        "Body = Callable[[int], bool]",
        "x: bool | None = a",
        "x = zip(a, b, strict=True)",
        "raise",
    ],
)
def test_what_is_no_behaviour_is_left_alone(tmp_path: Path, text: str) -> None:
    found = mutants_in(tmp_path, text)
    assert [mutant.after for mutant in found] == (["pass"] if text == "raise" else [])


def test_a_mutant_differs_in_one_place_and_keeps_all_lines() -> None:
    path = ROOT / "d2s/passes/expressions/supers.py"
    original = ast.parse(path.read_text("utf-8"))
    lines = {node.name: node.lineno for node in ast.walk(original) if hasattr(node, "name")}
    for mutant in mutants_of(path, ROOT):
        tree = mutated(mutant, ROOT)
        compile(tree, str(path), "exec")
        assert ast.unparse(tree) != ast.unparse(original), mutant
        assert lines == {
            node.name: node.lineno for node in ast.walk(tree) if getattr(node, "name", "") in lines
        }


def test_a_mutant_knows_its_lines_and_is_shown_as_a_diff(tmp_path: Path) -> None:
    (mutant, _) = mutants_in(
        tmp_path,
        """
        class A:
            def f(self, x):
                if (
                    x and
                    self.y
                ):
                    z = 1
        """,
    )[1:3]
    assert (mutant.where, mutant.kind, mutant.line) == ("A.f", "condition negated", 4)
    assert (mutant.span, mutant.scope) == ((3, 6), (2, 7))
    assert diff_of(mutant, tmp_path).splitlines()[3:] == [
        "         if (",
        "-            x and",
        "-            self.y",
        "+            not (x and self.y)",
        "         ):",
    ]


def test_the_key_stays_when_other_lines_change(tmp_path: Path) -> None:
    text = "def f(a):\n    return a < 1 or a < 1\n"
    before = [mutant.key for mutant in mutants_in(tmp_path, text)]
    assert len(set(before)) == len(before)
    assert [mutant.key for mutant in mutants_in(tmp_path, "x = y\n\n" + text)] == before


def test_a_larger_sample_holds_the_smaller_and_every_file_has_its_part() -> None:
    mutants = [
        mutant
        for name in ("statements/jumps", "expressions/supers", "statements/matches")
        for mutant in mutants_of(ROOT / f"d2s/passes/{name}.py", ROOT)
    ]
    small, large = (sample(mutants, count, seed=3) for count in (20, 60))
    assert {mutant.key for mutant in small} < {mutant.key for mutant in large}
    assert {mutant.file for mutant in small} == {mutant.file for mutant in mutants}
    assert abs(len(large) - 60) <= 3
    assert sample(mutants, 20, seed=4) != small


def test_every_explained_survivor_is_a_mutant_that_there_is() -> None:
    files = {item.file for item in EXPLAINED}
    known = [mutant for file in sorted(files) for mutant in mutants_of(ROOT / file, ROOT)]
    for item in EXPLAINED:
        assert any(item.speaks_of(mutant) for mutant in known), f"the code has changed: {item}"
        assert item.file.startswith(FOLDERS)
        assert item.reason.endswith(".")


MODULE = """
def f(a):
    if a:
        x = 1
    return a < 2

TABLE = {3: f}
"""


@pytest.fixture
def recorded(tmp_path: Path, request: pytest.FixtureRequest) -> Recording:
    """Tests ``slow`` and ``fast`` take one way through ``f``, ``other`` takes another."""
    mutants_in(tmp_path, MODULE)
    file = str(tmp_path / "module.py")
    data = coverage.CoverageData(str(tmp_path / "coverage"))
    for test, steps in {
        "t.py::fast": [(-1, 2), (2, 3), (3, 4), (4, -1)],
        "t.py::slow": [(-1, 2), (2, 3), (3, 4), (4, -1)],
        "t.py::other": [(-1, 2), (2, 4), (4, -1)],
        "t.py::failed": [(-1, 2), (2, 4), (4, -1)],
    }.items():
        data.set_context(test)
        data.add_arcs({file: steps})
    data.write()
    tests = {
        f"t.py::{name}": {"seconds": seconds, "outcome": outcome}
        for name, seconds, outcome in [
            ("fast", 0.1, "passed"),
            ("slow", 0.3, "passed"),
            ("other", 0.2, "passed"),
            ("failed", 0.1, "failed"),
        ]
    }
    added = ["t.py::slow"] if getattr(request, "param", False) else []
    (tmp_path / "tests.json").write_text(
        json.dumps({"tests": tests, "files": {}, "added": added}), "utf-8"
    )
    return Recording(tmp_path, tmp_path)


def one(recording: Recording, before: str) -> Mutant:
    mutants = mutants_of(recording.root / "module.py", recording.root)
    return next(mutant for mutant in mutants if mutant.before == before)


def test_the_tests_of_a_line_come_way_by_way_the_fastest_first(recorded: Recording) -> None:
    assert recorded.tests_for(one(recorded, "a < 2")) == [
        "t.py::fast", "t.py::other", "t.py::slow",
    ]  # fmt: skip
    assert recorded.tests_for(one(recorded, "1")) == ["t.py::fast", "t.py::slow"]


def test_what_an_import_runs_may_be_seen_by_every_test(recorded: Recording) -> None:
    assert set(recorded.tests_for(one(recorded, "3"))) == set(recorded.tests)


def written(folder: Path, text: str, steps: dict[str, list[tuple[int, int]]]) -> Recording:
    """A record of ``module.py``, in which each test takes 0.1 seconds."""
    mutants_in(folder, text)
    data = coverage.CoverageData(str(folder / "coverage"))
    for test, taken in steps.items():
        data.set_context(test)
        data.add_arcs({str(folder / "module.py"): taken})
    data.write()
    tests = {test: {"seconds": 0.1, "outcome": "passed"} for test in steps if test}
    (folder / "tests.json").write_text(
        json.dumps({"tests": tests, "files": {}, "added": []}), "utf-8"
    )
    return Recording(folder, folder)


def test_a_test_that_speaks_of_a_changed_text_comes_first(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("def test_a():\n  pass\ndef test_b():\n  'wanted'\n", "utf-8")
    (tmp_path / "u.py").write_text("def test_c():\n  pass\n", "utf-8")
    steps = [(-1, 1), (1, -1)]
    names = ["u.py::test_c", "t.py::test_a[1]", "t.py::test_b[2]", "u.py::test_c[wanted]"]
    recording = written(tmp_path, "TABLE = {'wanted': 1}", dict.fromkeys(names, steps))
    assert recording.tests_for(one(recording, "'wanted'")) == [
        "u.py::test_c[wanted]", "t.py::test_b[2]", "t.py::test_a[1]", "u.py::test_c",
    ]  # fmt: skip


def test_what_only_the_import_runs_may_be_seen_by_every_test(tmp_path: Path) -> None:
    text = "def f():\n    return 1\n\nVALUE = f()\n"
    steps = {"": [(-1, 2), (2, -1)], "t.py::other": [(-1, 4), (4, -1)]}
    recording = written(tmp_path, text, steps)
    assert recording.tests_for(one(recording, "1")) == ["t.py::other"]


def test_a_test_that_adds_much_comes_before_one_like_those_before_it(tmp_path: Path) -> None:
    text = "def f(a):\n    if a:\n        g()\n    else:\n        h()\n    return a\n"
    left, right = [(-1, 2), (2, 3), (3, 6), (6, -1)], [(-1, 2), (2, 5), (5, 6), (6, -1)]
    steps = {"t.py::a": left, "t.py::b": left, "t.py::c": right, "t.py::d": [*left, *right]}
    found = written(tmp_path, text, steps)
    assert found.tests_for(one(found, "return a")) == ["t.py::d", "t.py::a", "t.py::c", "t.py::b"]


@pytest.mark.parametrize("recorded", [True], indirect=True)
def test_a_test_that_was_added_comes_first(recorded: Recording) -> None:
    assert recorded.tests_for(one(recorded, "1")) == ["t.py::slow", "t.py::fast"]


def test_an_edited_file_is_not_the_recorded_one(recorded: Recording) -> None:
    assert not recorded.is_current("module.py")


class Runs:
    """In place of child processes: ``kills`` fail under a mutant, ``broken`` always."""

    def __init__(self, kills: tuple[str, ...] = (), broken: tuple[str, ...] = ()) -> None:
        self.kills, self.broken = kills, broken
        self.seen: list[tuple[list[str], bool]] = []

    def __call__(
        self, tests: list[str], root: Path, limit: float, change: object = None
    ) -> Outcome:
        self.seen.append((list(tests), change is not None))
        for position, test in enumerate(tests, 1):
            if test in self.broken or (change is not None and test in self.kills):
                return Outcome(True, test, tuple(tests[:position]))
        return Outcome(False, "", tuple(tests))


def test_a_survivor_has_been_run_by_all_its_tests(recorded: Recording) -> None:
    runs = Runs()
    result = Trials(recorded, recorded.root, 60.0, runs).of(one(recorded, "a < 2"))
    assert (result.killed, result.tried, result.known) == (False, 3, 3)


def test_a_test_that_kills_is_tried_without_the_change_once(recorded: Recording) -> None:
    runs = Runs(kills=("t.py::slow",))
    trials = Trials(recorded, recorded.root, 60.0, runs)
    result = trials.of(one(recorded, "a < 2"))
    assert (result.killed, result.by, result.tried) == (True, "t.py::slow", 3)
    assert [changed for _, changed in runs.seen] == [True, False]
    assert trials.of(one(recorded, "1")).by == "t.py::slow"
    assert [changed for _, changed in runs.seen] == [True, False, True]
    assert runs.seen[-1][0][0] == "t.py::slow"  # what has killed goes first


def test_a_test_that_fails_anyway_kills_nothing(recorded: Recording) -> None:
    trials = Trials(recorded, recorded.root, 60.0, Runs(broken=("t.py::fast",)))
    result = trials.of(one(recorded, "a < 2"))
    assert not result.killed
    assert trials.doubtful == {"t.py::fast"}
    assert trials.of(one(recorded, "1")).known == 1


def test_results_are_kept_and_told(tmp_path: Path) -> None:
    first, second, *_ = mutants_in(tmp_path, MODULE)
    results = Results(tmp_path / "results.json")
    results.add(Result(first, True, "t.py::a", 1, 4))
    results.add(Result(second, False, "", 4, 4))
    again = Results(tmp_path / "results.json").of([second, first])
    assert [(found.mutant, found.killed) for found in again] == [(second, False), (first, True)]
    assert score(again) == 50.0
    text = report(again, tmp_path)
    assert "4 of the 4 tests that run it were run" in text
    assert f"[{second.key}]" in text
    assert f"[{first.key}]" not in text


def test_a_record_is_of_every_file_of_tests_and_of_the_doctests() -> None:
    parts = _parts(ROOT)
    files = [part[-1] for part in parts]
    assert files[0] == "d2s"
    assert sorted(files[1:]) == sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")
    )
    assert all("not slow" in part for part in parts[1:])


def test_what_tests_start_is_kept_apart(tmp_path: Path) -> None:
    """What another process runs is no line of the test; a file without tests is no failure."""
    (tmp_path / "d2s").mkdir()
    (tmp_path / "d2s" / "__init__.py").write_text("", "utf-8")
    (tmp_path / "d2s" / "own.py").write_text("own = 1\n", "utf-8")
    (tmp_path / "d2s" / "other.py").write_text("other = 1\n", "utf-8")
    (tmp_path / "conftest.py").write_text("", "utf-8")
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys\n"
        "def test_it():\n"
        "    import d2s.own\n"
        "    subprocess.run([sys.executable, '-c', 'import d2s.other'], check=True)\n",
        "utf-8",
    )
    (tmp_path / "test_nothing.py").write_text("", "utf-8")
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    script = (
        "from pathlib import Path; from tests.mutation import recording as r;"
        "r._parts = lambda root: [('test_it.py',), ('test_nothing.py',)];"
        f"root = Path({str(tmp_path)!r}); raise SystemExit(r.record(root / 'kept', root, jobs=2))"
    )
    subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, **environment}, check=True
    )

    def ran(name: str) -> set[str]:
        data = coverage.CoverageData(str(tmp_path / "kept" / name))
        data.read()
        return {Path(file).name for file in data.measured_files() if data.arcs(file)}

    assert "own.py" in ran("coverage")
    assert "other.py" not in ran("coverage")
    assert "other.py" in ran("started")
    noted = json.loads((tmp_path / "kept" / "tests.json").read_text("utf-8"))["tests"]
    assert noted["test_it.py::test_it"]["outcome"] == "passed"


@pytest.mark.slow
def test_record_and_run_from_the_command_line(tmp_path: Path) -> None:
    """The fork, the import from memory and the choice of tests, on the examples of one pass."""
    verb = [sys.executable, "-m", "tests.mutation"]
    place = ["--folder", str(tmp_path)]
    tests = ["tests/unit/passes/test_docstrings.py", "-k", "jumps"]
    subprocess.run([*verb, "record", *place, "--", *tests], cwd=ROOT, check=True)
    file, mutants = "d2s/passes/statements/jumps.py", mutants_to_try()
    own = sum(mutant.file == file for mutant in mutants)  # a sample is of all files in proportion
    size = str(12 * len(mutants) // own)
    wanted = ["--only", file, "--sample", size, "--at-least", "0"]
    told = subprocess.run(
        [*verb, "run", *place, *wanted], cwd=ROOT, check=True, capture_output=True, text=True
    ).stderr
    ends = [line.partition(": ")[2] for line in told.splitlines() if ".py:" in line]
    assert any(end.startswith("killed by tests/unit/passes/test_docstrings.py") for end in ends)
    assert not any(end in ("killed by import", "killed by time") for end in ends)
    assert json.loads((tmp_path / "results.json").read_text("utf-8"))
