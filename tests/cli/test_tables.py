"""Tables as people bring them: delimiters, labels, text, and columns that are no features."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse

from minmin import estimators
from minmin.cli import saved

CITIES = ["Omsk", "Perm", "Kazan", None]


def read(text):
    """A CSV text as lists by the name of the column."""
    return pyarrow.csv.read_csv(io.BytesIO(text.encode())).to_pydict()


@pytest.fixture
def clients():
    """60 clients with an id, numbers, a text column with empty cells, and labels yes and no."""
    rng = np.random.default_rng(0)
    city = rng.integers(0, 4, 60)
    age = rng.integers(18, 80, 60)
    bought = rng.random(60) < 1 / (1 + np.exp(0.05 * (age - 50) + city - 1.5))
    return pyarrow.table(
        {
            "client": [f"k{i}" for i in range(60)],
            "age": age,
            "income": np.round(rng.normal(size=60), 2),
            "city": [CITIES[i] for i in city],
            "years": np.round(rng.uniform(0.1, 2.0, 60), 2),
            "claims": rng.poisson(1.0, 60),
            "bought": np.where(bought, "yes", "no"),
        }
    )


@pytest.fixture
def file(tmp_path, clients):
    path = tmp_path / "clients.csv"
    pyarrow.csv.write_csv(clients, path)
    return path


def by_hand(clients):
    """The features one-hot, as the command orders them: age, income; categories sorted, empty cells last."""
    city = np.array([value or "~" for value in clients["city"].to_pylist()])
    columns = [clients[name].to_numpy() for name in ("age", "income")]
    return np.column_stack([*columns, *(city == name for name in ("Kazan", "Omsk", "Perm", "~"))]).astype(float)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_text_columns_and_labels_are_taken_as_they_are(call, clients, tmp_path, suffix):
    file, path = tmp_path / f"clients.{suffix}", tmp_path / "model.skops"
    if suffix == "csv":
        pyarrow.csv.write_csv(clients, file)
    else:
        place = clients.column_names.index("city")
        pyarrow.parquet.write_table(clients.set_column(place, "city", clients["city"].dictionary_encode()), file)
    options = ["--target", "bought", "--id", "client", "--ignore", "claims,years", "--tol", 1e-10]
    code, out, _ = call("fit", file, *options, "--block", "text=@text:1e-2", "--alpha", 1e-4, "--save", path, "--json")
    expected = estimators.BlockLogisticRegression(
        {"rest": [0, 1], "text": slice(2, 6)}, alpha={"rest": 1e-4, "text": 1e-2}, tol=1e-10
    )
    expected.fit(by_hand(clients), clients["bought"].to_numpy(zero_copy_only=False).astype(str))
    assert code == 0
    said = json.loads(out)
    assert [(block["name"], block["columns"], block["coefficients"]) for block in said["blocks"]] == [
        ("text", 1, 4),
        ("rest", 2, 2),
    ]
    assert said["fun"] == pytest.approx(expected.result_.fun, abs=1e-10)
    labels = read(call("predict", path, file)[1])
    assert list(labels) == ["client", "prediction"]
    assert labels["client"] == clients["client"].to_pylist()
    assert labels["prediction"] == expected.predict(by_hand(clients)).tolist()
    probabilities = read(call("predict", path, file, "--proba")[1])
    assert list(probabilities) == ["client", "probability_no", "probability_yes"]
    assert probabilities["probability_yes"] == pytest.approx(expected.predict_proba(by_hand(clients))[:, 1], abs=1e-5)


@pytest.mark.parametrize(("delimiter", "name"), [(";", "';'"), ("\t", "tabs"), ("|", "'|'")])
def test_delimiters_are_found_and_said(call, clients, file, tmp_path, delimiter, name):
    other = tmp_path / "other.csv"
    pyarrow.csv.write_csv(clients, other, pyarrow.csv.WriteOptions(delimiter=delimiter))
    options = ["--target", "bought", "--ignore", "client"]
    code, out, _ = call("fit", other, *options)
    assert code == 0
    assert out.startswith(f"other.csv: 60 rows, columns separated by {name}; logistic loss\n")
    said = [json.loads(call("fit", path, *options, "--json")[1]) for path in (file, other)]
    assert said[0]["fun"] == said[1]["fun"]
    code, _, err = call("fit", other, *options, "--delimiter", ",")
    assert code == 2
    assert "other.csv has one column, called " in err
    assert f"give --delimiter {'tab' if delimiter == chr(9) else repr(delimiter)}" in err


def test_decimal_commas_are_found_and_said(call, tmp_path):
    comma, point, model = tmp_path / "comma.csv", tmp_path / "point.csv", tmp_path / "model.skops"
    point.write_text("size,price\n1.5,2.25\n3,4.5\n2.5,2\n")
    comma.write_text(point.read_text().replace(",", ";").replace(".", ","))
    code, out, _ = call("fit", comma, "--target", "price", "--loss", "squared", "--save", model)
    assert code == 0
    assert "columns separated by ';', decimals by ','" in out
    code, out, err = call("predict", model, comma)
    assert err == f"note: {comma}: columns separated by ';', decimals by ','\n"
    assert out == call("predict", model, point)[1]
    assert call("predict", model, comma, "--quiet")[2] == ""


def test_a_frame_that_pandas_saved_with_its_index(call, clients, tmp_path):
    file = tmp_path / "clients.parquet"
    clients.select(["age", "city", "bought"]).to_pandas()[::-1].to_parquet(file)
    said = json.loads(call("fit", file, "--target", "bought", "--json")[1])
    assert [block["columns"] for block in said["blocks"]] == [2]


def test_columns_of_numbers_can_be_text(call, tmp_path):
    file, model, new = tmp_path / "codes.csv", tmp_path / "model.skops", tmp_path / "new.csv"
    file.write_text("code,t\n007,1\n7,0\n007,1\n12,0\n")
    code, _, _ = call("fit", file, "--target", "t", "--text", "code", "--alpha", 0.01, "--save", model)
    assert code == 0
    assert saved.load(model).categories_ == {"code": ["007", "12", "7"]}
    new.write_text("code\n007\n7\n")
    assert read(call("predict", model, new)[1])["prediction"] == [1, 0]


def test_weights_count_as_repeated_rows(call, tmp_path):
    weighted, repeated = tmp_path / "weighted.csv", tmp_path / "repeated.csv"
    weighted.write_text("a,w,t\n1,2,0\n2,1,1\n3,3,0\n4,0,1\n5,1,1\n")
    repeated.write_text("a,t\n1,0\n1,0\n2,1\n3,0\n3,0\n3,0\n5,1\n")
    options = ["--target", "t", "--alpha", 0.1, "--json", "--tol", 1e-10]
    said = [
        json.loads(call("fit", weighted, *options, "--weight", "w")[1]),
        json.loads(call("fit", repeated, *options)[1]),
    ]
    assert said[0]["fun"] == pytest.approx(said[1]["fun"], abs=1e-10)


@pytest.mark.parametrize(
    ("loss", "kind", "more"),
    [
        ("poisson", "BlockPoissonRegressor", {}),
        ("gamma", "BlockGammaRegressor", {}),
        ("tweedie", "BlockTweedieRegressor", {"power": 1.7}),
    ],
)
def test_predictions_use_the_exposure_and_the_offset_of_the_new_rows(call, clients, tmp_path, loss, kind, more):
    clients = clients.set_column(5, "claims", pyarrow.array(clients["claims"].to_numpy() + 1.0))
    file, model = tmp_path / "clients.csv", tmp_path / "model.skops"
    pyarrow.csv.write_csv(clients, file)
    options = ["--target", "claims", "--loss", loss, "--exposure", "years", "--offset", "income", "--ignore", "c*,b*"]
    more_options = [part for name, value in more.items() for part in (f"--{name}", value)]
    assert call("fit", file, *options, *more_options, "--alpha", 0.01, "--tol", 1e-10, "--save", model)[0] == 0
    X, offset = (
        clients["age"].to_numpy()[:, None] * 1.0,
        np.log(clients["years"].to_numpy()) + clients["income"].to_numpy(),
    )
    expected = getattr(estimators, kind)(alpha=0.01, tol=1e-10, **more)
    expected.fit(X, clients["claims"].to_numpy(), offset=offset)
    new = tmp_path / "new.csv"
    pyarrow.csv.write_csv(clients.select(["years", "age", "income"]).slice(0, 10), new)
    predicted = read(call("predict", model, new)[1])["prediction"]
    assert predicted == pytest.approx(expected.predict(X[:10], offset=offset[:10]), rel=1e-4)
    pyarrow.csv.write_csv(clients.select(["age", "income"]), new)
    code, _, err = call("predict", model, new)
    assert code == 2
    assert f"the model's --exposure years: {new} has no such column" in err
    renamed = clients.select(["age", "income"]).add_column(0, "time", clients["years"]).slice(0, 10)
    pyarrow.csv.write_csv(renamed, new)
    predicted = read(call("predict", model, new, "--exposure", "time", "--offset", "income")[1])["prediction"]
    assert predicted == pytest.approx(expected.predict(X[:10], offset=offset[:10]), rel=1e-4)


def test_a_model_that_was_fitted_with_an_offset_elsewhere_needs_one(call, clients, tmp_path):
    frame = clients.to_pandas()
    model, new = tmp_path / "model.skops", tmp_path / "new.csv"
    offset = np.log(frame["years"].to_numpy())
    fitted = estimators.BlockPoissonRegressor(alpha=0.01).fit(frame[["age"]], frame["claims"], offset=offset)
    model.write_bytes(saved.dump(fitted))
    pyarrow.csv.write_csv(clients.slice(0, 10), new)
    code, _, err = call("predict", model, new)
    assert code == 2
    assert f"{model} was fitted with an offset or exposure, and for {new} none is known; name its column" in err
    predicted = read(call("predict", model, new, "--exposure", "years")[1])["prediction"]
    assert predicted == pytest.approx(fitted.predict(frame[["age"]][:10], offset=offset[:10]), rel=1e-9)


def test_an_exposure_is_for_losses_that_it_multiplies(call, clients, tmp_path):
    frame, model, new = clients.to_pandas(), tmp_path / "model.skops", tmp_path / "new.csv"
    model.write_bytes(saved.dump(estimators.BlockRidge().fit(frame[["age"]], frame["claims"])))
    pyarrow.csv.write_csv(clients, new)
    code, _, err = call("predict", model, new, "--exposure", "years")
    assert code == 2
    assert "--exposure is for --loss" in err


def test_huber(call, clients, file):
    options = ["--target", "income", "--loss", "huber", "--delta", 0.5, "--ignore", "c*,b*,y*", "--tol", 1e-10]
    said = json.loads(call("fit", file, *options, "--alpha", 0.01, "--json")[1])
    expected = estimators.BlockHuberRegressor(alpha=0.01, delta=0.5, tol=1e-10)
    expected.fit(clients["age"].to_numpy()[:, None] * 1.0, clients["income"].to_numpy())
    assert said["fun"] == pytest.approx(expected.result_.fun, abs=1e-10)


def test_what_predictions_do_not_know_is_noted(call, file, tmp_path):
    model, new = tmp_path / "model.skops", tmp_path / "new.csv"
    options = ["--target", "bought", "--id", "client", "--ignore", "years,claims", "--save", model]
    assert call("fit", file, *options)[0] == 0
    new.write_text("age,income,city\n30,1,Omsk\n40,2,Bern\n50,1,Rome\n")
    code, out, err = call("predict", model, new)
    assert code == 0
    assert list(read(out)) == ["prediction"]
    assert f"note: {new} has no column 'client'; predictions are in the order of its rows" in err
    assert "has categories that the model does not know in 2 of 3 rows, such as 'Bern'; their coefficient is 0" in err


def test_claims_with_text_and_exposure_are_the_model_one_hot_by_hand(call, tmp_path):
    data = Path(__file__).parents[3] / "shared" / "data" / "tables" / "ausprivauto0405.csv.gz"
    if not data.exists():
        pytest.skip("ausprivauto0405 is not beside the project (../shared/data/tables/ausprivauto0405.csv.gz)")
    model = tmp_path / "model.skops"
    options = ["--loss", "poisson", "--exposure", "Exposure", "--ignore", "ClaimOcc,ClaimAmount", "--tol", 1e-12]
    blocks = ["--block", "text=@text:1e-3", "--alpha", 1e-6]
    assert call("fit", data, "--target", "ClaimNb", *options, *blocks, "--save", model)[0] == 0
    found = saved.load(model)
    table = pyarrow.csv.read_csv(pyarrow.input_stream(str(data), compression="gzip"))
    names, columns = ["VehValue"], [table["VehValue"].to_numpy()]
    for name in ("VehAge", "VehBody", "Gender", "DrivAge"):
        values = np.array(table[name].to_pylist())
        for category in np.unique(values):
            names.append(f"{name}={category}")
            columns.append((values == category).astype(float))
    X, offset = scipy.sparse.csr_array(np.column_stack(columns)), np.log(table["Exposure"].to_numpy())
    alphas = {"text": 1e-3, "rest": 1e-6}
    expected = estimators.BlockPoissonRegressor({"text": slice(1, 26)}, alpha=alphas, tol=1e-12)
    expected.fit(X, table["ClaimNb"].to_numpy(), offset=offset)
    assert found.result_.certified
    assert found.feature_names_out_.tolist() == names
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0.0, atol=1e-10)
    assert found.intercept_ == pytest.approx(expected.intercept_, abs=1e-10)
    predicted = np.array(read(call("predict", model, data)[1])["prediction"])
    np.testing.assert_allclose(predicted, expected.predict(X, offset=offset), rtol=0.0, atol=1e-10)
