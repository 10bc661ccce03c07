"""``d2s test``: hold dygraph and the program of one function against each other on made-up calls.

The inputs come from ``d2s.testing`` (annotations, ``InputSpec``), the comparison from
``d2s.check``; this file runs the search, and says what it has found.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import paddle
import typer

from d2s import testing
from d2s.cli.targets.find import find
from d2s.cli.targets.specs import parse_input_spec
from d2s.cli.terminal.progress import working
from d2s.errors import D2SError
from d2s.selfcheck.check import Checker, target_of
from d2s.selfcheck.report import Report
from d2s.testing.equivalence import arguments_of

_CALLS = 3
"""So many calls one converted function gets: a program that is used wrongly again shows."""

_SHRINKING = 30.0
"""So many seconds are spent on a smaller call that shows a difference, too."""


def compare(
    target: str,
    *,
    examples: int,
    seed: int,
    grad: bool,
    input_spec: Sequence[str],
    rtol: float | None,
    atol: float | None,
    as_json: bool,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    specs = [parse_input_spec(text).to_paddle() for text in input_spec]
    found = find(target, layers=True).bound("tested")
    with found.importable():
        checker = Checker(rtol, atol, gradients=grad, seed=seed, input_spec=specs or None)
        search = Search(found.function, checker)
        with working(f"comparing {found.name} with dygraph"):
            search.run(examples, seed)
    typer.echo(search.json(found.name) if as_json else search.text(found.name), nl=False)
    if search.wrong is not None:
        raise typer.Exit(1)


@dataclass
class Search:
    """Looks for a call for which the program differs.

    Attributes:
        function: what is tested.
        checker: compares.
        calls: how many calls were compared.
        raised: how many of them raise in dygraph.
        refused: how many d2s refuses, by code, and the first error of each.
        compared: what was compared.
        remarks: what else there is to know.
        wrong: the smallest call found for which the program differs, with its report.
        group: the calls up to that one.
        ends: when to leave off looking for a smaller one.
    """

    function: Any
    checker: Checker
    calls: int = 0
    raised: int = 0
    refused: dict[str, tuple[int, D2SError]] = field(default_factory=dict)
    compared: dict[str, None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    wrong: tuple[dict[str, Any], Report] | None = None
    group: list[dict[str, Any]] = field(default_factory=list)
    ends: float | None = None

    def run(self, examples: int, seed: int) -> None:
        """Try groups of calls, each on a converted function of its own.

        Raises:
            MissingPackageError: (D2S603) hypothesis is not installed.
            NoInputsError: (D2S604) nothing says what a parameter takes.
            D2SError: d2s refuses every call.
        """
        inputs = testing.inputs_of(self.function, self.checker.input_spec)
        from hypothesis import Phase, errors, find, settings, strategies

        groups = strategies.lists(inputs, min_size=1, max_size=_CALLS)
        phases = Phase.generate, Phase.shrink
        options = settings(max_examples=examples, database=None, deadline=None, phases=phases)
        with contextlib.suppress(errors.NoSuchExample):
            find(groups, self._differs, settings=options, random=random.Random(seed))
        if self.wrong is not None:
            self._calls(self.group, self.checker)
        if self.wrong is None and self.refused and not self.compared:
            raise next(iter(self.refused.values()))[1]

    def _differs(self, group: list[dict[str, Any]]) -> bool:
        """Whether the program differs for one of the calls."""
        if self.ends is not None and time.monotonic() > self.ends:
            return False
        differs = self._calls(group, replace(self.checker, lines=False))
        if differs and self.ends is None:
            self.ends = time.monotonic() + _SHRINKING
        return differs

    def _calls(self, group: list[dict[str, Any]], checker: Checker) -> bool:
        """Make the calls in turn, up to one for which the program differs."""
        target = target_of(self.function, checker.input_spec)
        for number, call in enumerate(group, 1):
            try:
                report = checker.report(target, *arguments_of(self.function, call))
            except KeyboardInterrupt:
                print(f"a call had not ended:\n{_lines(call)}", end="", file=sys.stderr)
                raise
            if report.refused is not None:
                count, first = self.refused.get(report.refused.code, (0, report.refused))
                self.refused[report.refused.code] = count + 1, first
                continue
            self.calls += 1
            self.raised += "exception" in report.compared
            self.compared.update(dict.fromkeys(report.compared))
            if report.remark:
                self.remarks[report.remark] = None
            if report.differences:
                self.wrong, self.group = (call, report), group[:number]
                return True
        return False

    def text(self, name: str) -> str:
        """What was found, in lines."""
        if self.wrong is not None:
            call, report = self.wrong
            return f"{report}\nwith\n{_lines(call)}"
        lines = [f"{name}: {self.calls} calls agree with dygraph in {', '.join(self.compared)}"]
        if self.raised == self.calls:
            lines.append("  every call raises: the inputs may not be what the function takes")
        elif self.raised:
            lines.append(f"  {self.raised} of them raise")
        for code, (count, error) in self.refused.items():
            lines.append(f"  {count} more were refused with {code}: {error.cause}")
        lines += [f"  {remark}" for remark in self.remarks]
        return "\n".join(lines) + "\n"

    def json(self, name: str) -> str:
        """The same for other programs."""
        wrong = None
        if self.wrong is not None:
            call, report = self.wrong
            given = {key: _shown(value) for key, value in call.items()}
            wrong = {"call": given, "report": str(report)}
        found = {
            "name": name,
            "verdict": "agrees" if wrong is None else "differs",
            "calls": self.calls,
            "raised": self.raised,
            "compared": [*self.compared],
            "refused": {code: count for code, (count, _) in self.refused.items()},
            "wrong": wrong,
        }
        return json.dumps(found, indent=2) + "\n"


def _lines(call: dict[str, Any]) -> str:
    """A call, a line for each argument."""
    return "".join(f"  {key} = {_shown(value)}\n" for key, value in call.items())


def _shown(value: Any) -> str:
    """A value as somebody would write it."""
    if isinstance(value, paddle.Tensor):
        dtype = str(value.dtype).rsplit(".", 1)[-1]
        return f"paddle.to_tensor({value.tolist()!r}, dtype={dtype!r})"
    return repr(value)
