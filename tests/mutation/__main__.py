"""``python -m tests.mutation record|run|report``: does the suite notice when d2s is wrong?

``record`` runs the quick suite once under coverage and notes which test runs which line.  ``run``
makes a sample of mutants of ``d2s/passes`` and ``d2s/runtime``, each one small change, and runs,
for each, tests that run the changed line; it goes on where it stopped.  ``report`` tells what
survived.  All of it lies in ``.cache/mutation``.

Exit status: 0 when enough mutants were killed, 1 when not, 2 for a wrong argument, and where the
record is missing or speaks of another text.

Why not mutmut, whose fork server would spare the import of Paddle as well: mutmut 3.8 calls every
function that it can change through a wrapper.  d2s shows users their own frames and leaves out its
own, so the diagnostics fail on the wrapped code with no mutant chosen; importing d2s takes eight
seconds instead of two; each of its 23,800 mutants wants every test of the function, which for an
operator is half of the suite; functions with a decorator and code of modules are left out.
cosmic-ray starts the test command, and with it Paddle, for every mutant; it chooses no tests.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tests.mutation import forks
from tests.mutation.mutants import Mutant, mutants_of, sample
from tests.mutation.recording import Recording, record
from tests.mutation.results import Results, report, score
from tests.mutation.trial import Trials

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("d2s/passes", "d2s/runtime")


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    folder = given.folder.resolve()
    if given.verb == "record":
        return record(folder, ROOT, tuple(given.tests), given.jobs)
    results = Results(folder / "results.json")
    if given.verb == "run":
        if not (folder / "tests.json").exists():
            raise SystemExit(_refusal("nothing is recorded yet: begin with `record`"))
        left = [found.mutant for found in results.of(mutants_to_try(given.only)) if found.open]
        if not given.again:
            chosen = sample(mutants_to_try(), given.sample, given.seed)
            left = _left([mutant for mutant in chosen if _is_wanted(mutant, given.only)], results)
        _run(left, results, Recording(folder, ROOT), given)
    tried = results.of(mutants_to_try(given.only))
    print(report(tried, ROOT))
    return 0 if score(tried) >= given.at_least else 1


def _refusal(text: str) -> int:
    print(text, file=sys.stderr)
    return 2


def _is_wanted(mutant: Mutant, only: list[str] | None) -> bool:
    return not only or mutant.file in only


def _left(chosen: list[Mutant], results: Results) -> list[Mutant]:
    """Those of ``chosen`` that have not been tried."""
    done = {result.mutant.key for result in results.of(chosen)}
    return [mutant for mutant in chosen if mutant.key not in done]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("record", help="note which test runs which line")
    verb.add_argument("tests", nargs="*", help="arguments for pytest: add only these tests")
    verb.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    for name, text in (("run", "try mutants"), ("report", "tell what survived")):
        verb = verbs.add_parser(name, help=text)
        verb.add_argument("--only", nargs="*", metavar="FILE", help="of these files only")
        verb.add_argument("--at-least", type=float, default=90.0, metavar="PERCENT")
    run = verbs.choices["run"]
    run.add_argument("--sample", type=int, default=400, metavar="N", help="how many mutants")
    run.add_argument("--seed", type=int, default=0, help="which ones")
    run.add_argument("--again", action="store_true", help="only what has survived, once more")
    run.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="for a mutant")
    run.add_argument("--until", type=float, metavar="MINUTES", help="stop after so long")
    for verb in verbs.choices.values():
        verb.add_argument("--folder", type=Path, default=ROOT / ".cache" / "mutation")
    return parser


def mutants_to_try(only: list[str] | None = None) -> list[Mutant]:
    """All mutants of the folders, or those of some files."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    mutants = [mutant for path in files for mutant in mutants_of(path, ROOT)]
    return [mutant for mutant in mutants if _is_wanted(mutant, only)]


def _run(
    left: list[Mutant], results: Results, recording: Recording, given: argparse.Namespace
) -> None:
    stale = sorted({mutant.file for mutant in left if not recording.is_current(mutant.file)})
    if stale:
        text = f"edited since `record`, so the lines are others: {', '.join(stale)}"
        raise SystemExit(_refusal(text))
    forks.warm_up()
    trials = Trials(recording, ROOT, given.budget)
    start = time.monotonic()
    for position, mutant in enumerate(left, 1):
        if given.until is not None and time.monotonic() - start > 60 * given.until:
            print(f"stopped with {len(left) - position + 1} to go", file=sys.stderr)
            break
        result = trials.of(mutant)
        results.add(result)
        end = f"killed by {result.by}" if result.killed else f"survived {result.tried} tests"
        print(
            f"{position}/{len(left)} {mutant.file}:{mutant.line} {mutant.kind}: {end}",
            file=sys.stderr,
            flush=True,
        )
    if trials.doubtful:
        print(f"fail without a change: {', '.join(sorted(trials.doubtful))}", file=sys.stderr)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
