"""The command ``d2s``: what its console script calls.

It stands outside of the package, because importing d2s imports Paddle, which takes seconds and may
not be installed: most commands need neither.  ``d2s/__init__.py`` asks whether this module has been
imported, and leaves what needs Paddle to the commands that ask for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

sys.modules.setdefault("d2s_command", sys.modules[__name__])  # it runs as ``__main__``, too


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; see ``d2s.cli.main``."""
    from d2s import cli

    return cli.main(args)


if __name__ == "__main__":
    raise SystemExit(main())
