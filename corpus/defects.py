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

import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

warnings.filterwarnings("ignore")

import typer

from corpus import probes, record
from corpus.language import Language, Text, same, section, table, write
from corpus.record import CONVERTERS, Record, Verdict
from corpus.rows import ROWS
from corpus.runner import Result
from corpus.support import BAD, cell, said
from corpus.support import PEERS as TITLES

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
    what: Text
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
        says: the defect, in words; nothing where it is the feature of its row.
        shown: what shows it.
        note: where the entry and what was measured here do not agree.
    """

    key: str
    says: Text | None
    shown: tuple[Shown, ...]
    note: Text | None = None


def _ast(name: str, what: Text, kind: str = WRONG) -> Shown:
    return Shown(name, what, ast=kind)


def _sot(name: str, what: Text, kind: str = WRONG) -> Shown:
    return Shown(name, what, sot=kind)


def _both(name: str, what: Text, kind: str = WRONG) -> Shown:
    return Shown(name, what, kind, kind)


FACTS = (
    Defect(
        "fact 1",
        Text(
            "A value that leaves a branch or a loop and is also used inside of it loses a part of "
            "its gradient; one value under two names gives wrong results.",
            "离开分支或循环、又在其中被使用的值，会丢失一部分梯度；以两个名字出现的同一个值给出错误"
            "的结果。",
        ),
        (
            _ast(
                "fanout_gradient_in_branch", Text("the gradient through a branch", "穿过分支的梯度")
            ),
            _ast(
                "one_value_under_two_names_in_branch",
                Text("two names: the result itself", "两个名字：结果本身"),
            ),
            _ast(
                "fanout_gradient_in_while",
                Text("the gradient through a loop", "穿过循环的梯度"),
                FAILED,
            ),
        ),
        Text(
            "Through the converter the loop does not come as far as a wrong gradient: it ends in "
            "the error of fact 2. With `paddle.static.gradients` on a program written by hand the "
            "gradient of such a loop is 5 in place of 11.",
            "经过该转换方式时，循环还没有走到错误的梯度，就以事实 2 的错误结束。"
            "对手工编写的 Program 使用 `paddle.static.gradients`，这样的循环的梯度是 5，"
            "而应当是 11。",
        ),
    ),
    Defect(
        "fact 2",
        Text(
            "Training through a `while` fails: what the way back needs does not survive between "
            "the two programs.",
            "穿过 `while` 的训练会失败：反向所需的值没有在两个 Program 之间保留下来。",
        ),
        (
            _ast("while_and_condition", Text("a `while`", "`while`"), FAILED),
            _ast(
                "adaptive_ode",
                Text("a `while` over a dataclass", "对 dataclass 的 `while`"),
                FAILED,
            ),
            _ast(
                "for_else_range_tensor",
                Text("a `for` over a range of a tensor", "以张量为边界的 range 上的 `for`"),
                FAILED,
            ),
        ),
    ),
    Defect(
        "fact 3",
        Text(
            "A loop variable that starts without a gradient never gets one: the gradient is "
            "missing, and no error says so.",
            "起初没有梯度的循环变量永远得不到梯度：梯度缺失，而没有任何报错。",
        ),
        (
            _ast("sum_from_zeros_gradient", Text("a sum from zeros", "从零开始的求和")),
            _ast("list_stack_gradient", Text("`append` and `stack`", "`append` 和 `stack`")),
            _ast("lstm_tensor_steps", Text("an LSTM in training", "训练中的 LSTM")),
        ),
    ),
    Defect(
        "fact 4",
        Text(
            "The flag of an inner `break` is not reset, `else` of loops is skipped, a `:=` in the "
            "head of a `while` and `itertools.count` do not end.",
            "内层 `break` 的标志不会复位，循环的 `else` 被跳过，`while` 条件里"
            "的 `:=` 和 `itertools.count` 不会结束。",
        ),
        (
            _ast(
                "inner_break_of_numbers",
                Text(
                    "`break` of an inner loop that is entered again", "再次进入的内层循环的 `break`"
                ),
            ),
            _ast("while_else_of_numbers", Text("`else` of a `while`", "`while` 的 `else`")),
            Shown(
                "for_else_of_python_values",
                Text("`else` of a `for`", "`for` 的 `else`"),
                WRONG,
                WRONG,
            ),
            _ast(
                "walrus_in_while",
                Text("`:=` in the head of a `while`", "`while` 条件里的 `:=`"),
                HANGS,
            ),
            _ast("itertools_count_break", same("`itertools.count`"), HANGS),
        ),
    ),
    Defect(
        "fact 5",
        Text(
            "In-place methods and writes through views are dropped while a program is captured.",
            "捕获 Program 时，就地方法和通过视图的写入会丢失。",
        ),
        (
            _ast("add_in_place", same("`y.add_(t)`")),
            _both("inplace_update", Text("a step of momentum", "momentum 的一步")),
            _both(
                "inplace_functions",
                Text("functions whose names end in an underscore", "名字以下划线结尾的函数"),
            ),
            _both("view_of_reshape_written", Text("a write through a view", "通过视图写入")),
            _both(
                "view_written_then_base_read",
                Text("a write that a view has to see", "视图应当看到的写入"),
            ),
        ),
    ),
    Defect(
        "fact 6",
        Text(
            "Several threads that call one captured function crash the process.",
            "多个线程调用同一个已捕获的函数，会使进程崩溃。",
        ),
        (
            _ast(
                "threads_on_a_warm_function",
                Text("four threads, 500 calls each", "四个线程，各调用 500 次"),
                ANY,
            ),
        ),
        Text(
            "Chance decides what comes: an exception in a thread, another thread's result, no "
            "answer, or the end of the process.",
            "出现哪一种由偶然决定：某个线程里的异常、另一个线程的结果、没有回答，或进程结束。",
        ),
    ),
    Defect(
        "fact 7",
        Text(
            "An error of an operation in a branch does not say which line of the program it was; "
            "an `assert` loses its type and message.",
            "分支里算子的错误不指出是程序的哪一行；`assert` 会丢失其类型和消息。",
        ),
        (
            _ast(
                "place_of_a_run_time_error",
                Text("the line of an error in a branch", "分支里错误的代码行"),
                FAILED,
            ),
            _ast(
                "assert_alone", Text("the type and message of an `assert`", "`assert` 的类型和消息")
            ),
        ),
    ),
    Defect(
        "fact 8",
        Text(
            "What a program reads of globals, closures and attributes is frozen when it is "
            "captured.",
            "Program 从全局变量、闭包和属性读取的内容，在捕获时就固定下来。",
        ),
        (
            _ast("changed_global", Text("a global", "全局变量")),
            _ast("changed_closure", Text("a variable of a closure", "闭包变量")),
            _ast("changed_attribute", Text("an attribute", "属性")),
            _ast("captured_tensor_rebound", Text("a tensor that is replaced", "被替换的张量")),
        ),
    ),
    Defect(
        "fact 9",
        Text(
            "Under `no_grad` the program for training runs, which keeps what nobody will need.",
            "在 `no_grad` 下运行的是用于训练的 Program，它保留了没有人会用到的东西。",
        ),
        (
            _ast(
                "memory_of_a_loop_without_gradients",
                Text("the memory of a loop", "循环的内存"),
                FAILED,
            ),
        ),
        Text(
            "The time that it costs is in `make bench`; the memory is easier to tell apart.",
            "它耗费的时间见 `make bench`；内存上的差别更容易分辨。",
        ),
    ),
    Defect(
        "fact 10",
        Text(
            "`int()` of a tensor is an int32, and a Python float that meets a tensor becomes a "
            "float64.",
            "张量的 `int()` 是 int32，与张量运算的 Python float 变成 float64。",
        ),
        (
            _ast("cast_int_beyond_32_bits", Text("`int()` of 2**40", "2**40 的 `int()`")),
            _ast(
                "weak_float_next_to_float64",
                Text("the dtype of what is computed with a float", "与 float 运算的结果的数据类型"),
            ),
        ),
    ),
    Defect(
        "fact 11",
        Text(
            "`super()` over two levels recurses for ever, private names fail, and so do entry "
            "points with `*args`, keyword-only arguments, decorators, class methods and partials.",
            "跨两层的 `super()` 无限递归；私有名字会失败；带 `*args`、仅关键字参数、装饰器、"
            "类方法和 partial 的入口也会失败。",
        ),
        (
            _ast(
                "super_two_levels", Text("`super()` over two levels", "跨两层的 `super()`"), FAILED
            ),
            _ast("private_names", same("`self.__name`"), FAILED),
            _both("entry_varargs", same("`*args`"), FAILED),
            _both(
                "entry_keyword_only",
                Text("keyword-only arguments, bound by a partial", "由 partial 绑定的仅关键字参数"),
                FAILED,
            ),
            _both(
                "entry_decorated_with_wraps", Text("a decorated function", "被装饰的函数"), FAILED
            ),
            _both("entry_classmethod", Text("a class method", "类方法"), FAILED),
            _both("entry_partial", Text("a partial", "partial"), FAILED),
        ),
    ),
    Defect(
        "fact 12",
        Text(
            "Numbers are rounded to float32 while a program is made, whatever the tensors are that "
            "they meet.",
            "生成 Program 时，数被舍入为 float32，无论与它们运算的张量是什么类型。",
        ),
        (
            _both("doubles_meet_numbers", Text("`x * 0.7` of a float64", "float64 的 `x * 0.7`")),
            _ast(
                "linear_congruences",
                Text("`k * 1103515245` of an int64", "int64 的 `k * 1103515245`"),
            ),
        ),
        Text("Found with d2s, which had inherited it.", "由 d2s 发现，d2s 曾继承了这个问题。"),
    ),
    Defect(
        "fact 13",
        Text(
            "An operation that reads one tensor twice writes over it in between.",
            "两次读取同一个张量的算子，会在两次之间覆盖它。",
        ),
        (
            _both(
                "one_tensor_read_twice",
                Text(
                    "`addmm(y, y, y)` and `scatter(y, k, y)`",
                    "`addmm(y, y, y)` 和 `scatter(y, k, y)`",
                ),
            ),
        ),
        Text("Found with d2s, which had inherited it.", "由 d2s 发现，d2s 曾继承了这个问题。"),
    ),
    Defect(
        "fact 14",
        Text(
            "`paddle.to_tensor(x)` is `x` itself, and takes its gradient away.",
            "`paddle.to_tensor(x)` 就是 `x` 本身，并且拿走它的梯度。",
        ),
        (
            _both(
                "to_tensor_of_tensors",
                Text("a tensor, and a list with tensors", "张量，以及含有张量的列表"),
            ),
        ),
        Text("Found with d2s, which had inherited it.", "由 d2s 发现，d2s 曾继承了这个问题。"),
    ),
)


SILENT = (
    Defect(
        "row 1",
        None,
        (_ast("fanout_gradient_in_branch", Text("gradients", "梯度")),),
    ),
    Defect(
        "row 3",
        None,
        (
            Shown("branch_name_unbound_at_return", Text("returned", "被返回"), WRONG, WRONG),
            _ast("unbound_after_tensor_branch_in_loop", Text("set in a loop", "在循环里设置")),
        ),
    ),
    Defect(
        "row 4",
        None,
        (
            _ast("branch_none_returned", Text("returned", "被返回")),
            _ast("is_same_argument", Text("asked with `is None`", "用 `is None` 判断")),
        ),
    ),
    Defect(
        "row 12",
        None,
        (
            Shown("logic_value_of_and", same("`and`"), WRONG, FAILED),
            Shown("logic_value_of_or", same("`or`"), WRONG, FAILED),
        ),
    ),
    Defect(
        "row 14",
        None,
        (
            Shown("in_list_of_floats", Text("a list of floats", "float 的列表"), FAILED),
            Shown(
                "list_membership",
                Text("a list of tensors that grows", "增长的张量列表"),
                FAILED,
                HANGS,
            ),
        ),
        Text(
            "A wrong answer of SOT was reported and did not come again on Paddle 3.3.1, in six "
            "forms of the question; one of the programs does not end with it.",
            "曾有报告说 SOT 给出错误的答案，在飞桨 3.3.1 上以六种形式提问都没有再出现；"
            "其中一个程序在 SOT 下不会结束。",
        ),
    ),
    Defect(
        "row 18",
        None,
        (_ast("while_else_of_numbers", Text("the else is skipped", "else 被跳过")),),
    ),
    Defect(
        "row 33",
        None,
        (
            _ast("list_grows_while_iterated", Text("it grows", "列表增长")),
            _ast("list_shrinks_while_iterated", Text("it shrinks", "列表缩短")),
        ),
    ),
    Defect(
        "row 35",
        None,
        (_ast("starred_target_of_numbers", Text("over tuples of numbers", "遍历数的元组")),),
    ),
    Defect(
        "row 36",
        None,
        (
            Shown(
                "for_else_of_python_values",
                Text("over Python values", "遍历 Python 值"),
                WRONG,
                WRONG,
            ),
        ),
        Text(
            "That SOT is wrong here was not known: after a call that came to the `else`, a later "
            "call that does not is given the value of the `else` too.",
            "SOT 在这里出错此前并不为人所知：一次调用走到 `else` 之后，之后没有走到 `else` 的调用也"
            "会得到 `else` 的值。",
        ),
    ),
    Defect(
        "row 38",
        None,
        (
            _ast("inner_break_of_numbers", Text("numbers", "数")),
            _ast("insertion_sort", Text("a sort", "排序")),
        ),
    ),
    Defect(
        "row 60",
        None,
        (
            _ast("raise_caught_inside", Text("caught inside", "在内部捕获")),
            _ast("raise_caught_in_tensor_loop", Text("in a loop", "在循环里")),
        ),
    ),
    Defect(
        "row 62",
        None,
        (
            _ast("print_text_in_branch", Text("both texts, once", "两段文本，各一次")),
            _ast("print_tensors", Text("the text of a tensor", "张量的文本")),
        ),
    ),
    Defect(
        "row 67",
        None,
        (_ast("type_is_tensor_argument", same("`type(x) is paddle.Tensor`")),),
    ),
    Defect(
        "row 68",
        None,
        (
            _ast("branch_int_isinstance", same("`isinstance`")),
            _ast("branch_int_type", same("`type`")),
        ),
    ),
    Defect(
        "row 73",
        None,
        (
            _ast("random_module_per_call", Text("the `random` module", "`random` 模块")),
            _ast("numpy_random_per_call", same("`numpy.random`")),
        ),
    ),
    Defect(
        "row 74",
        None,
        (_ast("list_stack_gradient", Text("the gradient", "梯度")),),
    ),
    Defect(
        "row 75",
        None,
        (_ast("list_grown_len_of_numbers", same("`len`")),),
    ),
    Defect(
        "row 78",
        None,
        (
            _ast("list_alias_in_branch", Text("two names", "两个名字")),
            _ast("helper_mutates_arguments", Text("a helper", "辅助函数")),
        ),
    ),
    Defect(
        "row 81",
        None,
        (_ast("dict_constants_asked_in_loop", same("`is True`")),),
    ),
    Defect(
        "row 88",
        None,
        (
            _ast("add_in_place", Text("one name, one call", "一个名字，一次调用")),
            _both("inplace_update", Text("an in-place method", "就地方法")),
            _both("setitem_through_slice_view", Text("a view", "视图")),
        ),
    ),
    Defect(
        "row 97",
        None,
        (
            _ast("changed_global_dict", Text("a global", "全局变量")),
            _ast("changed_attribute_list", Text("an attribute", "属性")),
        ),
    ),
    Defect(
        "row 98",
        None,
        (
            _ast("captured_tensor_rebound", Text("a name", "名字")),
            _ast("sublayer_replaced", Text("a layer", "Layer")),
        ),
    ),
    Defect(
        "row 100",
        None,
        (
            _both(
                "grad_inside_two_steps",
                Text(
                    "two steps of `paddle.grad` with `create_graph`",
                    "带 `create_graph` 的两步 `paddle.grad`",
                ),
            ),
        ),
        Text(
            "On neither list: Paddle merges equal operations of a program, and its in-place pass "
            "then overwrites what a second derivative still reads.",
            "两份清单上都没有：飞桨会合并 Program 中相同的算子，之后它的就地 pass 会覆盖二阶导数还"
            "要读取的值。",
        ),
    ),
)

DEFECTS = FACTS + SILENT
NAMES = tuple(sorted({shown.name for defect in DEFECTS for shown in defect.shown}))


def feature(defect: Defect) -> Text:
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

    >>> right = Verdict("", "right")
    >>> problems(_ast("p", same("x")), {"d2s": right, "paddle-ast": right})
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

_INTRO = Text(
    """\
# Where Paddle's converters go wrong

Written by `make support` from the recorded verdicts on the programs named here; nobody typed in the
cells. The words are those of [What is supported](support.md): **WRONG** is a result, a gradient or
a text that differs from dygraph while no error says so, **failed** is an error that dygraph does
not raise, or a crash. Made with {versions}. The tests in `tests/facts` fail when d2s is not right
in one of these programs, or when a converter no longer does what it is blamed for.

Two lists: facts about Paddle's own path that d2s must not inherit, and features, with their numbers
in the support table, on which one of Paddle's converters has been seen to be silently wrong.
""",
    """\
# 飞桨转换方式的问题

本页由 `make support` 根据这里列出的程序所记录的结论生成；没有一格是手工填写的。
用词与[支持情况](support.md)相同：**WRONG** 指结果、梯度或文本与动态图不同，
而没有任何报错；**failed** 指动态图不会抛出的错误，或进程崩溃。由 {versions}得到。如果 d2s 在其中某
个程序上不正确，或某种转换方式不再有它被指出的问题，`tests/facts` 里的测试就会失败。

共有两份清单：一份是关于飞桨自身转换途径的事实，d2s 不应当继承它们；另一份是曾看到飞桨的某种转换方式
悄悄出错的功能，带有支持情况表中的编号。
""",
)


def render(known: Mapping[str, Mapping[str, Verdict]], versions: Text, language: Language) -> str:
    """The text of the page."""
    parts = [
        _INTRO[language].format(versions=versions[language]),
        section(Text("In total", "合计"), _totals(known, language), language),
    ]
    lists = {
        Text("Facts", "事实"): FACTS,
        Text("Silently wrong features", "悄悄出错的功能"): SILENT,
    }
    for title, defects in lists.items():
        parts.append(f"## {title[language]}\n")
        parts += [_section(defect, known, language) for defect in defects]
    return "\n".join(parts)


def _totals(known: Mapping[str, Mapping[str, Verdict]], language: Language) -> str:
    about = Text("verdicts on the programs of this page", "本页各程序的结论")
    lines = [f"| | {about[language]} |", "|---|---|"]
    lines += [
        f"| {title} | {cell([known[converter][name] for name in NAMES], language)} |"
        for converter, title in CONVERTERS.items()
    ]
    return "\n".join(lines) + "\n"


_KINDS = {"fact": Text("Fact", "事实"), "row": Text("Row", "行")}


def _section(defect: Defect, known: Mapping[str, Mapping[str, Verdict]], language: Language) -> str:
    kind, number = defect.key.split()
    stop = Text(".", "。")[language]
    lines = [f"### {_KINDS[kind][language]} {number}\n"]
    lines.append(feature(defect)[language].rstrip(stop) + f"{stop}\n")
    lines += table((Text("what", "内容"), Text("shown by", "展示它的程序"), *TITLES), language)
    for shown in defect.shown:
        texts = [_said(known[converter][shown.name], language) for converter in CONVERTERS]
        lines.append(f"| {' | '.join([shown.what[language], f'`{shown.name}`', *texts])} |")
    if defect.note:
        lines.append(f"\n{defect.note[language]}")
    return "\n".join(lines) + "\n"


def _said(verdict: Verdict, language: Language) -> str:
    text = said(verdict, language)
    return text.replace(WRONG, f"**{WRONG}**", 1) if text.startswith(WRONG) else text


def versions() -> Text:
    """The Paddle and the Python that the peers were run with."""
    known = record.read(PEERS[0])
    return Text(
        f"paddlepaddle {known.paddle} on Python {known.python}",
        f"paddlepaddle {known.paddle} 和 Python {known.python} ",
    )


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
    write(PAGE, functools.partial(render, recorded, versions()))
    for problem in bad:
        print(problem)
    raise typer.Exit(1 if bad else 0)


if __name__ == "__main__":
    typer.run(main)
