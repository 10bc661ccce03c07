"""The page about decoding loops, made from the verdicts that were kept: the first and the last."""

from __future__ import annotations

import collections
import functools
import html
import json
from pathlib import Path
from typing import Any

from corpus.language import Language, Text, table
from corpus.language import write as write_page

FIRST = Path(__file__).with_name("first.json")
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "generation.md"

HEAD = Text(
    """\
# Decoding loops of other people

{total} decoding loops of published packages: models built small, with random weights, and the whole
loop run in dygraph and converted. `python -m corpus.generation` runs them. Five calls are compared,
tokens and scores: two prompts, two batches, two lengths, and a row that may end early.

- *lasts*: one program serves all of them through one `InputSpec`, and gives the same in Paddle
  Inference, saved, in a process without d2s; *lasts, not saved*: only the first half of it;
- *one program*: each call is one program, but there are several, or the sizes are fixed;
- *breaks*: right, but only as several programs with Python between them;
- *refused*, *failed*, *WRONG*, *crash*, *hang*: as they say; *left out*: dygraph itself fails.

Samplers draw so sharply here that what they draw is known; that the distribution is dygraph's is a
test (`tests/semantics/test_generation.py`).

""",
    """\
# 他人的解码循环

已发布的包里的 {total} 个解码循环：模型按小尺寸构建，使用随机权重，整个循环以动态图运行，
再转换后运行。`python -m corpus.generation` 运行它们。比较五次调用的 token 和分数：两种提示、
两种 batch、两种长度，以及可能提前结束的一行。

- *lasts*：一个 Program 通过一个 `InputSpec` 适用于全部调用，保存后在没有 d2s 的进程里
由 Paddle Inference 运行，结果相同；*lasts, not saved*：只有前一半；
- *one program*：每次调用都是一个 Program，但有几个，或者尺寸是固定的；
- *breaks*：正确，但只能作为中间带有 Python 的若干个 Program；
- *refused*、*failed*、*WRONG*、*crash*、*hang*：如字面所说（拒绝、失败、错误、崩溃、
没有回答）；*left out*：动态图本身就失败。

这里的采样分布非常尖锐，因此抽取到的结果是已知的；分布与动态图相同则由测试保证
（`tests/semantics/test_generation.py`）。

""",
)
SERVED = (
    Text("any batch and length", "任意 batch 和长度"),
    Text("any length", "任意长度"),
    Text("one size", "一种尺寸"),
)
NOT_RUN_AGAIN = Text("not run again", "没有再运行")
TITLES = (
    Text("package", "包"),
    Text("loop", "循环"),
    Text("first", "最初"),
    Text("now", "现在"),
    Text("one program serves", "一个 Program 适用于"),
    Text("what stands in the way", "妨碍的原因"),
)


def read(file: Path | None) -> dict[str, Any]:
    """What a file of verdicts holds: package -> loop -> verdict."""
    if file is None or not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def text_of(first: dict[str, Any], now: dict[str, Any], language: Language) -> str:
    """The whole page."""
    rows, counts = [], collections.Counter[str]()
    for of in sorted({*first, *now}):
        firsts, known = first.get(of, {}), now.get(of, {})
        for name in sorted({*firsts, *known}):
            before = firsts.get(name, {})
            unknown = {"verdict": NOT_RUN_AGAIN[language], "detail": _detail(before)}
            answer = known.get(name, unknown)
            if answer["verdict"] == "left out":
                continue
            counts[answer["verdict"]] += 1
            rows.append(
                f"| {of} | {name} | {_verdict(before)} | {_verdict(answer)} "
                f"| {_serves(answer, language)} | {_cell(answer.get('detail', ''))} |"
            )
    parts = [HEAD[language].format(total=len(rows))]
    counted = [f"{number} {kind}" for kind, number in counts.most_common()]
    parts.append(Text(f"{', '.join(counted)}.\n\n", f"{'，'.join(counted)}。\n\n")[language])
    return "".join(parts) + "\n".join([*table(TITLES, language), *rows]) + "\n"


def _verdict(answer: dict[str, Any]) -> str:
    return str(answer.get("verdict", ""))


def _detail(answer: dict[str, Any]) -> str:
    return str(answer.get("detail", ""))


def _serves(answer: dict[str, Any], language: Language) -> str:
    number = answer.get("serves", {}).get("lasts")
    return "" if number is None else SERVED[number][language]


def _cell(text: str) -> str:
    return html.escape(text[:200]).replace("|", "\\|").replace("\n", " ")


def write() -> None:
    """Write the page."""
    write_page(PAGE, functools.partial(text_of, read(FIRST), read(RESULTS)))
