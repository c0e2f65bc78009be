"""Every line can be drawn on a light and on a dark page, and told from the others of its method."""

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.page.curves import DASHES
from minmin.experiments.relatives.panels import draw_curves
from minmin.experiments.relatives.studies import STUDIES
from minmin.experiments.relatives.trials import gather
from minmin.experiments.styles import ON_DARK, style_of

from .conftest import made_up_calls, make_up_outcomes


def test_every_colour_has_a_dark_version_and_every_variant_its_dashes():
    outcomes = make_up_outcomes(made_up_calls)
    trials = gather(outcomes, list(outcomes), 1e-8)
    styles = [style_of(key) for key in CONTESTANTS]
    styles += [curve for study in STUDIES for curve in draw_curves(trials, study)]
    assert {style.colour for style in styles} <= set(ON_DARK)
    assert {style.dash for style in styles} <= set(range(len(DASHES)))
    assert len(set(ON_DARK.values())) == len(ON_DARK)


def test_step_sizes_of_a_method_are_told_apart():
    assert len({style_of(f"fedavg-{size}")[1:] for size in ("0.5", "1", "2")}) == 3
