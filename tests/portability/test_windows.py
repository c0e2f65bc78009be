"""Nothing needs POSIX: Windows, as far as it can be played on another system.

What Windows lacks is taken away in a process of its own: modules, functions, and the opening of folders. What only
Windows has, the locks of msvcrt, is put there instead.
"""

import os
import subprocess
import sys
import textwrap

import pytest

PLAYED = """
import sys
for name in ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
import os, signal
MISSING = {
    os: ("sched_getaffinity", "fork", "killpg", "getpgid", "setsid"),
    signal: ("pthread_sigmask", "SIG_BLOCK", "SIG_SETMASK", "SIGHUP"),
}
for module, names in MISSING.items():
    for name in names:
        vars(module).pop(name, None)
"""

AS_WINDOWS = """
import errno, shutil, types
import minmin, minmin.federated, minmin.experiments.machine, minmin.experiments.runner
opens = os.open
def opens_no_folder(path, *arguments, **options):
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return opens(path, *arguments, **options)
os.open = opens_no_folder
shutil._use_fd_functions = False
locks = []
def locking(descriptor, mode, length):
    locks.append(mode)
    if locks == ["lock"]:
        raise OSError(errno.EDEADLOCK, "Resource deadlock avoided")  # it was waited for in vain for ten seconds
sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK="lock", LK_UNLCK="unlock", locking=locking)
class Windows:
    platform = "win32"
    def __getattr__(self, name):
        return getattr(sys, name)
for name, module in list(sys.modules.items()):  # ours alone: Python's own must go on working here
    if name.startswith("minmin") and hasattr(module, "sys"):
        module.sys = Windows()
"""


def run(*programs):
    """What such a process prints."""
    program = "".join(map(textwrap.dedent, programs))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_module_loads_and_a_problem_is_solved():
    pytest.importorskip("flwr")
    pytest.importorskip("distributed")
    program = """
        import importlib, pkgutil
        import minmin
        for module in pkgutil.walk_packages(minmin.__path__, "minmin."):
            importlib.import_module(module.name)
        print(minmin.minimize(minmin.problems.Quadratic.random(d_x=4, d_y=2)).status)
    """
    loads_first = "import distributed\n"  # the psutil of this system needs a module that Windows lacks
    assert run(loads_first, PLAYED, program) == "converged\n"


def test_a_checkpoint_is_written_and_resumed(tmp_path):
    program = f"""
        problem = minmin.problems.Quadratic.random(d_x=6, d_y=3, coupling=1.0)
        for most in (7, 20):
            print(minmin.minimize(problem, method="bam", max_grad_x=most, checkpoint={str(tmp_path / "c")!r}).nit)
    """
    assert run(PLAYED, AS_WINDOWS, program) == "7\n20\n"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.slow
def test_clients_lock_their_folders_and_run_in_processes(tmp_path):
    program = f"""
        from minmin.federated import Client, FolderStore, run
        problems = [minmin.problems.Quadratic.random(d_x=4, d_y=2, coupling=1.0, seed=seed) for seed in (0, 1)]
        clients = [Client(problem, store=FolderStore(os.path.join({str(tmp_path)!r}, str(number))))
                   for number, problem in enumerate(problems)]
        print(run(clients, rounds=3).calls["grad_x"], *locks)
        print(run([Client(problem) for problem in problems], engine="processes").status)
    """
    (rounds, first, *others), (status,) = map(str.split, run(PLAYED, AS_WINDOWS, program).splitlines())
    assert (rounds, first, status) == ("3", "lock", "converged")
    assert others == ["lock", "unlock"] * (2 + 2 * 3)  # to open both folders, and in every round


@pytest.mark.slow
def test_a_report_is_run_on_all_cores(tmp_path):
    program = f"""
        from pathlib import Path
        from minmin.experiments.journal import Journal
        from minmin.experiments.machine import machine
        from minmin.experiments.runner import run_missing, tasks
        wanted = tasks(("logistic",), 1)[:3]
        journal = Journal(Path({str(tmp_path / "report")!r}), 1, 0.1)
        run_missing(journal, wanted, 0.1, None, lambda done, all_: print(done))
        print(machine()["processor"].endswith(f"{{os.cpu_count()}} cores"))
    """
    assert run(PLAYED, AS_WINDOWS, program).split() == ["0", "1", "2", "3", "True"]


def test_flower_is_refused_by_name():
    program = """
        import socket
        from minmin.federated import Client, FlowerEngine
        del socket.AF_UNIX
        try:
            FlowerEngine([Client(minmin.problems.Quadratic.random(d_x=4, d_y=2))])
        except minmin.UnsupportedError as error:
            print(error)
    """
    words = "engine 'flower' needs Linux or macOS; engine 'processes' gives the same answer\n"
    assert run(PLAYED, AS_WINDOWS, program) == words


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["methods"], ["check", "{file}", "--target", "t", "--y-columns", "b"]])
def test_a_file_that_cannot_hold_our_letters_gets_the_others(tmp_path, arguments):
    file = tmp_path / "t.csv"
    file.write_text("t,a,b\n1,3,2\n-1,1,1\n1,2,0\n-1,0,1\n")
    program = "from minmin.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *(argument.format(file=file) for argument in arguments)],
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert b"?" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_no_name_is_used_that_a_system_lacks(system):
    """The types of the standard library know which functions each system has; those of others take longest to read."""
    command = [sys.executable, "-m", "mypy", "--config-file=", "--platform", system, "--cache-dir=/dev/null"]
    command += ["--no-site-packages", "--ignore-missing-imports", "--check-untyped-defs", "src"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert "source files)" in done.stdout, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if "Module has no attribute" in line] == []
