"""Thousands of generated programs: run in batches, resumed where it stopped, and summed up.

A batch is a process of its own (``worker``), so that memory stays bounded, and a program that hangs
or crashes is found instead of ending the run.  What is done stands in ``state.json`` of the run's
folder after each batch; every program that is wrong lies beside it under ``finds/``, as a file that
runs without d2s.
"""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from d2s.testing.properties import PROPERTIES, Property

BATCH: Final = 200
_START: Final = 120.0
"""So long a process may take until its first program, which pays for imports, in seconds."""

_SHOWN_ALIKE: Final = 3
"""So many finds of one cause are made smaller; more are counted and kept as they are."""


@dataclass
class State:
    """What a run has done so far.

    Attributes:
        seed: what all programs depend on.
        done: the numbers of the batches that are done.
        verdicts: how many programs came to what, by property, kind and cause.
        constructs: how many programs have each construct.
        pairs: how many have both of two constructs, by their names with `` + `` between.
        finds: what is wrong: file, property, cause.
    """

    seed: int
    done: list[int] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    constructs: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    finds: list[dict[str, str]] = field(default_factory=list)

    @property
    def programs(self) -> int:
        """How many programs were tried."""
        return sum(self.verdicts.values())

    def add(self, what: Property, message: dict[str, Any]) -> None:
        """Count a program."""
        self.verdicts[f"{what.name} | {message['kind']} | {message['cause']}"] += 1
        names = message["constructs"]
        self.constructs.update(names)
        self.pairs.update(" + ".join(pair) for pair in itertools.combinations(sorted(names), 2))

    def join(self, other: State) -> None:
        """Take over what a batch has found."""
        self.done += other.done
        self.verdicts += other.verdicts
        self.constructs += other.constructs
        self.pairs += other.pairs
        self.finds += other.finds

    def save(self, file: Path) -> None:
        """Write it in one step: a run that is cut off finds the old state or the new."""
        part = file.with_suffix(".part")
        part.write_text(json.dumps(vars(self), indent=1), encoding="utf-8")
        part.replace(file)

    @staticmethod
    def load(file: Path) -> State:
        """What :meth:`save` has written."""
        held = json.loads(file.read_text(encoding="utf-8"))
        for name in ("verdicts", "constructs", "pairs"):
            held[name] = Counter(held[name])
        return State(**held)


def property_of(number: int) -> Property:
    """The property of a batch: each in turn, the first one every other time."""
    if number % 2 == 0:
        return PROPERTIES[0]
    return PROPERTIES[1 + number // 2 % (len(PROPERTIES) - 1)]


@dataclass
class Campaign:
    """A run.

    Attributes:
        folder: where its files are.
        seed: what all programs depend on; a run that is resumed keeps its own.
        total: how many programs to try.
        jobs: how many processes run at a time.
        limit: how long one program may take, in seconds.
        shrink_limit: how long a find may be made smaller, in seconds.
        worker: the command that starts a worker.
    """

    folder: Path
    seed: int = 0
    total: int = 20_000
    jobs: int = 2
    limit: float = 60.0
    shrink_limit: float = 120.0
    worker: tuple[str, ...] = (sys.executable, "-m", "d2s.testing.worker")

    def run(self, progress: Callable[[State], None]) -> State:
        """Try what is left to try.

        Args:
            progress: called with what is done so far, now and after each batch.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "finds").mkdir(exist_ok=True)
        file = self.folder / "state.json"
        state = State.load(file) if file.exists() else State(self.seed)
        progress(state)
        known = Counter(find["cause"] for find in state.finds)
        left = [number for number in range(-(-self.total // BATCH)) if number not in state.done]
        with ThreadPoolExecutor(self.jobs) as pool:
            work = (pool.submit(_Batch(self, state.seed, number, known).run) for number in left)
            for made in list(work):
                state.join(made.result())
                state.save(file)
                progress(state)
        return state


class _Batch:
    """One batch.

    Args:
        campaign: the run.
        seed: the seed of the run.
        number: which batch it is.
        known: how many finds of each cause there are; shared by all batches.
    """

    def __init__(self, campaign: Campaign, seed: int, number: int, known: Counter[str]) -> None:
        self.campaign = campaign
        self.number = number
        self.known = known
        self.what = property_of(number)
        self.seed = seed * 1_000_003 + number
        self.count = min(BATCH, campaign.total - number * BATCH)
        self.state = State(seed, [number])

    def run(self) -> State:
        """Try all programs, with a new process where one hangs or crashes."""
        skip = 0
        while skip < self.count:
            skip = self._process(skip)
        return self.state

    def _process(self, skip: int) -> int:
        """Try the programs behind the first ``skip``; where to go on."""
        current = skip
        with self._messages(["--skip", str(skip)], self.campaign.limit) as messages:
            for message in messages:
                if "end" in message:
                    return self.count  # hypothesis may have found fewer that differ
                if "start" in message:
                    current = message["start"]
                elif "done" in message:
                    self.state.add(self.what, message)
                    if message["kind"] == "wrong":
                        self._keep(message["done"], message["cause"], message)
                elif "silent" in message or "gone" in message:
                    if current == skip:  # not even the first one was reached
                        raise RuntimeError(f"a worker cannot start: {message}")
                    self._lost(current, "hang" if "silent" in message else "crash")
                    return current
        return self.count

    def _lost(self, number: int, cause: str) -> None:
        """Note a program that has ended its process."""
        found: dict[str, Any] = {"kind": "wrong", "cause": cause, "constructs": [], "text": cause}
        with self._messages(["--show", str(number)], _START) as messages:
            for message in messages:
                if "file" in message:
                    found["file"] = message["file"]
        self.state.add(self.what, found)
        if "file" in found:
            self._write(number, cause, found["file"], cause)

    def _keep(self, number: int, cause: str, message: dict[str, Any]) -> None:
        """Store a find, made smaller unless there are enough like it."""
        file, text = message["file"], message["text"]
        self.known[cause] += 1
        if self.known[cause] <= _SHOWN_ALIKE:
            arguments = ["--shrink", str(number)]
            with self._messages(arguments, self.campaign.limit) as messages:
                clock = threading.Event()
                timer = threading.Timer(self.campaign.shrink_limit, clock.set)
                timer.start()
                for smaller in messages:
                    if "smaller" in smaller and len(smaller["smaller"]) <= len(file):
                        file, text = smaller["smaller"], smaller["text"]
                    if clock.is_set() or "end" in smaller:
                        break
                timer.cancel()
        self._write(number, cause, file, text)

    def _write(self, number: int, cause: str, file: str, text: str) -> None:
        what = self.what.name
        name = f"{what.replace(' ', '_')}-{self.number}-{number}.py"
        notes = "".join(f"# {line}\n" for line in [f"{what}: {cause}", *text.splitlines()])
        path = self.campaign.folder / "finds" / name
        path.write_text(f"{file}\n\n{notes}", encoding="utf-8")
        self.state.finds.append({"file": name, "property": what, "cause": cause})

    @contextmanager
    def _messages(self, arguments: list[str], limit: float) -> Iterator[Iterator[dict[str, Any]]]:
        """What a worker says; ``silent`` when it says nothing for too long, ``gone`` at its end."""
        command = [
            *self.campaign.worker,
            "--property",
            self.what.name,
            "--seed",
            str(self.seed),
            "--count",
            str(self.count),
            *arguments,
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
        )
        lines: queue.Queue[str] = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()

        def messages() -> Iterator[dict[str, Any]]:
            wait = max(limit, _START)
            while True:
                try:
                    line = lines.get(timeout=wait)
                except queue.Empty:
                    yield {"silent": wait}
                    return
                if not line:
                    yield {"gone": process.wait()}
                    return
                wait = limit
                yield json.loads(line)

        try:
            yield messages()
        finally:
            process.kill()
            process.wait()
