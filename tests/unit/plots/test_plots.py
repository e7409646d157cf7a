"""Figures say what the result says, draw into what they are given, and touch no setting of matplotlib."""

import itertools
import re
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection

from coterie import Plan
from coterie.centers.result import Interval
from coterie.errors import MissingExtraError, SettingError
from coterie.plots import (
    COLORS,
    ChoicesDisplay,
    ForecastDisplay,
    GroupsDisplay,
    ProfileDisplay,
    WavesDisplay,
)
from coterie.show.pages import sheet
from tests.unit.show.test_show import PHONE, result_of_two

# Machado, Oliveira and Fernandes (2009), severity 1: what linear RGB is to people who lack one kind of cone.
SEEN = {
    "all": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
OKLAB = np.array(
    [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.808675766]]
)  # fmt: skip
TOLD_APART = 0.09  # in OKLab; a just noticeable difference is about 0.02


@pytest.fixture(autouse=True)
def close():
    mpl.use("Agg")
    before = dict(mpl.rcParams)
    yield
    pyplot.close("all")
    assert dict(mpl.rcParams) == before  # nothing global is changed


def written(ax):
    texts = [text.get_text() for text in [*ax.texts, ax.xaxis.label, *ax.get_yticklabels()]]
    return " ".join([*texts, ax.get_title("left")])


def least_distance(colors, matrix):
    light = np.array([mpl.colors.to_rgb(color) for color in colors])
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    seen = np.cbrt(np.clip(linear @ np.array(matrix).T, 0, 1) @ CONES.T) @ OKLAB.T
    return min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2))


@pytest.mark.parametrize("matrix", SEEN.values(), ids=SEEN)
def test_the_color_blind_tell_the_groups_apart(matrix):
    assert least_distance(COLORS, matrix) > TOLD_APART
    before = ("#0072b2", "#a8700a", "#1a8a5f", "#a3427f", "#5b6ad0")
    assert least_distance(before, SEEN["tritanopia"]) < TOLD_APART  # the check can fail


def test_the_colors_are_those_of_the_pages():
    assert tuple(re.findall(r"--g\d: (#\w{6});", sheet())[: len(COLORS)]) == COLORS


def test_groups_are_drawn_where_and_as_wide_as_the_result_says():
    result = result_of_two([0.2, 0.1])
    drawn = GroupsDisplay.from_result(result)
    rings = [patch for patch in drawn.ax_.patches if patch.get_linestyle() != "-"]
    assert [ring.radius for ring in rings] == [0.2, 0.1]
    apart = np.hypot(*np.subtract(*[ring.center for ring in rings]))
    assert apart == pytest.approx(np.linalg.norm(result.centers[0] - result.centers[1]))
    words = written(drawn.ax_)
    assert "60% (57 to 63) of people" in words
    assert "The groups explain 45% (39 to 51)" in words
    assert "not private" not in words


def test_groups_of_which_nothing_is_stated_are_drawn_without_rings():
    ax = GroupsDisplay.from_result(result_of_two([0.2, 0.1]).refit(1)).ax_
    assert "1,000 people in one group" in ax.get_title("left")
    assert "Dashed" not in written(ax)
    assert [patch.radius for patch in ax.patches] == [0]


def test_people_in_the_open_are_said_to_be():
    result = result_of_two([0.2, 0.1])
    drawn = GroupsDisplay.from_result(result, people=np.repeat(PHONE[None], 9000, axis=0))
    assert "not private" in written(drawn.ax_)
    assert len(drawn.people) <= 4000
    record = {feature.name: [None] for feature in result.features.features}
    assert GroupsDisplay.from_result(result, people=record).people.shape == (1, len(PHONE))
    with pytest.raises(SettingError, match=r"shape \(n, "):
        GroupsDisplay.from_result(result, people=np.zeros((3, 2)))


def test_hidden_groups_are_not_drawn():
    nothing = Interval(0.0, 0.0, 0.0)
    result = result_of_two([0.2, 0.1], clear=np.array([False, False]), explained=nothing)
    ax = GroupsDisplay.from_result(result).ax_
    assert not ax.patches
    assert "hides any groups" in written(ax)
    too_many = result_of_two([0.2, 0.1], clear=np.array([False, False]))
    assert "hides which is which:\nask for fewer." in written(GroupsDisplay.from_result(too_many).ax_)
    with pytest.raises(SettingError, match="there is no profile"):
        ProfileDisplay.all_from_result(result)
    with pytest.raises(SettingError, match=r"\(none\), got 'A'"):
        ProfileDisplay.from_result(result)


def test_a_profile_has_every_figure_its_range_and_everybody():
    result = result_of_two([0.05, 0.05])
    figure, ax = pyplot.subplots()
    drawn = ProfileDisplay.from_result(result, "B", ax=ax)
    assert drawn.ax_ is ax
    assert drawn.figure_ is figure
    words = written(ax)
    assert "40% (38 to 42) of people" in words
    rows = {row.label: row for row in drawn.rows}
    assert rows["age, years"].here == pytest.approx(0.2, abs=0.01)
    assert rows["age, years"].everybody == pytest.approx(0.45, abs=0.01)
    assert rows["income"].here == pytest.approx(0.25, abs=0.01)  # along its logarithm
    assert rows["device: phone"].here == pytest.approx(1.0, abs=0.01)
    assert rows["hour"].ends == ("0:00", "24:00")
    (low, high), *second = rows["month"].ranges  # around 0: January, so it comes round
    assert (high, second[0][0]) == (1, 0)
    assert low > 0.5
    assert all(low <= row.here <= high for row in (rows["age, years"],) for low, high in row.ranges)
    assert ProfileDisplay.from_result(result, 1).title == drawn.title
    assert len(ProfileDisplay.all_from_result(result)) == 2


def test_points_have_profiles_too():
    result = result_of_two([0.05, 0.05], features=None)
    drawn = ProfileDisplay.from_result(result)
    assert drawn.rows[0].label in drawn.group.apart
    ends = {float(end) for row in drawn.rows for end in row.ends}
    assert min(ends) == -max(ends)


def test_choices_mark_the_number_of_groups():
    drawn = ChoicesDisplay.from_result(result_of_two([0.05, 0.05]))
    assert drawn.ax_.get_title("left") == "2 groups explain 50% of how people differ"
    dots = {
        tuple(dot.get_offsets()[0]): dot for dot in drawn.ax_.collections if isinstance(dot, PathCollection)
    }
    sizes = {int(x): dot.get_sizes()[0] for (x, _), dot in dots.items()}
    assert sizes[2] > sizes[1] == sizes[3]
    hollow = {int(x) for (x, _), dot in dots.items() if dot.get_facecolor()[0][:3].min() == 1}
    assert hollow == {3}  # three cannot be told apart
    with pytest.raises(SettingError, match=r"result\.choices"):
        ChoicesDisplay.from_result(result_of_two([0.05, 0.05], choices=()))


def test_a_forecast_is_the_plans_own():
    plan = Plan.design(dimension=20, clusters=4, epsilon=1.0, expected_users=30_000)
    drawn = ForecastDisplay.from_plan(plan, epsilons=(0.5, 2), people=(1000, 10**6), kind="tight")
    assert sorted(drawn.curves) == [0.5, 1.0, 2.0]
    for found in drawn.curves.values():
        assert [found[0].people, found[-1].people] == [1000, 10**6]
    assert drawn.here == plan.expected(kind="tight")
    half = {
        epsilon: next(one.people for one in found if one.recovered > 0.5)
        for epsilon, found in drawn.curves.items()
    }
    assert half[0.5] > half[1.0] > half[2.0]
    assert "ε = 0.5" in written(drawn.ax_)
    with pytest.raises(SettingError, match="at most 7"):
        ForecastDisplay.from_plan(plan, epsilons=np.arange(1, 9))
    with pytest.raises(SettingError, match="fewest"):
        ForecastDisplay.from_plan(plan, people=(10, 5))


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "coterie\[plot\]"'):
        GroupsDisplay.from_result(result_of_two([0.1, 0.1]))


def test_waves_show_each_share_where_the_wave_had_that_group():
    first, last = result_of_two([0.4, 0.3]), result_of_two([0.2, 0.1])
    turned = replace(
        first,
        centers=first.centers[::-1],
        weights=np.array([0.3, 0.7]),
        weight_errors=np.array([0.2, 0.04]),
        errors=np.array([0.33, 0.44]),
    )
    drawn = WavesDisplay.from_results([turned, last])
    words = written(drawn.ax_)
    for said in ("70% (66 to 74),  mean within 0.44", "60% (57 to 63),  mean within 0.20", "wave 2"):
        assert said in words
    assert drawn.ax_.get_title("left").startswith("2 groups over 2 waves")
    spans = [tuple(line.get_xdata()) for line in drawn.ax_.lines]
    assert spans[0] == pytest.approx((0.66, 0.74))
    with pytest.raises(SettingError, match="two or more results"):
        WavesDisplay.from_results([last])
    with pytest.raises(SettingError, match="the same number of groups"):
        WavesDisplay.from_results([replace(last, centers=last.centers[:1]), last])
