"""The packages whose own tests are run, and the tests that may differ, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Suite:
    """A package and its tests.

    Attributes:
        name: what the command line calls it.
        modules: modules whose functions are converted; submodules belong to them.
        tests: modules for ``unittest``; files and folders for pytest, where there is an archive.
        archive: the pinned source distribution, ``name==version``; empty for the standard library.
        sha256: of the archive.
        source: the folder in the archive that is put on the path.
        options: for pytest.
        quick: whether the quick suite runs it.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    archive: str = ""
    sha256: str = ""
    source: str = "."
    options: tuple[str, ...] = ()
    quick: bool = False


def _library(modules: str, tests: str = "", *, quick: bool = False) -> Suite:
    """A part of the standard library, tested by modules of the interpreter's ``test`` package."""
    names = tuple(modules.split())
    files = tests.split() or [f"test_{name}" for name in names]
    return Suite(names[0], names, tuple(f"test.{file}" for file in files), quick=quick)


SUITES: Final = (
    _library("argparse"),
    _library("bisect", quick=True),
    _library("calendar"),
    _library("collections"),
    _library("colorsys"),
    _library("configparser"),
    _library("copy"),
    _library("csv"),
    _library("dataclasses"),
    _library("difflib"),
    _library("enum"),
    _library("fnmatch"),
    _library("fractions"),
    _library("functools"),
    _library("gettext"),
    _library("glob"),
    _library("graphlib"),
    _library("heapq"),
    _library("html html.parser", "test_html test_htmlparser"),
    _library("ipaddress"),
    _library("json", "test_json"),
    _library("optparse"),
    _library("posixpath genericpath"),
    _library("pprint"),
    _library("random"),
    _library("reprlib"),
    _library("shlex"),
    _library("statistics"),
    _library("string"),
    _library("textwrap", quick=True),
    _library("tomllib"),
    _library("typing"),
    _library("urllib.parse", "test_urlparse"),
    Suite(
        "toolz",
        ("toolz", "tlz"),
        ("toolz/tests",),
        "toolz==1.0.0",
        "2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02",
    ),
    Suite(
        "more-itertools",
        ("more_itertools",),
        ("tests",),
        "more-itertools==10.5.0",
        "5482bfef7849c25dc3c6dd53a6173ae4795da2a41a80faea6700d9f5846c5da6",
    ),
    Suite(
        "boltons",
        ("boltons",),
        ("tests",),
        "boltons==24.0.0",
        "7153feccaea1ff2e1472f68d4b57fadb796a2ee49d29f638f1c9cd8fb5ebd916",
        options=("--noconftest",),  # written for an older pytest; it only leaves out Python 2
    ),
    Suite(
        "attrs",
        ("attr", "attrs"),
        ("tests",),
        "attrs==24.2.0",
        "5cfb1b9148b5b086569baec03f20d7b6bf3bcacc9a42bebf87ffaaca362f6346",
        "src",
    ),
    Suite(
        "jinja2",
        ("jinja2",),
        ("tests",),
        "jinja2==3.1.4",
        "4a3aee7acbbe7303aede8e9648d13b8bf88a429282aa6122a993f0ac800cb369",
        "src",
    ),
    Suite(
        "markdown",
        ("markdown",),
        ("tests",),
        "markdown==3.7",
        "2ae2471477cfd02dbbf038d5d9bc226d40def84b4fe2986e49b59b6b472bbed2",
        options=("-W", "ignore"),  # a helper class of the tests looks like a test to a newer pytest
    ),
    Suite(
        "packaging",
        ("packaging",),
        # The others import a package that is not installed here, or are thousands of near copies.
        tuple(
            f"tests/test_{name}.py"
            for name in ("elffile", "markers", "metadata", "structures", "utils")
        ),
        "packaging==24.1",
        "026ed72c8ed3fcce5bf8950572258698927fd1dbda10a5e981cdf0ac37f4f002",
        "src",
    ),
    Suite(
        "pyparsing",
        ("pyparsing",),
        ("tests/test_simple_unit.py", "tests/test_unit.py"),
        "pyparsing==3.1.4",
        "f86ec8d1a83f11977c9a6ea7598e8c27fc5cddfa5b07ea2241edbbde1d7bc032",
        # The other classes run the same tests again with a cache.
        options=("-k", "test_simple_unit or Test02"),
    ),
)


def _because(reason: str, prefix: str, names: str) -> dict[str, str]:
    """The tests ``names`` below ``prefix``, all of them for one reason."""
    return {f"{prefix}.{name}": reason for name in names.split()}


_FRAMES = "counts the frames of its callers; a converted branch or loop puts its own between them"
_TRACE = "reads local variables out of the frames of a traceback, or the line of the caller's frame"
_DEPTH = "goes to the recursion limit; a converted branch or loop takes frames of its own"
_VERSION = "replaces sys.version_info by a tuple, which the conversion on demand needs"
_LEN = "replaces builtins.len, which d2s itself uses, by a converted function"

EXCLUDED: Final[dict[str, str]] = {
    **_because(
        _VERSION,
        "tests/test_markers",
        "py::TestDefaultEnvironment::test_multidigit_minor_version",
    ),
    **_because(_FRAMES, "test.test_enum.TestSpecial", "test_pickle_enum_function"),
    **_because(
        _FRAMES,
        "test.test_typing.ProtocolTests",
        """
        test_isinstance_checks_not_at_whim_of_gc
        test_none_treated_correctly
        test_protocol_decorated_with_final_mixed_members
        test_protocol_decorated_with_final_noncallable_members
        test_protocols_isinstance_monkeypatching
        test_protocols_isinstance_not_fooled_by_custom_dir
        test_protocols_isinstance_properties_and_descriptors
        test_protocols_isinstance_py36
        test_protocols_issubclass_non_callable
        test_protocols_support_register
        """,
    ),
    **_because(
        _TRACE,
        "tests/test_unit",
        """
        py::Test02_WithoutPackrat::testExceptionExplainVariations
        py::Test02_WithoutPackrat::testMiscellaneousExceptionBits
        py::Test02_WithoutPackrat::testWarnUsingLshiftForward
        """,
    ),
    **_because(
        _FRAMES,  # gettext itself asks frame by frame whether it is one of its own
        "test.test_gettext.GNUTranslationsPluralFormsTestCase",
        "test_plural_context_forms test_plural_forms test_plural_wrong_context_forms",
    ),
    **_because(_LEN, "test.test_functools.TestLRUPy", "test_lru_reentrancy_with_len"),
    **_because(
        _DEPTH,
        "test.test_tomllib.test_misc.TestMiscellaneous",
        "test_inline_array_recursion_limit test_inline_table_recursion_limit",
    ),
    **_because(
        _DEPTH,
        "tests/test_syntax/blocks/test_blockquotes",
        "py::TestBlockquoteBlocks::test_nesting_limit",
    ),
}
"""Tests of what is Python's own and differs by nature: test id -> reason."""

DEFECTS: Final[dict[str, str]] = {}
"""Tests that fail because of a known defect of d2s: test id -> the defect.

An entry whose test passes again fails the run, as a strict ``xfail`` does.
"""
