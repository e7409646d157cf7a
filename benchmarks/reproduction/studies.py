"""Which studies are played: the paper's sweeps, ten runs a point, and a small grid for a quick look.

The paper's text gives d = 100, r = 100, and r varied at k = 8 for a small and a large n; its figures' exact
abscissae are not in the text, so these are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from typing import Final, Self

from benchmarks.harness import Study
from coterie.errors import PlanError
from coterie.plain.checks import checked_choice, checked_fields, checked_integer, checked_list, checked_real

FIRST_SEED: Final = 70_000  # decisions of design were made on other seeds
RUNS: Final = 10

CORE: Final = (
    "lsh-tree",
    "codeword",
    "codeword-tight",
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

    def study(self, method: str) -> Study:
        """Return one method played on it; the name says everything.

        Examples
        --------
        >>> Setting(1000, 100, 8, 1.0, 100.0).study("codeword").name
        'n=1000 d=100 k=8 eps=1 r=100 codeword'
        """
        n, d, k, epsilon, r = astuple(self)
        name = f"n={n} d={d} k={k} eps={epsilon:g} r={r:g} {method}"
        return Study(name, "mixture", n, k, epsilon, dimension=d, separation=r, method=method)

    @classmethod
    def of(cls, study: Study) -> Self:
        """Return the setting of a study."""
        return cls(study.users, study.dimension, study.clusters, study.epsilon, study.separation)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A figure: one field of a setting varied, the others fixed."""

    name: str
    title: str
    field: str  # of Setting
    settings: tuple[Setting, ...]
    methods: tuple[str, ...]


_WORDS: Final = {"users": "people n", "epsilon": "ε", "clusters": "clusters k", "separation": "separation r"}
_WHOLE: Final = ("users", "dimension", "clusters")


def title_of(field: str, base: Setting) -> str:
    """Return what is varied and everything that is not.

    Examples
    --------
    >>> title_of("epsilon", Setting(1000, 100, 8, 1.0, 100.0))
    'ε, n = 1,000, d = 100, k = 8, r = 100'
    """
    facts = {
        "users": f"n = {base.users:,}",
        "dimension": f"d = {base.dimension}",
        "clusters": f"k = {base.clusters}",
        "epsilon": f"ε = {base.epsilon:g}",
        "separation": f"r = {base.separation:g}",
    }
    words = _WORDS.get(field, "dimension d")
    return ", ".join([words, *(fact for name, fact in facts.items() if name != field)])


def _sweep(name: str, field: str, base: Setting, values: Iterable[float], methods: tuple[str, ...]) -> Sweep:
    settings = tuple(replace(base, **{field: int(x) if field in _WHOLE else float(x)}) for x in values)  # type: ignore[arg-type]
    return Sweep(name, title_of(field, base), field, settings, methods)


@dataclass(frozen=True, slots=True)
class Grid:
    """Sweeps of one's own around one setting."""

    base: Setting
    sweeps: tuple[Sweep, ...]
    runs: int

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read a grid: base, sweeps, methods and runs; PlanError for anything else.

        Examples
        --------
        >>> grid = Grid.from_dict({
        ...     "base": {"users": 1000, "dimension": 3, "clusters": 2, "epsilon": 4, "separation": 20},
        ...     "sweeps": {"epsilon": [2, 4]},
        ...     "methods": ["lsh-tree", "net-tree?randomizer=codeword"],
        ...     "runs": 2,
        ... })
        >>> [setting.epsilon for setting in grid.sweeps[0].settings]
        [2.0, 4.0]
        """
        known = checked_fields("grid", data, ("base", "sweeps", "methods", "runs"))
        names = [item.name for item in fields(Setting)]
        given = checked_fields("grid.base", known["base"], names)
        facts = {
            name: checked_integer(f"grid.base.{name}", given[name], 1, 1 << 40)
            if name in _WHOLE
            else checked_real(f"grid.base.{name}", given[name], 1e-9, 1e9)
            for name in names
        }
        base = Setting(**facts)  # type: ignore[arg-type]
        methods = tuple(str(name) for name in checked_list("grid.methods", known["methods"]))
        if not isinstance(known["sweeps"], Mapping) or not known["sweeps"] or not methods:
            raise PlanError("grid.sweeps must name at least one field, and grid.methods at least one method")
        sweeps = []
        for field, values in known["sweeps"].items():
            checked_choice("a sweep", field, names)
            listed = checked_list(f"grid.sweeps.{field}", values)
            clean = [checked_real(f"grid.sweeps.{field}", value, 1e-9, 1e12) for value in listed]
            sweeps.append(_sweep(field, field, base, clean, methods))
        return cls(base, tuple(sweeps), checked_integer("grid.runs", known["runs"], 1, 1000))


def _grid(base: Setting, small: int, **values: tuple[float, ...]) -> tuple[Sweep, ...]:
    every = (*CORE, *NAIVE, *PEERS)
    few = replace(base, users=small)
    settings = {
        "users": ("users", base, every),
        "epsilon": ("epsilon", base, every),
        "clusters": ("clusters", base, every),
        "separation-small": ("separation", few, CORE),
        "separation-large": ("separation", base, CORE),
    }
    return tuple(
        _sweep(name, field, start, values[field], methods)
        for name, (field, start, methods) in settings.items()
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


def grid_of(sweeps: Iterable[Sweep], base: Setting | None, available: Iterable[str]) -> tuple[Study, ...]:
    """Return every setting with every method once, methods of a setting side by side, long settings first.

    `base` is where the ablation is played; None leaves it out. Methods that are not available are left out.
    """
    methods: dict[Setting, dict[str, None]] = {}
    for sweep in sweeps:
        for setting in sweep.settings:
            methods.setdefault(setting, {}).update(dict.fromkeys(sweep.methods))
    for setting in ablation_settings(base) if base else ():
        methods.setdefault(setting, {}).update(dict.fromkeys(ABLATION))
    ordered = sorted(methods, key=lambda setting: (-setting.users, -len(methods[setting]), setting))
    return tuple(setting.study(name) for setting in ordered for name in methods[setting] if name in available)
