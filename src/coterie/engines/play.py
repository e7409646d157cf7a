"""Which engines there are, and the one loop over people that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.engines.base import Engine, Partition
from coterie.engines.inline import Inline, Parallel
from coterie.errors import SettingError
from coterie.plan import Plan


def _spark(master: str | None = None) -> Engine:
    from coterie.engines.spark import Spark  # a cluster engine is loaded by whoever asks for it

    return Spark(master)


ENGINES: Final[dict[str, Callable[[], Engine]]] = {"inline": Inline, "parallel": Parallel, "spark": _spark}

Watch = Callable[[Partition], None]  # called with each partition when it is encoded


def engine(name: str, *, master: str | None = None) -> Engine:
    """Return the engine of this name, or refuse with the list of known ones.

    Parameters
    ----------
    name : str
        One of `ENGINES`.
    master : str, optional
        Of `spark`: the cluster's master, such as `spark://host:7077` or `yarn`.

    Examples
    --------
    >>> engine("abacus")
    Traceback (most recent call last):
    ...
    coterie.errors.SettingError: there is no engine 'abacus'; known: inline, parallel, spark
    """
    if name not in ENGINES:
        raise SettingError(f"there is no engine {name!r}; known: {', '.join(ENGINES)}")
    if master is None:
        return ENGINES[name]()
    if name != "spark":
        raise SettingError(f"a master is the cluster's: the engine {name} has none, spark has")
    return _spark(master)


def play(
    plan: Plan, points: NDArray[Any], coins: Coins, *, on: str | Engine = "inline", watch: Watch | None = None
) -> Aggregate:
    """Encode every point and add up the reports.

    Parameters
    ----------
    plan, points, coins
        As for `Engine.encode`: the contract, one row per person, the source of ids and secret coins.
    on : str or Engine
        The engine, or its name.
    watch : callable, optional
        Called with each `Partition` when it is encoded: for progress, for the number of clipped points.

    Returns
    -------
    Aggregate
        All n reports.

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> play(plan, np.zeros((100, 2)), SystemCoins()).count
    100
    """
    chosen = engine(on) if isinstance(on, str) else on

    def encoded() -> Iterator[NDArray[np.uint8]]:
        for partition in chosen.encode(plan, points, coins):
            if watch is not None:
                watch(partition)
            yield partition.reports

    return chosen.aggregate(plan, encoded())
