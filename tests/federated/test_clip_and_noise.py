"""Clipping and noise: what leaves a client, and what the server may still say of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmin
from federated.cases import WEIGHTS, Listening, quadratic, three_problems
from minmin import federated
from minmin.federated import Client, ClipAndNoise, FolderStore, LocalEngine
from minmin.federated.protocol import Envelope, EvaluateRequest, Reply, decode


def noisy(clip_and_noise, folder=None):
    stores = [None if folder is None else FolderStore(folder / str(i)) for i in range(3)]
    parts = zip(three_problems(), WEIGHTS, stores, strict=True)
    return [Client(p, w, store=store, clip_and_noise=clip_and_noise) for p, w, store in parts]


def request(round_, x):
    return Envelope(EvaluateRequest("a", round_, x, True))


def sent(clients, method="bam", **options):
    engine = Listening(LocalEngine(clients))
    result = federated.run(clients, method, engine=engine, **options)
    return result, [m for m in map(decode, engine.up) if isinstance(m, Reply)]


@given(seed=st.integers(0, 2**31), clip=st.floats(1e-3, 1e3), single=st.booleans())
def test_a_clipped_vector_is_as_long_as_allowed_and_points_the_same_way(seed, clip, single):
    rng = np.random.default_rng(seed)
    vector = (10.0 ** rng.uniform(-3, 3) * rng.standard_normal(5)).astype("float32" if single else "float64")
    clipped = ClipAndNoise(clip=clip).apply(vector, request(1, vector))
    length = np.linalg.norm(vector)
    assert clipped.dtype == vector.dtype
    assert np.allclose(clipped, vector * min(1.0, clip / length), rtol=1e-5)
    if length <= clip:
        assert np.array_equal(clipped, vector)


def test_noise_has_the_size_that_was_asked_for():
    vector = np.zeros(20000)
    noise = ClipAndNoise(noise=0.3, seed=1).apply(vector, request(1, vector))
    assert np.std(noise) == pytest.approx(0.3, rel=0.03)
    assert abs(np.mean(noise)) < 0.01


def test_noise_follows_from_seed_and_request_alone():
    x = np.ones(4)
    first, other = request(1, x), request(2, x)
    seeded = ClipAndNoise(noise=1.0, seed=3)
    assert np.array_equal(seeded.apply(x, first), seeded.apply(x, Envelope.from_bytes(request(1, x.copy()).data)))
    assert not np.array_equal(seeded.apply(x, first), seeded.apply(x, other))
    assert not np.array_equal(seeded.apply(x, first), ClipAndNoise(noise=1.0, seed=4).apply(x, first))
    assert not np.array_equal(ClipAndNoise(noise=1.0).apply(x, first), ClipAndNoise(noise=1.0).apply(x, first))


@pytest.mark.parametrize("method", ["bam", "reduced-lbfgs", "fedavg", "scaffold"])
def test_what_leaves_is_clipped_and_holds_no_value(method):
    _, replies = sent(noisy(ClipAndNoise(clip=0.01)), method, rounds=6)
    vectors = [reply.vector for reply in replies if reply.vector.size]
    assert vectors
    assert all(np.linalg.norm(vector) <= 0.01 * (1 + 1e-12) for vector in vectors)
    assert all(reply.value is None for reply in replies)


@pytest.mark.parametrize("method", ["bam", "reduced-lbfgs"])
def test_a_bound_from_noisy_gradients_is_never_certified(method):
    exact = federated.run(three := noisy(None), method)
    assert exact.certified
    result, _ = sent(noisy(ClipAndNoise(noise=1e-4, seed=0)), method, tol=1e-12, rounds=30)
    assert not result.certified
    assert np.isnan(result.fun)
    harmless = federated.run(noisy(ClipAndNoise(clip=1e9)), method)
    assert harmless.success
    assert not harmless.certified
    assert np.array_equal(harmless.x, exact.x)
    one = federated.run([*three[:2], noisy(ClipAndNoise(clip=1e9))[2]], method)
    assert not one.certified


def test_noise_leaves_x_near_the_minimum():
    exact = federated.run(noisy(None), tol=1e-10).x
    found = federated.run(noisy(ClipAndNoise(noise=1e-3, seed=5)), "bam", tol=1e-12, rounds=200).x
    assert 0 < np.linalg.norm(found - exact) < 0.1


def test_a_repeated_round_is_answered_the_same_without_a_seed(tmp_path):
    client = noisy(ClipAndNoise(noise=1.0), tmp_path)[0]
    engine = Listening(LocalEngine([client]))
    federated.run([client], "bam", engine=engine, rounds=2)
    task, reply = [pair for pair in zip(engine.down, engine.up, strict=True) if decode(pair[0]).kind == "task"][-1]
    again = noisy(ClipAndNoise(noise=1.0), tmp_path)[0]
    assert again.answer(task) == reply


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "does nothing"),
        ({"clip": 0.0}, "clip = 0.0 must be positive"),
        ({"clip": float("nan")}, "clip"),
        ({"noise": -1.0}, "noise = -1.0 must be >= 0"),
        ({"noise": float("inf")}, "noise"),
        ({"noise": 1.0, "seed": -1}, "seed"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(minmin.InputError, match=words):
        ClipAndNoise(**options)


def test_a_client_takes_nothing_else():
    with pytest.raises(minmin.InputError, match=r"clip_and_noise must be a minmin.federated.ClipAndNoise, got 0.1"):
        Client(quadratic(np.random.default_rng(0), 2, 2), clip_and_noise=0.1)


def test_the_former_names_work_and_warn():
    with pytest.warns(DeprecationWarning, match=r"Blur is now called ClipAndNoise; .* minmin 0\.3"):
        blur = federated.Blur(clip=1.0)
    assert isinstance(blur, ClipAndNoise)
    with pytest.warns(DeprecationWarning, match=r"Client\(blur=\) is now called clip_and_noise=; .* minmin 0\.3"):
        client = Client(quadratic(np.random.default_rng(0), 2, 2), blur=blur)
    assert client.clip_and_noise == blur
