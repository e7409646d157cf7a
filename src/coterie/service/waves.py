"""A study of several plans under one id, that of its first plan: a list that only grows, kept with that plan.

    step-1, step-2, …   documents of the first plan: {"label": null or a word, "plan": the plan}, of a
                        wave with "why" it asks what it asks

A document of a name is kept once, whoever comes first, on every server and over crashes (`Store`): the next
free number is the end of the list, and who loses a race looks again. A step without a label is the next
*wave*; plans with labels are open at once, for the people of each, and stand beside each other. The plan is
in the step, so one whose plan did not get to be opened before a crash is finished by whoever reads the list.

Each plan is a study of its own in the store: its window, its minimum, its withdrawals and its retention hold
as ever. What is left of a wave, its table and its manifest, is what the next one needs.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import StoreError, UnknownPlanError
from coterie.plain.canonical import canonical_bytes
from coterie.plan import Plan
from coterie.service.problems import Problem
from coterie.store import Store, StudyState
from coterie.wire.layout import ID_BYTES, as_rows
from coterie.wire.tokens import MARK_BYTES, token_id, token_mark

MOST_STEPS: Final = 64  # plans of one study besides the first; a plan names no more it follows
LABEL: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Part:
    """A plan of a study, and its public label; None for a wave."""

    plan: Plan
    label: str | None = None
    why: str | None = None  # a wave asks what it asks


class Waves:
    """The plans of the studies of a store. All methods block."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def parts(self, study_id: str) -> list[Part]:
        """Return the plans of a study, the first one first.

        Raises
        ------
        Problem
            If no study has this id.
        """
        try:
            first = self._store.study(study_id).plan
        except UnknownPlanError:
            first = None
        if first is None or first.study is not None:
            raise Problem("unknown-plan", "a study has the id of its first plan: ask the operator for it")
        steps = self._steps(study_id)
        named = next((part for part in steps if part.plan.id == study_id), Part(first))
        parts = [named, *(part for part in steps if part.plan.id != study_id)]
        return [part for part in parts if part.label] or parts

    def _steps(self, study_id: str) -> list[Part]:
        found: list[Part] = []
        for number in itertools.count(1):
            data = self._store.document(study_id, f"step-{number}")
            if data is None:
                return found
            step = json.loads(data)
            found.append(Part(Plan.from_json(canonical_bytes(step["plan"])), step["label"], step.get("why")))
            self._store.put_plan(found[-1].plan)  # where a crash came before it
        raise AssertionError

    def waves(self, plan: Plan) -> list[Plan]:
        """Return the waves up to a plan, it included; itself alone where it is not one of several."""
        if plan.study is None or not plan.after:
            return [plan]
        try:
            plans = [part.plan for part in self.parts(plan.study)]
        except Problem:  # the plans before it are not here
            return [plan]
        ids = [each.id for each in plans]
        return plans[: ids.index(plan.id) + 1] if plan.id in ids else [plan]

    def open_one(self, study_id: str) -> Plan:
        """Return the plan that people are asked: the last wave."""
        parts = self.parts(study_id)
        if parts[-1].label is not None:
            raise Problem("not-found", "the plans of this study have labels: take part by the address of one")
        return parts[-1].plan

    def add(self, study_id: str, part: Part) -> bool:
        """Add a plan to the end of a study and open it; return False if it is there already.

        Raises
        ------
        Problem
            If another plan has its label or its place.
        """
        why = {} if part.why is None else {"why": part.why}
        made = canonical_bytes({"label": part.label, "plan": part.plan.to_dict(), **why})
        for number in range(1, MOST_STEPS + 1):
            there = self._store.document(study_id, f"step-{number}")
            kept = there or self._store.put_document(study_id, f"step-{number}", made)
            if kept == made:
                self._store.put_plan(part.plan)
                return there is None
            step = json.loads(kept)
            if step["label"] == part.label and (
                part.label is not None or step["plan"]["after"] == list(part.plan.after)
            ):
                raise Problem("another-plan", "the study has another plan in this place")
            if (step["label"] is None) != (part.label is None):
                raise Problem("unfit-plan", "a study has waves, one after the other, or plans with labels")
        raise Problem("unfit-plan", f"a study has at most {MOST_STEPS} plans besides the first")

    def add_labelled(self, study_id: str, label: str, plan: Plan) -> bool:
        """Add a plan with a public label; return False if it is there already."""
        if not LABEL.fullmatch(label):
            raise Problem(
                "malformed-request",
                "a label has 1 to 40 of a-z, 0-9, '.', '_', '-', and begins with none of the signs",
            )
        first = self._store.study(self.parts(study_id)[0].plan.study_id).plan
        if plan.study_id != study_id or plan.after:
            raise Problem("unfit-plan", f"a plan with a label has study {study_id} and follows none")
        if (plan.dimension, plan.features) != (first.dimension, first.features):
            raise Problem("unfit-plan", "plans with labels ask for the same features as the study's first")
        return self.add(study_id, Part(plan, label))


class Invited:
    """Whose tokens are good for a wave: issued for it, or for a wave before, and used for none of those.

    An invitation follows its study from plan to plan until it is used. Who used it stands in the reports of
    the waves before, which are closed; once those are deleted nothing tells, and it is good no more.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._came: dict[str, NDArray[np.bytes_]] = {}  # sorted ids, by plan

    def good(self, plan: Plan, before: Sequence[Plan], tokens: Sequence[bytes]) -> set[bytes]:
        """Return which tokens a report of a plan may come with, given the waves before it."""
        good = self._issued(plan, tokens)
        asked = [token for token in tokens if token not in good]
        unused: set[bytes] = set()
        for earlier in before:
            unused = {*unused, *(token for token in self._issued(earlier, asked) if token not in unused)}
            unused -= self._used(earlier, sorted(unused))
        return good | unused

    def _issued(self, plan: Plan, tokens: Sequence[bytes]) -> set[bytes]:
        if not tokens:
            return set()
        marks = as_rows(b"".join(token_mark(plan, token) for token in tokens), MARK_BYTES)
        known = self._store.invited(plan.id, marks)
        return {token for token, found in zip(tokens, known, strict=True) if found}

    def _used(self, plan: Plan, tokens: Sequence[bytes]) -> set[bytes]:
        """Return which tokens a closed wave has reports or withdrawals of; all, where it does not tell."""
        if not tokens:
            return set()
        if self._store.study(plan.id).state is not StudyState.CLOSED:
            self._came.pop(plan.id, None)
            return set(tokens)
        with self._lock:
            if plan.id not in self._came:
                try:
                    rows = [*self._store.came(plan.id)]
                except StoreError:
                    return set(tokens)
                ids = np.concatenate([np.zeros((0, ID_BYTES), dtype=np.uint8), *rows])
                self._came[plan.id] = np.sort(np.ascontiguousarray(ids).view(f"S{ID_BYTES}")[:, 0])
            came = self._came[plan.id]
        asked = np.array([token_id(plan, token) for token in tokens], dtype=f"S{ID_BYTES}")
        used = np.isin(asked, came)
        return {token for token, found in zip(tokens, used, strict=True) if found}
