"""``python -m tests.house``: the figures of the house, beside those that are recorded.

``--places WORD`` lists what the figures that contain a word count.  ``--record`` writes the table
again, ``figures.json``: one figure on each line, so that changes of different ones can be merged.
It writes nothing where a figure is worse than the recorded one, unless ``--allow NAME`` names that
figure.  After a conflict, ``git checkout --ours`` the table and record again.

Exit status: 0 where no figure is above the recorded one, 1 where one is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.house.measures import Figure, figures

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("figures.json")


def recorded() -> dict[str, float]:
    """The table."""
    table: dict[str, float] = json.loads(TABLE.read_text("utf-8"))
    return table


def worse(found: dict[str, Figure], table: dict[str, float]) -> list[str]:
    """What went up, or is not in the table, in words."""
    return [
        f"{name}: {table.get(name, 'not recorded')} -> {figure.value:g}"
        for name, figure in found.items()
        if figure.value > table.get(name, -1)
    ]


def better(found: dict[str, Figure], table: dict[str, float]) -> list[str]:
    """What went down, or is gone, in words: the table can be lowered."""
    gone = [f"{name}: not measured any more" for name in table if name not in found]
    return gone + [
        f"{name}: {table[name]:g} -> {figure.value:g}"
        for name, figure in found.items()
        if name in table and figure.value < table[name]
    ]


def record(found: dict[str, Figure], allowed: Sequence[str]) -> list[str]:
    """Write the table again, unless a figure that nobody has named is worse; return those."""
    refused = [
        name for name in found if name not in allowed and worse({name: found[name]}, recorded())
    ]
    if not refused:
        values = {name: found[name].value for name in sorted(found)}
        TABLE.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return refused


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.house")
    parser.add_argument("--record", action="store_true", help="write the table again")
    parser.add_argument("--places", metavar="WORD", help="list what such figures count")
    parser.add_argument(
        "--allow", metavar="NAME", action="append", default=[], help="record this one though worse"
    )
    given = parser.parse_args(arguments)
    found, table = figures(ROOT / "d2s"), recorded()
    for name in sorted(found):
        print(f"{found[name].value:>8g}  {table.get(name, 0):>8g}  {name}")
        if given.places and given.places in name:
            print(*(f"{'':20}{place}" for place in found[name].places), sep="\n")
    if given.record:
        refused = record(found, given.allow)
        for name in refused:
            print(f"worse, so nothing is recorded: {name} (--allow '{name}' records it)")
        return 1 if refused else 0
    up = worse(found, table)
    for line in up:
        print(f"up: {line}")
    for line in better(found, table):
        print(f"can be recorded: {line}")
    return 1 if up else 0


if __name__ == "__main__":
    sys.exit(main())
