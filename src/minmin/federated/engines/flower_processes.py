"""Flower's processes on this machine: a SuperLink, SuperNodes, and an app that is run on them."""

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
"""Until the SuperLink answers. A limit that was not measured, after which an error tells its last words."""
_ASK_AGAIN, _ASK_SECONDS = 0.1, 1.0
"""Seconds between two questions whether it is there, and for an answer."""
_LAST_WORDS = 2000
"""Characters of a log that an error tells. A choice: room for a traceback."""
_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.5",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Nothing is told to anybody, unless the user has set these variables to something else; and tasks start sooner."""
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray then takes 127.0.0.1 for this machine's address, on every system, and listens there alone."""
_CONNECTION = "minmin"


class FlowerError(MinMinError):
    """A process of Flower's does not start."""


class Guarded:
    """A command that ends with this process, together with all that it started; its output is in a file."""

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
        """Of the command and all that it started."""
        return guard.descendants(self._process.pid)

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-_LAST_WORDS:]

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Flower:
    """One SuperLink that listens on the loopback interface alone, and its SuperNodes; all end with this process.

    Flower's home and the logs are in ``folder``. In a ``simulation`` the SuperLink itself plays the nodes.
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
        """A SuperNode for the client of this number; the one before is stopped."""
        if number in self.nodes:
            self.nodes[number].stop()
        home = self._folder / f"node {number}"
        home.mkdir(exist_ok=True)
        command = [program("flower-supernode"), "--insecure", "--superlink", f"{HOST}:{self.port}"]
        command += ["--host", HOST, "--port", str(free_port()), "--node-config", f"partition-id={number}"]
        self.nodes[number] = Guarded(command, environment(home), self._folder / f"node {number}.log")

    def run(self, app: Path, config: str, nodes: int) -> None:
        """Hand an app to the SuperLink, with values for its configuration."""
        command = [program("flwr"), "run", str(app), _CONNECTION, "--run-config", config, "--format", "json"]
        if self._simulation:
            command += ["--federation-config", f"num-supernodes={nodes} client-resources-num-cpus=1"]
        done = subprocess.run(command, env=environment(self._home), capture_output=True, text=True, check=False)
        try:
            accepted = json.loads(done.stdout[done.stdout.index("{") :])["success"]
        except (ValueError, KeyError):
            accepted = False
        if not accepted:
            raise FlowerError(f"flwr run failed: {(done.stdout + done.stderr)[-_LAST_WORDS:]}")

    def stop(self) -> None:
        for process in [*self.nodes.values(), self.superlink]:
            process.stop()


def program(name: str) -> str:
    """The path of one of Flower's commands, beside the Python that runs this."""
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        raise FlowerError(needs_extra("engine 'flower'", f"the command {name}", "flower"))
    return found


def environment(home: Path) -> dict[str, str]:
    """What Flower's processes see: our modules, a home of their own, and nothing that phones home."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    modules = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    own = {"PATH": path, "PYTHONPATH": modules, "FLWR_HOME": str(home), "RAY_TMPDIR": str(home)}
    return {**_QUIET, **os.environ, **own, **_LOOPBACK}


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def wait_until_healthy(superlink: Guarded, port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while superlink.runs and time.monotonic() < deadline:
        connection = http.client.HTTPConnection(HOST, port, timeout=_ASK_SECONDS)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(_ASK_AGAIN)
        finally:
            connection.close()
    raise FlowerError(f"the SuperLink does not start; its last words: {superlink.last_words()}")
