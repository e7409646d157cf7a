"""Figures for the operator's Prometheus: how many, how long, why not. No address and no id is a label.

A plan is, by the first digits of its public id, and only so many of them: whoever watches sees which study it
is, and a service with thousands does not drown its Prometheus.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from coterie.service.studies import REASONS

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MOST_PLANS: Final = 100  # that have a label of their own; the others share one
PLAN_DIGITS: Final = 12
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_DECODE_SECONDS: Final = (1, 5, 15, 60, 300, 900, 3600)

T = TypeVar("T", Counter, Gauge, Histogram)


disable_created_metrics()  # type: ignore[no-untyped-call]  # they would tell when the first report of a kind came


class Metrics:
    """One set of figures, of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def made(kind: type[T], name: str, words: str, *labels: str, **more: Any) -> T:
            return kind(f"coterie_{name}", words, labels, registry=self.registry, **more)

        self._counted = made(
            Counter, "reports", "Reports by plan and by what became of them", "plan", "outcome"
        )
        self._plans: set[str] = set()  # that have a label
        self._answers = made(Counter, "answers", "Answers by status", "status")
        self._batches = made(Counter, "batches", "Batches by what became of them", "outcome")
        self._commits = made(Histogram, "commit_seconds", "Time of a commit", buckets=_SECONDS)
        self.waiting = made(Gauge, "waiting_bytes", "Reports that wait for the disk")
        oldest = "For how long the oldest report that is not on the disk has waited"
        self.oldest = made(Gauge, "oldest_waiting_seconds", oldest)
        self.disk = made(Gauge, "disk_free_bytes", "Room for the store; NaN where a database knows it")
        self.decoding = made(Histogram, "decode_seconds", "Time of a decoding", buckets=_DECODE_SECONDS)

    def reports(self, plan_id: str, outcome: str, number: int) -> None:
        """Count reports."""
        plan = plan_id[:PLAN_DIGITS]
        if plan not in self._plans and len(self._plans) >= MOST_PLANS:
            plan = "other"
        if plan not in self._plans:
            self._plans.add(plan)
            for each in ("accepted", "withdrawn", *REASONS):
                self._counted.labels(plan, each)  # is there from now on, with 0
        self._counted.labels(plan, outcome).inc(number)

    def batch(self, outcome: str) -> None:
        """Count a batch."""
        self._batches.labels(outcome).inc()

    def answer(self, status: int) -> None:
        """Count an answer."""
        self._answers.labels(str(status)).inc()

    def commit(self, seconds: float) -> None:
        """Count a commit."""
        self._commits.observe(seconds)

    def page(self) -> bytes:
        """Return the figures in Prometheus's text format."""
        return generate_latest(self.registry)
