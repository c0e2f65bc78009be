"""Counts of what was computed."""

from __future__ import annotations

from collections.abc import Mapping


class Tally:
    """Counts of what was actually computed, by kind: "grad_x", "grad_y", "value", ..."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, kind: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def note(self, kind: str, count: int) -> None:
        """Count work that was done already, whatever the budgets."""
        self.counts[kind] = self[kind] + count

    def add_setup(self, name: str, kind: str, count: int = 1) -> None:
        """Count work that is done once and then reused: as ``kind``, and under its own ``name``, once per run.

        A run counts it even if an earlier run on the same data has already computed it, so that counts do not depend
        on what ran before.
        """
        if self[name] == 0:
            self.note(name, count)
            self.note(kind, count)

    def __getitem__(self, kind: str) -> int:
        return self.counts.get(kind, 0)

    def rename_kinds(self, names: Mapping[str, tuple[str, ...]]) -> Tally:
        """A view that counts each kind under other names: one, several, or none."""
        return _RenamedTally(self, names)

    def swapped(self) -> Tally:
        """A view for a problem whose blocks are exchanged, so that counts keep the original names."""
        return self.rename_kinds(_SWAPPED_NAMES)


_SWAPPED_NAMES = {
    "grad_x": ("grad_y",),
    "grad_y": ("grad_x",),
    "hess_yy": ("hess_xx",),
    "passes": ("passes_y",),
    "passes_y": ("passes",),
    "rows": ("rows_y",),
    "rows_y": ("rows",),
}


class _RenamedTally(Tally):
    def __init__(self, target: Tally, names: Mapping[str, tuple[str, ...]]):
        self.target = target
        self.names = names

    def add(self, kind: str) -> None:
        for name in self.names.get(kind, (kind,)):
            self.target.add(name)

    def note(self, kind: str, count: int) -> None:
        for name in self.names.get(kind, (kind,)):
            self.target.note(name, count)

    def __getitem__(self, kind: str) -> int:
        """The count under the first of the names."""
        names = self.names.get(kind, (kind,))
        return self.target[names[0]] if names else 0


class _IgnoringTally(Tally):
    """Counts nothing."""

    def add(self, kind: str) -> None:
        pass

    def note(self, kind: str, count: int) -> None:
        pass


UNCOUNTED: Tally = _IgnoringTally()
