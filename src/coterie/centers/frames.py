"""Groups as a data frame of a library that the user has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from coterie.centers.groups import Group
from coterie.errors import MissingExtraError, SettingError

LIBRARIES: Final = ("pandas", "polars", "pyarrow")


def frame_of(groups: Sequence[Group], library: Any) -> Any:
    """Return one row per figure as a data frame of a library."""
    if library not in LIBRARIES:
        raise SettingError(f"library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    rows = [(group, estimate) for group in groups for estimate in group.estimates]
    columns: dict[str, list[Any]] = {
        "group": [group.name for group, _ in rows],
        **{
            f"group_{name}": [getattr(group, name) for group, _ in rows]
            for name in ("share", "low", "high", "clear")
        },
        "feature": [estimate.feature for _, estimate in rows],
        "what": [estimate.what for _, estimate in rows],
        "label": [None if estimate.label is None else str(estimate.label) for _, estimate in rows],
        **{
            name: [getattr(estimate, name) for _, estimate in rows]
            for name in ("value", "low", "high", "unit")
        },
    }
    try:
        import narwhals

        return narwhals.from_dict(columns, backend=library).to_native()
    except ImportError:
        raise MissingExtraError(f"narwhals or {library}", "frames") from None
