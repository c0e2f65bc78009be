"""Which worker runs which test, and in which order, where the tests are spread over several."""

from xdist.scheduler import LoadFileScheduling

FIRST = ("flower", "browser", "slow")
"""Marks of the tests that are started first, so that no worker is left alone with a long one at the end."""
TOGETHER = ("tests/experiments/", "tests/federated/flower/")
"""Folders that one worker runs as a whole: their files share a report, or the processes of Flower."""


class Files(LoadFileScheduling):
    """A file, or a folder that shares something large, goes to one worker."""

    def _split_scope(self, nodeid):
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))


def sort(items):
    """Long ones first; else the order stays."""

    def rank(item):
        return next((i for i, mark in enumerate(FIRST) if item.get_closest_marker(mark)), len(FIRST))

    items.sort(key=rank)
