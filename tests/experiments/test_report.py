"""The files of a report: whole, consistent, the same again, and never at the cost of what is there."""

import csv
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from minmin.cli.app import run as run_command
from minmin.experiments.contestants import CENTRAL, FEDERATED
from minmin.experiments.figures import draw_figures
from minmin.experiments.race import levels
from minmin.experiments.runner import tasks
from minmin.experiments.settings import PAPERS

from .conftest import SETTINGS, command

pytestmark = pytest.mark.slow
PART = "scaling"


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """A report on one experiment alone."""
    folder = tmp_path_factory.mktemp("part") / "report"
    subprocess.run(command("reproduce", PART, *SETTINGS, "--out", str(folder), "--quiet"), check=True, timeout=300)
    return folder


def results(folder):
    return json.loads((folder / "results.json").read_text())


def test_every_file_is_there(report):
    names = {path.name for path in report.iterdir()}
    drawn = [f"figure-1-{group}" for group in ("diagonal", "coupled")]
    drawn += [f"figure-2-{group}" for group in ("paper", "tight")] + ["figure-3-seconds", "figure-4-scaling"]
    pictures = {f"{name}.{kind}" for name in drawn for kind in ("png", "pdf")}
    assert names == pictures | {"index.html", "results.json", "results.csv", "times.json", "runs.jsonl"}
    for name in pictures:
        content = (report / name).read_bytes()
        assert content.startswith(b"\x89PNG" if name.endswith("png") else b"%PDF")
        assert len(content) > 5000


def test_results_hold_every_run_to_the_last_level(report):
    content = results(report)
    assert not any("relatives" in name for name in content)
    expected = [(task.setting, task.method, task.seed) for task in tasks(PAPERS, 2)]
    assert [(run["setting"], run["method"], run["seed"]) for run in content["runs"]] == expected
    assert content["levels"] == levels(1e-2)
    for run in content["runs"]:
        assert len(run["grad_x"]) == len(run["grad_y"]) == len(content["levels"])


def test_the_table_is_the_median_of_the_runs(report):
    content = results(report)
    for entry in content["table"]:
        index = content["levels"].index(entry["level"])
        for kind in ("grad_x", "grad_y"):
            calls = [
                run[kind][index]
                for run in content["runs"]
                if (run["setting"], run["method"]) == (entry["setting"], entry["method"])
            ]
            assert entry[kind][1] == np.median(calls)
    assert {entry["method"] for entry in content["table"]} == set(CENTRAL)


def test_csv_says_the_same(report):
    with (report / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    flat = [
        (run["setting"], run["method"], run["seed"], level, x, y)
        for run in results(report)["runs"]
        for level, x, y in zip(levels(1e-2), run["grad_x"], run["grad_y"], strict=True)
    ]
    read = [
        (r["setting"], r["method"], int(r["seed"]), float(r["level"]), int(r["grad_x"]), int(r["grad_y"])) for r in rows
    ]
    assert read == flat


def test_times_are_apart_and_say_where(report):
    assert "seconds" not in (report / "results.json").read_text()
    times = json.loads((report / "times.json").read_text())
    assert {"processor", "python", "numpy", "scipy", "minmin"} <= set(times["machine"])
    assert [run["seconds"] == sorted(run["seconds"]) for run in times["runs"]]


def test_smoothness_is_shown_and_the_command_beside_each_part(report):
    page = (report / "index.html").read_text()
    assert "= 1.567, as in the paper" in page
    for experiment in (*PAPERS, "all"):
        assert f"minmin reproduce {experiment} --seeds 2 --tol 1e-2 --out report" in page


def test_the_page_is_small_and_leads_to_the_paper_and_the_documentation(report):
    page = (report / "index.html").read_text()
    assert len(page.encode()) < 3_000_000
    assert 'href="https://arxiv.org/abs/2212.14439"' in page
    (documentation,) = re.findall('href="([^"]*)">minmin\'s documentation', page)
    assert (report / documentation).is_file()


def test_a_part_made_alone_has_the_same_numbers(report, part):
    whole, alone = results(report), results(part)
    settings = set(alone["settings"])
    assert settings == {key for key in whole["settings"] if key.startswith(("kappa_x", "kappa_y"))}
    assert alone["runs"] == [run for run in whole["runs"] if run["setting"] in settings]
    assert alone["table"] == [entry for entry in whole["table"] if entry["setting"] in settings]


def started(folder, runs, experiment="all"):
    """The command under way, with so many runs finished, in a process group of its own."""
    arguments = command("reproduce", experiment, *SETTINGS, "--out", str(folder))
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True)
    journal = folder / "runs.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") > runs):
        time.sleep(0.05)
    return process, arguments, journal


def wait_for_end_of_group(group):
    """Until no process of a group is alive."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    raise AssertionError("a worker outlived the command")


def test_impatient_interrupts_end_it_all_the_same(tmp_path):
    process, _, _ = started(tmp_path / "report", 10)
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.1)
    process.communicate(timeout=60)
    assert process.returncode != 0
    wait_for_end_of_group(process.pid)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_workers_do_not_outlive_a_command_that_is_ended_from_outside(tmp_path, end):
    process, _, _ = started(tmp_path / "report", 10)
    process.send_signal(end)
    process.communicate(timeout=60)
    wait_for_end_of_group(process.pid)


def test_interrupted_it_goes_on_to_the_very_same_bytes(part, tmp_path):
    folder = tmp_path / "report"
    process, arguments, journal = started(folder, 10, PART)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does on Ctrl-C
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command resumes from them" in errors
    assert "Traceback" not in errors
    finished = journal.read_bytes().count(b"\n")
    assert 10 < finished < len(tasks((PART,), 2))
    assert not (folder / "results.json").exists()
    again = subprocess.run(arguments, stderr=subprocess.PIPE, text=True, check=True, timeout=300)
    assert int(again.stderr.split(" of ")[0]) >= finished - 5  # its first line says where it resumes
    for name in ("results.json", "results.csv"):
        assert (folder / name).read_bytes() == (part / name).read_bytes()


def reproduce_federated(folder, monkeypatch):
    """With our methods and one other; the rest, which test_race.py runs, take most of the time."""
    methods = tuple(key for key in FEDERATED if key.startswith("federated") or key == "fedavg-2")
    monkeypatch.setattr("minmin.experiments.settings.FEDERATED", methods)
    return reproduce_here("federated", folder)


def reproduce_here(experiment, folder):
    arguments = ["reproduce", experiment, "--seeds", "1", "--tol", "0.1", "--out", str(folder), "--quiet"]
    assert run_command(arguments) == 0
    return results(folder)


def test_federated_methods_in_rounds_and_bytes_and_experiments_gather_in_one_folder(tmp_path, monkeypatch):
    content = reproduce_federated(tmp_path / "r", monkeypatch)
    assert content["experiments"] == ["federated"]
    assert set(content["settings"]) == {"clients/20", "clients/100", "squares/8"}
    assert (tmp_path / "r" / "figure-5-federated.png").stat().st_size > 5000
    ends = {
        (run["setting"], run["method"]): (run["grad_x"][-1], run["kilobytes"][-1])
        for run in content["runs"]
        if len(run["grad_x"]) == len(content["levels"])
    }
    for setting in content["settings"]:
        rounds, kilobytes = ends[setting, "federated-lbfgs"]
        assert rounds <= 10
        clients, size = int(setting.split("/")[1]), 8 * 100
        assert 2 * clients * size * rounds <= 1000 * kilobytes <= 2 * clients * (size + 1000) * (rounds + 2)
    both = reproduce_here("scaling", tmp_path / "r")
    assert both["experiments"] == ["federated", "scaling"]
    assert [run for run in both["runs"] if run["setting"] in content["settings"]] == content["runs"]


def test_no_panel_is_empty_and_every_entry_of_a_legend_has_a_curve(report):
    from minmin.experiments.journal import Journal
    from minmin.experiments.settings import select_settings
    from minmin.experiments.summary import summarise

    journal = Journal(report, 2, 1e-2)
    summary = summarise(select_settings(PAPERS), journal.outcomes, tasks(PAPERS, 2), 1e-2)
    figures = draw_figures(summary)
    for figure in figures.values():
        for axis in figure.axes:
            assert len(axis.get_lines()) >= 7
            assert axis.get_xlabel() or axis.get_ylabel() or axis.get_title()
        curves = {}
        for line in (line for axis in figure.axes for line in axis.get_lines()):
            curves.setdefault(line.get_label(), []).append(line.get_xydata().tolist())
        assert [text.get_text() for text in figure.legends[0].get_texts()] == list(curves)
        assert all(curves[one] != curves[other] for one in curves for other in curves if one != other)
    (entries,) = ([text.get_text() for text in legend.get_texts()] for legend in figures["figure-1-coupled"].legends)
    assert "NAG, also rescaled" in entries
