"""Every rule against a conversion of the same function, and every twin that works."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import paddle
import pytest

import d2s
from d2s.lint.check import check_text
from d2s.lint.findings import Finding
from tests.unit.lint import constructs

FILE = Path(constructs.__file__)
TEXT = FILE.read_text(encoding="utf-8")
FINDINGS = check_text(TEXT, FILE.name)
EXPECTED = {
    (number, found[1])
    for number, line in enumerate(TEXT.splitlines(), 1)
    if (found := re.search(r"# (D2S\d{3})( elsewhere| TypeError)?$", line))
}
FUNCTIONS = {
    node.name: node
    for node in ast.parse(TEXT).body
    if isinstance(node, ast.FunctionDef) and node.decorator_list
}
HELPERS = {
    "recursion": "_power",
    "yields_while": "_halves",
    "awaited_in_a_branch": "_awaits",
    "picked_by_an_object": "Sampler",
}


def said_of(name: str) -> list[Finding]:
    """The findings in a function, or in the helper that it calls."""
    names = (name, HELPERS.get(name))
    nodes = [node for node in ast.parse(TEXT).body if getattr(node, "name", "") in names]
    return [f for f in FINDINGS for node in nodes if node.lineno <= f.line <= node.end_lineno]


def test_the_findings_are_those_that_the_file_announces() -> None:
    """No more and no less, each on its line."""
    assert {(found.line, found.code) for found in FINDINGS} == EXPECTED


@pytest.mark.sampled(
    4,
    also=[
        "layer_of_its_own",
        "hook_in_a_branch",
        "array_that_is_shown",
        "shapes_in_a_list",
        "py_layer_in_a_loop",
        "truth_of_two",
        "bytes_of_a_generator",
        "awaited_in_a_branch",
        "other_dtype_of_the_same_memory",
        "grown_as_arguments",
        "set_of_numbers",
        "function_later",
        "of_a_seed",
        "name",
        "new_key_in_each_trip",
        "noise",
        "text_as_a_key",
    ],
)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("_")])
def test_a_conversion_does_what_lint_says(name: str) -> None:
    """Refused with that code, or not refused at all."""
    said = said_of(name)
    error: BaseException | None = None
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=not name.startswith("hook"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(constructs, name)(x)
        except (d2s.D2SError, TypeError) as raised:
            error = raised
    refusals = {found.code for found in said if found.severity == "error"}
    notes = {found.code for found in said if found.severity == "note"}
    if isinstance(error, d2s.D2SError):
        assert error.code in refusals | notes
    elif error is not None:
        assert refusals  # Python's own error about a value that is not there
    else:
        assert not refusals


@pytest.mark.parametrize("name", ["environment", "own_text"])
def test_what_happens_once_is_a_warning(name: str) -> None:
    """It is not refused."""
    assert [found.severity for found in said_of(name)] == ["warning"]


@pytest.mark.parametrize("name", ["clock", "name", "nap", "own_folder"])
def test_what_happens_on_each_call_is_a_note(name: str) -> None:
    """One program is refused, several are not."""
    assert [(found.code, found.severity) for found in said_of(name)] == [("D2S205", "note")]


def test_a_method_that_forward_calls_is_read_with_what_is_passed() -> None:
    """The place is that of the call of numpy(), the function the method."""
    (found,) = [one for one in FINDINGS if one.function == "shifted"]
    assert (found.code, found.severity) == ("D2S208", "note")


def test_what_is_not_converted_is_not_looked_at() -> None:
    lines = TEXT.splitlines()
    start = lines.index("def not_converted(x):")
    assert not [found for found in FINDINGS if found.line > start]
