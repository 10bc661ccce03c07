"""``python -m corpus.generation``: run published decoding loops in dygraph and converted.

Ends with 1 if a loop is WRONG, ended its process or never returned.
"""

from __future__ import annotations

import collections
import datetime
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from corpus.generation import page as pages
from corpus.generation.judge import STAGES
from corpus.generation.model import packages
from corpus.generation.runner import run
from corpus.zoo.model import package
from corpus.zoo.standins import ROOT, missing

BAD = ("WRONG", "crash", "hang")


def main(
    name: Annotated[
        list[str] | None, typer.Argument(help="Parts of loops' names; all if none is given.")
    ] = None,
    package_: Annotated[
        list[str] | None, typer.Option("--package", help="Only loops of this package.")
    ] = None,
    stage: Annotated[
        list[str] | None, typer.Option(help=f"Only this one of {', '.join(STAGES)}.")
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Put the verdicts into this file as well.")
    ] = None,
    limit: Annotated[
        float, typer.Option(help="Seconds of a processor until a loop is given up.")
    ] = 300.0,
    list_: Annotated[bool, typer.Option("--list", help="List the loops.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Only loops that the file has not.")] = False,
    page: Annotated[bool, typer.Option("--page", help="Only write the page.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print tracebacks.")] = False,
) -> None:
    """Run decoding loops in dygraph and converted, and compare."""
    if page:
        pages.write()
        return
    count: collections.Counter[str] = collections.Counter()
    for each in package_ or packages():
        if missing(package(each)):
            print(f"{each} is not installed: make zoo does it", file=sys.stderr)
            continue
        known = [found["name"] for found in run(each, "", "0")]
        chosen = [loop for loop in known if not name or any(part in loop for part in name)]
        if new:
            chosen = [loop for loop in chosen if loop not in pages.read(json_).get(each, {})]
        if list_ or not chosen:
            print(*(f"{each} {loop}" for loop in chosen), sep="\n")
            continue
        for answer in run(each, ",".join(stage or STAGES), str(limit), *chosen):
            answer["date"] = datetime.date.today().isoformat()
            loop, trace = answer.pop("name"), answer.pop("trace", "")
            print(line(each, loop, answer), flush=True)
            if verbose and trace:
                print(trace)
            keep(trace, each, loop)
            count[answer["verdict"]] += 1
            if json_:
                add(json_, each, loop, answer)
    print(", ".join(f"{number} {kind}" for kind, number in count.most_common()))
    raise typer.Exit(any(count[kind] for kind in BAD))


def line(of: str, loop: str, answer: dict[str, Any]) -> str:
    """One line for a person."""
    programs = answer.get("programs", {}).get("one", "-")
    return (
        f"{answer['verdict']:16s} {of:10s} {loop:28s} {programs!s:>2s}  "
        f"{answer.get('detail', '')[:240]}"
    )


def keep(trace: str, of: str, loop: str) -> None:
    """Keep a traceback where it can be looked at, or take the last one away."""
    file = ROOT / "traces" / "generation" / f"{of}.{loop.replace(' ', '.')}.txt"
    if trace:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(trace)
    else:
        file.unlink(missing_ok=True)


def add(file: Path, of: str, loop: str, answer: dict[str, Any]) -> None:
    """Put the verdict on a loop into ``file``, a line for each."""
    record = pages.read(file)
    record.setdefault(of, {})[loop] = answer
    parts = [
        f" {json.dumps(each)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(found, ensure_ascii=False)}"
            for key, found in sorted(found_in.items())
        )
        + "\n }"
        for each, found_in in sorted(record.items())
    ]
    made = file.with_suffix(".new")
    made.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    made.replace(file)


if __name__ == "__main__":
    typer.run(main)
