"""A small report, made once by the command itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from minmin.experiments.journal import Journal
from minmin.experiments.race import Outcome
from minmin.experiments.relatives.studies import STUDIES
from minmin.experiments.relatives.trials import trial_tasks
from minmin.experiments.reproduce import reproduce

SETTINGS = ["--seeds", "2", "--tol", "1e-2"]


def command(*arguments):
    return [str(Path(sys.executable).with_name("minmin")), *arguments]


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "report"
    subprocess.run(command("reproduce", *SETTINGS, "--out", str(folder), "--quiet"), check=True, timeout=600)
    return folder


def made_up_calls(study, point, contender):
    """Calls that grow like the root of what varies."""
    return {kind: round(10 * point.varied**0.5) + i for i, kind in enumerate(study.kinds)}


def make_up_outcomes(calls, seeds=1):
    """Outcomes of all trials, as calls(study, point, contender) says."""
    at = {
        (study.key_of(point), contender.key): (study, point, contender)
        for study in STUDIES
        for point in study.points
        for contender in study.contenders
    }
    return {task: Outcome(calls=calls(*at[task.setting, task.method])) for task in trial_tasks(seeds)}


@pytest.fixture(scope="session")
def relatives(tmp_path_factory):
    """A report on relatives of BAM, all of whose runs but one were in the journal already."""
    folder = tmp_path_factory.mktemp("relatives") / "report"
    journal = Journal(folder, 1, 0.1)
    for task, outcome in make_up_outcomes(made_up_calls).items():
        if task != ("alternating/10", "alternating", 0):
            journal.add(task, outcome)
    reproduce("relatives", folder, seeds=1, tol=0.1)
    return folder
