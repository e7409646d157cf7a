"""Mutants with a name: promises that once no test held. Every one of them must be noticed."""

from __future__ import annotations

from tools.mutants.operators import Mutant


def named_mutants() -> list[Mutant]:
    return []
