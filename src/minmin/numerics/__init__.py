"""Numerical algorithms: conjugate gradients, Lanczos, L-BFGS, a step search, and small dense systems."""
