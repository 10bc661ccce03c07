"""The page about the zoo, made from the verdicts that were kept."""

from __future__ import annotations

import collections
import html
import json
import re
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from corpus.zoo.model import every_package

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "zoo.md"
NAMES = {
    "d2s": "With d2s",
    "ast": "With Paddle's converter, `full_graph=True`",
    "sot": "With Paddle's SOT, `full_graph=False`",
}
STAGES = {"eval": "the evaluation", "gradients": "the gradients"}
KINDS = ("right", "refused", "failed", "WRONG", "crash", "hang")

Verdicts = Mapping[str, Any]

HEAD = """\
# Models of other people

{total} models that nobody here wrote, from {packages} and from Paddle itself: built small, with
random weights, run in dygraph and converted, and compared. `make zoo` installs the packages into
`.cache/zoo`, runs the models and writes this page; `python -m corpus.zoo --help` runs some of them,
and `make zooquick`, a part of CI, fifteen that must be right. Measured {dates},
with d2s as it was when each of them was run, by
`python -m corpus.zoo --json corpus/zoo/results.json`, some with `--stage eval` or
`--stage gradients` as the tables say, with Paddle {paddle} and Python {python}, on the CPU, beside
other work; `corpus/zoo/results.json` has the date, stages and times of each.

Compared are three calls in evaluation mode; the results, running statistics and gradients of two
calls in training mode; the loss, parameters and buffers after each of three whole training steps;
and what a saved and loaded program gives. d2s converts a function with the whole step in it, and
Paddle's converters the layer, because they do not take a step. *Right* means that every stage
agrees in structure, dtype, shape and numbers: most bit by bit, the others within 1e-4 of the
largest number of a tensor (gradients, and parameters after a step, 1e-3). Dropout is switched off,
as dygraph and static programs draw different numbers; of models that are random all the same only
structures, dtypes and shapes count.
"""


def text_of(record: Mapping[str, Any]) -> str:
    """The whole page."""
    packages = [each for each in every_package() if each.name in record["packages"]]
    names = [each.pins[0].replace("==", " ") for each in packages if each.pins]
    found = {each.name: record["packages"][each.name] for each in packages}
    tried = [(of, name) for of, models in found.items() for name, v in models.items() if _ran(v)]
    parts = [
        HEAD.format(
            total=len(tried),
            packages=", ".join(names) or "nowhere else",
            dates=_dates(found),
            paddle=record["paddle"],
            python=record["python"],
        )
    ]
    waiting = sum(len(each.models()) for each in every_package())
    waiting -= sum(len(models) for models in found.values())
    if waiting > 0:
        parts.append(
            f"{waiting} more are listed (`python -m corpus.zoo --list`) and not yet run.\n"
        )
    for converter, title in NAMES.items():
        table = _table(found, converter)
        if table:
            parts += [f"## {title}\n", table, _stages(found, converter)]
            if converter == "d2s":
                parts.append(_times(found))
    parts.append(_reasons(found))
    parts.append(_left_out(found, packages))
    return "\n".join(part for part in parts if part)


def _dates(found: Mapping[str, Mapping[str, Any]]) -> str:
    """When the models were run."""
    dates = sorted(
        {
            verdict["date"]
            for models in found.values()
            for verdicts in models.values()
            for verdict in verdicts.values()
        }
    )
    return f"on {dates[0]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}"


def _ran(verdicts: Mapping[str, Verdicts]) -> bool:
    return any(_kind(each) in KINDS for each in verdicts.values())


def _kind(verdict: Verdicts) -> str:
    text: str = verdict["verdict"]
    return "left out" if text.startswith("left out") else text.split()[0]


def _table(found: Mapping[str, Mapping[str, Any]], converter: str) -> str:
    rows, total = [], collections.Counter[str]()
    for of, models in found.items():
        count = collections.Counter[str]()
        for verdicts in models.values():
            verdict = verdicts.get(converter)
            if verdict is None or _kind(verdict) not in KINDS:
                continue
            count["models"] += 1
            count[_kind(verdict)] += 1
            count["exact"] += verdict["verdict"] == "right bit by bit"
        if count["models"]:
            rows.append(_row(of if of != "vision" else "paddle.vision.models", count))
            total += count
    if not rows:
        return ""
    head = "| package | models | right | of these bit by bit | " + " | ".join(KINDS[1:]) + " |\n"
    line = "|---|" + "---:|" * (2 + len(KINDS)) + "\n"
    return head + line + "\n".join([*rows, _row("**all**", total)]) + "\n"


def _stages(found: Mapping[str, Mapping[str, Any]], converter: str) -> str:
    """Of how many models not all stages were run."""
    count = collections.Counter(
        tuple(verdicts[converter]["stages"])
        for models in found.values()
        for verdicts in models.values()
        if converter in verdicts and _kind(verdicts[converter]) in KINDS
    )
    few = [
        f"Of {number} of these models only {' and '.join(STAGES[each] for each in stages)} "
        f"{'was' if len(stages) == 1 else 'were'} run."
        for stages, number in sorted(count.items())
        if stages in (("eval",), ("eval", "gradients"))
    ]
    return " ".join(few) + "\n" if few else ""


def _row(name: str, count: Mapping[str, int]) -> str:
    cells = [count["models"], count["right"], count["exact"], *(count[kind] for kind in KINDS[1:])]
    return f"| {name} | " + " | ".join(str(cell) for cell in cells) + " |"


def _times(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The first and a later call, as multiples of a call in dygraph; a shared machine measured."""
    rows = []
    for stage, what in (
        ("eval_ms", "evaluation"),
        ("gradients_ms", "forward and `backward()`"),
        ("step_ms", "a whole training step"),
    ):
        times = [
            verdicts["d2s"][stage]
            for models in found.values()
            for verdicts in models.values()
            if stage in verdicts.get("d2s", {})
        ]
        if not times:
            continue
        first = statistics.median(first for _, first, _ in times)
        plain = statistics.median(dygraph for dygraph, _, _ in times)
        warm = statistics.median(warm / dygraph for dygraph, _, warm in times if dygraph)
        rows.append(
            f"| {what} | {len(times)} | {plain:.0f} ms | {first / 1000:.1f} s | {warm:.2f} |"
        )
    if not rows:
        return ""
    return (
        "What a call takes, the median of all models; the later call is the faster of the second "
        "and the third. Measured beside other work on the machine, and so no benchmark "
        "([Performance](../performance.md) has those):\n\n"
        "| | models | dygraph | first call | later call / dygraph |\n|---|---:|---:|---:|---:|\n"
        + "\n".join(rows)
        + "\n"
    )


def _reasons(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Every model that is not right with d2s."""
    rows = []
    for of, models in found.items():
        for name, verdicts in models.items():
            verdict = verdicts.get("d2s")
            if verdict is not None and _kind(verdict) in KINDS[1:]:
                rows.append(
                    f"| {of} | {name} | {verdict['verdict']} | {_cell(verdict['detail'])} |"
                )
    if not rows:
        return ""
    head = "| package | model | verdict | stage and message |\n|---|---|---|---|\n"
    return "## Not right with d2s\n\n" + head + "\n".join(rows) + "\n"


def _left_out(found: Mapping[str, Mapping[str, Any]], packages: Iterable[Any]) -> str:
    rows = []
    for each in packages:
        for name, reason in each.left_out.items():
            rows.append(f"| {each.name} | {name} | {_cell(reason)} |")
        for name, verdicts in found[each.name].items():
            if not _ran(verdicts):
                reason = next(iter(verdicts.values())).get("detail", "")
                rows.append(f"| {each.name} | {name} | {_cell(reason)} |")
    if not rows:
        return ""
    head = "| package | model | why |\n|---|---|---|\n"
    return (
        "## Left out\n\nWhat does not run in dygraph, under this Paddle and with these "
        "settings, or is too large for this page:\n\n" + head + "\n".join(rows) + "\n"
    )


def _cell(text: str, most: int = 260) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    text = text if len(text) <= most else text[: most - 1] + "…"
    escaped = html.escape(text, quote=False)
    return re.sub(r"([|*_`\[\]\\])", r"\\\1", escaped)


def write() -> None:
    """Write the page."""
    PAGE.write_text(text_of(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
