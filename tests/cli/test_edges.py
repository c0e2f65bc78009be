"""The command where it is started oddly: pipes, signals, and names that the locale does not know."""

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

MAIN = "from minmin.cli import main; main()"


def start(program, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locale whose file names are ASCII")
def test_a_path_outside_ascii_under_a_plain_locale(table, tmp_path):
    pyarrow.csv.write_csv(table, tmp_path / "é.csv")
    pyarrow.parquet.write_table(table, tmp_path / "é.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "é.arrow", compression="uncompressed")
    program = f"""
import sys
from minmin.cli.app import run
assert sys.getfilesystemencoding() == "ascii"
main = sys.argv[1]
for suffix in ("csv", "parquet", "arrow"):
    assert run(["check", f"{{main}}.{{suffix}}", "--target", "clicked"]) == 0
assert run(["partition", f"{{main}}.csv", "--target", "clicked", "--out", main]) == 0
sys.argv[1:] = ["solve", main, "--save", f"{{main}}.npz"]
{MAIN}"""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    done = start(program, tmp_path / "é", **plain)
    assert (done.returncode, done.stderr) == (0, "")
    with np.load(tmp_path / "é.npz") as archive:
        assert archive["x"].size > 0


def test_an_interrupt_while_it_starts_is_one_line():
    program = f"""
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
{MAIN}"""
    done = start(program, "--help")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "minmin: interrupted\n")


def test_a_kill_is_not_the_keyboard(svm):
    kills = f"lambda record: os.kill(os.getpid(), {int(signal.SIGTERM)})"
    solves = f"solve.minimize = lambda *a, **o: run(*a, callback={kills}, **o)"
    done = start(f"import os; from minmin import solve; run = solve.minimize; {solves}; {MAIN}", "solve", svm)
    assert done.returncode == 130
    assert "interrupted by SIGTERM" in done.stdout
    assert done.stderr == ""


@pytest.fixture
def pipe():
    """The path of a pipe with some content."""
    opened = []

    def filled(content):
        reading, writing = os.pipe()
        opened.append(reading)
        os.write(writing, content)
        os.close(writing)
        return f"/dev/fd/{reading}"

    yield filled
    for descriptor in opened:
        os.close(descriptor)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
def test_a_pipe_is_read_if_its_format_is_given(call, csv, svm, pipe, tmp_path):
    table = csv.read_bytes()
    for content in (table, gzip.compress(table)):
        assert call("check", pipe(content), "--format", "csv", "--target", "clicked")[0] == 0
    assert call("partition", pipe(table), "--format", "csv", "--target", "clicked", "--out", tmp_path / "new")[0] == 0
    rows = svm.read_bytes()[:60_000].rpartition(b"\n")[0]
    for content in (rows, gzip.compress(rows)):
        assert call("check", pipe(content), "--format", "libsvm")[0] == 0
    code, _, err = call("check", pipe(table), "--target", "clicked")
    assert code == 2
    assert "needs --format csv" in err
    code, _, err = call("check", pipe(b"PAR1"), "--format", "parquet", "--target", "clicked")
    assert code == 2
    assert "Parquet and Arrow files are read from their end, which a pipe does not have" in err


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="this system has no /dev/stdin")
def test_a_dash_is_what_another_program_sends(csv):
    command = [sys.executable, "-c", MAIN, "check", "-", "--format", "csv", "--target", "clicked"]
    done = subprocess.run(command, input=csv.read_bytes(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"200 rows" in done.stdout


def test_text_where_the_model_has_numbers(call, tmp_path):
    known, new, model = (tmp_path / name for name in ("known.csv", "new.csv", "model.skops"))
    known.write_text("age,city,t\n31,Omsk,1\n40,Perm,0\n29,Omsk,1\n")
    assert call("fit", known, "--target", "t", "--save", model)[0] == 0
    new.write_text("age,city\n31,Omsk\nforty,Perm\n")
    code, _, err = call("predict", model, new)
    assert code == 2
    assert f"column 'age' of {new} has 'forty' in row 2 below the header, which is not a number" in err


def test_text_as_the_target_of_partitions(call, tmp_path):
    file, parts = tmp_path / "t.csv", tmp_path / "parts"
    file.write_text("a,b,t\n1,2,yes\n2,1,no\n3,1,yes\n")
    assert call("partition", file, "--target", "t", "--out", parts)[0] == 0
    for command in (["solve", parts], ["fit", parts, "--loss", "squared"]):
        code, _, err = call(*command)
        assert code == 2
        assert f"the target of {parts} is text, such as 'yes', and must be numbers here" in err
