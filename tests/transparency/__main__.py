"""``python -m tests.transparency [PACKAGE ...] [--json]``: real packages, converted, under test.

Exit status: 0 when nothing fails that passes unconverted, 1 when something does, 2 for a name that
is none, 3 when a suite gave no result (no network, say) and nothing else is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from tests.transparency.catalogue import SUITES
from tests.transparency.runner import Report, check_all, table


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transparency")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="all, unless named")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    parser.add_argument("--list", action="store_true", help="print the names of the packages")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), metavar="N")
    given = parser.parse_args(arguments)
    known = {suite.name: suite for suite in SUITES}
    if given.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in given.packages if name not in known]
    if unknown:
        parser.error(f"no package {unknown[0]!r}; --list prints the names")

    def progress(report: Report) -> None:
        state = f"{report.tests} tests, {len(report.failures)} new failures, {report.seconds} s"
        text = report.error.splitlines()[0] if report.error else state
        print(f"{report.name}: {text}", file=sys.stderr, flush=True)

    suites = [known[name] for name in given.packages] or list(SUITES)
    reports = check_all(suites, given.jobs, progress)
    if given.json:
        print(json.dumps([report.as_dict() for report in reports], indent=2))
    else:
        print(table(reports))
    if any(report.failures or report.stale for report in reports):
        return 1
    return 3 if any(report.error for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
