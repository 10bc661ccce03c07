"""What a worker of the generated programs says of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from d2s.testing import Program, Property
from d2s.testing.worker import _show, _shrink, _work


def program(body: str, *calls: Any, parameters: tuple[str, ...] = ("x",)) -> Program:
    head = f"def f({', '.join(parameters)}):\n"
    text = "import paddle\n\n\n" + head + "".join(f"    {line}\n" for line in body.splitlines())
    return Program(text, parameters, tuple(calls))


def has_no_break(program: Program) -> None:
    """A property that needs no conversion, and that some programs lack."""
    assert "break" not in program.text


NO_BREAK = Property("has no break", "A1", has_no_break, tensors=False)


def test_what_a_worker_says_of_a_batch() -> None:
    """Each program has a start and an end; one seed gives the same ones, wherever it is entered."""
    said: list[dict[str, Any]] = []
    _work(NO_BREAK, 5, 3, 0, said.append)
    starts = [message["start"] for message in said if "start" in message]
    done = [message for message in said if "done" in message]
    assert starts == [message["done"] for message in done] == [1, 2, 3]
    assert {message["kind"] for message in done} <= {"right", "wrong"}
    assert any(message["constructs"] for message in done)
    assert said[-1] == {"end": 3}
    later: list[dict[str, Any]] = []
    _work(NO_BREAK, 5, 3, 2, later.append)
    assert later == said[-3:]


def found_wrong(count: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Seeds with a wrong program, and what is said of it.

    Which seed has one changes with each literal in d2s: hypothesis picks values among them.
    """
    for seed in range(20):
        said: list[dict[str, Any]] = []
        _work(NO_BREAK, seed, count, 0, said.append)
        yield from ((seed, message) for message in said if message.get("kind") == "wrong")


def test_a_worker_shows_a_program_and_makes_it_smaller() -> None:
    """A program that is wrong is met again by its number, and stays wrong for the same cause."""
    count = 30
    seed, wrong = next(found_wrong(count))
    shown: list[dict[str, Any]] = []
    _show(NO_BREAK, seed, count, wrong["done"], shown.append)
    assert shown == [{"file": wrong["file"]}]
    smaller: list[dict[str, Any]] = []
    _shrink(NO_BREAK, seed, count, wrong["done"], smaller.append)
    assert smaller[0]["smaller"] == wrong["file"]
    assert smaller[-1] == {"end": wrong["done"]}
    assert len(smaller[-2]["smaller"]) < len(wrong["file"])
    assert "break" in smaller[-2]["smaller"]
