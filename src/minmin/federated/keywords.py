"""Hints for unknown keywords of run()."""

from __future__ import annotations

from minmin.methods.keywords import HINTS, ITERATIONS, Keywords

OF_RUN = Keywords(
    "engine x0 term_x bounds_x tol rtol gtol rounds max_seconds assume_convex timeout retries values callback progress "
    "checkpoint evaluate_every",
    (
        (
            f"{ITERATIONS} max_iterations max_rounds n_rounds max_grad_x max_grad_y",
            "the budgets are rounds and max_seconds",
        ),
        ("max_time time_limit", "the budget of time is max_seconds, and timeout is for one reply of a client"),
        ("y0 x_0 start init", "the start is x0; clients have their own y0: minmin.federated.Client(problem, y0=...)"),
        ("seed random_state random_seed rng", "only 'proxskip' draws random numbers; its option is seed"),
        (
            "target_value",
            "a run stops at tol, rtol, gtol, rounds or max_seconds; a callback that returns True stops it, too",
        ),
        (
            "fun func f objective value jac grad gradient grad_x grad_y constants",
            "f and its gradients belong to a client's problem: "
            "minmin.federated.Client(minmin.problems.Function(value, grad_x, grad_y, ...))",
        ),
        ("options", "give every option as a keyword of its own: run(clients, 'bam', inner='nag')"),
        (
            "bounds bounds_y constraints term term_y terms",
            "terms and bounds in x are term_x= and bounds_x=; those in y belong to a client's problem: "
            "minmin.federated.Client(minmin.problems.Composite(problem, term_y=...))",
        ),
        (
            "fraction fraction_fit fraction_train client_fraction sample_fraction participation clients_per_round "
            "min_fit_clients min_train_nodes min_available_clients num_clients n_clients",
            "every client takes part in each round, since the bound is about all of them; leave it out",
        ),
        *HINTS,
    ),
)
