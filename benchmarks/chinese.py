"""The generated parts of docs/performance.md in Chinese, made of the English ones.

Figures, names and messages are taken over as they are.  The words of a cell are in ``PHRASES``, or
have a form of ``FORMS``; a test fails when a cell has others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

PHRASES: Final = {
    # peers and modes
    "by hand": "手写",
    "floor": "下限",
    "d2s, forward": "d2s，前向",
    "d2s, whole step": "d2s，整个训练步",
    # heads of columns
    "scenario": "场景",
    "goals": "目标",
    "peer": "对象",
    "best": "最佳",
    "median": "中位数",
    "spread": "离散程度",
    "first call": "首次调用",
    "calls a round": "每轮调用次数",
    "remark": "备注",
    "model": "模型",
    "a step": "一步",
    "of dygraph": "与动态图之比",
    "growth": "增长",
    "first step": "第一步",
    "trips": "迭代次数",
    "lines": "行数",
    "branches": "分支数",
    "levels": "层数",
    "parameters": "参数个数",
    "layers": "Layer 个数",
    "threads": "线程数",
    # scenarios
    "2 operations, no gradient": "2 个算子，无梯度",
    "2 operations, forward and backward": "2 个算子，前向和反向",
    "100 operations, no gradient": "100 个算子，无梯度",
    "20 tensor ifs in a row": "连续 20 个张量 if",
    "while, 1000 trips, no gradient": "while，1000 次迭代，无梯度",
    "while, 1000 trips, each of which writes a row of a table": (
        "while，1000 次迭代，每次写表中的一行"
    ),
    "while, 100 trips, forward and backward": "while，100 次迭代，前向和反向",
    "range(tensor): 64 RNN steps, append, stack": "range(tensor)：64 步 RNN，append，stack",
    "Newton's method, while a and b": "牛顿法，while a and b",
    "MLP inference, 3 layers of 64": "MLP 推理，3 层，宽度 64",
    "LSTM over 32 steps, training step": "32 步的 LSTM，训练步",
    "encoder layer, training step": "编码器层，训练步",
    "LSTM over 32 steps, as one converted step": "32 步的 LSTM，整个训练步一起转换",
    "ResNet-18, inference": "ResNet-18，推理",
    "ResNet-18, training step": "ResNet-18，训练步",
    "small BERT, inference": "小型 BERT，推理",
    "small BERT, training step": "小型 BERT，训练步",
    "generate, 32 tokens, batch of 2, 2 layers of 64, caches by concat": (
        "生成 32 个 token，batch 2，2 层，宽度 64，缓存用 concat"
    ),
    "generate, 32 tokens, batch of 2, 2 layers of 64, caches in a buffer": (
        "生成 32 个 token，batch 2，2 层，宽度 64，缓存用 buffer"
    ),
    "generate, 32 tokens, batch of 2, 8 layers of 512, caches by concat": (
        "生成 32 个 token，batch 2，8 层，宽度 512，缓存用 concat"
    ),
    "generate, 32 tokens, batch of 2, 8 layers of 512, caches in a buffer": (
        "生成 32 个 token，batch 2，8 层，宽度 512，缓存用 buffer"
    ),
    "source to source, for each line": "源码到源码，每行",
    "first call of a function with branches and loops": "带分支和循环的函数的首次调用",
    "first call of an encoder layer": "编码器层的首次调用",
    "import: paddle; d2s after it": "导入：paddle；之后的 d2s",
    # curves
    "a while loop, by its trips": "while 循环，按迭代次数",
    "a while loop, by the lines of its body": "while 循环，按循环体的行数",
    "tensor ifs in a row": "连续的张量 if",
    "tensor ifs and whiles inside of each other": "相互嵌套的张量 if 和 while",
    "a long function, every tenth line a tensor if": "长函数，每十行有一个张量 if",
    "a layer, by its parameters": "Layer，按参数个数",
    "layers with Python values that each program counts on": "带有 Program 所依赖的 Python 值"
    "的 Layer",
    "100 operations, called from several threads at once": "100 个算子，由几个线程同时调用",
    # pictures, states, verdicts
    "Times of a call as multiples of dygraph's": "一次调用的用时，以动态图为 1",
    "Growth of the process by trips": "进程的增长，按迭代次数",
    "failed before": "先前已失败",
    "wrong": "错误",
    "fails": "失败",
    "met": "达到",
    "level": "持平",
    "missed": "未达到",
    "unknown": "未知",
    "dygraph": "dygraph",
    "the best": "最快者",
    "Not measured in this run.": "这次没有测量。",
}
"""Words that are a whole cell, or a part of one of the forms."""

FORMS: Final = (
    (r"(.+): (met|level|missed|unknown)(?: \(([\d.]+) of the limit\))?", "{0}：{1}（限值的 {2}）"),
    (r"≤ ([\d.]+x) floor \((.+)\)", "≤ {0} 下限（{1}）"),
    (r"no slower than (.+)", "不慢于{0}"),
    (r"≥ ([\d.]+)x faster than (.+)", "比 {1} 快 ≥ {0} 倍"),
    (r"≤ ([\d.]+x) (dygraph|floor|by hand|the best|Paddle AST|Paddle SOT)", "≤ {0} {1}"),
    (r"capture independent of (\w+) \((≤ [\d.]+x)\)", "捕获的用时与{0}无关（{1}）"),
    (r"capture linear in (\w+) \(exponent (≤ [\d.]+)\)", "捕获的用时与{0}成线性（指数 {1}）"),
    (r"first ([\d.]+ (?:s|ms|µs))", "首次 {0}"),
    (r"capture ([\d.]+ (?:s|ms|µs))", "捕获 {0}"),
    (r"fails: (\w+)", "失败：{0}"),
)
"""How a cell is said that has more than a phrase in it; its parts are phrases or forms again."""

_NEUTRAL: Final = re.compile(
    r"|≤ [\d.]+(?:x| s| ms| µs)?|[\d.]+ ?(?:x|%|s|ms|µs|MiB)?|-+|[a-z-]+|d2s|Paddle \w+"
    r"|(?:trace|serial|default)(?:, keeping)? interpreter|\w+(?:Error|Exception)|Timeout"
)
"""Figures, names of scenarios and of peers, remarks of the interpreter."""


class UntranslatedError(Exception):
    """Words that nobody has translated."""


def phrase(text: str) -> str:
    """A cell, or a part of one, in Chinese.

    Raises:
        UntranslatedError: its words are not known.

    >>> phrase("≥ 8x faster than Paddle AST: met (0.45 of the limit)")
    '比 Paddle AST 快 ≥ 8 倍：达到（限值的 0.45）'
    """
    if text in PHRASES:
        return PHRASES[text]
    for pattern, said in FORMS:
        found = re.fullmatch(pattern, text)
        if found:
            parts = [phrase(part) for part in found.groups("")]
            return said.format(*parts).replace("（限值的 ）", "").replace("不慢于d", "不慢于 d")
    if _NEUTRAL.fullmatch(text):
        return text
    raise UntranslatedError(f"no Chinese for {text!r} in benchmarks/chinese.py")


def in_chinese(part: str) -> str:
    """A generated part of the page in Chinese."""
    return "\n".join(_lines(part))


def _lines(part: str) -> Iterator[str]:
    for line in part.split("\n"):
        if line.startswith("|"):
            cells = [cell.strip().split("<br>") for cell in line.strip("|").split("|")]
            said = ["<br>".join(phrase(piece) for piece in cell) for cell in cells]
            yield f"| {' | '.join(said)} |"
        elif line.startswith("### "):
            title = line.removeprefix("### ")
            yield f"### {phrase(_as_a_title(title))}"
        elif picture := re.fullmatch(r"!\[(.*)\]\((.*)\)", line):
            yield f"![{phrase(picture[1])}](../{picture[2]})"
        elif line.startswith("- "):
            yield f"- {_note(line.removeprefix('- '))}"
        else:
            yield _sentence(line)


def _as_a_title(title: str) -> str:
    """The phrase that a title was made of: its first letter may have been a small one."""
    small = title[0].lower() + title[1:]
    return small if small in PHRASES else title


def _note(text: str) -> str:
    failed = re.fullmatch(r"(.+), ([\w ]+) (fails|wrong): (.*)", text)
    if failed:
        return f"{failed[1]}，{phrase(failed[2])} {phrase(failed[3])}：{failed[4]}"
    return phrase(text)


_MADE: Final = re.compile(r"Made by (`.*?`): (\d+) rounds of each peer\. (.*)\.")
_QUICK: Final = "**A quick look, on few and short rounds: it shows the form, not the figures.**"


def _sentence(line: str) -> str:
    made = _MADE.fullmatch(line)
    if made:
        return f"由 {made[1]} 得到：每个对象 {made[2]} 轮。环境：{made[3]}。"
    goals = re.fullmatch(r"(\d+) goals: (.*)\.", line)
    if goals:
        counts = [count.split(" ") for count in goals[2].split(", ")]
        said = "，".join(f"{count} 个{phrase(state)}" for count, state in counts)
        return f"{goals[1]} 个目标：{said}。"
    if line == _QUICK:
        return "**这是一次快速查看，轮数少而短：它显示形式，而不是数值。**"
    return phrase(line)
