"""Which studies are played: the paper's sweeps, ten runs a point, and a small grid for a quick look.

The paper's text gives d = 100, r = 100, and r varied at k = 8 for a small and a large n; its figures' exact
abscissae are not in the text, so these are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

FIRST_SEED: Final = 70_000  # decisions of design were made on other seeds
RUNS: Final = 10

CORE: Final = (
    "lsh-tree",
    "codeword",
    "known-partition",
    "non-private",
    "one-center",
    "interactive-budget",
    "interactive-users",
    "central-tree",
)
ABLATION_NAME: Final = "ablation"
NAIVE: Final = ("noise-gaussian", "noise-laplace", "noise-privunit")
PEERS: Final = ("central-diffprivlib",)
ABLATION: Final = (
    "step-0-paper",
    "step-1-randomizer",
    "step-2-no-user-split",
    "step-3-joint-count",
    "step-4-no-budget-split",
    "step-5-cells",
    "step-6-shrinkage",
    "step-7-subspace",
    "step-8-settling",
)


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """The public facts of one study."""

    users: int  # n
    dimension: int  # d
    clusters: int  # k
    epsilon: float  # ε
    separation: float  # r


@dataclass(frozen=True, slots=True)
class Sweep:
    """A figure: one field of a setting varied, the others fixed."""

    name: str
    title: str
    field: str  # of Setting
    settings: tuple[Setting, ...]
    methods: tuple[str, ...]


def _sweep(
    name: str, title: str, field: str, base: Setting, values: tuple[float, ...], methods: tuple[str, ...]
) -> Sweep:
    whole = field in ("users", "clusters")
    settings = tuple(replace(base, **{field: int(x) if whole else float(x)}) for x in values)  # type: ignore[arg-type]
    return Sweep(name, title, field, settings, methods)


def _grid(base: Setting, small: int, **values: tuple[float, ...]) -> tuple[Sweep, ...]:
    every = (*CORE, *NAIVE, *PEERS)
    few = replace(base, users=small)
    fixed = f"k = {base.clusters}, ε = {base.epsilon:g}"
    settings = {
        "users": ("users", f"people, {fixed}, r = {base.separation:g}", base, every),
        "epsilon": ("epsilon", f"ε, n = {base.users:,}, k = {base.clusters}", base, every),
        "clusters": ("clusters", f"clusters, n = {base.users:,}, ε = {base.epsilon:g}", base, every),
        "separation-small": ("separation", f"separation, n = {small:,}, {fixed}", few, CORE),
        "separation-large": ("separation", f"separation, n = {base.users:,}, {fixed}", base, CORE),
    }
    return tuple(
        _sweep(name, title, field, start, values[field], methods)
        for name, (field, title, start, methods) in settings.items()
    )


BASE: Final = Setting(1_000_000, 100, 8, 1.0, 100.0)
FULL: Final = _grid(
    BASE,
    100_000,
    users=(50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000),
    epsilon=(0.5, 1, 1.5, 2, 3, 4),
    clusters=(2, 4, 8, 16, 32),
    separation=(2, 3, 4, 6, 8, 16, 100),
)
QUICK_BASE: Final = Setting(100_000, 100, 8, 4.0, 100.0)
QUICK: Final = _grid(
    QUICK_BASE,
    20_000,
    users=(20_000, 50_000, 100_000),
    epsilon=(1, 2, 4),
    clusters=(4, 8, 16),
    separation=(3, 8, 100),
)
QUICK_RUNS: Final = 2


def ablation_settings(base: Setting) -> tuple[Setting, ...]:
    """Return where the ablation is played: the base, twice its ε, and clusters that are broad.

    Examples
    --------
    >>> [(setting.epsilon, setting.separation) for setting in ablation_settings(BASE)]
    [(1.0, 100.0), (2.0, 100.0), (1.0, 8.0)]
    """
    return base, replace(base, epsilon=2 * base.epsilon), replace(base, separation=8.0)


def wanted(
    sweeps: tuple[Sweep, ...], base: Setting | None, runs: int, available: frozenset[str]
) -> Iterator[tuple[Setting, int, tuple[str, ...]]]:
    """Yield every (setting, seed, methods) once, all settings of a seed before the next, long ones first.

    `base` is where the ablation is played; None leaves it out.
    """
    methods: dict[Setting, dict[str, None]] = {}
    for sweep in sweeps:
        for setting in sweep.settings:
            methods.setdefault(setting, {}).update(dict.fromkeys(sweep.methods))
    for setting in ablation_settings(base) if base else ():
        methods.setdefault(setting, {}).update(dict.fromkeys(ABLATION))
    ordered = sorted(methods, key=lambda setting: (-setting.users, -len(methods[setting]), setting))
    for number in range(runs):
        for setting in ordered:
            yield setting, FIRST_SEED + number, tuple(name for name in methods[setting] if name in available)
