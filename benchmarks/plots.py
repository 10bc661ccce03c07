"""The plots of docs/performance.md, as SVG: ratios of all scenarios, and one for each curve.

The same figures give the same files: no time and no random names are written into them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "d2s",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.grid": True,
        "axes.axisbelow": True,
    }
)

from matplotlib import pyplot  # noqa: E402 - after the choice of what it draws with
from matplotlib.figure import Figure  # noqa: E402

from benchmarks.growth import series  # noqa: E402
from d2s.bench.texts import TITLES  # noqa: E402

COLOURS: Final = {
    "dygraph": "#555555",
    "paddle-ast": "#d95f02",
    "paddle-sot": "#e6ab02",
    "by-hand": "#7570b3",
    "floor": "#a6cee3",
    "d2s": "#1b9e77",
}


def ratios(scenarios: Mapping[str, Any]) -> str:
    """Every scenario that is timed against dygraph, as multiples of it."""
    rows = {
        name: found["peers"]
        for name, found in scenarios.items()
        if found["peers"].get("dygraph", {}).get("status") == "timed" and found["unit"] == "call"
    }
    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.45 * len(rows)), layout="constrained")
    peers = [peer for peer in TITLES if peer != "dygraph"]
    for offset, peer in enumerate(peers):
        beyond = [_ratio(found, peer) - 1 for found in rows.values()]  # a bar begins at dygraph
        height = 0.8 / len(peers)
        places = [index + offset * height - 0.4 + height / 2 for index in range(len(rows))]
        axes.barh(places, beyond, height, left=1, color=COLOURS[peer], label=TITLES[peer])
    axes.axvline(1, color=COLOURS["dygraph"], linewidth=1.5)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("time of a call ÷ dygraph's (logarithmic; left of the line is faster)")
    figure.legend(loc="outside upper center", ncols=len(peers), frameon=False)
    return _svg(figure)


def _ratio(peers: Mapping[str, Any], peer: str) -> float:
    mine = peers.get(peer, {})
    if mine.get("status") != "timed":
        return float("nan")
    return float(mine["best_s"] / peers["dygraph"]["best_s"])


def curve(found: Mapping[str, Any]) -> str:
    """A warm call and a first call, by size."""
    panels = [("best_s", "warm call"), ("first_s", "first call")]
    first = found["points"][0]["peers"]
    if all(mine.get("first_s") is None for mine in first.values()):
        panels = panels[:1]
    figure, row = pyplot.subplots(
        1, len(panels), figsize=(4 * len(panels), 2.8), layout="constrained", squeeze=False
    )
    for axes, (name, title) in zip(row[0], panels, strict=True):
        for peer in first:
            sizes, seconds = series(found, peer, name)
            _line(axes, sizes, seconds, peer)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(found["axis"])
        axes.set_ylabel("ms")
        axes.set_title(title)
    row[0][0].legend(frameon=False)
    return _svg(figure)


def _line(axes: Any, sizes: Sequence[int], seconds: Sequence[float], peer: str) -> None:
    width = 2.0 if peer == "d2s" else 1.2
    axes.plot(
        sizes,
        [each * 1e3 for each in seconds],
        marker="o",
        markersize=3,
        linewidth=width,
        color=COLOURS[peer],
        label=TITLES[peer],
    )


def memory(rows: Sequence[Mapping[str, Any]]) -> str:
    """The growth of the process, by trips."""
    figure, axes = pyplot.subplots(figsize=(5, 2.8), layout="constrained")
    ways = {
        "dygraph": ("dygraph", "dygraph"),
        "forward": ("d2s", "d2s, forward"),
        "step": ("by-hand", "d2s, whole step"),
    }
    loops = [row for row in rows if row["model"] == "recurrence" and "failed" not in row]
    for mode, (colour, title) in ways.items():
        mine = [row for row in loops if row["mode"] == mode]
        trips, growth = [row["trips"] for row in mine], [row["growth_mib"] for row in mine]
        axes.plot(trips, growth, marker="o", markersize=3, color=COLOURS[colour], label=title)
    axes.set_xscale("log")
    axes.set_xlabel("trips")
    axes.set_ylabel("growth, MiB")
    axes.legend(frameon=False)
    return _svg(figure)


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
