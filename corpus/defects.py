"""``python -m corpus.defects``: what Paddle's own converters get wrong, and what d2s does there.

Two lists were drawn up before d2s was written, and have grown since: facts about Paddle 3.3.1 that
a converter must not inherit, and features on which one of its converters is silently wrong. Each
entry names the programs of the corpus that show it, or a probe (``corpus/probes``) where no
comparison of single calls can. The verdicts are those recorded under ``corpus/results``;
``docs/guide/facts.md`` is written from them, and the tests in ``tests/facts`` hold them against the
converters.

Ends with 0 if d2s is right in every probe, with 1 if not.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

warnings.filterwarnings("ignore")

import typer

from corpus import probes, record
from corpus.record import CONVERTERS, Record, Verdict
from corpus.rows import ROWS
from corpus.runner import Result
from corpus.support import BAD, cell, escape

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "facts.md"
PROBES = record.RESULTS / "probes"
PEERS = ("paddle-ast", "paddle-sot")
TIMEOUT = 60.0
WRONG, FAILED, HANGS = "WRONG", "failed", "no answer"
ANY = "bad"  # chance decides which of the three


@dataclass(frozen=True)
class Shown:
    """A program or probe that shows a defect.

    Attributes:
        name: of the program or probe.
        what: which part of the defect it shows.
        ast, sot: the kind of the verdict on the peer that is the defect; empty where the peer is
            not concerned.
    """

    name: str
    what: str
    ast: str = ""
    sot: str = ""

    def claims(self) -> dict[str, str]:
        """The peers that go wrong, with the kind of their verdict."""
        return {peer: kind for peer, kind in zip(PEERS, (self.ast, self.sot), strict=True) if kind}


@dataclass(frozen=True)
class Defect:
    """One entry of the two lists.

    Attributes:
        key: ``fact N`` or ``row N``, which tests carry as a mark.
        says: the defect, in words.
        shown: what shows it.
        note: where the entry and what was measured here do not agree.
    """

    key: str
    says: str
    shown: tuple[Shown, ...]
    note: str = ""


def _ast(name: str, what: str, kind: str = WRONG) -> Shown:
    return Shown(name, what, ast=kind)


def _sot(name: str, what: str, kind: str = WRONG) -> Shown:
    return Shown(name, what, sot=kind)


def _both(name: str, what: str, kind: str = WRONG) -> Shown:
    return Shown(name, what, kind, kind)


FACTS = (
    Defect(
        "fact 1",
        "A value that leaves a branch or a loop and is also used inside of it loses a part of its "
        "gradient; one value under two names gives wrong results.",
        (
            _ast("fanout_gradient_in_branch", "the gradient through a branch"),
            _ast("one_value_under_two_names_in_branch", "two names: the result itself"),
            _ast("fanout_gradient_in_while", "the gradient through a loop", FAILED),
        ),
        "Through the converter the loop does not come as far as a wrong gradient: it ends in the "
        "error of fact 2. With `paddle.static.gradients` on a program written by hand the gradient "
        "of such a loop is 5 in place of 11.",
    ),
    Defect(
        "fact 2",
        "Training through a `while` fails: what the way back needs does not survive between the "
        "two programs.",
        (
            _ast("while_and_condition", "a `while`", FAILED),
            _ast("adaptive_ode", "a `while` over a dataclass", FAILED),
            _ast("for_else_range_tensor", "a `for` over a range of a tensor", FAILED),
        ),
    ),
    Defect(
        "fact 3",
        "A loop variable that starts without a gradient never gets one: the gradient is missing, "
        "and no error says so.",
        (
            _ast("sum_from_zeros_gradient", "a sum from zeros"),
            _ast("list_stack_gradient", "`append` and `stack`"),
            _ast("lstm_tensor_steps", "an LSTM in training"),
        ),
    ),
    Defect(
        "fact 4",
        "The flag of an inner `break` is not reset, `else` of loops is skipped, a `:=` in the head "
        "of a `while` and `itertools.count` do not end.",
        (
            _ast("inner_break_of_numbers", "`break` of an inner loop that is entered again"),
            _ast("while_else_of_numbers", "`else` of a `while`"),
            Shown("for_else_of_python_values", "`else` of a `for`", WRONG, WRONG),
            _ast("walrus_in_while", "`:=` in the head of a `while`", HANGS),
            _ast("itertools_count_break", "`itertools.count`", HANGS),
        ),
    ),
    Defect(
        "fact 5",
        "In-place methods and writes through views are dropped while a program is captured.",
        (
            _ast("add_in_place", "`y.add_(t)`"),
            _both("inplace_update", "a step of momentum"),
            _both("inplace_functions", "functions whose names end in an underscore"),
            _both("view_of_reshape_written", "a write through a view"),
            _both("view_written_then_base_read", "a write that a view has to see"),
        ),
    ),
    Defect(
        "fact 6",
        "Several threads that call one captured function crash the process.",
        (_ast("threads_on_a_warm_function", "four threads, 500 calls each", ANY),),
        "Chance decides what comes: an exception in a thread, another thread's result, no answer, "
        "or the end of the process.",
    ),
    Defect(
        "fact 7",
        "An error of an operation in a branch does not say which line of the program it was; an "
        "`assert` loses its type and message.",
        (
            _ast("place_of_a_run_time_error", "the line of an error in a branch", FAILED),
            _ast("assert_alone", "the type and message of an `assert`"),
        ),
    ),
    Defect(
        "fact 8",
        "What a program reads of globals, closures and attributes is frozen when it is captured.",
        (
            _ast("changed_global", "a global"),
            _ast("changed_closure", "a variable of a closure"),
            _ast("changed_attribute", "an attribute"),
            _ast("captured_tensor_rebound", "a tensor that is replaced"),
        ),
    ),
    Defect(
        "fact 9",
        "Under `no_grad` the program for training runs, which keeps what nobody will need.",
        (_ast("memory_of_a_loop_without_gradients", "the memory of a loop", FAILED),),
        "The time that it costs is in `make bench`; the memory is easier to tell apart.",
    ),
    Defect(
        "fact 10",
        "`int()` of a tensor is an int32, and a Python float that meets a tensor becomes a "
        "float64.",
        (
            _ast("cast_int_beyond_32_bits", "`int()` of 2**40"),
            _ast("weak_float_next_to_float64", "the dtype of what is computed with a float"),
        ),
    ),
    Defect(
        "fact 11",
        "`super()` over two levels recurses for ever, private names fail, and so do entry points "
        "with `*args`, keyword-only arguments, decorators, class methods and partials.",
        (
            _ast("super_two_levels", "`super()` over two levels", FAILED),
            _ast("private_names", "`self.__name`", FAILED),
            _both("entry_varargs", "`*args`", FAILED),
            _both("entry_keyword_only", "keyword-only arguments, bound by a partial", FAILED),
            _both("entry_decorated_with_wraps", "a decorated function", FAILED),
            _both("entry_classmethod", "a class method", FAILED),
            _both("entry_partial", "a partial", FAILED),
        ),
    ),
    Defect(
        "fact 12",
        "Numbers are rounded to float32 while a program is made, whatever the tensors are that "
        "they meet.",
        (
            _both("doubles_meet_numbers", "`x * 0.7` of a float64"),
            _ast("linear_congruences", "`k * 1103515245` of an int64"),
        ),
        "Found with d2s, which had inherited it.",
    ),
    Defect(
        "fact 13",
        "An operation that reads one tensor twice writes over it in between.",
        (_both("one_tensor_read_twice", "`addmm(y, y, y)` and `scatter(y, k, y)`"),),
        "Found with d2s, which had inherited it.",
    ),
    Defect(
        "fact 14",
        "`paddle.to_tensor(x)` is `x` itself, and takes its gradient away.",
        (_both("to_tensor_of_tensors", "a tensor, and a list with tensors"),),
        "Found with d2s, which had inherited it.",
    ),
)


SILENT = (
    Defect(
        "row 1",
        "",
        (_ast("fanout_gradient_in_branch", "gradients"),),
    ),
    Defect(
        "row 3",
        "",
        (
            Shown("branch_name_unbound_at_return", "returned", WRONG, WRONG),
            _ast("unbound_after_tensor_branch_in_loop", "set in a loop"),
        ),
    ),
    Defect(
        "row 4",
        "",
        (
            _ast("branch_none_returned", "returned"),
            _ast("is_same_argument", "asked with `is None`"),
        ),
    ),
    Defect(
        "row 12",
        "",
        (
            Shown("logic_value_of_and", "`and`", WRONG, FAILED),
            Shown("logic_value_of_or", "`or`", WRONG, FAILED),
        ),
    ),
    Defect(
        "row 14",
        "",
        (
            Shown("in_list_of_floats", "a list of floats", FAILED),
            Shown("list_membership", "a list of tensors that grows", FAILED, HANGS),
        ),
        "A wrong answer of SOT was reported and did not come again on Paddle 3.3.1, in six forms "
        "of the question; one of the programs does not end with it.",
    ),
    Defect(
        "row 18",
        "",
        (_ast("while_else_of_numbers", "the else is skipped"),),
    ),
    Defect(
        "row 33",
        "",
        (
            _ast("list_grows_while_iterated", "it grows"),
            _ast("list_shrinks_while_iterated", "it shrinks"),
        ),
    ),
    Defect(
        "row 35",
        "",
        (_ast("starred_target_of_numbers", "over tuples of numbers"),),
    ),
    Defect(
        "row 36",
        "",
        (Shown("for_else_of_python_values", "over Python values", WRONG, WRONG),),
        "That SOT is wrong here was not known: after a call that came to the `else`, a later call "
        "that does not is given the value of the `else` too.",
    ),
    Defect(
        "row 38",
        "",
        (
            _ast("inner_break_of_numbers", "numbers"),
            _ast("insertion_sort", "a sort"),
        ),
    ),
    Defect(
        "row 60",
        "",
        (
            _ast("raise_caught_inside", "caught inside"),
            _ast("raise_caught_in_tensor_loop", "in a loop"),
        ),
    ),
    Defect(
        "row 62",
        "",
        (
            _ast("print_text_in_branch", "both texts, once"),
            _ast("print_tensors", "the text of a tensor"),
        ),
    ),
    Defect(
        "row 67",
        "",
        (_ast("type_is_tensor_argument", "`type(x) is paddle.Tensor`"),),
    ),
    Defect(
        "row 68",
        "",
        (
            _ast("branch_int_isinstance", "`isinstance`"),
            _ast("branch_int_type", "`type`"),
        ),
    ),
    Defect(
        "row 73",
        "",
        (
            _ast("random_module_per_call", "the `random` module"),
            _ast("numpy_random_per_call", "`numpy.random`"),
        ),
    ),
    Defect(
        "row 74",
        "",
        (_ast("list_stack_gradient", "the gradient"),),
    ),
    Defect(
        "row 75",
        "",
        (_ast("list_grown_len_of_numbers", "`len`"),),
    ),
    Defect(
        "row 78",
        "",
        (
            _ast("list_alias_in_branch", "two names"),
            _ast("helper_mutates_arguments", "a helper"),
        ),
    ),
    Defect(
        "row 81",
        "",
        (_ast("dict_constants_asked_in_loop", "`is True`"),),
    ),
    Defect(
        "row 88",
        "",
        (
            _ast("add_in_place", "one name, one call"),
            _both("inplace_update", "an in-place method"),
            _both("setitem_through_slice_view", "a view"),
        ),
    ),
    Defect(
        "row 97",
        "",
        (
            _ast("changed_global_dict", "a global"),
            _ast("changed_attribute_list", "an attribute"),
        ),
    ),
    Defect(
        "row 98",
        "",
        (
            _ast("captured_tensor_rebound", "a name"),
            _ast("sublayer_replaced", "a layer"),
        ),
    ),
    Defect(
        "row 100",
        "",
        (_both("grad_inside_two_steps", "two steps of `paddle.grad` with `create_graph`"),),
        "On neither list: Paddle merges equal operations of a program, and its in-place pass then "
        "overwrites what a second derivative still reads.",
    ),
)

DEFECTS = FACTS + SILENT
NAMES = tuple(sorted({shown.name for defect in DEFECTS for shown in defect.shown}))


def feature(defect: Defect) -> str:
    """What a defect is about: its own words, or those of its row in the support table."""
    if defect.says:
        return defect.says
    number = int(defect.key.split()[1])
    return next(row.feature for row in ROWS if row.number == number)


def verdicts() -> dict[str, dict[str, Verdict]]:
    """The recorded verdicts of each converter, by the name of the program or probe."""
    return {
        converter: record.read(converter).cases | record.read(converter, PROBES).cases
        for converter in CONVERTERS
    }


def problems(shown: Shown, known: Mapping[str, Verdict]) -> list[str]:
    """What is not as the list says, in verdicts by converter; nothing when all is.

    >>> problems(_ast("p", "x"), {"d2s": Verdict("", "right"), "paddle-ast": Verdict("", "right")})
    ['p: paddle-ast is right, the list says WRONG']
    """
    found = []
    if known["d2s"].kind != "right":
        found.append(f"{shown.name}: d2s is {known['d2s'].verdict}")
    for peer, kind in shown.claims().items():
        if known[peer].kind not in (BAD if kind == ANY else (kind,)):
            found.append(f"{shown.name}: {peer} is {known[peer].verdict}, the list says {kind}")
    return found


# -- the page ------------------------------------------------------------------------------------

_INTRO = """\
# Where Paddle's converters go wrong

Written by `make support` from the recorded verdicts on the programs named here; nobody typed in the
cells. The words are those of [What is supported](support.md): **WRONG** is a result, a gradient or
a text that differs from dygraph while no error says so, **failed** is an error that dygraph does
not raise, or a crash. Made with {versions}. The tests in `tests/facts` fail when d2s is not right
in one of these programs, or when a converter no longer does what it is blamed for.

Two lists: facts about Paddle's own path that d2s must not inherit, and features, with their numbers
in the support table, on which one of Paddle's converters has been seen to be silently wrong.
"""


def render(known: Mapping[str, Mapping[str, Verdict]], versions: str) -> str:
    """The text of the page."""
    parts = [_INTRO.format(versions=versions), "## In total\n\n" + _totals(known)]
    for title, defects in (("Facts", FACTS), ("Silently wrong features", SILENT)):
        parts.append(f"## {title}\n")
        parts += [_section(defect, known) for defect in defects]
    return "\n".join(parts)


def _totals(known: Mapping[str, Mapping[str, Verdict]]) -> str:
    lines = ["| | verdicts on the programs of this page |", "|---|---|"]
    lines += [
        f"| {title} | {cell([known[converter][name] for name in NAMES])} |"
        for converter, title in CONVERTERS.items()
    ]
    return "\n".join(lines) + "\n"


def _section(defect: Defect, known: Mapping[str, Mapping[str, Verdict]]) -> str:
    lines = [f"### {defect.key.capitalize()}\n", feature(defect).rstrip(".") + ".\n"]
    lines += ["| what | shown by | " + " | ".join(CONVERTERS.values()) + " |", "|" + "---|" * 5]
    for shown in defect.shown:
        texts = [_said(known[converter][shown.name]) for converter in CONVERTERS]
        lines.append("| " + " | ".join([shown.what, f"`{shown.name}`", *texts]) + " |")
    if defect.note:
        lines.append(f"\n{defect.note}")
    return "\n".join(lines) + "\n"


def _said(verdict: Verdict) -> str:
    text = escape(", ".join(part for part in (verdict.verdict, verdict.remark) if part))
    return text.replace(WRONG, f"**{WRONG}**", 1) if text.startswith(WRONG) else text


def versions() -> str:
    """The Paddle and the Python that the peers were run with."""
    known = record.read(PEERS[0])
    return f"paddlepaddle {known.paddle} on Python {known.python}"


# -- running -------------------------------------------------------------------------------------


def update(known: Record, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Run probes, and note and yield their verdicts."""
    where = probes.paths()
    for name in names:
        verdict = probes.run(name, known.converter, TIMEOUT)
        known.note(Result(name, verdict), record.digest(where[name]))
        record.write(known, PROBES)
        yield name, verdict


def due(known: Record) -> list[str]:
    """The probes that a converter has to run: all for d2s, new and changed ones for peers."""
    where = probes.paths()
    if known.converter == "d2s" or not known.current:
        return list(where)
    return [
        name
        for name, path in where.items()
        if name not in known.cases or known.cases[name].hash != record.digest(path)
    ]


def main(
    render_: Annotated[
        bool, typer.Option("--render", help="Run nothing, only write the page again.")
    ] = False,
) -> None:
    """Run the probes, record their verdicts, write the page."""
    bad = []
    for converter in () if render_ else CONVERTERS:
        known = record.read(converter, PROBES)
        known.cases = {name: each for name, each in known.cases.items() if name in probes.paths()}
        for name, verdict in update(known, due(known)):
            if converter == "d2s" and verdict != "right":
                bad.append(f"{name}: {verdict}")
    recorded = verdicts()
    missing = sorted(
        name for name in NAMES if any(name not in recorded[converter] for converter in CONVERTERS)
    )
    if missing:
        print(f"no verdict on {', '.join(missing)}: run `make support`")
        raise typer.Exit(1)
    PAGE.write_text(render(recorded, versions()), encoding="utf-8")
    for problem in bad:
        print(problem)
    raise typer.Exit(1 if bad else 0)


if __name__ == "__main__":
    typer.run(main)
