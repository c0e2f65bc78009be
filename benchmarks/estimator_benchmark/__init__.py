"""The parts of benchmarks/estimators.py: data sets, the objective and its minimum, other packages, and timing."""
