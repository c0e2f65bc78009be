"""load_libsvm reads what the format allows, and names the line of what it does not."""

import bz2
import gzip
import lzma
from importlib.resources import files

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin.datasets import libsvm, load_a1a, load_libsvm


@pytest.fixture
def write(tmp_path):
    def written(text, name="data.svm"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_plain_and_compressed_by_content_not_name(write, compress):
    text = lzma.decompress(files("minmin.datasets").joinpath("a1a.svm.xz").read_bytes())
    X, labels = load_libsvm(write(compress(text)))
    expected, expected_labels = load_a1a()
    assert text.startswith(b"-1 3:1 11:1 14:1 19:1 ")
    assert expected[[0]].indices[:4].tolist() == [2, 10, 13, 18]
    assert (labels == expected_labels).all()
    assert abs(X - expected).nnz == 0
    assert X.shape == expected.shape


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_what_was_written_is_read(tmp_path_factory, seed, by_line, in_small_chunks):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((int(rng.integers(1, 8)), int(rng.integers(1, 8))), density=0.5, rng=rng).tocsr()
    labels = rng.standard_normal(X.shape[0])
    rows = [zip(X.indices[a:b], X.data[a:b], strict=True) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    lines = [
        " ".join([repr(float(label)), *(f"{j + 1}:{float(v)!r}" for j, v in row)]) + " # note" * by_line
        for label, row in zip(labels, rows, strict=True)
    ]
    path = tmp_path_factory.mktemp("libsvm") / "data"
    path.write_text("\n".join(lines) + "\n" * int(rng.integers(0, 3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libsvm, "_CHUNK", 16 if in_small_chunks else 1 << 24)
        read, read_labels = load_libsvm(path, n_features=X.shape[1])
    assert (read_labels == labels).all()
    assert (read.toarray() == X.toarray()).all()


def test_zero_based_qid_comments_blank_lines_and_windows_ends(write):
    X, labels = load_libsvm(write("# head\r\n1 qid:3 0:2 2:-1e-3 # tail\r\n\r\n-1\r\n"))
    assert labels.tolist() == [1, -1]
    assert X.toarray().tolist() == [[2, 0, -1e-3], [0, 0, 0]]


@pytest.mark.parametrize("last", ["1 1:2:3", "1 2:1 2:1", "1 2:1 1:1"])
@pytest.mark.parametrize("chunk", [8, 1 << 24])
def test_the_line_number_counts_over_chunks_and_blank_lines(write, monkeypatch, last, chunk):
    monkeypatch.setattr(libsvm, "_CHUNK", chunk)
    with pytest.raises(minmin.InputError, match=r"data\.svm, line 5:"):
        load_libsvm(write(f"1 1:1\n\n-1 2:1\n1 1:1\n{last}\n1 1:1\n"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("spam 1:1", "label 'spam' is not a finite number"),
        ("nan 1:1", "label 'nan'"),
        ("1:1 2:1", "label '1:1'"),
        ("1,2 1:1", "label '1,2'"),
        ("1 3", "'3' is not 'index:value'"),
        ("1 a:1", "'a:1' is not 'index:value'"),
        ("1 -1:1", "'-1:1' is not 'index:value'"),
        ("1 1.0:1", "'1.0:1' is not 'index:value'"),
        ("1 1:inf", "finite value"),
        ("1 1:1e999", "finite value"),
        ("1 1:1_0", "'1:1_0' is not 'index:value'"),
        ("1 1:１２", "'1:１２' is not 'index:value'"),
        ("1 1:--2", "'1:--2' is not"),
        ("1 5:1 4:1", "index 4 after 5; indices must increase"),
        ("1 99999999999999999999:1", "larger than any column"),
        ("\x00\x01\x02", "label"),
    ],
)
def test_malformed_lines(write, line, words):
    with pytest.raises(minmin.InputError) as caught:
        load_libsvm(write(f"1 1:1\n{line}\n"))
    assert "line 2: " in str(caught.value)
    assert words in str(caught.value)


def test_files_that_cannot_be_read(write, tmp_path):
    compressed = gzip.compress(b"1 1:1\n" * 1000)
    for path, words in [
        (tmp_path / "none", "No such file"),
        (tmp_path, "Is a directory"),
        (write(""), "no rows"),
        (write("# only\n\n", "comment"), "no rows"),
        (write(compressed[:-20], "cut"), "truncated"),
        (write(lzma.compress(b"1 1:1\n" * 1000)[:-20], "cut.xz"), "truncated"),
        (write(lzma.compress(b"1 1:1\n" * 1000)[:15] + b"\xff" * 50, "damaged.xz"), "cannot read"),
        (write(compressed[:15] + b"\xff" * 10 + compressed[25:], "damaged"), "cannot read"),
    ]:
        with pytest.raises(minmin.InputError, match=words):
            load_libsvm(path)


def test_n_features(write):
    path = write("1 3:1\n")
    assert load_libsvm(path)[0].shape == (1, 3)
    assert load_libsvm(path, n_features=5)[0].shape == (1, 5)
    with pytest.raises(minmin.InputError, match="3 columns, more than n_features = 2"):
        load_libsvm(path, n_features=2)
    with pytest.raises(minmin.InputError, match="n_features"):
        load_libsvm(path, n_features=-1)
