"""``python -m corpus.islands``: run what is not one program as islands, compare and measure it.

Ends with 1 if a program is not right, with 2 for a bad name.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("D2S_FULL_GRAPH", None)

import dataclasses
import sys
import warnings
from multiprocessing.connection import Connection
from typing import Annotated

warnings.filterwarnings("ignore")

import typer

from corpus.converters import leaves, run_all_apart, sot_frames
from corpus.islands import record
from corpus.islands.measure import Collected, measuring
from corpus.islands.record import Found
from corpus.islands.suites import D2S, SOT, SUITES, Chosen, everything, refused
from corpus.record import digest, tidy


def main(
    name: Annotated[
        list[str] | None, typer.Argument(help="Parts of names of programs; all if none is given.")
    ] = None,
    suite: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(SUITES)}.")] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Those too that are known to be one program.")
    ] = False,
    record_: Annotated[
        bool, typer.Option("--record", help="Keep what is found, and write the page.")
    ] = False,
    page: Annotated[bool, typer.Option("--page", help="Run nothing, only write the page.")] = False,
    sot: Annotated[bool, typer.Option(help="Run Paddle's SOT, too.")] = True,
    limit: Annotated[float, typer.Option(help="Seconds before a program counts as hanging.")] = 150,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
) -> None:
    """Run the programs that are not one program under the default, and compare with dygraph."""
    kept = record.read()
    if page:
        record.write_page(kept)
        return
    if not set(suite or ()) <= set(SUITES):
        print(f"corpus.islands: the suites are {', '.join(SUITES)}", file=sys.stderr)
        raise typer.Exit(2)
    chosen = [
        each
        for one in suite or SUITES
        for each in _chosen(one, everything_=all_ or bool(name), kept=kept)
        if not name or any(text in each.key for text in name)
    ]
    bad = 0
    for result in run_all_apart(chosen, D2S, limit, jobs, _child):
        found = (
            result if isinstance(result, dict) else {"name": result.name, "lost": result.verdict}
        )
        key = found.pop("name")
        item = next(each for each in chosen if each.key == key or each.name == key)
        made = _found(item, found)
        if sot and made.breaks:
            made = _with_sot(item, made, kept.get(item.key), limit)
        bad += made.verdict != "right"
        print(_line(item, made), flush=True)
        if record_:
            kept = {**record.read(), item.key: made}
            record.write(kept)
    if record_:
        record.write_page(kept)
    raise typer.Exit(1 if bad else 0)


def _chosen(suite: str, *, everything_: bool, kept: dict[str, Found]) -> list[Chosen]:
    """The programs of a suite that are not one program, as far as that is known."""
    found = list(everything(suite))
    names = refused(suite)
    if everything_:
        return found
    if names is None:  # only a run tells; what has been tried once is known
        known = {key for key in kept if key.startswith(f"{suite}/")}
        return [each for each in found if not known or each.key in known]
    return [each for each in found if each.name in names]


def _child(send: Connection, item: Chosen, name: str) -> None:
    """Run a program for its verdict, and once more to measure it."""
    import d2s  # noqa: F401 - its classes are watched

    with Collected() as collected:
        verdict, detail = item.judged(name)
    figures, places = collected.figures()
    if places:
        with measuring(figures, places):
            item.judged(name)
    rest = dataclasses.asdict(figures)
    send.send({"name": item.key, "verdict": verdict, "detail": detail, **rest})


def _sot_child(send: Connection, item: Chosen, name: str) -> None:
    with sot_frames() as frames:
        verdict, detail = item.judged(name)
    pieces = sum("$resume" in frame.code for frame in frames)
    remark = leaves(frames, str(item.path))
    send.send(
        {"name": item.key, "verdict": verdict, "detail": detail, "pieces": pieces, "leaves": remark}
    )


def _found(item: Chosen, told: dict[str, object]) -> Found:
    hash_ = digest(item.path)
    if "lost" in told:
        return Found(hash_, "lost", tidy(str(told["lost"])))
    ratios = told.pop("ratios")
    left = told.pop("left")
    assert isinstance(ratios, list)
    assert isinstance(left, list)
    detail = tidy(str(told.pop("detail")))
    return Found(
        hash_,
        detail=detail,
        ratio=round(max(ratios, default=0.0), 3),
        extra_us=round(float(str(told.pop("extra_us"))), 2),
        left=tidy("; ".join(left)),
        **told,  # type: ignore[arg-type]
    )


def _with_sot(item: Chosen, made: Found, before: Found | None, limit: float) -> Found:
    """``made`` with what Paddle's SOT does, which is not ours to change."""
    if before is not None and before.sot and before.hash == made.hash:
        return dataclasses.replace(made, sot=before.sot, sot_pieces=before.sot_pieces)
    result = next(iter(run_all_apart([item], SOT, limit, 1, _sot_child)))
    if not isinstance(result, dict):
        return dataclasses.replace(made, sot=tidy(result.verdict))
    return dataclasses.replace(made, sot=result["verdict"], sot_pieces=result["pieces"])


def _line(item: Chosen, made: Found) -> str:
    ran = made.inside + made.outside
    share = f"{made.inside / ran:4.0%}" if ran else "   -"
    said = f"{made.verdict:13s} {item.key:58s} {made.breaks:3d} {made.programs:3d} {share}"
    peer = f"{made.sot[:8]:8s} {made.sot_pieces:3d}"
    return f"{said} {made.ratio:6.2f} {peer} {made.detail or made.left}"


if __name__ == "__main__":
    typer.run(main)
