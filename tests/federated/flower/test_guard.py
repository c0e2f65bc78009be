"""What was started does not outlive who started it, however that one ends and however the other hides."""

import os
import signal
import subprocess
import sys
import time

import pytest

from federated.flower.deployments import alive
from minmin.federated.engines.flower_processes import Guarded
from minmin.federated.engines.guard import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and its subreapers")

DETACHED = "import subprocess, time; subprocess.Popen(['sleep', '1000'], start_new_session=True); time.sleep(1000)"
STARTER = """
import os, signal, sys, time
from pathlib import Path
from minmin.federated.engines.flower_processes import Guarded
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
command = Guarded([sys.executable, "-c", sys.argv[1]], dict(os.environ), Path(sys.argv[2]))
while len(command.process_ids()) < 2:
    time.sleep(0.02)
print(*command.process_ids(), flush=True)
time.sleep(1000)
"""


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_stopping_ends_the_detached_too(tmp_path):
    command = Guarded([sys.executable, "-c", DETACHED], dict(os.environ), tmp_path / "log")
    wait_until(lambda: len(command.process_ids()) == 2)
    processes = command.process_ids()
    assert command.runs
    command.stop()
    assert not command.runs
    assert alive(processes) == []


def test_a_command_that_dies_takes_its_own_along(tmp_path):
    command = Guarded([sys.executable, "-c", DETACHED], dict(os.environ), tmp_path / "log")
    wait_until(lambda: len(command.process_ids()) == 2)
    processes = command.process_ids()
    os.kill(min(processes), signal.SIGKILL)
    wait_until(lambda: not command.runs)
    assert alive(processes) == []
    command.stop()


@pytest.mark.parametrize("received", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_outlives_a_starter_that_is_ended_with_its_whole_group(tmp_path, received):
    starter = [sys.executable, "-c", STARTER, DETACHED, str(tmp_path / "log")]
    with subprocess.Popen(starter, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            processes = [int(word) for word in process.stdout.readline().split()]
            assert len(alive(processes)) == 2
            if received == signal.SIGKILL:
                process.kill()
            else:
                os.killpg(process.pid, received)
            process.wait(20)
        finally:
            process.kill()
    wait_until(lambda: alive(processes) == [])


@pytest.mark.parametrize("number", [0, 1])
def test_nothing_outlives_a_killed_guard(tmp_path, number):
    """Whichever of its two processes is killed, the first one or its child."""
    command = Guarded([sys.executable, "-c", DETACHED], dict(os.environ), tmp_path / "log")
    wait_until(lambda: len(command.process_ids()) == 2)
    processes = command.process_ids()
    first = command._process.pid
    (second,) = descendants(first) - processes
    os.kill((first, second)[number], signal.SIGKILL)
    wait_until(lambda: alive({first, second, *processes}) == [])
    wait_until(lambda: not command.runs)
    command.stop()
