"""The command minmin as a user meets it: its words, its exit codes, and what it leaves behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import minmin
from minmin.cli import federated as of_federations
from minmin.cli import reproduce
from minmin.cli.options import LOSSES
from minmin.experiments import settings
from minmin.federated import engines
from minmin.problems.linear import losses

A1A_COLUMNS = 119


def test_solve_is_what_minimize_gives(call, svm):
    code, out, _ = call("solve", svm, "--x-columns", "1-100", "--alpha-x", 0.01, "--alpha-y", 1e-4, "--json")
    said = json.loads(out)
    X, labels = minmin.datasets.load_a1a()
    expected = minmin.minimize(minmin.problems.GLM(X[:, :100], X[:, 100:], labels, alpha_x=0.01, alpha_y=1e-4))
    assert code == 0
    assert said["fun"] == pytest.approx(expected.fun, abs=1e-6)
    assert said["gap_bound"] <= 1e-6
    assert said["certified"] is True
    assert (said["rows"], said["x_columns"], said["y_columns"]) == (1605, 100, 19)


def test_solve_says_what_it_did_and_keeps_it(call, svm, tmp_path):
    saved = tmp_path / "model.npz"
    code, out, err = call("solve", svm, "--y-columns", "101-", "--save", saved)
    assert code == 0
    assert "1605 rows; x: 100 columns (1, 2, …, 100); y: 19 columns (101, 102, …, 119)" in out
    assert f"alpha_x = {1 / 1605:.3g}" in out
    assert "converged" in out
    assert "certified" in out
    assert f"saved to {saved}" in out
    assert "\x1b" not in out + err
    with np.load(saved) as archive:
        assert archive["x"].shape == (100,)
        assert archive["y_columns"].tolist() == [str(i) for i in range(101, A1A_COLUMNS + 1)]
        assert json.loads(str(archive["outcome"]))["status"] == "converged"
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet"])
def test_tables_of_every_kind_give_the_same(call, table, tmp_path, suffix):
    path = tmp_path / f"clicks.{suffix}"
    if suffix == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if suffix == "tsv" else ",")
        with pyarrow.output_stream(str(path), compression="detect") as stream:
            pyarrow.csv.write_csv(table, stream, options)
    code, out, _ = call("solve", path, "--target", "clicked", "--y-columns", "age,pri*", "--json")
    said = json.loads(out)
    names = [name for name in table.column_names if name.startswith("word")]
    X = np.column_stack([table[name].to_numpy() for name in names])
    Y = np.column_stack([table["age"].to_numpy(), table["price"].to_numpy()])
    model = minmin.problems.GLM(X, Y, table["clicked"].to_numpy().astype(float), alpha_x=1 / 200, alpha_y=1 / 200)
    assert code == 0
    assert said["fun"] == pytest.approx(minmin.minimize(model).fun, abs=2e-6)


def test_columns_that_nobody_chose_are_split_by_density(call, svm):
    code, out, _ = call("check", svm, "--json")
    said = json.loads(out)
    assert code == 0
    assert said["ok"]
    X, _ = minmin.datasets.load_a1a()
    entries = np.sort(X.count_nonzero(axis=0))[::-1]
    assert said["y_columns"] >= 1
    assert entries[: said["y_columns"]].sum() <= max(0.1 * X.nnz, entries[0])


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_other_losses(call, csv, loss):
    code, out, _ = call("solve", csv, "--target", "clicked", "--y-columns", "age", "--loss", loss, "--json")
    assert code == 0
    assert json.loads(out)["loss"] == loss


def test_columns_that_are_left_out_may_hold_anything(call, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("t,city,a,b\n1,Omsk,9007199254740993,2\n0,Perm,1,1\n")
    code, out, _ = call("solve", path, "--target", "t", "--x-columns", "a", "--y-columns", "b", "--json")
    assert code == 0
    assert json.loads(out)["x_columns"] == 1


@pytest.mark.parametrize("split", ["sorted", "label", "random"])
def test_federated_simulation(call, svm, split):
    arguments = ["federated", "simulate", svm, "--clients", 5, "--x-columns", "1-100", "--split", split]
    alphas = ["--alpha-x", 0.01, "--alpha-y", 1e-3]
    code, out, _ = call(*arguments, *alphas, "--json")
    said = json.loads(out)
    assert code == 0
    assert said["certified"]
    assert said["clients"] == 5
    assert said["bytes_up"] > 8 * 100 * 5 * said["calls"]["grad_x"]
    code, out, _ = call(*arguments, *alphas)
    assert f"{said['calls']['grad_x']} rounds" in out


def test_held_out_losses_by_client(call, svm):
    arguments = ["federated", "simulate", svm, "--clients", 3, "--x-columns", "1-100", "--held-out", 0.25]
    code, out, _ = call(*arguments, "--alpha-x", 0.01, "--alpha-y", 1e-3, "--json")
    losses = json.loads(out)["held_out_loss"]
    assert code == 0
    assert len(losses) == 3
    assert all(0.2 < loss < 0.8 for loss in losses)  # better than a coin's, or little worse, and not the training loss
    code, out, _ = call(*arguments, "--alpha-x", 0.01, "--alpha-y", 1e-3)
    assert f"held_out_loss per client: {losses[0]:.4g}" in out


def test_held_out_rows_that_are_too_few(call, svm):
    code, _, err = call("federated", "simulate", svm, "--clients", 1000, "--x-columns", "1-100", "--held-out", 0.1)
    assert code == 2
    assert "--held-out 0.1: 0 of the 2 rows of a client would be held out" in err


def test_more_clients_than_rows(call, csv):
    arguments = ["federated", "simulate", csv, "--target", "clicked", "--y-columns", "age", "--clients", 201]
    code, _, err = call(*arguments)
    assert code == 2
    assert "the file has only 200 rows" in err


def test_quiet_is_quiet(call, svm):
    assert call("solve", svm, "--quiet") == (0, "", "")


def test_an_end_short_of_the_tolerance_is_exit_code_1(call, svm):
    code, out, _ = call("solve", svm, "--tol", 1e-30)
    assert code == 1
    assert "stalled" in out


def test_check_finds_nothing_wrong(call, csv):
    code, out, _ = call("check", csv, "--target", "clicked", "--y-columns", "age,price")
    assert code == 0
    assert "200 rows; x: 8 columns" in out
    assert "κ_x = " in out
    assert "checks passed" in out


def test_methods_lists_all_of_them(call):
    _, out, _ = call("methods")
    assert [line.split()[0] for line in out.splitlines()] == minmin.methods.names()
    _, out, _ = call("methods", "--json")
    assert list(json.loads(out)) == minmin.methods.names()


WRONG = [
    (["solve", "none.svm"], "cannot read none.svm: No such file"),
    (["solve", "{dir}"], "Is a directory"),
    (["solve", "none.csv", "--target", "a"], "cannot read none.csv"),
    (["solve", "none.parquet", "--target", "a"], "cannot read none.parquet"),
    (["solve", "{bad_svm}"], "bad.svm, line 3: '5;1' is not 'index:value'"),
    (["solve", "{bad_csv}", "--target", "a"], "cannot read"),
    (["solve", "{csv}"], "name the column to predict with --target"),
    (["solve", "{csv}", "--target", "clickd"], "no such column; did you mean 'clicked'"),
    (["solve", "{csv}", "--target", "age"], "target"),
    (["solve", "{csv}", "--target", "clicked", "--y-columns", "aeg"], "--y-columns aeg: "),
    (["solve", "{csv}", "--target", "clicked", "--y-columns", "age", "--x-columns", "a*"], "in both blocks"),
    (["solve", "{csv}", "--target", "clicked", "--y-columns", "*"], "takes all columns"),
    (["solve", "{csv}", "--target", "clicked", "--y-columns", "age", "--alpha-x", "-1"], "alpha_x = -1"),
    (["solve", "{svm}", "--target", "clicked"], "read as LIBSVM"),
    (["solve", "{svm}", "--y-columns", "age"], "numbers from 1 on"),
    (["solve", "{svm}", "--y-columns", "0-3"], "has columns 1 to 119"),
    (["solve", "{svm}", "--y-columns", "100-120"], "has columns 1 to 119"),
    (["solve", "{svm}", "--y-columns", "9-3"], "has columns 1 to 119"),
    (["solve", "{svm}", "--tol", "-1"], "tol"),
    (["solve", "{svm}", "--save", "none/model.npz"], "there is no folder none"),
    (["solve", "{svm}", "--save", "{dir}"], "is a folder"),
    (["solve", "{svm}", "--method", "bma"], "bma"),
    (["solve", "{text_csv}", "--target", "t"], "column 'city' of"),
    (["solve", "{hole_csv}", "--target", "t"], "column 'a' of"),
    (["solve", "{huge_csv}", "--target", "t"], "give finite numbers"),
    (["solve", "{latin_csv}", "--target", "t"], "cannot read"),
    (["solve", "{wide_svm}"], "columns are not supported"),
    (["solve", "{long_svm}"], "larger than any column"),
    (["solve", "{csv}", "--target", "clicked", "--save", "{csv}"], "not a .npz archive"),
    (["solve"], "Missing argument"),
    (["sovle"], "No such command"),
    (["reproduce", "quadratics"], "quadratics"),
    (["reproduce", "--seeds", "0"], "0"),
    (["reproduce", "federated", "--a9a", "none.svm", "--out", "{dir}/new"], "File 'none.svm' does not exist"),
    (["reproduce", "--tol", "3", "--out", "{dir}/new"], "relative gap"),
    (["reproduce", "--out", "{full_dir}"], "contains other files than a report"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda value: " ".join(value)[:50] if value else "")
def test_wrong_input_is_one_clear_line_and_exit_code_2(call, tmp_path, svm, csv, arguments, words):
    places = {"svm": svm, "csv": csv, "dir": tmp_path}
    for name, content in [
        ("bad.svm", "1 1:1\n-1 2:1\n1 5;1\n"),
        ("bad.csv", "a,b\n1,2\n1,2,3\n"),
        ("text.csv", "t,city,b\n1,Omsk,2\n0,Perm,1\n"),
        ("hole.csv", "t,a,b\n1,3,2\n0,,1\n"),
        ("huge.csv", "t,a,b\n1,1e300,2\n0,1,1\n"),
        ("latin.csv", "t,a\u00e9,b\n1,3,2\n0,1,1\n"),
        ("wide.svm", "1 1:1 2147483647:1\n"),
        ("long.svm", f"1 {'9' * 5000}:1\n"),
    ]:
        (tmp_path / name).write_text(content, encoding="latin-1")
        places[name.replace(".", "_")] = tmp_path / name
    places["full_dir"] = tmp_path
    before = sorted(path.name for path in tmp_path.iterdir())
    code, _, err = call(*(argument.format(**places) for argument in arguments))
    assert code == 2
    assert words in err
    assert "Traceback" not in err
    lines = err.splitlines()
    assert len([line for line in lines if line.startswith(("Error: ", "minmin: "))]) == 1
    assert len(lines) <= (4 if lines[0].startswith("Usage:") else 1)  # a usage error shows the usage, too
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_full_disk_is_one_line_and_no_half_file(call, svm, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    saved = tmp_path / "model.npz"
    np.savez(saved, x=[1.0])
    older = saved.read_bytes()
    code, out, err = call("solve", svm, "--save", saved)
    assert code == 3
    assert "converged" in out  # the answer itself is not lost
    assert err == f"minmin: {saved}: No space left on device\n"
    assert saved.read_bytes() == older
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a1a.svm", "model.npz"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_is_written_to_and_not_replaced(call, svm):
    code, _, err = call("solve", svm, "--save", "/dev/full")
    assert code == 3
    assert "No space left on device" in err
    assert Path("/dev/full").is_char_device()


def test_a_file_too_large_for_its_limit_leaves_nothing(svm, tmp_path):
    """A real write that fails half-way: the operating system's limit on the size of files."""
    resource = pytest.importorskip("resource", reason="this system has no limits on the size of files")
    limits = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)); "
    program = limits + "from minmin.cli import main; sys.argv = ['minmin', *sys.argv[1:]]; main()"
    saved = tmp_path / "new" / "model.npz"
    saved.parent.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, "solve", str(svm), "--save", str(saved)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 500
    assert done.returncode == 3
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(saved.parent.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["solve"],
        ["fit"],
        ["predict"],
        ["coefficients"],
        ["check"],
        ["methods"],
        ["reproduce"],
        ["federated", "simulate"],
        ["completion"],
    ],
)
def test_help_teaches_by_example(call, command):
    code, out, _ = call(*command, "--help")
    assert code == 0
    assert "\n    " in out
    assert "minmin " + " ".join(command) in out


def test_the_names_in_the_help_are_those_there_are():
    assert sorted(LOSSES) == sorted(losses.LOSSES)
    assert list(of_federations.METHODS) == minmin.federated.names()
    assert sorted(of_federations.ENGINES) == sorted(engines.ENGINES)
    assert reproduce.EXPERIMENTS == settings.EXPERIMENTS


def test_methods_are_completed():
    arguments = {"_MINMIN_COMPLETE": "bash_complete", "COMP_WORDS": "minmin solve --method red", "COMP_CWORD": "3"}
    program = str(Path(sys.executable).with_name("minmin"))
    done = subprocess.run([program], env={**os.environ, **arguments}, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["plain,reduced-newton", "plain,reduced-lbfgs"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(call, shell):
    code, out, _ = call("completion", shell)
    assert code == 0
    assert "_MINMIN_COMPLETE" in out


def test_completion_completes():
    environment = {**os.environ, "_MINMIN_COMPLETE": "bash_complete", "COMP_WORDS": "minmin re", "COMP_CWORD": "1"}
    program = str(Path(sys.executable).with_name("minmin"))
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
    assert "reproduce" in done.stdout


def test_version(call):
    assert call("--version")[1] == f"minmin {minmin.__version__}\n"


def test_a_reader_that_has_seen_enough_is_no_error():
    program = Path(sys.executable).with_name("minmin")
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} methods | true"], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""


def test_missing_extra_is_named():
    program = "import sys; sys.modules['click'] = None; from minmin.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert 'needs click; in the clone of minmin: pip install ".[cli]"' in done.stderr


def test_real_data_in_seconds_with_a_certificate(call):
    data = Path(__file__).parents[3] / "shared" / "data" / "libsvm" / "a9a.gz"
    if not data.exists():
        pytest.skip("a9a is not beside the project (../shared/data/libsvm/a9a.gz)")
    code, out, _ = call("solve", data, "--x-columns", "1-100", "--alpha-x", 1e-3, "--alpha-y", 1e-5, "--json")
    said = json.loads(out)
    assert code == 0
    assert said["certified"]
    assert said["gap_bound"] <= 1e-6
