"""Sizes that vary share one program, and the cache of programs has a limit (rule G2)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from corpus import case as corpus_case
from corpus.facts import difference, tensors
from d2s import config
from d2s.errors import ManyProgramsWarning
from tests.helpers import assert_same, fresh, function_of, run

LENGTHS = (3, 5, 7, 2, 1, 0, 9, 5, 11)


def rows(count: int, columns: int = 2) -> Any:
    """A tensor of ``count`` rows of different numbers."""
    return paddle.arange(count * columns, dtype="float32").reshape([count, columns]) + 1


def shapes(static: Any) -> list[str]:
    return [info.inputs[0].partition("float32")[2] for info in static.programs]


# -- what shares a program -----------------------------------------------------------------------


@pytest.mark.row(111)
def test_a_second_size_opens_the_dimension() -> None:
    """G2: the first size, the open one, and sizes 1 and 0 for themselves."""

    def f(x):
        if x.sum() > 20:
            return x * 2
        return x - 1

    static = assert_same(f, *map(rows, LENGTHS))
    assert shapes(static) == ["[3, 2]", "[-1, 2]", "[1, 2]", "[0, 2]"]
    assert static.programs[1].runs == 12  # six of the calls, each made twice


def test_two_dimensions_and_two_arguments() -> None:
    """G2: what has varied is open, what has not is known."""

    def f(x, y):
        assert type(y.shape[1]) is int
        return (x.unsqueeze(-1) * y.unsqueeze(1)).sum(0) + x.shape[0]

    pairs = [(3, 4), (5, 4), (7, 4), (7, 6), (2, 9), (8, 8)]
    static = assert_same(f, *((rows(n, m), rows(n, 2)) for n, m in pairs))
    assert shapes(static) == ["[3, 4]", "[-1, 4]", "[-1, -1]"]
    assert static.programs[2].inputs[1] == "y: float32[-1, 2]"


def test_another_rank_and_another_value_are_other_programs() -> None:
    """G2."""

    def f(x, factor):
        return x.flatten() * factor

    static = assert_same(f, *((rows(n), k) for k in (2, 3) for n in (3, 5, 6)), (rows(3)[0], 2))
    assert len(static.programs) == 4  # the second value starts with what is open


def test_train_and_eval_open_together() -> None:
    """G2: sizes that vary in one mode are expected to vary in the other."""
    paddle.seed(1)
    layer = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.ReLU())
    twin = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.ReLU())
    twin.set_state_dict(layer.state_dict())
    d2s.to_static(layer)
    for mode in ("train", "eval"):
        getattr(layer, mode)()
        for count in (3, 4, 5, 6):
            assert np.allclose(layer(rows(count)).numpy(), twin(rows(count)).numpy())
    assert shapes(layer.forward) == ["[3, 2]", "[-1, 2]", "[-1, 2]"]


def test_sizes_inside_of_containers() -> None:
    """G2: leaves of lists and dicts."""

    def f(parts):
        return parts["a"][0].sum() * parts["a"][1]

    static = assert_same(f, *({"a": [rows(n), rows(2, n)]} for n in (3, 4, 5)))
    assert len(static.programs) == 2


def test_an_input_spec_rules() -> None:
    """G2: nothing is opened beside it; an empty tensor has a program of its own."""

    def f(x):
        return x * 2

    spec = [paddle.static.InputSpec([None, 2], "float32", stop_gradient=False)]
    static = assert_same(f, *map(rows, LENGTHS), static=d2s.to_static(f, input_spec=spec))
    assert shapes(static) == ["[-1, 2]", "[0, 2]"]
    fixed = [paddle.static.InputSpec([3, 2], "float32", stop_gradient=False)]
    static = d2s.to_static(f, input_spec=fixed)
    static(rows(3))
    with pytest.raises(d2s.errors.InputSpecError):
        static(rows(5))


def test_it_can_be_switched_off() -> None:
    """G2."""

    def f(x):
        return x * 2

    with config.options(dynamic_dims=False):
        static = assert_same(f, *map(rows, (3, 5, 7)))
    assert shapes(static) == ["[3, 2]", "[5, 2]", "[7, 2]"]


def test_clear_forgets_what_was_open() -> None:
    """G2."""
    static = d2s.to_static(lambda x: x * 2)
    for count in (3, 5):
        static(rows(count))
    static.clear_programs()
    static(rows(5))
    assert shapes(static) == ["[5, 2]"]


# -- what the function makes of the size ---------------------------------------------------------

OPEN = {
    "returned": "return x, x.shape, x.shape[0], len(x), x.size + 1, x.shape[0] * 2.5",
    "condition": "return x[::2] if x.shape[0] % 2 == 0 else x[1:]",
    "loop": "for i in range(x.shape[0]):\n        x = x * 0.5 + i\n    return x",
    "halving": "n = len(x)\n    while n > 1:\n        x = x * 0.5\n        n //= 2\n    return x",
    "shape of a result": "return paddle.ones([1, 2]).expand([x.shape[0], 2]) + x",
    "matrix": "n = x.shape[0]\n    return paddle.tril(paddle.ones([n, n])) @ x",
    "looked up": "return x * {3: 1.0}.get(x.shape[0], 5.0)",
    "raised": "if len(x) > 8:\n        raise ValueError(f'{len(x)} rows')\n    return x",
    "asserted": "assert len(x) < 8, 'long'\n    return x * 2",
    "type": "return x * (2 if isinstance(x.shape[0], int) else 3)",
    "collected": "out = []\n    for i in range(len(x)):\n        out.append(x[i] * i)\n"
    "    return paddle.stack(out) if len(x) else x",
    "inside of Paddle": "return paddle.linalg.cov(x, rowvar=False)",
    "repeated list": "return x * sum([2] * x.shape[0])",
    "repeated text": "return x * len('ab' * x.shape[0])",
    "printed before a text": "print('rows')\n    return x + len('a' * x.shape[0])",
    "sliced list": "return x * len([1, 2, 3, 4, 5, 6][: x.shape[0]])",
    "in a branch": "if x.sum() > 5:\n        return x * sum([2] * x.shape[0])\n    return x",
    "python numbers": "return x * min(len(x), 4) + sorted([len(x), 4])[0] + divmod(len(x), 2)[1]",
    "caught": "try:\n        k = [1, 2, 3, 4][x.shape[0]]\n    except IndexError:\n        k = 9\n"
    "    return x * k",
    "key of a dict": "return x * len({x.shape[0]: 1, 3: 2})",
    "member of a set": "return x * len({x.shape[0], 3})",
    "method of int": "return x * x.shape[0].bit_length()",
    "compared list": "return x * 2 if x.shape == [3, 2] else x * 3",
}
CLOSED = {
    "text as a key": "return x * {'k3': 1.0}.get(f'k{x.shape[0]}', 5.0)",
    "printed before": "print('rows')\n    return x + {'k3': 1}.get(f'k{x.shape[0]}', 5)",
    "unbound": "return sum(paddle.unbind(x)) if len(x) else x",
}


def of(body: str) -> Any:
    return function_of(f"def f(x):\n    {body}\n", "f")


@pytest.mark.sampled(3, also=["repeated text", "condition", "inside of Paddle", "python numbers"])
@pytest.mark.parametrize("body", OPEN.values(), ids=OPEN.keys())
def test_a_size_of_the_run(body: str) -> None:
    """G2, E4: the size is what dygraph has, of the same type, in one program."""
    static = assert_same(of(body), *map(rows, LENGTHS))
    assert len(static.programs) <= 4


@pytest.mark.parametrize("body", CLOSED.values(), ids=CLOSED.keys())
def test_a_size_that_python_needs(body: str) -> None:
    """G2: where the size must be known it is, silently, with a program for each."""
    counts = (3, 5, 7, 2)
    static = assert_same(of(body), *map(rows, counts))
    assert shapes(static) == [f"[{count}, 2]" for count in counts]


def test_only_the_dimension_that_must_be_known_is() -> None:
    """G2: the others are open."""

    def f(x):
        return x * {"k4": 1.0, "k6": 2.0}[f"k{x.shape[1]}"]

    static = assert_same(f, rows(3, 4), rows(5, 6), rows(7, 6), rows(8, 6), rows(9, 4))
    assert shapes(static) == ["[3, 4]", "[-1, 6]", "[-1, 4]"]


def test_an_argument_that_shares_a_size_is_opened_with_it() -> None:
    """G2: inputs and labels of one batch."""

    def f(x, label):
        assert x.shape[0] == label.shape[0]
        return (x.sum(1) - label).abs()

    static = assert_same(f, *((rows(n), paddle.ones([n])) for n in (4, 6, 8, 3)))
    assert len(static.programs) == 2


def test_what_the_run_alone_refuses_is_run_with_its_size() -> None:
    """G2: an error of Paddle's in the open program is no answer; the exact one gives it."""

    def f(x):
        return x.reshape([2, -1]) if x.shape[1] == 2 else x

    static = d2s.to_static(f)
    for count in (2, 4):
        assert static(rows(count, 3)).shape == [count, 3]
    with pytest.raises(ValueError, match=r"broadcast|mismatch|equal"):
        d2s.to_static(lambda x, y: x + y)(rows(3), rows(4))

    pair = d2s.to_static(lambda x, y: x + y)
    for count in (3, 4, 5):
        assert pair(rows(count), rows(count)).shape == [count, 2]
    with pytest.raises(ValueError, match=r"[Bb]roadcast"):
        pair(rows(3), rows(5))
    assert pair(rows(6), rows(6)).shape == [6, 2]


def test_state_is_written_once() -> None:
    """G2, F3: a capture that fails leaves nothing behind."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.seen: list[int] = []
            self.register_buffer("total", paddle.zeros([]))

        def forward(self, x):
            self.calls += 1
            self.total = self.total + x.sum()
            self.seen.append(x.shape[0])
            return x + len("a" * x.shape[0])

    plain, static = Net(), d2s.to_static(Net())
    for count in (3, 5, 7, 5):
        assert static(rows(count)).tolist() == plain(rows(count)).tolist()
        assert (static.calls, static.seen) == (plain.calls, plain.seen)
        assert static.total.item() == plain.total.item()


def test_gradients_of_an_unrolled_loop_and_of_a_static_one() -> None:
    """G2, C7: both programs have dygraph's gradients, also through parameters."""
    paddle.seed(3)
    cell = paddle.nn.Linear(2, 2)

    def f(x):
        h = paddle.zeros([2])
        for i in range(x.shape[0]):
            h = paddle.tanh(cell(x[i]) + h)
        return h

    static = assert_same(f, *map(rows, (3, 5, 4, 2, 1)))
    assert len(static.programs) == 3


# -- the corpus ----------------------------------------------------------------------------------

PROGRAMS = """
attention attribute_loop_target_range_tensor branch_dataclass_rebound branch_dict_key_with_default
branch_float_keeps_dtype branch_int_as_list_index branch_int_or_float branch_int_or_tensor
branch_tensor_to_none break_in_inner_reentered call_with_defaults chained_assignment
closure_reads_late closures_made_in_loop continue_in_while_with_else del_unused_after_branch
del_variable dict_by_tensor_value dict_constants_in_loop dict_new_key_one_side_get
divmod_of_tensors early_exit_layers entry_layer entry_partial_of_method entry_returns_nested
fanout_gradient_in_branch finally_changes_argument inplace_in_branches lambda_number_or_vector
layer_weights_in_nested_loop list_clear loop_variable_after_tensor namedtuple_in_branch
nested_tally_in_branches raise_caught_by_kind range_bound_changes_in_body
""".split()


def resized(value: Any, count: int, lead: int) -> Any:
    """``value`` with ``count`` for ``lead`` in the first dimension of its tensors."""
    if isinstance(value, paddle.Tensor):
        if not value.shape or value.shape[0] != lead:
            return value
        copies = math.ceil(count / lead) or 1
        return paddle.to_tensor(np.concatenate([value.numpy()] * copies)[:count])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(resized(item, count, lead) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(resized(item, count, lead) for item in value)
    if isinstance(value, dict):
        return {key: resized(item, count, lead) for key, item in value.items()}
    return value


def outcome(function: Any, inputs: tuple[Any, ...], *, grad: bool) -> Any:
    """What a call shows; of an exception its type."""
    paddle.seed(7)
    seen = run(function, inputs, grad=grad)
    return seen[0][0] if seen[1] is None else seen


@pytest.mark.sampled(9, also=["early_exit_layers"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_corpus_programs_of_many_sizes(name: str) -> None:
    """G2: whatever the size, what dygraph gives, in a few programs."""
    case = corpus_case.load(name)
    paddle.seed(1)
    plain = case.build()
    paddle.seed(1)
    static = d2s.to_static(case.build())
    given = [tuple(map(fresh, inputs)) for inputs in case.inputs()]
    lead = next(value.shape[0] for _, value in tensors("arguments", given[0]) if value.shape)
    for index, count in enumerate((3, 5, 7, 2, 1, 0, 9)):
        inputs = resized(given[index % len(given)], count, lead)
        want = outcome(plain, inputs, grad=case.grad)
        got = outcome(static, inputs, grad=case.grad)
        if isinstance(want, type) or isinstance(got, type):
            assert want is got, f"size {count}"
            continue
        for right, mine in zip(want[:2], got[:2], strict=True):
            text = difference(right, mine, rtol=1e-4, atol=1e-5)
            assert text is None, f"{text}, size {count}"
        for (path, right), (_, mine) in zip(want[2], got[2], strict=True):
            np.testing.assert_allclose(mine, right, 1e-4, 1e-5, err_msg=f"{path}, size {count}")
    forward = static.forward if isinstance(static, paddle.nn.Layer) else static
    assert len(forward.programs) <= 9


# -- how many ------------------------------------------------------------------------------------


def test_the_least_recently_used_program_goes_first() -> None:
    """G2."""
    static = d2s.to_static(lambda x, k: x * k)
    x = rows(2)
    with config.options(max_programs=3):
        for factor in (1, 2, 3):
            static(x, factor)
        static(x, 1)
        static(x, 4)
        assert [info.reason for info in static.programs] == [
            "first call",
            "k is 3, was 2",
            "k is 4, was 3",
        ]
        static(x, 1)
        assert len(static.programs) == 3
        assert static.programs[0].runs == 3
        assert static(x, 2).tolist() == (x * 2).tolist()


def test_a_limit_of_one() -> None:
    """G2."""
    static = d2s.to_static(lambda x, k: x * k)
    with config.options(max_programs=1, warn_programs=0):
        for factor in (1, 2, 3, 2):
            assert static(rows(2), factor).tolist() == (rows(2) * factor).tolist()
    assert len(static.programs) == 1


RATE = 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda static, trip: static(rows(2), trip), ["k has changed", "as a tensor", "D2S308"]),
        (lambda static, trip: static(rows(trip + 2), 1), ["x has changed", "InputSpec"]),
        (lambda static, trip: static(rows(2), object()), ["k has changed", "same object"]),
        (lambda static, trip: globals().update(RATE=trip) or static(rows(2), 1), ["RATE has"]),
    ],
    ids=["value", "shape", "object", "global"],
)
def test_a_growing_cache_warns_once_and_says_why(call: Any, words: list[str]) -> None:
    """G2: with what keeps changing, and the cure, at the user's line."""

    def f(x, k):
        return x * RATE * {"k3": 1.0}.get(f"k{x.shape[0]}", 2.0)

    static = d2s.to_static(f)
    with config.options(warn_programs=4), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for trip in range(8):
            call(static, trip)
    (warning,) = [item for item in caught if item.category is ManyProgramsWarning]
    assert warning.filename == __file__
    text = str(warning.message)
    assert all(word in text for word in ["4 times", *words]), text


def test_a_few_programs_are_no_reason_to_warn() -> None:
    """G2."""
    static = d2s.to_static(lambda x, k: x * k)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ManyProgramsWarning)
        for factor in range(8):
            for count in (2, 3, 4, 5):
                static(rows(count), factor % 4)
    assert len(static.programs) == 5


def test_the_log_names_each_capture(caplog: pytest.LogCaptureFixture) -> None:
    """G2: with its reason, and why a size stays as it is."""
    static = d2s.to_static(of(CLOSED["text as a key"]))
    with config.options(log=1), caplog.at_level("INFO", "d2s"):
        for count in (3, 5):
            static(rows(count))
    said = [record.getMessage() for record in caplog.records if record.name == "d2s.capture"]
    assert said[0].endswith(" operations: first call")
    assert any("because of" in text for text in said[1:])
    assert said[-1].endswith("x has shape [5, 2], had [3, 2]")
