"""A real SuperLink and SuperNodes on the loopback interface, as docs/guides/flower.md has them, and what they open."""

import json
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from minmin.federated.engines.flower_processes import HOST, Guarded, environment, free_port, program

APP = Path(__file__).parents[3] / "examples" / "flower"
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


def listening(processes):
    """The hexadecimal addresses on which these processes listen, as /proc has them."""
    inodes = set()
    for process in processes:
        for link in Path(f"/proc/{process}/fd").glob("*"):
            with suppress(OSError):
                target = str(link.readlink())
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.append(words[1])
    return found


def assert_on_loopback_alone(processes):
    found = listening(processes)
    assert found
    assert [address for address in found if address.split(":")[0] not in LOOPBACK] == []


def alive(processes):
    """Which of these are still there; one that ended and that nobody waited for is not."""
    there = []
    for process in processes:
        with suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                there.append(process)
    return there


class Deployment:
    """Starts commands of Flower's, each with a home of its own, and ends them all.

    ``credentials`` is a folder that scripts/flower_credentials.py made; without one there is no TLS.
    """

    def __init__(self, folder, credentials=None):
        self.folder, self.credentials = Path(folder), credentials
        self.port = free_port()
        self.commands = {}
        self.home = self.folder / "home"
        self.home.mkdir(parents=True)
        safety = "insecure = true" if credentials is None else f'root-certificates = "{credentials}/server/ca.crt"'
        (self.home / "config.toml").write_text(f'[superlink.test]\naddress = "{HOST}:{self.port}"\n{safety}\n')

    def __enter__(self):
        return self

    def __exit__(self, *error):
        processes = [process for command in self.commands.values() for process in command.process_ids()]
        for command in self.commands.values():
            command.stop()
        assert alive(processes) == []

    def start(self, name, home, *command):
        if name in self.commands:
            self.commands[name].stop()
        home.mkdir(exist_ok=True)
        arguments = [program(command[0]), *map(str, command[1:])]
        log = self.folder / f"{name}.log"
        log.unlink(missing_ok=True)
        self.commands[name] = Guarded(arguments, environment(home), log)

    def start_superlink(self):
        server = f"{self.credentials}/server"
        safety = ["--insecure"]
        if self.credentials is not None:
            safety = ["--ssl-ca-certfile", f"{server}/ca.crt", "--ssl-certfile", f"{server}/server.crt"]
            safety += ["--ssl-keyfile", f"{server}/server.key", "--enable-supernode-auth"]
        place = ["--host", HOST, "--port", self.port, "--database", self.folder / "superlink.db"]
        self.start(
            "superlink", self.home, "flower-superlink", *place, "--disable-runtime-dependency-installation", *safety
        )
        self.wait_for("superlink", "Uvicorn running")

    def start_node(self, name, number, *safety):
        options = f'client-id="{name}" partition-id={number} states="{self.folder}/states"'
        place = ["--superlink", f"{HOST}:{self.port}", "--host", HOST, "--port", free_port()]
        if not safety:
            safety = ["--insecure"]
        self.start(name, self.folder / name, "flower-supernode", *place, "--node-config", options, *safety)

    def flwr(self, *command):
        """What a flwr command says, as JSON."""
        done = subprocess.run(
            [program("flwr"), *map(str, command), "--format", "json"],
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        found = json.loads(done.stdout[done.stdout.index("{") :])
        assert found["success"], found
        return found

    def run(self, **config):
        """Start the app of examples/flower with these values."""
        values = " ".join(f"{name}={json.dumps(value)}" for name, value in config.items())
        self.result = Path(config["result"])
        self.flwr("run", APP, "test", "--run-config", values)

    def wait_for(self, name, words, seconds=60):
        self.wait_until(lambda: words in self.said(name), seconds, f"{name} never said {words!r}")

    def wait_for_result(self, seconds):
        self.wait_until(self.result.exists, seconds, "no result")
        time.sleep(0.2)  # it is being written
        with np.load(self.result) as found:
            return dict(found)

    def wait_until(self, condition, seconds, words):
        deadline = time.monotonic() + seconds
        while not condition():
            logs = "".join(f"\n--- {other}:\n{self.said(other)[-3000:]}" for other in self.commands)
            assert time.monotonic() < deadline, f"{words} within {seconds} s{logs}"
            time.sleep(0.2)

    def said(self, name):
        log = self.folder / f"{name}.log"
        return log.read_text() if log.exists() else ""
