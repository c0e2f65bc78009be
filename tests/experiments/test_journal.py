"""A report's folder keeps what is finished, and is never mistaken for another."""

import json

import pytest

import minmin
from minmin.experiments import journal as module
from minmin.experiments.journal import Journal
from minmin.experiments.race import Outcome, Task

TASK = Task("diagonal/500", "bam", 0)
OUTCOME = Outcome([1, 2], [3, 4], [0.1, 0.2])


def test_what_was_added_is_there_again(tmp_path):
    first = Journal(tmp_path / "a" / "b", 2, 1e-3)
    first.ask("quadratic")
    first.add(TASK, OUTCOME)
    second = Journal(tmp_path / "a" / "b", 2, 1e-3)
    assert second.outcomes == {TASK: OUTCOME}
    assert second.experiments == {"quadratic"}


def test_half_a_line_of_a_killed_process_costs_that_line_alone(tmp_path):
    first = Journal(tmp_path, 2, 1e-3)
    first.add(TASK, OUTCOME)
    first.add(TASK._replace(seed=1), OUTCOME)
    data = first.path.read_bytes()
    for cut in range(data.index(b"\n", data.index(b"\n") + 1) + 2, len(data) - 1, 7):
        first.path.write_bytes(data[:cut])
        again = Journal(tmp_path, 2, 1e-3)
        assert again.outcomes == {TASK: OUTCOME}
        again.add(TASK._replace(seed=1), OUTCOME)
        assert len(Journal(tmp_path, 2, 1e-3).outcomes) == 2


@pytest.mark.parametrize("content", ["", "hello\n", '{"a": 1}\n', "[]\n", "3\n"])
def test_a_folder_with_something_else_is_left_alone(tmp_path, content):
    other = tmp_path / "runs.jsonl"
    other.write_text(content)
    with pytest.raises(minmin.InputError, match="--out"):
        Journal(tmp_path, 2, 1e-3)
    assert other.read_text() == content
    other.rename(tmp_path / "thesis.tex")
    with pytest.raises(minmin.InputError, match="contains other files than a report"):
        Journal(tmp_path, 2, 1e-3)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_other_seeds_or_tolerance_want_another_folder(tmp_path):
    Journal(tmp_path, 2, 1e-3)
    for seeds, tol in ((3, 1e-3), (2, 1e-4)):
        with pytest.raises(minmin.InputError, match=r"--seeds 2 --tol 0\.001"):
            Journal(tmp_path, seeds, tol)


def test_other_rows_of_the_federated_runs_want_another_folder(tmp_path):
    rows, others = tmp_path / "a9a", tmp_path / "others"
    rows.write_text("1 1:1\n")
    others.write_text("1 2:1\n")
    given, generated = tmp_path / "given", tmp_path / "generated"
    Journal(given, 2, 1e-3).ask("federated", rows)
    Journal(generated, 2, 1e-3).ask("federated")
    for experiment in ("federated", "quadratic"):
        for file in (None, others):
            with pytest.raises(minmin.InputError, match="took a9a; give that same file by --a9a, or give another"):
                Journal(given, 2, 1e-3).ask(experiment, file)
        with pytest.raises(minmin.InputError, match="took generated rows; leave --a9a out"):
            Journal(generated, 2, 1e-3).ask(experiment, rows)
        Journal(given, 2, 1e-3).ask(experiment, rows)
        Journal(generated, 2, 1e-3).ask(experiment)


def test_numbers_of_other_code_are_not_taken_over(tmp_path, monkeypatch):
    Journal(tmp_path, 2, 1e-3).add(TASK, OUTCOME)
    monkeypatch.setattr(module, "code_digest", lambda: "other")
    assert Journal(tmp_path, 2, 1e-3).outcomes == {}
    assert json.loads((tmp_path / "runs.jsonl").read_text())["code"] == "other"


def test_a_line_that_is_no_entry_ends_what_is_believed(tmp_path):
    first = Journal(tmp_path, 2, 1e-3)
    first.add(TASK, OUTCOME)
    with first.path.open("a") as file:
        file.write("5\n")
    assert Journal(tmp_path, 2, 1e-3).outcomes == {TASK: OUTCOME}


def test_drafts_of_a_killed_process_are_nobodys(tmp_path):
    (tmp_path / ".runs.jsonl.abcd1234.tmp").write_text("half")
    Journal(tmp_path, 2, 1e-3)
    assert [path.name for path in tmp_path.iterdir()] == ["runs.jsonl"]


def test_figures_of_other_code_go(tmp_path, monkeypatch):
    Journal(tmp_path, 2, 1e-3)
    for name in ("figure-1-diagonal.png", "results.json", "notes.txt"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(module, "code_digest", lambda: "other")
    Journal(tmp_path, 2, 1e-3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "runs.jsonl"]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(minmin.InputError, match="cannot create the folder"):
        Journal(tmp_path / "file", 2, 1e-3)
