"""Numerical algorithms: conjugate gradients, Lanczos, L-BFGS, a step search, small dense systems, sparse products."""
