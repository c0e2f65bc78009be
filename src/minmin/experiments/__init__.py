"""The experiments of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439: runs, counts, and a report."""
