"""Finding and Report: what check() found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Attributes
    ----------
    name : str
        What was checked.
    ok : bool
    detail : str
        What was measured, and by how much it is off.
    """

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """What :func:`~minmin.check` found; print it to read it.

    Attributes
    ----------
    ok : bool
        Whether all checks passed.
    findings : tuple of Finding
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return all(finding.ok for finding in self.findings)

    def __str__(self) -> str:
        width = max(len(finding.name) for finding in self.findings)
        lines = [f"{'ok   ' if f.ok else 'WRONG'} {f.name:<{width}}  {f.detail}" for f in self.findings]
        wrong = sum(not f.ok for f in self.findings)
        lines.append(f"{wrong} of {len(lines)} checks failed" if wrong else f"all {len(lines)} checks passed")
        return "\n".join(lines)
