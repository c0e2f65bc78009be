"""Flower's processes on this machine: a SuperLink and its SuperNodes, on which an app runs."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from minmin.errors import MinMinError, needs_extra
from minmin.federated.engines import guard

HOST = "127.0.0.1"
_START_SECONDS = 60.0
"""The limit for the SuperLink to start. Chosen, not measured; after it, an error shows the end of the log."""
_HEALTH_PAUSE, _HEALTH_TIMEOUT = 0.1, 1.0
"""Seconds between two requests to the SuperLink whether it is up, and for a response."""
_LOG_CHARACTERS = 2000
"""How much of a log an error shows. Chosen to leave room for a traceback."""
_PRIVATE_AND_QUICK = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.5",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""No usage data are sent, and tasks start sooner. Variables that the user has set take precedence."""
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""With this, Ray uses 127.0.0.1 as the address of this machine on every system, and listens only there."""
_CONNECTION = "minmin"


class FlowerError(MinMinError):
    """A process of Flower did not start."""


class Guarded:
    """A command that ends with this process, together with everything that it started; its output is in a file."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path):
        self.command, self.log = list(command), log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, guard.__file__, *command],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def process_ids(self) -> set[int]:
        """The process ids of the command and of everything that it started."""
        return guard.descendants(*guard.read_children().get(self._process.pid, ()))

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-_LOG_CHARACTERS:]

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Flower:
    """A SuperLink that listens on the loopback interface only, and its SuperNodes; all end with this process.

    Flower's home folder and the logs are in ``folder``. In a ``simulation`` the SuperLink itself acts as the nodes.
    """

    def __init__(self, folder: Path, *, simulation: bool):
        self._folder = folder
        self._simulation = simulation
        self.port = free_port()
        self._home = folder / "home"
        self._home.mkdir(parents=True, exist_ok=True)
        self.nodes: dict[int, Guarded] = {}
        address = f'address = "{HOST}:{self.port}"\ninsecure = true\n'
        (self._home / "config.toml").write_text(f"[superlink.{_CONNECTION}]\n{address}")
        command = [program("flower-superlink"), "--insecure", "--host", HOST, "--port", str(self.port)]
        command += ["--disable-runtime-dependency-installation", *(["--simulation"] if simulation else [])]
        self.superlink = Guarded(command, environment(self._home), folder / "superlink.log")
        try:
            wait_until_healthy(self.superlink, self.port)
        except BaseException:
            self.stop()
            raise

    def start_node(self, number: int) -> None:
        """Start a SuperNode for the client with this number; stop its previous node."""
        if number in self.nodes:
            self.nodes[number].stop()
        home = self._folder / f"node {number}"
        home.mkdir(exist_ok=True)
        command = [program("flower-supernode"), "--insecure", "--superlink", f"{HOST}:{self.port}"]
        command += ["--host", HOST, "--port", str(free_port()), "--node-config", f"partition-id={number}"]
        self.nodes[number] = Guarded(command, environment(home), self._folder / f"node {number}.log")

    def run(self, app: Path, config: str, nodes: int) -> None:
        """Submit an app to the SuperLink, with values for its configuration."""
        command = [program("flwr"), "run", str(app), _CONNECTION, "--run-config", config, "--format", "json"]
        if self._simulation:
            command += ["--federation-config", f"num-supernodes={nodes} client-resources-num-cpus=1"]
        done = subprocess.run(command, env=environment(self._home), capture_output=True, text=True, check=False)
        try:
            accepted = json.loads(done.stdout[done.stdout.index("{") :])["success"]
        except (ValueError, KeyError):
            accepted = False
        if not accepted:
            raise FlowerError(f"flwr run failed: {(done.stdout + done.stderr)[-_LOG_CHARACTERS:]}")

    def stop(self) -> None:
        for process in [*self.nodes.values(), self.superlink]:
            process.stop()


def program(name: str) -> str:
    """The path of one of Flower's commands, preferably of the Python environment in use."""
    path = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if path is None:
        raise FlowerError(needs_extra("engine 'flower'", f"the command {name}", "flower"))
    return path


def environment(home: Path) -> dict[str, str]:
    """The environment of Flower's processes: this process's modules, a separate home, and no usage reports."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    modules = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    paths = {"PATH": path, "PYTHONPATH": modules, "FLWR_HOME": str(home), "RAY_TMPDIR": str(home)}
    return {**_PRIVATE_AND_QUICK, **os.environ, **paths, **_LOOPBACK}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_until_healthy(superlink: Guarded, port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while superlink.runs and time.monotonic() < deadline:
        connection = http.client.HTTPConnection(HOST, port, timeout=_HEALTH_TIMEOUT)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(_HEALTH_PAUSE)
        finally:
            connection.close()
    raise FlowerError(f"the SuperLink did not start; its log ends with: {superlink.end_of_log()}")
