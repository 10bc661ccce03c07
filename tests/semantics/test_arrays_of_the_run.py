"""Arrays of NumPy that the run decides (E5): ``x.numpy()``, ``np.asarray(x)``, and their use."""

from __future__ import annotations

import collections
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import D2SError, NotStaticError, SaveError, UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, -2.0, 3.0)
Y = tensor(-1.0, 2.5, -3.0)

EXPRESSIONS = [
    "a, a[0], a[1:], a[-1], a[None], a[..., 0], a[::2], x.numpy()",
    "a * 2, a + a, a - 1.5, 1.5 - a, a / 2, -a, abs(a), a // 2, a % 2, a ** 2, 2 ** a, 1 / a",
    "a > 0, a == a, a[0] >= 1, (a > 0) & (a < 2), ~(a > 0), (a > 0) | (a == 1), a != 3",
    "a.shape, a.dtype, a.ndim, a.size, len(a), a.nbytes, a.T, a.item(1), a.tolist(), a[0].item()",
    "int(a[2]), float(a[0]), bool(a[0] > 0), round(float(a[0]), 1), a.any(), a.all(), not a[0]",
    "x + 1 if x.mean().numpy() > 0.5 else x - 1, a[0] > 0 and a[2] > 0, a[0] if a[0] > 0 else 7",
    "[v * 2 for v in a], list(a), max(a), min(a), sum(a), sorted(a), 3.0 in a, tuple(a)",
    "paddle.to_tensor(a), paddle.to_tensor(a.astype('int64')), paddle.to_tensor(a > 0)",
    "paddle.to_tensor([a[0], a[1]]), paddle.to_tensor(a[0]), paddle.full([2], float(a[1]))",
    "paddle.zeros([abs(int(a[0]))]), x * a, a * x, x[a > 0], x + a[0], a @ a",
    "names[a.argmax()], x[a.argmax()], np.arange(3)[a.argmax()]",
    "np.cumsum(a), a.std(), a.max(), a.sum(), a.mean(), np.sort(a), np.argsort(a), a.argmax()",
    "np.concatenate([a, a * 2]), np.stack([a, a]), np.where(a > 0, a, 0), np.clip(a, 0, 1)",
    "a[a > 0], np.unique(a), np.nonzero(a > 0), np.flatnonzero(a > 0), a[[0, 2]], a[np.array([1])]",
    "len(a[a > 0]), a[a > 0].shape, a[a > 0].sum(), a[a > 0].size",
    "a.astype('int64') // 2, a.astype('int32') * 2147483647, a.astype('uint8') + 1",
    "a.astype('float64') * 0.1 + 1e-17, np.float64(0.1) * a, a * np.array([1, 2, 3])",
    "a.reshape(3, 1), a.ravel()[1], a.flatten(), np.squeeze(a[None]), np.outer(a, a).T, m @ m",
    "np.linalg.inv(m + np.eye(3) * 20), np.linalg.norm(a), m.sum(axis=0), m.mean(1, keepdims=True)",
    "np.histogram(a, bins=3), np.percentile(a, 50), np.exp(a), np.allclose(a, a)",
    "np.vectorize(lambda v: v * 2)(a), np.apply_along_axis(lambda v: v * 2, 0, a), divmod(a, 2)",
    "np.concatenate([x, x]), np.stack([x, x * 2]), np.array([x, x]), np.sum(x), np.unique(x)",
    "np.full((n, 2), 1.5), np.zeros(n), np.arange(n) + 1, np.float32(n), np.ones((n, n)).sum()",
    "np.array(x, dtype='float64'), np.array([a[0], 2.0]), np.asarray(a) is a, np.array([n, 1])",
    "np.asarray(x), np.asarray(x, 'int64'), np.array([float(x[0]), 1.0]), np.array(a)",
    "isinstance(a, np.ndarray), isinstance(a[0], np.floating), type(a), type(a[0])",
    "f'{a[0]:.2f} {a}', str(a), repr(a[0]), '%s' % a, f'{a.mean():.3f}'",
    "w.numpy(), w.numpy() * a, np.asarray(w)[1], CONSTANT * a, CONSTANT + x, a.real, a.T.shape",
    "{'a': a, 'b': [a[0], (a, 1)]}, a.copy(), a.astype('float16'), x.astype('int32').numpy() % 3",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.filterwarnings("ignore:.*encountered")
def test_arrays_in_expressions(expression: str) -> None:
    """E5: what NumPy gives in dygraph: values, dtypes, numbers of NumPy and of Python."""
    function = function_of(
        f"""
        w = paddle.to_tensor([4.0, 5.0, 6.0])
        CONSTANT = np.array([1.0, 2.0, 3.0])

        def run(x):
            a = x.numpy()
            m = np.outer(a, a)
            n = int(abs(x[0])) + 1
            names = ["a", "b", "c"]
            return {expression}
        """,
        np=np,
    )
    assert_same(function, X, Y)


def views(x: Any) -> Any:
    a = x.numpy()
    b, c, d = a[1:], a[::2], a[None]
    b[0] = 5
    c[1] = 7
    d[0, 0] = -1
    a += 1
    return a, b, c, d, x


def views_of_views(x: Any) -> Any:
    m = np.outer(x.numpy(), x.numpy())
    t = m.T
    row = t[1]
    row[0] = 9
    m[0][2] = 8
    return m, t, row


def flat(x: Any) -> Any:
    a = x.numpy()
    a = a.reshape(-1)
    a[0] = 9
    return a


def in_place(x: Any) -> Any:
    a = np.asarray(x)
    a.sort()
    b = np.array(x)
    b -= 1
    b[1:] = [7, 8]
    b[b > 7] = 0
    m = np.outer(a, b)
    np.fill_diagonal(m, 1)
    np.put(a, [0], 3)
    a[1:] = a[:-1].copy()
    return a, b, m, x


def in_branches(x: Any) -> Any:
    a = x.numpy()
    if a[0] > 0:
        a[1:] = 5
        b = a * 2
    else:
        b = a
        b[0] = -7
    b[2] = 9
    return a, b


def in_loops(x: Any) -> Any:
    a, t = x.numpy(), 0
    for i in range(3):
        if a[i] > 0:
            t += i
            a[i] = t
    while t < 10:
        t += 1
        a[0] = t
    b = x.numpy()
    while abs(b[0]) < 10:
        b = b * 3 + 0.5
    return a, b, t


def into_constants(x: Any) -> Any:
    q = np.full((2, 3), -np.inf)
    q[0, 0] = x.numpy()[0]
    q[1, 2] = float(x[1])
    q[0, 1] = max(q[0, 0], 1.0)
    r = np.zeros(3)
    for i in range(3):
        r[i] = x.numpy()[i]
    return q, r


def caught(x: Any) -> Any:
    try:
        return float(x.numpy().mean())
    except ValueError:
        return 0.0


class Log:
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.best: Any = None

    def add(self, x: Any) -> int:
        self.seen.append(x.numpy())
        self.best = x.numpy().max()
        return len(self.seen)


def in_objects(x: Any) -> Any:
    log = Log()
    log.add(x)
    log.add(x * 2)
    return log.seen, log.best


PROGRAMS = [
    views, views_of_views, flat, in_place, in_branches, in_loops, into_constants, caught,
    in_objects,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_programs_with_arrays(function: Any) -> None:
    """E5: copies against views, writes through views, arrays in branches, loops and objects."""
    assert_same(function, X, Y)


def test_what_an_object_outside_keeps() -> None:
    """F3, F4: each run leaves arrays of NumPy in the user's objects."""
    plain, kept = Log(), Log()
    add = d2s.to_static(kept.add)
    for x in (X, Y):
        assert add(x) == plain.add(x)
        assert type(kept.best) is type(plain.best)
        assert kept.best == plain.best
        for mine, right in zip(kept.seen, plain.seen, strict=True):
            np.testing.assert_array_equal(mine, right, strict=True)


def out_of_bounds(x: Any) -> Any:
    return x.numpy()[int(abs(x[0])) + 5]


def wrong_shape(x: Any) -> Any:
    return x.numpy().reshape(2, 2)


def several(x: Any) -> Any:
    return 1 if x.numpy() else 2


def no_such(x: Any) -> Any:
    return x.numpy().nothing


def on_the_run(x: Any) -> Any:
    return np.linalg.inv(np.outer(x.numpy() * 0, x.numpy()) + np.eye(3) * x.numpy().clip(0))


@pytest.mark.parametrize("function", [out_of_bounds, wrong_shape, several, no_such, on_the_run])
def test_what_numpy_raises(function: Any) -> None:
    """F1: the same exception, at capture or on the run."""
    static = d2s.to_static(function)
    found = []
    for call in (function, static):
        with pytest.raises((IndexError, ValueError, AttributeError)) as caught:
            call(X)
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]
    assert caught.value.__traceback__ is not None


def test_no_gradient_goes_through_an_array() -> None:
    """C7: a gradient stops there, as in dygraph."""

    def f(x: Any) -> Any:
        return (x * paddle.to_tensor(np.exp(x.numpy()) * x.numpy())).sum()

    assert_same(f, X, Y)


REFUSED: list[tuple[str, type[D2SError]]] = [
    ("{x.numpy()[0]: 1}", NotStaticError),
    ("memoryview(x.numpy())", NotStaticError),
    ("x.numpy().tobytes()", NotStaticError),
    ("x.astype('bfloat16').numpy()", NotStaticError),
    ("np.array(['a', x.numpy()[0]])", NotStaticError),
    ("math.fsum(x.numpy())", NotStaticError),
    ("np.array([7, 8, 9], 'uint32')[x.numpy().argmax()]", NotStaticError),
]


@pytest.mark.parametrize(("expression", "kind"), REFUSED)
def test_what_no_program_has(expression: str, kind: type[D2SError]) -> None:
    """E5: refused with a code; a sample is never taken for the numbers."""
    import math

    run = function_of(f"def run(x):\n    return {expression}", np=np, math=math)
    with pytest.raises(kind):
        d2s.to_static(run)(X)


IN_C = {
    "zlib": "zlib.crc32(a)",
    "binascii": "binascii.hexlify(a)",
    "hashlib": "hashlib.sha1(a).hexdigest()",
    "bytes": "bytes(a)",
    "base64": "base64.b64encode(a)",
    "struct": "struct.unpack_from('f', a)[0]",
    "a method": "b'-'.join([a])",
}


@pytest.mark.parametrize("place", ["alone", "in a branch", "in a loop"])
@pytest.mark.parametrize("library", IN_C)
def test_code_in_c_that_looks_into_the_memory(library: str, place: str) -> None:
    """E5, H1: it is refused with a code; by default the result is that of dygraph."""
    heads = {
        "alone": "if True:",
        "in a branch": "if a.sum() > 1:",
        "in a loop": "while found is None and a.max() < 40:",
    }
    run = function_of(
        f"""
        import base64, binascii, hashlib, struct, zlib
        def run(x):
            a, found = x.numpy(), None
            {heads[place]}
                a = a * 2
                found = {IN_C[library]}
            return x * 2, found
        """
    )
    with pytest.raises(D2SError):
        d2s.to_static(run, full_graph=True)(X)
    split = d2s.to_static(run, full_graph=False)
    for each in (X, Y, X):
        want, got = run(each), split(each)
        assert (want[0] == got[0]).all()
        assert want[1] == got[1]


def unknown_share(x: Any) -> Any:
    a = x.numpy()
    b = np.flip(a)
    b[0] = 1
    return a, b


def test_a_write_that_another_array_would_see_is_refused() -> None:
    """E5: memory that two arrays share in a way that is not known."""
    with pytest.raises(UnsupportedInGraphError, match="shares its memory"):
        d2s.to_static(unknown_share)(X)


def odd_shape(x: Any) -> Any:
    a = x.numpy()
    return np.compress([True, True, True], a[: 3 if float(a.sum()) < 50 else 1])


def fixed(a: Any) -> Any:
    return a[:1] if a.sum() > 1000 else a


FIXED = np.frompyfunc(lambda v: v, 1, 1)


def test_a_run_that_gives_another_shape_than_the_samples() -> None:
    """E5: an error of the run, never a wrong array."""

    def f(x: Any) -> Any:
        return np.apply_over_axes(lambda a, axis: fixed(a), x.numpy(), [0])

    run = d2s.to_static(f)
    assert run(X).tolist() == f(X).tolist()
    with pytest.raises(NotStaticError, match="was captured for"):
        run(X * 10000)


def lowered(x: Any) -> Any:
    if x.numpy()[0] > 0:
        return x * float(x.numpy()[1]) + paddle.to_tensor(x.numpy() * 2)
    return x


def on_host(x: Any) -> Any:
    scale = x.numpy().std()
    return x * float(scale) + paddle.to_tensor(np.cumsum(x.numpy()))


def test_a_saved_program_has_what_paddle_says(tmp_path: Path) -> None:
    """E5: what was lowered goes along; NumPy is refused by ``save``, with every line."""
    spec = [paddle.static.InputSpec([3], "float32")]
    good = d2s.to_static(lowered, input_spec=spec)
    paddle.jit.save(good, str(tmp_path / "good"))
    loaded = paddle.jit.load(str(tmp_path / "good"))
    np.testing.assert_allclose(loaded(X).numpy(), lowered(X).numpy())
    with pytest.raises(SaveError) as caught:
        paddle.jit.save(d2s.to_static(on_host, input_spec=spec), str(tmp_path / "bad"))
    first = on_host.__code__.co_firstlineno
    assert f":{first + 1})" in str(caught.value)
    assert f":{first + 2})" in str(caught.value)


@pytest.mark.parametrize("sizes", [[3], [None]], ids=["known", "open"])
@pytest.mark.parametrize(
    "expression",
    [
        "np.pad(a, 1), np.pad(a, (0, 2), 'constant', constant_values=7), np.pad(i, [1, 0])",
        "np.pad(a, (1, 2), constant_values=(3, -4.5)), np.pad(i, 2, constant_values=2.9)",
        "np.pad(m, 1, constant_values=5), np.pad(m, ((1, 0), (0, 2)), constant_values=((1, 2),))",
        "np.pad(m, ((0, 1),) * 2, constant_values=((1, 2), (3, 4))), np.pad(a, 0)",
        "np.concatenate([a, i]), np.concatenate((a, C, a)), np.concatenate([m, m], axis=-1)",
        "np.stack([a, a * 2]), np.stack([a, i], 1), np.stack([a > 0, a > 1], axis=-1)",
        "np.where(a > 0, a, 0), np.where(a > 0, 1, i), np.where(m > 1, a, 2.5)",
    ],
)
def test_a_saved_program_pads_joins_and_chooses(
    expression: str, sizes: list[Any], tmp_path: Path
) -> None:
    """E5: these are operations of the program, of NumPy's dtypes and shapes; nothing is shared."""
    function = function_of(
        f"""
        C = np.array([9, 8], "int32")

        def run(x):
            a = x.numpy()
            i, m = a.astype("int32"), (a + 1)[None]
            found = {expression}
            a += 1
            return [paddle.to_tensor(each) for each in found]
        """,
        np=np,
    )
    static = d2s.to_static(function, input_spec=[InputSpec(sizes, "float32")], full_graph=True)
    d2s.save(static, str(tmp_path / "m"))
    loaded = d2s.load(str(tmp_path / "m"))
    for x in (X, Y):
        for found in (static(x.clone()), loaded(x.clone())):
            for mine, right in zip(found, function(x.clone()), strict=True):
                assert mine.dtype == right.dtype
                np.testing.assert_array_equal(mine.numpy(), right.numpy())


@pytest.mark.parametrize(
    "expression",
    [
        "np.pad(a, 1, 'edge')", "np.pad(a, 1, 'wrap')", "np.pad(a, (n, 1))",
        "np.pad(a, 1, constant_values=n)", "np.concatenate([a, a], dtype='float64')",
        "np.concatenate([m, m], None)", "np.where(a, a, 0)", "np.where(a > 0)", "np.stack(m)",
        "np.pad(a > 0, 1)", "np.pad(i, 1, constant_values=(1 << 53) + 1)", "np.pad(a[0], 0)",
    ],
)  # fmt: skip
def test_what_numpy_is_asked_for_all_the_same(expression: str) -> None:
    """E5: with other arguments each run calls NumPy."""
    function = function_of(
        f"""
        def run(x):
            a = x.numpy()
            i, m = a.astype("int64"), a[None]
            n = int(abs(x[0]))
            return {expression}
        """,
        np=np,
    )
    assert_same(function, X, Y)


def test_what_is_written_may_be_what_samples_hold() -> None:
    """E5: a write is no less one where the samples hold the same number already."""
    function = function_of(
        """
        import numpy as np

        def f(x, n):
            s, k = x.numpy(), int(n)
            table = np.full((k, 2), -np.inf)
            table[0, 0] = s[0, 0]
            for i in range(1, k):
                table[i, 1] = s[i, 0] + max(table[i - 1, 0], table[i - 1, 1])
            return paddle.to_tensor(table)
        """
    )
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert_same(function, (x, paddle.to_tensor(3)), (x * 2, paddle.to_tensor(2)))


def test_a_constant_array_in_a_static_loop() -> None:
    """E5: it is one of the run from in front of the loop."""
    function = function_of(
        """
        import numpy as np

        def f(x, n):
            table = np.zeros((2, 2))
            for i in range(int(n)):
                table[i, 0] = x.numpy()[i, 0]
            return paddle.to_tensor(table)
        """
    )
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_same(function, (x, paddle.to_tensor(2)), (x * 2, paddle.to_tensor(1)))


def saved_and_read(x):
    file = io.BytesIO()
    np.save(file, x.numpy())
    file.seek(0)
    return np.load(file) * 2


def masked(x):
    return float(np.ma.masked_less(x.numpy(), 0).mean())


@pytest.mark.parametrize("function", [saved_and_read, masked])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_what_no_sample_can_stand_for(function) -> None:
    """E5: files get no samples, and no mask is lost: refused, and dygraph's under the default."""
    x = paddle.to_tensor([1.0, -2.0, 3.0])
    said = "an array that each run decides|would happen once, while the program is captured"
    with pytest.raises(D2SError, match=said):
        d2s.to_static(function, full_graph=True)(x)
    split = d2s.to_static(function, full_graph=False)
    for each in (x, x * -2):
        np.testing.assert_array_equal(split(each), function(each))


def test_save_names_each_line_that_needs_python(tmp_path: Path) -> None:
    """E5: those in callees, branches, loops and comprehensions, and of ``d2s.host``, too."""
    twice = d2s.host(result=InputSpec([3], "float32"))(lambda x: x.numpy() * 2)
    function = function_of(
        """
        def helper(y):
            return paddle.to_tensor(np.unique(y.numpy())).sum()

        def f(x):
            y = x * 2 + np.percentile(x.numpy(), 30)
            if y.sum() > 3:
                y = y - np.histogram(y.numpy(), bins=3)[0].max()
            for _ in range(y.sum().astype("int64")):
                y = y * float(np.median(y.numpy()))
            z = [float(np.ptp(each.numpy())) for each in (x, y)]
            out = paddle.zeros_like(x)
            paddle.static.py_func(np.tanh, x, out)
            return y + twice(y) + helper(y) + sum(z) + out
        """,
        np=np, twice=twice,
    )  # fmt: skip
    with pytest.raises(SaveError) as caught:
        d2s.save(d2s.to_static(function), str(tmp_path / "m"), input_spec=[InputSpec([3])])
    for line in (2, 5, 7, 9, 10, 12, 13):
        assert f":{line})" in str(caught.value), line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "write",
    [
        "np.multiply(x.numpy(), 2, out=made)",
        "np.add(x.numpy(), 1, made)",
        "np.cumsum(x.numpy(), out=made)",
        "np.cumprod(x.numpy(), 0, None, made)",
        "x.numpy().cumsum(out=made)",
        "np.add.at(made, [0, 1, 1], x.numpy())",
        "np.dot(x.numpy(), x.numpy(), out=made[0, ...])",
        "x.numpy().take([0, 1, 0], out=made)",
        "np.stack([x.numpy()[0], x.numpy()[1], x.numpy()[0]], out=made)",
    ],
)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_results_written_into_an_array_that_no_run_decides(write: str) -> None:
    """E5, H1: refused with the line, and right by default; it was a ValueError of NumPy's."""
    text = f"def f(x):\n    made = np.zeros(3, 'float32')\n    {write}\n    return made + 1"
    x = tensor(1.0, 2.0, 3.0)
    with pytest.raises(NotStaticError) as caught:
        d2s.to_static(function_of(text, np=np), full_graph=True)(x)
    assert caught.value.line == 3
    assert "no run decides" in str(caught.value)
    got = d2s.to_static(function_of(text, np=np), full_graph=False)
    for k in range(3):
        assert got(x * k).tolist() == function_of(text, np=np)(x * k).tolist()


PLACES = ["outer", "kept.a", "kept.table['k']", "rows[0]", "held.a", "held.items[0]"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", ["[0] = x.numpy()[0]", "[1:] = x.numpy()", "[0] = x[1].item()"])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_what_the_run_decides_in_an_array_from_outside(place: str, write: str) -> None:
    """E5, F4, H1: the array stayed as it was, silently; refused as one program."""
    text = f"def f(x, held):\n    {place}{write}\n    return x.sum()"

    def made() -> dict[str, Any]:
        kept = SimpleNamespace(a=np.ones(3), table={"k": np.ones(3)})
        return {"np": np, "outer": np.ones(3), "rows": [np.ones(3)], "kept": kept}

    def seen(full_graph: bool | None) -> list[Any]:
        names = made()
        function = function_of(text, **names)
        if full_graph is not None:
            function = d2s.to_static(function, full_graph=full_graph)
        held = SimpleNamespace(a=np.ones(3), items=[np.ones(3)])
        found = []
        for x in (tensor(3.0, 4.0), tensor(-1.0, 5.0)):
            function(x, held)
            found.append(eval(place, {**names, "held": held}).tolist())
        return found

    with pytest.raises(UnsupportedInGraphError) as caught:
        seen(True)
    assert caught.value.line == 2
    assert "ndarray" in str(caught.value)
    assert seen(False) == seen(None)


@pytest.mark.parametrize(
    "write", ["np.add.at(a, [0, 1, 1], 2.0)", "np.cumsum(a, out=a)", "np.cumprod(a, 0, None, a)"]
)
def test_writes_that_numpy_does_not_check(write: str) -> None:
    """E5: into an array that each run decides, by functions that write into read-only arrays."""
    text = f"def f(x):\n    a = x.numpy() + 1\n    {write}\n    return paddle.to_tensor(a) * x"
    assert_same(function_of(text, np=np), tensor(1.0, 2.0, 3.0), tensor(0.0, -1.0, 4.0), grad=False)


@pytest.mark.parametrize("what", ["1 / x.numpy()", "np.log(x.numpy())", "x.numpy() * 1e38 * 1e38"])
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_numpy_is_told_to_raise(what: str) -> None:
    """E5, H1: only the run knows whether it does; a program said nothing, and went on."""
    text = (
        "def f(x):\n    try:\n        with np.errstate(all='raise'):\n"
        f"            return ({what}).tolist()\n"
        "    except FloatingPointError:\n        return 'raised'"
    )
    plain = function_of(text, np=np)
    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(function_of(text, np=np), full_graph=True)(tensor(1.0, 2.0))
    assert caught.value.line == 4
    got = d2s.to_static(function_of(text, np=np), full_graph=False)
    for x in (tensor(1.0, 2.0), tensor(0.0, 2.0), tensor(3.0, 4.0)):
        assert got(x) == plain(x)


FILTERED = [
    "[v for v in x.numpy() if v > 0]",
    "[v.astype('float64') for v in x.numpy() if v > 0], [v for v in x.numpy() if v > 2]",
    "[r for r in np.outer(x.numpy(), [1, 2]) if r.sum() > 0]",
    "tuple(v for v in x.astype('int32').numpy() if v > 0)",
    "{i: v for i, v in enumerate(x.numpy()) if v > 0}",
    "[(i, v) for i, v in enumerate(x.numpy()) if v > 0]",
    "[{'v': v, 'all': x.numpy()} for v in x.numpy() if v > 0]",
    "[Kept(v) for v in x.numpy() if v > 0]",
    "[[v for v in r if v > 0] for r in np.outer(x.numpy(), [1, -1]) if r[0] > 0]",
    "collections.deque(v for v in x.numpy() if v > 0)",
]


class Kept:
    def __init__(self, value: Any) -> None:
        self.value = value


def _shown(thing: Any) -> Any:
    """Values with their types, which NumPy's numbers are not told apart by when compared."""
    if isinstance(thing, np.ndarray | np.generic):
        return type(thing).__name__, thing.dtype.name, thing.tolist()
    if isinstance(thing, dict):
        return {key: _shown(value) for key, value in thing.items()}
    if isinstance(thing, Kept):
        return "Kept", _shown(thing.value)
    if isinstance(thing, list | tuple | collections.deque):
        return type(thing).__name__, [_shown(each) for each in thing]
    return thing


@pytest.mark.parametrize("expression", FILTERED)
def test_arrays_in_lists_of_the_run(expression: str) -> None:
    """E5: they leave the function as arrays and numbers of NumPy."""
    scope = {"np": np, "Kept": Kept, "collections": collections}
    function = function_of(f"def f(x): return {expression}", **scope)
    static = d2s.to_static(function, full_graph=True)
    for x in (X, Y, tensor(-1.0, -2.0, -0.5), X):
        assert repr(_shown(static(x))) == repr(_shown(function(x)))


WRITES = {
    "one of two places": (
        "a = np.zeros(3)\n    k = 0 if x.sum() > 0 else 2\n    a[k] = 5\n    a[k] += 1"
    ),
    "one of two parts": (
        "a = np.zeros([2, 3])\n    k = slice(0, 1) if x.sum() > 0 else slice(1, 3)\n"
        "    a[0, k] = x.numpy()[0]"
    ),
    "a place or all": "a = x.numpy()\n    k = None if x.sum() > 0 else 1\n    a[k] = 7",
    "a list or a number": "a = x.numpy() * 1\n    a[:] = [1, 2, 3] if x.sum() > 0 else 0",
    "a number of either kind": (
        "a = np.zeros(3)\n    a[1] = 5 if x.sum() > 0 else 2.5\n    a[0] = a[1]"
    ),
    "a view": "a = x.numpy() * 1\n    v = a[1:]\n    v[0 if x.sum() > 0 else 1] = 7",
    "another name": "a = x.numpy()\n    b = a\n    a[0 if x.sum() > 0 else 1] = 7\n    a = a + b",
    "a part between numbers of the run": (
        "a = np.zeros(4)\n    k = 0\n    for i in range(3):\n"
        "        d = abs(x.astype('int64').numpy())[i]\n        a[k:k + d] = i + 1\n        k += d"
    ),
    "no place": "a = x.numpy()\n    a['none' if x.sum() < -5 else 1] = 7",
}


@pytest.mark.parametrize("write", WRITES)
def test_one_of_several_things_is_written(write: str) -> None:
    """E5, B4: into a part of an array, or at one of several places; silently wrong once."""
    f = function_of(f"def f(x):\n    {WRITES[write]}\n    return a, a.sum()", None)
    calls = tensor(1.0, 2.0, 1.0), tensor(-1.0, -2.0, 0.0), tensor(0.0, 1.0, 1.0)
    assert_same(f, *calls)


def test_lengths_spread_into_a_matrix() -> None:
    """E5: the length regulator of published speech models, as one program."""

    def expand(encodings: Any, durations: Any) -> Any:
        batch_size, t_enc = paddle.shape(durations)[0], paddle.shape(durations)[1]
        durations = durations.numpy()
        t_dec = np.max(np.sum(durations, -1))
        matrix = np.zeros([batch_size, t_dec, t_enc])
        for i in range(batch_size):
            k = 0
            for j in range(t_enc):
                d = durations[i, j]
                matrix[i, k : k + d, j] = 1
                k += d
        return paddle.matmul(paddle.to_tensor(matrix, dtype=encodings.dtype), encodings)

    paddle.seed(1)
    calls = [
        (paddle.randn([2, len(row[0]), 4]), paddle.to_tensor(row))
        for row in ([[1, 2, 0], [2, 1, 1]], [[3, 0, 1], [0, 0, 1]], [[1, 1], [2, 2]])
    ]
    assert_same(expand, *calls, static=d2s.to_static(expand, full_graph=True))
