"""A small report, made once by the command itself."""

import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = ["--seeds", "2", "--tol", "1e-2"]


def command(*arguments):
    return [str(Path(sys.executable).with_name("minmin")), *arguments]


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "report"
    subprocess.run(command("reproduce", *SETTINGS, "--out", str(folder), "--quiet"), check=True, timeout=600)
    return folder
