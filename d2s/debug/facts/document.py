"""The facts about a function as a page."""

from __future__ import annotations

from d2s.debug.facts.model import Facts, ProgramFacts
from d2s.debug.facts.words import (
    check_in_words,
    profile_in_words,
    share_in_words,
    timing_in_words,
)
from d2s.markup.code import hint_html, keys_of, legend, listing_html
from d2s.markup.flow import picture
from d2s.markup.listing import Hint
from d2s.markup.page import escaped, page, section


def document(found: Facts) -> str:
    """The whole page."""
    chips = "".join(f'<li class="{_tone(each)}">{escaped(each)}</li>' for each in found.summary)
    head = (
        f'<header>\n<h1>{escaped(found.name)}</h1>\n<small title="{escaped(found.file)}">'
        f'{escaped(found.place)}</small>\n<ul class="chips">{chips}</ul>\n</header>\n'
    )
    body = (
        section("Warnings", _hints(found), "warnings")
        + section("Code", _code(found), "code")
        + section("Programs", "".join(map(_program, found.programs)), "programs")
        + section("Self-check", _check(found), "check")
        + section("Time", _times(found), "time")
    )
    return page(f"{found.name} - d2s", f"{head}<main>\n{body}</main>")


def _code(found: Facts) -> str:
    keys = keys_of(found.functions)
    return legend(found.functions) + "\n".join(listing_html(each, keys) for each in found.functions)


def _tone(text: str) -> str:
    """The colour of one part of the summary."""
    if text.startswith("agrees"):
        return "good"
    return "bad" if text.startswith(("DIFFERS", "refused", "raises")) else ""


def _hints(found: Facts) -> str:
    return "".join(f'<div class="card">{_placed(hint, found.file)}</div>' for hint in found.hints)


def _placed(hint: Hint, file: str) -> str:
    where = "" if hint.line is None else f"line {hint.line}: "
    if hint.file not in (None, file):
        where = f"{hint.file}:{hint.line}: "
    return f"<b>{escaped(where)}</b>{hint_html(hint)}"


def _program(program: ProgramFacts) -> str:
    guards = ", ".join(program.guards)
    more = program.guarded - len(program.guards)
    relies = ""
    if program.guarded:
        rest = f" and {more} more" if more else ""
        relies = f"<tr><th>relies on</th><td>{escaped(guards)}{rest}</td></tr>"
    shown = picture(program.flow, f"control flow of program {program.number}")
    return (
        f'<div class="card"><b>{program.number}. {escaped(program.title)}</b>'
        f"<table><tr><th>captured</th><td>{escaped(program.reason)}</td></tr>{relies}</table>"
        f"<details{' open' if program.number == 1 else ''}><summary>control flow</summary>{shown}"
        "</details></div>\n"
    )


def _check(found: Facts) -> str:
    if found.check is None:
        return ""
    tone = "good" if found.check.ok else "bad"
    return (
        f'<div class="card"><b class="{tone}">{escaped(check_in_words(found.check))}</b>'
        f"<pre>{escaped(found.check)}</pre></div>"
    )


def _times(found: Facts) -> str:
    said = []
    if found.timing is not None:
        said.append(timing_in_words(found.timing))
    if found.share is not None:
        said.append(share_in_words(found.share))
    if found.profile is not None:
        said.append(profile_in_words(found.profile))
    return "".join(f'<div class="card">{escaped(each)}</div>' for each in said)
