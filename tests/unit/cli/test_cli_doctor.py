"""``d2s doctor``: a report whatever is broken, what works here, and what is known not to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from d2s.debug import doctor, probes
from d2s.debug.doctor import Examination, Probed

ROOT = Path(__file__).resolve().parents[3]
ABOUT = (
    '{"paddle": "3.3.1", "tried": ["3.3.1"], "d2s": "0.1.0", "device": "cpu", "dtype": "float32"}'
)


def run(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from d2s_command import main; main()", "doctor", *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )


def test_everything_works_here(tmp_path: Path) -> None:
    """Each probe, and versions to paste."""
    done = run(tmp_path, "--json", D2S_LOG="1", D2S_CACHE_DIR="kept")
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["probes"]] == list(probes.PROBES)
    assert [one for one in found["probes"] if not one["works"]] == []
    assert done.returncode == (1 if found["conflicts"] else 0)
    assert found["versions"]["numpy"]
    assert found["cache"]["folder"] == "kept"
    assert (tmp_path / "kept").is_dir()
    assert found["settings"]["option log"] == "1"
    assert found["settings"]["D2S_LOG"] == "1"


def test_without_paddle_there_is_a_report(tmp_path: Path) -> None:
    (tmp_path / "packages" / "paddle").mkdir(parents=True)
    (tmp_path / "packages" / "paddle" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'paddle'\", name='paddle')\n"
    )
    path = os.pathsep.join([str(ROOT), str(tmp_path / "packages")])
    (tmp_path / "file").touch()
    done = run(tmp_path, "-o", "report.txt", PYTHONPATH=path, D2S_CACHE_DIR="file")
    text = (tmp_path / "report.txt").read_text()
    assert done.returncode == 1
    assert "FAILS  import of Paddle and d2s" in text
    assert "conflict: Paddle cannot be imported" in text
    assert "cache              file, 0 entries" in text
    assert "conflict: the cache file keeps nothing: File exists; name a folder" in text
    assert "Python" in text


def test_a_crash_is_the_fault_of_the_probe_that_was_going_on() -> None:
    said = "\n".join([
        "W0101 noise of Paddle's",
        ABOUT,
        '{"begin": "one"}',
        '{"end": "one", "detail": "", "seconds": 0.1}',
        '{"begin": "two"}',
    ])  # fmt: skip
    about, found = doctor._understood(
        said, "Segmentation fault", "the process ended with signal 11"
    )
    assert about["paddle"] == "3.3.1"
    assert [(one.name, one.works) for one in found] == [("one", True), ("two", False)]
    assert "signal 11" in found[1].detail
    assert "Segmentation" in found[1].detail


def test_no_answer_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(f"import time\nprint('{ABOUT}', flush=True)\n"
                    "print('{\"begin\": \"one\"}', flush=True)\ntime.sleep(60)\n")  # fmt: skip
    monkeypatch.setattr(doctor.probes, "__file__", str(slow))
    found = doctor.examine(3)
    assert [(one.name, one.works) for one in found.probes] == [("one", False)]
    assert "no answer in 3 seconds" in found.probes[0].detail
    assert not found.healthy


@pytest.mark.parametrize(
    ("versions", "environment", "words"),
    [
        ({"gast": "0.6.0"}, {}, "gast 0.6.0 is installed"),
        ({"astor": "0.9"}, {}, "d2s needs astor 0.8"),
        ({"paddlepaddle": "3", "paddlepaddle-gpu": "3"}, {}, "both installed"),
        ({}, {"PYTHONOPTIMIZE": "1"}, "asserts"),
        ({}, {"FLAGS_enable_pir_api": "0"}, "PIR"),
    ],
)
def test_conflicts(versions: dict[str, str], environment: dict[str, str], words: str) -> None:
    good = {"gast": "0.7.0", "beniget": "0.5.0", "astor": "0.8.1"}
    assert list(doctor._conflicts(good, {})) == []
    (said,) = doctor._conflicts({**good, **versions}, environment)
    assert words in said


def test_a_file_that_hides_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paddle.py").write_text("")
    monkeypatch.chdir(tmp_path)
    good = {"gast": "0.7.0", "beniget": "0.5.0", "astor": "0.8.1"}
    assert "paddle.py in this folder hides" in next(iter(doctor._conflicts(good, {})))


def test_another_version_of_paddle() -> None:
    about = {**json.loads(ABOUT), "paddle": "3.9.0"}
    assert "3.9.0 was not tried" in next(iter(doctor._with_paddle(about)))


def test_the_text_says_what_fails() -> None:
    probed = (Probed("a loop", False, "no\nway"),)
    cache = {"folder": None, "entries": 0, "bytes": 0}
    found = Examination({"d2s": "0.1.0"}, {}, {}, cache, probed, ("x",))
    text = found.text()
    assert "FAILS  a loop" in text
    assert "settings: defaults" in text
    assert text.endswith("0 of 1 probes work, 1 conflict\n")
    assert not found.healthy


def test_a_probe_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """It compares with dygraph, so a wrong program is noticed."""
    import d2s

    wrong = d2s.Report("f", differences=(d2s.selfcheck.report.Difference("result", "r", "1", "2"),))
    monkeypatch.setattr(d2s, "check", lambda *given: wrong)
    with pytest.raises(AssertionError):
        probes.branch()
