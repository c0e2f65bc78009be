"""reproduce(): runs the experiments of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, and writes a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from minmin.errors import InputError
from minmin.experiments.claims import Claim, judge_claims
from minmin.experiments.figures import draw_figures, render
from minmin.experiments.journal import Journal
from minmin.experiments.machine import machine
from minmin.experiments.page import build_page
from minmin.experiments.page.documentation import find_documentation
from minmin.experiments.race import format_level
from minmin.experiments.relatives.claims import judge_relatives
from minmin.experiments.relatives.panels import draw_relatives
from minmin.experiments.relatives.trials import gather
from minmin.experiments.results import results_csv, results_json, times_json
from minmin.experiments.runner import run_missing, tasks
from minmin.experiments.settings import EXPERIMENTS, PAPERS, select_settings
from minmin.experiments.summary import summarise
from minmin.files import write_atomically


class Reproduction(NamedTuple):
    """A finished report: its page, the number of runs in it, and the verdicts."""

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
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Reproduction:
    """Run the paper's experiments and write a report on them.

    Parameters
    ----------
    experiment : {"quadratic", "logistic", "scaling", "federated", "relatives", "all"}
        "all" means the first three, the experiments of the paper.
    out : path
        The folder of the report, created if it does not exist. Runs that an earlier call with the same seeds and
        tolerance finished there are reused, and its experiments stay in the report.
    seeds : int
        The number of random quadratics, and of runs of each randomised method.
    tol : float
        The relative gap at which each run ends.
    a9a : path, optional
        The data set a9a as a LIBSVM file, plain or compressed, for the federated experiment. Without it, similar rows
        are generated.
    on_progress : callable
        Called with the number of finished runs and the total number of runs.

    Raises
    ------
    InputError
        If the folder contains other files than a report.
    """
    if seeds < 1:
        raise InputError(f"seeds = {seeds} must be at least 1")
    if not 1e-12 <= tol <= 0.1:
        raise InputError(f"tol = {tol:g} is a relative gap and must be between 1e-12 and 0.1")
    journal = Journal(out, seeds, tol)
    for name in PAPERS if experiment == "all" else (experiment,):
        journal.ask(name, a9a)
    chosen = tuple(name for name in EXPERIMENTS if name in journal.experiments)
    wanted = tasks(chosen, seeds)
    run_missing(journal, wanted, tol, a9a, on_progress)
    summary = summarise(select_settings(chosen, a9a), journal.outcomes, wanted, tol)
    trials = gather(journal.outcomes, wanted, tol)
    claims, this_machine = judge_claims(summary) + judge_relatives(trials), machine()
    figures = draw_figures(summary)
    if trials.studies:
        figures["figure-6-relatives"] = draw_relatives(trials)
    command = f"minmin reproduce EXPERIMENT --seeds {seeds} --tol {format_level(tol)} --out {out.name}"
    if a9a is not None:
        command += f" --a9a {a9a.name}"
    contents = {
        f"{name}.{kind}": content for name, figure in figures.items() for kind, content in render(figure).items()
    }
    contents["results.json"] = results_json(summary, trials, claims, seeds)
    contents["results.csv"] = results_csv(summary)
    contents["times.json"] = times_json(summary, this_machine)
    contents["index.html"] = build_page(
        summary, trials, claims, list(figures), seeds, this_machine, command, find_documentation(out)
    )
    for name, content in contents.items():
        write_atomically(out / name, content)
    return Reproduction(out / "index.html", len(wanted), claims)
