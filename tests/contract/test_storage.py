"""Estimators, the core and the linear model ask a design for what it can do, and hardly ever for its type."""

import ast
from pathlib import Path

import pytest

import minmin

SOURCE = Path(minmin.__file__).parent
PLACES = "estimators/*.py", "core/*.py", "problems/linear/model.py"
MOST = 10

TYPES = {
    *("Design", "NumpyDesign", "DenseDesign", "SparseDesign", "CategoricalDesign", "OnesDesign", "MixedDesign"),
    *("PartitionedMatrix", "PartitionedDesign", "RowValue", "RowVector", "RowDesign", "RowMatrix", "RowTable", "Table"),
    *("Features", "MatrixFeatures", "csr_array", "csc_array", "sparray", "csr_matrix", "spmatrix", "DataFrame"),
}
MARKS = {
    *("columns", "chunks", "npartitions", "iloc", "dtypes", "partitions", "__dask_graph__", "to_delayed", "to_pandas"),
    *("toarray", "tocsr", "tocsc", "tocoo", "nnz", "indptr", "indices", "session", "rows_session", "recipe", "value"),
}
"""Attributes that only some storages have."""
ASKING = {"issparse", "isspmatrix", "is_sparse", "is_dask", "is_frame", "is_partitioned"}
"""Functions that do nothing but ask."""


def name_of(node):
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def find_questions(source):
    """The lines that ask what the storage of something is, in any spelling."""
    tree = ast.parse(source)
    types = set(TYPES)

    def names_type(node):
        return any(name_of(inside) in types for inside in ast.walk(node))

    types |= {
        name_of(target)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and names_type(node.value)
        for target in node.targets
    }
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called, rest = name_of(node.func), node.args[1:]
            names = {argument.value for argument in rest if isinstance(argument, ast.Constant)}
            asks = called in ASKING
            asks |= called in ("isinstance", "issubclass") and any(map(names_type, rest))
            asks |= called == "hasattr" and bool(names & MARKS)
            asks |= called == "getattr" and len(rest) == 2 and bool(names & MARKS)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            of_type = [side for side in sides if isinstance(side, ast.Call) and name_of(side.func) == "type"]
            asks = bool(of_type) and any(names_type(side) for side in sides if side not in of_type)
        else:
            asks = isinstance(node, ast.MatchClass) and names_type(node.cls)
        if asks:
            lines.append(node.lineno if hasattr(node, "lineno") else node.cls.lineno)
    return sorted(lines)


@pytest.mark.parametrize(
    "asking",
    [
        "isinstance(design, int | RowDesign)",
        "issubclass(kind, linear.Design)",
        "type(X) is PartitionedMatrix",
        "type(X) in (int, RowTable)",
        "hasattr(X, 'tocsr')",
        "getattr(X, 'chunks', None)",
        "scipy.sparse.issparse(X)",
        "match X:\n    case RowVector():\n        pass",
        "KNOWN = DenseDesign, RowDesign\nisinstance(X, KNOWN)",
    ],
)
def test_every_spelling_of_a_question_is_counted(asking):
    assert len(find_questions(asking)) == 1
    assert not find_questions("isinstance(x, dict)\ntype(x) is list\nhasattr(x, 'shape')\nRowDesign(x).columns")


def test_few_questions_about_storage_are_asked():
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for place in PLACES
        for path in sorted(SOURCE.glob(place))
        for line in find_questions(path.read_text(encoding="utf-8"))
    ]
    assert len(found) <= MOST, f"{len(found)} questions; give Design a method or an attribute instead:\n" + "\n".join(
        found
    )
