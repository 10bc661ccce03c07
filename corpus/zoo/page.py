"""The page about the zoo, made from the verdicts that were kept."""

from __future__ import annotations

import collections
import functools
import html
import json
import re
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from corpus.language import Language, Text, same, section, table
from corpus.language import write as write_page
from corpus.zoo import speed
from corpus.zoo.model import Package, every_package

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "zoo.md"
NAMES = {
    "d2s": Text("With d2s, as one program", "使用 d2s，作为一个 Program"),
    "islands": Text("With d2s by default", "使用 d2s 的默认方式"),
    "ast": Text(
        "With Paddle's converter, `full_graph=True`", "使用飞桨自带的转换方式，`full_graph=True`"
    ),
    "sot": Text("With Paddle's SOT, `full_graph=False`", "使用飞桨的 SOT，`full_graph=False`"),
}
STAGES = {"eval": Text("the evaluation", "评估"), "gradients": Text("the gradients", "梯度")}
PACKAGE, MODEL = Text("package", "包"), Text("model", "模型")
MODELS = Text("models", "模型数")
KINDS = ("right", "refused", "failed", "WRONG", "crash", "hang")

Verdicts = Mapping[str, Any]

HEAD = Text(
    """\
# Models of other people

{total} models that nobody here wrote, from {packages} and from Paddle itself: built small, with
random weights, run in dygraph and converted, and compared. `make zoo` installs the packages into
`.cache/zoo`, runs the models and writes this page; `python -m corpus.zoo --help` runs some of them,
and `make zooquick`, a part of CI, fifteen that must be right. Measured {dates},
with d2s as it was when each of them was run, by
`python -m corpus.zoo --json corpus/zoo/results.json`, some with `--stage eval` or
`--stage gradients` as the tables say, with Paddle {paddle} and Python {python}, on the CPU, beside
other work; `corpus/zoo/results.json` has the date, stages and times of each.

Compared are three calls in evaluation mode; the results, running statistics and gradients of two
calls in training mode; the loss, parameters and buffers after each of three whole training steps;
and what a saved and loaded program gives. d2s converts a function with the whole step in it, and
Paddle's converters the layer, because they do not take a step. *Right* means that every stage
agrees in structure, dtype, shape and numbers: most bit by bit, the others within 1e-4 of the
largest number of a tensor (gradients, and parameters after a step, 1e-3). Dropout is switched off,
as dygraph and static programs draw different numbers; of models that are random all the same only
structures, dtypes and shapes count.
""",
    """\
# 他人的模型

{total} 个不是由本项目编写的模型，来自 {packages} 和飞桨本身：按小尺寸构建，使用随机权重，
以动态图运行，再转换后运行，并比较两者。`make zoo` 把这些包安装到 `.cache/zoo`，运行这些模型并生成本
页；`python -m corpus.zoo --help` 说明怎样运行其中的一部分；`make zooquick` 是 CI 的一部分，
运行其中必须正确的十五个。测量时间：{dates}，d2s 是运行每个模型时的版本；
命令为 `python -m corpus.zoo --json corpus/zoo/results.json`，如各表所注明，
其中一些使用了 `--stage eval` 或 `--stage gradients`；使用飞桨 {paddle} 和 Python {python}，
在 CPU 上，同时还有其他工作在运行；`corpus/zoo/results.json` 有每个模型的日期、阶段和时间。

比较的内容是：评估模式下的三次调用；训练模式下两次调用的结果、移动统计量和梯度；三个完整训练步中每一
步之后的损失、参数和 buffer；以及保存再加载的 Program 给出的结果。d2s 转换的是包含整个训练步的函数，
飞桨的转换方式不接受训练步，转换的是 Layer。*right*（正确）指每个阶段的结构、数据类型、
形状和数值都一致：大多数逐位相同，其余与张量中最大的数相比误差不超过 1e-4（梯度和训练步之后的参数
为 1e-3）。dropout 已关闭，因为动态图与静态图抽取的随机数不同；对于仍然带有随机性的模型，
只比较结构、数据类型和形状。
""",
)


def text_of(record: Mapping[str, Any], language: Language) -> str:
    """The whole page."""
    packages = [each for each in every_package() if each.name in record["packages"]]
    names = [each.pins[0].replace("==", " ") for each in packages if each.pins]
    found = {each.name: record["packages"][each.name] for each in packages}
    tried = [(of, name) for of, models in found.items() for name, v in models.items() if _ran(v)]
    parts = [
        HEAD[language].format(
            total=len(tried),
            packages=Text(", ", "、")[language].join(names) or "-",
            dates=_dates(found)[language],
            paddle=record["paddle"],
            python=record["python"],
        )
    ]
    waiting = sum(len(each.models()) for each in every_package())
    waiting -= sum(len(models) for models in found.values())
    if waiting > 0:
        more = Text(
            f"{waiting} more are listed (`python -m corpus.zoo --list`) and not yet run.\n",
            f"另有 {waiting} 个已列出（`python -m corpus.zoo --list`），尚未运行。\n",
        )
        parts.append(more[language])
    for converter, title in NAMES.items():
        counts = _table(found, converter, language)
        if counts:
            parts += [f"## {title[language]}\n", counts, _stages(found, converter, language)]
            if converter == "d2s":
                parts.append(_times(language))
    parts.append(_reasons(found, language))
    parts.append(_left_out(found, packages, language))
    return "\n".join(part for part in parts if part)


def _dates(found: Mapping[str, Mapping[str, Any]]) -> Text:
    """When the models were run."""
    dates = sorted(
        {
            verdict["date"]
            for models in found.values()
            for verdicts in models.values()
            for verdict in verdicts.values()
        }
    )
    if len(dates) == 1:
        return Text(f"on {dates[0]}", dates[0])
    return Text(f"from {dates[0]} to {dates[-1]}", f"{dates[0]} 至 {dates[-1]}")


def _ran(verdicts: Mapping[str, Verdicts]) -> bool:
    return any(_kind(each) in KINDS for each in verdicts.values())


def _kind(verdict: Verdicts) -> str:
    text: str = verdict["verdict"]
    return "left out" if text.startswith("left out") else text.split()[0]


def _table(found: Mapping[str, Mapping[str, Any]], converter: str, language: Language) -> str:
    rows, total = [], collections.Counter[str]()
    for of, models in found.items():
        count = collections.Counter[str]()
        for verdicts in models.values():
            verdict = verdicts.get(converter)
            if verdict is None or _kind(verdict) not in KINDS:
                continue
            count["models"] += 1
            count[_kind(verdict)] += 1
            count["exact"] += verdict["verdict"] == "right bit by bit"
        if count["models"]:
            rows.append(_row(of if of != "vision" else "paddle.vision.models", count))
            total += count
    if not rows:
        return ""
    titles = (MODELS, same("right"), Text("of these bit by bit", "其中逐位相同"))
    head = _figures((PACKAGE, *titles, *map(same, KINDS[1:])), language)
    all_ = Text("**all**", "**全部**")[language]
    return "\n".join([*head, *rows, _row(all_, total)]) + "\n"


def _figures(titles: tuple[Text, ...], language: Language) -> list[str]:
    """The head of a table of figures: all columns but the first are aligned to the right."""
    head, line = table(titles, language)
    return [head, line[:5] + line[5:].replace("---|", "---:|")]


def _stages(found: Mapping[str, Mapping[str, Any]], converter: str, language: Language) -> str:
    """Of how many models not all stages were run."""
    count = collections.Counter(
        tuple(verdicts[converter]["stages"])
        for models in found.values()
        for verdicts in models.values()
        if converter in verdicts and _kind(verdicts[converter]) in KINDS
    )
    few = [
        Text(
            f"Of {number} of these models only {' and '.join(STAGES[each].en for each in stages)} "
            f"{'was' if len(stages) == 1 else 'were'} run.",
            f"其中 {number} 个模型只运行了{'和'.join(STAGES[each].zh for each in stages)}。",
        )
        for stages, number in sorted(count.items())
        if stages in (("eval",), ("eval", "gradients"))
    ]
    return Text(" ", "")[language].join(each[language] for each in few) + "\n" if few else ""


def _row(name: str, count: Mapping[str, int]) -> str:
    cells = [count["models"], count["right"], count["exact"], *(count[kind] for kind in KINDS[1:])]
    return f"| {name} | " + " | ".join(str(cell) for cell in cells) + " |"


def _times(language: Language) -> str:
    """What calls take beside dygraph, by package; and which models are slower."""
    record = speed.read(speed.FILE)
    rows = [
        _speeds(of if of != "vision" else "paddle.vision.models", record, [of]) for of in record
    ]
    if not rows:
        return ""
    rows.append(_speeds(Text("**all**", "**全部**")[language], record, list(record)))
    text = Text(
        "What a call takes beside dygraph, with the same arguments each time: in evaluation mode "
        "without gradients, and in training mode with a loss and its `backward()`. *Later* is the "
        "geometric mean of a later call beside dygraph, *slowest* that of the slowest model. Calls "
        "of both took turns, in seconds of the processor, in one thread, beside other work on the "
        "machine (`python -m corpus.zoo.speed --json corpus/zoo/speed.json`, as one program):",
        "一次调用相对动态图的用时，每次使用相同的参数：评估模式（不计算梯度），以及训练模式"
        "（包括损失及其 `backward()`）。“后续”是后续调用与动态图之比的几何平均值，"
        "“最慢”是其中最慢的模型。两者轮流调用，按处理器时间计，单线程，测量时机器上还有其他工作"
        "（`python -m corpus.zoo.speed --json corpus/zoo/speed.json`，作为一个 Program）：",
    )
    titles = (
        PACKAGE,
        MODELS,
        Text("evaluation: dygraph", "评估：动态图"),
        Text("first call", "首次调用"),
        Text("later / dygraph", "后续 ÷ 动态图"),
        Text("slowest", "最慢"),
        Text("training: dygraph", "训练：动态图"),
        Text("first call", "首次调用"),
        Text("later / dygraph", "后续 ÷ 动态图"),
        Text("slowest", "最慢"),
    )
    return "\n".join(
        [text[language], "", *_figures(titles, language), *rows, "", _slower(record)[language], ""]
    )


def _speeds(title: str, record: Mapping[str, Any], packages: list[str]) -> str:
    """A row: medians of dygraph and of the first call, and later calls beside dygraph."""
    cells, most = [], 0
    for mode in speed.MODES:
        found = speed.figures(record, "d2s", mode, packages)
        most = max(most, len(found))
        if not found:
            cells += ["", "", "", ""]
            continue
        dygraph, first = (statistics.median(each[i] for each in found.values()) for i in (0, 1))
        slowest = max(each[4] for each in found.values())
        cells += [f"{dygraph:.1f} ms", f"{first / 1000:.2f} s"]
        cells += [f"{speed.geomean(found):.2f}", f"{slowest:.2f}"]
    return f"| {title} | {most} | " + " | ".join(cells) + " |"


def _slower(record: Mapping[str, Any]) -> Text:
    """Which models of more than a millisecond take longer than in dygraph."""
    listed, count = [], 0
    for mode in speed.MODES:
        found = speed.figures(record, "d2s", mode)
        count += sum(each[0] > 1 for each in found.values())
        listed += [f"{name} ({mode}, {each[4]:.2f})" for name, each in speed.slower(found).items()]
    names = ", ".join(listed)
    return Text(
        f"Of {count} calls that take over a millisecond in dygraph, {len(listed)} take over 1.05 "
        f"times as long converted{': ' + names if names else ''}.",
        f"在动态图中超过一毫秒的 {count} 种调用里，有 {len(listed)} 种转换后的用时超过 1.05 倍"
        f"{'：' + names if names else ''}。",
    )


def _reasons(found: Mapping[str, Mapping[str, Any]], language: Language) -> str:
    """Every model that is not right with d2s."""
    rows = []
    for of, models in found.items():
        for name, verdicts in models.items():
            verdict = verdicts.get("d2s")
            if verdict is not None and _kind(verdict) in KINDS[1:]:
                rows.append(
                    f"| {of} | {name} | {verdict['verdict']} | {_cell(verdict['detail'])} |"
                )
    if not rows:
        return ""
    titles = (
        PACKAGE,
        MODEL,
        Text("verdict", "结论"),
        Text("stage and message", "阶段与消息"),
    )
    title = Text("Not right with d2s", "使用 d2s 时不正确的")
    return section(title, "\n".join([*table(titles, language), *rows]) + "\n", language)


def _left_out(
    found: Mapping[str, Mapping[str, Any]], packages: Iterable[Package], language: Language
) -> str:
    rows = []
    for each in packages:
        for name, reason in each.left_out.items():
            rows.append(f"| {each.name} | {name} | {_cell(reason[language])} |")
        for name, verdicts in found[each.name].items():
            if not _ran(verdicts):
                detail = next(iter(verdicts.values())).get("detail", "")
                rows.append(f"| {each.name} | {name} | {_cell(detail)} |")
    if not rows:
        return ""
    text = Text(
        "What does not run in dygraph, under this Paddle and with these settings, or is too large "
        "for this page:",
        "在动态图里、在这个飞桨版本和这些设置下不能运行的，或者对本页来说太大的：",
    )
    head = table((PACKAGE, MODEL, Text("why", "原因")), language)
    body = "\n".join([text[language], "", *head, *rows]) + "\n"
    return section(Text("Left out", "没有包括的"), body, language)


def _cell(text: str, most: int = 260) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    text = text if len(text) <= most else text[: most - 1] + "…"
    escaped = html.escape(text, quote=False)
    return re.sub(r"([|*_`\[\]\\])", r"\\\1", escaped)


def write() -> None:
    """Write the page."""
    write_page(PAGE, functools.partial(text_of, json.loads(RESULTS.read_text(encoding="utf-8"))))
