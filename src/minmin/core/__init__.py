"""The base of the package: problems, bounds, constants, counts, vectors and arrays."""
