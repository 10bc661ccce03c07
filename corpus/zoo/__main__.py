"""``python -m corpus.zoo``: run models of other people's packages in dygraph and converted.

Ends with 1 if a model is WRONG under the converter, ended its process or never returned, and with
``--strict`` if one is not right; with 2 for a bad name.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import collections
import datetime
import json
import platform
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

warnings.filterwarnings("ignore")

import typer

from corpus.zoo import page as pages
from corpus.zoo.judge import CONVERTERS, STAGES
from corpus.zoo.model import Package, every_package, package, package_names
from corpus.zoo.runner import run
from corpus.zoo.standins import COMMON, NUMPY, ROOT, missing

BAD = ("WRONG", "crash", "hang")


def main(
    name: Annotated[list[str] | None, typer.Argument(help="Models; all if none is given.")] = None,
    package_: Annotated[
        list[str] | None, typer.Option("--package", help="Only models of this package.")
    ] = None,
    converter: Annotated[str, typer.Option(help=f"One of {', '.join(CONVERTERS)}.")] = "d2s",
    stage: Annotated[
        list[str] | None, typer.Option(help=f"Only this one of {', '.join(STAGES)}.")
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Put the verdicts into this file as well.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many models at a time.")] = 1,
    limit: Annotated[
        float, typer.Option(help="Seconds of a processor until a model is given up.")
    ] = 240.0,
    list_: Annotated[bool, typer.Option("--list", help="List the models.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Only models that the file has not.")] = False,
    install: Annotated[bool, typer.Option("--install", help="Only install the packages.")] = False,
    page: Annotated[bool, typer.Option("--page", help="Only write docs/guide/zoo.md.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 1 if one is not right.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print tracebacks.")] = False,
) -> None:
    """Run the models of the zoo in dygraph and converted, and compare."""
    if page:
        pages.write()
        return
    if converter not in CONVERTERS:
        _wrong(f"no converter is called {converter!r}; there are {', '.join(CONVERTERS)}")
    stages = [each for each in STAGES if not stage or each in stage]
    if not stages or not set(stage or ()) <= set(STAGES):
        _wrong(f"no stage is called {', '.join(stage or ())}; there are {', '.join(STAGES)}")
    chosen = _packages(package_)
    if install:
        for each in chosen:
            fetch(each)
        return
    record = read(json_)
    bad = known = 0
    for each in chosen:
        models = [model.name for model in each.models() if not name or model.name in name]
        known += len(models)
        if list_:
            print(*(f"{each.name} {model}" for model in models), sep="\n")
            continue
        if new:
            before = record["packages"].get(each.name, {})
            models = [model for model in models if converter not in before.get(model, {})]
        if models and missing(each):
            print(f"{each.name} is not installed: make zoo does it", file=sys.stderr)
            bad += strict
            continue
        for model, answer in run(each, models, converter, jobs=jobs, limit=limit, stages=stages):
            answer["date"] = datetime.date.today().isoformat()
            trace = answer.pop("trace", "")
            print(line(each.name, model, answer), flush=True)
            if verbose and trace:
                print(trace)
            keep(trace, each.name, model, converter)
            record["packages"].setdefault(each.name, {}).setdefault(model, {})[converter] = answer
            verdict = answer["verdict"].split()[0]
            bad += verdict != "right" if strict else verdict in BAD
            if json_:
                add(json_, each.name, model, {converter: answer})
    if name and not known:
        _wrong(f"no model is called {', '.join(name)}; --list says which there are")
    if list_:
        return
    print(summary(record, chosen, converter))
    raise typer.Exit(1 if bad else 0)


def _packages(names: list[str] | None) -> list[Package]:
    if not names:
        return list(every_package())
    for each in names:
        if each not in package_names():
            _wrong(f"no package is called {each!r}; there are {', '.join(package_names())}")
    return [package(each) for each in names]


def _wrong(text: str) -> None:
    print(f"corpus.zoo: {text}", file=sys.stderr)
    raise typer.Exit(2)


def fetch(each: Package) -> None:
    """Install a package without its dependencies into its own folder, if it is not there."""
    if not each.pins:
        return
    wanted_in = {"numpy": (NUMPY,), each.name: each.pins}
    if not each.alone:
        wanted_in["common"] = COMMON
    for folder, pins in ((ROOT / name, pins) for name, pins in wanted_in.items()):
        stamp = folder / ".installed"
        wanted = "\n".join(pins)
        if stamp.exists() and stamp.read_text() == wanted:
            continue
        print("installing", " ".join(pins))
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--upgrade", "--target", folder, *pins], check=True)
        stamp.write_text(wanted)


def line(of: str, model: str, answer: dict[str, Any]) -> str:
    """One line for a person."""
    times = " ".join(f"{t:.0f}" for t in answer.get("eval_ms", ()))
    verdict, detail = answer["verdict"][:26], answer.get("detail", "")[:200]
    return f"{verdict:26s} {of:12s} {model:36s} {times:18s} {detail}"


def keep(trace: str, of: str, model: str, converter: str) -> None:
    """Keep a traceback where it can be looked at, or take the last one away."""
    file = ROOT / "traces" / converter / f"{of}.{model}.txt"
    if trace:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(trace)
    else:
        file.unlink(missing_ok=True)


def read(file: Path | None) -> dict[str, Any]:
    """What a file of verdicts holds."""
    if file is not None and file.exists():
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    return {"packages": {}}


def add(file: Path, of: str, model: str, verdicts: dict[str, Any]) -> None:
    """Put verdicts on a model into ``file``, which others may be writing, too."""
    record = read(file)
    record["packages"].setdefault(of, {}).setdefault(model, {}).update(verdicts)
    made = file.with_suffix(".new")
    made.write_text(text_of(record), encoding="utf-8")
    made.replace(file)


def text_of(record: dict[str, Any]) -> str:
    """All verdicts, a line for each."""
    import paddle

    lines = []
    for of, models in sorted(record["packages"].items()):
        rows = [
            f"   {json.dumps(model)}: {{\n"
            + ",\n".join(
                f"    {json.dumps(name)}: {json.dumps(verdicts[name], ensure_ascii=False)}"
                for name in CONVERTERS
                if name in verdicts
            )
            + "\n   }"
            for model, verdicts in sorted(models.items())
        ]
        lines.append(f"  {json.dumps(of)}: {{\n" + ",\n".join(rows) + "\n  }")
    versions = {
        "paddle": paddle.__version__,
        "python": platform.python_version(),
    }
    head = "".join(f' "{name}": "{text}",\n' for name, text in versions.items())
    return "{\n" + head + ' "packages": {\n' + ",\n".join(lines) + "\n }\n}\n"


def summary(record: dict[str, Any], chosen: list[Package], converter: str) -> str:
    """How many of each verdict."""
    count: collections.Counter[str] = collections.Counter()
    for each in chosen:
        for verdicts in record["packages"].get(each.name, {}).values():
            if converter in verdicts:
                count[verdicts[converter]["verdict"]] += 1
    return f"{converter}: " + ", ".join(f"{number} {kind}" for kind, number in count.most_common())


if __name__ == "__main__":
    typer.run(main)
