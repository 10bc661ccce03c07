"""The page of ``d2s.report``: whole in itself, linked both ways, safe with any text."""

from __future__ import annotations

import html.parser
import re
from collections import defaultdict

import paddle
import pytest

import d2s
from d2s.markup.flow import Flow, picture
from d2s.markup.page import escaped, framed, page, section

HOSTILE = "</script><img src=x onerror=alert(1)> & \"double\" 'single' <!-- ü 漢字 😀 \u202e"


def hostile(x, n):
    text = "</script><img src=x onerror=alert(1)> & \" ' <!-- ü 漢字 😀"
    i = paddle.zeros([], "int64")
    while i < n:
        print("]]></style><script>alert(2)</script>", i)
        i = i + 1
    print(f"<b>{text}</b>", x.sum())
    if x.mean() > 0:
        x = x * len(text)
    return helper(x)


def helper(x):
    return x if x.min() < 0 else -x


def broken(x):
    y = paddle.tanh(x) + 1
    k = sum(y.numpy().tobytes()) % 7
    for _ in range(3):
        y = y * 0.5 + y.mean() - k
    return y.sum()


def broken_too(x):
    k = sum(x.numpy().tobytes()) % 7
    for _ in range(3):
        x = x * 0.5 + x.mean() - k
    return x.sum()


VOID = {"meta", "img", "br", "link", "input", "hr", "rect", "path"}


class Page(html.parser.HTMLParser):
    """A page taken apart.

    Attributes:
        tags: every start tag with its attributes.
        keyed: the elements that have a key, by key: their classes of code around them.
        lines: the text of each line of code, by its column.
        text: all text outside of scripts and styles.
        scripts: the text of scripts.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.keyed: dict[str, list[str]] = defaultdict(list)
        self.lines: dict[str, list[str]] = defaultdict(list)
        self.text = ""
        self.scripts: list[str] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        self._open.append((tag, found.get("class") or ""))
        for key in (found.get("data-k") or "").split():
            self.keyed[key].append(self.column())
        if tag == "code" and "row" in self._around("div"):
            self.lines[self.column()].append("")
        if tag == "script":
            self.scripts.append("")
        if tag in VOID:
            self._open.pop()

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        inside = [tag for tag, _ in self._open]
        if "script" in inside:
            self.scripts[-1] += data
        elif "style" not in inside:
            self.text += data
            if "code" in inside and "row" in self._around("div"):
                self.lines[self.column()][-1] += data

    def _around(self, tag):
        found = [kind for name, kind in self._open if name == tag]
        return found[-1].split() if found else []

    def column(self):
        for tag, kind in reversed(self._open):
            if kind.startswith("code "):
                return kind.removeprefix("code ")
            if tag == "svg":
                return "flow"
        return ""


@pytest.fixture(scope="module")
def made():
    return d2s.report(hostile, paddle.ones([2, 2]), paddle.to_tensor(2))


@pytest.fixture(scope="module")
def found(made):
    return Page(made.html())


def test_it_loads_nothing(made, found):
    text = made.html()
    for tag, attributes in found.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "href", "srcset", "action", "data"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    assert "@import" not in text
    assert "url(" not in text
    assert not re.search(r"https?://", text)
    (policy,) = [
        attributes["content"]
        for _, attributes in found.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_no_text_of_the_user_is_markup(found):
    assert len(found.scripts) == 1
    assert "alert" not in found.scripts[0]
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert "</script><img src=x onerror=alert(1)>" in found.text
    assert "]]></style><script>alert(2)</script>" in found.text
    assert "漢字 😀" in found.text


def test_every_line_is_there_as_it_was_written(made, found):
    own = [line.text for listing in made.functions for line in listing.lines]
    new = [text for each in made.functions for part in each.generated for text in part.lines]
    assert found.lines["own"] == own
    assert found.lines["made"] == new


def test_lines_are_linked_both_ways(made, found):
    linked = {key for key, columns in found.keyed.items() if {"own", "made"} <= set(columns)}
    texts = {
        f"f{number}l{line.number}": line.text
        for number, listing in enumerate(made.functions)
        for line in listing.lines
    }
    for key, columns in found.keyed.items():
        assert columns.count("own") == 1, key
    for text in ("while i < n:", "x = x * len(text)", "return x if x.min() < 0 else -x"):
        (key,) = [key for key, line in texts.items() if line.strip() == text]
        assert key in linked
    flow = {key for key, columns in found.keyed.items() if "flow" in columns}
    assert flow
    assert flow <= texts.keys()


def test_what_the_script_needs_is_there(found):
    (script,) = found.scripts
    assert "[data-k]" in script
    assert "mouseover" in script
    assert "focusin" in script


def test_light_dark_and_narrow(made, found):
    text = made.html()
    assert "prefers-color-scheme: dark" in text
    assert "max-width" in text
    assert ("viewport", "width=device-width, initial-scale=1") in [
        (attributes.get("name"), attributes.get("content")) for _, attributes in found.tags
    ]


def test_it_says_what_became_of_each(found):
    for word in ("while_loop", "cond", "host operator", "agrees with dygraph", "first call"):
        assert word in found.text
    assert "a host operator in a loop" in found.text


def test_several_programs():
    text = Page(d2s.report(broken, paddle.ones([3])).html()).text
    assert "Python, between programs" in text
    assert "D2S208" in text
    assert "a function of its own" in text


def test_in_a_notebook(made):
    shown = Page(made._repr_html_())
    ((tag, attributes),) = shown.tags
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == made.html()


def test_a_converted_function_in_a_notebook():
    static = d2s.to_static(hostile)
    assert repr(static).startswith("<d2s.StaticFunction hostile (")
    assert "0 programs" in repr(static)
    static(paddle.ones([2, 2]), paddle.to_tensor(0))
    line = hostile.__code__.co_firstlineno
    assert f"test_report_page.py:{line}), 1 program>" in repr(static)
    ((_, attributes),) = Page(static._repr_html_()).tags
    inner = Page(attributes["srcdoc"])
    assert "while i < n:" in " ".join(inner.lines["own"])
    assert "first call" in inner.text
    several = d2s.to_static(broken_too, full_graph=False)
    with pytest.warns(d2s.errors.BreakWarning):
        several(paddle.ones([3]))
    several(paddle.ones([3]))
    assert "a function of its own" in several._repr_html_()


def test_a_dump_in_a_notebook(capsys, monkeypatch):
    dump = d2s.dump(hostile)
    assert capsys.readouterr().out == dump.text
    ((_, attributes),) = Page(dump._repr_html_()).tags
    inner = Page(attributes["srcdoc"])
    assert {"own", "made"} <= set(inner.lines)
    assert len(inner.scripts) == 1
    ((_, attributes),) = Page(d2s.dump(hostile, passes=True)._repr_html_()).tags
    assert "=== " in Page(attributes["srcdoc"]).text
    assert "hostile" in repr(dump)
    capsys.readouterr()
    monkeypatch.setitem(__import__("sys").modules, "ipykernel", object())
    monkeypatch.setattr("builtins.get_ipython", lambda: None, raising=False)
    assert d2s.dump(hostile).text == dump.text
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", [HOSTILE, "\x00\x1b[31m\x9f", "\ud800", "", "a\tb"])
def test_any_text_can_be_shown(text):
    shown = escaped(text)
    assert not re.search(r"[<>\"'\x00\x1b\x9f]", shown)
    page(text, section(text, escaped(text), text)).encode("utf-8")
    framed(page(text, "")).encode("utf-8")


def test_a_section_without_contents_is_left_out():
    assert section("Title", "") == ""


def test_the_picture_of_a_flow():
    inner = Flow("operations", 3, (4, 5), ("f0l4",))
    parts = (
        Flow("operations", 1),
        Flow("if", 5, (3,), ("f0l3",), (("true", (inner,)), ("false", ()))),
        Flow("while", 4, (9,), (), (("each trip", (inner,)),)),
        Flow("host", 1, (10,), (), text="<calls>"),
    )
    shown = Page(picture(parts, 'label "<>"'))
    for text in ("cond line 3", "true (3 operations)", "while_loop line 9", "lines 4 to 5"):
        assert text in shown.text
    assert "host line 10: <calls>" in shown.text
    assert shown.keyed["f0l4"] == ["flow", "flow"]
    assert picture((), "nothing").startswith("<svg")
