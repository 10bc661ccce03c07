"""A process for each package, which imports it once, and from it one for each model.

A model that ends its process or never returns is then a verdict too, and no model sees what
another one has left in Paddle.

``python -m corpus.zoo.runner PACKAGE CONVERTER STAGES LIMIT NAME...`` is such a process; it prints
one line of JSON for each model.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from corpus.zoo.judge import STAGES, Say, judge
from corpus.zoo.model import Model, Package, package
from corpus.zoo.standins import ROOT, prepare

ENVIRONMENT = {
    "GLOG_minloglevel": "3",
    "GLOG_v": "0",
    "OMP_NUM_THREADS": "1",
    "PADDLE_NO_CPP_EXTENSION": "1",
    "PYTHONWARNINGS": "ignore",
}
KINDS = ("right", "WRONG", "refused", "failed", "crash", "hang", "left out")
SPEED = "speed"
"""In place of stages: calls are timed, and nothing is compared."""
SLOWED = 10
"""So many times longer than alone a model may take beside other work."""
WORST = ("crash", "hang", "WRONG", "failed", "refused")


def run(
    chosen: Package,
    names: Sequence[str],
    converter: str,
    *,
    jobs: int,
    limit: float,
    stages: Sequence[str] = STAGES,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run models of a package; results come as they end."""
    way = (converter, ",".join(stages), str(limit))
    done: SimpleQueue[tuple[str, dict[str, Any]] | None] = SimpleQueue()
    shares = [list(names[i::jobs]) for i in range(jobs) if names[i::jobs]]
    with ThreadPoolExecutor(jobs) as pool:
        for share in shares:
            pool.submit(_share, chosen, share, way, done)
        left = len(shares)
        while left:
            found = done.get()
            if found is None:
                left -= 1
            else:
                yield found


def timed(
    chosen: Package, names: Sequence[str], converter: str, *, limit: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Time models of a package; :mod:`corpus.zoo.speed` says what is measured."""
    yield from run(chosen, names, converter, jobs=1, limit=limit, stages=[SPEED])


def _share(
    chosen: Package, names: list[str], way: tuple[str, str, str], done: SimpleQueue[Any]
) -> None:
    told: set[str] = set()
    command = [sys.executable, "-m", "corpus.zoo.runner", chosen.name, *way]
    place = ROOT / "logs"
    place.mkdir(parents=True, exist_ok=True)
    log = place / f"{chosen.name}-{way[0]}.log"
    try:
        with (
            log.open("a") as errors,
            subprocess.Popen(
                [*command, *names],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **ENVIRONMENT, "PYTHONPATH": python_path(chosen)},
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                answer = json.loads(line)
                told.add(answer["name"])
                done.put((answer.pop("name"), answer))
        for name in names:
            if name not in told:
                done.put((name, {"verdict": "left out", "detail": _last_line(log)}))
    finally:
        done.put(None)


def python_path(chosen: Package) -> str:
    """The packages have an older NumPy, which has to come before the one that is installed."""
    first = [str(ROOT / "numpy")] if chosen.pins else []
    return os.pathsep.join([*first, *filter(None, [os.environ.get("PYTHONPATH")])])


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"the package does not import: {lines[-1] if lines else 'its process ended'}"


# -- the process of a package --------------------------------------------------------------------


def serve(name: str, way: tuple[str, str, str], names: Sequence[str]) -> None:
    """Import the package and run its models, each in a fork."""
    warnings.filterwarnings("ignore")
    converter, stages, limit = way
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is no answer
    chosen = package(name)
    prepare(chosen)
    known = {model.name: model for model in chosen.models()}
    for each in names:
        if stages == SPEED:
            answer = {"name": each, **_timed(known[each], converter, float(limit))}
        else:
            answer = {"name": each, **_one(known[each], converter, float(limit), stages.split(","))}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _one(
    model: Model, converter: str, limit: float, stages: Sequence[str] = STAGES
) -> dict[str, Any]:
    return summary(watched(lambda say: judge(model, converter, say, stages), limit))


def _timed(model: Model, converter: str, limit: float) -> dict[str, Any]:
    from corpus.zoo.speed import measure  # it is a command, too, which imports this module

    found = watched(lambda say: measure(model, converter, say), limit)
    return {mode: each.get("times", each.get("verdict")) for mode, each in found.items()}


def watched(work: Callable[[Say], None], limit: float) -> dict[str, dict[str, Any]]:
    """What ``work`` says of each stage in a fork, which may crash or never return."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, send))
    child.start()
    send.close()
    deadline = time.monotonic() + SLOWED * limit
    found: dict[str, dict[str, Any]] = {}
    running = "import"
    end = ""
    while not end:
        if not receive.poll(1.0):
            if _worked(child.pid) > limit or time.monotonic() > deadline:
                end = f"hang no answer in {limit:g} s"
            continue
        try:
            said = receive.recv()
        except EOFError:
            child.join()
            end = (
                "over" if child.exitcode == 0 else f"crash the process ended with {child.exitcode}"
            )
            break
        running = said.pop("stage")
        if "begins" not in said:
            found[running] = said
    child.kill()
    child.join()
    if end != "over":
        found[running] = {"verdict": end}
    return found


def _worked(process: int | None) -> float:
    """The seconds of a processor that a process has had; 0 where the system does not tell."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _child(work: Callable[[Say], None], send: Connection) -> None:
    work(send.send)
    send.close()
    sys.stderr.flush()
    os._exit(0)  # what Paddle does at the end of a process is not what is judged


def summary(stages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The verdict on a model: the worst of its stages; times are those of the evaluation."""
    verdicts = {stage: found["verdict"] for stage, found in stages.items()}
    judged = {stage: text for stage, text in verdicts.items() if not text.startswith("dygraph")}
    out: dict[str, Any] = {"verdict": "right", "stages": verdicts}
    if not judged:
        text = next(iter(verdicts.values()), "dygraph failed")
        return {"verdict": "left out", "detail": text.removeprefix("dygraph "), "stages": verdicts}
    for kind in WORST:
        bad = [stage for stage, text in judged.items() if text.split()[0] == kind]
        if bad:
            codes = sorted({m[0] for s in bad if (m := re.search(r"D2S\d{3}", judged[s]))})
            out["verdict"] = " ".join([kind, *codes]) if kind == "refused" else kind
            out["detail"] = f"{bad[0]}: {judged[bad[0]]}"
            break
    else:
        exact = all(text == "right bit by bit" for text in judged.values())
        random_ = any("random" in text for text in judged.values())
        out["verdict"] = "right bit by bit" if exact else "right within tolerance"
        if random_:
            out["verdict"] = "right structures, random numbers"
    for stage in ("eval", "gradients", "step"):
        times = stages.get(stage, {})
        if "warm" in times:
            known = ("dygraph", "first", "warm")
            out[f"{stage}_ms"] = [round(1000 * times[key], 2) for key in known]
    traces = "\n".join(f"{s}\n{f['trace']}" for s, f in stages.items() if "trace" in f)
    if traces:
        out["trace"] = traces
    return out


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        serve(sys.argv[1], (sys.argv[2], sys.argv[3], sys.argv[4]), sys.argv[5:])
