"""The journal of a report: one line per finished run, so that the same command can resume."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from minmin.errors import InputError
from minmin.experiments.race import Outcome, Task
from minmin.files import append, is_draft, write_atomically

_NAME = "runs.jsonl"
_REPORT_FILES = ("figure-*.png", "figure-*.pdf", "index.html", "results.json", "results.csv", "times.json", ".*.tmp")
"""The files of a report besides the journal."""


class Journal:
    """The finished runs in the folder of a report.

    Parameters
    ----------
    folder : path
        Created if it does not exist. A folder with files other than a report is refused.
    seeds, tol
        Those of the report. A folder has only one value of each.

    Attributes
    ----------
    experiments : set of str
        All experiments that were asked for in this folder, now or earlier.
    a9a : str or None
        A digest of the file that the federated experiment reads; None if its rows are generated.
    outcomes : dict
        The outcomes of the finished runs.
    """

    def __init__(self, folder: Path, seeds: int, tol: float):
        self.path = folder / _NAME
        self.experiments: set[str] = set()
        self.a9a: str | None = None
        self.outcomes: dict[Task, Outcome] = {}
        header = {"minmin report": 1, "code": code_digest(), "seeds": seeds, "tol": tol}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot create the folder {folder}: {error.strerror}") from error
        if self.path.exists():
            self._read(header)
        elif any(not is_draft(path) for path in folder.iterdir()):
            raise InputError(f"the folder {folder} contains other files than a report; give another with --out")
        else:
            self._begin(header)

    def _begin(self, header: dict[str, Any]) -> None:
        for pattern in _REPORT_FILES:  # files of an earlier version could be mistaken for those of this one
            for path in self.path.parent.glob(pattern):
                path.unlink()
        write_atomically(self.path, _line(header))

    def _read(self, header: dict[str, Any]) -> None:
        entries = _read_entries(self.path)
        if not entries or "minmin report" not in entries[0]:
            raise InputError(f"{self.path} is not a minmin journal; give another folder with --out")
        first = entries.pop(0)
        if any(first[name] != header[name] for name in ("seeds", "tol")):
            raise InputError(
                f"the folder {self.path.parent} contains a report with --seeds {first['seeds']} "
                f"--tol {first['tol']:g}; give those, or another folder with --out"
            )
        if first != header:  # the code has changed, so its counts may have changed
            self._begin(header)
            return
        for entry in entries:
            if "experiment" in entry:
                self._note(**entry)
            else:
                self.outcomes[Task(*entry["task"])] = Outcome(**entry["outcome"])
        write_atomically(self.path, b"".join(map(_line, [first, *entries])))  # drops an incomplete last line

    def ask(self, experiment: str, a9a: Path | None = None) -> None:
        """Note that an experiment is wanted, and the file a9a that was given for the federated one."""
        mark = None if a9a is None else _file_digest(a9a)
        if "federated" in self.experiments and mark != self.a9a:
            raise InputError(
                f"the federated runs in {self.path.parent} took "
                f"{'generated rows; leave --a9a out' if self.a9a is None else 'a9a; give that same file by --a9a'}, "
                "or give another folder by --out"
            )
        if experiment not in self.experiments:
            self._note(experiment, mark)
            append(self.path, _line({"experiment": experiment, "a9a": mark}))

    def _note(self, experiment: str, a9a: str | None) -> None:
        self.experiments.add(experiment)
        if experiment == "federated":
            self.a9a = a9a

    def add(self, task: Task, outcome: Outcome) -> None:
        self.outcomes[task] = outcome
        append(self.path, _line({"task": list(task), "outcome": asdict(outcome)}))


def code_digest() -> str:
    """A digest of minmin's source and of the library versions: runs with the same digest can share a report."""
    digest = hashlib.sha256(" ".join(version(name) for name in ("numpy", "scipy")).encode())
    source = Path(__file__).parents[1]
    for file in sorted(source.rglob("*.py")):
        digest.update(file.relative_to(source).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _read_entries(path: Path) -> list[dict[str, Any]]:
    """All complete lines; a killed process may have left an incomplete one at the end."""
    entries = []
    for line in path.read_bytes().split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            break
        if not isinstance(entry, dict):
            break
        entries.append(entry)
    return entries
