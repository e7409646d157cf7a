"""Figures in matplotlib: what the pages show, for a notebook, a paper or a deck. Extra `plot`.

    GroupsDisplay      groups in a flat view, with the stated radius and the share of each
    ProfileDisplay     a group's figures with their ranges, and everybody's beside them
    ChoicesDisplay     what other numbers of groups would explain
    ComparisonDisplay  the same groups under several labels
    WavesDisplay       what wave after wave said of the same groups
    ForecastDisplay    what to expect of a study, over how many people answer and over ε

In scikit-learn's manner: a class method computes and draws, `ax` takes an Axes to draw into, `ax_` and
`figure_` are what was drawn into, and `plot` draws the same again. Nothing global is changed.

    GroupsDisplay.from_result(result)
    ProfileDisplay.from_result(result, group="A", ax=ax)

Everything but `GroupsDisplay`'s `people` is made of public results.
"""

from coterie.plots.choices import ChoicesDisplay
from coterie.plots.comparison import ComparisonDisplay
from coterie.plots.forecast import ForecastDisplay
from coterie.plots.groups import GroupsDisplay
from coterie.plots.profile import ProfileDisplay
from coterie.plots.style import COLORS
from coterie.plots.waves import WavesDisplay

__all__ = [
    "COLORS",
    "ChoicesDisplay",
    "ComparisonDisplay",
    "ForecastDisplay",
    "GroupsDisplay",
    "ProfileDisplay",
    "WavesDisplay",
]
