"""Terms with kinks, and constraints: f(x, y) + p(x) + q(y)."""

from minmin.core.term import Term

__all__ = ["Term"]
