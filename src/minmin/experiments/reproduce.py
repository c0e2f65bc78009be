"""reproduce(): the paper's experiments from the first run to the finished report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from minmin.errors import InputError
from minmin.experiments.claims import Claim, claims
from minmin.experiments.figures import figures, render
from minmin.experiments.journal import Journal
from minmin.experiments.machine import machine
from minmin.experiments.page import page
from minmin.experiments.race import short
from minmin.experiments.results import results_csv, results_json, times_json
from minmin.experiments.runner import run_missing, tasks
from minmin.experiments.settings import EXPERIMENTS, PAPERS, settings
from minmin.experiments.summary import summarise
from minmin.files import write_atomically


class Report(NamedTuple):
    """A finished report: its page, how many runs it shows, and the verdict."""

    page: Path
    runs: int
    claims: list[Claim]


def reproduce(
    experiment: str,
    out: Path,
    *,
    seeds: int,
    tol: float,
    a9a: Path | None = None,
    tell: Callable[[int, int], None] = lambda done, all_: None,
) -> Report:
    """Run the paper's experiments and write a report on them.

    Parameters
    ----------
    experiment : {"quadratic", "logistic", "scaling", "federated", "all"}
        "all" are the first three, the experiments of the paper.
    out : path
        The report's folder, made where it is missing. What an earlier call finished there, with the same seeds and
        tolerance, is taken over, and experiments that it was asked for stay in the report.
    seeds : int
        Of the random quadratics, and of the methods that draw.
    tol : float
        The relative gap at which every run ends.
    a9a : path, optional
        The data set a9a in the LIBSVM format, plain or compressed, for the federated experiment. Without it, rows like
        its own are generated.
    tell : callable
        Called with the number of runs that are done, and of all.

    Raises
    ------
    InputError
        For a folder that holds something else.
    """
    if seeds < 1:
        raise InputError(f"seeds = {seeds}: at least one is needed")
    if not 1e-12 <= tol <= 0.1:
        raise InputError(f"tol = {tol:g} is a relative gap: between 1e-12 and 0.1")
    journal = Journal(out, seeds, tol)
    for name in PAPERS if experiment == "all" else (experiment,):
        journal.ask(name, a9a)
    chosen = tuple(name for name in EXPERIMENTS if name in journal.experiments)
    wanted = tasks(chosen, seeds)
    run_missing(journal, wanted, tol, a9a, tell)
    summary = summarise(settings(chosen, a9a), journal.outcomes, wanted, tol)
    found, here = claims(summary), machine()
    drawn = figures(summary)
    command = f"minmin reproduce EXPERIMENT --seeds {seeds} --tol {short(tol)} --out {out.name}"
    if a9a is not None:
        command += f" --a9a {a9a.name}"
    contents = {f"{name}.{kind}": content for name, figure in drawn.items() for kind, content in render(figure).items()}
    contents["results.json"] = results_json(summary, found, seeds)
    contents["results.csv"] = results_csv(summary)
    contents["times.json"] = times_json(summary, here)
    contents["index.html"] = page(summary, found, list(drawn), seeds, here, command)
    for name, content in contents.items():
        write_atomically(out / name, content)
    return Report(out / "index.html", len(wanted), found)
