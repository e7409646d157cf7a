"""Plans of several protocols, for tests that hold for all: those of a protocol that is not there drop out."""

from collections.abc import Mapping
from typing import Any

import pytest

from coterie import Plan
from coterie.protocols import PROTOCOLS


def is_there(options: Mapping[str, Any]) -> bool:
    """Return whether the protocol that a design's options name is registered."""
    return options.get("protocol", "codeword") in PROTOCOLS


def plans_of(studies: Mapping[str, tuple[Any, ...]]) -> dict[str, Plan]:
    """Return plans by name, each made of facts and, last, options."""
    return {
        name: Plan.design(*facts, **options)
        for name, (*facts, options) in studies.items()
        if is_there(options)
    }


def needs(protocol: str) -> pytest.MarkDecorator:
    """Return what leaves a test out where there is no such protocol."""
    return pytest.mark.skipif(protocol not in PROTOCOLS, reason=f"there is no protocol {protocol}")
