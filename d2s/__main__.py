"""``python -m d2s``: the command ``d2s``, with the Python that one means."""

from d2s_command import main

raise SystemExit(main())
