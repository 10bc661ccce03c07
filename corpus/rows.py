"""The rows of the support table: what a program may contain or ask for, each with a number.

A number stays with its row for good: cases (``rows:`` in a docstring) and tests
(``@pytest.mark.row``) name rows by number. A new row goes to the end, into the last section.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the support table.

    Attributes:
        number: what cases and tests call it.
        feature: what it is about, in words for users.
        section: the heading that it stands under.
        threads: public threads about it, as ``owner/repository#number``.
        measured: the command that shows it, for a row that is a figure and no verdict.
    """

    number: int
    feature: str
    section: str
    threads: tuple[str, ...] = ()
    measured: str = ""


# Heading, number of its first row, the rows in order.
_SECTIONS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    (
        "Branches and logic",
        1,
        (
            "`if`, `elif`, `else` on a tensor, with gradients",
            "a variable bound on one side of a branch and not read afterwards",
            "a variable bound on one side of a branch and read afterwards",
            "`None` on one side, a tensor on the other",
            "an int against a float, other strings, other objects on the two sides",
            "the same constant, such as a string, on both sides",
            "other dtypes on the two sides",
            "another shape, or another rank, on the two sides",
            "`a if t else b`, nested too",
            "`and`, `or`, `not` in a condition",
            "a right operand that must not run when the left one, a tensor, decides",
            "the value of `t and v` and of `t or v`",
            "chained comparison, `0 < x < 3`, as a condition and as a value",
            "`x in [...]` with tensors",
            "`any`, `all`, `max`, `min`, `sum`, `sorted` over tensors",
            "the truth of a tensor, `==` and `!=`",
        ),
    ),
    (
        "Loops",
        17,
        (
            "`while` on a tensor, with gradients",
            "`else` of a `while` loop",
            "`while True` with a tensor `break`",
            "a condition that is a Python value at first and a tensor later",
            "`:=` in the condition of a `while` or an `if`",
            "a loop variable whose shape grows",
            "a loop variable that starts as an int and becomes a float",
            "a loop variable that starts as `None`",
            "a variable bound in the body for the first time and read after the loop",
            "`range` of a tensor, with two and three arguments, with a negative or variable step",
            "`for` over a tensor",
            "`enumerate` of a tensor, with a start as well",
            "`zip` of tensors, with `strict=` as well",
            "`reversed` of a tensor and of a `range`",
            "`for` over lists, dicts, sets, strings, and classes with `__iter__`",
            "an iterator or generator that is consumed in a loop, endless ones too",
            "a list that changes while it is walked",
            "walking an object that has `__getitem__` only",
            "a starred target, `for a, *b in ...`",
            "`else` of a `for` loop",
            "`break` and `continue`",
            "`break` of an inner loop that is entered again",
            "a Python loop (`range`, `LayerList`) with a tensor `break`",
            "the loop variable after the loop",
        ),
    ),
    (
        "Return",
        41,
        (
            "early returns in a chain of branches",
            "a `return` in the inner one of two branches only",
            "a `return` in a tensor loop, and under a tensor condition in a Python loop",
            "a `return` in a loop under no condition",
            "`return None`, another structure or another dtype on some paths",
            "a `return` inside `with` and `try`",
        ),
    ),
    (
        "Functions",
        47,
        (
            "`match` on Python values and tensors, with tensor guards",
            "list and dict comprehensions",
            "comprehensions with a tensor condition, a tensor filter, over a tensor range",
            "lambdas with a tensor condition, local and imported",
            "converting a lambda itself",
            "nested functions and local decorators",
            "`nonlocal` and `global` variables assigned under a tensor condition",
            "helpers: of a module, in a dict, callable objects, static and class methods, closures",
            "`functools.partial` and `map` over functions with a tensor condition",
            "recursion that Python values decide, and recursion that a tensor decides",
            "generator functions, also with a tensor condition inside",
        ),
    ),
    (
        "Exceptions and effects",
        58,
        (
            "`try`, `except`, `finally`, also around a tensor condition",
            "`raise` under a tensor condition",
            "`raise` under a tensor condition, inside a `try` that catches it",
            "`assert` on a tensor; its message and type are kept",
            "`print` of tensors and text, also in branches and to a file",
            "`with`: `no_grad` and context managers of the user's",
            "`del`, also under a tensor condition",
        ),
    ),
    (
        "Values and types",
        65,
        (
            "`int()`, `float()`, `bool()` of a tensor",
            "`len()` of a tensor and of a list",
            "`isinstance(x, paddle.Tensor)`, `type(x)`",
            "`isinstance(k, int)` of a value that a tensor branch has set",
            "an int that a tensor branch has set, used as an index, a bound, a shape or an axis",
            "floats on both sides: the dtype of what is computed with them",
            "the text of a tensor in an f-string, `.tolist()`, `math` functions of a tensor",
            "`.numpy()` and `.item()`",
            "random numbers of Python and of Paddle, new ones on each call",
        ),
    ),
    (
        "Containers",
        74,
        (
            "`append` in a tensor loop, then `stack`, `concat` or the last item",
            "`len()` of a list that grew, and returning that list",
            "items of varying shape, `pop`, `insert`, `extend`, `+=`, items set at a tensor index",
            "a Python list read at a tensor index",
            "two names for one list, and helpers that change a list in a branch",
            "items of a dict set on both sides of a branch",
            "a new key of a dict on one side, `.update()`",
            "a dict with Python constants in a tensor loop",
            "swapping, unpacking, namedtuples in branches and loops",
            "dataclasses: fields set in branches and loops, and merged",
        ),
    ),
    (
        "Objects, state and in-place changes",
        84,
        (
            "attributes set, or made, in a branch",
            "methods that change `self` in branches and loops",
            "buffers of a layer assigned in branches and loops",
            "`x[...] = v`: slices, masks, in branches and loops",
            "in-place methods, and writes through views",
            "`x.shape` unpacked, unknown dimensions in an `InputSpec`, assertions on shapes",
            "shapes that depend on data (`nonzero`) in branches and bounds",
        ),
    ),
    (
        "Ways to be called",
        91,
        (
            "entry with keyword arguments, keyword-only ones and `**kwargs`",
            "entry with `*args`",
            "entry: a decorated function, a class method, a `partial`, a callable object",
            "`super()`, over one level and over two",
            "private names, `self.__k`",
            "a first parameter that is not called `self`",
        ),
    ),
    (
        "What a program sees again",
        97,
        (
            "a global, an attribute or a closure variable that changes between calls",
            "a tensor of the closure that is set, or replaced, between calls",
            "batch norm statistics, dropout, switching between train and eval",
        ),
    ),
    (
        "The rest of Paddle",
        100,
        (
            "`PyLayer`, `recompute`, `paddle.grad` inside, hooks of layers",
            "`Tensor.register_hook`",
            "`amp.auto_cast` outside and inside of the function",
            "`DataParallel` and distributed runs",
            "saving and loading a program with branches and loops, with `InputSpec`",
            "export of branches and loops to ONNX",
        ),
    ),
    (
        "Tools and errors",
        106,
        (
            "looking at the converted code",
            "`breakpoint()`, `pdb`, breakpoints of an editor",
            "an error while a program is captured names the user's line",
            "an error of an operation on a run names the user's line, in branches and loops too",
            "the message about two sides of a branch that do not fit",
            "one program for each kind of call, and a reason when there is a new one",
            "threads, on a captured function and on one that is not yet",
            "functions made by `exec`, in a REPL, by `python -c`",
            "the time that a conversion and a call take",
        ),
    ),
    (
        "Added by d2s",
        115,
        (
            "gradients through a tensor loop inside a tensor loop",
            "a branch in a loop in a branch, and tensor loops in each other, without gradients",
            "a saved program with branches and loops, run by the inference library without Python",
            "`logging` in branches and loops",
            "exception classes of the user's, with arguments and attributes",
            "`async` functions and `await`",
            "`except*`",
            "closures that read a variable of a branch or a loop later",
            "structures and NumPy arrays as arguments and results",
            "`deepcopy` and `state_dict` of a converted layer",
            "a converted function that calls another one; functions left as they are",
            "coverage, profilers and Paddle's call stacks speak of the user's lines",
            "a value of a program that is kept in an object does not break later calls",
        ),
    ),
)

# Reports of the behaviour, or of its lack, in Paddle's own trackers.
_THREADS = {
    11: ("PaddlePaddle/Paddle#50365",),
    88: ("PaddlePaddle/Paddle#79145", "PaddlePaddle/Paddle#79146"),
    105: ("PaddlePaddle/Paddle2ONNX#1310", "PaddlePaddle/Paddle2ONNX#1391"),
}
_MEASURED = {114: "make bench"}


def _rows() -> tuple[Row, ...]:
    rows: list[Row] = []
    for title, first, features in _SECTIONS:
        assert first == len(rows) + 1, f"section {title!r} starts at {len(rows) + 1}"
        rows += [
            Row(number, feature, title, _THREADS.get(number, ()), _MEASURED.get(number, ""))
            for number, feature in enumerate(features, first)
        ]
    return tuple(rows)


ROWS = _rows()
NUMBERS = frozenset(row.number for row in ROWS)
LAST = ROWS[-1].number
