"""``python -m corpus.realistic``: run realistic programs through a converter, and judge them."""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import ast
import collections
import dataclasses
import difflib
import importlib.util
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

warnings.filterwarnings("ignore")

import typer

from corpus.language import LANGUAGES, page_in
from corpus.realistic import verdicts
from corpus.realistic.run import D2S, NONE, VERDICTS, Item, Judged, items, run_all


def main(
    name: Annotated[
        list[str] | None,
        typer.Argument(help="Parts of names of programs or files; all programs if none is given."),
    ] = None,
    convert: Annotated[
        str,
        typer.Option(
            help=f"The converter as module:function, or '{NONE}' to hold dygraph against dygraph."
        ),
    ] = D2S,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="An option for the converter, with a Python literal or a text as its value.",
        ),
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write the verdicts to this file.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
    limit: Annotated[float, typer.Option(help="Seconds before a program counts as hanging.")] = 120,
    list_: Annotated[bool, typer.Option("--list", help="List the programs, run none.")] = False,
    record_first: Annotated[
        bool,
        typer.Option(
            "--record-first", help="Note the verdicts on programs that have no first verdict yet."
        ),
    ] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Note the verdicts as those of today, and write the page's counts."
        ),
    ] = False,
    render: Annotated[
        bool, typer.Option("--render", help="Run nothing, only write the page's counts again.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the traceback of each error.")
    ] = False,
) -> None:
    """Run programs as engineers write them, in dygraph and converted, and compare the two.

    Each program runs in a process of its own. What it yields and prints is compared record by
    record: values, dtypes, shapes, stop_gradient, gradients, texts, exceptions, state of objects.

    Verdicts: right; gradient flag (only stop_gradient differs); refused (an error with a code of
    d2s); WRONG (something that is compared differs); failed (an error without a code); crash (the
    process ended); hang (no answer in time); invalid (the program fails in dygraph).

    Ends with 0 if every program is right, right but for a gradient flag, or refused; with 1 if one
    is not; with 2 on a bad name or option.
    """
    try:
        everything = items()
        chosen = matching(everything, name or ())
        options = dict(map(parsed, option or ()))
        if convert != NONE and importlib.util.find_spec(convert.partition(":")[0]) is None:
            raise ValueError(f"there is no module for the converter {convert!r}")
        if (record or record_first) and (convert != D2S or options):
            raise ValueError(f"verdicts are recorded with {D2S} without options only")
    except (ValueError, ImportError) as error:
        print(f"corpus.realistic: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if render:
        write_page(everything)
        return
    if list_:
        for item in chosen:
            print(f"{item.path.stem:24s} {item.name}")
        return
    found = []
    width = max(len(item.name) for item in chosen)
    of_file = {item.name: item.path.stem for item in chosen}
    for judged in run_all(chosen, convert, options, limit, jobs):
        found.append(judged)
        print(row(judged, of_file[judged.name], width), flush=True)
        if verbose and judged.trace:
            print(judged.trace)
    print(summary(found))
    if json_:
        rows = [{"file": of_file[each.name], **dataclasses.asdict(each)} for each in found]
        json_.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if record_first:
        verdicts.write(verdicts.FIRST, verdicts.first(verdicts.read(verdicts.FIRST), found))
    if record:
        known = verdicts.now(verdicts.read(verdicts.NOW), found, everything)
        verdicts.write(verdicts.NOW, known)
        write_page(everything)
    raise typer.Exit(1 if any(judged.bad for judged in found) else 0)


def write_page(everything: Sequence[Item]) -> None:
    """Write the counts of the recorded verdicts into the page, in both languages."""
    first, now = verdicts.read(verdicts.FIRST), verdicts.read(verdicts.NOW)
    for language in LANGUAGES:
        page = page_in(language, verdicts.PAGE)
        table = verdicts.counts(everything, first, now, language)
        text = verdicts.page(page.read_text(encoding="utf-8"), table)
        page.write_text(text, encoding="utf-8")


def matching(everything: Sequence[Item], names: Sequence[str]) -> list[Item]:
    """The programs whose name or file contains one of ``names``; all of them without names.

    Raises:
        ValueError: a name fits nothing; the message has the nearest ones.
    """
    for name in names:
        if not any(name in item.name or name in item.path.stem for item in everything):
            near = ", ".join(nearest(everything, name)) or "shown by --list"
            raise ValueError(f"no program and no file is called {name!r}; the nearest are {near}")
    return [
        item
        for item in everything
        if not names or any(name in item.name or name in item.path.stem for name in names)
    ]


def nearest(everything: Sequence[Item], name: str, most: int = 3) -> list[str]:
    """The programs and files that are called nearly so, or that have such a word in their name."""
    whole = dict.fromkeys(text for item in everything for text in (item.name, item.path.stem))

    def likeness(known: str) -> float:
        return max(
            difflib.SequenceMatcher(None, name, text).ratio() for text in (known, *known.split("_"))
        )

    near = sorted(whole, key=likeness, reverse=True)[:most]
    return [known for known in near if likeness(known) >= 0.6]


def parsed(option: str) -> tuple[str, Any]:
    """An option of the converter.

    >>> parsed("full_graph=False"), parsed("backend=CINN")
    (('full_graph', False), ('backend', 'CINN'))
    """
    key, equals, value = option.partition("=")
    if not (equals and key.isidentifier()):
        raise ValueError(f"an option is KEY=VALUE, not {option!r}")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def row(judged: Judged, file: str, width: int) -> str:
    """A line of the table: verdict, file, program, seconds in dygraph and converted, detail."""
    times = f"{judged.dygraph_s:7.2f} {judged.converted_s:7.2f}"
    detail = " ".join(judged.detail.split())[:170]
    return f"{judged.verdict:13s} {file:22s} {judged.name:{width}s} {times}  {detail}".rstrip()


def summary(found: Sequence[Judged]) -> str:
    """How many programs there are of each verdict."""
    count = collections.Counter(judged.verdict for judged in found)
    counted = ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count[verdict])
    return f"{len(found)} programs: {counted}"


if __name__ == "__main__":
    typer.run(main)
