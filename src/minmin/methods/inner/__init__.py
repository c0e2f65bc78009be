"""Inner solvers: they minimise over y while x is fixed."""
