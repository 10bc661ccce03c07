"""The source map: right in both directions, and a Source Map v3 that another decoder reads."""

from __future__ import annotations

import functools
import json
import linecache
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import d2s
from d2s.api import trace
from d2s.cli import main
from d2s.diagnostics.sourcemap import Position, Segment, SourceMap, source_map_of, vlq
from d2s.errors import ArgumentsError, NoSourceError, NotAFunctionError
from d2s.syntax.printer import to_source
from d2s.syntax.printing.layout import Printed
from tests.golden.test_golden import CASES, HERE, function_in
from tests.helpers import function_of

BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


# -- a decoder of the format, written not from our encoder ------------------------------


def numbers_of(text: str) -> list[int]:
    """The numbers of one mapping."""
    found, bits, shift = [], 0, 0
    for char in text:
        digit = BASE64.index(char)
        bits |= (digit & 0b11111) << shift
        shift += 5
        if not digit & 0b100000:
            found.append(-(bits >> 1) if bits & 1 else bits >> 1)
            bits = shift = 0
    assert shift == 0, "a number does not end"
    return found


def decoded(data: dict[str, Any]) -> list[tuple[int, int, str, int, int, str | None]]:
    """Line, column, source, line, column, name of each mapping; all counted from 0."""
    found = []
    source = old_line = old_column = name = 0
    for line, mappings in enumerate(data["mappings"].split(";")):
        column = 0
        for mapping in filter(None, mappings.split(",")):
            numbers = numbers_of(mapping)
            assert len(numbers) in (4, 5)
            column += numbers[0]
            source += numbers[1]
            old_line += numbers[2]
            old_column += numbers[3]
            named = None
            if len(numbers) == 5:
                name += numbers[4]
                named = data["names"][name]
            found.append((line, column, data["sources"][source], old_line, old_column, named))
    return found


def in_units(line: str, column: int) -> int:
    """A column in UTF-16 code units."""
    return sum(2 if ord(char) > 0xFFFF else 1 for char in line[:column])


# -- every golden sample ---------------------------------------------------------------------------


@functools.cache
def map_of(name: str) -> tuple[SourceMap, Printed]:
    """The map of a sample, and the same code as it was printed."""
    tree = trace(function_in(name), keep_steps=False).tree
    return source_map_of(tree, str(HERE / f"{name}.py")), to_source(tree)


@pytest.mark.parametrize("name", CASES)
def test_round_trips(name: str) -> None:
    """Where a stretch came from leads back to it; a variable stands at both places."""
    made, _ = map_of(name)
    new = made.text.split("\n")
    old = Path(made.file).read_text(encoding="utf-8").split("\n")
    assert made.segments
    for segment in made.segments:
        line, column = segment.generated
        assert made.original(line, column) == (made.file, *segment.original)
        assert segment.generated in made.generated(*segment.original)
        assert segment.generated in made.generated(segment.original.line)
        assert 0 < segment.original.line <= len(old)
        assert 0 <= segment.original.column <= len(old[segment.original.line - 1])
        if segment.name is not None:
            assert new[line - 1][column:].startswith(segment.name)
            assert old[segment.original.line - 1][segment.original.column :].startswith(
                segment.name
            )


@pytest.mark.parametrize("name", CASES)
def test_the_lines_are_those_of_the_printer(name: str) -> None:
    """The printer notes the lines of statements while it prints; the map finds the same ones."""
    made, printed = map_of(name)
    assert made.text == printed.text
    for number, (text, line) in enumerate(
        zip(printed.text.split("\n"), printed.lines, strict=False), 1
    ):
        if line is not None:
            place = made.original(number, len(text) - len(text.lstrip()))
            assert place is not None
            assert place.line == line


@pytest.mark.parametrize("name", CASES)
def test_every_line_of_code_has_a_place(name: str) -> None:
    """Only an empty line comes from nowhere."""
    made, _ = map_of(name)
    for number, text in enumerate(made.text.removesuffix("\n").split("\n"), 1):
        assert (made.original(number) is None) == (not text.strip())


@pytest.mark.parametrize("name", CASES)
def test_another_decoder_reads_the_json(name: str) -> None:
    """Source Map v3: the same segments, in order, columns in UTF-16 code units."""
    made, _ = map_of(name)
    data = json.loads(made.to_json("f.py"))
    new, old = made.text.split("\n"), (made.content or "").split("\n")
    assert data["version"] == 3
    assert data["file"] == "f.py"
    assert data["sources"] == [made.file]
    assert data["sourcesContent"] == [Path(made.file).read_text(encoding="utf-8")]
    assert len(data["mappings"].split(";")) == len(new)
    assert decoded(data) == [
        (
            segment.generated.line - 1,
            in_units(new[segment.generated.line - 1], segment.generated.column),
            made.file,
            segment.original.line - 1,
            in_units(old[segment.original.line - 1], segment.original.column),
            segment.name,
        )
        for segment in made.segments
    ]


# -- properties ------------------------------------------------------------------------------------


@given(st.integers(-(2**70), 2**70))
def test_numbers(number: int) -> None:
    """A number of any size comes back."""
    assert numbers_of(vlq(number)) == [number]


TEXTS = st.lists(st.text("aé😀 ", min_size=1, max_size=8), min_size=1, max_size=5)


@st.composite
def maps(draw: st.DrawFn) -> SourceMap:
    """Any map between two texts."""
    new, old = draw(TEXTS), draw(TEXTS)

    def places(lines: list[str]) -> st.SearchStrategy[Position]:
        return st.sampled_from(
            [Position(n, c) for n, line in enumerate(lines, 1) for c in range(len(line))]
        )

    segments = draw(
        st.lists(
            st.builds(Segment, places(new), places(old), st.sampled_from([None, "a", "b"])),
            unique_by=lambda item: item.generated,
        )
    )
    return SourceMap("\n".join(new), "net.py", "\n".join(old), tuple(sorted(segments)))


@given(maps())
def test_any_map_is_decoded_as_it_is(made: SourceMap) -> None:
    """Whatever the texts, characters beyond 16 bits and names included."""
    new, old = made.text.split("\n"), (made.content or "").split("\n")
    assert decoded(json.loads(made.to_json())) == [
        (
            item.generated.line - 1,
            in_units(new[item.generated.line - 1], item.generated.column),
            "net.py",
            item.original.line - 1,
            in_units(old[item.original.line - 1], item.original.column),
            item.name,
        )
        for item in made.segments
    ]


@given(maps(), st.data())
def test_lookup_is_the_last_segment_before(made: SourceMap, data: st.DataObject) -> None:
    """What a viewer does: the last mapping at or before the column, on the line."""
    lines = made.text.split("\n")
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(0, len(lines[line - 1])))
    on_line = [item for item in made.segments if item.generated.line == line]
    before = [item for item in on_line if item.generated.column <= column]
    found = made.original(line, column)
    if not on_line:
        assert found is None
    else:
        want = before[-1] if before else on_line[0]
        assert found == ("net.py", *want.original)


# -- particular texts ------------------------------------------------------------------------------


def test_columns_count_characters() -> None:
    """Not bytes: an editor's column is found, on both sides."""
    function = function_of("def f(größe, x):\n    return größe + x if x > 0 else 'öl'\n")
    made = d2s.source_map(function)
    lines = made.text.split("\n")
    for word in ("größe", "'öl'", "0"):
        number = next(n for n, line in enumerate(lines, 1) if word in line and n > 1)
        place = made.original(number, lines[number - 1].index(word))
        assert place is not None
        line = linecache.getline(place.file, place.line)
        assert line[place.column :].startswith(word)


def test_a_method_keeps_its_indentation() -> None:
    """Columns are those of the file, not of the dedented text."""

    class Net:
        def forward(self, x):
            if x > 0:
                return x
            return -x

    made = d2s.source_map(Net.forward)
    first = Net.forward.__code__.co_firstlineno
    (place,) = {made.original(n) for n in range(1, 2)}
    assert place == (__file__, first, 8)
    starts = {item.original.column for item in made.segments if item.original.line == first + 3}
    assert 12 in starts


def test_one_line_to_many_and_back() -> None:
    """An ``if`` becomes several lines, all of which lead to it."""

    def f(x):
        if x > 0:
            x = x + 1
        return x

    made = d2s.source_map(f)
    line = f.__code__.co_firstlineno + 1
    places = made.generated(line)
    assert len({place.line for place in places}) > 2
    assert all(made.original(*place).line == line for place in places)  # type: ignore[union-attr]
    assert list(places) == sorted(places)


def test_a_column_of_the_file() -> None:
    """The code that begins last before it."""

    def f(x):
        return x if x > 0 else -x

    made = d2s.source_map(f)
    line = f.__code__.co_firstlineno + 1
    text = linecache.getline(__file__, line)
    (place,) = made.generated(line, text.index("0"))
    assert made.text.split("\n")[place.line - 1][place.column] == "0"
    assert made.generated(line, len(text) + 50)
    assert made.generated(line, 0) == ()
    assert made.generated(line + 1) == ()


def test_the_map_is_of_the_text_that_code_gives() -> None:
    """``d2s.source_map`` and ``d2s.code`` speak of one text; what is converted is no other."""

    def f(x):
        return x if x > 0 else -x

    made = d2s.source_map(f)
    assert made.text == d2s.code(f)
    assert d2s.source_map(d2s.to_static(f)) == made


def test_a_file_that_is_gone() -> None:
    """The map is still there; the text of the file is not."""
    function = function_of("def f(x):\n    return x if x > 0 else -x\n")
    made = d2s.source_map(function)
    lost = SourceMap(made.text, made.file, None, made.segments)
    data = json.loads(lost.to_json())
    assert data["sourcesContent"] == [None]
    assert len(decoded(data)) == len(made.segments)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "column"),
    [(0, 0), (-1, 0), (99, 0), (1, -1), ("1", 0), (1.0, 0), (True, 0), (1, None)],
)
def test_a_place_that_cannot_be(line: Any, column: Any) -> None:
    """D2S301, which names the place."""
    made = d2s.source_map(function_in("loops/while"))
    with pytest.raises(ArgumentsError, match=re.escape(str(line))):
        made.original(line, column)
    if line not in (99, 1) or column == -1:
        with pytest.raises(ArgumentsError):
            made.generated(line, column)


@pytest.mark.parametrize("thing", [3, len, "f", None, int])
def test_no_function(thing: Any) -> None:
    """D2S102."""
    with pytest.raises(NotAFunctionError):
        d2s.source_map(thing)


def test_no_source() -> None:
    """D2S101."""
    with pytest.raises(NoSourceError):
        d2s.source_map(eval("lambda x: x"))


# -- the command -----------------------------------------------------------------------------------

NET = "def f(x):\n    return x if x > 0 else -x\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_dump_writes_code_and_map(folder: Path) -> None:
    """The two fit: the map's file is the code's name, and its places are of that text."""
    with pytest.raises(SystemExit) as end:
        main(["dump", "net.py:f", "--source-map", "f.map", "-o", "f.py"])
    assert end.value.code == 0
    data = json.loads((folder / "f.map").read_text())
    text = (folder / "f.py").read_text()
    assert data["file"] == "f.py"
    assert data["sources"] == [str(folder / "net.py")]
    assert data["sourcesContent"] == [NET]
    assert "d2s.ifelse" in text
    for line, column, _, _, _, name in decoded(data):
        assert name is None or text.split("\n")[line][column:].startswith(name)


def test_dump_prints_the_code_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No gutters, which the map would not know of."""
    with pytest.raises(SystemExit):
        main(["dump", "net.py:f", "--source-map", "f.map"])
    assert capsys.readouterr().out.startswith("def f(x):\n    return d2s.ifelse(")


def test_dump_refuses_what_does_not_go_together(folder: Path) -> None:
    """A map is of the code only."""
    with pytest.raises(SystemExit) as end:
        main(["dump", "net.py:f", "--source-map", "f.map", "--passes"])
    assert end.value.code == 2
    assert not (folder / "f.map").exists()


def test_dump_names_a_map_that_cannot_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """D2S504."""
    assert main(["dump", "net.py:f", "--source-map", "nowhere/f.map"]) == 2
    assert "[D2S504]" in capsys.readouterr().err
