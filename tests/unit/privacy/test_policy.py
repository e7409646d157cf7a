import math
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from coterie import Client, Plan
from coterie.errors import PolicyError
from coterie.plan.views import Halfspaces
from coterie.privacy.policy import MAX_DELTA, MAX_SIZE, Policy, Spending, shown

KEY = "3B6a" * 16


@pytest.mark.parametrize(
    ("model", "asked", "batch", "message"),
    [
        ("central", (1.0, 1e-6, 1.0), 1, "for the central model, and this device answers local, shuffle"),
        ("local", (math.nextafter(4, 5), 0.0, 1.0), 1, r"epsilon 4\.00001, and this device allows 4"),
        ("shuffle", (1.0, 0.0, math.nextafter(10, 11)), 1, r"for local epsilon 10\.0001, and .* allows 10"),
        ("shuffle", (1.0, 0.0, math.inf), 1, "promise nothing unless they are mixed"),
        ("shuffle", (1.0, math.nextafter(1e-5, 1), 1.0), 1, r"delta 0\.0000100001, and .* allows 1e-05"),
        ("shuffle", (1.0, 1e-6, 1.0), 1_000_001, r"delta 0\.0000?0100000, and .* allows 9\.99999e-07"),
    ],
)
def test_one_plan_may_ask_so_much_and_no_more(model, asked, batch, message):
    with pytest.raises(PolicyError, match=message):
        Policy(shufflers=(KEY,)).check(model, Spending.of(*asked), batch)


def test_the_shuffle_model_needs_a_shuffler_that_the_owner_trusts():
    """Two plans of ε₀ = 10 that nobody mixed told a flag in 88.5 % of all cases, at a sum of ε = 2."""
    ten = Spending.of(1.0, 1e-6, 10.0)
    with pytest.raises(PolicyError, match=r"knows no shuffler: .* promises epsilon 10, not epsilon 1\. Name"):
        Policy().check("shuffle", ten)
    with pytest.raises(PolicyError, match="promises nothing, not epsilon 1"):
        Policy(max_local_epsilon=math.inf).check("shuffle", Spending.of(1.0, 1e-6, math.inf))
    trusting = Policy(shufflers=(KEY,))
    trusting.check("shuffle", ten)
    with pytest.raises(
        PolicyError, match="together would ask for local epsilon 20, and this device allows 12"
    ):
        trusting.check_total(ten, ten)


def test_what_is_allowed_passes():
    Policy().check("local", Spending.of(4.0, 0.0, 4.0))
    Policy(shufflers=(KEY,)).check("shuffle", Spending.of(4.0, 1e-5, 10.0), 100_000)
    Policy(shufflers=(KEY,), max_local_epsilon=math.inf).check("shuffle", Spending.of(1.0, 1e-6, math.inf))
    Policy(models=("central",), max_delta=0.5).check("central", Spending.of(1.0, 0.5, 1.0))


def test_the_sum_is_exact_and_each_figure_has_its_own():
    policy = Policy(total_epsilon=1.0, total_delta=1e-5, total_local_epsilon=3.0)
    quarter = Spending.of(0.25, 2.0**-20, 0.75)
    before = quarter + quarter + quarter
    policy.check_total(before, quarter)
    assert before + quarter == Spending(Fraction(1), Fraction(4, 2**20), Fraction(3))
    tiny = 2.0**-60
    for more in ((tiny, 0.0, 0.0), (0.0, 0.0, tiny), (0.0, 1e-5, 0.0), (0.0, 0.0, math.inf)):
        with pytest.raises(PolicyError, match="all plans of the ledger together would ask"):
            policy.check_total(before + quarter, Spending.of(*more))


def test_what_is_shown_is_rounded_up():
    assert shown(Fraction(1, 3)) == "0.333334"
    assert Fraction(shown(Fraction(0.1))) >= Fraction(0.1)  # the double is a little above a tenth
    assert shown(Fraction(1, 10**30)) == "1e-30"
    assert shown(Fraction(1, 10**9)) == "1e-9"
    assert shown(Fraction(1, 10**9) + Fraction(1, 10**20)) == "0.00000000100001"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"models": ("lokal",)}, "models must be some of"),
        ({"models": "local"}, "models must be some of"),
        ({"max_epsilon": -1}, "max_epsilon must be a number"),
        ({"total_epsilon": math.nan}, "total_epsilon must be a number"),
        ({"max_delta": "0"}, "max_delta must be a number"),
        ({"total_local_epsilon": True}, "total_local_epsilon must be a number"),
        ({"shufflers": KEY}, "shufflers are public keys"),
        ({"shufflers": (KEY[1:],)}, "shufflers are public keys"),
        ({"shufflers": (bytes(32),)}, "shufflers are public keys"),
        ({"per": "year"}, "per must be"),
        ({"per": timedelta(hours=5)}, "per must be"),
        ({"per": timedelta(days=-1)}, "per must be"),
        ({"per": timedelta(days=30, hours=1)}, "per must be"),
    ],
)
def test_a_policy_without_meaning_is_refused(settings, message):
    with pytest.raises(PolicyError, match=message):
        Policy(**settings)


def test_views_that_are_too_large_are_refused_and_stay_valid():
    views = tuple(Halfspaces(256, (0,) * 256) for _ in range(32))
    plan = Plan.design(3000, 2, 1.0, 10**6)
    large = replace(plan, parameters=replace(plan.parameters, views=views))
    assert large.size == 32 * 256 * 3000 > MAX_SIZE > 4 * plan.size
    with pytest.raises(PolicyError, match="24576000 rows times dimensions, and this device allows 16777216"):
        Client(large).encode(np.zeros(3000))
    assert len(Client(large, policy=Policy(max_size=large.size)).encode(np.zeros(3000))) == 13
    with pytest.raises(PolicyError):
        Client(large, policy=Policy(max_size=large.size - 1)).encode(np.zeros(3000))
    with pytest.raises(PolicyError, match="max_size must be a number"):
        Policy(max_size=-1)
    sums = Plan.design(3, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)
    assert sums.size == 12
    assert Plan.design(3, 2, 1.0, 1000, protocol="net-tree").size == 0


def test_the_page_of_the_wire_states_the_defaults():
    page = (Path(__file__).parents[3] / "docs/wire-format.md").read_text(encoding="utf-8")
    table = page.partition("### The owner's policy")[2].partition("These are the defaults")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[2:4]] for line in table.splitlines() if "at most" in line
    ]
    known, powers = Policy(), {1 << 24: "2²⁴", 1e-5: "10⁻⁵", 1e-4: "10⁻⁴"}
    for (alone, total), one, every in zip(
        rows,
        (known.max_epsilon, MAX_DELTA, known.max_local_epsilon, known.max_size),
        (known.total_epsilon, known.total_delta, known.total_local_epsilon, None),
        strict=True,
    ):
        assert alone.startswith(f"at most {powers.get(one) or f'{one:g}'}")
        assert total == ("–" if every is None else f"at most {powers.get(every) or f'{every:g}'}")
