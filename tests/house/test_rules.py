"""Every rule that a docstring cites is on the page, and every rule of the page has a test."""

from __future__ import annotations

import re

from d2s.testing import PROPERTIES
from tests.house.rules import PAGE, citations, cited_in, rules_of

RULES = rules_of(PAGE.read_text("utf-8"))


def test_the_page_has_each_rule_once_and_in_order() -> None:
    """The letters are the parts of the page; a number is never given twice."""
    assert len(RULES) > 40
    assert sorted(set(RULES)) == RULES


def test_every_cited_rule_is_on_the_page() -> None:
    """Else a number is misspelt, or the rule went and its number was left behind."""
    every = [*citations("d2s"), *citations("tests")]
    unknown = [f"{c.file}:{c.line}: {c.rule}" for c in every if c.rule not in RULES]
    assert not unknown, "\n".join(unknown)


def test_every_property_is_about_rules_of_the_page() -> None:
    """What holds for all generated programs is stated by rules, too."""
    cited = {rule for each in PROPERTIES for rule in re.findall(r"[A-Z]\d+b?", each.rules)}
    assert cited
    assert cited <= set(RULES)


def test_every_rule_has_a_test() -> None:
    """A test that begins with the number of the rule; a range of rules does not count."""
    tested = {c.rule for c in citations("tests") if c.test}
    assert [rule for rule in RULES if rule not in tested] == []


def test_how_rules_are_cited() -> None:
    """In every docstring; the subject of a test is what it names by itself, not in a range."""
    docs = {
        "module": "(rules B? to C?)",
        "test_a": "B?, D??: both.",
        "test_b": "A? to F?.",
        "c": "H?.",
    }
    docs = {name: doc.replace("?", "9") for name, doc in docs.items()}
    text = f'"""{docs.pop("module")}"""\n'
    text += "".join(f'def {name}():\n    """{doc}"""\n' for name, doc in docs.items())
    found = list(cited_in(text, "x.py"))
    assert [c.rule.rstrip("9") for c in found] == ["B", "C", "B", "D", "A", "F", "H"]
    assert [c.line for c in found] == [1, 1, 2, 2, 4, 4, 6]
    assert [c.rule for c in found if c.test] == ["B" + "9", "D" + "99"]


def test_the_rules_of_a_page() -> None:
    """Rows of its tables, and nothing else."""
    page = "# A1 is\n\n| rule | what |\n|---|---|\n| A1 | as A2 |\n| G1b | so |\n| see A3 | no |\n"
    assert rules_of(page) == ["A1", "G1b"]
