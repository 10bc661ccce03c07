"""The generated parts of docs/performance.md: tables between markers, and the plots beside it.

What stands between ``<!-- bench: NAME -->`` and ``<!-- /bench -->`` is written anew; the rest of
the page is written by people.  The parts of the Chinese page are made of those of the English one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import tables
from benchmarks.chinese import in_chinese
from d2s.bench.environment import in_one_line

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs"
PAGE: Final = "performance.md"
CHINESE: Final = "zh/performance.md"
IMAGES: Final = "performance"

_PART: Final = re.compile(r"(<!-- bench: (\w+) -->\n)(.*?)(<!-- /bench -->)", re.DOTALL)


_NOTHING: Final = "Not measured in this run.\n"


class PageError(Exception):
    """The page and the results do not fit together."""


def write(report: Mapping[str, Any], folder: Path = FOLDER) -> list[Path]:
    """Write the page and the plots of a file of results; what was written.

    Raises:
        PageError: the page asks for a part that there is not.
    """
    path = folder / PAGE
    images = folder / IMAGES
    images.mkdir(exist_ok=True)
    written = [path]
    drawn = pictures(report)
    for old in images.glob("*.svg"):
        if old.stem not in drawn:
            old.unlink()
    for name, text in drawn.items():
        (images / f"{name}.svg").write_text(text, encoding="utf-8")
        written.append(images / f"{name}.svg")
    made = parts(report)

    def part(found: re.Match[str]) -> str:
        if found[2] not in made:
            raise PageError(f"{path} asks for {found[2]!r}; there is {', '.join(made)}")
        return f"{found[1]}\n{made[found[2]]}\n{found[4]}"

    path.write_text(_PART.sub(part, path.read_text(encoding="utf-8")), encoding="utf-8")
    return [*written, write_in_chinese(folder)]


def write_in_chinese(folder: Path = FOLDER) -> Path:
    """Write the parts of the English page into the Chinese one."""
    path = folder / CHINESE
    text = rendered_in_chinese(
        path.read_text(encoding="utf-8"), (folder / PAGE).read_text(encoding="utf-8")
    )
    path.write_text(text, encoding="utf-8")
    return path


def rendered_in_chinese(page: str, english: str) -> str:
    """The Chinese page with the parts of the English one."""
    shown = {name: text for _, name, text, _ in _PART.findall(english)}
    return _PART.sub(lambda found: f"{found[1]}{in_chinese(shown[found[2]])}{found[4]}", page)


def pictures(report: Mapping[str, Any]) -> dict[str, str]:
    """The plots by name, as SVG."""
    from benchmarks import plots  # and matplotlib, which takes most of a second to import

    made = {}
    if report["scenarios"]:
        made["ratios"] = plots.ratios(report["scenarios"])
    made |= {name: plots.curve(found) for name, found in report["growth"].items()}
    if report["memory"]:
        made["memory"] = plots.memory(report["memory"])
    return made


def parts(report: Mapping[str, Any]) -> dict[str, str]:
    """The generated parts by name, as Markdown."""
    made = {
        "environment": _environment(report),
        "goals": _NOTHING,
        "figures": _NOTHING,
        "growth": "\n".join(_growth(report)) or _NOTHING,
        "memory": _NOTHING,
    }
    if report["scenarios"]:
        picture = _image("ratios", "Times of a call as multiples of dygraph's")
        made["goals"] = f"{picture}\n{tables.goals(report['scenarios']).markdown()}"
        made["figures"] = tables.figures(report["scenarios"]).markdown()
    if report["memory"]:
        picture = _image("memory", "Growth of the process by trips")
        made["memory"] = f"{picture}\n{tables.memory(report['memory']).markdown()}"
    return made


def _environment(report: Mapping[str, Any]) -> str:
    settings = report["settings"]
    lines = [
        f"Made by `{settings['command']}`: {settings['rounds']} rounds of each peer. "
        f"{in_one_line(report['environment'])}.",
        f"{tables.summary(report)}.",
    ]
    if settings["quick"]:
        lines.append(
            "**A quick look, on few and short rounds: it shows the form, not the figures.**"
        )
    return "\n\n".join(lines) + "\n"


def _growth(report: Mapping[str, Any]) -> list[str]:
    out = []
    for name, found in report["growth"].items():
        sheet = tables.curve(found)
        title = f"### {sheet.title[0].upper()}{sheet.title[1:]}"
        out += [title, "", _image(name, sheet.title), sheet.markdown()]
    return out


def _image(name: str, text: str) -> str:
    return f"![{text}]({IMAGES}/{name}.svg)\n"
