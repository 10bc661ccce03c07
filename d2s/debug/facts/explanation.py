"""What ``d2s.explain`` and ``d2s.report`` return: the facts, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

from d2s.debug.facts.document import document
from d2s.debug.facts.measuring import Profile
from d2s.debug.facts.model import Facts
from d2s.debug.facts.text import lines_of
from d2s.markup.page import framed


@dataclass(frozen=True, repr=False)
class Explanation(Facts):
    """What ``d2s.explain`` and ``d2s.report`` return.

    ``print`` shows it as text, a notebook as a page; ``html()`` is that page.

    Examples:
        >>> import paddle, d2s
        >>> def f(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> found = d2s.explain(f, paddle.ones([2]))
        >>> found.summary[0]
        '1 program'
        >>> found.html().startswith("<!DOCTYPE html>")
        True
    """

    def profiled(self, profile: Profile) -> Explanation:
        """The same with the share of the time that each line has."""
        functions = tuple(
            replace(
                each,
                lines=tuple(
                    replace(line, share=profile.share(each.file, line.number))
                    for line in each.lines
                ),
            )
            for each in self.functions
        )
        return replace(self, functions=functions, profile=profile)

    def text(self) -> str:
        """The same as text."""
        return "".join(f"{text}\n" for text, _ in lines_of(self))

    def html(self) -> str:
        """The same as a page that needs nothing else."""
        return document(self)

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<d2s.Explanation of {self.name} ({self.place}): {', '.join(self.summary)}>"

    def _repr_html_(self) -> str:
        return framed(self.html())
