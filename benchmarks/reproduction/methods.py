"""The methods that a study compares: each from the same points to centers.

`lsh-tree` and `codeword`, and all steps of the ablation, are played with real reports: every person through
the encoder, the bytes through the table, the table through the decoder. Baselines are simulations of their
own (`benchmarks.baselines`).

A run is kept with the key of its design (`design_of`): the plan that the method asks people under in this
setting, and what the code makes of a few fixed people. A run with another key was played by another design or
other code, and is stale.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines import central, in_the_open, interactive, noisy_points, sums
from benchmarks.harness import Study
from benchmarks.reproduction.simple_decoder import Shrinkage, decode_simply
from benchmarks.reproduction.studies import PEERS, Setting
from coterie.aggregate import Aggregate
from coterie.centers import decode
from coterie.centers.decode import decoder_options
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.errors import CoterieError, PlanError
from coterie.metrics import normalized_objective
from coterie.plain.checks import read_value
from coterie.plan import Plan, design_options, protocols
from coterie.plan.views import CrossPolytope
from coterie.protocols.codeword.decode import explained
from coterie.protocols.codeword.design import power_of_two_at_least
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.table import CodewordTable


@dataclass(eq=False)  # no slots: cached properties
class Played:
    """One data set, and what methods share on it."""

    setting: Setting
    seed: int

    @cached_property
    def data(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Points (n, d) and the cluster each was made from (n,)."""
        s = self.setting
        points, _, labels = gaussian_mixture(
            s.users, s.dimension, s.clusters, s.separation, self.seed, dtype=np.float32
        )
        return points, labels

    @cached_property
    def cells_table(self) -> Aggregate:
        """Everybody's codeword reports for two views of cells and no halfspaces: the ablation's."""
        s = self.setting
        plan = Plan.design(s.dimension, s.clusters, s.epsilon, s.users, seed=self.seed)
        parameters = cast("CodewordParameters", plan.parameters)
        coarse = power_of_two_at_least(max(256, 2 * s.dimension))  # cells; twice as many in the other view
        views = (CrossPolytope(coarse // 2), CrossPolytope(coarse))
        return self.asked(replace(plan, parameters=replace(parameters, views=views)))

    def reports(self, protocol: str, **options: Any) -> Aggregate:
        """Play everybody through a protocol."""
        s = self.setting
        plan = Plan.design(
            s.dimension, s.clusters, s.epsilon, s.users, protocol=protocol, seed=self.seed, **options
        )
        return self.asked(plan)

    def asked(self, plan: Plan) -> Aggregate:
        """Play everybody through a plan."""
        return play(plan, self.data[0], SimulationCoins([self.seed, 0]))

    def generator(self, salt: int) -> np.random.Generator:
        """Return a generator of its own for each method."""
        return np.random.default_rng([self.seed, salt])


played_once = lru_cache(maxsize=1)(Played)  # the methods of a setting come one after the other

Method = Callable[[Played], NDArray[np.float64]]


def _lsh(**options: Any) -> Method:
    return lambda played: decode(played.reports("lsh-tree", **options), random_state=played.seed).centers


def _codeword(played: Played) -> NDArray[np.float64]:
    """Return the centers of `decode`, without what is stated beside them: that takes most of its time."""
    table, generator = played.reports("codeword"), np.random.default_rng(played.seed)
    return explained([table], played.setting.clusters, generator, repeats=0).centers


def _tight(played: Played) -> NDArray[np.float64]:
    return decode(played.reports("codeword", shape="tight"), random_state=played.seed).centers


def _cells(played: Played) -> NDArray[np.float64]:
    return decode(played.cells_table, random_state=played.seed, decoder="cells").centers


def _simple(shrinkage: Shrinkage) -> Method:
    return lambda played: decode_simply(
        cast("CodewordTable", played.cells_table.table),
        np.random.default_rng(played.seed),
        shrinkage=shrinkage,
    )


def _baseline(function: Callable[..., NDArray[np.float64]], salt: int, **options: Any) -> Method:
    return lambda played: function(
        played.data[0], played.setting.clusters, played.setting.epsilon, played.generator(salt), **options
    )


_OURS: Final = {"randomizer": "privunit", "split": "deepest"}

METHODS: Final[dict[str, Method]] = {
    "lsh-tree": _lsh(),
    "codeword": _codeword,
    "codeword-tight": _tight,
    "known-partition": lambda played: sums.known_partition(
        *played.data, played.setting.clusters, played.setting.epsilon, played.generator(1)
    ),
    "non-private": lambda played: in_the_open.k_means(played.data[0], played.setting.clusters, played.seed),
    "one-center": lambda played: in_the_open.one_center(played.data[0]),
    "noise-gaussian": _baseline(noisy_points.gaussian, 2),
    "noise-laplace": _baseline(noisy_points.laplace, 3),
    "noise-privunit": _baseline(noisy_points.privunit, 4),
    "interactive-budget": _baseline(interactive.lloyd_in_rounds, 5, split="budget"),
    "interactive-users": _baseline(interactive.lloyd_in_rounds, 6, split="users"),
    "central-tree": _baseline(central.central_tree, 7),
    "central-diffprivlib": _baseline(central.diffprivlib_k_means, 8),
    "step-0-paper": _lsh(),
    "step-1-randomizer": _lsh(randomizer="privunit"),
    "step-2-no-user-split": _lsh(**_OURS),
    "step-3-joint-count": _lsh(**_OURS, count="joint"),
    "step-4-no-budget-split": _lsh(**_OURS, count="joint", histogram_share=0.0),
    "step-5-cells": _simple("none"),
    "step-6-shrinkage": _simple("plain"),
    "step-7-subspace": _simple("blocks"),
    "step-8-settling": _cells,
}


def method_of(name: str) -> Method:
    """Return a method by its name, or a local protocol with options: `protocol` or `protocol?name=value&…`.

    Examples
    --------
    >>> played = Played(Setting(200, 2, 2, 4.0, 20.0), seed=0)
    >>> method_of("net-tree?randomizer=codeword&levels=2")(played).shape
    (2, 2)
    """
    if name in METHODS:
        return METHODS[name]
    protocol, _, written = name.partition("?")
    if protocol not in protocols("local"):
        raise PlanError(
            f"there is no method named {name!r}; known: {', '.join(METHODS)}, and every local protocol with "
            f"its options, as in net-tree?levels=2 ({', '.join(protocols('local'))})"
        )
    options: dict[str, Any] = {}
    for pair in filter(None, written.split("&")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise PlanError(f"an option of a method is written name=value, got {pair!r}")
        options[key] = read_value(value)
    planned = design_options(protocol, "local")
    read = {key: options[key] for key in decoder_options(protocol) if key in options}
    asked = {key: value for key, value in options.items() if key in planned or key not in read}
    return lambda played: decode(played.reports(protocol, **asked), random_state=played.seed, **read).centers


FEW: Final = Setting(4000, 3, 2, 4.0, 20.0)  # the people on whom code is compared with code


class _Planned(Exception):  # noqa: N818  # no error: it carries the plan out of a method
    def __init__(self, plan: Plan | None) -> None:
        super().__init__("a method has come to its plan, or to the points themselves")
        self.plan = plan


class _Planning(Played):
    """A study of which only the plan is wanted: nobody is drawn and nobody answers."""

    @property
    def data(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        raise _Planned(None)

    def asked(self, plan: Plan) -> Aggregate:
        raise _Planned(plan)


def plan_of(method: str, setting: Setting) -> Plan | None:
    """Return the plan that a method asks people under, with seed 0; None if it looks at their points.

    Examples
    --------
    >>> plan_of("lsh-tree", FEW).protocol, plan_of("one-center", FEW)
    ('lsh-tree', None)
    """
    try:
        method_of(method)(_Planning(setting, seed=0))
    except _Planned as found:
        return found.plan
    raise AssertionError(f"{method} found centers without any people")


@lru_cache
def sample_of(method: str) -> str:
    """Return what the code makes of a few fixed people: their objective."""
    played = Played(FEW, seed=0)
    return f"{normalized_objective(played.data[0], method_of(method)(played)):.6g}"


def design_of(study: Study) -> str:
    """Return the key of what a run of this study depends on: method and plan in this setting, and code."""
    plan = plan_of(study.method, Setting.of(study))
    parts = (study.method, plan.to_json() if plan else "")
    return f"{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:12]}:{sample_of(study.method)}"


def available_methods() -> frozenset[str]:
    """Return the methods that can run here: optional peers only where they import."""
    missing = set()
    for name in PEERS:
        tiny = Played(Setting(20, 2, 2, 1.0, 8.0), seed=0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                METHODS[name](tiny)
        except CoterieError:
            missing.add(name)
    return frozenset(METHODS) - missing
