"""The realistic programs: each has the verdict that ``corpus/realistic/verdicts.json`` records.

The quick part runs a fixed sample, the slow part all programs; each in a process of its own, as
``python -m corpus.realistic`` does it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus.language import LANGUAGES, Language, page_in
from corpus.realistic import verdicts
from corpus.realistic.run import BAD, FOLDER, items
from corpus.realistic.verdicts import FIRST, NOW, PAGE, Verdict
from tests.processes import python

SAMPLE = (
    "adam_from_scratch",
    "adaptive_simpson",
    "bisection_with_bracket",
    "gillespie_sir",
    "hungarian_auction",
    "leapfrog_nbody",
    "matrix_chain_and_scan",
    "paged_kv_cache",
    "queue_simulation",
    "rprop_and_sign_methods",
    "top_p_sampling_from_uniforms",
    "traffic_light_state_machine",
)
"""Programs that are right and fast, of every kind."""

ROOT = Path(__file__).parents[1]
FILES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
KNOWN = verdicts.read(NOW)


def run(names: list[str], folder: Path) -> dict[str, Verdict]:
    """The verdicts of today on these programs."""
    file = folder / "verdicts.json"
    done = python("-m", "corpus.realistic", *names, "--json", str(file))
    assert file.exists(), done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))
    return {row["name"]: Verdict(row["verdict"], row["detail"]) for row in rows}


def test_sample(tmp_path: Path) -> None:
    found = run(list(SAMPLE), tmp_path)
    assert found == dict.fromkeys(SAMPLE, Verdict("right"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_programs(file: str, tmp_path: Path) -> None:
    names = [item.name for item in items() if item.path.stem == file]
    found = run(names, tmp_path)
    problems = [
        f"{name}: {found[name].verdict}, recorded is {KNOWN[name].verdict}: {found[name].detail}"
        for name in names
        if found[name].verdict != KNOWN[name].verdict
    ]
    assert not problems, "\n".join([*problems, "if this is right, record it with --record"])


def test_every_program_has_its_verdicts() -> None:
    names = {item.name for item in items()}
    assert KNOWN.keys() == names, "run `python -m corpus.realistic --record NAME`"
    assert verdicts.read(FIRST).keys() == names, "run `python -m corpus.realistic --record-first`"


SLOW = {"watershed_by_flooding": "refused at first; one program now, right after 238 s"}
"""Programs that hang only by the limit of 120 s, with what they give without one."""


def test_no_program_is_recorded_as_wrong_that_was_right_at_first() -> None:
    first = verdicts.read(FIRST)
    worse = {
        name: KNOWN[name].verdict
        for name in KNOWN
        if KNOWN[name].verdict in BAD and first[name].verdict not in BAD
    }
    assert worse == dict.fromkeys(SLOW, "hang")


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_has_the_counts_of_the_tables(language: Language) -> None:
    text = page_in(language, PAGE).read_text(encoding="utf-8")
    table = verdicts.counts(items(), verdicts.read(FIRST), KNOWN, language)
    assert verdicts.page(text, table) == text, "run `python -m corpus.realistic --render`"
