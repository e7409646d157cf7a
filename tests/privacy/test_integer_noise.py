"""Accounting of integer Gaussian noise: exact in one dimension, by Rényi in many, wrong scales rejected."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.reproduction.shuffled_histogram import blanket_delta, least_blanket
from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.privacy.renyi import (
    Influence,
    distributed_curve,
    exact_delta,
    gaussian_curve,
    least_scale,
    renyi_delta,
    renyi_epsilon,
)

# (σ, ε at δ = 1e-6, δ at ε = 1) of a Gaussian with influence 1, from dp-accounting 0.6.0 (RdpAccountant);
# its grid of orders is coarser, so its parameters are a little larger.
REFERENCE = [(3.0, 1.55773, 7.0240e-4), (4.0, 1.14317, 1.23333e-5), (5.0, 0.899939, 8.8646e-8)]


@pytest.mark.parametrize(("scale", "epsilon", "delta"), REFERENCE)
def test_the_conversion_agrees_with_dp_accounting(scale, epsilon, delta):
    curve = gaussian_curve(Influence(1, 1), Fraction(scale))
    assert epsilon * 0.995 < renyi_epsilon(curve, 1e-6) <= epsilon * 1.0001
    assert delta * 0.97 < renyi_delta(curve, 1.0) <= delta * 1.0001


def test_the_package_itself_agrees_where_it_is_installed():
    accounting = pytest.importorskip("dp_accounting")
    accountant = accounting.rdp.RdpAccountant(1 + np.geomspace(0.05, 200, 400))
    accountant.compose(accounting.GaussianDpEvent(4.5))
    curve = gaussian_curve(Influence(1, 1), Fraction(9, 2))
    assert renyi_epsilon(curve, 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(4), Fraction(8)])
def test_renyi_bounds_the_exact_law_of_one_integer(scale):
    for shift in (1, 2, 3):
        curve = gaussian_curve(Influence(shift * shift, 1), scale)
        for epsilon in (0.5, 1.0, 2.0):
            assert exact_delta(scale, shift, epsilon) <= renyi_delta(curve, epsilon) * (1 + 1e-9)


def test_the_calibrated_scale_is_private_and_a_tenth_less_is_not():
    influence = Influence(4, 1000)
    scale = least_scale(lambda s: gaussian_curve(influence, s), 1.0, 1e-6, parts=64)
    assert float(scale) == pytest.approx(9.06, abs=0.01)
    assert exact_delta(scale, 2, 1.0) <= 1e-6
    assert exact_delta(scale * Fraction(9, 10), 2, 1.0) > 1e-6  # one coordinate is enough to refute it


def test_one_dimension_is_no_bound_in_many():
    """One step in each of 16 coordinates can lose more than four steps in one: same Δ₂, another law."""
    scale = Fraction(3, 4)
    values = np.arange(-9, 10)
    law = np.exp(-(values**2) / (2 * float(scale) ** 2))
    law /= law.sum()
    total = np.array([1.0])
    for _ in range(16):
        total = np.convolve(total, law)  # law of ΣY, from -144 to 144
    sums = np.arange(-144, 145)
    losses = (16 + 2 * sums) / (2 * float(scale) ** 2)

    def many(epsilon):
        return float((total * np.maximum(1 - np.exp(epsilon - losses), 0)).sum())

    ratios = [many(epsilon) / exact_delta(scale, 4, epsilon) for epsilon in np.linspace(15, 40, 60)]
    assert max(ratios) > 1.2
    curve = gaussian_curve(Influence(16, 16), scale)
    for epsilon in (15.0, 20.0, 30.0):
        assert many(epsilon) <= renyi_delta(curve, epsilon)


def test_distributed_noise_costs_next_to_nothing_above_two_steps_and_much_below():
    influence = Influence(4 << 24, 102 * 1024)
    people = 10_000
    fine = renyi_epsilon(distributed_curve(influence, Fraction(400), people), 1e-6)
    whole = renyi_epsilon(gaussian_curve(influence, Fraction(40_000)), 1e-6)
    assert fine == pytest.approx(whole, rel=1e-6)
    small = Influence(16, 100)
    coarse = renyi_epsilon(distributed_curve(small, Fraction(1, 2), 100), 1e-6)
    assert coarse > 1.5 * renyi_epsilon(gaussian_curve(small, Fraction(5)), 1e-6)


def test_blanket_rates_as_published():
    assert [math.ceil(least_blanket(epsilon, 1e-6)) for epsilon in (0.5, 1.0, 2.0)] == [137, 43, 19]


def test_the_blanket_bound_is_the_exact_law():
    """Two bins, Poisson dummies: δ = Σ max(0, P - e^ε Q) over the counts themselves."""
    from scipy.stats import poisson

    for rate, epsilon in ((3.0, 0.5), (12.0, 1.0)):
        counts = np.arange(0, 120)
        pmf, moved = poisson.pmf(counts, rate), poisson.pmf(counts - 1, rate)
        gains = moved[:, None] * pmf[None] - math.exp(epsilon) * pmf[:, None] * moved[None]
        exact = np.maximum(gains, 0).sum()
        assert exact <= blanket_delta(epsilon, rate) <= exact * (1 + 1e-6)
    assert blanket_delta(1.0, 0.9 * float(least_blanket(1.0, 1e-6))) > 1e-6


@pytest.mark.parametrize(
    ("model", "layout"), [("shuffle", "cells"), ("shuffle", "column"), ("central", "cells")]
)
def test_a_plan_with_a_tenth_less_noise_is_refused(model, layout):
    plan = Plan.design(
        3, 2, 1.0, 5000, protocol="vector-sums", model=model, delta=1e-6, layout=layout, cells=8
    )
    wrong = dataclasses.replace(plan.parameters, noise_parts=plan.parameters.noise_parts * 9 // 10)
    with pytest.raises(PlanError, match="would not keep its promise"):
        dataclasses.replace(plan, parameters=wrong)
    if model == "shuffle":
        fewer = dataclasses.replace(plan.parameters, shares=plan.parameters.shares - 2)
        with pytest.raises(PlanError, match="would not keep its promise"):
            dataclasses.replace(plan, parameters=fewer)
