"""Tables with something wrong: every message names the column, the row and what to do, in words of the file."""

import gzip
import io
import json

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest


def write_twice(write):
    """A file in which two columns have one name."""
    buffer = io.BytesIO()
    write(pyarrow.table([[1, 2], [2, 2], [0, 1]], names=["a", "a", "t"]), buffer)
    return buffer.getvalue()


FILES = {
    "one.csv": "a,bought\n1,yes\n2,yes\n",
    "zeros.csv": "a,t\n1,0\n2,0\n",
    "decimals.csv": "a,t\n1,0\n2,0.5\n3,1\n",
    "hole.csv": "age,t\n" + "30,1\n40,0\n" * 8 + ",1\n50,0\n,1\n",
    "unknown.csv": "age,t\n31,1\n40,0\nunknown,1\n",
    "units.csv": "price,t\n12 €,1\n13 €,0\n",
    "marks.csv": "size,t\n12,1\n1_000,0\n0.5,1\n",
    "script.csv": "size,t\n12,1\n１２,0\n0.5,1\n",
    "class.csv": "a,t\n1,0\n2,1\n3,１\n",
    "mixed.csv": "size;t\n1,5;1\n2,5;0\n3.5;1\n",
    "text.csv": "age,kind\n31,cat\n40,dog\n",
    "label.csv": "age,kind\n31,cat\n40,\n",
    "dates.csv": "day,t\n2024-01-31,1\n2024-02-29,0\n",
    "german.csv": "day;t\n31.01.2024;1\n29.02.2024;0\n",
    "exposure.csv": "a,years,n\n1,0.5,0\n2,-1,2\n",
    "weight.csv": "a,w,t\n1,1,0\n2,-2,1\n",
    "nothing.csv": "a,w,t\n1,0,0\n2,0,1\n",
    "three.csv": "a,o,t\n1,1,x\n2,1,y\n3,1,z\n",
    "headless.csv": "1.5,2\n2.5,3\n",
    "ragged.csv": "a,b,t\n1,2,0\n1,2,3,1\n",
    "empty.csv": "",
    "rows.csv": "a,t\n",
    "spaces.csv": "a b t\n1 2 0\n",
    "few.csv": "a,t\n1,x\n2,x\n3,x\n4,y\n5,y\n",
    "table.txt": "a,t\n1,0\n2,1\n",
    "sheet.xlsx": "anything",
    "twice.csv": "a,a,t\n1,2,0\n2,2,1\n",
    "wide.csv": "a,t\n1,0\n2,1\n".encode("utf-16"),
    "wide.svm": "0 1:1\n1 1:2\n".encode("utf-16-le"),
    "more.csv.gz": gzip.compress(b"a,t\n1,0\n2,1\n") + b"more",
    "more.svm.gz": gzip.compress(b"0 1:1\n1 1:2\n") + b"more",
    "short.csv.gz": gzip.compress(b"a,t\n1,0\n2,1\n")[:-4],
    "twice.parquet": write_twice(pyarrow.parquet.write_table),
    "twice.arrow": write_twice(pyarrow.feather.write_feather),
}
REGRESSION = ["--loss", "squared"]
ODD = [
    ("one.csv", ["--target", "bought"], "column 'bought' of {file} is 'yes' in every row", "give another --target"),
    ("zeros.csv", ["--target", "t"], "column 't' of {file} is 0 in every row", "two classes at least"),
    ("decimals.csv", ["--target", "t"], "column 't' of {file} is 0.5 in row 2 below the header", "--loss squared"),
    (
        "hole.csv",
        ["--target", "t"],
        "column 'age' of {file} has no value in row 17 below the header (2 such rows in all);",
        "--ignore 'age'",
    ),
    ("unknown.csv", ["--target", "t"], "but 'unknown' in row 3 below the header is none", "--text 'age'"),
    ("units.csv", ["--target", "t"], "but '12 €' in row 1 below the header is none", "--ignore 'price'"),
    ("marks.csv", ["--target", "t"], "'size' of {file} has numbers, but '1_000' in row 2 below", "--text 'size'"),
    ("marks.csv", ["--target", "t", "--numbers", "size"], "has '1_000' in row 2 below the header", "correct it"),
    ("marks.csv", ["--target", "size", *REGRESSION], "has '1_000' in row 2 below the header", "correct it"),
    ("script.csv", ["--target", "t"], "but '１２' in row 2 below the header is none", "plain numbers such as 1234.5"),
    ("class.csv", ["--target", "t"], "'t' of {file} has classes that are numbers, but '１' in row 3", "correct it"),
    ("mixed.csv", ["--target", "t"], "but '3.5' in row 3 below the header is none", "plain numbers such as 1234,5"),
    ("text.csv", ["--target", "age", "--numbers", "kind"], "has 'cat' in row 1 below", "--ignore 'kind'"),
    (
        "text.csv",
        ["--target", "age", "--numbers", "k*", "--text", "kind"],
        "'kind' is given to --text and to",
        "one of",
    ),
    ("unknown.csv", ["--target", "age", *REGRESSION], "has 'unknown' in row 3", "correct it"),
    ("text.csv", ["--target", "kind", *REGRESSION], "holds text, such as 'cat'", "--loss logistic"),
    ("label.csv", ["--target", "kind"], "column 'kind' of {file} has no value in row 2", "remove the row"),
    ("text.csv", ["--target", "kid"], "--target kid: {file} has no such column", "did you mean 'kind'?"),
    ("dates.csv", ["--target", "t"], "holds dates or times, such as '2024-01-31'", "--text 'day'"),
    ("german.csv", ["--target", "t"], "holds dates or times, such as '31.01.2024'", "--ignore 'day'"),
    (
        "exposure.csv",
        ["--target", "n", "--loss", "poisson", "--exposure", "years"],
        "column 'years' of {file} is -1 in row 2 below the header",
        "an exposure must be above 0",
    ),
    ("exposure.csv", ["--target", "n", "--exposure", "years"], "--exposure is for --loss", "--offset adds a column"),
    ("exposure.csv", ["--target", "years", "--loss", "gamma"], "is -1 in row 2", "needs targets above 0"),
    ("weight.csv", ["--target", "t", "--weight", "w"], "column 'w' of {file} is -2 in row 2", "at least 0"),
    ("nothing.csv", ["--target", "t", "--weight", "w"], "is 0 in every row", "above 0"),
    (
        "weight.csv",
        ["--target", "t", "--weight", "t"],
        "'t' is given to --target and to --weight",
        "two columns",
    ),
    ("three.csv", ["--target", "t", "--offset", "o"], "two classes, and 't' has 3", "leave --offset out"),
    ("headless.csv", ["--target", "t"], "has numbers in its first line (1.5, 2, …)", "add a first line with names"),
    ("ragged.csv", ["--target", "t"], "line 3 has 4 columns, but the header has 3", "in double quotes"),
    ("empty.csv", ["--target", "t"], "cannot read {file}", "it is empty"),
    ("rows.csv", ["--target", "t"], "{file} has no rows", ""),
    ("spaces.csv", ["--target", "t"], "{file} has one column, called 'a b t'", "give --delimiter ' '"),
    ("table.txt", ["--target", "t"], "table.txt, line 1", "must be called .csv, .tsv or .parquet"),
    ("sheet.xlsx", ["--target", "t"], "{file} is a spreadsheet", "save its sheet as CSV"),
    ("twice.csv", ["--target", "t"], "{file} has two columns called 'a'", "rename one"),
    ("few.csv", ["--target", "t", "--cv", "3"], "class 'y' has only 2 rows", "fewer folds"),
    ("few.csv", ["--target", "t", "--held-out", "0.1"], "0 of the 5 rows would be held out", "larger share"),
    ("few.csv", ["--target", "t", "--held-out", "0.5", "--cv", "2"], "--cv and --held-out both score", "give one"),
    ("few.csv", ["--target", "t", "--alpha", "1,2"], "several penalties are given", "--cv FOLDS"),
    ("few.csv", ["--target", "t", "--alpha", "1,-2", "--cv", "2"], "alpha of block 'all' = -2.0", "must be finite"),
    ("few.csv", ["--target", "t", "--power", "1.5"], "--power is for --loss tweedie", "leave it out"),
    ("exposure.csv", ["--target", "n", "--loss", "tweedie", "--power", "2"], "--power 2 must be above 1", "gamma is 2"),
    ("few.csv", ["--target", "t", "--block", "b=@text:1"], "--block b @text: {file} has no column of text", ""),
    ("few.csv", ["--target", "t", "--delimiter", "::"], "'::' is not one character", "'tab'"),
    ("text.csv", ["--target", "age", "--block", "b=@text:1", "--ignore", "kind"], "{file} has no column of text", ""),
    ("text.csv", ["--target", "age", "--numbers", "@text", "--ignore", "kind"], "{file} has no column of text", ""),
    ("wide.csv", ["--target", "t"], "{file}: its text is UTF-16, not UTF-8", "convert it with iconv -f utf-16"),
    ("wide.svm", [], "{file}: its text is UTF-16, not UTF-8", "convert it with iconv -f utf-16"),
    ("more.csv.gz", ["--target", "t"], "cannot read {file}: its compressed data", "compress it anew"),
    ("more.svm.gz", [], "cannot read {file}: its compressed data are damaged, or other bytes", "compress it anew"),
    ("short.csv.gz", ["--target", "t"], "cannot read {file}: its compressed data are cut off", "compress it anew"),
    ("twice.parquet", ["--target", "t"], "{file} has two columns called 'a'", "rename one"),
    ("twice.arrow", ["--target", "t"], "{file} has two columns called 'a'", "rename one"),
]


@pytest.mark.parametrize(("name", "options", "what", "remedy"), ODD, ids=lambda value: str(value)[:40])
def test_a_message_says_what_is_wrong_and_what_to_do(call, tmp_path, name, options, what, remedy):
    file = tmp_path / name
    content = FILES[name]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, _, err = call("fit", file, *options)
    assert code == 2
    assert what.format(file=file) in err
    assert remedy in err
    assert not any(word in err for word in ("Arrow", "int64", "string", "Traceback"))


def test_text_that_is_not_utf_8_is_named(call, tmp_path):
    file = tmp_path / "latin.csv"
    file.write_bytes("name,t\nJosé,1\nAnn,0\n".encode("latin-1"))
    code, _, err = call("fit", file, "--target", "t")
    assert code == 2
    assert "its text is not UTF-8; save it as 'CSV UTF-8', or convert it" in err
    assert "(column 'name')" in err


@pytest.fixture
def texts(tmp_path):
    """A Parquet file of numbers as text; one cell of some column is no number."""
    columns = {"size": ["0.25", " -1 ", "3e2", ".5"], "t": [1, 0, 0, 1], "slip": ["1", "2", "nan", "4"]}
    file = tmp_path / "texts.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file


def test_numbers_as_text_are_read_as_the_user_says(call, texts, tmp_path):
    model, options = tmp_path / "model.skops", ["--target", "t", "--ignore", "slip"]
    code, _, err = call("fit", texts, *options)
    assert code == 2
    assert f"column 'size' of {texts} has numbers as text, such as '0.25' in row 1 below the header; " in err
    assert "--numbers 'size'" in err
    assert "--text 'size'" in err
    said = call("fit", texts, *options, "--numbers", "s*e", "--block", "all=@numbers:1", "--save", model, "--json")[1]
    assert json.loads(said)["blocks"][0]["coefficients"] == 1
    assert call("predict", model, texts)[0] == 0
    said = call("fit", texts, *options, "--text", "size", "--json")[1]
    assert json.loads(said)["blocks"][0]["coefficients"] == 4


def test_a_text_that_is_no_finite_number_is_named(call, texts):
    code, _, err = call("fit", texts, "--target", "t", "--numbers", "size,slip")
    assert code == 2
    assert "column 'slip' of" in err
    assert "has 'nan' in row 3 below the header, which is not a number" in err


def test_classes_may_be_ranges(call, tmp_path):
    file = tmp_path / "ages.csv"
    file.write_text("a,t\n1,0-9\n2,10-19\n3,20+\n4,5\n")
    assert call("fit", file, "--target", "t")[0] == 0


def test_many_numbers_as_classes_are_noted(call, tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("a,t\n" + "".join(f"{i % 7},{i % 22}\n" for i in range(66)))
    code, _, err = call("fit", file, "--target", "t")
    assert code == 0
    assert err == (
        "note: the target has 22 different numbers, and each is a class; for a regression give --loss squared\n"
    )


def test_a_text_column_that_names_the_rows_is_noted(call, tmp_path):
    file = tmp_path / "names.csv"
    file.write_text("name,a,t\n" + "".join(f"n{i},{i % 7},{i % 2}\n" for i in range(30)))
    code, _, err = call("fit", file, "--target", "t")
    assert code == 0
    assert "note: column 'name' has 30 different texts in 30 rows; if it names the rows, give --id 'name'" in err
    assert call("fit", file, "--target", "t", "--id", "name")[2] == ""


def test_columns_without_a_name_are_left_out_and_noted(call, tmp_path):
    file = tmp_path / "index.csv"
    file.write_text(",a,t,\n0,1,1,\n1,2,0,\n")
    code, out, err = call("fit", file, "--target", "t")
    assert code == 0
    assert "1 column (a)" in out
    assert err.splitlines() == [
        f"note: column {number} of {file} has no name, and is left out; to use it, name it in the first line"
        for number in (1, 4)
    ]


def test_a_first_line_may_say_what_separates_the_columns(call, tmp_path):
    file = tmp_path / "sheet.csv"
    file.write_text("sep=;\na;t\n1,5;1\n2,5;0\n")
    code, out, _ = call("fit", file, "--target", "t")
    assert code == 0
    assert out.startswith("sheet.csv: 2 rows, columns separated by ';', decimals by ','; logistic loss\n")


def test_roles_are_for_files_with_names(call, svm):
    code, _, err = call("fit", svm, "--weight", "3")
    assert code == 2
    assert "--weight is for CSV and Parquet" in err


def test_a_number_is_missing_in_the_rows_to_predict(call, tmp_path):
    file, model = tmp_path / "rows.csv", tmp_path / "model.skops"
    file.write_text("a,t\n1,x\n2,y\n3,x\n")
    assert call("fit", file, "--target", "t", "--save", model)[0] == 0
    for content, words in [
        ("a\n1\n\n", None),
        ("a,b\n1,1\n,2\n", "column 'a' of {file} has no value in row 2 below the header; fill in a number"),
        ("a\n1_000\n1\n", "column 'a' of {file} has '1_000' in row 1 below the header, which is not a number"),
        ("a\n1\nlow\n", "column 'a' of {file} has 'low' in row 2 below the header, which is not a number"),
    ]:
        file.write_text(content)
        code, _, err = call("predict", model, file)
        assert code == (0 if words is None else 2)
        assert words is None or words.format(file=file) in err
