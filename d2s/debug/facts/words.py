"""Shares, verdicts and times, each in one phrase."""

from __future__ import annotations

from d2s.debug.facts.measuring import Profile, Share, Timing
from d2s.markup.flow import counted
from d2s.selfcheck.report import Report


def seconds_in_words(seconds: float) -> str:
    """A time to read.

    >>> seconds_in_words(2.5), seconds_in_words(0.0025), seconds_in_words(0.0000025)
    ('2.50 s', '2.50 ms', '2.5 µs')
    """
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def share_in_words(share: Share) -> str:
    """What of a call happens inside of programs."""
    operations = share.operations_inside + share.operations_outside
    part = share.seconds_inside / share.seconds if share.seconds else 0.0
    if not operations:
        return "no operations"
    return (
        f"{share.operations_inside} of {counted(operations, 'operation')} that ran, and "
        f"{part:.0%} of the time, inside of programs"
    )


def profile_in_words(profile: Profile) -> str:
    """What was measured for the time of each line."""
    return (
        f"time of a line: its share of {seconds_in_words(profile.seconds)} that the operations of "
        f"the programs take, with what it calls; measured in {counted(profile.calls, 'call')} of "
        "copies with a probe before each operation, without backward"
    )


def check_in_words(check: Report) -> str:
    """The verdict of the self-check."""
    if check.refused is not None:
        return "refused"
    return "agrees with dygraph" if check.ok else "DIFFERS from dygraph"


def timing_in_words(timing: Timing) -> str:
    """How long calls take."""
    return (
        f"first call {seconds_in_words(timing.first_s)}; then "
        f"{seconds_in_words(timing.program_s)}, in dygraph {seconds_in_words(timing.dygraph_s)} "
        f"(medians of {counted(timing.rounds, 'round')} of {counted(timing.calls, 'call')})"
    )


def speed_in_words(timing: Timing) -> str:
    """How fast it is beside dygraph."""
    if timing.speedup >= 1:
        return f"{_rounded(timing.speedup)} times as fast as dygraph"
    return f"takes {_rounded(1 / timing.speedup)} times as long as dygraph"


def _rounded(ratio: float) -> str:
    """A ratio without the digits that were not measured.

    >>> _rounded(1.234), _rounded(30.64)
    ('1.2', '31')
    """
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
