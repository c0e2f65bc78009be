"""Linear models whose rows are in several groups, in other processes or on other machines.

Vectors with one entry per row stay with the rows. Only coefficients, and sums over rows, travel.
"""
