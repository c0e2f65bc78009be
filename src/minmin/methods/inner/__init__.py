"""Inner solvers: minimising over y while x is fixed."""
